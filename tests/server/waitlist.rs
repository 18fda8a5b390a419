//! The waiting list: what comes back goes to those who asked first. Whole sessions, the mistakes
//! that other shops made, and that restarts, replicas and promotions change nothing.

use std::collections::HashSet;

use crate::support::logs::rewrite;
use crate::support::payload::restore;
use crate::support::shop::{
    assert_whole, check, clock_ms, counter, entries, events, number, state_of, timeless,
    wait_for_clock, wait_for_no_holds, Entry,
};
use crate::support::{wait_until, Conn, Options, ReplicationStream, Server};

const NEEDS: &str = "-ERR WAITLIST needs OFFER or HOLD, so that offers end";

/// A server whose sweeper sleeps, so that nothing happens by itself.
fn sleeping() -> Server {
    Options::new().module_args("sweep-interval-ms 60000").start()
}

/// A sale of one unit that `winner` has.
fn sold_out(conn: &mut Conn, terms: &str) {
    check(
        conn,
        &[
            (&format!("SECKILL.INIT k 1 LIMIT 0 {terms}"), "+OK"),
            ("SECKILL.GRAB k winner REQ w", "['GRANTED' 1 1 'HELD' T 0]"),
        ],
    );
}

/// The entries behind the first so many, without their ids and epochs.
fn told(conn: &mut Conn, skipped: usize) -> Vec<String> {
    let all = entries(conn, "s");
    assert_whole(&all);
    let line = |entry: &Entry| {
        let line = entry.line();
        let (head, rest) = line.split_once("sale=k data={").expect("an entry");
        let rest = rest.split_once(",supply:").expect("numbers").1;
        format!("{} {rest}", head.trim().trim_start_matches("event="))
    };
    all[skipped..].iter().map(line).collect()
}

#[test]
fn who_asks_too_late_waits_and_is_offered_what_comes_back() {
    let server = Server::start();
    let mut conn = server.conn();
    sold_out(&mut conn, "HOLD 900000 WAITLIST 3 OFFER 600000 OUTBOX s");
    let t = clock_ms(&mut conn) + 900_000;
    check(
        &mut conn,
        &[
            ("SECKILL.GRAB k ann REQ a", "['SOLDOUT' 1]"),
            ("SECKILL.GRAB k ann REQ a WAIT", "['WAITING' 1 0 0]"),
            ("SECKILL.GRAB k ann REQ a WAIT UNTIL 0", "['WAITING' 1 0 0]"),
            ("SECKILL.GRAB k ann REQ a", "['WAITING' 1 0 0]"),
            ("SECKILL.GRAB k ann", "['WAITING' 1 0 0]"),
            (
                "SECKILL.GRAB k ann QTY 2 REQ a",
                "-REQMISMATCH request id was used with other arguments",
            ),
            (
                "SECKILL.GRAB k ann UPTO 1 REQ a",
                "-REQMISMATCH request id was used with other arguments",
            ),
            ("SECKILL.GRAB k big QTY 2 REQ b WAIT", "['SHORT' 0]"),
            (&format!("SECKILL.GRAB k bob REQ b wait until {t}"), "['WAITING' 2 1 1]"),
            ("SECKILL.GRAB k cy REQ c WAIT", "['WAITING' 3 2 2]"),
            ("SECKILL.GRAB k dan REQ d WAIT", "['BUSY']"),
            ("SECKILL.GRAB k dan REQ d", "['SOLDOUT' 1]"),
            ("SECKILL.PLACE k cy", "['WAITING' 3 2 2]"),
            ("SECKILL.PLACE k dan", "['NONE']"),
            ("SECKILL.WAITERS k 0 COUNT 2", "[2 [[1 'ann' 1 'a' T 0] [2 'bob' 1 'b' T T]]]"),
            ("SECKILL.WAITERS k 2", "[0 [[3 'cy' 1 'c' T 0]]]"),
            ("SECKILL.CONFIRM k ann REQ a", "['NOGRANT' 0 0 0]"),
            ("SECKILL.EXTEND k ann 5 REQ a", "['NOGRANT' 0 0 0]"),
            ("SECKILL.REFUND k ann REQ a", "['NOGRANT' 0 0 0]"),
            ("SECKILL.CANCEL k ann", "['NOGRANT' 0 0 0]"),
        ],
    );
    let skipped = entries(&mut conn, "s").len();
    assert_eq!(events(&mut conn, "s")[3..], ["WAIT", "WAIT", "WAIT"]);
    check(
        &mut conn,
        &[
            ("SECKILL.CANCEL k winner REQ w", "['CANCELLED' 1 1 0]"),
            ("SECKILL.GRAB k ann REQ a WAIT", "['REPLAY' 2 1 'HELD' T]"),
            ("SECKILL.CANCEL k cy REQ c", "['CANCELLED' 0 0 0]"),
            ("SECKILL.GRAB k cy REQ c WAIT", "['REPLAY' 0 0 'CANCELLED' 0]"),
            ("SECKILL.CONFIRM k ann REQ a", "['SOLD' 2 1 0]"),
            ("SECKILL.PLACE k bob", "['WAITING' 2 0 0]"),
        ],
    );
    assert_eq!(
        told(&mut conn, skipped),
        [
            "CANCEL 1,available:1,held:0,sold:0,seq:1,qty:1,state:CANCELLED,at:T,born:T} \
             user=winner req=w",
            "OFFER 1,available:0,held:1,sold:0,seq:2,qty:1,state:HELD,at:T,deadline:T,born:T,\
             ticket:1} user=ann req=a",
            "LEAVE 1,available:0,held:1,sold:0,ticket:3,qty:1,reason:cancelled} user=cy req=c",
            "CONFIRM 1,available:0,held:0,sold:1,seq:2,qty:1,state:SOLD,at:T,born:T} \
             user=ann req=a",
        ]
    );
    for (name, count) in [("waiting", 6), ("offers", 1), ("dropped", 0), ("granted", 1)] {
        assert_eq!(counter(&mut conn, "k", name), count, "{name}");
    }
    server.assert_sound("k");
}

