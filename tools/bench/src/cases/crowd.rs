//! One request at a time on each connection, as the servers of a shop send them.

use super::sale::AOF;
use super::Bench;
use crate::contenders::{incr, SetUp, INCR, RECOMMENDED};
use crate::load::{measure, spread, Manner, USERS};

/// The name of the case with this many connections.
pub fn case(connections: usize) -> String {
    format!("no pipeline, {connections} connections")
}

pub fn run(bench: &mut Bench) -> Result<(), String> {
    let [module, script] = RECOMMENDED;
    let contenders: [(&str, SetUp); 3] = [(INCR, |_, _| Ok(vec![(INCR, incr())])), module, script];
    for (connections, calls) in bench.plan.crowds {
        let (case, manner) = (case(connections), Manner { connections, pipeline: 1, pace: None });
        for round in 0..bench.plan.few_rounds {
            bench.step(&case, round);
            for (who, set_up) in contenders {
                let mut control = bench.server(&AOF)?;
                let (_, first) = set_up(&mut control, calls)?.swap_remove(0);
                let rate = measure(&mut control, &first, spread(calls, USERS), manner)?;
                rate.note(&mut bench.figures, &case, who);
            }
        }
    }
    Ok(())
}
