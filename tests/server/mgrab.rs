//! MGRAB: all of its sales grant, or none.

use crate::support::shop::{counter, entries, events, number, wait_for_clock};
use crate::support::{wait_until, Options, Server};

const CROSSED: &str = "-CROSSSLOT Keys in request don't hash to the same slot";

// Rules: 48e0 2580 fe0e
#[test]
fn all_are_granted_or_none() {
    let (server, mut conn) = Server::start().with_conn();
    conn.check(&[
        ("SECKILL.INIT x 5 LIMIT 3", "+OK"),
        ("SECKILL.INIT y 3 LIMIT 0 HOLD 900000", "+OK"),
        ("SECKILL.MGRAB a 2 x y REQ o", "['GRANTED' [1 1 'SOLD' 0 4] [1 1 'HELD' T 2]]"),
        ("SECKILL.MGRAB a 2 x y REQ o", "['REPLAY' [1 1 'SOLD' 0] [1 1 'HELD' T]]"),
        ("SECKILL.MGRAB a 2 y x REQ o", "['REPLAY' [1 1 'HELD' T] [1 1 'SOLD' 0]]"),
        ("SECKILL.MGRAB a 2 x y QTY 1 REQ o", "['REPLAY' [1 1 'SOLD' 0] [1 1 'HELD' T]]"),
        ("SECKILL.MGRAB a 2 x y QTY 1 2 REQ o", "-REQMISMATCH"),
        ("SECKILL.GRAB x a REQ o", "['REPLAY' 1 1 'SOLD' 0]"),
        ("SECKILL.GRAB x a REQ p", "['GRANTED' 2 1 'SOLD' 0 3]"),
        ("SECKILL.MGRAB a 2 x y REQ p", "-REQMISMATCH"),
        ("SECKILL.MGRAB a 2 x y QTY 2", "['REFUSED' 0 ['OVERLIMIT' 1]]"),
        ("SECKILL.MGRAB b 2 x y QTY 1 3 REQ o", "['REFUSED' 1 ['SHORT' 2]]"),
        ("SECKILL.MGRAB b 2 y x QTY 3 1 REQ o", "['REFUSED' 0 ['SHORT' 2]]"),
        ("SECKILL.MGRAB b 2 y x REQ o QTY 2 1", "['GRANTED' [2 2 'HELD' T 0] [3 1 'SOLD' 0 2]]"),
        ("SECKILL.MGRAB c 2 x y", "['REFUSED' 1 ['SOLDOUT' 3]]"),
        ("SECKILL.PAUSE x", "+OK"),
        ("SECKILL.MGRAB c 2 x y", "['REFUSED' 0 ['PAUSED']]"),
        ("SECKILL.MGRAB c 2 x none", "-NOSALE"),
        ("SECKILL.MGRAB a 1 x REQ o", "['REPLAY' [1 1 'SOLD' 0]]"),
    ]);
    assert_eq!(number(&mut conn, "x", "available"), 2);
    for (key, name, count) in [
        ("x", "granted", 3),
        ("y", "granted", 2),
        ("x", "overlimit", 1),
        ("y", "overlimit", 0),
        ("x", "short", 0),
        ("y", "short", 2),
        ("x", "soldout", 0),
        ("y", "soldout", 1),
        ("x", "paused", 1),
        ("x", "replayed", 5),
        ("y", "replayed", 3),
    ] {
        assert_eq!(counter(&mut conn, key, name), count, "{name} of {key}");
    }
    server.assert_sound("x");
    server.assert_sound("y");
}

#[test]
fn keys_of_a_cluster_share_a_slot() {
    let (server, mut conn) = Options::new().line("cluster-enabled yes").start().with_conn();
    assert_eq!(conn.call("CLUSTER ADDSLOTSRANGE 0 16383"), "+OK");
    wait_until("the cluster is up", || server.call("CLUSTER INFO").contains("cluster_state:ok"));
    conn.check(&[
        ("SECKILL.INIT {t}x 5", "+OK"),
        ("SECKILL.INIT {t}y 5", "+OK"),
        ("SECKILL.INIT {u}z 5", "+OK"),
        ("SECKILL.MGRAB a 2 {t}x {u}z", CROSSED),
        ("SECKILL.MGRAB a 2 {t}x {t}y", "['GRANTED' [1 1 'SOLD' 0 4] [1 1 'SOLD' 0 4]]"),
    ]);
    assert_eq!(number(&mut conn, "{u}z", "grants"), 0);
}

