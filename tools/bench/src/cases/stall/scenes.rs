//! Sales in which commands have the most work.

use std::thread;
use std::time::Duration;

use seckill_domain::effect::{self, Change, Effect};
use seckill_domain::plan::Position;

use crate::cases::Bench;
use crate::contenders::{GRANTED, GRANTED_UNITS, PLENTY, REQ, SALE, USER};
use crate::control::Control;
use crate::load::{numbered, send, spread, Request, PIPELINED, USERS};

/// A hold of 25 hours, longer than any case.
const LONG_MS: &str = "90000000";
/// A hold that ends while writes are paused. Filling the sale must take less time.
const HOLD_MS: u64 = 12_000;
/// 11 minutes: longer than a fence is kept.
const FENCE_MS: u64 = 11 * 60_000;
pub const PERIOD_MS: u64 = 60_000;
/// How far the sale's time is ahead of the server's clock. So the server ends no round by itself.
const AHEAD_MS: u64 = 30 * PERIOD_MS;

/// The first bytes of the reply CANCELLED.
pub const CANCELLED: &str = "*4\r\n$9\r\nCANCELLED";

/// Most numbers that one grant may have.
pub const MOST: u64 = 100;
const GRABS_AT_ONCE: usize = 500;

/// The number of sales of an MGRAB, all in one slot.
pub const MGRAB_SALES: u64 = 64;

pub fn mgrab_sale(number: u64) -> String {
    format!("{{{SALE}}}:{number}")
}

/// A server whose sale these words create, after this request with each number.
fn filled(
    bench: &Bench,
    init: &[&str],
    request: &Request,
    numbers: impl Iterator<Item = u64>,
) -> Result<Control, String> {
    let mut control = bench.server(&[])?;
    control.tell(&[&["SECKILL.INIT", SALE], init].concat())?;
    send(control.port(), request, numbers, PIPELINED)?;
    Ok(control)
}

/// A sale with `size` plain grants.
pub fn winners(bench: &Bench, size: u64) -> Result<Control, String> {
    let grab = Request::new(&["SECKILL.GRAB", SALE, USER], GRANTED);
    filled(bench, &[PLENTY], &grab, spread(size, USERS))
}

/// A sale with `size` grants, each with a hold and a request id.
pub fn holds(bench: &Bench, size: u64) -> Result<Control, String> {
    let init = [PLENTY, "HOLD", LONG_MS, "OUTBOX", "orders"];
    filled(bench, &init, &grab_req(USER), spread(size, USERS))
}

/// A sale in which one user has `size` grants.
pub fn one_user(bench: &Bench, size: u64) -> Result<Control, String> {
    filled(bench, &[PLENTY, "LIMIT", "0"], &grab_req("user"), 0..size)
}

fn grab_req(user: &str) -> Request {
    Request::new(&["SECKILL.GRAB", SALE, user, "REQ", REQ], GRANTED)
}

/// A sale with an outbox, all units held and all holds due. Writes are paused, so no hold expires
/// before CLIENT UNPAUSE.
pub fn due(bench: &Bench, size: u64) -> Result<Control, String> {
    let mut control = bench.server(&[])?;
    hold_all(&mut control, SALE, size)?;
    until_due(control, size)
}

/// Due holds in all sales of an MGRAB, `size` units in total.
pub fn due_in_many(bench: &Bench, size: u64) -> Result<Control, String> {
    let mut control = bench.server(&[])?;
    for sale in (0..MGRAB_SALES).map(mgrab_sale) {
        hold_all(&mut control, &sale, size / MGRAB_SALES)?;
    }
    until_due(control, size / MGRAB_SALES * MGRAB_SALES)
}

/// A server with `size` due holds, each of [`MOST`] numbers.
pub fn due_hundreds(bench: &Bench, size: u64) -> Result<Control, String> {
    let mut control = bench.server(&[])?;
    open(&mut control, SALE, size * MOST, &["NUMBERED"])?;
    grab_hundreds(&control, size)?;
    until_due(control, size)
}

/// A server with `size` due holds of numbers that are not neighbours, neither within a hold nor
/// between holds that end one after the other.
pub fn due_scattered(bench: &Bench, size: u64) -> Result<Control, String> {
    let mut control = bench.server(&[])?;
    open(&mut control, SALE, size * MOST, &["NUMBERED"])?;
    let units = |hold| (0..MOST).map(|row| 1 + hold + row * size).collect();
    grab_these(&mut control, spread(size, size).map(units))?;
    until_due(control, size)
}

/// A sale of `size` numbers, all sold.
pub fn sold_numbers(bench: &Bench, size: u64) -> Result<Control, String> {
    let mut control = bench.server(&[])?;
    control.tell(&["SECKILL.INIT", SALE, &size.to_string(), "LIMIT", "0", "NUMBERED"])?;
    grab_hundreds(&control, size / MOST)?;
    Ok(control)
}

