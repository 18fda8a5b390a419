//! The module's rows: a shop that sells with SECKILL commands.

use std::time::Duration;

use redis::Value;
use seckill_client::{Answer, Outcome};

use crate::buyer::Buyer;
use crate::contender::{Contender, BASE, MODULE};
use crate::told::{lost, won, Books, Reason::*, Rush, Stop, Told, Verdict};

pub fn grab(b: &mut Buyer, more: &[&str]) -> Result<Answer, Stop> {
    let (user, req) = (b.user.clone(), b.req.clone());
    let mut words = vec!["SECKILL.GRAB", "sale", user.as_str()];
    words.extend(more);
    words.extend(["REQ", req.as_str()]);
    b.ask(&words)
}

pub fn told(answer: &Answer) -> Told {
    let units = answer.qty.unwrap_or_default();
    match answer.outcome {
        Outcome::Granted => Ok(Verdict::Won(units)),
        Outcome::Replay if answer.won() => Ok(Verdict::Again(units)),
        // The grant of this REQ was returned, because the payment had failed.
        Outcome::Replay => lost(Failed),
        Outcome::Already => lost(Already),
        Outcome::Busy => lost(Shed),
        _ => lost(SoldOut),
    }
}

pub fn init(b: &mut Buyer, supply: u64, more: &[&str]) -> Result<(), Stop> {
    let supply = supply.to_string();
    let mut words = vec!["SECKILL.INIT", "sale", supply.as_str()];
    words.extend(more);
    b.ask(&words)
}

/// A number in a reply of STATUS or AUDIT.
pub fn count(status: &[Value], name: &str) -> u64 {
    let named = |pair: &[Value]| {
        matches!(&pair[0], Value::BulkString(b) if b == name.as_bytes())
            || matches!(&pair[0], Value::SimpleString(s) if s == name)
    };
    match status.chunks_exact(2).find(|pair| named(pair)).map(|pair| &pair[1]) {
        Some(Value::Int(number)) => u64::try_from(*number).unwrap_or(0),
        _ => 0,
    }
}

/// Available and sold units of STATUS; AUDIT must find no difference.
pub fn status(b: &mut Buyer) -> Result<Books, Stop> {
    let audit: Vec<Value> = b.ask(&["SECKILL.AUDIT", "sale"])?;
    if count(&audit, "ok") != 1 {
        return Err(Stop::Trouble(format!("the audit of a sale finds differences: {audit:?}")));
    }
    let status: Vec<Value> = b.ask(&["SECKILL.STATUS", "sale"])?;
    let taken = count(&status, "held") + count(&status, "sold");
    Books::both(count(&status, "available") as i64, taken)
}

/// One command (all rows).
pub const S01: Contender = Contender {
    id: "S01",
    seed: "the module",
    rows: "all",
    steps: "SECKILL.GRAB sale user REQ id",
    needs: MODULE,
    set_up: |b, stock| init(b, stock, &[]),
    buy: |b| {
        let reply = grab(b, &[])?;
        told(&reply)
    },
    books: status,
    once_per_user: true,
    marked: &[],
    ..BASE
};

/// GRAB by a script of one line, for client libraries that can run scripts but no unknown commands.
pub const S07: Contender = Contender {
    id: "S07",
    steps: "EVAL: redis.call('SECKILL.GRAB', sale, user, REQ, id)",
    buy: |b| {
        let script = "return redis.call('SECKILL.GRAB', KEYS[1], unpack(ARGV))";
        let (user, req) = (b.user.clone(), b.req.clone());
        told(&b.ask(&["EVAL", script, "1", "sale", &user, "REQ", &req])?)
    },
    ..S01
};

