//! Failover with Sentinels: the failed primary is started again, or orders that only it had are
//! restored on the new one.

use redis::Connection;
use seckill_harness::wait_until;

use super::killed::{ask, assert_equal, is_done, writer};
use super::shop::Shop;
use crate::nodes::{role, Nodes};
use crate::program::{seckill, Running};

const KEY: &str = "sale:stale";
const STREAM: &str = "sale:stale:orders";

/// Longer than a failover, which takes 3 s, but over before Sentinels demote a restarted primary,
/// at the earliest 8 s later.
const HOLD_MS: u64 = 8_000;

#[test]
#[ignore = "takes MariaDB: make orders-test"]
fn mariadb_believes_no_stale_primary() {
    believes_no_stale_primary(&Shop::with_mariadb());
}

#[test]
#[ignore = "takes MySQL 9.7: make orders-test"]
fn mysql_believes_no_stale_primary() {
    believes_no_stale_primary(&Shop::with_mysql());
}

#[test]
#[ignore = "takes MariaDB: make orders-test"]
fn mariadb_repairs_as_the_page_says() {
    repairs_as_the_page_says(&Shop::with_mariadb());
}

#[test]
#[ignore = "takes PostgreSQL: make orders-test"]
fn postgres_repairs_as_the_page_says() {
    repairs_as_the_page_says(&Shop::with_postgres());
}

#[test]
#[ignore = "takes PostgreSQL: make orders-test"]
fn postgres_believes_no_stale_primary() {
    believes_no_stale_primary(&Shop::with_postgres());
}

fn number(redis: &mut Connection, field: &str) -> u64 {
    let redis::Value::BulkString(text) = ask(redis, &format!("SECKILL.STATUS {KEY} JSON")) else {
        panic!("no status");
    };
    let status: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
    status[field].as_u64().expect("a number")
}

/// Starts a writer that asks Sentinels, and waits until it reads.
#[track_caller]
fn reader(shop: &Shop, nodes: &Nodes, redis: &mut Connection) -> Running {
    let mut program = seckill(&["orders", "--database", &shop.database_url()]);
    program.args(["--stream", STREAM, "--sentinel", &nodes.sentinels, "--name", "w"]);
    let reader = Running::start(program);
    wait_until("it reads", || is_done(redis, STREAM));
    reader
}

fn grab(redis: &mut Connection, users: std::ops::RangeInclusive<u64>) {
    for user in users {
        ask(redis, &format!("SECKILL.GRAB {KEY} u{user} REQ r{user}"));
    }
}

fn confirm(redis: &mut Connection, users: std::ops::RangeInclusive<u64>) {
    for user in users {
        ask(redis, &format!("SECKILL.CONFIRM {KEY} u{user}"));
    }
}

/// Forty users hold, twenty of them pay, and the primary dies. On the new primary fifteen others
/// pay and thirty more buy. Meanwhile the old primary is restarted: there the holds expire, and
/// somebody grabs.
fn believes_no_stale_primary(shop: &Shop) {
    let mut nodes = Nodes::start();
    let mut redis = nodes.primary.as_ref().expect("a primary").connect().expect("a connection");
    ask(&mut redis, &format!("SECKILL.INIT {KEY} 500 HOLD {HOLD_MS} OUTBOX {STREAM}"));
    let reader = reader(shop, &nodes, &mut redis);
    grab(&mut redis, 1..=40);
    confirm(&mut redis, 1..=20);
    wait_until("all is written", || is_done(&mut redis, STREAM));
    // The replicas have all entries so far, so the loss does not depend on their delay.
    ask(&mut redis, "WAIT 2 5000");

    let (mut redis, mut stale) = nodes.fail_over();
    confirm(&mut redis, 21..=35);
    grab(&mut redis, 41..=70);
    confirm(&mut redis, 41..=70);
    wait_until("the holds run out on the old one", || number(&mut stale, "held") == 0);
    grab(&mut stale, 91..=95);
    let old = nodes.primary.as_ref().expect("the old one");
    assert_eq!(role(old), "master", "it was demoted too early for this test");
    wait_until("all is written", || is_done(&mut redis, STREAM));
    assert_right(shop, &mut redis);

    // A reader of the old primary without Sentinels stops with an error.
    let (code, said) = super::ended(writer(&old.url(), &shop.database_url(), KEY, "misled"));
    assert!(code == Some(1) && said.contains("an old primary"), "{said}");
    assert_right(shop, &mut redis);

    // Sentinels demote the old primary, and the database does not change.
    wait_until("it is demoted", || role(old) == "slave");
    grab(&mut redis, 71..=80);
    confirm(&mut redis, 71..=80);
    wait_until("all is written", || is_done(&mut redis, STREAM));
    assert_right(shop, &mut redis);
    assert_eq!(reader.end("TERM").code(), Some(0));
}

