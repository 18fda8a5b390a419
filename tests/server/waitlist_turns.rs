//! The waiting list: whose turn it is. What comes back goes to those who asked first, each in turn,
//! and whoever was served is not served again.

use super::waitlist::{sold_out, told};
use crate::support::shop::{
    assert_whole, check, clock_ms, counter, entries, events, number, state_of, timeless,
    wait_for_clock,
};
use crate::support::{wait_until, ReplicationStream, Server};

/// Bigger orders: no part of what was asked, and no head that starves.
// Rules: e4f3
#[test]
fn a_head_is_passed_so_often_and_then_units_collect_for_it() {
    let server = Server::start();
    let mut conn = server.conn();
    check(
        &mut conn,
        &[
            ("SECKILL.INIT k 4 LIMIT 0 WAITLIST 99 OFFER 900000 OVERTAKE 2 OUTBOX s", "+OK"),
            ("SECKILL.GRAB k w QTY 4 REQ w", "['GRANTED' 1 4 'SOLD' 0 0]"),
            // Three of the four can't come back by themselves: they block nobody.
            ("SECKILL.GRAB k big QTY 3 REQ b WAIT", "['WAITING' 1 0 0]"),
            ("SECKILL.GRAB k ann REQ a WAIT", "['WAITING' 2 1 3]"),
            ("SECKILL.GRAB k bob REQ b WAIT", "['WAITING' 3 2 4]"),
            ("SECKILL.GRAB k cy REQ c WAIT", "['WAITING' 4 3 5]"),
            ("SECKILL.RESTOCK k 1 REQ r1", "[1 0]"),
            ("SECKILL.RESTOCK k 1 REQ r2", "[1 0]"),
            ("SECKILL.RESTOCK k 1 REQ r3", "[1 0]"),
            ("SECKILL.WAITERS k 0", "[0 [[1 'big' 3 'b' T 0]]]"),
            // With the third it is the head, and was passed once. It waits for one of three.
            ("SECKILL.GRAB k dan REQ d WAIT", "['WAITING' 5 1 3]"),
            ("SECKILL.GRAB k eve REQ e WAIT", "['WAITING' 6 2 4]"),
            ("SECKILL.GRAB k fay REQ f WAIT", "['WAITING' 7 3 5]"),
            ("SECKILL.CANCEL k ann REQ a", "['CANCELLED' 2 1 0]"),
            ("SECKILL.PLACE k eve", "['WAITING' 6 1 3]"),
            ("SECKILL.CANCEL k bob REQ b", "['CANCELLED' 3 1 0]"),
            ("SECKILL.PLACE k eve", "['WAITING' 6 1 3]"),
            ("SECKILL.CANCEL k cy REQ c", "['CANCELLED' 4 1 0]"),
            ("SECKILL.PLACE k eve", "['WAITING' 6 1 3]"),
            ("SECKILL.GRAB k gus REQ g", "['SOLDOUT' 1]"),
            ("SECKILL.GRAB k gus UPTO 5 REQ g", "['SOLDOUT' 1]"),
            ("SECKILL.CANCEL k dan REQ d", "['CANCELLED' 5 1 0]"),
            ("SECKILL.GRAB k big QTY 3 REQ b", "['REPLAY' 6 3 'HELD' T]"),
            ("SECKILL.PLACE k fay", "['WAITING' 7 1 1]"),
        ],
    );
    let skipped = entries(&mut conn, "s").len() - 2;
    assert_eq!(
        told(&mut conn, skipped),
        [
            "CANCEL 7,available:3,held:0,sold:4,seq:5,qty:1,state:CANCELLED,at:T,born:T} \
             user=dan req=d",
            "OFFER 7,available:0,held:3,sold:4,seq:6,qty:3,state:HELD,at:T,deadline:T,born:T,\
             ticket:1} user=big req=b",
        ]
    );
    server.assert_sound("k");
}

