//! The waiting list after restarts, on replicas, and after a failover.

use std::collections::HashSet;

use crate::support::logs::assert_same_everywhere;
use crate::support::shop::{counter, entries, number};
use crate::support::{wait_until, Conn, Server};

/// A list with offers, and a head that was passed.
fn filled(conn: &mut Conn) {
    conn.check(&[
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
    ]);
}

#[test]
fn a_list_is_the_same_everywhere() {
    assert_same_everywhere(&["k"], filled, |server| {
        assert_eq!(server.info("seckill", "seckill_waiters"), "3");
        // The head was passed once and may be passed once more.
        server.conn().check(&[
            ("SECKILL.CANCEL k ann REQ a", "['CANCELLED' 3 1 0]"),
            ("SECKILL.PLACE k bob", "['NONE']"),
            ("SECKILL.CANCEL k bob REQ b", "['CANCELLED' 4 1 0]"),
            ("SECKILL.PLACE k cy", "['WAITING' 4 1 2]"),
            ("SECKILL.GRAB k ann REQ a2 WAIT", "['WAITING' 5 2 3]"),
        ]);
    });
}

/// A step is replicated as one command, and replica and primary are equal.
#[test]
fn a_replica_that_is_promoted_between_offers_goes_on() {
    let (mut primary, replica) = (Server::start(), Server::start());
    replica.follow(&primary);
    let mut conn = primary.conn();
    filled(&mut conn);
    conn.check(&[("SECKILL.ALTER k WAITLIST 999 OFFER 400 OVERTAKE 1000", "+OK")]);
    for step in 0..300 {
        conn.cmd(&format!("SECKILL.GRAB k u{step} REQ r WAIT"));
    }
    conn.check(&[("SECKILL.RESTOCK k 150 REQ many", "[150 85]")]);
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
    replica.assert_took_all();
    replica.assert_sound("k");
}
