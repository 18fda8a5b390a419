//! One request at a time on each connection, as the servers of a shop send them.

use super::sale::AOF;
use super::Bench;
use crate::contenders::{incr, module_recommended, script_recommended, INCR, MODULE, SCRIPT};
use crate::control::Control;
use crate::load::{measure, spread, Manner, Request, USERS};

/// The name of the case with this many connections.
pub fn case(connections: usize) -> String {
    format!("no pipeline, {connections} connections")
}

pub fn run(bench: &mut Bench) -> Result<(), String> {
    type SetUp = fn(&mut Control) -> Result<Request, String>;
    let contenders: [(&str, SetUp); 3] = [
        (INCR, |_| Ok(incr())),
        (MODULE, |control| Ok(module_recommended(control)?.grab)),
        (SCRIPT, |control| Ok(script_recommended(control)?.grab)),
    ];
    for (connections, calls) in bench.plan.crowds {
        let (case, manner) = (case(connections), Manner { connections, pipeline: 1, pace: None });
        for round in 0..bench.plan.few_rounds {
            bench.step(&case, round);
            for (who, set_up) in contenders {
                let mut control = bench.server(&AOF)?;
                let request = set_up(&mut control)?;
                let rate = measure(&mut control, &request, spread(calls, USERS), manner)?;
                rate.note(&mut bench.figures, &case, who);
            }
        }
    }
    Ok(())
}