/// "Quantities were never solved because of the head of the line." See also
/// `a_head_is_passed_so_often_and_then_units_collect_for_it`.
#[test]
fn the_head_blocks_nobody_for_what_can_not_come_back() {
    let server = Server::start();
    let mut conn = server.conn();
    check(
        &mut conn,
        &[
            ("SECKILL.INIT k 5 LIMIT 0 HOLD 900000 WAITLIST 9 OVERTAKE 0", "+OK"),
            ("SECKILL.GRAB k w QTY 4 REQ w", "['GRANTED' 1 4 'HELD' T 1]"),
            ("SECKILL.GRAB k v REQ v", "['GRANTED' 2 1 'HELD' T 0]"),
            ("SECKILL.GRAB k big QTY 5 REQ b WAIT", "['WAITING' 1 0 0]"),
            ("SECKILL.GRAB k ann REQ a WAIT", "['WAITING' 2 1 5]"),
            ("SECKILL.CANCEL k v", "['CANCELLED' 2 1 0]"),
            ("SECKILL.PLACE k ann", "['WAITING' 2 1 5]"),
            // Four are paid: five can't come back, and the one goes to who is next.
            ("SECKILL.CONFIRM k w", "['SOLD' 1 4 0]"),
            ("SECKILL.GRAB k ann REQ a", "['REPLAY' 3 1 'HELD' T]"),
        ],
    );
}

/// A grab is judged as an entry behind all that wait; so is an MGRAB.
#[test]
fn nobody_jumps_the_list() {
    let server = Server::start();
    let mut conn = server.conn();
    check(
        &mut conn,
        &[
            ("SECKILL.INIT {s}k 3 LIMIT 0 WAITLIST 9 OFFER 900000 OVERTAKE 1", "+OK"),
            ("SECKILL.INIT {s}l 9", "+OK"),
            ("SECKILL.GRAB {s}k w QTY 3 REQ w", "['GRANTED' 1 3 'SOLD' 0 0]"),
            ("SECKILL.RESTOCK {s}k 2 REQ r", "[2 2]"),
            ("SECKILL.GRAB {s}k h QTY 1 REQ h", "['GRANTED' 2 1 'SOLD' 0 1]"),
            ("SECKILL.GRAB {s}k big QTY 2 REQ b WAIT", "['WAITING' 1 0 0]"),
            // Two are not there and can't come back: nobody is held up by it.
            ("SECKILL.MGRAB x 2 {s}l {s}k REQ x", "['GRANTED' [1 1 'SOLD' 0 8] [3 1 'SOLD' 0 0]]"),
            ("SECKILL.MGRAB big 2 {s}l {s}k REQ m", "['REFUSED' 1 ['WAITING' 1 0 0]]"),
            (
                "SECKILL.MGRAB big 2 {s}l {s}k REQ b",
                "-REQMISMATCH request id was used with other arguments",
            ),
            ("SECKILL.MGRAB y 2 {s}l {s}k REQ y", "['REFUSED' 1 ['SOLDOUT' 1]]"),
            ("SECKILL.GRAB {s}k y REQ y", "['SOLDOUT' 1]"),
        ],
    );
    let status = conn.cmd("SECKILL.STATUS {s}k");
    for (field, value) in [("state", "'allheld'"), ("waiting", "1"), ("waiting_units", "2")] {
        assert_eq!(status.field(field).to_string(), value, "{field}");
    }
    assert_eq!(status.field("offered").int(), 0);
}

/// "An accepted and cancelled offer went back to the same person."
#[test]
fn whoever_gave_an_offer_back_is_never_offered_again() {
    let (_server, mut conn) = sold_out(Server::start(), "HOLD 900000 WAITLIST 9 OUTBOX s");
    check(
        &mut conn,
        &[
            ("SECKILL.GRAB k ann REQ a WAIT", "['WAITING' 1 0 0]"),
            ("SECKILL.CANCEL k winner", "['CANCELLED' 1 1 0]"),
            ("SECKILL.CANCEL k ann REQ a", "['CANCELLED' 2 1 0]"),
            ("SECKILL.PLACE k ann", "['NONE']"),
            ("SECKILL.GRAB k ann REQ a WAIT", "['REPLAY' 2 1 'CANCELLED' 0]"),
            // Paid and refunded is as final; a new request is a new place.
            ("SECKILL.GRAB k winner REQ w2", "['GRANTED' 3 1 'HELD' T 0]"),
            ("SECKILL.GRAB k ann REQ a2 WAIT", "['WAITING' 2 0 0]"),
            ("SECKILL.CANCEL k winner REQ w2", "['CANCELLED' 3 1 0]"),
            ("SECKILL.CONFIRM k ann REQ a2", "['SOLD' 4 1 0]"),
            ("SECKILL.REFUND k ann REQ a2", "['REFUNDED' 4 1 0]"),
            ("SECKILL.PLACE k ann", "['NONE']"),
        ],
    );
    let offers = events(&mut conn, "s").iter().filter(|event| *event == "OFFER").count();
    assert_eq!((offers, number(&mut conn, "k", "available")), (2, 1));
}

