//! Every command and every outcome in the order of the contract, as sessions.

mod views;

use crate::support::{wait_until, Reply, Server};
use seckill::command::table::TABLE;

/// One hour: later than the end of every test.
const AN_HOUR_MS: i64 = 3_600_000;

// Rules: 4e3b aeef bc26 f4a2 3fe3 6289
#[test]
fn the_window_opens_and_closes_by_the_clock() {
    let (server, mut conn) = Server::start().with_conn();
    let opens = server.clock_ms() + AN_HOUR_MS;
    assert_eq!(conn.call(&format!("SECKILL.INIT k 10 OPENAT {opens}")), "+OK");
    let refusal = conn.cmd("SECKILL.GRAB k a");
    assert_eq!(refusal.items()[0], Reply::Bulk(b"NOTOPEN".to_vec()));
    let wait = refusal.items()[1].int();
    assert!((1..=AN_HOUR_MS).contains(&wait), "{refusal}");
    assert_eq!(conn.cmd("SECKILL.STATUS k").field("state").text(), "pending");

    let opens = server.clock_ms() + 60;
    assert_eq!(conn.call(&format!("SECKILL.ALTER k OPENAT {opens}")), "+OK");
    wait_until("the sale opens", || {
        let before = server.clock_ms() < opens;
        let granted = conn.call("SECKILL.GRAB k a") == "['GRANTED' 1 1 'SOLD' 0 9]";
        assert!(granted || before || server.clock_ms() < opens + 5_000, "it opens late");
        assert!(!granted || server.clock_ms() >= opens, "it opened early");
        granted
    });
    let closes = server.clock_ms() + 60;
    assert_eq!(conn.call(&format!("SECKILL.ALTER k CLOSEAT {closes}")), "+OK");
    let mut user = 0;
    wait_until("the sale closes", || {
        user += 1;
        let closed = conn.call(&format!("SECKILL.GRAB k u{user} QTY 2")) == "['CLOSED']";
        assert!(!closed || server.clock_ms() >= closes, "it closed early");
        closed
    });
    assert_eq!(conn.cmd("SECKILL.STATUS k").field("state").text(), "closed");
}

// Rules: ee59 fad3 8282
#[test]
fn help_lists_the_commands_and_shows_one() {
    let server = Server::start();
    let lines_of =
        |call: &str| -> Vec<String> { server.cmd(call).items().iter().map(Reply::text).collect() };
    let lines = lines_of("SECKILL.HELP");
    for spec in TABLE.iter().filter(|spec| !spec.internal) {
        let starts = |line: &&String| line.split_whitespace().next() == Some(spec.name);
        let lists = lines.iter().filter(|line| line.starts_with("  ")).filter(starts).count();
        assert_eq!(lists, 1, "{} in {lines:#?}", spec.name);
    }
    assert!(!lines.iter().any(|line| line.contains("SECKILL.APPLY")), "APPLY is internal");
    let one = lines_of("SECKILL.HELP seckill.restock");
    assert_eq!(
        one[..3],
        [
            "SECKILL.RESTOCK key delta REQ id",
            "  Adds units to a sale, or withdraws available ones.",
            "Arguments:",
        ]
    );
    assert_eq!(lines_of("SECKILL.HELP RESTOCK"), one);
    assert!(lines.iter().chain(&one).all(|line| line.len() < 100), "{lines:#?}");
}