/// A hold, then paid or not (rows 36, 44): one payment in ten fails, and its unit is returned.
pub const S02: Contender = Contender {
    id: "S02",
    rows: "36, 44",
    steps: "GRAB … REQ id (HOLD); pay; CONFIRM | CANCEL … REQ id",
    set_up: |b, stock| init(b, stock, &["HOLD", "60000"]),
    buy: |b| {
        let mut reply = grab(b, &[])?;
        // Held units may come back: SOLDOUT has their number, and the shop asks again.
        while reply.outcome == Outcome::SoldOut && reply.held > Some(0) {
            b.pause(Duration::from_millis(2));
            reply = grab(b, &[])?;
        }
        let got = told(&reply)?;
        if !matches!(got, Verdict::Won(_) | Verdict::Again(_)) {
            return Ok(got);
        }
        b.work()?;
        let (user, req) = (b.user.clone(), b.req.clone());
        if b.work_fails() {
            b.ask::<Value>(&["SECKILL.CANCEL", "sale", &user, "REQ", &req])?;
            return lost(Failed);
        }
        let reply: Answer = b.ask(&["SECKILL.CONFIRM", "sale", &user, "REQ", &req])?;
        match got {
            Verdict::Won(_) if reply.outcome == Outcome::Sold => won(),
            _ if reply.outcome == Outcome::Sold => Ok(got),
            _ => lost(SoldOutInside),
        }
    },
    rush: Rush { fails_percent: 10, ..BASE.rush },
    marked: &[],
    ..S01
};

/// The hourly 1,000,000 coins of 001 (rows 9 to 12, 18): the shop computes the amounts, the module
/// keeps the budget.
pub const S04: Contender = Contender {
    id: "S04",
    rows: "9-12, 18",
    steps: "GRAB sale user UPTO amount REQ id (EVERY hour, LIMIT 0 GRABS 1)",
    set_up: |b, budget| {
        // A round that has just begun, so that none ends during the rush.
        let (seconds, _): (u64, u64) = b.ask(&["TIME"])?;
        let offset = (seconds * 1000 % 3_600_000).to_string();
        init(b, budget, &["LIMIT", "0", "GRABS", "1", "EVERY", "3600000", "OFFSET", &offset])
    },
    buy: |b| {
        let amount = b.amount().to_string();
        let reply = grab(b, &["UPTO", &amount])?;
        told(&reply)
    },
    rush: Rush { supply: 1_000_000, ..BASE.rush },
    marked: &[],
    ..S01
};

/// Packets of 100 coins on average in a rush, of one coin in the interleaver.
fn packets(total: u64) -> u64 {
    if total >= 100 {
        total / 100
    } else {
        total
    }
}

/// A draw needs at least one packet, so a sale of 0 units has none.
fn init_draw(b: &mut Buyer, total: u64, draw: &[&str]) -> Result<(), Stop> {
    init(b, total, if total > 0 { draw } else { &["LIMIT", "0", "GRABS", "1"] })
}

/// Packets whose amounts the module draws (rows 14, 48).
pub const S05A: Contender = Contender {
    id: "S05a",
    rows: "14, 48",
    steps: "GRAB sale user REQ id (DRAW PACKETS n)",
    set_up: |b, total| init_draw(b, total, &["DRAW", "PACKETS", &packets(total).to_string()]),
    rush: Rush { supply: 10_000, ..BASE.rush },
    marked: &[],
    ..S01
};

/// Packets with fixed amounts (row 14).
pub const S05B: Contender = Contender {
    id: "S05b",
    rows: "14",
    steps: "GRAB sale user REQ id (DRAW LIST a1 a2 …)",
    set_up: |b, total| {
        let packets = packets(total.max(1));
        // Different amounts whose sum is the total: the n-th amount and the n-th from the end make
        // a pair.
        let mean = total.max(1) / packets;
        let amount = |n: u64| match n + 1 == packets && packets % 2 == 1 {
            true => mean,
            false if n.is_multiple_of(2) => mean + (n / 2) % mean,
            false => mean - (n / 2) % mean,
        };
        let amounts: Vec<String> = (0..packets).map(|n| amount(n).to_string()).collect();
        let mut words = vec!["DRAW", "LIST"];
        words.extend(amounts.iter().map(String::as_str));
        init_draw(b, total, &words)
    },
    marked: &[],
    ..S05A
};
