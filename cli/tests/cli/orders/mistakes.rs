//! Wrong options and wrong settings: the program ends with an error message and changes nothing.

use std::process::Command;

use super::killed::{ask, assert_equal, is_done};
use super::shop::Shop;
use crate::program::{seckill, Running};
use seckill_harness::wait_until;

const KEY: &str = "sale:wrong";
const STREAM: &str = "sale:wrong:orders";

#[test]
#[ignore = "takes MariaDB: make orders-test"]
fn mariadb_says_what_is_wrong() {
    says_what_is_wrong(&Shop::with_mariadb());
}

#[test]
#[ignore = "takes MySQL 9.7: make orders-test"]
fn mysql_says_what_is_wrong() {
    says_what_is_wrong(&Shop::with_mysql());
}

#[test]
#[ignore = "takes PostgreSQL: make orders-test"]
fn postgres_says_what_is_wrong() {
    says_what_is_wrong(&Shop::with_postgres());
}

fn reader(shop: &Shop, stream: &str, words: &[&str]) -> Command {
    let (from, to) = (shop.redis_url(), shop.database_url());
    let mut program = seckill(&["orders", "--redis", &from, "--database", &to]);
    program.args(["--stream", stream]).args(words);
    program
}

/// Asserts that the program ends with 1 and an error message that has these words.
#[track_caller]
fn ends(program: Command, words: &str) {
    let (status, said) = super::ended(program);
    // The start-up line, and the error message.
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!((status, lines.len()), (Some(1), 2), "{said}");
    assert!(lines[0].starts_with("seckill orders: "), "{said}");
    assert!(lines[1].starts_with("seckill: ") && lines[1].contains(words), "{words}: {said}");
}

fn says_what_is_wrong(shop: &Shop) {
    let mut redis = shop.connect();
    ask(&mut redis, &format!("SECKILL.INIT {KEY} 9 HOLD 60000 OUTBOX {STREAM}"));
    ask(&mut redis, &format!("SECKILL.GRAB {KEY} a REQ r1"));
    let home = if shop.is_postgres() { "public" } else { "shop" };

    // A table of another program has a name of a seckill table: then no table is created.
    shop.run(&["CREATE TABLE seckill_entries (what INT)"]);
    ends(reader(shop, STREAM, &[]), "seckill_entries is there and is not of seckill orders");
    assert_eq!(shop.tables(home), ["seckill_entries"]);
    shop.run(&["DROP TABLE seckill_entries", "CREATE TABLE orders (id INT)"]);
    ends(reader(shop, STREAM, &["--no-create"]), "there is no seckill_sales");

    // A shop's own table `orders` is no obstacle, nor is an engine without transactions.
    if !shop.is_postgres() {
        shop.run(&["SET GLOBAL default_storage_engine = MyISAM"]);
    }
    writes(shop, &[]);
    assert_equal(shop, &mut redis, KEY);
    let ours = ["entries", "epochs", "kept", "orders", "sales", "units"];
    let named = |prefix: &str| ours.map(|name| format!("{prefix}{name}")).to_vec();
    assert_eq!(shop.tables(home), [vec!["orders".to_owned()], named("seckill_")].concat());

    // Tables in another schema and under other names, written by a new group.
    let make = if shop.is_postgres() { "CREATE SCHEMA \"Two\"" } else { "CREATE DATABASE Two" };
    shop.run(&[make]);
    writes(shop, &["--schema", "Two", "--table-prefix", "x_", "--group", "two"]);
    assert_eq!(shop.tables("Two"), named("x_"));
    ends(reader(shop, STREAM, &["--schema", "none"]), "none");

    ends(reader(shop, "sale:misspelt", &[]), "there is no stream sale:misspelt");
    let redis::Value::Int(0) = ask(&mut redis, "EXISTS sale:misspelt") else {
        panic!("the stream was made");
    };
    ends(reader(shop, KEY, &[]), "WRONGTYPE");
    let mut stranger = reader(shop, STREAM, &["--redis-user", "nobody"]);
    stranger.env("SECKILL_REDIS_PASSWORD", "x");
    ends(stranger, "password");

    shop.run(&["DROP VIEW seckill_kept", "ALTER TABLE seckill_orders DROP COLUMN req"]);
    ends(reader(shop, STREAM, &[]), "it has no column req");
    // A database that does not exist.
    let elsewhere = shop.database_url().replace("/shop", "/elsewhere");
    let mut program = seckill(&["orders", "--redis", &shop.redis_url(), "--stream", STREAM]);
    program.args(["--database", &elsewhere]);
    ends(program, "elsewhere");
}

/// Waits until all entries are written.
#[track_caller]
fn writes(shop: &Shop, words: &[&str]) {
    let mut redis = shop.connect();
    let running = Running::start(reader(shop, STREAM, words));
    let is_new = words.contains(&"two");
    wait_until("all is written", || match is_new {
        true => is_read_by(&mut redis, "two"),
        false => is_done(&mut redis, STREAM),
    });
    assert_eq!(running.end("TERM").code(), Some(0));
}

/// This group has acknowledged all entries.
fn is_read_by(redis: &mut redis::Connection, group: &str) -> bool {
    let mut pending = redis::cmd("XPENDING");
    // XPENDING fails until the group exists.
    let pending: Result<Vec<redis::Value>, _> = pending.arg(STREAM).arg(group).query(redis);
    let groups = format!("{:?}", ask(redis, &format!("XINFO GROUPS {STREAM}")));
    let is_none = |summary: Vec<redis::Value>| summary.first() == Some(&redis::Value::Int(0));
    pending.is_ok_and(is_none) && !groups.contains("\"0-0\"")
}

/// A database becomes read-only, as an old primary after a failover, and is written again later.
#[test]
#[ignore = "takes PostgreSQL: make orders-test"]
fn postgres_is_read_only_for_a_while() {
    let shop = Shop::with_postgres();
    let mut redis = shop.connect();
    ask(&mut redis, &format!("SECKILL.INIT {KEY} 9 OUTBOX {STREAM}"));
    let running = Running::start(reader(&shop, STREAM, &[]));
    wait_until("all is written", || is_done(&mut redis, STREAM));
    shop.run(&[
        "ALTER DATABASE shop SET default_transaction_read_only = on",
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE application_name = 'seckill orders'",
    ]);
    ask(&mut redis, &format!("SECKILL.GRAB {KEY} a REQ r1"));
    let name = format!("seckill_orders_failures_total{{stream=\"{STREAM}\"}} ");
    wait_until("it tries again", || {
        let text = running.get("/metrics").1;
        let failures = text.lines().find_map(|line| line.strip_prefix(&name)).expect("a number");
        failures.parse::<u64>().expect("a number") >= 3
    });
    assert_eq!(running.get("/health").0, 503);
    shop.run(&["ALTER DATABASE shop RESET default_transaction_read_only"]);
    wait_until("all is written", || is_done(&mut redis, STREAM));
    wait_until("it is well", || running.get("/health").0 == 200);
    assert_eq!(running.end("TERM").code(), Some(0));
    assert_equal(&shop, &mut redis, KEY);
}
