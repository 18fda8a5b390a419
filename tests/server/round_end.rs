//! The end of a round and the start of the next one: to the millisecond, after a pause of several
//! rounds, after the clock stepped back, and with 1,000,000 winners.
//!
//! APPLY moves the sale's time ahead of the server's clock, as in `clock`. Then the sale uses its
//! own time, which the test sets to the millisecond.

use seckill_model::shorthand::effect;

use crate::support::bulk::{grow, position};
use crate::support::shop::number;
use crate::support::{wait_until, Conn, Options, Server};

const HOUR_MS: i64 = 3_600_000;
/// The period of [`hourly`].
pub const PERIOD_MS: i64 = 2 * HOUR_MS;
const LASTS_MS: i64 = 60_000;
const WINNERS: usize = 1_000_000;

/// Sets the sale's time; the sale is paused then. Before the first call only INIT and APPLY may
/// have changed it, because they don't move time.
#[track_caller]
pub fn send_to(conn: &mut Conn, moment: i64) {
    let (now, version) = (number(conn, "k", "now"), number(conn, "k", "version"));
    // STATUS shows the later of both times, but APPLY counts from the sale's.
    let is_ahead = now > conn.clock_ms() + 1000;
    let from = if is_ahead { now } else { number(conn, "k", "created_at") };
    let position = position(conn, "k", version as usize);
    let pause = effect(&format!("Pt{}", moment - from));
    let words = [b"SECKILL.APPLY", &b"k"[..], position.as_bytes(), &pause];
    assert_eq!(conn.ask(&words).to_string(), "+OK");
    assert_eq!(number(conn, "k", "now"), moment);
}

/// [`send_to`], then RESUME.
#[track_caller]
fn resume_at(conn: &mut Conn, moment: i64) {
    send_to(conn, moment);
    assert_eq!(conn.call("SECKILL.RESUME k"), "+OK");
}

/// A sale whose round 1 begins an hour from now. Returns that time.
pub fn hourly(conn: &mut Conn, terms: &str) -> i64 {
    let start = conn.clock_ms() + HOUR_MS;
    let offset = start - PERIOD_MS;
    let every = format!("EVERY {PERIOD_MS} OFFSET {offset} LASTS {LASTS_MS}");
    assert_eq!(conn.call(&format!("SECKILL.INIT k {terms} {every}")), "+OK");
    assert_eq!(number(conn, "k", "round"), 0);
    start
}

// Rules: 4e3b aeef
#[test]
fn a_window_opens_and_closes_to_the_millisecond() {
    let (server, mut conn) = Server::start().with_conn();
    assert_eq!(conn.call("SECKILL.INIT k 9"), "+OK");
    let moment = conn.clock_ms() + HOUR_MS;
    resume_at(&mut conn, moment);
    let mut told = |terms: String, user: &str| {
        assert_eq!(conn.call(&format!("SECKILL.ALTER k {terms}")), "+OK");
        conn.call(&format!("SECKILL.GRAB k {user}"))
    };
    assert_eq!(told(format!("OPENAT {}", moment + 1), "a"), "['NOTOPEN' 1]");
    assert_eq!(told(format!("OPENAT {moment}"), "a"), "['GRANTED' 1 1 'SOLD' 0 8]");
    let close = format!("OPENAT 0 CLOSEAT {}", moment + 1);
    assert_eq!(told(close, "b"), "['GRANTED' 2 1 'SOLD' 0 7]");
    assert_eq!(told(format!("CLOSEAT {moment}"), "c"), "['CLOSED']");
    server.assert_sound("k");
}

// Rules: 6f88 c9f1
#[test]
fn a_round_begins_and_ends_to_the_millisecond() {
    let (server, replica) = Server::pair();
    let mut conn = server.conn();
    let start = hourly(&mut conn, "5 HOLD 2592000000 OUTBOX s");
    resume_at(&mut conn, start - 1);
    assert_eq!(conn.call("SECKILL.GRAB k a"), "['NOTOPEN' 1]");
    resume_at(&mut conn, start);
    // The server's clock is an hour behind, but nothing is undone.
    conn.check(&[
        ("SECKILL.GRAB k a REQ o", "['GRANTED' 1 1 'HELD' T 4]"),
        ("SECKILL.GRAB k a", "['ALREADY' 1 1 'HELD' T]"),
        ("SECKILL.ROUNDS k", "[[1 5 0 1] [0 5 0 0]]"),
    ]);
    resume_at(&mut conn, start + LASTS_MS - 1);
    conn.check(&[("SECKILL.GRAB k b REQ o", "['GRANTED' 2 1 'HELD' T 3]")]);
    resume_at(&mut conn, start + LASTS_MS);
    let between = format!("['NOTOPEN' {}]", PERIOD_MS - LASTS_MS);
    assert_eq!(conn.call("SECKILL.GRAB k c"), between);
    // After several rounds without a call, the current round begins directly. Orders of round 1 can
    // still be settled.
    resume_at(&mut conn, start + 4 * PERIOD_MS + 5);
    conn.check(&[
        ("SECKILL.ROUNDS k", "[[5 5 0 0] [1 5 0 2] [0 5 0 0]]"),
        ("SECKILL.GRAB k c", "['GRANTED' 3 1 'HELD' T 4]"),
        ("SECKILL.CONFIRM k a REQ o", "['SOLD' 1 1 0]"),
        ("SECKILL.CANCEL k b", "['CANCELLED' 2 1 0]"),
        ("SECKILL.REFUND k a", "['REFUNDED' 1 1 0]"),
        ("SECKILL.ROUNDS k", "[[5 5 0 1] [1 5 0 0] [0 5 0 0]]"),
    ]);
    let own = ["supply", "available", "held", "sold"].map(|name| number(&mut conn, "k", name));
    assert_eq!(own, [5, 4, 1, 0], "what comes back is unsold of its own round");
    server.assert_sound("k");
    replica.assert_follows(&server, &["k"]);
}

