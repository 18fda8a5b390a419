//! MGRAB: all of its sales grant, or none.

use super::cluster;
use crate::support::shop::{counter, number, wait_for_clock};
use crate::support::Server;

const CROSSED: &str = "-CROSSSLOT Keys in request don't hash to the same slot";

#[test]
fn keys_of_a_cluster_share_a_slot() {
    let (_server, mut conn) = cluster::start();
    conn.check(&[
        ("SECKILL.INIT {t}x 5", "+OK"),
        ("SECKILL.INIT {t}y 5", "+OK"),
        ("SECKILL.INIT {u}z 5", "+OK"),
        ("SECKILL.MGRAB a 2 {t}x {u}z", CROSSED),
        ("SECKILL.MGRAB a 2 {t}x {t}y", "['GRANTED' [1 1 'SOLD' 0 4] [1 1 'SOLD' 0 4]]"),
    ]);
    assert_eq!(number(&mut conn, "{u}z", "grants"), 0);
}

/// STATUS and INFO count the answers of MGRAB. Only the refusing sale counts the refusal; sales
/// before it count nothing.
#[test]
fn a_refused_part_counts_alone() {
    let (server, mut conn) = Server::start().with_conn();
    conn.check(&[
        ("SECKILL.INIT a 5 LIMIT 2", "+OK"),
        ("SECKILL.INIT b 0", "+OK"),
        ("SECKILL.INIT c 5 OUTBOX s", "+OK"),
        ("SECKILL.MGRAB u 3 a b c", "['REFUSED' 1 ['SOLDOUT' 0]]"),
    ]);
    let mut counted = |expected: [i64; 3], granted: &str| {
        let attempts = ["a", "b", "c"].map(|key| counter(&mut conn, key, "attempts"));
        assert_eq!(attempts, expected);
        assert_eq!(server.info("seckill", "seckill_granted"), granted);
        assert_eq!(server.info("seckill", "seckill_soldout"), "1");
    };
    counted([0, 1, 0], "0");
    server
        .conn()
        .check(&[("SECKILL.MGRAB u 2 a c", "['GRANTED' [1 1 'SOLD' 0 4] [1 1 'SOLD' 0 4]]")]);
    counted([1, 1, 1], "2");
    let refused = "-ERR outbox must be a stream that takes more entries";
    server.conn().check(&[
        ("DEL s", "1"),
        ("SET s text", "+OK"),
        ("SECKILL.MGRAB v 2 a c", refused),
        ("SECKILL.MGRAB v 2 a none", "-NOSALE"),
    ]);
    counted([1, 1, 1], "2");
}

/// An MGRAB that first begins a round is decided twice but counted once.
#[test]
fn a_round_that_begins_first_counts_nothing() {
    let (server, mut conn) = Server::sleeping().with_conn();
    conn.check(&[
        ("SECKILL.INIT e 0", "+OK"),
        ("SECKILL.INIT x 9 LIMIT 0", "+OK"),
        ("SECKILL.INIT y 10 EVERY 300 LIMIT 0", "+OK"),
    ]);
    for (number_of_calls, call) in (1..).zip(["e y", "y e", "e y", "y e"]) {
        let over = number(&mut conn, "y", "round_ends_at") + 1;
        wait_for_clock(&mut conn, over);
        let refused = ["['REFUSED' 0 ['SOLDOUT' 0]]", "['REFUSED' 1 ['SOLDOUT' 0]]"];
        let expected = refused[usize::from(call == "y e")];
        assert_eq!(conn.call(&format!("SECKILL.MGRAB u 2 {call}")), expected);
        assert_eq!(counter(&mut conn, "e", "attempts"), number_of_calls);
        assert_eq!(counter(&mut conn, "y", "attempts"), 0);
        assert_eq!(server.info("seckill", "seckill_soldout"), number_of_calls.to_string());
    }
    let over = number(&mut conn, "y", "round_ends_at") + 1;
    wait_for_clock(&mut conn, over);
    conn.check(&[("SECKILL.MGRAB u 2 x y", "['GRANTED' [1 1 'SOLD' 0 8] [1 1 'SOLD' 0 9]]")]);
    assert_eq!(["x", "y"].map(|key| counter(&mut conn, key, "attempts")), [1, 1]);
    assert_eq!(server.info("seckill", "seckill_granted"), "2");
}

#[test]
fn who_watches_any_of_the_sales_is_signalled() {
    let server = Server::start();
    let (mut conn, mut watcher) = (server.conn(), server.conn());
    for key in ["a", "b"] {
        assert_eq!(conn.call(&format!("SECKILL.INIT {key} 10 LIMIT 0")), "+OK");
    }
    for key in ["a", "b"] {
        let watch = format!("WATCH {key}");
        watcher.check(&[(watch.as_str(), "+OK"), ("MULTI", "+OK"), ("PING", "+QUEUED")]);
        assert!(!conn.cmd("SECKILL.MGRAB ann 2 a b").is_error());
        assert_eq!(watcher.call("EXEC"), "nil", "{key}");
    }
}
