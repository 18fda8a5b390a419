//! From GRAB to payment: replies and effects of CONFIRM, CANCEL, EXTEND, REFUND and IMPORT. A
//! repeated call changes nothing.

mod again;

use crate::support::shop::{counter, number, state_of, wait_for_clock};
use crate::support::{wait_until, Conn, Reply, Server};

/// Another user's grant, an unknown seq and an unknown request get equal replies.
// Rules: 79d8
#[test]
fn what_is_not_the_users_is_not_there() {
    let (server, mut conn) = Server::start().with_conn();
    conn.check(&[
        ("SECKILL.INIT k 5 HOLD 900000", "+OK"),
        ("SECKILL.GRAB k a REQ o", "['GRANTED' 1 1 'HELD' T 4]"),
    ]);
    let digest = server.digest("k");
    for which in ["", "SEQ 1", "SEQ 2", "SEQ 9007199254740991", "REQ o", "REQ p"] {
        for command in ["CONFIRM k b", "EXTEND k b 900001", "REFUND k b", "CANCEL k b"] {
            let line = format!("SECKILL.{command} {which}");
            if command.starts_with("CANCEL") && which.starts_with("REQ") {
                continue;
            }
            assert_eq!(conn.call(&line), "['NOGRANT' 0 0 0]", "{line}");
        }
    }
    for which in ["SEQ 1 RECLAIM", "REQ o RECLAIM"] {
        assert_eq!(conn.call(&format!("SECKILL.CONFIRM k b {which}")), "['NOGRANT' 0 0 0]");
    }
    assert_eq!(server.digest("k"), digest);
}

/// A CANCEL before its GRAB leaves a fence. The fence is only for that user.
// Rules: 3e5c f21a 257c
#[test]
fn a_cancel_may_overtake_its_grab() {
    let (server, mut conn) = Server::start().with_conn();
    conn.check(&[
        ("SECKILL.INIT k 5 HOLD 900000 LIMIT 3 OUTBOX s", "+OK"),
        ("SECKILL.CANCEL k a REQ o", "['CANCELLED' 0 0 0]"),
        ("SECKILL.CANCEL k a REQ o", "['CANCELLED' 0 0 0]"),
        ("SECKILL.GRAB k a REQ o", "['REPLAY' 0 0 'CANCELLED' 0]"),
        ("SECKILL.GRAB k a QTY 3 REQ o", "['REPLAY' 0 0 'CANCELLED' 0]"),
        ("SECKILL.GRAB k a UPTO 2 REQ o", "['REPLAY' 0 0 'CANCELLED' 0]"),
        ("SECKILL.CONFIRM k a REQ o RECLAIM", "['NOGRANT' 0 0 0]"),
        ("SECKILL.GRAB k b REQ o", "['GRANTED' 1 1 'HELD' T 4]"),
        ("SECKILL.GRAB k a REQ p", "['GRANTED' 2 1 'HELD' T 3]"),
        ("SECKILL.CANCEL k a REQ p", "['CANCELLED' 2 1 0]"),
        ("SECKILL.GRAB k a REQ p", "['REPLAY' 2 1 'CANCELLED' 0]"),
        ("XLEN s", "4"),
    ]);
    assert_eq!(number(&mut conn, "k", "fences_dropped"), 0);
    let (digest, version) = (server.digest("k"), number(&mut conn, "k", "version"));
    assert_eq!(conn.call("DEBUG RELOAD"), "+OK");
    assert_eq!(conn.call("SECKILL.GRAB k a REQ o"), "['REPLAY' 0 0 'CANCELLED' 0]");
    assert_eq!((server.digest("k"), number(&mut conn, "k", "version")), (digest, version));
}

