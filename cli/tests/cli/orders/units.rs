//! The table of unit numbers: each number belongs to one order, whatever the order of the entries.

use redis::{Connection, Value};
use seckill_harness::{wait_until, Random};

use super::killed::{ask, assert_equal, is_done, writer};
use super::shop::Shop;
use crate::program::Running;

#[test]
#[ignore = "takes MariaDB: make orders-test"]
fn mariadb_has_each_number_once() {
    in_any_order(&Shop::with_mariadb());
}

#[test]
#[ignore = "takes MySQL 9.7: make orders-test"]
fn mysql_has_each_number_once() {
    in_any_order(&Shop::with_mysql());
}

#[test]
#[ignore = "takes PostgreSQL: make orders-test"]
fn postgres_has_each_number_once() {
    in_any_order(&Shop::with_postgres());
}

#[test]
#[ignore = "takes MariaDB: make orders-test"]
fn mariadb_gives_back_lost_seats() {
    gives_back_seats(Shop::with_mariadb());
}

#[test]
#[ignore = "takes MySQL 9.7: make orders-test"]
fn mysql_gives_back_lost_seats() {
    gives_back_seats(Shop::with_mysql());
}

#[test]
#[ignore = "takes PostgreSQL: make orders-test"]
fn postgres_gives_back_lost_seats() {
    gives_back_seats(Shop::with_postgres());
}

/// Number of calls in each sale of 12 seats; most calls are refused.
const CALLS: u64 = 400;
const SALES: u64 = 5;

/// Copies the sale's entries into another stream in random order, as if many readers had died.
fn in_any_order(shop: &Shop) {
    let mut redis = shop.connect();
    for seed in 0..SALES {
        let (key, mut random) = (format!("sale:hall-{seed}"), Random(0x5EA7 + seed));
        let terms = "12 NUMBERED LIMIT 0 HOLD 600000";
        ask(&mut redis, &format!("SECKILL.INIT {key} {terms} OUTBOX {key}:straight"));
        for at in 0..CALLS {
            play(&mut redis, &key, at, &mut random);
        }
        let mut entries: Vec<(String, Vec<Vec<u8>>)> = redis::cmd("XRANGE")
            .arg(format!("{key}:straight"))
            .arg("-")
            .arg("+")
            .query(&mut redis)
            .unwrap();
        assert!(entries.len() > 20, "{} entries", entries.len());
        let stream = format!("{key}:orders");
        ask(&mut redis, &format!("XGROUP CREATE {stream} orders 0 MKSTREAM"));
        for left in (1..=entries.len()).rev() {
            let (_, fields) = entries.swap_remove(random.below(left as u64) as usize);
            let id: String =
                redis::cmd("XADD").arg(&stream).arg("*").arg(fields).query(&mut redis).unwrap();
            assert!(!id.is_empty());
        }
        let reader = Running::start(writer(&shop.redis_url(), &shop.database_url(), &key, "w"));
        wait_until("all is written", || is_done(&mut redis, &stream));
        assert_eq!(reader.end("TERM").code(), Some(0));
        assert_equal(shop, &mut redis, &key);
    }
}

/// Sends one call; a refusal is a valid answer.
fn play(redis: &mut Connection, key: &str, at: u64, random: &mut Random) {
    let user = random.below(6);
    let numbers = |random: &mut Random| (1 + random.below(6), 7 + random.below(6));
    let line = match random.below(8) {
        0 | 1 => {
            let (one, other) = numbers(random);
            format!("GRAB {key} u{user} UNITS {one} {other} REQ r{at}")
        }
        2 => format!("GRAB {key} u{user} QTY {} REQ r{at}", 1 + random.below(3)),
        3 => format!("CONFIRM {key} u{user} REQ r{}", random.below(at + 1)),
        4 => format!("CANCEL {key} u{user}"),
        5 => format!("REFUND {key} u{user} REQ r{}", random.below(at + 1)),
        verb => {
            let Some((user, seq, unit, state)) = some_grant(redis, key, random) else { return };
            match (verb, state.as_slice()) {
                (6, b"HELD") => format!("CONFIRM {key} {user} SEQ {seq}"),
                (_, b"HELD") => format!("CANCEL {key} {user} SEQ {seq} KEEP UNITS {unit}"),
                _ => format!("REFUND {key} {user} SEQ {seq} KEEP UNITS {unit}"),
            }
        }
    };
    let mut command = redis::Cmd::new();
    command.arg(format!("SECKILL.{}", line.split(' ').next().unwrap_or_default()));
    for word in line.split(' ').skip(1) {
        command.arg(word);
    }
    // AMBIGUOUS is a valid answer if the user has several grants.
    match command.query::<Value>(redis) {
        Err(error) if error.code() != Some("AMBIGUOUS") => panic!("{line}: {error}"),
        _ => {}
    }
}

