//! Deadlines of holds: where they are shown, and what happens when they have come.

use crate::support::shop::{counter, number};
use crate::support::{Conn, Reply, Server};

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
    assert_eq!(conn.info("seckill", "seckill_holds"), "0");
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