/// What was paid elsewhere is off the list.
#[test]
fn an_import_takes_its_entry_off_the_list() {
    let server = Server::start();
    let mut conn = server.conn();
    sold_out(&mut conn, "HOLD 900000 WAITLIST 3 OUTBOX s");
    check(
        &mut conn,
        &[
            ("SECKILL.CONFIRM k winner", "['SOLD' 1 1 0]"),
            ("SECKILL.GRAB k bob REQ b WAIT UNTIL 4102444800000", "['WAITING' 1 0 0]"),
            (
                "SECKILL.IMPORT k bob 2 REQ b",
                "-REQMISMATCH request id was used with other arguments",
            ),
            ("SECKILL.IMPORT k bob 1 REQ b", "['GRANTED' 2 1 'SOLD' 0 0]"),
            ("SECKILL.PLACE k bob", "['NONE']"),
        ],
    );
    assert_eq!(
        told(&mut conn, 5),
        [
            "WAIT 1,available:0,held:0,sold:1,ticket:1,qty:1,until:T} user=bob req=b",
            "ALLHELD 1,available:0,held:0,sold:1}",
            "IMPORT 2,available:0,held:0,sold:2,seq:2,qty:1,state:SOLD,at:T,born:T} user=bob req=b",
            "LEAVE 2,available:0,held:0,sold:2,ticket:1,qty:1,until:T,reason:imported} \
             user=bob req=b",
            "SOLDOUT 2,available:0,held:0,sold:2}",
        ]
    );
    server.assert_sound("k");
}