/// EXTEND counts from the current time and never shortens a hold. Every reply and row has its
/// deadline.
// Rules: 70a3
#[test]
fn a_deadline_is_the_same_wherever_it_is_shown() {
    let (_server, mut conn) = Server::start().with_conn();
    assert_eq!(conn.call("SECKILL.INIT k 5 HOLD 900000"), "+OK");
    let granted = conn.cmd("SECKILL.GRAB k a");
    let row = |conn: &mut Conn| conn.cmd("SECKILL.USER k a").items()[2].items()[0].clone();
    let (at, first) = (row(&mut conn).items()[4].int(), granted.items()[4].int());
    assert_eq!(first, at + 900_000);
    assert_eq!(conn.cmd("SECKILL.EXTEND k a 1").items()[3], Reply::Int(first), "never shorter");
    let before = conn.clock_ms();
    let later = conn.cmd("SECKILL.EXTEND k a 1800000").items()[3].int();
    let after = conn.clock_ms();
    assert!((before + 1_800_000..=after + 1_800_000).contains(&later));
    for shown in [
        row(&mut conn).items()[5].int(),
        number(&mut conn, "k", "next_deadline"),
        conn.cmd("SECKILL.GRAB k a").items()[4].int(),
        conn.cmd("SECKILL.WINNERS k 0 STATE HELD").items()[1].items()[0].items()[5].int(),
    ] {
        assert_eq!(shown, later);
    }
    let longest = conn.cmd("SECKILL.EXTEND k a 2592000000");
    assert_eq!(longest.items()[0].text(), "HELD");
    assert_eq!(conn.call("SECKILL.CONFIRM k a"), "['SOLD' 1 1 0]");
    assert_eq!(number(&mut conn, "k", "next_deadline"), 0);
}

/// Milliseconds from deadlines to their `seckill.expire` events.
fn lags(server: &Server, rounds: usize) -> Vec<i64> {
    assert_eq!(server.call("CONFIG SET notify-keyspace-events Ed"), "+OK");
    let (mut listener, mut conn) = (server.conn(), server.conn());
    listener.cmd("SUBSCRIBE __keyevent@0__:seckill.expire");
    let mut lags = Vec::new();
    for round in 0..rounds {
        let granted = conn.cmd(&format!("SECKILL.GRAB k idle{round}"));
        let deadline = granted.items()[4].int();
        let message = listener.read().expect("a message");
        assert_eq!(message.items()[2].text(), "k");
        let now = conn.clock_ms();
        assert!(now >= deadline, "not before its time");
        lags.push(now - deadline);
    }
    lags
}

/// A hold expires without commands on its key, another user gets the unit, and a late CONFIRM is
/// refused.
// Rules: ae8a
#[test]
fn a_hold_runs_out_on_an_idle_key() {
    let (server, mut conn) = Server::start().with_conn();
    assert_eq!(conn.call("SECKILL.INIT k 1 HOLD 40"), "+OK");
    let mut lags = lags(&server, 7);
    lags.sort_unstable();
    // The median, because other programs may delay some of the events.
    assert!(lags[lags.len() / 2] <= 100, "ms after the deadlines: {lags:?}");
    conn.check(&[
        ("SECKILL.ALTER k HOLD 900000", "+OK"),
        ("SECKILL.GRAB k b REQ o", "['GRANTED' 8 1 'HELD' T 0]"),
        ("SECKILL.CONFIRM k idle6", "['EXPIRED' 7 1 0]"),
        ("SECKILL.CONFIRM k idle6 SEQ 7 RECLAIM", "['EXPIRED' 7 1 0]"),
        ("SECKILL.CANCEL k b", "['CANCELLED' 8 1 0]"),
        // A refused RECLAIM stays refused when a unit comes back, because the buyer was refunded.
        ("SECKILL.CONFIRM k idle6 SEQ 7 RECLAIM", "['EXPIRED' 7 1 0]"),
        ("SECKILL.CONFIRM k idle5 SEQ 6 RECLAIM", "['SOLD' 6 1 0]"),
        ("SECKILL.CONFIRM k idle5 SEQ 6 RECLAIM", "['SOLD' 6 1 0]"),
        ("SECKILL.CONFIRM k idle4 SEQ 5 RECLAIM", "['EXPIRED' 5 1 0]"),
    ]);
    for (name, count) in [("expired", 7), ("reclaimed", 1), ("confirmed", 0), ("cancelled", 1)] {
        assert_eq!(counter(&mut conn, "k", name), count, "{name}");
    }
    server.assert_sound("k");
}

