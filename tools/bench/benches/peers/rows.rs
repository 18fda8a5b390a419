//! The rows of the table, in the order of the issue that set the bars.

use crate::bars::{Bar, Bars, Limit, Place};
use crate::cases::instructions::{CASE as COUNTED, LOGGED};
use crate::cases::{fork, growth, rdb, refusals, unpipelined, wins};
use crate::contenders::{
    ALREADY, FLOOR_ALREADY, FLOOR_GRANTED, FLOOR_SOLDOUT, FUNCTION, GRAB, INCR, LUA, MULTI, NOOP,
    SADD, SOLDOUT,
};
use crate::figures::{
    Figures, BYTES, INSTRUCTIONS, MS, P99_MS, PER_SECOND, SERVER_US, TYPICAL_P99_MS, US,
};
use crate::plan::Plan;
use seckill_bench::callgrind;
use seckill_crowd::screen::thousands;

/// Bytes of a user id in the load: `user:` and twelve digits.
const ID_BYTES: f64 = 17.0;

/// All bars.
pub fn all(figures: &Figures, plan: &Plan) -> Vec<Bar> {
    let mut bars = Bars { figures, all: Vec::new() };
    winning(&mut bars);
    refused(&mut bars, plan);
    crowd(&mut bars);
    memory(&mut bars, plan);
    pauses(&mut bars, plan);
    storage(&mut bars, plan);
    bars.all
}

/// A rate next to another's, with the server's share next to it.
fn rate(bars: &mut Bars<'_>, what: &str, who: Place, floor: &str, other: &str, least: f64) {
    let (case, other) = (who.0, (who.0, other));
    bars.ratio(what, PER_SECOND, who, other, Limit::AtLeast(least));
    bars.floor(PER_SECOND, (case, floor), other);
}

/// The same by instructions: as often as ours go into the other's. They leave memory out, and don't
/// move with the machine's mood.
fn counted(bars: &mut Bars<'_>, what: &str, who: Place, floor: &str, other: &str, least: f64) {
    let (case, other) = (who.0, (who.0, other));
    bars.ratio(what, INSTRUCTIONS, other, who, Limit::AtLeast(least));
    bars.with(&format!("x {}", other.1));
    bars.floor(INSTRUCTIONS, other, (case, floor));
    bars.beside();
}

fn winning(bars: &mut Bars<'_>) {
    let (grab, logged) = ((wins::WINS, GRAB), (wins::AOF, GRAB));
    rate(bars, "winning GRAB", grab, FLOOR_GRANTED, SADD, 1.3);
    let what = "winning GRAB, by instructions";
    counted(bars, what, (COUNTED, callgrind::WINNING), FLOOR_GRANTED, SADD, 1.3);
    rate(bars, "winning GRAB", grab, FLOOR_GRANTED, LUA, 4.0);
    rate(bars, "winning GRAB", grab, FLOOR_GRANTED, FUNCTION, 4.0);
    rate(bars, "winning GRAB", grab, FLOOR_GRANTED, MULTI, 1.0);
    bars.beside();
    let what = "winning GRAB, AOF everysec";
    rate(bars, what, logged, FLOOR_GRANTED, SADD, 1.1);
    // The disk keeps all of them waiting, some rounds more than others.
    bars.ratio(
        &format!("{what}, by processor time"),
        SERVER_US,
        (wins::AOF, SADD),
        logged,
        Limit::AtLeast(1.1),
    );
    bars.with(&format!("x {SADD}"));
    bars.floor(SERVER_US, (wins::AOF, SADD), (wins::AOF, FLOOR_GRANTED));
    bars.beside();
    let counted_what = "winning GRAB, AOF everysec, by instructions";
    counted(bars, counted_what, (LOGGED, callgrind::WINNING), FLOOR_GRANTED, SADD, 1.1);
    rate(bars, what, logged, FLOOR_GRANTED, LUA, 3.5);
}

