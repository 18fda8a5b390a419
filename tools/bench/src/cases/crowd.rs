//! One request at a time on each connection, as the servers of a shop send them.

use super::sale::AOF;
use super::Bench;
use crate::contenders::{incr, SetUp, GRAB, INCR, MODULE, RECOMMENDED, SCRIPT};
use crate::figures::{BUSY, PER_SECOND};
use crate::load::{measure, spread, Manner, USERS};
use crate::rows::Rows;

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

pub fn rows(rows: &mut Rows<'_>) {
    for (connections, _) in rows.plan.crowds {
        let case = case(connections);
        let setting = format!("AOF everysec, P1, c{connections}, no replica");
        let what = (GRAB, "calls/s, divided by INCR's");
        rows.ratio(what, &setting, None, (PER_SECOND, (&case, MODULE), (&case, INCR)));
        rows.times((GRAB, &case), &setting, SCRIPT, None);
        let what = (GRAB, "share of the server's core in use; with the script");
        rows.value(what, &setting, None, (&case, BUSY, 1.0), SCRIPT);
    }
}
