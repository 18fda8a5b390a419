//! The waiting list: joining, leaving and other ends, their replies, and the terms.

use crate::support::shop::{
    assert_whole, counter, entries, events, number, wait_for_no_holds, Entry,
};
use crate::support::{wait_until, Conn, Server};

const NEEDS: &str = "-ERR WAITLIST needs OFFER or HOLD, so that offers end";

/// A sale of one unit that `winner` has.
pub fn sold_out(server: Server, terms: &str) -> (Server, Conn) {
    let mut conn = server.conn();
    conn.check(&[
        (&format!("SECKILL.INIT k 1 LIMIT 0 {terms}"), "+OK"),
        ("SECKILL.GRAB k winner REQ w", "['GRANTED' 1 1 'HELD' T 0]"),
    ]);
    (server, conn)
}

/// The entries after the first `skipped`, without their ids and epochs.
pub fn told(conn: &mut Conn, skipped: usize) -> Vec<String> {
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

// Rules: 82e5 090a 6907 148f d803 f52e d4d0 cf53 3308 e197 8309 16a6
#[test]
fn who_asks_too_late_waits_and_is_offered_what_comes_back() {
    let (server, mut conn) =
        sold_out(Server::start(), "HOLD 900000 WAITLIST 3 OFFER 600000 OUTBOX s");
    let t = conn.clock_ms() + 900_000;
    conn.check(&[
        ("SECKILL.GRAB k ann REQ a", "['SOLDOUT' 1]"),
        ("SECKILL.GRAB k ann REQ a WAIT", "['WAITING' 1 0 0]"),
        ("SECKILL.GRAB k ann REQ a WAIT UNTIL 0", "['WAITING' 1 0 0]"),
        ("SECKILL.GRAB k ann REQ a", "['WAITING' 1 0 0]"),
        ("SECKILL.GRAB k ann", "['WAITING' 1 0 0]"),
        ("SECKILL.GRAB k ann QTY 2 REQ a", "-REQMISMATCH"),
        ("SECKILL.GRAB k ann UPTO 1 REQ a", "-REQMISMATCH"),
        ("SECKILL.GRAB k big QTY 2 REQ b WAIT", "['SHORT' 0]"),
        (&format!("SECKILL.GRAB k bob REQ b wait until {t}"), "['WAITING' 2 1 1]"),
        ("SECKILL.GRAB k cy REQ c WAIT", "['WAITING' 3 2 2]"),
        ("SECKILL.GRAB k dan REQ d WAIT", "['BUSY']"),
        ("SECKILL.GRAB k dan REQ d", "['SOLDOUT' 1]"),
        ("SECKILL.PLACE k cy", "['WAITING' 3 2 2]"),
        ("SECKILL.PLACE k dan", "['NONE']"),
        ("SECKILL.WAITERS k 0 COUNT 2", "[2 [[1 'ann' 1 'a' T 0] [2 'bob' 1 'b' T T]]]"),
        ("SECKILL.WAITERS k 1 COUNT 1", "[2 [[2 'bob' 1 'b' T T]]]"),
        ("SECKILL.WAITERS k 2", "[0 [[3 'cy' 1 'c' T 0]]]"),
        ("SECKILL.WAITERS k 4", "[0 []]"),
        ("SECKILL.CONFIRM k ann REQ a", "['NOGRANT' 0 0 0]"),
        ("SECKILL.EXTEND k ann 5 REQ a", "['NOGRANT' 0 0 0]"),
        ("SECKILL.REFUND k ann REQ a", "['NOGRANT' 0 0 0]"),
        ("SECKILL.CANCEL k ann", "['NOGRANT' 0 0 0]"),
    ]);
    let skipped = entries(&mut conn, "s").len();
    assert_eq!(events(&mut conn, "s")[3..], ["WAIT", "WAIT", "WAIT"]);
    conn.check(&[
        ("SECKILL.CANCEL k winner REQ w", "['CANCELLED' 1 1 0]"),
        ("SECKILL.GRAB k ann REQ a WAIT", "['REPLAY' 2 1 'HELD' T]"),
        ("SECKILL.CANCEL k cy REQ c", "['CANCELLED' 0 0 0]"),
        ("SECKILL.GRAB k cy REQ c WAIT", "['REPLAY' 0 0 'CANCELLED' 0]"),
        ("SECKILL.CONFIRM k ann REQ a", "['SOLD' 2 1 0]"),
        ("SECKILL.PLACE k bob", "['WAITING' 2 0 0]"),
    ]);
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

/// IMPORT of a grant removes the entry with its REQ from the waiting list.
#[test]
fn an_import_takes_its_entry_off_the_list() {
    let (server, mut conn) = sold_out(Server::start(), "HOLD 900000 WAITLIST 3 OUTBOX s");
    conn.check(&[
        ("SECKILL.CONFIRM k winner", "['SOLD' 1 1 0]"),
        ("SECKILL.GRAB k bob REQ b WAIT UNTIL 4102444800000", "['WAITING' 1 0 0]"),
        ("SECKILL.IMPORT k bob 2 REQ b", "-REQMISMATCH"),
        ("SECKILL.IMPORT k bob 1 REQ b", "['GRANTED' 2 1 'SOLD' 0 0]"),
        ("SECKILL.PLACE k bob", "['NONE']"),
    ]);
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

// Rules: 82e5 6907
#[test]
fn without_a_list_wait_says_nothing() {
    let (_server, mut conn) = Server::start().with_conn();
    conn.check(&[
        ("SECKILL.INIT k 1 WAITLIST 5 OFFER 5000 OVERTAKE 0", "+OK"),
        ("SECKILL.INIT k 1 OVERTAKE 0 OFFER 5000 WAITLIST 5", "+OK"),
        ("SECKILL.INIT k 1", "-SALEEXISTS"),
        ("SECKILL.INIT none 1", "+OK"),
        ("SECKILL.INIT none 1 WAITLIST 0", "+OK"),
        ("SECKILL.WAITERS none 0", "[0 []]"),
        ("SECKILL.PLACE none a", "['NONE']"),
        ("SECKILL.GRAB none a REQ r WAIT", "['GRANTED' 1 1 'SOLD' 0 0]"),
        ("SECKILL.GRAB none b REQ r WAIT", "['SOLDOUT' 0]"),
    ]);
    let status = conn.cmd("SECKILL.STATUS none");
    assert!(status.pairs().iter().all(|(name, _)| name != "waiting_since"), "a plain sale");
}

/// Waiters keep their terms when the list is closed: no user can join, and offers continue.
// Rules: 090a
#[test]
fn a_list_that_ends_serves_those_who_wait() {
    let (_server, mut conn) = sold_out(Server::start(), "HOLD 900000 WAITLIST 5");
    conn.check(&[
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
    ]);
    assert_eq!(number(&mut conn, "k", "offer_ms"), 700_000, "what ALTER leaves out stays");
}

/// "Pending offers were counted twice."
#[test]
fn an_offer_is_counted_once() {
    let (server, mut conn) = sold_out(Server::start(), "HOLD 900000 WAITLIST 9");
    conn.check(&[
        ("SECKILL.GRAB k ann REQ a WAIT", "['WAITING' 1 0 0]"),
        ("SECKILL.GRAB k bob REQ b WAIT", "['WAITING' 2 1 1]"),
        ("SECKILL.CANCEL k winner", "['CANCELLED' 1 1 0]"),
    ]);
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
    assert_eq!(conn.call("DEL k"), "1");
    assert_eq!(server.info("seckill", "seckill_waiters"), "0");
}

/// "Expired entries were counted as waiting."
// Rules: 8ccc
#[test]
fn entries_whose_time_is_over_are_dropped_by_the_sweeper() {
    let (server, mut conn) = sold_out(Server::start(), "HOLD 900000 WAITLIST 9 OUTBOX s");
    let soon = conn.clock_ms() + 1500;
    for step in 0..3 {
        let line = format!("SECKILL.GRAB k u{step} REQ r WAIT UNTIL {soon}");
        assert_eq!(conn.call(&line), format!("['WAITING' {} {step} {step}]", step + 1));
    }
    assert_eq!(conn.call("SECKILL.GRAB k last REQ r WAIT"), "['WAITING' 4 3 3]");
    wait_until("the sweeper drops them", || number(&mut conn, "k", "waiting") == 1);
    assert!(conn.clock_ms() >= soon);
    assert_eq!(conn.call("SECKILL.PLACE k last"), "['WAITING' 4 0 0]");
    assert_eq!(counter(&mut conn, "k", "dropped"), 3);
    assert_eq!(server.info("seckill", "seckill_dropped"), "3");
    assert_eq!(conn.call("SECKILL.GRAB k u0 REQ r WAIT"), "['WAITING' 5 1 1]", "judged anew");
    let said = events(&mut conn, "s");
    assert_eq!(said.iter().filter(|event| *event == "DROPPED").count(), 3);
    // Entries that are dropped in a later step are counted once, too.
    let line = format!("SECKILL.GRAB k late REQ r WAIT UNTIL {}", conn.clock_ms() + 100);
    assert_eq!(conn.call(&line), "['WAITING' 6 2 2]");
    wait_until("it is dropped", || number(&mut conn, "k", "waiting") == 2);
    assert_eq!(server.info("seckill", "seckill_dropped"), "4");
}

/// "Nothing was sent though people waited, and no reason was shown."
#[test]
fn every_end_is_told_with_its_reason() {
    let (_server, mut conn) = Server::start().with_conn();
    conn.check(&[
        ("SECKILL.INIT k 2 LIMIT 2 HOLD 900000 WAITLIST 9 OUTBOX s", "+OK"),
        ("SECKILL.GRAB k w QTY 2 REQ w", "['GRANTED' 1 2 'HELD' T 0]"),
        ("SECKILL.GRAB k ann QTY 2 REQ a WAIT", "['WAITING' 1 0 0]"),
        ("SECKILL.GRAB k bob REQ b WAIT", "['WAITING' 2 1 2]"),
        ("SECKILL.GRAB k cy REQ c WAIT", "['WAITING' 3 2 3]"),
        ("SECKILL.GRAB k dan REQ d WAIT", "['WAITING' 4 3 4]"),
        ("SECKILL.ALTER k LIMIT 1", "+OK"),
        ("SECKILL.DENY k ADD bob", "1"),
    ]);
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

#[test]
fn each_transition_has_its_notification() {
    let server = Server::start();
    assert_eq!(server.call("CONFIG SET notify-keyspace-events Ed"), "+OK");
    let mut listener = server.conn();
    listener.cmd("PSUBSCRIBE __keyevent@0__:seckill.*");
    let (server, mut conn) = sold_out(server, "HOLD 900000 WAITLIST 9");
    let soon = conn.clock_ms() + 1500;
    conn.check(&[
        (&format!("SECKILL.GRAB k ann REQ a WAIT UNTIL {soon}"), "['WAITING' 1 0 0]"),
        ("SECKILL.GRAB k bob REQ b WAIT", "['WAITING' 2 1 1]"),
        ("SECKILL.GRAB k cy REQ c WAIT", "['WAITING' 3 2 2]"),
        ("SECKILL.CANCEL k bob REQ b", "['CANCELLED' 0 0 0]"),
    ]);
    wait_until("ann is dropped", || number(&mut conn, "k", "waiting") == 1);
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
