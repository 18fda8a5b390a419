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

// Rules: 329a
#[test]
fn the_last_1024_restocks_are_remembered() {
    let (_server, mut conn) = Server::start().with_conn();
    assert_eq!(conn.call("SECKILL.INIT k 0"), "+OK");
    for number in 1..=1025 {
        let reply = conn.call(&format!("SECKILL.RESTOCK k 1 REQ r{number}"));
        assert_eq!(reply, format!("[1 {number}]"));
    }
    assert_eq!(conn.call("SECKILL.RESTOCK k 1 REQ r2"), "[1 2]", "the oldest one kept");
    assert_eq!(conn.call("SECKILL.RESTOCK k 1 REQ r1"), "[1 1026]", "one too old is new again");
    assert_eq!(conn.call("SECKILL.RESTOCK k 1 REQ r2"), "[1 1027]", "which pushed out the next");
}

// Rules: 5d3b dba4 6e7e
#[test]
fn alter_changes_grants_to_come() {
    let (_server, mut conn) = Server::start().with_conn();
    conn.check(&[
        ("SECKILL.INIT k 10 LIMIT 3", "+OK"),
        ("SECKILL.GRAB k a QTY 3", "['GRANTED' 1 3 'SOLD' 0 7]"),
        ("SECKILL.ALTER k limit 1", "+OK"),
        ("SECKILL.GRAB k a", "['ALREADY' 1 3 'SOLD' 0]"),
    ]);
    assert_eq!(conn.cmd("SECKILL.USER k a").items()[0], Reply::Int(0), "never below 0");
    let version = conn.cmd("SECKILL.STATUS k").field("version");
    conn.check(&[
        ("SECKILL.ALTER k LIMIT 1 GRABS 0 HOLD 0 OPENAT 0 CLOSEAT 0", "+OK"),
        ("SECKILL.ALTER k LIMIT 1", "+OK"),
    ]);
    assert_eq!(conn.cmd("SECKILL.STATUS k").field("version"), version, "nothing changed");
    conn.check(&[
        ("SECKILL.ALTER k LIMIT 0 GRABS 2", "+OK"),
        ("SECKILL.GRAB k a QTY 5", "['GRANTED' 2 5 'SOLD' 0 2]"),
        ("SECKILL.GRAB k a", "['ALREADY' 2 5 'SOLD' 0]"),
        ("SECKILL.ALTER k OPENAT 100000000005 CLOSEAT 100000000006", "+OK"),
        ("SECKILL.ALTER k OPENAT 100000000006", "-ERR CLOSEAT must be after OPENAT"),
        ("SECKILL.ALTER k CLOSEAT 100000000005", "-ERR CLOSEAT must be after OPENAT"),
        ("SECKILL.ALTER k CLOSEAT 0 OPENAT 100000000006", "+OK"),
    ]);
    let status = conn.cmd("SECKILL.STATUS k");
    let number = |name: &str| status.field(name).int();
    assert_eq!((number("limit"), number("grabs")), (0, 2));
    assert_eq!((number("open_at"), number("close_at")), (100_000_000_006, 0));
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

#[test]
fn a_sale_works_in_any_database_and_under_any_key() {
    let (_server, mut conn) = Server::start().with_conn();
    let key: &[u8] = b"a key\r\n\0\xff%s";
    conn.check(&[("SELECT 9", "+OK"), ("SECKILL.INIT k 1", "+OK")]);
    assert_eq!(conn.ask(&[b"SECKILL.INIT" as &[u8], key, b"1"]).to_string(), "+OK");
    let granted = conn.ask(&[b"SECKILL.GRAB" as &[u8], key, b"a"]);
    assert_eq!(granted.to_string(), "['GRANTED' 1 1 'SOLD' 0 0]");
    assert_eq!(conn.ask(&[b"SECKILL.INIT" as &[u8], b"", b"1"]).to_string(), "+OK");
    conn.check(&[
        ("SECKILL.GRAB k a", "['GRANTED' 1 1 'SOLD' 0 0]"),
        ("SELECT 0", "+OK"),
        ("SECKILL.GRAB k a", "-NOSALE"),
    ]);
}