#[test]
fn what_no_list_can_keep_is_refused() {
    let server = Server::start();
    let mut conn = server.conn();
    let syntax = "-ERR syntax error";
    let moment =
        "-ERR UNTIL must be 0 or a Unix time in milliseconds, 100000000000 to 140737488355327";
    let combined = "-ERR WAITLIST can't be combined with DRAW or EVERY";
    let offer = "-ERR OFFER must be at most 2592000000 milliseconds (30 days)";
    check(
        &mut conn,
        &[
            ("SECKILL.INIT k 1 WAITLIST 5", NEEDS),
            ("SECKILL.INIT k 1 OFFER 5", syntax),
            ("SECKILL.INIT k 1 WAITLIST 5 HOLD 5 OFFER 2592000001", offer),
            (
                "SECKILL.INIT k 1 WAITLIST 10000001 HOLD 5",
                "-ERR WAITLIST takes at most 10000000 entries",
            ),
            ("SECKILL.INIT k 9 WAITLIST 5 OFFER 5 DRAW EQUAL 3", combined),
            ("SECKILL.INIT k 9 WAITLIST 5 OFFER 5 EVERY 1000", combined),
            ("SECKILL.INIT k 1 WAITLIST 5 OFFER 5000 OVERTAKE 0", "+OK"),
            ("SECKILL.INIT k 1 OVERTAKE 0 OFFER 5000 WAITLIST 5", "+OK"),
            ("SECKILL.INIT k 1", "-SALEEXISTS a sale with other terms is at this key"),
            ("SECKILL.INIT none 1", "+OK"),
            ("SECKILL.INIT none 1 WAITLIST 0", "+OK"),
            ("SECKILL.ALTER none WAITLIST 5", NEEDS),
            ("SECKILL.ALTER none OVERTAKE 5", syntax),
            ("SECKILL.GRAB k a WAIT", syntax),
            ("SECKILL.GRAB k a REQ r UPTO 1 WAIT", syntax),
            ("SECKILL.GRAB k a REQ r UNTIL 0", syntax),
            ("SECKILL.GRAB k a REQ r WAIT WAIT", syntax),
            ("SECKILL.GRAB k a REQ r WAIT UNTIL 1795241037", moment),
            ("SECKILL.GRAB k a REQ r WAIT UNTIL 140737488355328", moment),
            ("SECKILL.PLACE k", "-ERR wrong number of arguments for 'SECKILL.PLACE' command"),
            ("SECKILL.PLACE nothing a", "-NOSALE no sale at this key"),
            ("SECKILL.WAITERS k x", "-ERR value is not an integer or out of range"),
            ("SECKILL.WAITERS k 0 COUNT 10001", "-ERR value is not an integer or out of range"),
            ("SECKILL.WAITERS none 0", "[0 []]"),
            ("SECKILL.PLACE none a", "['NONE']"),
            // Without a list WAIT says nothing.
            ("SECKILL.GRAB none a REQ r WAIT", "['GRANTED' 1 1 'SOLD' 0 0]"),
            ("SECKILL.GRAB none b REQ r WAIT", "['SOLDOUT' 0]"),
        ],
    );
    let status = conn.cmd("SECKILL.STATUS none");
    assert!(status.pairs().iter().all(|(name, _)| name != "waiting_since"), "a plain sale");
}

/// The terms of those who wait outlast the list: nobody joins, and the offers go on.
#[test]
fn a_list_that_ends_serves_those_who_wait() {
    let server = Server::start();
    let mut conn = server.conn();
    sold_out(&mut conn, "HOLD 900000 WAITLIST 5");
    check(
        &mut conn,
        &[
            ("SECKILL.GRAB k ann REQ a WAIT", "['WAITING' 1 0 0]"),
            ("SECKILL.ALTER k WAITLIST 0", "+OK"),
            ("SECKILL.ALTER k HOLD 0", NEEDS),
            ("SECKILL.GRAB k bob REQ b WAIT", "['SOLDOUT' 1]"),
            ("SECKILL.GRAB k ann REQ a WAIT", "['WAITING' 1 0 0]"),
            ("SECKILL.ALTER k HOLD 0 WAITLIST 0 OFFER 700000", "+OK"),
            ("SECKILL.CONFIRM k winner", "['SOLD' 1 1 0]"),
            ("SECKILL.REFUND k winner", "['REFUNDED' 1 1 0]"),
            ("SECKILL.GRAB k ann REQ a", "['REPLAY' 2 1 'HELD' T]"),
            ("SECKILL.ALTER k WAITLIST 5 OFFER 0", NEEDS),
            ("SECKILL.ALTER k WAITLIST 5", "+OK"),
        ],
    );
    assert_eq!(number(&mut conn, "k", "offer_ms"), 700_000, "what ALTER leaves out stays");
}

