//! A replica or an AOF that starts under load misses no change.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::support::shop::{assert_whole, entries, number, wait_for_no_holds};
use crate::support::{logs, wait_until, Options, Random, Server};

const INIT: &str = "SECKILL.INIT k 1000000 HOLD 80 LIMIT 0 OUTBOX s";

/// Grabs and settles until `stopped`, also in transactions and scripts.
fn load(server: &Server, stopped: &AtomicBool, number: u64) {
    let (mut conn, mut random) = (server.conn(), Random(number));
    while !stopped.load(Ordering::SeqCst) {
        let user = random.below(500);
        match random.below(6) {
            0 => _ = conn.cmd(&format!("SECKILL.CANCEL k u{user} REQ {}", random.below(9))),
            1 => _ = conn.cmd(&format!("SECKILL.CONFIRM k u{user} REQ {}", random.below(9))),
            2 => {
                conn.cmd("MULTI");
                conn.cmd(&format!("SECKILL.GRAB k m{user}"));
                conn.cmd(&format!("SECKILL.GRAB k n{user} QTY 2"));
                assert!(!conn.cmd("EXEC").is_error());
            }
            3 => {
                let script = "return redis.call('SECKILL.GRAB', KEYS[1], ARGV[1])";
                conn.ask(&["EVAL", script, "1", "k", &format!("e{user}")]);
            }
            _ => _ = conn.cmd(&format!("SECKILL.GRAB k u{user} REQ {}", random.below(9))),
        }
    }
}

/// Runs `body` under load, with load for some time before and after it.
fn amid_load(server: &Server, body: impl FnOnce()) {
    let stopped = AtomicBool::new(false);
    thread::scope(|scope| {
        for number in 0..4 {
            let stopped = &stopped;
            scope.spawn(move || load(server, stopped, number));
        }
        let grants = || number(&mut server.conn(), "k", "grants");
        let busy = |from: i64| wait_until("clients are busy", || grants() > from + 200);
        busy(grants());
        body();
        busy(grants());
        stopped.store(true, Ordering::SeqCst);
    });
    wait_for_no_holds(server, "k");
}

#[test]
fn a_replica_that_comes_in_the_middle_misses_nothing() {
    for diskless in ["yes", "no"] {
        let server = Options::new().line(&format!("repl-diskless-sync {diskless}")).start();
        assert_eq!(server.call(INIT), "+OK");
        let (first, second) = (Server::start(), Server::start());
        amid_load(&server, || first.follow(&server));
        first.assert_follows(&server, &["k", "s"]);
        // The replica disconnects for some time and gets the missing commands later.
        assert_eq!(first.call("REPLICAOF NO ONE"), "+OK");
        amid_load(&server, || second.follow(&server));
        second.assert_follows(&server, &["k", "s"]);
        first.follow(&server);
        first.assert_follows(&server, &["k", "s"]);
        assert_whole(&entries(&mut server.conn(), "s"));
    }
}

#[test]
fn a_log_that_is_switched_on_misses_nothing() {
    let mut server = Options::new().line("appendfsync always").start();
    assert_eq!(server.call(INIT), "+OK");
    for round in 0..2 {
        amid_load(&server, || {
            assert_eq!(server.call("CONFIG SET appendonly yes"), "+OK");
            logs::wait_for_rewrite(&server);
        });
        let before = (server.digest("k"), server.digest("s"), server.picture("k"));
        server.kill9();
        server.add_line("appendonly yes");
        server.start_again();
        assert_eq!((server.digest("k"), server.digest("s"), server.picture("k")), before);
        if round == 0 {
            assert_eq!(server.call("CONFIG SET appendonly no"), "+OK");
            amid_load(&server, || ());
        }
    }
}

/// The AOF is enabled between two changes of one transaction.
#[test]
fn a_log_that_is_switched_on_in_a_transaction_is_whole() {
    let (mut server, mut conn) = Options::new().line("appendfsync always").start().with_conn();
    conn.check(&[
        ("SECKILL.INIT k 9 LIMIT 0 OUTBOX s", "+OK"),
        ("MULTI", "+OK"),
        ("SECKILL.GRAB k a", "+QUEUED"),
        ("CONFIG SET appendonly yes", "+QUEUED"),
        ("SECKILL.GRAB k b", "+QUEUED"),
        ("EXEC", "[['GRANTED' 1 1 'SOLD' 0 8] +OK ['GRANTED' 2 1 'SOLD' 0 7]]"),
        ("SECKILL.GRAB k c", "['GRANTED' 3 1 'SOLD' 0 6]"),
    ]);
    // The child may not have started yet, so the absence of a child proves nothing.
    wait_until("the log is complete", || {
        logs::is_whole(&server) && server.info("persistence", "aof_base_size") != "0"
    });
    conn.check(&[("SECKILL.GRAB k d", "['GRANTED' 4 1 'SOLD' 0 5]")]);
    let before = (server.digest("k"), server.digest("s"));
    server.kill9();
    server.add_line("appendonly yes");
    server.start_again();
    assert_eq!((server.digest("k"), server.digest("s")), before);
    assert_eq!(server.info("seckill", "seckill_apply_refused"), "0");
}

/// `save` by number of changes works without a replica and an AOF.
#[test]
fn changes_are_counted_where_nobody_joins() {
    let (server, mut conn) = Server::start().with_conn();
    let dirty = || {
        let text = server.info("persistence", "rdb_changes_since_last_save");
        text.parse::<u64>().expect("a number")
    };
    conn.check(&[("SECKILL.INIT k 9 HOLD 900000 LIMIT 0 OUTBOX s", "+OK")]);
    // A repeated EXTEND would count from a later time, so it is repeated with an earlier deadline.
    for (line, again) in [
        ("SECKILL.GRAB k a REQ o", "SECKILL.GRAB k a REQ o"),
        ("SECKILL.EXTEND k a 950000", "SECKILL.EXTEND k a 900000"),
        ("SECKILL.CONFIRM k a", "SECKILL.CONFIRM k a"),
        ("SECKILL.REFUND k a", "SECKILL.REFUND k a"),
        ("SECKILL.CANCEL k b REQ o", "SECKILL.CANCEL k b REQ o"),
        ("SECKILL.IMPORT k c 1 REQ o", "SECKILL.IMPORT k c 1 REQ o"),
        ("SECKILL.PAUSE k", "SECKILL.PAUSE k"),
    ] {
        let before = dirty();
        assert!(!conn.cmd(line).is_error(), "{line}");
        assert!(dirty() > before, "{line} is a change");
        let before = dirty();
        assert!(!conn.cmd(again).is_error(), "{again}");
        assert_eq!(dirty(), before, "{again} again is none");
    }
    conn.check(&[("SECKILL.RESUME k", "+OK"), ("SECKILL.ALTER k HOLD 30", "+OK")]);
    let before = dirty();
    conn.cmd("SECKILL.GRAB k d");
    wait_until("it runs out", || server.info("seckill", "seckill_holds") == "0");
    assert!(dirty() > before + 1, "the grab is a change, and the expiry is one");
    let saving = Options::new().line("save 1 5").start();
    let mut conn = saving.conn();
    conn.check(&[("SECKILL.INIT k 99 LIMIT 0", "+OK")]);
    let saved = conn.cmd("LASTSAVE").int();
    for step in 0..20 {
        conn.cmd(&format!("SECKILL.GRAB k u{step}"));
    }
    wait_until("a snapshot is made", || {
        saving.cmd("LASTSAVE").int() > saved
            || saving.info("persistence", "rdb_changes_since_last_save") == "0"
    });
}
