//! A sale that grows to ten million winners, and a set beside it. Measures memory, the slowest
//! call, a page of winners, and the time to delete the key.

use redis::Value;
use seckill_crowd::screen::thousands;

use super::Bench;
use crate::contenders::{sadd, GRANTED, MODULE, PLENTY, SADD, SALE, SET, USER};
use crate::control::Control;
use crate::figures::{Spread, BYTES, MS, US};
use crate::load::{random, send, spread, Request, PIPELINED, USERS};
use crate::rows::{short, Bar, Rows, DIRECT, LOADED};

const SLOWEST: &str = "slowest call while growing";
const DEL: &str = "DEL of the largest";
const UNLINK: &str = "UNLINK of the largest";
/// Calls that write nothing: they show pauses of the machine itself.
const NOOP: &str = "no-op";

fn memory(winners: u64) -> String {
    format!("memory of {winners}")
}

fn page(winners: u64) -> String {
    format!("WINNERS COUNT 1000 of {winners}")
}

const SMALL: &str = "tiny";
const PAGE_ROWS: u64 = 1_000;
const PAGES: usize = 50;

/// Logs every call above 50 us. Faster calls cost nothing here.
const SLOWLOG: [&str; 4] = ["--slowlog-log-slower-than", "50", "--slowlog-max-len", "100000"];

/// Number of rounds: one deletes by DEL, the other by UNLINK.
const ROUNDS: usize = 2;

pub fn run(bench: &mut Bench) -> Result<(), String> {
    for round in 0..ROUNDS {
        bench.step("a large sale", round);
        grow_sale(bench, round)?;
        bench.step("as many calls that keep nothing", round);
        grow_nothing(bench)?;
    }
    bench.step("a large set", 0);
    grow_set(bench)
}

fn grow_nothing(bench: &mut Bench) -> Result<(), String> {
    let [.., large] = bench.plan.sizes;
    let mut control = bench.server_with_noop(&[], &SLOWLOG)?;
    control.tell(&["SECKILL.INIT", SALE, PLENTY])?;
    let request = Request::new(&["NOOP.GRAB", SALE, USER], GRANTED);
    send(control.port(), &request, spread(large, USERS), PIPELINED)?;
    let slowest = slowest_us(&mut control, "NOOP.GRAB")?;
    bench.figures.add(SLOWEST, NOOP, MS, slowest / 1e3);
    Ok(())
}

fn grow_sale(bench: &mut Bench, round: usize) -> Result<(), String> {
    let [small, .., large] = bench.plan.sizes;
    let grab = |key| Request::new(&["SECKILL.GRAB", key, USER], GRANTED);
    let mut control = bench.server(&SLOWLOG)?;
    control.tell(&["SECKILL.INIT", SALE, PLENTY])?;
    grow(bench, &mut control, (MODULE, SALE), &grab(SALE))?;
    let slowest = slowest_us(&mut control, "SECKILL.GRAB")?;
    bench.figures.add(SLOWEST, MODULE, MS, slowest / 1e3);
    if round == 0 {
        control.tell(&["SECKILL.INIT", SMALL, PLENTY])?;
        send(control.port(), &grab(SMALL), spread(small, USERS), PIPELINED)?;
        pages(bench, &mut control, [(SMALL, small), (SALE, large)])?;
    }
    remove(bench, &mut control, (MODULE, SALE), round)
}

fn grow_set(bench: &mut Bench) -> Result<(), String> {
    let mut control = bench.server(&[])?;
    grow(bench, &mut control, (SADD, SET), &sadd())?;
    remove(bench, &mut control, (SADD, SET), 0)
}

/// Grows to the largest size and records the memory at each size.
fn grow(
    bench: &mut Bench,
    control: &mut Control,
    (who, key): (&str, &str),
    request: &Request,
) -> Result<(), String> {
    let [_, middle, large] = bench.plan.sizes;
    let mut users = spread(large, USERS);
    for (size, more) in [(middle, middle), (large, large - middle)] {
        send(control.port(), request, users.by_ref().take(more as usize), PIPELINED)?;
        let bytes: f64 = control.ask(&["MEMORY", "USAGE", key, "SAMPLES", "1000"])?;
        bench.figures.add(&memory(size), who, BYTES, bytes / size as f64);
    }
    Ok(())
}

