//! One request at a time on each connection, as a shop's servers send them.

use super::Bench;
use crate::contenders::{script, Kind, INCR, LATE, LUA, SADD, SALE, SOLDOUT};
use crate::control::Control;
use crate::figures::PER_SECOND;
use crate::load::{Load, USERS};
use crate::sender::{self, Template};
use crate::steady::Steady;

/// The case of so many connections.
pub fn case(connections: u64) -> String {
    format!("no pipeline, {connections} connections")
}

pub const FEW: u64 = 50;
pub const MANY: u64 = 1_000;

/// The same connections at a rate that all of them sustain.
pub const STEADY: &str = "no pipeline, 1000 connections, steady";
/// INCR once more, on another server: how far two of a kind are apart is what a ratio can't tell.
pub const INCR_AGAIN: &str = "INCR again";
/// The steady rate, of what redis-benchmark reaches with INCR.
const STEADY_PART: f64 = 0.6;

type Seat = (&'static str, Control, Vec<String>);

pub fn fifty(bench: &mut Bench) -> Result<(), String> {
    let mut seats = seats(bench)?;
    seats.push(seat(bench, SADD, Kind::Sadd)?);
    let mut control = Kind::Script.start(&bench.modules, &[])?;
    let words = script(Kind::Script, &mut control, "0", LATE)?;
    seats.push((LUA, control, words));
    rounds(bench, FEW, bench.plan.rounds, &mut seats)
}

pub fn thousand(bench: &mut Bench) -> Result<(), String> {
    let mut seats = seats(bench)?;
    for (name, kind) in [
        (INCR_AGAIN, Kind::Incr),
        (Kind::FloorSoldOut.name(), Kind::FloorSoldOut),
        (Kind::FloorGranted.name(), Kind::FloorGranted),
    ] {
        seats.push(seat(bench, name, kind)?);
    }
    rounds(bench, MANY, bench.plan.crowd_rounds, &mut seats)?;
    steady(bench, &mut seats)
}

fn rounds(
    bench: &mut Bench,
    connections: u64,
    rounds: usize,
    seats: &mut [Seat],
) -> Result<(), String> {
    let case = case(connections);
    let requests = match connections {
        MANY => bench.plan.crowd_calls,
        _ => bench.plan.single_calls,
    };
    let load = Load::unpipelined(requests, connections);
    for _ in 0..rounds {
        for (name, control, words) in &mut *seats {
            bench.step(&case, name);
            let rate = load.run(control, words)?;
            control.check_no_errors()?;
            rate.note(&mut bench.figures, &case, name);
        }
        take_turns(seats);
    }
    Ok(())
}

/// Latencies at one rate for all.
fn steady(bench: &mut Bench, seats: &mut [Seat]) -> Result<(), String> {
    let reached = bench.figures.spread(&case(MANY), INCR, PER_SECOND);
    let per_second = STEADY_PART * reached.ok_or("INCR was not measured")?.median;
    let requests = bench.plan.steady_calls;
    let steady = Steady { connections: MANY, requests, per_second };
    for round in 0..bench.plan.rounds {
        for (name, control, words) in &mut *seats {
            bench.step(STEADY, name);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let template = Template::new(&[&words]);
            // The same moments for all, other users in each round.
            let users = sender::random(!(round as u64), USERS);
            let latencies = steady.run(control, &template, users, round as u64)?;
            control.check_no_errors()?;
            latencies.note(&mut bench.figures, STEADY, name);
        }
        take_turns(seats);
    }
    Ok(())
}

/// Another one is first in the next round: that place is worth some percent of a latency.
fn take_turns(seats: &mut [Seat]) {
    seats.rotate_left(1);
}

fn seats(bench: &Bench) -> Result<Vec<Seat>, String> {
    let mut seats = Vec::new();
    for kind in [Kind::Incr, Kind::Grab] {
        seats.push(seat(bench, kind.name(), kind)?);
    }
    let mut control = Kind::Grab.start(&bench.modules, &[])?;
    control.tell(&["SECKILL.INIT", SALE, "0"])?;
    let late = ["SECKILL.GRAB", SALE, LATE].map(str::to_owned).to_vec();
    seats.push((SOLDOUT, control, late));
    Ok(seats)
}

fn seat(bench: &Bench, name: &'static str, kind: Kind) -> Result<Seat, String> {
    let mut control = kind.start(&bench.modules, &[])?;
    let words = kind.prepare(&mut control)?;
    Ok((name, control, words))
}
