//! Rewrites the AOF in both forms while clients grab.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use seckill_model::rebuild;

use super::persistence::fill;
use crate::support::logs::{rewrite, rewritten_applies};
use crate::support::{Options, Reply, Server};

fn start(preamble: &str) -> Server {
    let preamble = format!("aof-use-rdb-preamble {preamble}");
    Options::new().line("appendonly yes").line("appendfsync everysec").line(&preamble).start()
}

/// Rewrites the AOF several times while clients grab. Afterwards the AOF alone gives an equal sale.
fn rewrite_under_load(preamble: &str) {
    let mut server = start(preamble);
    fill(&server, "k", 2500);
    assert_eq!(server.call("SECKILL.RESUME k"), "+OK");
    assert_eq!(server.call("SECKILL.INIT empty 0 LIMIT 3"), "+OK");
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for number in 0..4 {
            let (mut conn, done) = (server.conn(), &done);
            scope.spawn(move || {
                for step in 0.. {
                    if done.load(Ordering::Relaxed) {
                        break;
                    }
                    let user = format!("load-{number}-{step}");
                    let reply = conn.cmd(&format!("SECKILL.GRAB k {user} QTY 2 REQ {user}"));
                    assert_eq!(reply.items()[0].text(), "GRANTED");
                }
            });
        }
        rewrite(&server);
        rewrite(&server);
        done.store(true, Ordering::Relaxed);
    });
    let picture =
        |server: &Server| ["k", "empty"].map(|key| (server.digest(key), server.picture(key)));
    let before = picture(&server);
    let winners = server.cmd("SECKILL.STATUS k").field("winners").int();
    assert!(winners > 2000, "{winners}");
    for _ in 0..2 {
        assert_eq!(server.call("DEBUG LOADAOF"), "+OK");
        assert_eq!(picture(&server), before);
    }
    server.stop(false);
    server.start_again();
    assert_eq!(picture(&server), before);
    assert_eq!(server.info("seckill", "seckill_apply_refused"), "0");
    server.assert_sound("k");
}

#[test]
fn with_a_snapshot_in_front() {
    rewrite_under_load("yes");
}

#[test]
fn as_commands_alone() {
    rewrite_under_load("no");
}

/// A rewritten AOF has fences: a GRAB that comes after its CANCEL is refused after a restart, too.
#[test]
fn a_rewritten_log_keeps_fences() {
    for preamble in ["yes", "no"] {
        let (mut server, mut conn) = start(preamble).with_conn();
        assert_eq!(conn.call("SECKILL.INIT k 5 LIMIT 2"), "+OK");
        for number in 0..600 {
            let cancel = format!("SECKILL.CANCEL k u{} REQ o{number}", number % 7);
            assert_eq!(conn.call(&cancel), "['CANCELLED' 0 0 0]");
        }
        let before = server.digest("k");
        rewrite(&server);
        if preamble == "no" {
            let effects = rewritten_applies(&server);
            let letters = effects.iter().map(|apply| rebuild::letter_of(apply.items()[3].bytes()));
            assert_eq!(letters.collect::<String>(), "BJJJ", "a base and fences, 256 in a piece");
        }
        server.stop(false);
        server.start_again();
        assert_eq!(server.digest("k"), before);
        let mut conn = server.conn();
        for number in [0, 255, 256, 599] {
            let grab = format!("SECKILL.GRAB k u{} REQ o{number}", number % 7);
            assert_eq!(conn.call(&grab), "['REPLAY' 0 0 'CANCELLED' 0]", "{grab}");
        }
        assert_eq!(conn.call("SECKILL.GRAB k u1 REQ o0"), "['GRANTED' 1 1 'SOLD' 0 4]");
        assert_eq!(server.info("seckill", "seckill_apply_refused"), "0");
    }
}

/// A rewritten sale is a base and pieces of limited size, so no command of the AOF is huge.
#[test]
fn a_rewritten_log_has_bounded_commands() {
    const PIECE_BYTES_MAX: usize = 128 * 1024;
    let server = start("no");
    fill(&server, "k", 6001);
    rewrite(&server);
    let piece = |apply: &Reply| {
        assert_eq!(apply.items().len(), 4);
        let effect = apply.items()[3].bytes();
        assert!(effect.len() <= PIECE_BYTES_MAX, "a piece of {} bytes", effect.len());
        rebuild::letter_of(effect)
    };
    let pieces: String = rewritten_applies(&server).iter().map(piece).collect();
    assert_eq!(pieces, "BKLLLLLLL", "a base, restock ids, and rows, 1,000 in a piece");
}