/// "A reservation that was never used made phantom units and sixty offers."
#[test]
fn a_unit_that_nobody_pays_is_one_offer_to_each_in_turn() {
    let (server, mut conn) = sold_out(Server::start(), "HOLD 2000 WAITLIST 99 OFFER 200 OUTBOX s");
    for step in 0..5 {
        let joined = conn.call(&format!("SECKILL.GRAB k u{step} REQ r WAIT"));
        assert!(joined.starts_with("['WAITING'"), "{joined}");
    }
    wait_until("all were offered and none has paid", || counter(&mut conn, "k", "expired") == 6);
    wait_until("the last transition", || number(&mut conn, "k", "available") == 1);
    for step in 0..5 {
        assert_eq!(state_of(&mut conn, "k", &format!("u{step}")), "EXPIRED");
    }
    assert_eq!(counter(&mut conn, "k", "offers"), 5);
    assert_eq!((number(&mut conn, "k", "supply"), number(&mut conn, "k", "waiting")), (1, 0));
    server.assert_sound("k");
}

/// "Offers after the last day of payment."
// Rules: 8ccc
#[test]
fn no_offer_is_made_after_until_or_close() {
    let (_server, mut conn) = sold_out(Server::sleeping(), "HOLD 900000 WAITLIST 9 OUTBOX s");
    let soon = clock_ms(&mut conn) + 1500;
    check(
        &mut conn,
        &[
            (&format!("SECKILL.GRAB k ann REQ a WAIT UNTIL {soon}"), "['WAITING' 1 0 0]"),
            ("SECKILL.GRAB k bob REQ b WAIT", "['WAITING' 2 1 1]"),
            ("SECKILL.GRAB k cy REQ c WAIT", "['WAITING' 3 2 2]"),
        ],
    );
    let skipped = entries(&mut conn, "s").len();
    wait_for_clock(&mut conn, soon);
    check(
        &mut conn,
        &[
            ("SECKILL.CANCEL k winner", "['CANCELLED' 1 1 0]"),
            ("SECKILL.PLACE k bob", "['NONE']"),
            ("SECKILL.PLACE k cy", "['WAITING' 3 0 0]"),
        ],
    );
    let close_at = clock_ms(&mut conn) + 1000;
    assert_eq!(conn.call(&format!("SECKILL.ALTER k CLOSEAT {close_at}")), "+OK");
    wait_for_clock(&mut conn, close_at);
    assert_eq!(conn.call("SECKILL.GRAB k cy REQ c WAIT"), "['CLOSED']");
    assert_eq!(conn.call("SECKILL.CANCEL k bob REQ b"), "['CANCELLED' 2 1 0]");
    let said = told(&mut conn, skipped);
    let event = |line: &String| line.split(' ').next().unwrap_or_default().to_owned();
    let said_events: Vec<String> = said.iter().map(event).collect();
    assert_eq!(
        said_events,
        ["CANCEL", "DROPPED", "OFFER", "ALTER", "CANCEL", "DROPPED", "AVAILABLE"]
    );
    assert!(said[1].contains("ticket:1,qty:1,until:T,reason:until} user=ann req=a"), "{said:?}");
    assert!(said[5].contains("ticket:3,qty:1,reason:closed} user=cy req=c"), "{said:?}");
}

/// No offers while the sale is paused or not open; then the sweeper makes them.
#[test]
fn offers_wait_for_resume_and_for_the_opening() {
    let (_server, mut conn) = sold_out(Server::start(), "HOLD 900000 WAITLIST 9");
    check(
        &mut conn,
        &[
            ("SECKILL.GRAB k ann REQ a WAIT", "['WAITING' 1 0 0]"),
            ("SECKILL.GRAB k bob REQ b WAIT", "['WAITING' 2 1 1]"),
            ("SECKILL.PAUSE k", "+OK"),
            ("SECKILL.CANCEL k winner", "['CANCELLED' 1 1 0]"),
            ("SECKILL.PLACE k ann", "['WAITING' 1 0 0]"),
            ("SECKILL.GRAB k cy REQ c WAIT", "['PAUSED']"),
            ("SECKILL.RESUME k", "+OK"),
        ],
    );
    wait_until("the sweeper offers it", || conn.call("SECKILL.PLACE k ann") == "['NONE']");
    let opens = clock_ms(&mut conn) + 2000;
    assert_eq!(conn.call(&format!("SECKILL.ALTER k OPENAT {opens}")), "+OK");
    assert_eq!(conn.call("SECKILL.CANCEL k ann REQ a"), "['CANCELLED' 2 1 0]");
    assert_eq!(conn.call("SECKILL.PLACE k bob"), "['WAITING' 2 0 0]");
    wait_until("the opening", || conn.call("SECKILL.PLACE k bob") == "['NONE']");
    let row = conn.cmd("SECKILL.USER k bob").items()[2].items()[0].clone();
    assert!(row.items()[4].int() >= opens, "offered at the opening");
}

