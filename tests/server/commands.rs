//! Every command, every outcome, in the order of the contract: sessions that read like the manual.

mod views;

use crate::support::{wait_until, Reply, Server};
use seckill::command::table::TABLE;

/// Far enough for every test to end before.
const AN_HOUR_MS: i64 = 3_600_000;

// Rules: bf7c 87f1 17e8 7a20
#[test]
fn init_creates_a_sale_once() {
    let server = Server::start();
    server.conn().check(&[
        ("SECKILL.INIT k 10", "+OK"),
        ("TYPE k", "+flashsale"),
        ("SECKILL.INIT k 10", "+OK"),
        ("SECKILL.INIT k 10 LIMIT 1 GRABS 0 HOLD 0 OPENAT 0 CLOSEAT 0", "+OK"),
        ("SECKILL.INIT k 10 closeat 0 Limit 1", "+OK"),
        ("SECKILL.INIT k 11", "-SALEEXISTS"),
        ("SECKILL.INIT k 10 LIMIT 2", "-SALEEXISTS"),
        ("SECKILL.INIT k 10 GRABS 1", "-SALEEXISTS"),
        ("SECKILL.INIT k 10 OPENAT 100000000001", "-SALEEXISTS"),
        ("SECKILL.INIT k 10 CLOSEAT 100000000001", "-SALEEXISTS"),
        ("SECKILL.INIT empty 0", "+OK"),
        ("SECKILL.GRAB empty a", "['SOLDOUT' 0]"),
        ("SECKILL.INIT huge 9007199254740991 LIMIT 0", "+OK"),
        ("SECKILL.GRAB huge a QTY 9007199254740991", "['GRANTED' 1 9007199254740991 'SOLD' 0 0]"),
    ]);
}

// Rules: bf7c
#[test]
fn init_compares_with_what_it_was_first_told() {
    let server = Server::start();
    server.conn().check(&[
        ("SECKILL.INIT k 2 LIMIT 2", "+OK"),
        ("SECKILL.GRAB k a QTY 2", "['GRANTED' 1 2 'SOLD' 0 0]"),
        ("SECKILL.RESTOCK k 5 REQ r", "[5 5]"),
        ("SECKILL.ALTER k LIMIT 7", "+OK"),
        ("SECKILL.INIT k 2 LIMIT 2", "+OK"),
        ("SECKILL.INIT k 7 LIMIT 7", "-SALEEXISTS"),
        ("DEL k", "1"),
        ("SECKILL.INIT k 7 LIMIT 7", "+OK"),
        ("SECKILL.GRAB k a QTY 2", "['GRANTED' 1 2 'SOLD' 0 5]"),
    ]);
}

// Rules: 004f 5e98 b084 c35b ee7a cedf aa2d
#[test]
fn grab_takes_exactly_qty_or_nothing() {
    let server = Server::start();
    server.conn().check(&[
        ("SECKILL.INIT k 10 LIMIT 4", "+OK"),
        ("SECKILL.GRAB k alice", "['GRANTED' 1 1 'SOLD' 0 9]"),
        ("SECKILL.GRAB k alice QTY 4", "['OVERLIMIT' 3]"),
        ("SECKILL.GRAB k alice QTY 3", "['GRANTED' 2 3 'SOLD' 0 6]"),
        ("SECKILL.GRAB k alice", "['ALREADY' 2 3 'SOLD' 0]"),
        ("SECKILL.GRAB k bob qty 4", "['GRANTED' 3 4 'SOLD' 0 2]"),
        ("SECKILL.GRAB k carol QTY 3", "['SHORT' 2]"),
        ("SECKILL.GRAB k carol QTY 5", "['OVERLIMIT' 4]"),
        ("SECKILL.GRAB k carol QTY 2", "['GRANTED' 4 2 'SOLD' 0 0]"),
        ("SECKILL.GRAB k dave", "['SOLDOUT' 0]"),
        ("SECKILL.GRAB k carol QTY 3", "['OVERLIMIT' 2]"),
        ("SECKILL.GRAB k carol QTY 2", "['SOLDOUT' 0]"),
    ]);
}

