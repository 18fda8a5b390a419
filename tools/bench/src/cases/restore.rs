//! AUDIT and RESTORE of a sale whose grants have holds and request ids, beside a hash and a sorted
//! set with the same data.

use std::time::Instant;

use seckill_crowd::screen::thousands;

use super::Bench;
use crate::contenders::{GRANTED, MODULE, PLENTY, REQ, SALE, USER};
use crate::control::Control;
use crate::figures::MS;
use crate::load::{send, spread, Request, PIPELINED, USERS};
use crate::rows::{Rows, DIRECT};

const AUDIT: &str = "AUDIT";
const RESTORE: &str = "RESTORE";
const HASH_AND_ZSET: &str = "hash and sorted set";

pub fn run(bench: &mut Bench) -> Result<(), String> {
    let [_, winners, _] = bench.plan.sizes;
    let mut control = bench.server(&[])?;
    control.tell(&["SECKILL.INIT", SALE, PLENTY, "HOLD", "9000000"])?;
    for request in [
        Request::new(&["SECKILL.GRAB", SALE, USER, "REQ", REQ], GRANTED),
        Request::new(&["HSET", "hash", USER, REQ], ":1"),
        // A deadline in milliseconds has 13 digits.
        Request::new(&["ZADD", "zset", "1000number000", USER], ":1"),
    ] {
        send(control.port(), &request, spread(winners, USERS), PIPELINED)?;
    }
    for round in 0..bench.plan.few_rounds {
        bench.step("AUDIT and RESTORE", round);
        let start = Instant::now();
        control.tell(&["SECKILL.AUDIT", SALE])?;
        bench.figures.add(AUDIT, MODULE, MS, start.elapsed().as_secs_f64() * 1e3);
        let took = restore(&mut control, SALE)?;
        bench.figures.add(RESTORE, MODULE, MS, took);
        let took = restore(&mut control, "hash")? + restore(&mut control, "zset")?;
        bench.figures.add(RESTORE, HASH_AND_ZSET, MS, took);
    }
    Ok(())
}

/// Dumps a key, deletes it and restores it. Returns the milliseconds of RESTORE.
fn restore(control: &mut Control, key: &str) -> Result<f64, String> {
    let payload: Vec<u8> = control.ask(&["DUMP", key])?;
    control.tell(&["DEL", key])?;
    control.tell(&["CONFIG", "RESETSTAT"])?;
    control.tell(&[b"RESTORE".as_slice(), key.as_bytes(), b"0", &payload])?;
    Ok(control.call_us("restore")? / 1e3)
}

pub fn rows(rows: &mut Rows<'_>) {
    let setting = format!("{DIRECT}, {} winners", thousands(rows.plan.sizes[1]));
    let what = ("AUDIT, grants with HOLD and REQ", "ms until the reply, while others are served");
    rows.value(what, &setting, None, (AUDIT, MS, 1.0), "");
    let what = ("RESTORE of these grants", "ms; of a hash and a sorted set");
    rows.value(what, &setting, None, (RESTORE, MS, 1.0), HASH_AND_ZSET);
}