/// Once the sale goes on nobody waits for the sweeper's interval, which is a minute here.
#[test]
fn what_waits_for_resume_is_offered_at_once() {
    let (_server, mut conn) = sold_out(Server::sleeping(), "HOLD 900000 WAITLIST 9");
    check(
        &mut conn,
        &[
            ("SECKILL.GRAB k ann REQ a WAIT", "['WAITING' 1 0 0]"),
            ("SECKILL.PAUSE k", "+OK"),
            ("SECKILL.CANCEL k winner", "['CANCELLED' 1 1 0]"),
            ("SECKILL.RESUME k", "+OK"),
        ],
    );
    wait_until("the sweeper offers it", || number(&mut conn, "k", "offered") == 1);
}

/// More units than one step offers: the sweeper goes on, in order.
#[test]
fn a_mass_return_is_offered_in_batches() {
    let server = Server::start();
    let mut conn = server.conn();
    check(&mut conn, &[("SECKILL.INIT k 0 LIMIT 0 WAITLIST 9999 OFFER 900000 OUTBOX s", "+OK")]);
    assert_eq!(conn.call("SECKILL.RESTOCK k 1 REQ first"), "[1 1]");
    assert_eq!(timeless(&conn.cmd("SECKILL.GRAB k w")), "['GRANTED' 1 1 'SOLD' 0 0]");
    for step in 0..500 {
        conn.cmd(&format!("SECKILL.GRAB k u{step} REQ r WAIT"));
    }
    let mut stream = ReplicationStream::attach(&server);
    assert_eq!(conn.call("SECKILL.RESTOCK k 300 REQ r"), "[300 236]");
    wait_until("300 are offered", || number(&mut conn, "k", "offered") == 300);
    assert_eq!((number(&mut conn, "k", "available"), number(&mut conn, "k", "waiting")), (0, 200));
    let commands = stream.taken(&server);
    let effects: Vec<usize> = commands.iter().map(|command| command.len() - 3).collect();
    assert_eq!(effects, [65, 64, 64, 64, 44], "a command for each step");
    for step in [0, 1, 299] {
        let row = conn.cmd(&format!("SECKILL.USER k u{step}")).items()[2].items()[0].clone();
        assert_eq!(row.items()[0].int(), step + 2, "in order");
    }
    assert_eq!(conn.call("SECKILL.PLACE k u300"), "['WAITING' 301 0 0]");
    let all = entries(&mut conn, "s");
    assert_whole(&all);
    server.assert_sound("k");
}

/// A late payment is served before the list, from what collects for a head too.
#[test]
fn paid_money_comes_first() {
    let server = Server::sleeping();
    let mut conn = server.conn();
    check(
        &mut conn,
        &[
            ("SECKILL.INIT k 2 LIMIT 0 HOLD 1500 WAITLIST 9 OFFER 900000 OVERTAKE 0", "+OK"),
            ("SECKILL.GRAB k late REQ l", "['GRANTED' 1 1 'HELD' T 1]"),
            ("SECKILL.GRAB k w REQ w", "['GRANTED' 2 1 'HELD' T 0]"),
            ("SECKILL.EXTEND k w 900000", "['HELD' 2 1 T]"),
            ("SECKILL.GRAB k big QTY 2 REQ b WAIT", "['WAITING' 1 0 0]"),
        ],
    );
    let due = conn.cmd("SECKILL.USER k late").items()[2].items()[0].items()[5].int();
    wait_for_clock(&mut conn, due);
    check(
        &mut conn,
        &[
            ("SECKILL.GRAB k x REQ x", "['SOLDOUT' 2]"),
            ("SECKILL.CONFIRM k late REQ l RECLAIM", "['SOLD' 1 1 0]"),
            ("SECKILL.PLACE k big", "['WAITING' 1 0 0]"),
        ],
    );
    server.assert_sound("k");
}
