//! The waiting list and time: offers and entries end, and background expiry continues. Tests of the
//! domain check the order of waiters.

use std::time::{Duration, Instant};

use super::waitlist::sold_out;
use crate::support::shop::{assert_whole, counter, entries, number, state_of};
use crate::support::valgrind::slowed;
use crate::support::{wait_until, ReplicationStream, Server};

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

/// No offers while the sale is paused or not open; background expiry makes them later.
#[test]
fn offers_wait_for_resume_and_for_the_opening() {
    let (_server, mut conn) = sold_out(Server::start(), "HOLD 900000 WAITLIST 9");
    conn.check(&[
        ("SECKILL.GRAB k ann REQ a WAIT", "['WAITING' 1 0 0]"),
        ("SECKILL.GRAB k bob REQ b WAIT", "['WAITING' 2 1 1]"),
        ("SECKILL.PAUSE k", "+OK"),
        ("SECKILL.CANCEL k winner", "['CANCELLED' 1 1 0]"),
        ("SECKILL.PLACE k ann", "['WAITING' 1 0 0]"),
        ("SECKILL.GRAB k cy REQ c WAIT", "['PAUSED']"),
        ("SECKILL.RESUME k", "+OK"),
    ]);
    wait_until("the sweeper offers it", || conn.call("SECKILL.PLACE k ann") == "['NONE']");
    let opens = conn.clock_ms() + 2000;
    assert_eq!(conn.call(&format!("SECKILL.ALTER k OPENAT {opens}")), "+OK");
    assert_eq!(conn.call("SECKILL.CANCEL k ann REQ a"), "['CANCELLED' 2 1 0]");
    assert_eq!(conn.call("SECKILL.PLACE k bob"), "['WAITING' 2 0 0]");
    wait_until("the opening", || conn.call("SECKILL.PLACE k bob") == "['NONE']");
    let row = conn.cmd("SECKILL.USER k bob").items()[2].items()[0].clone();
    assert!(row.items()[4].int() >= opens, "offered at the opening");
}

/// After RESUME offers come at once, not after the interval of background expiry, which is a minute
/// here.
#[test]
fn what_waits_for_resume_is_offered_at_once() {
    let (_server, mut conn) = sold_out(Server::sleeping(), "HOLD 900000 WAITLIST 9");
    conn.check(&[
        ("SECKILL.GRAB k ann REQ a WAIT", "['WAITING' 1 0 0]"),
        ("SECKILL.PAUSE k", "+OK"),
        ("SECKILL.CANCEL k winner", "['CANCELLED' 1 1 0]"),
        ("SECKILL.RESUME k", "+OK"),
    ]);
    let resumed = Instant::now();
    wait_until("the sweeper offers it", || number(&mut conn, "k", "offered") == 1);
    let most = Duration::from_millis(u64::from(slowed(2000)));
    assert!(resumed.elapsed() < most, "after {:?}", resumed.elapsed());
}

/// After a restart nobody calls, and the opening still makes the offer that waited for it.
#[test]
fn a_restart_makes_the_offers_that_are_due() {
    let (mut server, mut conn) = sold_out(Server::start(), "HOLD 900000 WAITLIST 9");
    let opens = conn.clock_ms() + i64::from(slowed(1500));
    let alter = format!("SECKILL.ALTER k OPENAT {opens}");
    conn.check(&[
        ("SECKILL.GRAB k ann REQ a WAIT", "['WAITING' 1 0 0]"),
        (alter.as_str(), "+OK"),
        ("SECKILL.CANCEL k winner", "['CANCELLED' 1 1 0]"),
        ("SECKILL.PLACE k ann", "['WAITING' 1 0 0]"),
    ]);
    server.stop(true);
    server.start_again();
    let mut conn = server.conn();
    wait_until("the opening", || conn.call("SECKILL.PLACE k ann") == "['NONE']");
    assert_eq!(number(&mut conn, "k", "offered"), 1);
}

/// More units come back than one step offers: the next steps offer the others, in order.
#[test]
fn a_mass_return_is_offered_in_batches() {
    let (server, mut conn) = Server::start().with_conn();
    conn.check(&[("SECKILL.INIT k 0 LIMIT 0 WAITLIST 9999 OFFER 900000 OUTBOX s", "+OK")]);
    assert_eq!(conn.call("SECKILL.RESTOCK k 1 REQ first"), "[1 1]");
    assert_eq!(conn.cmd("SECKILL.GRAB k w").timeless(), "['GRANTED' 1 1 'SOLD' 0 0]");
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