// Rules: d2f9
#[test]
fn grab_upto_takes_what_there_is() {
    let server = Server::start();
    server.conn().check(&[
        ("SECKILL.INIT k 10 LIMIT 4", "+OK"),
        ("SECKILL.GRAB k alice UPTO 3", "['GRANTED' 1 3 'SOLD' 0 7]"),
        ("SECKILL.GRAB k alice UPTO 3", "['GRANTED' 2 1 'SOLD' 0 6]"),
        ("SECKILL.GRAB k alice UPTO 3", "['ALREADY' 2 1 'SOLD' 0]"),
        ("SECKILL.GRAB k bob UPTO 9007199254740991", "['GRANTED' 3 4 'SOLD' 0 2]"),
        ("SECKILL.GRAB k carol UPTO 3", "['GRANTED' 4 2 'SOLD' 0 0]"),
        ("SECKILL.GRAB k dave UPTO 1", "['SOLDOUT' 0]"),
    ]);
}

// Rules: 004f 2d09 9243
#[test]
fn limits_count_units_and_grabs() {
    let server = Server::start();
    server.conn().check(&[
        ("SECKILL.INIT once 100 LIMIT 0 GRABS 1", "+OK"),
        ("SECKILL.GRAB once a QTY 50", "['GRANTED' 1 50 'SOLD' 0 50]"),
        ("SECKILL.GRAB once a QTY 7", "['ALREADY' 1 50 'SOLD' 0]"),
        ("SECKILL.INIT both 100 LIMIT 5 GRABS 2", "+OK"),
        ("SECKILL.GRAB both a QTY 2", "['GRANTED' 1 2 'SOLD' 0 98]"),
        ("SECKILL.GRAB both a QTY 2", "['GRANTED' 2 2 'SOLD' 0 96]"),
        ("SECKILL.GRAB both a", "['ALREADY' 2 2 'SOLD' 0]"),
        ("SECKILL.INIT none 100 LIMIT 0", "+OK"),
        ("SECKILL.GRAB none a QTY 60", "['GRANTED' 1 60 'SOLD' 0 40]"),
        ("SECKILL.GRAB none a QTY 40", "['GRANTED' 2 40 'SOLD' 0 0]"),
        ("SECKILL.GRAB none a", "['SOLDOUT' 0]"),
    ]);
}

// Rules: efbb 90a1
#[test]
fn a_request_id_is_granted_once() {
    let server = Server::start();
    server.conn().check(&[
        ("SECKILL.INIT k 10 LIMIT 5", "+OK"),
        ("SECKILL.GRAB k a QTY 2 REQ o1", "['GRANTED' 1 2 'SOLD' 0 8]"),
        ("SECKILL.GRAB k a REQ o1 QTY 2", "['REPLAY' 1 2 'SOLD' 0]"),
        ("SECKILL.GRAB k a QTY 3 REQ o1", "-REQMISMATCH"),
        ("SECKILL.GRAB k a UPTO 2 REQ o1", "-REQMISMATCH"),
        ("SECKILL.GRAB k a REQ o1", "-REQMISMATCH"),
        ("SECKILL.GRAB k a UPTO 2 REQ o2", "['GRANTED' 2 2 'SOLD' 0 6]"),
        ("SECKILL.GRAB k a UPTO 99 REQ o2", "['REPLAY' 2 2 'SOLD' 0]"),
        ("SECKILL.GRAB k a QTY 2 REQ o2", "-REQMISMATCH"),
        ("SECKILL.GRAB k b QTY 2 REQ o1", "['GRANTED' 3 2 'SOLD' 0 4]"),
        ("SECKILL.GRAB k a REQ o3", "['GRANTED' 4 1 'SOLD' 0 3]"),
        ("SECKILL.GRAB k a REQ o4", "['ALREADY' 4 1 'SOLD' 0]"),
        ("SECKILL.ALTER k LIMIT 6", "+OK"),
        ("SECKILL.GRAB k a REQ o4", "['GRANTED' 5 1 'SOLD' 0 2]"),
        ("SECKILL.GRAB k a REQ O4", "['ALREADY' 5 1 'SOLD' 0]"),
    ]);
}

