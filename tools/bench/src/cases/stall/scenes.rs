//! Sales at which commands have the most to do.

use std::thread;
use std::time::{Duration, Instant};

use redis::Value;
use seckill_domain::effect::{self, Change, Effect};
use seckill_domain::plan::Position;

use crate::cases::{waiting, Bench};
use crate::contenders::{GRANTED, GRANTED_UNITS, PLENTY, REQ, SALE, USER};
use crate::control::Control;
use crate::load::{send, spread, Request, PIPELINED, USERS};

/// Longer than anything here lasts.
const LONG_MS: &str = "90000000";
/// A hold that ends while nothing may be written: filling must take less.
const HOLD_MS: u64 = 12_000;
/// Longer than a fence is kept.
const FENCE_MS: u64 = 11 * 60_000;
/// From one round to the next.
pub const PERIOD_MS: u64 = 60_000;
/// How far a sale's time is ahead of the server's clock, which then ends no round of it.
const AHEAD_MS: u64 = 30 * PERIOD_MS;
const DEADLINE: Duration = Duration::from_secs(120);

/// Numbers that one grant may have.
pub const MOST: u64 = 100;
/// GRABs in one write.
const GRABS_AT_ONCE: usize = 500;

/// The sales of an MGRAB, in one slot.
pub const MGRAB_SALES: u64 = 64;

pub fn mgrab_sale(number: u64) -> String {
    format!("{{{SALE}}}:{number}")
}

/// Plain grants.
pub fn winners(bench: &Bench, size: u64) -> Result<Control, String> {
    let mut control = bench.server(&[])?;
    control.tell(&["SECKILL.INIT", SALE, &PLENTY.to_string()])?;
    let grab = Request::new(&["SECKILL.GRAB", SALE, USER], GRANTED);
    send(control.port(), &grab, spread(size, USERS), PIPELINED)?;
    Ok(control)
}

/// Grants with a hold and a request id.
pub fn holds(bench: &Bench, size: u64) -> Result<Control, String> {
    let mut control = bench.server(&[])?;
    let supply = PLENTY.to_string();
    control.tell(&["SECKILL.INIT", SALE, &supply, "HOLD", LONG_MS, "OUTBOX", "orders"])?;
    let grab = Request::new(&["SECKILL.GRAB", SALE, USER, "REQ", REQ], GRANTED);
    send(control.port(), &grab, spread(size, USERS), PIPELINED)?;
    Ok(control)
}

/// Grants of one user.
pub fn one_user(bench: &Bench, size: u64) -> Result<Control, String> {
    let mut control = bench.server(&[])?;
    control.tell(&["SECKILL.INIT", SALE, &PLENTY.to_string(), "LIMIT", "0"])?;
    let grab = Request::new(&["SECKILL.GRAB", SALE, "user", "REQ", REQ], GRANTED);
    send(control.port(), &grab, 0..size, PIPELINED)?;
    Ok(control)
}

/// All units of a sale with an outbox held, and all holds due: writes are paused, so that nothing
/// expires until that ends.
pub fn due(bench: &Bench, size: u64) -> Result<Control, String> {
    let mut control = bench.server(&[])?;
    hold_all(&mut control, SALE, size)?;
    until_due(control, size)
}

/// Due holds in the sales of an MGRAB, as many units in all.
pub fn due_in_many(bench: &Bench, size: u64) -> Result<Control, String> {
    let mut control = bench.server(&[])?;
    for sale in (0..MGRAB_SALES).map(mgrab_sale) {
        hold_all(&mut control, &sale, size / MGRAB_SALES)?;
    }
    until_due(control, size / MGRAB_SALES * MGRAB_SALES)
}

/// A server with `size` due holds, each of as many numbers as one grant may have.
pub fn due_hundreds(bench: &Bench, size: u64) -> Result<Control, String> {
    let mut control = bench.server(&[])?;
    open(&mut control, SALE, size * MOST, &["NUMBERED"])?;
    grab_hundreds(&control, size)?;
    until_due(control, size)
}

/// A server with as many due holds, whose numbers are far from each other, within a hold and
/// between holds that end one after the other.
pub fn due_scattered(bench: &Bench, size: u64) -> Result<Control, String> {
    let mut control = bench.server(&[])?;
    open(&mut control, SALE, size * MOST, &["NUMBERED"])?;
    let units = |hold| (0..MOST).map(|row| 1 + hold + row * size).collect();
    grab_these(&mut control, spread(size, size).map(units))?;
    until_due(control, size)
}

/// A sale of this many numbers, all of them sold.
pub fn sold_numbers(bench: &Bench, size: u64) -> Result<Control, String> {
    let mut control = bench.server(&[])?;
    control.tell(&["SECKILL.INIT", SALE, &size.to_string(), "LIMIT", "0", "NUMBERED"])?;
    grab_hundreds(&control, size / MOST)?;
    Ok(control)
}

/// A sale with an outbox, whose holds end soon.
fn open(control: &mut Control, sale: &str, supply: u64, terms: &[&str]) -> Result<(), String> {
    let (supply, hold) = (supply.to_string(), HOLD_MS.to_string());
    let stream = format!("orders:{sale}");
    let all = ["LIMIT", "0", "HOLD", &hold, "OUTBOX", &stream];
    control.tell(&[&["SECKILL.INIT", sale, &supply], &all[..], terms].concat())
}

/// Each unit of a sale has a hold of its own.
fn hold_all(control: &mut Control, sale: &str, size: u64) -> Result<(), String> {
    open(control, sale, size, &[])?;
    let grab = Request::new(&["SECKILL.GRAB", sale, USER], GRANTED);
    send(control.port(), &grab, spread(size, USERS), PIPELINED).map(drop)
}

