//! Bytes of memory for each grant, by the terms of the sale.

use super::Bench;
use crate::contenders::{GRANTED, PLENTY, REQ, SALE, USER};
use crate::figures::BYTES;
use crate::load::{send, spread, Request, PIPELINED, USERS};

pub const MEMORY: &str = "memory of a grant";

const OUTBOX: &str = "sale:orders";

/// The terms of the sale, and whether each GRAB has a REQ.
pub const TERMS: [(&str, &[&str], bool); 6] = [
    ("none", &[], false),
    ("REQ", &[], true),
    ("HOLD", &["HOLD", "9000000"], false),
    ("HOLD, REQ", &["HOLD", "9000000"], true),
    ("OUTBOX", &["OUTBOX", OUTBOX], false),
    ("HOLD, REQ, OUTBOX", &["HOLD", "9000000", "OUTBOX", OUTBOX], true),
];

/// Each on a fresh server, with a quarter of the load: 500,000 calls in a full run.
pub fn run(bench: &mut Bench) -> Result<(), String> {
    let count = bench.plan.calls / 4;
    for (name, terms, has_req) in TERMS {
        bench.step(&format!("{MEMORY}, {name}"), 0);
        let mut control = bench.server(&[])?;
        let before = control.info("memory", "used_memory")?;
        control.tell(&[&["SECKILL.INIT", SALE, PLENTY][..], terms].concat())?;
        let words = ["SECKILL.GRAB", SALE, USER, "REQ", REQ];
        let words = if has_req { &words[..] } else { &words[..3] };
        send(control.port(), &Request::new(words, GRANTED), spread(count, USERS), PIPELINED)?;
        let used = control.info("memory", "used_memory")? - before;
        bench.figures.add(MEMORY, name, BYTES, used / count as f64);
    }
    Ok(())
}
