//! Due holds and rounds while the outbox refuses entries. No call can skip the entry that comes
//! first, and nothing is lost once the stream accepts entries again.

use crate::support::shop::{
    assert_whole, counter, entries, events, number, state_of, wait_for_clock,
};
use crate::support::{ReplicationStream, Server};

const REFUSED: &str = "-ERR outbox must be a stream that takes more entries";

/// Background expiry is off, so only calls handle due holds and rounds.
fn start() -> (Server, Server) {
    let server = Server::sleeping();
    let replica = Server::start();
    replica.follow(&server);
    (server, replica)
}

#[test]
fn a_hold_that_is_due_is_not_settled_without_its_entry() {
    let (server, replica) = start();
    let mut conn = server.conn();
    conn.check(&[
        ("SECKILL.INIT k 2 HOLD 50 LIMIT 3 OUTBOX s", "+OK"),
        ("SECKILL.GRAB k a REQ o", "['GRANTED' 1 1 'HELD' T 1]"),
        ("SECKILL.GRAB k b", "['GRANTED' 2 1 'HELD' T 0]"),
        ("RENAME s kept", "+OK"),
        ("SET s text", "+OK"),
    ]);
    let due = number(&mut conn, "k", "next_deadline") + 50;
    wait_for_clock(&mut conn, due);
    let mut stream = ReplicationStream::attach(&server);
    let digest = server.digest("k");
    for line in [
        "CONFIRM k a",
        "CONFIRM k a REQ o",
        "CONFIRM k a SEQ 1 RECLAIM",
        "CANCEL k a",
        "EXTEND k a 1000",
        // A user's own due hold expires first, or the due hold of another user whose unit is
        // needed.
        "GRAB k a REQ p",
        "GRAB k c",
        "MGRAB c 1 k",
    ] {
        assert_eq!(conn.call(&format!("SECKILL.{line}")), REFUSED, "{line}");
        assert_eq!(number(&mut conn, "k", "outbox_error"), 1, "{line}");
        assert_eq!(state_of(&mut conn, "k", "a"), "HELD", "{line}");
    }
    assert_eq!(server.digest("k"), digest);
    assert_eq!(stream.lines(&server), [""; 0]);
    conn.check(&[
        ("RENAME kept s", "+OK"),
        ("SECKILL.CONFIRM k a", "['EXPIRED' 1 1 0]"),
        ("SECKILL.CONFIRM k a SEQ 1 RECLAIM", "['SOLD' 1 1 0]"),
        ("SECKILL.CONFIRM k b", "['EXPIRED' 2 1 0]"),
    ]);
    assert_eq!(number(&mut conn, "k", "outbox_error"), 0);
    let sold = ["INIT", "GRANT", "GRANT", "ALLHELD"];
    let after = ["EXPIRE", "AVAILABLE", "RECLAIM", "ALLHELD", "EXPIRE", "AVAILABLE"];
    assert_eq!(events(&mut conn, "s"), [&sold[..], &after[..]].concat());
    assert_whole(&entries(&mut conn, "s"));
    assert_same(&server, &replica);
}

#[test]
fn a_round_that_is_over_stops_every_change_until_its_entry_is_written() {
    let (server, replica) = start();
    let mut conn = server.conn();
    conn.check(&[
        ("SECKILL.INIT k 5 LIMIT 3 HOLD 900000 EVERY 1500 OUTBOX s", "+OK"),
        ("SECKILL.GRAB k a REQ o", "['GRANTED' 1 1 'HELD' T 4]"),
        ("RENAME s kept", "+OK"),
        ("SET s text", "+OK"),
    ]);
    let round = number(&mut conn, "k", "round");
    let over = number(&mut conn, "k", "round_ends_at") + 1;
    wait_for_clock(&mut conn, over);
    let mut stream = ReplicationStream::attach(&server);
    let digest = server.digest("k");
    for line in [
        "CONFIRM k a",
        "CONFIRM k nobody",
        "CANCEL k a REQ o",
        "CANCEL k a REQ never",
        "EXTEND k a 1000",
        "REFUND k a",
        "GRAB k a REQ o",
        "GRAB k b",
        "MGRAB b 1 k",
        "RESTOCK k 1 REQ r",
        "PAUSE k",
        "RESUME k",
        "ALTER k LIMIT 3",
        "ALLOW k ADD a",
        "DENY k ADD a",
    ] {
        assert_eq!(conn.call(&format!("SECKILL.{line}")), REFUSED, "{line}");
        assert_eq!(number(&mut conn, "k", "round"), round, "{line}");
    }
    assert_eq!(server.digest("k"), digest);
    assert_eq!(stream.lines(&server), [""; 0]);
    assert_eq!(number(&mut conn, "k", "outbox_error"), 1);
    assert_eq!(counter(&mut conn, "k", "attempts"), 1, "what is an error is no attempt");
    assert_eq!(server.info("seckill", "seckill_granted"), "1");
    conn.check(&[("RENAME kept s", "+OK"), ("SECKILL.CONFIRM k a", "['SOLD' 1 1 0]")]);
    assert!(number(&mut conn, "k", "round") > round);
    assert_eq!(events(&mut conn, "s"), ["INIT", "GRANT", "ROUND", "CONFIRM"]);
    assert_same(&server, &replica);
}

#[track_caller]
fn assert_same(server: &Server, replica: &Server) {
    replica.assert_follows(server, &["k", "s"]);
    server.assert_sound("k");
}