/// Creates a sale with an outbox and short holds.
fn open(control: &mut Control, sale: &str, supply: u64, terms: &[&str]) -> Result<(), String> {
    let (supply, hold) = (supply.to_string(), HOLD_MS.to_string());
    let stream = format!("orders:{sale}");
    let all = ["LIMIT", "0", "HOLD", &hold, "OUTBOX", &stream];
    control.tell(&[&["SECKILL.INIT", sale, &supply], &all[..], terms].concat())
}

/// Holds each unit of a sale by its own GRAB.
fn hold_all(control: &mut Control, sale: &str, size: u64) -> Result<(), String> {
    open(control, sale, size, &[])?;
    let grab = Request::new(&["SECKILL.GRAB", sale, USER], GRANTED);
    send(control.port(), &grab, spread(size, USERS), PIPELINED).map(drop)
}

/// Sends `count` GRABs, each for [`MOST`] numbers.
fn grab_hundreds(control: &Control, count: u64) -> Result<(), String> {
    let grab = ["SECKILL.GRAB", SALE, USER, "QTY", &MOST.to_string()];
    let grab = Request::new(&grab, GRANTED_UNITS);
    send(control.port(), &grab, spread(count, USERS), PIPELINED).map(drop)
}

/// Grants exactly these numbers, each for its own user.
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

/// Pauses writes until all of these holds are due, and longer.
fn until_due(mut control: Control, holds: u64) -> Result<Control, String> {
    control.tell(&["CLIENT", "PAUSE", "600000", "WRITE"])?;
    let found = control.info("seckill", "seckill_holds")?;
    if found as u64 != holds {
        return Err(format!("of {holds} holds {found} are left: filling took too long"));
    }
    thread::sleep(Duration::from_millis(HOLD_MS + 100));
    Ok(control)
}

/// A sale with `size` fences, each a CANCEL of an unused request id, older than a fence is kept.
pub fn fences(bench: &Bench, size: u64) -> Result<Control, String> {
    let cancel = Request::new(&["SECKILL.CANCEL", SALE, USER, "REQ", REQ], CANCELLED);
    let mut control = filled(bench, &[PLENTY], &cancel, 0..size)?;
    go_on(&mut control, FENCE_MS)?;
    Ok(control)
}

/// A sale that keeps `size` rounds, each because of one hold.
pub fn rounds(bench: &Bench, size: u64) -> Result<Control, String> {
    let mut control = bench.server(&[])?;
    init_rounds(&mut control, &["HOLD", "2592000000"])?;
    for round in 0..size {
        let user = numbered(USER, round);
        control.tell(&["SECKILL.GRAB", SALE, &user, "REQ", "first"])?;
        go_on(&mut control, PERIOD_MS)?;
    }
    Ok(control)
}

/// A sale whose current round has very many winners and is about to end.
pub fn large_round(bench: &Bench, size: u64) -> Result<Control, String> {
    let mut control = bench.server(&[])?;
    init_rounds(&mut control, &[])?;
    send(control.port(), &grab_req(USER), spread(size, USERS), PIPELINED)?;
    Ok(control)
}

/// Creates a sale with rounds; a round begins when [`go_on`] moves the time.
fn init_rounds(control: &mut Control, terms: &[&str]) -> Result<(), String> {
    let period = PERIOD_MS.to_string();
    let words = ["SECKILL.INIT", SALE, PLENTY, "LIMIT", "0", "EVERY", &period];
    control.tell(&[&words, terms].concat())?;
    go_on(control, AHEAD_MS)
}

/// A sale without grants.
pub fn empty(bench: &Bench, _: u64) -> Result<Control, String> {
    let mut control = bench.server(&[])?;
    control.tell(&["SECKILL.INIT", SALE, "5"])?;
    Ok(control)
}

/// The key that [`list`] fills.
pub const LIST: &str = "elements";

/// A list of the server itself.
pub fn list(bench: &Bench, size: u64) -> Result<Control, String> {
    let control = empty(bench, size)?;
    let push = Request::new(&["RPUSH", LIST, USER], ":");
    send(control.port(), &push, 0..size, PIPELINED)?;
    Ok(control)
}

/// Moves the sale's time forward, as on a replica whose primary had a faster clock.
pub fn go_on(control: &mut Control, ms: u64) -> Result<(), String> {
    let version = control.status(SALE, "version")?;
    let (mut position, mut effect) = (Vec::new(), Vec::new());
    Position { version, entries: None }.encode(&mut position);
    Change { elapsed_ms: ms, epoch: None, effect: Effect::Pause(effect::Pause) }
        .encode(&mut effect);
    control.tell(&[b"SECKILL.APPLY", SALE.as_bytes(), &position, &effect])?;
    control.tell(&["SECKILL.RESUME", SALE])
}
