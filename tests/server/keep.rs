//! KEEP returns a part of a grant. KEEP's argument is the remaining quantity, so it can be repeated
//! late.

use crate::support::shop::{counter, entries, events, number, wait_for_clock, wait_for_no_holds};
use crate::support::valgrind::slowed;
use crate::support::{logs, Conn, Options, Server};
use crate::waitlist::told;

fn stock(conn: &mut Conn) -> [i64; 5] {
    ["supply", "available", "held", "sold", "deficit"].map(|name| number(conn, "k", name))
}

/// Calls that must change nothing: neither the sale, nor the stream, nor a replica.
#[track_caller]
pub fn assert_no_trace(server: &Server, calls: &[(&str, &str)]) {
    let picture = |server: &Server| {
        let dirty = server.info("persistence", "rdb_changes_since_last_save");
        let refused = server.info("seckill", "seckill_apply_refused");
        (server.digest("k"), dirty, refused, server.call("XLEN s"))
    };
    let before = picture(server);
    for (line, reply) in calls {
        server.conn().check(&[(line, reply)]);
        assert_eq!(picture(server), before, "{line}");
    }
}

/// An order that shrinks: held, paid and refunded in parts.
// Rules: 3262 4341 6d71
#[test]
fn an_order_shrinks_step_by_step() {
    let (server, mut conn) = Server::start().with_conn();
    conn.check(&[
        ("SECKILL.INIT k 10 HOLD 900000 LIMIT 6 OUTBOX s", "+OK"),
        ("SECKILL.GRAB k a QTY 6 REQ o", "['GRANTED' 1 6 'HELD' T 4]"),
        ("SECKILL.GRAB k a QTY 1 REQ p", "['ALREADY' 1 6 'HELD' T]"),
        ("SECKILL.CANCEL k a REQ o KEEP 5", "['HELD' 1 5 T]"),
    ]);
    assert_eq!(stock(&mut conn), [10, 5, 5, 0, 0]);
    assert_no_trace(
        &server,
        &[
            ("SECKILL.CANCEL k a REQ o KEEP 5", "['HELD' 1 5 T]"),
            ("SECKILL.CANCEL k a SEQ 1 KEEP 6", "['HELD' 1 5 T]"),
            ("SECKILL.CANCEL k a SEQ 1 keep 9007199254740991", "['HELD' 1 5 T]"),
            ("SECKILL.REFUND k a REQ o KEEP 1", "['HELD' 1 5 T]"),
            // The request id matches only the requested quantity.
            ("SECKILL.GRAB k a QTY 6 REQ o", "['REPLAY' 1 5 'HELD' T]"),
            ("SECKILL.GRAB k a QTY 5 REQ o", "-REQMISMATCH"),
            ("SECKILL.MGRAB a 1 k QTY 6 REQ o", "['REPLAY' [1 5 'HELD' T]]"),
            ("SECKILL.GRAB k a QTY 2 REQ p", "['OVERLIMIT' 1]"),
        ],
    );
    conn.check(&[("SECKILL.CONFIRM k a KEEP 3 REQ o", "['SOLD' 1 3 0]")]);
    assert_eq!(stock(&mut conn), [10, 7, 0, 3, 0]);
    assert_no_trace(
        &server,
        &[
            // The first of several CONFIRMs decides.
            ("SECKILL.CONFIRM k a REQ o KEEP 1", "['SOLD' 1 3 0]"),
            ("SECKILL.CONFIRM k a REQ o KEEP 5", "['SOLD' 1 3 0]"),
            ("SECKILL.CONFIRM k a REQ o", "['SOLD' 1 3 0]"),
            ("SECKILL.CANCEL k a REQ o KEEP 1", "['SOLD' 1 3 0]"),
            ("SECKILL.REFUND k a REQ o KEEP 3", "['SOLD' 1 3 0]"),
            ("SECKILL.GRAB k a QTY 6 REQ o", "['REPLAY' 1 3 'SOLD' 0]"),
            ("SECKILL.IMPORT k a 6 REQ o", "['REPLAY' 1 3 'SOLD' 0]"),
            ("SECKILL.IMPORT k a 3 REQ o", "-REQMISMATCH"),
        ],
    );
    conn.check(&[
        ("SECKILL.REFUND k a SEQ 1 KEEP 1", "['SOLD' 1 1 0]"),
        ("SECKILL.USER k a", "[5 'OK' [[1 'a' 1 'SOLD' T 0 'o' T 0]]]"),
        ("SECKILL.WINNERS k 0", "[0 [[1 'a' 1 'SOLD' T 0 'o' T 0]]]"),
        ("SECKILL.GRAB k a QTY 5 REQ p", "['GRANTED' 2 5 'HELD' T 4]"),
        ("SECKILL.REFUND k a REQ o", "['REFUNDED' 1 1 0]"),
        // KEEP of all units or more: all are paid.
        ("SECKILL.CONFIRM k a REQ p KEEP 9", "['SOLD' 2 5 0]"),
    ]);
    assert_no_trace(&server, &[("SECKILL.REFUND k a REQ o KEEP 1", "['REFUNDED' 1 1 0]")]);
    assert_eq!(
        told(&mut conn, 1)[1..4],
        [
            "TRIM 10,available:5,held:5,sold:0,seq:1,qty:5,state:HELD,at:T,deadline:T,born:T,\
             returned:1} user=a req=o",
            "CONFIRM 10,available:7,held:0,sold:3,seq:1,qty:3,state:SOLD,at:T,born:T,\
             returned:2} user=a req=o",
            "TRIM 10,available:9,held:0,sold:1,seq:1,qty:1,state:SOLD,at:T,born:T,\
             returned:2} user=a req=o",
        ]
    );
    for (name, count) in [("trimmed", 3), ("confirmed", 2), ("cancelled", 0), ("refunded", 1)] {
        assert_eq!(counter(&mut conn, "k", name), count, "{name}");
    }
    server.assert_sound("k");
}