/// Sends `count` GRABs, each for as many numbers as one grant may have.
fn grab_hundreds(control: &Control, count: u64) -> Result<(), String> {
    let grab = ["SECKILL.GRAB", SALE, USER, "QTY", &MOST.to_string()];
    let grab = Request::new(&grab, GRANTED_UNITS);
    send(control.port(), &grab, spread(count, USERS), PIPELINED).map(drop)
}

/// Grants of exactly these numbers, each for a user of its own.
pub fn grab_these(
    control: &mut Control,
    grants: impl Iterator<Item = Vec<u64>>,
) -> Result<(), String> {
    let mut grants = grants.peekable();
    while grants.peek().is_some() {
        let mut grabs = redis::pipe();
        for units in grants.by_ref().take(GRABS_AT_ONCE) {
            let user = format!("user:{}", units[0]);
            grabs.cmd("SECKILL.GRAB").arg(SALE).arg(user).arg("UNITS").arg(units).ignore();
        }
        control.run(&grabs)?;
    }
    Ok(())
}

/// Nothing may be written until all of these holds are due, and beyond.
fn until_due(mut control: Control, holds: u64) -> Result<Control, String> {
    control.tell(&["CLIENT", "PAUSE", "600000", "WRITE"])?;
    let found = control.info("seckill", "seckill_holds")?;
    if found as u64 != holds {
        return Err(format!("of {holds} holds {found} are left: filling took too long"));
    }
    thread::sleep(Duration::from_millis(HOLD_MS + 100));
    Ok(control)
}

/// CANCELs of request ids that were never granted, longer ago than they are kept.
pub fn fences(bench: &Bench, size: u64) -> Result<Control, String> {
    let mut control = bench.server(&[])?;
    control.tell(&["SECKILL.INIT", SALE, &PLENTY.to_string()])?;
    let cancel = Request::new(&["SECKILL.CANCEL", SALE, USER, "REQ", REQ], "*4\r\n$9\r\nCANCELLED");
    send(control.port(), &cancel, 0..size, PIPELINED)?;
    go_on(&mut control, FENCE_MS)?;
    Ok(control)
}

/// A server with `size` waiters for one unit each.
pub fn waiters(bench: &Bench, size: u64) -> Result<Control, String> {
    waiting::filled(bench, size)
}

/// Rounds that are kept, each for a hold of a user of its own.
pub fn rounds(bench: &Bench, size: u64) -> Result<Control, String> {
    let mut control = bench.server(&[])?;
    init_rounds(&mut control, &["HOLD", "2592000000"])?;
    for round in 0..size {
        let user = format!("user:{round:012}");
        control.tell(&["SECKILL.GRAB", SALE, &user, "REQ", "first"])?;
        go_on(&mut control, PERIOD_MS)?;
    }
    Ok(control)
}

/// A round with very many winners, which is over.
pub fn large_round(bench: &Bench, size: u64) -> Result<Control, String> {
    let mut control = bench.server(&[])?;
    init_rounds(&mut control, &[])?;
    let grab = Request::new(&["SECKILL.GRAB", SALE, USER, "REQ", REQ], GRANTED);
    send(control.port(), &grab, spread(size, USERS), PIPELINED)?;
    Ok(control)
}

/// Rounds that begin when [`go_on`] makes them.
fn init_rounds(control: &mut Control, terms: &[&str]) -> Result<(), String> {
    let (supply, period) = (PLENTY.to_string(), PERIOD_MS.to_string());
    let words = ["SECKILL.INIT", SALE, &supply, "LIMIT", "0", "EVERY", &period];
    control.tell(&[&words, terms].concat())?;
    go_on(control, AHEAD_MS)
}

/// A sale without grants.
pub fn empty(bench: &Bench, _: u64) -> Result<Control, String> {
    let mut control = bench.server(&[])?;
    control.tell(&["SECKILL.INIT", SALE, "5"])?;
    Ok(control)
}

/// The key of [`list`].
pub const LIST: &str = "elements";

/// A list of the server's own.
pub fn list(bench: &Bench, size: u64) -> Result<Control, String> {
    let control = empty(bench, size)?;
    let push = Request::new(&["RPUSH", LIST, USER], ":");
    send(control.port(), &push, 0..size, PIPELINED)?;
    Ok(control)
}

/// Has this many milliseconds pass for the sale, as a replica does whose primary's clock was ahead.
pub fn go_on(control: &mut Control, ms: u64) -> Result<(), String> {
    let version: u64 = number(control, "version")?;
    let (mut position, mut effect) = (Vec::new(), Vec::new());
    Position { version, entries: None }.encode(&mut position);
    Change { elapsed_ms: ms, epoch: None, effect: Effect::Pause(effect::Pause) }
        .encode(&mut effect);
    control.tell(&[b"SECKILL.APPLY", SALE.as_bytes(), &position, &effect])?;
    control.tell(&["SECKILL.RESUME", SALE])
}

/// A number of STATUS.
pub fn number(control: &mut Control, field: &str) -> Result<u64, String> {
    let status: std::collections::HashMap<String, Value> =
        control.ask(&["SECKILL.STATUS", SALE])?;
    match status.get(field) {
        Some(Value::Int(number)) => u64::try_from(*number).map_err(|e| e.to_string()),
        other => Err(format!("STATUS {field} is {other:?}")),
    }
}

/// Waits until a number of STATUS is this one.
pub fn wait_for(control: &mut Control, field: &str, value: u64) -> Result<(), String> {
    let deadline = Instant::now() + DEADLINE;
    while number(control, field)? != value {
        if Instant::now() > deadline {
            return Err(format!("STATUS {field} does not become {value}"));
        }
        thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}