/// A user who has units: user, seq, one of their numbers, state.
fn some_grant(
    redis: &mut Connection,
    key: &str,
    random: &mut Random,
) -> Option<(String, u64, u64, Vec<u8>)> {
    let unit = 1 + random.below(12);
    let row: Option<Vec<Value>> =
        redis::from_redis_value(ask(redis, &format!("SECKILL.UNIT {key} {unit}"))).expect("a row");
    let [seq, user, _, state, ..] = <[Value; 10]>::try_from(row?).expect("ten fields");
    let text = |value| -> String { redis::from_redis_value(value).expect("text") };
    let seq = redis::from_redis_value(seq).expect("a number");
    Some((text(user), seq, unit, text(state).into_bytes()))
}

/// Redis loses a payment for a seat, and sells the seat again. A seat never belongs to two orders:
/// the first order gets it back when the second one is cancelled.
fn gives_back_seats(mut shop: Shop) {
    let (key, stream) = ("sale:seats", "sale:seats:orders");
    let mut redis = shop.connect();
    let mut send = |line: &str| ask(&mut redis, &format!("SECKILL.{line}"));
    send(&format!("INIT {key} 20 NUMBERED LIMIT 4 HOLD 600000 OUTBOX {stream}"));
    send(&format!("GRAB {key} kept UNITS 19 20 REQ kept"));
    ask(&mut redis, "SAVE");
    let mut send = |line: &str| ask(&mut redis, &format!("SECKILL.{line}"));
    for (user, units) in [("paid", "7 8"), ("held", "9"), ("some", "11 12 13"), ("gone", "15")] {
        send(&format!("GRAB {key} {user} UNITS {units} REQ {user}"));
    }
    send(&format!("CONFIRM {key} paid REQ paid"));
    send(&format!("CONFIRM {key} some REQ some KEEP UNITS 11 13"));
    send(&format!("CANCEL {key} kept REQ kept KEEP UNITS 20"));
    send(&format!("CANCEL {key} gone REQ gone"));
    let (from, to) = (shop.redis_url(), shop.database_url());
    let first = Running::start(writer(&from, &to, key, "w"));
    wait_until("all is written", || is_done(&mut redis, stream));
    assert_eq!(first.end("TERM").code(), Some(0));
    assert_equal(&shop, &mut redis, key);

    shop.lose_what_was_not_saved();
    let mut redis = shop.connect();
    ask(&mut redis, &format!("SECKILL.GRAB {key} other UNITS 8 12 REQ other"));
    let mut trusting = writer(&shop.redis_url(), &to, key, "w");
    trusting.args(["--trust-epoch", "any"]);
    let second = Running::start(trusting);
    let map = |redis: &mut Connection| -> String {
        redis::from_redis_value(ask(redis, &format!("SECKILL.UNITS {key} 1"))).expect("a map")
    };
    // Seat 8 belongs to another order now, so 7 is not sold alone. Seat 9 was not paid for. Of 19
    // and 20 one was kept.
    wait_until("what can be is given back", || map(&mut redis) == ".......h..shs......h");
    ask(&mut redis, &format!("SECKILL.CANCEL {key} other REQ other"));
    wait_until("the other is, too", || map(&mut redis) == "......ss..s.s......h");
    wait_until("all is written", || is_done(&mut redis, stream));
    assert_equal(&shop, &mut redis, key);
    assert_eq!(shop.lost("CLOSED"), [b"held".to_vec()]);
    assert_eq!(second.end("TERM").code(), Some(0));
}
