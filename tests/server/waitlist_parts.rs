//! The waiting list of a part: each part has its own list and keeps its units for it.

use crate::support::logs::assert_survives;
use crate::support::shop::{assert_whole, entries, events, number};
use crate::support::valgrind::slowed;
use crate::support::{wait_until, Conn, Options, Server};

/// Two parts of two units. Dave and erin belong to part 0, alice, carol and frank to part 1.
fn two_parts(server: &Server) -> Conn {
    let mut conn = server.conn();
    for part in [0, 1] {
        let line = format!(
            "SECKILL.INIT p{part} 2 LIMIT 0 HOLD 900000 WAITLIST 9 OVERTAKE 0 OUTBOX s{part} \
             PART {part} OF 2 SPLIT s TOTAL 4"
        );
        assert_eq!(conn.call(&line), "+OK");
    }
    conn
}

/// In part 0 one of two units is reserved for erin, who asks for two.
fn one_collects(conn: &mut Conn) {
    conn.check(&[
        ("SECKILL.GRAB p0 dave REQ d", "['GRANTED' 1 1 'HELD' T 1]"),
        ("SECKILL.GRAB p0 erin QTY 2 REQ e WAIT", "['WAITING' 1 0 0]"),
    ]);
}

/// While anybody waits SEND moves no units out, and RECEIVE makes offers.
#[test]
fn what_comes_from_another_part_is_offered_and_what_is_there_stays() {
    let server = Options::new().line("appendonly yes").start();
    let replica = Server::start();
    replica.follow(&server);
    let mut conn = two_parts(&server);
    one_collects(&mut conn);
    conn.check(&[
        // Units reserved for a head go to no other user and to no other part.
        ("SECKILL.GRAB p0 dave REQ d2", "['SOLDOUT' 3]"),
        ("SECKILL.SEND p0 s 1 1", "[0 1]"),
        ("SECKILL.SEND p1 s 0 1", "[1 1]"),
        ("SECKILL.RECEIVE p0 s 1 1", "[1 0]"),
        ("SECKILL.PLACE p0 erin", "['NONE']"),
        ("SECKILL.RECEIVE p0 s 1 1", "[1 0]"),
        ("SECKILL.GRAB p0 erin QTY 2 REQ e", "['REPLAY' 2 2 'HELD' T]"),
        ("SECKILL.CANCEL p0 dave REQ d", "['CANCELLED' 1 1 0]"),
        ("SECKILL.SEND p0 s 1 1", "[1 0]"),
        ("SECKILL.CONFIRM p0 erin REQ e", "['SOLD' 2 2 0]"),
    ]);
    let expected = "INIT GRANT WAIT ALLHELD RECEIVE OFFER CANCEL AVAILABLE SEND ALLHELD CONFIRM";
    assert_eq!(events(&mut conn, "s0").join(" "), expected);
    assert_whole(&entries(&mut conn, "s0"));
    replica.assert_follows(&server, &["p0", "p1"]);
    for key in ["p0", "p1"] {
        server.assert_sound(key);
    }
    assert_survives(&server, |server| {
        (server.digest("p0"), server.call("SECKILL.WAITERS p0 0"), server.digest("p1"))
    });
}

/// On a promoted replica background expiry offers units that came while the primary was alive. Its
/// sale opens later, so the primary has made no offer.
#[test]
fn a_promoted_part_makes_the_offers_that_are_left() {
    let (mut primary, replica) = (Server::start(), Server::start());
    replica.follow(&primary);
    let mut conn = two_parts(&primary);
    one_collects(&mut conn);
    let opens = conn.clock_ms() + i64::from(slowed(1500));
    let alter = format!("SECKILL.ALTER p0 OPENAT {opens}");
    conn.check(&[
        (alter.as_str(), "+OK"),
        ("SECKILL.RECEIVE p0 s 1 1", "[1 2]"),
        ("SECKILL.PLACE p0 erin", "['WAITING' 1 0 0]"),
    ]);
    replica.wait_in_sync(&primary);
    primary.kill9();
    assert_eq!(replica.call("REPLICAOF NO ONE"), "+OK");
    let mut far = replica.conn();
    assert_eq!(far.call("SECKILL.PLACE p0 erin"), "['WAITING' 1 0 0]", "the offer is left");
    wait_until("erin is offered both", || far.call("SECKILL.PLACE p0 erin") == "['NONE']");
    assert_eq!(number(&mut far, "p0", "offered"), 1);
    assert_eq!(far.call("SECKILL.SEND p0 s 1 1"), "[0 0]");
    replica.assert_sound("p0");
}
