//! The waiting list: what INFO counts, what the sweeper drops, and notifications.

use crate::support::shop::{counter, events, number, wait_for_no_holds};
use crate::support::{wait_until, Conn, Server};

/// A sale of one unit that `winner` has.
pub fn sold_out(server: Server, terms: &str) -> (Server, Conn) {
    let mut conn = server.conn();
    conn.check(&[
        (&format!("SECKILL.INIT k 1 LIMIT 0 {terms}"), "+OK"),
        ("SECKILL.GRAB k winner REQ w", "['GRANTED' 1 1 'HELD' T 0]"),
    ]);
    (server, conn)
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
