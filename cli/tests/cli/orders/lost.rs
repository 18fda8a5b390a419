//! Redis loses granted orders, and `seckill orders` restores them from the database.

use seckill_harness::wait_until;

use super::killed::{ask, assert_equal, is_done, writer};
use super::shop::Shop;
use crate::program::Running;

const KEY: &str = "sale:lost";
const STREAM: &str = "sale:lost:orders";

#[test]
#[ignore = "takes MariaDB: make orders-test"]
fn mariadb_gives_back_what_redis_lost() {
    gives_back(Shop::with_mariadb());
}

#[test]
#[ignore = "takes MySQL 9.7: make orders-test"]
fn mysql_gives_back_what_redis_lost() {
    gives_back(Shop::with_mysql());
}

#[test]
#[ignore = "takes PostgreSQL: make orders-test"]
fn postgres_gives_back_what_redis_lost() {
    gives_back(Shop::with_postgres());
}

/// When Redis is saved, users 1 to 20 hold units, 9 and 10 more than one. Redis loses all later
/// changes, but the database has them. Users 1 to 5 pay, 6 and 7 cancel, 8 extends, 9 keeps two of
/// three. User 10 pays for two of four and gives one back. Users 21 to 25 grab and pay, 26 to 28
/// grab, 29 grabs four and pays for three. After the loss users 31 and 32 buy, and get seqs that
/// were used before.
fn gives_back(mut shop: Shop) {
    let mut redis = shop.connect();
    let mut send = |line: &str| ask(&mut redis, &format!("SECKILL.{line}"));
    send(&format!("INIT {KEY} 50 HOLD 600000 LIMIT 4 OUTBOX {STREAM}"));
    let qty = |user| match user {
        9 => 3,
        10 | 29 => 4,
        _ => 1,
    };
    let grab = |user| format!("GRAB {KEY} u{user} QTY {} REQ r{user}", qty(user));
    (1..=20).for_each(|user| drop(send(&grab(user))));
    ask(&mut redis, "SAVE");
    let mut send = |line: &str| ask(&mut redis, &format!("SECKILL.{line}"));
    (21..=29).for_each(|user| drop(send(&grab(user))));
    (1..=5).chain(21..=25).for_each(|user| drop(send(&format!("CONFIRM {KEY} u{user}"))));
    (6..=7).for_each(|user| drop(send(&format!("CANCEL {KEY} u{user}"))));
    send(&format!("EXTEND {KEY} u8 900000"));
    send(&format!("CANCEL {KEY} u9 REQ r9 KEEP 2"));
    send(&format!("CONFIRM {KEY} u10 REQ r10 KEEP 2"));
    send(&format!("REFUND {KEY} u10 REQ r10 KEEP 1"));
    send(&format!("CONFIRM {KEY} u29 REQ r29 KEEP 3"));
    let (from, to) = (shop.redis_url(), shop.database_url());
    let first = Running::start(writer(&from, &to, KEY, "w"));
    wait_until("all is written", || is_done(&mut redis, STREAM));
    assert_eq!(first.end("TERM").code(), Some(0));
    assert_equal(&shop, &mut redis, KEY);

    shop.lose_what_was_not_saved();
    let mut redis = shop.connect();
    assert_eq!(status(&mut redis), [50, 25, 25, 0], "supply, available, held, sold");
    for user in [31, 32] {
        ask(&mut redis, &format!("SECKILL.GRAB {KEY} u{user} REQ r{user}"));
        ask(&mut redis, &format!("SECKILL.CONFIRM {KEY} u{user}"));
    }
    // No Sentinel confirms that this server is the primary, so the operator must.
    let from = shop.redis_url();
    let (code, said) = super::ended(writer(&from, &to, KEY, "w"));
    assert!(code == Some(1) && said.contains("an old primary"), "{said}");
    let epoch = said.trim().rsplit(' ').next().expect("an epoch").to_owned();
    let mut trusting = writer(&from, &to, KEY, "w");
    trusting.args(["--trust-epoch", &epoch]);
    let second = Running::start(trusting);
    // Sold are ten single units (1 to 5, 21 to 25), those of 31 and 32, one of 10 and three of 29.
    // Held are 11 single units and the two of 9. 26 to 28 are closed: they held and had not paid.
    wait_until("it is given back", || status(&mut redis) == [50, 21, 13, 16]);
    wait_until("all is written", || is_done(&mut redis, STREAM));
    assert_equal(&shop, &mut redis, KEY);
    let closed = shop.lost("CLOSED");
    assert_eq!(closed, [b"u26".to_vec(), b"u27".to_vec(), b"u28".to_vec()]);
    let text = second.get("/metrics").1;
    let repairs = format!("seckill_orders_repairs_total{{stream=\"{STREAM}\"}} ");
    let count = text.lines().find_map(|line| line.strip_prefix(&repairs)).expect("the number");
    assert!(count.parse::<f64>().expect("a number") >= 10.0, "{count}");
    assert_eq!(second.end("TERM").code(), Some(0));
}

fn status(redis: &mut redis::Connection) -> [u64; 4] {
    let redis::Value::BulkString(text) = ask(redis, &format!("SECKILL.STATUS {KEY} JSON")) else {
        panic!("no status");
    };
    let status: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
    ["supply", "available", "held", "sold"].map(|field| status[field].as_u64().expect("a number"))
}