/// KEEP without a live grant is refused and leaves no fence.
// Rules: 41d7
#[test]
fn keep_needs_a_grant() {
    let (server, mut conn) = Server::start().with_conn();
    conn.check(&[
        ("SECKILL.INIT k 9 HOLD 900000 LIMIT 0 OUTBOX s WAITLIST 5", "+OK"),
        ("SECKILL.GRAB k a QTY 9 REQ o", "['GRANTED' 1 9 'HELD' T 0]"),
        ("SECKILL.GRAB k w QTY 2 REQ w WAIT", "['WAITING' 1 0 0]"),
        ("SECKILL.CANCEL k f REQ fenced", "['CANCELLED' 0 0 0]"),
    ]);
    let no_grant = "['NOGRANT' 0 0 0]";
    assert_no_trace(
        &server,
        &[
            ("SECKILL.CANCEL k a REQ never KEEP 1", no_grant),
            ("SECKILL.CANCEL k f REQ fenced KEEP 1", no_grant),
            ("SECKILL.CANCEL k w REQ w KEEP 1", no_grant),
            ("SECKILL.CONFIRM k w REQ w KEEP 1", no_grant),
            ("SECKILL.CANCEL k b SEQ 1 KEEP 1", no_grant),
            ("SECKILL.PLACE k w", "['WAITING' 1 0 0]"),
        ],
    );
    conn.check(&[
        ("SECKILL.CANCEL k a SEQ 1 KEEP 1", "['HELD' 1 1 T]"),
        ("SECKILL.GRAB k a REQ never", "['GRANTED' 3 1 'HELD' T 5]"),
    ]);
    server.assert_sound("k");
}

/// Returned units reduce the deficit, then go to waiters, in one step.
#[test]
fn what_is_not_kept_goes_where_returns_go() {
    let (server, mut conn) = Server::start().with_conn();
    conn.check(&[
        ("SECKILL.INIT k 5 HOLD 900000 LIMIT 0 OUTBOX s WAITLIST 5", "+OK"),
        ("SECKILL.GRAB k a QTY 5 REQ o", "['GRANTED' 1 5 'HELD' T 0]"),
        ("SECKILL.IMPORT k lost 2 REQ l", "['GRANTED' 2 2 'SOLD' 0 0]"),
        ("SECKILL.GRAB k w REQ w WAIT", "['WAITING' 1 0 0]"),
        ("SECKILL.CANCEL k a REQ o KEEP 4", "['HELD' 1 4 T]"),
    ]);
    assert_eq!(stock(&mut conn), [6, 0, 4, 2, 1], "the deficit first");
    conn.check(&[("SECKILL.CONFIRM k a REQ o KEEP 2", "['SOLD' 1 2 0]")]);
    assert_eq!(stock(&mut conn), [5, 0, 1, 4, 0], "then who waits");
    conn.check(&[
        ("SECKILL.GRAB k w REQ w", "['REPLAY' 3 1 'HELD' T]"),
        // An offer is a grant like any other. This one has one unit.
        ("SECKILL.CANCEL k w REQ w KEEP 1", "['HELD' 3 1 T]"),
        ("SECKILL.REFUND k lost REQ l KEEP 1", "['SOLD' 2 1 0]"),
    ]);
    assert_eq!(stock(&mut conn), [5, 1, 1, 3, 0]);
    let all = events(&mut conn, "s");
    assert_eq!(
        all[2..],
        ["GRANT", "ALLHELD", "IMPORT", "WAIT", "TRIM", "CONFIRM", "OFFER", "TRIM", "AVAILABLE"]
            [1..]
    );
    server.assert_sound("k");
}

