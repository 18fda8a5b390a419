//! One request at a time on each connection, as the servers of a shop send them.

use super::sale::AOF;
use super::Bench;
use crate::contenders::{incr, SetUp, INCR, RECOMMENDED};
use crate::load::{spread, Manner, USERS};

pub const CASE: &str = "no pipeline, 50 connections";
pub const CONNECTIONS: usize = 50;

pub fn run(bench: &mut Bench) -> Result<(), String> {
    let [module, script] = RECOMMENDED;
    let contenders: [(&str, SetUp); 3] = [(INCR, |_, _| Ok(vec![(INCR, incr())])), module, script];
    let calls = bench.plan.crowd_calls;
    let manner = Manner { connections: CONNECTIONS, pipeline: 1 };
    for round in 0..bench.plan.few_rounds {
        bench.step(CASE, round);
        for (who, set_up) in contenders {
            let mut control = bench.server(&AOF)?;
            let (_, first) = set_up(&mut control, calls)?.swap_remove(0);
            bench.measure((CASE, who), &mut control, &first, spread(calls, USERS), manner)?;
        }
    }
    Ok(())
}