/// The steps of docs/sentinel.md, "After a crash". 48 users pay. When the primary dies, no replica
/// has the last eight payments, but the database has them. Six more users buy before an operator
/// acts.
fn repairs_as_the_page_says(shop: &Shop) {
    let mut nodes = Nodes::start();
    let mut redis = nodes.primary.as_ref().expect("a primary").connect().expect("a connection");
    ask(&mut redis, &format!("SECKILL.INIT {KEY} 50 OUTBOX {STREAM}"));
    let reader = reader(shop, &nodes, &mut redis);
    grab(&mut redis, 1..=40);
    ask(&mut redis, "WAIT 2 5000");
    // Open connections stay, but a replica can't connect again.
    ask(&mut redis, "CONFIG SET requirepass not-for-replicas");
    ask(&mut redis, "CLIENT KILL TYPE replica");
    wait_until("it is alone", || ask(&mut redis, "WAIT 1 1") == redis::Value::Int(0));
    grab(&mut redis, 41..=48);
    wait_until("all is written", || is_done(&mut redis, STREAM));

    nodes.kill_primary();
    let mut redis = nodes.promoted();
    assert_eq!(number(&mut redis, "sold"), 40);
    grab(&mut redis, 61..=66);
    // Step 2.
    ask(&mut redis, &format!("SECKILL.PAUSE {KEY}"));
    let refused = ask(&mut redis, &format!("SECKILL.GRAB {KEY} u67 REQ r67"));
    assert_eq!(refused, redis::Value::Array(vec![redis::Value::BulkString(b"PAUSED".to_vec())]));
    // Step 3: 40 + 6 + 8 = 54 units are sold, four more than the supply.
    wait_until("it is repaired", || number(&mut redis, "sold") == 54);
    wait_until("all is written", || is_done(&mut redis, STREAM));
    assert_eq!(number(&mut redis, "deficit"), 4);
    assert_equal(shop, &mut redis, KEY);
    // Step 4: returned units pay off the deficit first.
    ask(&mut redis, &format!("SECKILL.RESUME {KEY}"));
    let refused = ask(&mut redis, &format!("SECKILL.GRAB {KEY} u67 REQ r67"));
    let sold_out = [redis::Value::BulkString(b"SOLDOUT".to_vec()), redis::Value::Int(0)];
    assert_eq!(refused, redis::Value::Array(sold_out.to_vec()));
    ask(&mut redis, &format!("SECKILL.RESTOCK {KEY} 5 REQ more"));
    grab(&mut redis, 67..=67);
    assert_eq!((number(&mut redis, "deficit"), number(&mut redis, "sold")), (0, 55));
    // Step 5.
    let old = nodes.return_as_replica();
    wait_until("it has all", || number(&mut old.connect().expect("a connection"), "sold") == 55);
    wait_until("all is written", || is_done(&mut redis, STREAM));
    assert_equal(shop, &mut redis, KEY);
    assert_eq!(reader.end("TERM").code(), Some(0));
}

/// The database has the state of the true primary, and marks no order as lost.
#[track_caller]
fn assert_right(shop: &Shop, redis: &mut Connection) {
    assert_equal(shop, redis, KEY);
    for state in ["SOLD", "CLOSED", "HELD", "EXPIRED"] {
        assert_eq!(shop.lost(state), Vec::<Vec<u8>>::new(), "lost and {state}");
    }
}