#[test]
fn a_winner_always_learns_that_he_won() {
    let (server, mut conn) = Server::start().with_conn();
    conn.check(&[
        ("SECKILL.INIT k 3 LIMIT 2", "+OK"),
        ("SECKILL.GRAB k a QTY 2 REQ o", "['GRANTED' 1 2 'SOLD' 0 1]"),
        ("SECKILL.GRAB k b REQ o", "['GRANTED' 2 1 'SOLD' 0 0]"),
        ("SECKILL.PAUSE k", "+OK"),
        ("SECKILL.GRAB k a", "['ALREADY' 1 2 'SOLD' 0]"),
        ("SECKILL.GRAB k a QTY 2 REQ o", "['REPLAY' 1 2 'SOLD' 0]"),
        ("SECKILL.GRAB k b REQ o", "['REPLAY' 2 1 'SOLD' 0]"),
        ("SECKILL.GRAB k b QTY 2", "['PAUSED']"),
        ("SECKILL.GRAB k c", "['PAUSED']"),
        ("SECKILL.ALTER k CLOSEAT 100000000000", "+OK"),
        ("SECKILL.GRAB k c", "['CLOSED']"),
        ("SECKILL.GRAB k a", "['ALREADY' 1 2 'SOLD' 0]"),
        ("SECKILL.GRAB k b REQ o", "['REPLAY' 2 1 'SOLD' 0]"),
        ("SECKILL.RESUME k", "+OK"),
        ("SECKILL.GRAB k b QTY 2", "['CLOSED']"),
        ("SECKILL.ALTER k CLOSEAT 0", "+OK"),
        ("SECKILL.GRAB k b QTY 2", "['OVERLIMIT' 1]"),
        ("SECKILL.GRAB k c", "['SOLDOUT' 0]"),
    ]);
    let opens = server.clock_ms() + AN_HOUR_MS;
    assert_eq!(conn.call(&format!("SECKILL.ALTER k OPENAT {opens}")), "+OK");
    assert_eq!(conn.cmd("SECKILL.GRAB k b QTY 2").items()[0].text(), "NOTOPEN");
    assert_eq!(conn.call("SECKILL.GRAB k a"), "['ALREADY' 1 2 'SOLD' 0]");
}

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

// Rules: c59b 76dc efbb e662 b9e9
#[test]
fn restock_adds_withdraws_and_replays() {
    let server = Server::start();
    server.conn().check(&[
        ("SECKILL.INIT k 3 LIMIT 0", "+OK"),
        ("SECKILL.GRAB k a QTY 2", "['GRANTED' 1 2 'SOLD' 0 1]"),
        ("SECKILL.RESTOCK k 4 REQ r1", "[4 5]"),
        ("SECKILL.GRAB k a", "['GRANTED' 2 1 'SOLD' 0 4]"),
        ("SECKILL.RESTOCK k 4 REQ r1", "[4 5]"),
        ("SECKILL.RESTOCK k 5 REQ r1", "-REQMISMATCH"),
        ("SECKILL.RESTOCK k -4 REQ r1", "-REQMISMATCH"),
        ("SECKILL.RESTOCK k -1 req r2", "[-1 3]"),
        ("SECKILL.RESTOCK k -10 REQ r3", "[-3 0]"),
        ("SECKILL.RESTOCK k -10 REQ r4", "[0 0]"),
        ("SECKILL.RESTOCK k 6 REQ r5", "[6 6]"),
        ("SECKILL.RESTOCK k -10 REQ r4", "[0 0]"),
        ("SECKILL.RESTOCK k -10 REQ r3", "[-3 0]"),
        ("SECKILL.GRAB k b UPTO 99", "['GRANTED' 3 6 'SOLD' 0 0]"),
        ("SECKILL.RESTOCK k 9007199254740991 REQ r6", "-ERR supply must be 0 to 9007199254740991"),
        ("SECKILL.RESTOCK k 9007199254740982 REQ r6", "[9007199254740982 9007199254740982]"),
        ("SECKILL.RESTOCK k 1 REQ r7", "-ERR supply must be 0 to 9007199254740991"),
        ("SECKILL.RESTOCK k -9007199254740991 REQ r7", "[-9007199254740982 0]"),
    ]);
    server.assert_sound("k");
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

// Rules: 0325 80f7 9af1 9b84 700a
#[test]
fn pause_and_resume_are_idempotent() {
    let (server, mut conn) = Server::start().with_conn();
    let version = |server: &Server| server.cmd("SECKILL.STATUS k").field("version").int();
    conn.check(&[("SECKILL.INIT k 3", "+OK"), ("SECKILL.RESUME k", "+OK")]);
    assert_eq!(version(&server), 1);
    conn.check(&[("SECKILL.PAUSE k", "+OK"), ("SECKILL.PAUSE k", "+OK")]);
    assert_eq!(version(&server), 2);
    conn.check(&[
        ("SECKILL.GRAB k a", "['PAUSED']"),
        ("SECKILL.RESTOCK k 1 REQ r", "[1 4]"),
        ("SECKILL.RESUME k", "+OK"),
        ("SECKILL.RESUME k", "+OK"),
        ("SECKILL.GRAB k a", "['GRANTED' 1 1 'SOLD' 0 3]"),
    ]);
    assert_eq!(version(&server), 5);
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
