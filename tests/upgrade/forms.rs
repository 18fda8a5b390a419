//! A newer, made-up form: the older module refuses it with an error and loads none of it, and
//! `seckill.effects-version` makes newer modules not write it.

use seckill_harness::assortment::{buy, fill, state};
use seckill_harness::shop::number;
use seckill_harness::{skip, wait_until, Server};

use crate::{Version, HELD_BACK, NEWEST};

const PAGE: &str = include_str!("../../docs/loading.md");
const NOT_LOADED: &str = "a sale was not loaded: its data is altered, or of a newer version";

/// Whether the newer module has a form that the older one lacks; otherwise nothing can be tested.
fn has_newer_form() -> bool {
    let is_so = std::env::var_os("SECKILL_MADE_UP").is_some();
    if !is_so {
        skip("the newer module writes the same forms as the older one");
    }
    is_so
}

fn refused(replica: &Server) -> u64 {
    replica.info("seckill", "seckill_apply_refused").parse().expect("a number")
}

#[test]
#[ignore = "needs two modules: make upgrade-test"]
fn an_older_replica_refuses_a_newer_form_aloud_and_is_mended_by_a_resync() {
    if !has_newer_form() {
        return;
    }
    let (primary, mut replica) = (Version::Newer.start(HELD_BACK), Version::Older.start(""));
    fill(&primary);
    replica.follow(&primary);
    assert_eq!(refused(&replica), 0);
    let before = state(&replica);
    assert_eq!(primary.call("CONFIG SET seckill.effects-version 0"), "+OK");
    buy(&primary, "newer");
    wait_until("the replica refuses", || refused(&replica) > 0);
    replica.wait_in_sync(&primary);
    // The refused effect changed nothing: the sales are sound and unchanged.
    assert_eq!(state(&replica), before);
    replica.wait_for_log("SECKILL.APPLY refused");
    // With the older form and after a full resync, the replica follows again.
    assert_eq!(primary.call("CONFIG SET seckill.effects-version 1"), "+OK");
    replica.stop(false);
    replica.start_again();
    replica.follow(&primary);
    buy(&primary, "older");
    replica.wait_in_sync(&primary);
    assert_eq!(state(&replica), state(&primary));
    replica.assert_took_all();
}

/// The setting changes during the sale: from then on AOF, RDB file and replication have the older
/// form.
#[test]
#[ignore = "needs two modules: make upgrade-test"]
fn files_with_a_newer_form_are_refused_whole_until_it_is_held_back() {
    if !has_newer_form() {
        return;
    }
    for line in ["appendonly no", "appendonly yes\naof-use-rdb-preamble no"] {
        let is_log = line.starts_with("appendonly yes");
        let mut server = Version::Newer.options(NEWEST).line(line).start();
        fill(&server);
        server.stop(!is_log);
        server.set_module_file(&Version::Older.file());
        let log = match server.try_start_again() {
            Err(log) => log,
            // The commands of an AOF are refused one by one and counted: no sale is there.
            Ok(()) => {
                assert!(is_log, "a snapshot of a newer form was loaded");
                assert!(refused(&server) > 0);
                assert_eq!(
                    server.call("SECKILL.STATUS plain"),
                    "-NOSALE no sale at this key (the key is the first argument)"
                );
                server.log()
            }
        };
        assert!(is_log || log.contains(NOT_LOADED), "{log}");
        assert!(!log.contains("BUG REPORT"), "{log}");
        if !server.has_ended() {
            server.stop(false);
        }
        // The newer module reads all of it, and writes the older form.
        server.set_module_file(&Version::Newer.file());
        server.start_again();
        let before = state(&server);
        assert_eq!(server.call("CONFIG SET seckill.effects-version 1"), "+OK");
        if is_log {
            assert!(!server.cmd("BGREWRITEAOF").is_error());
            let idle = || server.info("persistence", "aof_rewrite_in_progress") == "0";
            wait_until("the log is rewritten", idle);
        }
        server.stop(!is_log);
        server.set_module_file(&Version::Older.file());
        server.start_again();
        assert_eq!(state(&server), before);
        server.assert_took_all();
    }
    assert!(PAGE.contains(NOT_LOADED));
}

#[test]
#[ignore = "needs two modules: make upgrade-test"]
fn a_payload_of_a_newer_form_is_an_error() {
    if !has_newer_form() {
        return;
    }
    let (source, target) = (Version::Newer.start(NEWEST), Version::Older.start(""));
    fill(&source);
    let dump = source.cmd("DUMP plain");
    let restore: [&[u8]; 4] = [b"RESTORE", b"plain", b"0", dump.bytes()];
    assert_eq!(target.conn().ask(&restore).to_string(), "-ERR Bad data format");
    target.wait_for_log(NOT_LOADED);
    assert_eq!(target.call("EXISTS plain"), "0");
}

/// In the made-up module PAUSE needs the newer form.
#[test]
#[ignore = "needs two modules: make upgrade-test"]
fn a_command_that_needs_a_newer_form_waits_for_it() {
    if !has_newer_form() {
        return;
    }
    let (_server, mut conn) = Version::Newer.start(HELD_BACK).with_conn();
    conn.check(&[
        ("SECKILL.INIT k 2", "+OK"),
        ("SECKILL.PAUSE k", "-ERR an older module is in use: see seckill.effects-version"),
        ("SECKILL.GRAB k a", "['GRANTED' 1 1 'SOLD' 0 1]"),
    ]);
    assert_eq!(number(&mut conn, "k", "version"), 2);
    for newest in ["2", "0"] {
        conn.check(&[
            (&format!("CONFIG SET seckill.effects-version {newest}"), "+OK"),
            ("SECKILL.PAUSE k", "+OK"),
            ("SECKILL.GRAB k b", "['PAUSED']"),
            ("SECKILL.RESUME k", "+OK"),
        ]);
    }
}