/// The slowest call in SLOWLOG; 0 if there is none.
fn slowest_us(control: &mut Control, name: &str) -> Result<f64, String> {
    let entries: Vec<Vec<Value>> = control.ask(&["SLOWLOG", "GET", "-1"])?;
    let mut slowest: f64 = 0.0;
    for entry in entries {
        let [_, _, took, words, ..] = entry.as_slice() else { continue };
        let words: Vec<String> =
            redis::from_redis_value_ref(words).map_err(|e| format!("SLOWLOG: {e}"))?;
        if let (Value::Int(took), Some(true)) = (took, words.first().map(|word| word == name)) {
            slowest = slowest.max(*took as f64);
        }
    }
    Ok(slowest)
}

/// Reads pages from random places, in a small and a large sale by turns.
fn pages(bench: &mut Bench, control: &mut Control, sales: [(&str, u64); 2]) -> Result<(), String> {
    for round in 0..bench.plan.rounds {
        for (key, winners) in sales {
            control.tell(&["CONFIG", "RESETSTAT"])?;
            for cursor in random(round as u64, winners - PAGE_ROWS).take(PAGES) {
                let (cursor, rows) = (cursor.to_string(), PAGE_ROWS.to_string());
                control.tell(&["SECKILL.WINNERS", key, &cursor, "COUNT", &rows])?;
            }
            let took = control.call_us("SECKILL.WINNERS")?;
            bench.figures.add(&page(winners), MODULE, US, took);
        }
    }
    Ok(())
}

fn remove(
    bench: &mut Bench,
    control: &mut Control,
    (who, key): (&str, &str),
    round: usize,
) -> Result<(), String> {
    let (case, command, stat) = match round {
        0 => (DEL, "DEL", "del"),
        _ => (UNLINK, "UNLINK", "unlink"),
    };
    control.tell(&["CONFIG", "RESETSTAT"])?;
    control.tell(&[command, key])?;
    let took = control.call_us(stat)?;
    bench.figures.add(case, who, MS, took / 1e3);
    Ok(())
}

pub fn rows(rows: &mut Rows<'_>) {
    let [small, middle, large] = rows.plan.sizes;
    for winners in [middle, large] {
        let (case, what) = (memory(winners), thousands(winners));
        let what = (&*format!("memory of {what} winners"), "bytes, divided by a Redis set's");
        rows.ratio(what, DIRECT, 0.6, (BYTES, (&case, MODULE), (&case, SADD)));
    }
    // The better round counts, because a shared machine sometimes pauses.
    let better = |who| Some(rows.figures.spread((SLOWEST, who), MS)?.least);
    let (ours, noop) = (better(MODULE), better(NOOP));
    let found = ours.map(|ms| Spread { median: ms, least: ms, most: ms });
    let what = format!("slowest GRAB to {} winners", thousands(large));
    let setting = format!("no AOF, {}", LOADED);
    let row = rows.add((&what, "ms; a no-op command's"), &setting, noop.map(Bar::AtMost), found);
    row.bar = "no worse than the no-op's".to_owned();
    row.note = noop.map_or_else(String::new, |noop| format!("; {}", short(noop)));
    for (case, figure, most) in [(DEL, "ms; a set's", 60.0), (UNLINK, "ms", 1.0)] {
        rows.value((case, figure), DIRECT, most, (case, MS, 1.0), SADD);
    }
    let (few, many) = (page(small), page(large));
    let what = format!("WINNERS COUNT 1000 of {}", thousands(large));
    let figure = format!("time, divided by that of {} winners", thousands(small));
    let both = (US, (&*many, MODULE), (&*few, MODULE));
    rows.ratio((&what, &figure), DIRECT, 1.2, both).bar = "flat (<= 1.20)".to_owned();
}
