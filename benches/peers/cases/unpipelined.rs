//! One request at a time on each connection, as a shop's servers send them.

use super::Bench;
use crate::contenders::{script, Kind, LATE, LUA, SALE, SOLDOUT};
use crate::control::Control;
use crate::load::Load;

/// The case of so many connections.
pub fn case(connections: u64) -> String {
    format!("no pipeline, {connections} connections")
}

pub const FEW: u64 = 50;
pub const MANY: u64 = 1_000;

pub fn fifty(bench: &mut Bench) -> Result<(), String> {
    run(bench, FEW)
}

pub fn thousand(bench: &mut Bench) -> Result<(), String> {
    run(bench, MANY)
}

fn run(bench: &mut Bench, connections: u64) -> Result<(), String> {
    let case = case(connections);
    let load = Load::unpipelined(bench.plan.single_calls, connections);
    let mut seats = seats(bench)?;
    for _ in 0..bench.plan.rounds {
        for (name, control, words) in &mut seats {
            bench.step(&case, name);
            let rate = load.run(control, words)?;
            control.check_no_errors()?;
            rate.note(&mut bench.figures, &case, name);
        }
    }
    Ok(())
}

type Seat = (&'static str, Control, Vec<String>);

fn seats(bench: &Bench) -> Result<Vec<Seat>, String> {
    let mut seats = Vec::new();
    for kind in [Kind::Incr, Kind::Sadd, Kind::Grab] {
        let mut control = kind.start(&bench.modules, &[])?;
        let words = kind.prepare(&mut control)?;
        seats.push((kind.name(), control, words));
    }
    let mut control = Kind::Grab.start(&bench.modules, &[])?;
    control.tell(&["SECKILL.INIT", SALE, "0"])?;
    let late = ["SECKILL.GRAB", SALE, LATE].map(str::to_owned).to_vec();
    seats.push((SOLDOUT, control, late));
    let mut control = Kind::Script.start(&bench.modules, &[])?;
    let words = script(Kind::Script, &mut control, "0", LATE)?;
    seats.push((LUA, control, words));
    Ok(seats)
}