/// Microseconds that the server needed for the last command of this name.
#[track_caller]
fn micros_of(conn: &mut Conn, command: &str) -> i64 {
    let log = conn.cmd("SLOWLOG GET 50");
    let is_it = |entry: &&crate::support::Reply| entry.items()[3].items()[0].text() == command;
    let entry = log.items().iter().find(is_it).unwrap_or_else(|| panic!("no {command}: {log}"));
    entry.items()[2].int()
}

/// Adds 1,000,000 winners to the current round of a sale with no change but INIT.
fn fill(conn: &mut Conn, key: &str) {
    grow(conn, key, 0, WINNERS, |number| effect(&format!("guser:{number:012}")));
    assert_eq!(number(conn, key, "winners"), WINNERS as i64);
}

/// The time is compared with AUDIT, which visits all winners of a ledger.
#[test]
fn a_round_with_a_million_winners_ends_in_no_time() {
    let (server, mut conn) = Options::new().line("slowlog-log-slower-than 0").start().with_conn();
    let start = hourly(&mut conn, "2000000 OUTBOX s");
    fill(&mut conn, "k");
    // In a transaction AUDIT runs in one step.
    conn.check(&[("MULTI", "+OK"), ("SECKILL.AUDIT k", "+QUEUED")]);
    assert_eq!(conn.cmd("EXEC").items()[0].field("ok").int(), 1);
    let audit_us = micros_of(&mut conn, "SECKILL.AUDIT");
    let full = conn.cmd("MEMORY USAGE k").int();
    let turn = |conn: &mut Conn, round: i64| {
        send_to(conn, start + (round - 1) * PERIOD_MS);
        conn.check(&[("SLOWLOG RESET", "+OK"), ("SECKILL.RESUME k", "+OK")]);
        let winners = number(conn, "k", "winners");
        assert_eq!((number(conn, "k", "round"), winners), (round, 0));
        micros_of(conn, "SECKILL.RESUME")
    };
    let first_us = turn(&mut conn, 1);
    assert_eq!(
        conn.call("SECKILL.ROUNDS k COUNT 2"),
        "[[1 2000000 0 0] [0 2000000 1000000 1000000]]"
    );
    let kept = conn.cmd("MEMORY USAGE k").int();
    assert!(kept > full * 9 / 10, "the previous round is kept");
    // The next round start drops 1,000,000 grants. Background expiry frees their memory in steps,
    // without a call.
    let second_us = turn(&mut conn, 2);
    wait_until("memory is given back", || conn.cmd("MEMORY USAGE k").int() < full / 100);
    println!("turns {first_us} and {second_us} us, AUDIT {audit_us} us");
    for turn_us in [first_us, second_us] {
        // Measured 35 and 120 us beside 150,000 us. The margin is for a busy machine.
        assert!(turn_us < audit_us / 10, "a turn took {turn_us} us, walking takes {audit_us}");
    }
    conn.check(&[("SECKILL.GRAB k a", "['GRANTED' 1000001 1 'SOLD' 0 1999999]")]);
    server.assert_sound("k");
}

/// A replica has no background expiry, so only APPLY frees the memory.
#[test]
fn a_replica_gives_memory_back_with_what_it_applies() {
    let (server, replica) = Server::pair();
    let mut conn = server.conn();
    let start = hourly(&mut conn, "2000000");
    grow(&mut conn, "k", 0, 100_000, |number| effect(&format!("guser:{number:012}")));
    let used = || {
        replica.wait_in_sync(&server);
        replica.cmd("MEMORY USAGE k").int()
    };
    let full = used();
    for round in [1, 2] {
        resume_at(&mut conn, start + (round - 1) * PERIOD_MS);
        assert_eq!(number(&mut conn, "k", "round"), round);
    }
    for step in 1..20 {
        send_to(&mut conn, start + PERIOD_MS + step);
    }
    let kept = used();
    assert!(kept < full / 20, "{kept} of {full}");
}
