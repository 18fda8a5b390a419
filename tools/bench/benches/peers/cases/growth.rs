//! A sale that grows to ten million winners, and a set beside it: the slowest call on the way,
//! memory, a page of winners, and how long it takes to remove.

use redis::Value;

use super::{refusals, Bench};
use crate::contenders::{Kind, FLOOR_GRANTED, GRAB, PLENTY, SADD, SALE, SET, USER};
use crate::control::Control;
use crate::figures::{BYTES, MS, US};
use crate::load::USERS;
use crate::sender::{self, Template, PIPELINED};

pub const SLOWEST: &str = "slowest call while growing";
pub const DEL: &str = "DEL of the largest";
pub const UNLINK: &str = "UNLINK of the largest";
/// A set of the users and a sorted set of them by time.
pub const SET_AND_ZSET: &str = "set and sorted set";

/// The case of memory at a size.
pub fn memory(winners: u64) -> String {
    format!("memory, {winners} winners")
}

/// The case of a page out of so many.
pub fn page(winners: u64) -> String {
    format!("WINNERS COUNT 1000 of {winners}")
}

const ZSET: &str = "times";
const SMALL: &str = "tiny";
const PAGE_ROWS: u64 = 1_000;
const PAGES: usize = 300;

/// Every call that takes longer is kept with its time; the rest costs nothing.
const SLOWLOG: [&str; 4] = ["--slowlog-log-slower-than", "50", "--slowlog-max-len", "100000"];

pub fn run(bench: &mut Bench) -> Result<(), String> {
    for round in 0..bench.plan.growths {
        grow_sale(bench, round)?;
        grow_nothing(bench)?;
        grow_set(bench, round)?;
    }
    Ok(())
}

/// As many calls that keep nothing: how long the machine itself stands still meanwhile.
fn grow_nothing(bench: &mut Bench) -> Result<(), String> {
    bench.step(SLOWEST, FLOOR_GRANTED);
    let [.., large] = bench.plan.sizes;
    let kind = Kind::FloorGranted;
    let mut control = kind.start(&bench.modules, &SLOWLOG)?;
    let words = kind.prepare(&mut control)?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let calls = sender::spread(large, USERS);
    sender::send(control.port(), &Template::new(&[&words]), calls, PIPELINED)?;
    let slowest = slowest_us(&mut control, words[0])?;
    bench.figures.add(SLOWEST, FLOOR_GRANTED, MS, slowest / 1e3);
    Ok(())
}

fn grow_sale(bench: &mut Bench, round: usize) -> Result<(), String> {
    bench.step(SLOWEST, GRAB);
    let [small, .., large] = bench.plan.sizes;
    let mut control = Kind::Grab.start(&bench.modules, &SLOWLOG)?;
    let grab = ["SECKILL.GRAB", SALE, USER];
    control.tell(&["SECKILL.INIT", SALE, PLENTY])?;
    grow(bench, &mut control, (GRAB, SALE), &Template::new(&[&grab]), round)?;
    if round == 0 {
        let little = Template::new(&[&["SECKILL.GRAB", SMALL, USER]]);
        control.tell(&["SECKILL.INIT", SMALL, PLENTY])?;
        sender::send(control.port(), &little, sender::shuffled(small), PIPELINED)?;
        pages(bench, &mut control, [(SMALL, small), (SALE, large)])?;
        refusals::of_large(bench, &mut control, large)?;
    }
    remove(bench, &mut control, GRAB, SALE, round)
}

fn grow_set(bench: &mut Bench, round: usize) -> Result<(), String> {
    bench.step(SLOWEST, SADD);
    let mut control = Kind::Sadd.start(&bench.modules, &SLOWLOG)?;
    grow(bench, &mut control, (SADD, SET), &Template::new(&[&["SADD", SET, USER]]), round)?;
    remove(bench, &mut control, SADD, SET, round)
}

/// Grows to the largest size; notes memory on the way, and the slowest call.
fn grow(
    bench: &mut Bench,
    control: &mut Control,
    (who, key): (&str, &str),
    template: &Template,
    round: usize,
) -> Result<(), String> {
    let [_, middle, large] = bench.plan.sizes;
    let mut numbers = sender::spread(large, USERS);
    for (size, more) in [(middle, middle), (large, large - middle)] {
        let part = numbers.by_ref().take(more as usize);
        sender::send(control.port(), template, part, PIPELINED)?;
        let bytes = usage(control, key)?;
        bench.figures.add(&memory(size), who, BYTES, bytes / size as f64);
        // Both sizes are the same in every round.
        if who == SADD && round == 0 {
            // The scores differ from real times, but take as much room.
            control.tell(&["ZUNIONSTORE", ZSET, "1", key])?;
            let both = bytes + usage(control, ZSET)?;
            bench.figures.add(&memory(size), SET_AND_ZSET, BYTES, both / size as f64);
            control.tell(&["DEL", ZSET])?;
        }
    }
    let name = if who == SADD { "SADD" } else { "SECKILL.GRAB" };
    let slowest = slowest_us(control, name)?;
    bench.figures.add(SLOWEST, who, MS, slowest / 1e3);
    Ok(())
}

fn usage(control: &mut Control, key: &str) -> Result<f64, String> {
    control.ask(&["MEMORY", "USAGE", key, "SAMPLES", "1000"])
}

/// The longest of the calls that the server logged as slow, 0 if there were none.
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

/// Pages from anywhere, in a small sale and in a large one by turns.
fn pages(bench: &mut Bench, control: &mut Control, sales: [(&str, u64); 2]) -> Result<(), String> {
    for round in 0..bench.plan.rounds {
        for (key, winners) in sales {
            bench.step(&page(winners), GRAB);
            control.tell(&["CONFIG", "RESETSTAT"])?;
            for cursor in sender::random(round as u64, winners - PAGE_ROWS).take(PAGES) {
                let (cursor, rows) = (cursor.to_string(), PAGE_ROWS.to_string());
                control.tell(&["SECKILL.WINNERS", key, &cursor, "COUNT", &rows])?;
            }
            let took = control.call_us("SECKILL.WINNERS")?;
            bench.figures.add(&page(winners), GRAB, US, took);
        }
    }
    Ok(())
}

/// Removes it at once in one round, in the background in the next.
fn remove(
    bench: &mut Bench,
    control: &mut Control,
    who: &str,
    key: &str,
    round: usize,
) -> Result<(), String> {
    let (case, command, stat) = match round % 2 {
        0 => (DEL, "DEL", "del"),
        _ => (UNLINK, "UNLINK", "unlink"),
    };
    control.tell(&["CONFIG", "RESETSTAT"])?;
    control.tell(&[command, key])?;
    let took = control.call_us(stat)?;
    bench.figures.add(case, who, MS, took / 1e3);
    Ok(())
}