/// If one outbox refuses an entry, all sales and all other outboxes stay unchanged.
#[test]
fn an_outbox_that_refuses_keeps_all_from_changing() {
    let (server, mut conn) = Server::start().with_conn();
    conn.check(&[
        ("SECKILL.INIT x 5 LIMIT 2 OUTBOX sx", "+OK"),
        ("SECKILL.INIT y 5 LIMIT 2 OUTBOX sy", "+OK"),
        ("DEL sy", "1"),
        ("SET sy taken", "+OK"),
    ]);
    let state = || {
        let digests = ["x", "y", "sx", "sy"].map(|key| server.digest(key));
        (digests, server.info("persistence", "rdb_changes_since_last_save"))
    };
    let before = state();
    let refused = "-ERR outbox must be a stream that takes more entries";
    for keys in ["x y", "y x"] {
        assert_eq!(conn.call(&format!("SECKILL.MGRAB a 2 {keys} REQ o")), refused);
        let (digests, _) = state();
        assert_eq!(digests, before.0, "{keys}");
    }
    assert_eq!(number(&mut conn, "y", "outbox_error"), 1);
    conn.check(&[
        ("XLEN sx", "1"),
        ("DEL sy", "1"),
        ("SECKILL.MGRAB a 2 x y REQ o", "['GRANTED' [1 1 'SOLD' 0 4] [1 1 'SOLD' 0 4]]"),
    ]);
    assert_eq!(events(&mut conn, "sx"), ["INIT", "GRANT"]);
    assert_eq!(events(&mut conn, "sy"), ["GRANT"]);
    let revs: Vec<i64> = entries(&mut conn, "sx").iter().map(|one| one.number("rev")).collect();
    assert_eq!(revs, [1, 2]);
    assert_eq!(number(&mut conn, "y", "outbox_error"), 0);
}

#[test]
fn replicas_and_logs_get_all_parts() {
    let server = Options::new().line("appendonly yes").start();
    let replica = Server::start();
    let mut conn = server.conn();
    conn.check(&[
        ("SECKILL.INIT x 50 LIMIT 2 OUTBOX s", "+OK"),
        ("SECKILL.INIT y 50 HOLD 900000 OUTBOX s", "+OK"),
        ("SECKILL.INIT d 50 DRAW PACKETS 20 OUTBOX s", "+OK"),
    ]);
    replica.follow(&server);
    for user in 0..10 {
        let reply = conn.cmd(&format!("SECKILL.MGRAB u{user} 3 x y d REQ o"));
        assert_eq!(reply.items()[0].text(), "GRANTED");
    }
    replica.wait_in_sync(&server);
    let all = |server: &Server| ["x", "y", "d", "s"].map(|key| server.digest(key));
    let before = all(&server);
    assert_eq!(all(&replica), before);
    assert_eq!(conn.call("DEBUG LOADAOF"), "+OK");
    assert_eq!(all(&server), before);
    replica.assert_took_all();
}

/// MGRAB first begins the next round of a sale whose round is over.
#[test]
fn rounds_turn_before_all_is_judged() {
    let (server, mut conn) = Server::sleeping().with_conn();
    conn.check(&[
        ("SECKILL.INIT x 1 LIMIT 0 EVERY 200 OUTBOX s", "+OK"),
        ("SECKILL.INIT y 1 LIMIT 0 EVERY 200", "+OK"),
        ("SECKILL.INIT z 1000 LIMIT 0", "+OK"),
    ]);
    for _ in 0..5 {
        wait_until("a new round grants all", || {
            let reply = conn.cmd("SECKILL.MGRAB a 3 z x y").to_string();
            assert!(
                reply.starts_with("['GRANTED'") || reply.starts_with("['REFUSED' 1 ['SOLDOUT' 0")
            );
            reply.starts_with("['GRANTED'")
        });
    }
    assert_eq!(number(&mut conn, "z", "sold"), 5);
    for key in ["x", "y", "z"] {
        server.assert_sound(key);
    }
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
