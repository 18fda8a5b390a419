//! Primary and replicas of both versions, and files of one version read by the other.

use std::path::Path;

use seckill_harness::assortment::{buy, fill, state, SALES};
use seckill_harness::shop::{number, wait_for_no_holds};
use seckill_harness::{Options, Server};

use crate::{Version, BOTH, HELD_BACK};

/// A primary of each version with replicas of both; one of them has a replica of its own. Then each
/// replica is promoted and works.
#[test]
#[ignore = "needs two modules: make upgrade-test"]
fn primaries_and_replicas_of_all_mixes_agree() {
    for primary in BOTH {
        for promoted in 0..2 {
            mix(primary, promoted);
        }
    }
}

fn mix(version: Version, promoted: usize) {
    let primary = version.start(HELD_BACK);
    let replicas = BOTH.map(|version| version.start(HELD_BACK));
    let last = BOTH[promoted].start(HELD_BACK);
    fill(&primary);
    replicas.iter().for_each(|replica| replica.follow(&primary));
    last.follow(&replicas[1 - promoted]);
    buy(&primary, "linked");
    assert_eq!(primary.call("SECKILL.INIT brief 50 HOLD 50"), "+OK");
    for step in 0..20 {
        let reply = primary.cmd(&format!("SECKILL.GRAB brief u{step}"));
        assert_eq!(reply.items()[3].text(), "HELD");
    }
    wait_for_no_holds(&primary, "brief");
    let all = [&replicas[0], &replicas[1], &last];
    let agree = |primary: &Server, replicas: &[&Server]| {
        for replica in replicas {
            // A replica of a replica must be in sync with its own primary.
            replica.wait_in_sync(primary);
            assert_eq!(state(replica), state(primary), "{version:?}");
            assert_eq!(replica.digest("brief"), primary.digest("brief"));
            replica.assert_took_all();
        }
    };
    agree(&primary, &all);
    let new_primary = &replicas[promoted];
    assert_eq!(new_primary.call("REPLICAOF NO ONE"), "+OK");
    primary.follow(new_primary);
    replicas[1 - promoted].follow(new_primary);
    buy(new_primary, "promoted");
    agree(new_primary, &[&primary, &replicas[1 - promoted], &last]);
}

/// How a server keeps its data.
#[derive(Clone, Copy, Debug)]
enum Kept {
    Snapshot,
    Log,
    RewrittenLog,
}

#[test]
#[ignore = "needs two modules: make upgrade-test"]
fn files_of_either_are_read_by_the_other() {
    for (from, to) in [(Version::Older, Version::Newer), (Version::Newer, Version::Older)] {
        for kept in [Kept::Snapshot, Kept::Log, Kept::RewrittenLog] {
            let mut server = with_files(from, kept);
            let before = state(&server);
            server.stop(matches!(kept, Kept::Snapshot));
            server.set_module_file(&to.file());
            server.start_again();
            assert_eq!(state(&server), before, "{kept:?} of {from:?}");
            buy(&server, "loaded");
            state(&server);
        }
    }
}

fn with_files(version: Version, kept: Kept) -> Server {
    let options: Options = version.options(HELD_BACK);
    let options = match kept {
        Kept::Snapshot => options,
        _ => options.line("appendonly yes").line("aof-use-rdb-preamble no"),
    };
    let server = options.start();
    fill(&server);
    if let Kept::RewrittenLog = kept {
        assert!(!server.cmd("BGREWRITEAOF").is_error());
        let idle = || server.info("persistence", "aof_rewrite_in_progress") == "0";
        seckill_harness::wait_until("the log is rewritten", idle);
        buy(&server, "after");
    }
    server
}

#[test]
#[ignore = "needs two modules: make upgrade-test"]
fn payloads_of_either_are_restored_by_the_other() {
    for (from, to) in [(Version::Older, Version::Newer), (Version::Newer, Version::Older)] {
        let (source, target) = (from.start(HELD_BACK), to.start(HELD_BACK));
        fill(&source);
        for sale in SALES {
            let dump = source.cmd(&format!("DUMP {sale}"));
            let reply =
                target.conn().ask(&[b"RESTORE" as &[u8], sale.as_bytes(), b"0", dump.bytes()]);
            assert_eq!(reply.to_string(), "+OK");
            assert_eq!(target.digest(sale), source.digest(sale), "{sale} of {from:?}");
            target.assert_sound(sale);
        }
    }
}

/// An upgrade as in COMPATIBILITY.md: replicas first, then a failover, the old primary last. Then
/// newer forms are allowed, and forbidden again for a downgrade. No acknowledged grant is lost.
#[test]
#[ignore = "needs two modules: make upgrade-test"]
fn a_pair_of_servers_is_upgraded_while_it_sells_and_back() {
    let old = |folder: &str| Version::Older.options(HELD_BACK).line(&format!("# {folder}")).start();
    let (mut first, mut second) = (old("first"), old("second"));
    fill(&first);
    second.follow(&first);
    let mut told = 0;
    let mut sell = |server: &Server| {
        for _ in 0..50 {
            told += 1;
            let reply = server.cmd(&format!("SECKILL.GRAB plain b-{told} REQ b-{told}"));
            assert_eq!(reply.items()[0].text(), "GRANTED");
        }
    };
    let newer = Version::Newer.file();
    sell(&first);
    renew(&mut second, &newer, &first);
    sell(&first);
    hand_over(&first, &second);
    sell(&second);
    renew(&mut first, &newer, &second);
    sell(&second);
    for server in [&first, &second] {
        assert_eq!(server.call("CONFIG SET seckill.effects-version 0"), "+OK");
    }
    sell(&second);
    buy(&second, "newest");
    first.wait_in_sync(&second);
    assert_eq!(state(&first), state(&second));
    // Downgrade: the older forms first, then the older module.
    for server in [&first, &second] {
        assert_eq!(server.call("CONFIG SET seckill.effects-version 1"), "+OK");
    }
    sell(&second);
    renew(&mut first, &Version::Older.file(), &second);
    hand_over(&second, &first);
    sell(&first);
    second.wait_in_sync(&first);
    assert_eq!(state(&first), state(&second));
    [&first, &second].into_iter().for_each(|server| server.assert_took_all());
    for number in 1..=told {
        let reply = first.cmd(&format!("SECKILL.GRAB plain b-{number} REQ b-{number}"));
        assert_eq!(reply.items()[0].text(), "REPLAY", "b-{number}");
    }
    let conn = &mut first.conn();
    let law = ["available", "held", "sold"].map(|field| number(conn, "plain", field));
    assert_eq!(law.iter().sum::<i64>(), number(conn, "plain", "supply"));
}

/// Restarts a replica with another module and attaches it again.
fn renew(replica: &mut Server, module: &Path, primary: &Server) {
    replica.stop(true);
    replica.set_module_file(module);
    replica.start_again();
    replica.follow(primary);
    replica.wait_in_sync(primary);
    assert_eq!(state(replica), state(primary));
}

/// Makes the replica the primary, and the primary its replica.
fn hand_over(primary: &Server, replica: &Server) {
    replica.wait_in_sync(primary);
    assert_eq!(replica.call("REPLICAOF NO ONE"), "+OK");
    primary.follow(replica);
}
