//! Repeating sales: each round has its own supply, allowances and law. Older rounds stay unchanged.

use crate::support::shop::{counter, entries, number, wait_for_clock};
use crate::support::valgrind::slowed;
use crate::support::{logs, wait_until, Conn, Options, Server};

/// Milliseconds: long enough for a few commands in one round, also on a busy machine.
fn period_ms() -> i64 {
    slowed(1500).into()
}

fn lasts_ms() -> i64 {
    slowed(1000).into()
}

/// Terms under which round 1000 begins shortly after the current time.
fn terms(conn: &mut Conn) -> (String, i64) {
    let start = conn.clock_ms() + i64::from(slowed(200));
    let (period, lasts) = (period_ms(), lasts_ms());
    let offset = start - 1000 * period;
    (format!("EVERY {period} OFFSET {offset} LASTS {lasts}"), start)
}

fn start_of(first: i64, round: i64) -> i64 {
    first + (round - 1000) * period_ms()
}

fn wait_for_round(conn: &mut Conn, first: i64, round: i64) {
    wait_for_clock(conn, start_of(first, round));
}

// Rules: 4c72 87f1 2333 3fdf a9ab db37
#[test]
fn each_round_starts_anew() {
    let (server, mut conn) = Server::start().with_conn();
    let (terms, first) = terms(&mut conn);
    assert_eq!(conn.call(&format!("SECKILL.INIT k 3 LIMIT 2 OUTBOX s {terms}")), "+OK");
    assert_eq!(number(&mut conn, "k", "round"), 999);
    assert_eq!(conn.cmd("SECKILL.GRAB k a").items()[0].text(), "NOTOPEN");
    wait_for_round(&mut conn, first, 1000);
    conn.check(&[
        ("SECKILL.GRAB k a QTY 2 REQ o", "['GRANTED' 1 2 'SOLD' 0 1]"),
        ("SECKILL.GRAB k a", "['ALREADY' 1 2 'SOLD' 0]"),
        ("SECKILL.GRAB k b", "['GRANTED' 2 1 'SOLD' 0 0]"),
        ("SECKILL.GRAB k c", "['SOLDOUT' 0]"),
        ("SECKILL.ROUNDS k", "[[1000 3 3 2] [999 3 0 0]]"),
    ]);
    assert_eq!(number(&mut conn, "k", "round_ends_at"), first + lasts_ms());
    assert_eq!(number(&mut conn, "k", "next_round_at"), first + period_ms());
    wait_for_clock(&mut conn, first + lasts_ms());
    let between = conn.cmd("SECKILL.GRAB k d");
    assert_eq!(between.items()[0].text(), "NOTOPEN");
    assert!((0..=period_ms() - lasts_ms()).contains(&between.items()[1].int()), "{between}");
    assert_eq!(conn.cmd("SECKILL.STATUS k").field("state").text(), "pending");
    assert_eq!(conn.call("SECKILL.GRAB k a QTY 2 REQ o"), "['REPLAY' 1 2 'SOLD' 0]");
    wait_for_round(&mut conn, first, 1001);
    conn.check(&[
        ("SECKILL.GRAB k a", "['GRANTED' 3 1 'SOLD' 0 2]"),
        ("SECKILL.GRAB k a QTY 2 REQ o", "['REPLAY' 1 2 'SOLD' 0]"),
        ("SECKILL.USER k b", "[2 'OK' [[2 'b' 1 'SOLD' T 0 nil T 1000]]]"),
        ("SECKILL.REFUND k b", "['REFUNDED' 2 1 0]"),
        ("SECKILL.ROUNDS k", "[[1001 3 1 1] [1000 3 2 1] [999 3 0 0]]"),
        ("SECKILL.ROUNDS k COUNT 1", "[[1001 3 1 1]]"),
        ("SECKILL.WINNERS k 0 ROUND 1001", "[0 [[3 'a' 1 'SOLD' T 0 nil T 1001]]]"),
        ("SECKILL.WINNERS k 0 ROUND 1000", "[0 [[1 'a' 2 'SOLD' T 0 'o' T 1000]]]"),
        ("SECKILL.WINNERS k 0 ROUND 999", "[0 []]"),
        ("SECKILL.WINNERS k 0 ROUND 7", "[0 []]"),
        ("SECKILL.IMPORT k a 1 REQ x", "-ERR a sale with EVERY takes no IMPORT"),
        ("SECKILL.ROUNDS k COUNT 0", "-ERR COUNT must be 1 to 100"),
        ("SECKILL.ROUNDS k COUNT 101", "-ERR COUNT must be 1 to 100"),
        ("SECKILL.ROUNDS k 5", "-ERR syntax error at argument 2"),
    ]);
    let shown = ["supply", "available", "held", "sold"].map(|name| number(&mut conn, "k", name));
    assert_eq!(shown, [3, 2, 0, 1], "the current round's own numbers");
    assert_eq!(counter(&mut conn, "k", "notopen"), 2);
    server.assert_sound("k");
    let told = entries(&mut conn, "s");
    let turns: Vec<_> = told.iter().filter(|entry| entry.text("event") == "ROUND").collect();
    let rounds: Vec<i64> = turns.iter().map(|entry| entry.number("round")).collect();
    assert_eq!(rounds, [1000, 1001]);
    let numbers = turns.iter().map(|entry| (entry.number("supply"), entry.number("available")));
    assert_eq!(numbers.collect::<Vec<_>>(), [(3, 3), (3, 3)]);
    let revs: Vec<i64> = told.iter().map(|entry| entry.number("rev")).collect();
    assert!(revs.windows(2).all(|two| two[1] == two[0] + 1), "{revs:?}");
}