/// IMPORT takes all units of the grant again, RECLAIM only its last ones.
#[test]
fn what_is_taken_again() {
    let (server, mut conn) = Server::start().with_conn();
    let init = format!("SECKILL.INIT k 9 HOLD {} LIMIT 9 OUTBOX s", slowed(100));
    conn.check(&[(init.as_str(), "+OK")]);
    for (user, seq) in [("late", 1), ("lost", 2)] {
        conn.cmd(&format!("SECKILL.GRAB k {user} QTY 4 REQ o"));
        assert_eq!(
            conn.cmd(&format!("SECKILL.CANCEL k {user} REQ o KEEP 3")).items()[1].int(),
            seq
        );
    }
    wait_for_no_holds(&server, "k");
    conn.check(&[
        ("SECKILL.USER k late", "[9 'OK' [[1 'late' 3 'EXPIRED' T 0 'o' T 0]]]"),
        ("SECKILL.CONFIRM k late REQ o KEEP 1", "['EXPIRED' 1 3 0]"),
        ("SECKILL.CONFIRM k late REQ o RECLAIM", "['SOLD' 1 3 0]"),
        ("SECKILL.IMPORT k lost 3 REQ o", "-REQMISMATCH"),
        ("SECKILL.IMPORT k lost 4 REQ o", "['REPLAY' 2 4 'SOLD' 0]"),
        ("SECKILL.REFUND k lost REQ o KEEP 3", "['SOLD' 2 3 0]"),
        ("SECKILL.ALTER k HOLD 900000", "+OK"),
        ("SECKILL.GRAB k held UPTO 9 REQ o", "['GRANTED' 3 3 'HELD' T 0]"),
        ("SECKILL.CANCEL k held REQ o KEEP 1", "['HELD' 3 1 T]"),
        ("SECKILL.GRAB k b QTY 2 REQ o", "['GRANTED' 4 2 'HELD' T 0]"),
        // Two of the three units are missing.
        ("SECKILL.IMPORT k held 3 REQ o NODEFICIT", "['SHORT' 0]"),
        ("SECKILL.IMPORT k held 3 REQ o", "['REPLAY' 3 3 'SOLD' 0]"),
    ]);
    assert_eq!(stock(&mut conn), [11, 0, 2, 9, 2]);
    conn.check(&[("SECKILL.REFUND k held REQ o KEEP 1", "['SOLD' 3 1 0]")]);
    assert_eq!(stock(&mut conn), [9, 0, 2, 7, 0]);
    server.assert_sound("k");
}

/// A due hold expires before KEEP. A kept hold keeps its deadline.
#[test]
fn a_due_hold_is_not_kept() {
    let (server, mut conn) = Server::sleeping().with_conn();
    conn.check(&[("SECKILL.INIT k 5 HOLD 300 LIMIT 0", "+OK")]);
    let deadline = conn.cmd("SECKILL.GRAB k a QTY 5 REQ o").items()[4].int();
    let kept = conn.cmd("SECKILL.CANCEL k a REQ o KEEP 4");
    if conn.clock_ms() < deadline {
        assert_eq!(kept.items()[3].int(), deadline, "{kept}");
    }
    wait_for_clock(&mut conn, deadline);
    conn.check(&[
        ("SECKILL.CANCEL k a REQ o KEEP 2", "['EXPIRED' 1 4 0]"),
        ("SECKILL.CONFIRM k a REQ o KEEP 2", "['EXPIRED' 1 4 0]"),
    ]);
    assert_eq!(stock(&mut conn), [5, 5, 0, 0, 0]);
    server.assert_sound("k");
}

const HOUR_MS: i64 = 3_600_000;