/// Bigger orders: no part of what was asked, and no head that starves.
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
            ("SECKILL.RESTOCK k 1 REQ r1", "[1 1]"),
            ("SECKILL.RESTOCK k 1 REQ r2", "[1 1]"),
            ("SECKILL.RESTOCK k 1 REQ r3", "[1 1]"),
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

// What others got wrong, each in the words of its report.

/// "An accepted and cancelled offer went back to the same person."
#[test]
fn whoever_gave_an_offer_back_is_never_offered_again() {
    let server = Server::start();
    let mut conn = server.conn();
    sold_out(&mut conn, "HOLD 900000 WAITLIST 9 OUTBOX s");
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

/// "A reservation that was never used made phantom units and sixty offers."
#[test]
fn a_unit_that_nobody_pays_is_one_offer_to_each_in_turn() {
    let server = Server::start();
    let mut conn = server.conn();
    sold_out(&mut conn, "HOLD 2000 WAITLIST 99 OFFER 200 OUTBOX s");
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
#[test]
fn no_offer_is_made_after_until_or_close() {
    let server = sleeping();
    let mut conn = server.conn();
    sold_out(&mut conn, "HOLD 900000 WAITLIST 9 OUTBOX s");
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

/// "Pending offers were counted twice."
#[test]
fn an_offer_is_counted_once() {
    let server = Server::start();
    let mut conn = server.conn();
    sold_out(&mut conn, "HOLD 900000 WAITLIST 9");
    check(
        &mut conn,
        &[
            ("SECKILL.GRAB k ann REQ a WAIT", "['WAITING' 1 0 0]"),
            ("SECKILL.GRAB k bob REQ b WAIT", "['WAITING' 2 1 1]"),
            ("SECKILL.CANCEL k winner", "['CANCELLED' 1 1 0]"),
        ],
    );
    let numbers = |conn: &mut Conn| {
        ["supply", "available", "held", "sold", "waiting", "waiting_units", "offered"]
            .map(|field| number(conn, "k", field))
    };
    assert_eq!(numbers(&mut conn), [1, 0, 1, 0, 1, 1, 1]);
    assert_eq!(conn.call("SECKILL.CONFIRM k ann"), "['SOLD' 2 1 0]");
    assert_eq!(numbers(&mut conn), [1, 0, 0, 1, 1, 1, 0]);
    assert_eq!(server.info("seckill", "seckill_waiters"), "1");
    assert_eq!(server.info("seckill", "seckill_offers"), "1");
    server.assert_sound("k");
}

/// "Expired entries were counted as waiting."
#[test]
fn entries_whose_time_is_over_are_dropped_by_the_sweeper() {
    let server = Server::start();
    let mut conn = server.conn();
    sold_out(&mut conn, "HOLD 900000 WAITLIST 9 OUTBOX s");
    let soon = clock_ms(&mut conn) + 1500;
    for step in 0..3 {
        let line = format!("SECKILL.GRAB k u{step} REQ r WAIT UNTIL {soon}");
        assert_eq!(conn.call(&line), format!("['WAITING' {} {step} {step}]", step + 1));
    }
    assert_eq!(conn.call("SECKILL.GRAB k last REQ r WAIT"), "['WAITING' 4 3 3]");
    wait_until("the sweeper drops them", || number(&mut conn, "k", "waiting") == 1);
    assert!(clock_ms(&mut conn) >= soon);
    assert_eq!(conn.call("SECKILL.PLACE k last"), "['WAITING' 4 0 0]");
    assert_eq!(counter(&mut conn, "k", "dropped"), 3);
    assert_eq!(conn.call("SECKILL.GRAB k u0 REQ r WAIT"), "['WAITING' 5 1 1]", "judged anew");
    let said = events(&mut conn, "s");
    assert_eq!(said.iter().filter(|event| *event == "DROPPED").count(), 3);
}

/// "Nothing was sent though people waited, and no reason was shown."
#[test]
fn every_end_is_told_with_its_reason() {
    let server = Server::start();
    let mut conn = server.conn();
    check(
        &mut conn,
        &[
            ("SECKILL.INIT k 2 LIMIT 2 HOLD 900000 WAITLIST 9 OUTBOX s", "+OK"),
            ("SECKILL.GRAB k w QTY 2 REQ w", "['GRANTED' 1 2 'HELD' T 0]"),
            ("SECKILL.GRAB k ann QTY 2 REQ a WAIT", "['WAITING' 1 0 0]"),
            ("SECKILL.GRAB k bob REQ b WAIT", "['WAITING' 2 1 2]"),
            ("SECKILL.GRAB k cy REQ c WAIT", "['WAITING' 3 2 3]"),
            ("SECKILL.GRAB k dan REQ d WAIT", "['WAITING' 4 3 4]"),
            ("SECKILL.ALTER k LIMIT 1", "+OK"),
            ("SECKILL.DENY k ADD bob", "1"),
        ],
    );
    let skipped = entries(&mut conn, "s").len();
    assert_eq!(conn.call("SECKILL.CANCEL k w"), "['CANCELLED' 1 2 0]");
    let said = told(&mut conn, skipped);
    let expected = [
        "CANCEL 2,available:2,held:0,sold:0,seq:1",
        "DROPPED 2,available:2,held:0,sold:0,ticket:1,qty:2,reason:limit} user=ann req=a",
        "DROPPED 2,available:2,held:0,sold:0,ticket:2,qty:1,reason:denied} user=bob req=b",
        "OFFER 2,available:1,held:1,sold:0,seq:2",
        "OFFER 2,available:0,held:2,sold:0,seq:3",
    ];
    assert_eq!(said.len(), expected.len(), "{said:?}");
    for (line, expected) in said.iter().zip(expected) {
        assert!(line.starts_with(expected), "{line} should begin with {expected}");
    }
}

/// With MASK nobody learns why they may not wait.
#[test]
fn admission_is_judged_at_joining() {
    let server = Server::start();
    let mut conn = server.conn();
    sold_out(&mut conn, "HOLD 900000 WAITLIST 9 MASK");
    check(
        &mut conn,
        &[
            ("SECKILL.DENY k ADD eve", "1"),
            ("SECKILL.GRAB k eve REQ e", "['SOLDOUT' 1]"),
            ("SECKILL.GRAB k eve REQ e WAIT", "['BUSY']"),
            ("SECKILL.ALTER k MASK OFF", "+OK"),
            ("SECKILL.GRAB k eve REQ e WAIT", "['DENIED']"),
        ],
    );
    assert_eq!(counter(&mut conn, "k", "denied"), 3);
}

/// No offers while the sale is paused or not open; then the sweeper makes them.
#[test]
fn offers_wait_for_resume_and_for_the_opening() {
    let server = Server::start();
    let mut conn = server.conn();
    sold_out(&mut conn, "HOLD 900000 WAITLIST 9");
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
    assert_eq!(conn.call("SECKILL.RESTOCK k 300 REQ r"), "[300 300]");
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

/// A list with offers under way and somebody passed.
fn filled(conn: &mut Conn) {
    check(
        conn,
        &[
            ("SECKILL.INIT k 4 LIMIT 0 HOLD 900000 WAITLIST 99 OVERTAKE 2 OUTBOX s", "+OK"),
            ("SECKILL.GRAB k w QTY 3 REQ w", "['GRANTED' 1 3 'HELD' T 1]"),
            ("SECKILL.GRAB k v REQ v", "['GRANTED' 2 1 'HELD' T 0]"),
            ("SECKILL.GRAB k big QTY 2 REQ b WAIT", "['WAITING' 1 0 0]"),
            ("SECKILL.GRAB k ann REQ a WAIT UNTIL 4102444800000", "['WAITING' 2 1 2]"),
            ("SECKILL.GRAB k bob REQ b WAIT", "['WAITING' 3 2 3]"),
            ("SECKILL.GRAB k cy REQ c WAIT", "['WAITING' 4 3 4]"),
            ("SECKILL.CANCEL k v", "['CANCELLED' 2 1 0]"),
            ("SECKILL.CANCEL k nobody REQ x", "['CANCELLED' 0 0 0]"),
            ("SECKILL.PLACE k ann", "['NONE']"),
        ],
    );
}

/// What tells two lists apart, beside the digest.
fn picture(server: &Server) -> (String, Vec<String>, String, String) {
    let waiters = server.call("SECKILL.WAITERS k 0");
    let offered = server.cmd("SECKILL.STATUS k").field("offered").to_string();
    (server.digest("k"), server.picture("k"), waiters, offered)
}

#[test]
fn a_list_survives_every_way_of_saving() {
    for preamble in ["yes", "no"] {
        let preamble = format!("aof-use-rdb-preamble {preamble}");
        let mut server = Options::new().line("appendonly yes").line(&preamble).start();
        let mut conn = server.conn();
        filled(&mut conn);
        let before = picture(&server);
        assert_eq!(server.call("DEBUG LOADAOF"), "+OK");
        assert_eq!(picture(&server), before, "from the log as it was written");
        rewrite(&server);
        assert_eq!(server.call("DEBUG LOADAOF"), "+OK");
        assert_eq!(picture(&server), before, "from a rewritten log");
        assert_eq!(server.call("DEBUG RELOAD"), "+OK");
        assert_eq!(picture(&server), before, "from a snapshot");
        let payload = server.cmd("DUMP k").bytes().to_vec();
        assert_eq!(server.call("DEL k"), "1");
        assert_eq!(server.info("seckill", "seckill_waiters"), "0");
        let restored = server.conn().pipeline(&[restore("k", &payload)]).expect("a reply");
        assert_eq!(restored[0].to_string(), "+OK");
        assert_eq!(picture(&server), before, "from a payload");
        server.stop(false);
        server.start_again();
        let mut conn = server.conn();
        assert_eq!(picture(&server), before, "after a restart");
        assert_eq!(server.info("seckill", "seckill_waiters"), "3");
        // The head was passed once and may be once more.
        check(
            &mut conn,
            &[
                ("SECKILL.CANCEL k ann REQ a", "['CANCELLED' 3 1 0]"),
                ("SECKILL.PLACE k bob", "['NONE']"),
                ("SECKILL.CANCEL k bob REQ b", "['CANCELLED' 4 1 0]"),
                ("SECKILL.PLACE k cy", "['WAITING' 4 1 2]"),
                ("SECKILL.GRAB k ann REQ a2 WAIT", "['WAITING' 5 2 3]"),
            ],
        );
        assert_eq!(server.info("seckill", "seckill_apply_refused"), "0");
        server.assert_sound("k");
    }
}

/// What is replicated of a step is one command, and the replica is its primary's equal.
#[test]
fn a_replica_that_is_promoted_between_offers_goes_on() {
    let (mut primary, replica) = (Server::start(), Server::start());
    replica.follow(&primary);
    let mut conn = primary.conn();
    filled(&mut conn);
    for step in 0..300 {
        conn.cmd(&format!("SECKILL.GRAB k u{step} REQ r WAIT"));
    }
    check(&mut conn, &[("SECKILL.ALTER k WAITLIST 999 OFFER 400 OVERTAKE 1000", "+OK")]);
    for step in 0..300 {
        conn.cmd(&format!("SECKILL.GRAB k u{step} REQ r WAIT"));
    }
    check(&mut conn, &[("SECKILL.RESTOCK k 150 REQ many", "[150 150]")]);
    replica.wait_in_sync(&primary);
    primary.kill9();
    assert_eq!(replica.call("REPLICAOF NO ONE"), "+OK");
    let mut far = replica.conn();
    wait_until("everybody was offered, and nobody has paid", || {
        number(&mut far, "k", "waiting") == 0 && number(&mut far, "k", "offered") == 1
    });
    let offers = counter(&mut far, "k", "offers");
    assert_eq!(counter(&mut far, "k", "expired"), offers - 1, "ann still has hers");
    let all = entries(&mut far, "s");
    let offered = all.iter().filter(|entry| entry.text("event") == "OFFER");
    let tickets: HashSet<i64> = offered.map(|entry| entry.number("ticket")).collect();
    assert_eq!(tickets.len() as i64, offers, "nobody was offered twice");
    assert_eq!(replica.info("seckill", "seckill_apply_refused"), "0");
    assert_eq!(replica.info("seckill", "seckill_outbox_refused"), "0");
    replica.assert_sound("k");
}

/// A failover that lost the tail: who has paid is imported, and is on the list no more.
#[test]
fn who_has_paid_on_a_lost_primary_is_imported() {
    let (mut primary, replica) = (Server::start(), Server::start());
    replica.follow(&primary);
    let mut conn = primary.conn();
    filled(&mut conn);
    replica.wait_in_sync(&primary);
    assert_eq!(replica.call("REPLICAOF NO ONE"), "+OK");
    check(
        &mut conn,
        &[
            ("SECKILL.CANCEL k w", "['CANCELLED' 1 3 0]"),
            ("SECKILL.CONFIRM k big REQ b", "['SOLD' 4 2 0]"),
        ],
    );
    primary.kill9();
    let mut far = replica.conn();
    check(
        &mut far,
        &[
            ("SECKILL.PLACE k big", "['WAITING' 1 0 0]"),
            ("SECKILL.IMPORT k big 2 REQ b", "['GRANTED' 4 2 'SOLD' 0 0]"),
            ("SECKILL.PLACE k big", "['NONE']"),
            ("SECKILL.PLACE k bob", "['WAITING' 3 0 0]"),
            // What comes back pays for what was imported, and then goes to who waits.
            ("SECKILL.CANCEL k w", "['CANCELLED' 1 3 0]"),
            ("SECKILL.PLACE k bob", "['NONE']"),
        ],
    );
    assert_eq!(number(&mut far, "k", "deficit"), 0);
    replica.assert_sound("k");
}

/// A late payment is served before the list, from what collects for a head too.
#[test]
fn paid_money_comes_first() {
    let server = sleeping();
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

#[test]
fn each_transition_has_its_notification() {
    let server = Server::start();
    assert_eq!(server.call("CONFIG SET notify-keyspace-events Ed"), "+OK");
    let (mut listener, mut conn) = (server.conn(), server.conn());
    listener.cmd("PSUBSCRIBE __keyevent@0__:seckill.*");
    sold_out(&mut conn, "HOLD 900000 WAITLIST 9");
    let soon = clock_ms(&mut conn) + 1500;
    check(
        &mut conn,
        &[
            (&format!("SECKILL.GRAB k ann REQ a WAIT UNTIL {soon}"), "['WAITING' 1 0 0]"),
            ("SECKILL.GRAB k bob REQ b WAIT", "['WAITING' 2 1 1]"),
            ("SECKILL.GRAB k cy REQ c WAIT", "['WAITING' 3 2 2]"),
            ("SECKILL.CANCEL k bob REQ b", "['CANCELLED' 0 0 0]"),
        ],
    );
    wait_until("ann is dropped", || conn.call("SECKILL.PLACE k ann") == "['NONE']");
    assert_eq!(conn.call("SECKILL.CANCEL k winner"), "['CANCELLED' 1 1 0]");
    let expected =
        ["init", "grant", "allheld", "wait", "wait", "wait", "leave", "dropped", "cancel", "offer"];
    for name in expected {
        let message = listener.read().expect("a notification");
        assert_eq!(message.items()[2].text(), format!("__keyevent@0__:seckill.{name}"));
    }
    wait_until("nothing is left behind", || number(&mut conn, "k", "waiting") == 0);
    assert_eq!(conn.call("SECKILL.CANCEL k cy REQ c"), "['CANCELLED' 2 1 0]");
    wait_for_no_holds(&server, "k");
}