fn refused(bars: &mut Bars<'_>, plan: &Plan) {
    let [small, middle, _] = plan.sizes;
    for (who, counted_as, name, floor, least) in [
        (SOLDOUT, callgrind::SOLDOUT, "sold-out GRAB", FLOOR_SOLDOUT, 0.85),
        (ALREADY, callgrind::ALREADY, "ALREADY", FLOOR_ALREADY, 0.75),
    ] {
        rate(bars, name, (&refusals::case(middle), who), floor, INCR, least);
        for winners in [small, refusals::ONE] {
            let plural = if winners == refusals::ONE { "" } else { "s" };
            let what = format!("{name}, {} winner{plural}", thousands(winners));
            rate(bars, &what, (&refusals::case(winners), who), floor, INCR, least);
            bars.beside();
        }
        let what = format!("{name}, by instructions");
        counted(bars, &what, (COUNTED, counted_as), floor, INCR, least);
        if who == SOLDOUT {
            rate(bars, name, (&refusals::case(middle), who), floor, LUA, 2.5);
        }
    }
    let noop = (COUNTED, NOOP);
    let what = "sold-out GRAB, instructions";
    bars.ratio(what, INSTRUCTIONS, (COUNTED, callgrind::SOLDOUT), noop, Limit::AtMost(1.6));
    bars.floor(INSTRUCTIONS, (COUNTED, FLOOR_SOLDOUT), noop);
}

fn crowd(bars: &mut Bars<'_>) {
    let closed = unpipelined::case(unpipelined::MANY);
    for (case, shown, unit) in [
        (closed.as_str(), "p99, 1,000 connections", P99_MS),
        (unpipelined::STEADY, "p99, the same, steady rate", TYPICAL_P99_MS),
    ] {
        for (who, floor) in [
            (GRAB, Some(FLOOR_GRANTED)),
            (SOLDOUT, Some(FLOOR_SOLDOUT)),
            (unpipelined::INCR_AGAIN, None),
        ] {
            let other = (case, INCR);
            bars.ratio(&format!("{shown}, {who}"), unit, (case, who), other, Limit::AtMost(1.1));
            if let Some(floor) = floor {
                bars.floor(unit, (case, floor), other);
            }
            if case == unpipelined::STEADY || floor.is_none() {
                bars.beside();
            }
        }
    }
}

fn memory(bars: &mut Bars<'_>, plan: &Plan) {
    for winners in &plan.sizes[1..] {
        let (case, what) =
            (growth::memory(*winners), format!("memory, {} winners", thousands(*winners)));
        let ours = (case.as_str(), GRAB);
        bars.ratio(&what, BYTES, ours, (&case, SADD), Limit::AtMost(0.65));
        bars.ratio(&what, BYTES, ours, (&case, growth::SET_AND_ZSET), Limit::AtMost(0.3));
    }
}

fn pauses(bars: &mut Bars<'_>, plan: &Plan) {
    let large = thousands(plan.sizes[2]);
    let what = format!("slowest GRAB, 0 to {large} winners");
    bars.value(&what, MS, (growth::SLOWEST, GRAB), Limit::AtMost(2.0));
    bars.floor_value(MS, (growth::SLOWEST, FLOOR_GRANTED));
    bars.value(&format!("DEL of {large}"), MS, (growth::DEL, GRAB), Limit::AtMost(60.0));
    bars.value(&format!("UNLINK of {large}"), MS, (growth::UNLINK, GRAB), Limit::AtMost(1.0));
}

fn storage(bars: &mut Bars<'_>, plan: &Plan) {
    for case in [rdb::SAVE, rdb::LOAD] {
        bars.ratio(case, MS, (case, GRAB), (case, SADD), Limit::AtMost(0.5));
    }
    let most = 1.2 * ID_BYTES + 8.0;
    bars.value("RDB size of a winner", BYTES, (rdb::SAVE, GRAB), Limit::AtMost(most));
    let (grab, sadd) = ((wins::AOF, GRAB), (wins::AOF, SADD));
    bars.ratio("AOF size of a grant", BYTES, grab, sadd, Limit::AtMost(1.5));
    bars.floor(BYTES, (wins::AOF, FLOOR_GRANTED), sadd);
    let [small, _, large] = plan.sizes;
    let (few, many) = (growth::page(small), growth::page(large));
    let what = format!("WINNERS COUNT 1000 of {}", thousands(large));
    bars.ratio(&what, US, (&many, GRAB), (&few, GRAB), Limit::AtMost(1.2));
    bars.with(&format!("x the same of {}", thousands(small)));
    let set = (fork::FORK, SADD);
    bars.ratio(fork::FORK, BYTES, (fork::FORK, GRAB), set, Limit::AtMost(0.5));
    bars.floor(BYTES, (fork::IDLE_FORK, SADD), set);
    bars.ratio(fork::IDLE_FORK, BYTES, (fork::IDLE_FORK, GRAB), set, Limit::AtMost(0.5));
    bars.floor(BYTES, (fork::IDLE_FORK, SADD), set);
    bars.with("x SADD under load");
    bars.beside();
}