/// Units returned by a grant of an older round stay unsold in that round.
#[test]
fn a_part_of_a_round_that_is_over() {
    let (server, mut conn) = Options::new().with_own_clock().start().with_conn();
    // The round began a quarter of an hour ago: no other round begins in the middle of the test.
    let offset = (conn.clock_ms() - HOUR_MS / 4) % HOUR_MS;
    let init = format!("SECKILL.INIT k 5 LIMIT 5 EVERY {HOUR_MS} OFFSET {offset} OUTBOX s");
    assert_eq!(conn.call(&init), "+OK");
    let round = number(&mut conn, "k", "round");
    assert_eq!(conn.call("SECKILL.GRAB k a QTY 5 REQ o"), "['GRANTED' 1 5 'SOLD' 0 0]");
    server.step_clock(HOUR_MS);
    conn.check(&[
        ("SECKILL.REFUND k a REQ o KEEP 2", "['SOLD' 1 2 0]"),
        ("SECKILL.REFUND k a REQ o KEEP 2", "['SOLD' 1 2 0]"),
    ]);
    let rounds = conn.cmd("SECKILL.ROUNDS k");
    let old = rounds.items().iter().find(|it| it.items()[0].int() == round).expect("the round");
    assert_eq!([1, 2, 3].map(|place| old.items()[place].int()), [5, 2, 1]);
    let last = entries(&mut conn, "s").pop().expect("an entry");
    assert!(last.line().contains("supply:5,available:3,held:0,sold:2,seq:1,qty:2"), "{last:?}");
    server.assert_sound("k");
}

/// Every copy of a sale has the first quantity of each grant.
#[test]
fn copies_know_what_was_first_granted() {
    let fill = |conn: &mut Conn| {
        conn.check(&[("SECKILL.INIT k 200000 HOLD 900000 LIMIT 0 OUTBOX s", "+OK")]);
        for grant in 0..600 {
            let qty = 2 + grant % 300;
            conn.cmd(&format!("SECKILL.GRAB k u{} QTY {qty} REQ o{grant}", grant % 7));
            let command = ["CANCEL", "CONFIRM"][grant % 2];
            if grant % 3 > 0 {
                conn.cmd(&format!("SECKILL.{command} k u{} REQ o{grant} KEEP 1", grant % 7));
            }
        }
        assert!(counter(conn, "k", "trimmed") > 300);
    };
    logs::assert_same_everywhere(&["k"], fill, |server| {
        server.conn().check(&[
            ("SECKILL.GRAB k u1 QTY 3 REQ o1", "['REPLAY' 2 1 'SOLD' 0]"),
            ("SECKILL.GRAB k u1 QTY 1 REQ o1", "-REQMISMATCH"),
            // IMPORT can take the first quantity again.
            ("SECKILL.IMPORT k u1 3 REQ o1", "['REPLAY' 2 1 'SOLD' 0]"),
            ("SECKILL.REFUND k u1 REQ o1 KEEP 1", "['SOLD' 2 1 0]"),
            ("SECKILL.IMPORT k u2 4 REQ o2", "['REPLAY' 3 4 'SOLD' 0]"),
            ("SECKILL.REFUND k u2 REQ o2 KEEP 2", "['SOLD' 3 2 0]"),
        ]);
    });
}

/// A grant without KEEP needs no additional byte. The data of a KEEP is freed with its grant.
#[test]
fn what_was_never_trimmed_takes_nothing() {
    let (server, mut conn) = Server::start().with_conn();
    let usage = |conn: &mut Conn| conn.cmd("MEMORY USAGE k").int();
    conn.check(&[("SECKILL.INIT k 90000 LIMIT 0", "+OK")]);
    for user in 0..1000 {
        conn.cmd(&format!("SECKILL.GRAB k u{user} QTY 2 REQ o"));
    }
    let before = usage(&mut conn);
    for user in 0..1000 {
        assert_eq!(
            conn.cmd(&format!("SECKILL.CONFIRM k u{user} REQ o KEEP 1")).items()[2].int(),
            2
        );
    }
    assert_eq!(usage(&mut conn), before, "sold at once: nothing was trimmed");
    for user in 0..1000 {
        conn.cmd(&format!("SECKILL.REFUND k u{user} REQ o KEEP 1"));
    }
    let trimmed = usage(&mut conn);
    assert!((before + 1..before + 32_000).contains(&trimmed), "{trimmed} after {before}");
    server.assert_sound("k");
}