/// Without calls background expiry begins the round; a replica only follows.
#[test]
fn the_sweeper_begins_rounds() {
    let (server, replica) = (Server::start(), Server::start());
    let mut conn = server.conn();
    assert_eq!(conn.call("SECKILL.INIT k 5 EVERY 300"), "+OK");
    replica.follow(&server);
    let first = number(&mut conn, "k", "round");
    wait_until("three rounds have begun", || number(&mut conn, "k", "round") >= first + 3);
    let mut far = replica.conn();
    let version = number(&mut conn, "k", "version");
    wait_until("the replica follows", || number(&mut far, "k", "version") >= version);
    assert_eq!(replica.info("seckill", "seckill_apply_refused"), "0");
    assert_eq!(number(&mut conn, "k", "available"), 5);
    server.assert_sound("k");
    replica.assert_sound("k");
}

/// Every kind of file has older rounds, also very old ones with a hold.
#[test]
fn rounds_are_the_same_everywhere() {
    let fill = |conn: &mut Conn| {
        let (terms, first) = terms(conn);
        // All rounds are closed, so nothing changes during the comparison.
        let close = start_of(first, 1002) + lasts_ms();
        let init = format!("SECKILL.INIT k 9 LIMIT 2 HOLD 900000 CLOSEAT {close} {terms}");
        assert_eq!(conn.call(&init), "+OK");
        for round in 1000..1003 {
            wait_for_round(conn, first, round);
            for user in ["a", "b", "c"] {
                let reply = conn.cmd(&format!("SECKILL.GRAB k {user} REQ {round}"));
                assert_eq!(reply.items()[0].text(), "GRANTED");
            }
            for line in ["SECKILL.CONFIRM k a REQ", "SECKILL.CANCEL k b REQ"] {
                assert!(!conn.cmd(&format!("{line} {round}")).is_error());
            }
        }
        wait_for_clock(conn, close);
    };
    logs::assert_same_everywhere(&["k"], fill, |server| {
        assert_eq!(server.cmd("SECKILL.CONFIRM k c REQ 1000").items()[0].text(), "SOLD");
    });
}

/// A node that was down over several rounds begins the current round at once.
#[test]
fn a_node_that_was_down_skips_rounds() {
    let mut server = Options::new().line("appendonly yes").line("appendfsync always").start();
    let mut conn = server.conn();
    assert_eq!(conn.call("SECKILL.INIT k 5 EVERY 200 OUTBOX s"), "+OK");
    let before = number(&mut conn, "k", "round");
    let clock = conn.clock_ms();
    server.kill9();
    let other = Server::start();
    wait_for_clock(&mut other.conn(), clock + 1000);
    server.start_again();
    let mut conn = server.conn();
    wait_until("the round of now is stored", || number(&mut conn, "k", "round") >= before + 4);
    let told = entries(&mut conn, "s");
    let rounds: Vec<i64> = told
        .iter()
        .filter(|entry| entry.text("event") == "ROUND")
        .map(|entry| entry.number("round"))
        .collect();
    assert!(rounds.windows(2).all(|two| two[0] < two[1]), "{rounds:?}");
    assert!(rounds.windows(2).any(|two| two[1] > two[0] + 1) || rounds[0] > before + 1);
    server.assert_sound("k");
}
