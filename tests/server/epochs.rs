//! An epoch belongs to one run of one primary. A sale and its copy, two nodes, or two starts never
//! write different changes under one (id, epoch, rev), whatever their clocks say.

use std::collections::BTreeSet;

use crate::support::other_module::said;
use crate::support::shop::number;
use crate::support::{logs, module_path, wait_until, Options, Server};

/// A sale and its copy by RESTORE, each with a grant.
fn with_copy(server: &Server) {
    let mut conn = server.conn();
    conn.check(&[
        ("SECKILL.INIT k 100 LIMIT 0", "+OK"),
        ("SECKILL.GRAB k a", "['GRANTED' 1 1 'SOLD' 0 99]"),
    ]);
    let dump = conn.cmd("DUMP k");
    let words = [b"RESTORE".as_slice(), b"copy", b"0", dump.bytes()];
    assert_eq!(conn.ask(&words).to_string(), "+OK");
}

/// The epochs that begin with a GRAB on each: all must differ from each other and from `before`.
#[track_caller]
fn assert_differ(server: &Server, before: &mut BTreeSet<i64>, what: &str) {
    let mut conn = server.conn();
    for key in ["k", "copy"] {
        let last = number(&mut conn, key, "epoch");
        assert!(!conn.cmd(&format!("SECKILL.GRAB {key} u")).is_error());
        let epoch = number(&mut conn, key, "epoch");
        assert!(epoch > last, "{what}: {epoch} of {key} is not above {last}");
        assert!(before.insert(epoch), "{what}: {epoch} of {key} was there");
        server.assert_sound(key);
    }
}

#[test]
fn a_copy_has_epochs_of_its_own_after_a_promotion() {
    let (primary, early, late) = (Server::start(), Server::start(), Server::start());
    early.follow(&primary);
    with_copy(&primary);
    // One replica gets the RESTORE from its primary, the other one gets both sales in a snapshot.
    late.follow(&primary);
    let mut epochs = BTreeSet::new();
    for replica in [&early, &late] {
        replica.wait_in_sync(&primary);
        assert_eq!(replica.call("REPLICAOF NO ONE"), "+OK");
        assert_differ(replica, &mut epochs, "promoted");
    }
}

#[test]
fn a_copy_has_epochs_of_its_own_after_a_restart() {
    for preamble in ["yes", "no"] {
        let options = Options::new().line("appendonly yes").line("appendfsync always");
        let mut server = options.line(&format!("aof-use-rdb-preamble {preamble}")).start();
        with_copy(&server);
        let mut epochs = BTreeSet::new();
        for is_rewritten in [false, true, true] {
            if is_rewritten {
                logs::rewrite(&server);
            }
            server.kill9();
            server.start_again();
            wait_until("the log is loaded", || server.call("EXISTS k copy") == "2");
            assert_differ(&server, &mut epochs, &format!("preamble {preamble}"));
        }
        assert_eq!(server.call("DEBUG RELOAD"), "+OK");
        assert_differ(&server, &mut epochs, "reloaded");
        assert_eq!(server.call("DEBUG LOADAOF"), "+OK");
        assert_differ(&server, &mut epochs, "the log anew");
    }
}

/// A node that was a primary before is promoted again. Another module, which the server tells
/// first, sells before this module is told. The primary in between goes on in its own epoch.
#[test]
fn a_node_that_is_promoted_again_begins_an_epoch_at_once() {
    let options = Options::new().without_module().with_other_module();
    let line = format!("loadmodule {}", module_path().display());
    let (first, second) = (options.line(&line).start(), Server::start());
    let mut conn = first.conn();
    assert_eq!(conn.call("SECKILL.INIT k 9 LIMIT 0"), "+OK");
    second.follow(&first);
    second.wait_in_sync(&first);
    assert_eq!(second.call("REPLICAOF NO ONE"), "+OK");
    assert_eq!(second.call("SECKILL.GRAB k a"), "['GRANTED' 1 1 'SOLD' 0 8]");
    first.follow(&second);
    first.wait_in_sync(&second);
    assert_eq!(second.info("stats", "sync_partial_ok"), "1", "the first keeps its sale");
    conn.check(&[
        ("OTHER.ONCE promoted * SECKILL.GRAB k inner", "+OK"),
        ("REPLICAOF NO ONE", "+OK"),
    ]);
    assert_eq!(said(&mut conn), ["['GRANTED' 2 1 'SOLD' 0 7]"]);
    assert_eq!(second.call("SECKILL.GRAB k other"), "['GRANTED' 2 1 'SOLD' 0 7]");
    let epochs = [&mut conn, &mut second.conn()].map(|conn| number(conn, "k", "epoch"));
    assert!(epochs[0] > epochs[1], "two nodes sold seq 2 in {epochs:?}");
}