/// While background expiry is off, a due hold neither counts for its user nor blocks other users.
#[test]
fn a_due_hold_never_counts() {
    let (server, mut conn) = Server::sleeping().with_conn();
    conn.check(&[("SECKILL.INIT k 2 HOLD 20 LIMIT 1", "+OK"), ("SECKILL.INIT l 3 LIMIT 3", "+OK")]);
    let due = |conn: &mut Conn, line: &str| {
        let deadline = conn.cmd(line).items()[4].int();
        wait_for_clock(conn, deadline);
    };
    due(&mut conn, "SECKILL.GRAB k a REQ o");
    assert_eq!(state_of(&mut conn, "k", "a"), "HELD", "reads show what is stored");
    conn.check(&[
        ("SECKILL.GRAB k a REQ o", "['REPLAY' 1 1 'EXPIRED' 0]"),
        ("SECKILL.ALTER k HOLD 900000", "+OK"),
    ]);
    assert_eq!(conn.cmd("SECKILL.GRAB k a").items()[1], Reply::Int(2), "not ALREADY");
    conn.check(&[("SECKILL.ALTER k HOLD 20", "+OK")]);
    due(&mut conn, "SECKILL.GRAB k b");
    assert_eq!(number(&mut conn, "k", "held"), 2);
    conn.check(&[
        ("SECKILL.ALTER k HOLD 900000", "+OK"),
        ("SECKILL.GRAB k c", "['GRANTED' 4 1 'HELD' T 0]"),
        ("SECKILL.CONFIRM k b", "['EXPIRED' 3 1 0]"),
        ("SECKILL.GRAB k d", "['SOLDOUT' 2]"),
        ("SECKILL.ALTER l HOLD 20", "+OK"),
    ]);
    due(&mut conn, "SECKILL.GRAB l a QTY 3");
    conn.check(&[
        ("SECKILL.EXTEND l a 900000", "['EXPIRED' 1 3 0]"),
        ("SECKILL.GRAB l a UPTO 9", "['GRANTED' 2 3 'HELD' T 0]"),
    ]);
    let lag = server.info("seckill", "seckill_expiry_lag_max_ms");
    assert_eq!(lag, "0", "the sweeper slept all the time");
    server.assert_sound("k");
    server.assert_sound("l");
}

/// Transactions and scripts give equal results.
#[test]
fn holds_work_in_transactions_and_scripts() {
    let (server, mut conn) = Server::start().with_conn();
    conn.check(&[
        ("SECKILL.INIT k 2 HOLD 900000", "+OK"),
        ("MULTI", "+OK"),
        ("SECKILL.GRAB k a", "+QUEUED"),
        ("SECKILL.CONFIRM k a", "+QUEUED"),
        ("SECKILL.REFUND k a", "+QUEUED"),
        ("SECKILL.RESTOCK k -1 REQ r", "+QUEUED"),
        ("EXEC", "[['GRANTED' 1 1 'HELD' T 1] ['SOLD' 1 1 0] ['REFUNDED' 1 1 0] [-1 1]]"),
    ]);
    let script = "redis.call('SECKILL.GRAB', KEYS[1], ARGV[1])
                  return redis.call('SECKILL.CANCEL', KEYS[1], ARGV[1])";
    let reply = conn.ask(&["EVAL", script, "1", "k", "b"]);
    assert_eq!(reply.to_string(), "['CANCELLED' 2 1 0]");
    let mut modern = server.conn().resp3();
    assert_eq!(modern.call("SECKILL.CANCEL k b"), "['CANCELLED' 2 1 0]");
    assert_eq!(modern.raw("SECKILL.CANCEL k b"), server.conn().raw("SECKILL.CANCEL k b"));
    server.assert_sound("k");
}

/// EXTEND and CONFIRM leave no data behind that grows.
#[test]
fn settled_holds_leave_no_garbage() {
    let (server, mut conn) = Server::start().with_conn();
    assert_eq!(conn.call("SECKILL.INIT k 5 HOLD 900000"), "+OK");
    conn.cmd("SECKILL.GRAB k a");
    let usage = |conn: &mut Conn| conn.cmd("MEMORY USAGE k").int();
    let before = usage(&mut conn);
    for step in 0..3000 {
        let reply = conn.cmd(&format!("SECKILL.EXTEND k a {}", 1_000_000 + step * 1000));
        assert_eq!(reply.items()[0].text(), "HELD");
    }
    assert!(usage(&mut conn) <= before + 256, "{} after {before}", usage(&mut conn));
    assert_eq!(server.info("seckill", "seckill_holds"), "1");
    assert_eq!(conn.call("SECKILL.CONFIRM k a"), "['SOLD' 1 1 0]");
    wait_until("no hold is counted", || server.info("seckill", "seckill_holds") == "0");
}
