//! A replica loads its primary's data while it still serves its old data (`repl-diskless-load
//! swapdb`). The two data sets must not mix.

use std::process::Command;

use seckill_model::shorthand::effect;

use super::persistence::fill;
use super::promotion::signal;
use crate::support::bulk::grow;
use crate::support::logs::{rewrite, rewritten_applies};
use crate::support::payload::restore;
use crate::support::shop::{number, wait_for_no_holds};
use crate::support::{wait_until, Conn, Options, Reply, Server};

/// Number of large keys: they take seconds to load and do not fit into the replication backlog.
const FILLERS: usize = 60;
const FILLER_BYTES: usize = 20_000;

/// Sends a signal to a process. False if the process is gone.
fn send(name: &str, pid: &str) -> bool {
    Command::new("kill").args([name, pid]).status().is_ok_and(|status| status.success())
}

fn pair() -> (Server, Server) {
    let common = || Options::new().line("rdbcompression no").line("repl-diskless-load swapdb");
    let primary =
        common().line("repl-backlog-size 16kb").line("client-output-buffer-limit replica 0 0 0");
    let primary = primary.start();
    let replica = common().line("loading-process-events-interval-bytes 1024");
    let replica = replica.line("replica-read-only no").start();
    assert_eq!(primary.call("CONFIG SET repl-diskless-sync yes"), "+OK");
    assert_eq!(primary.call("CONFIG SET seckill.sweep-interval-ms 60000"), "+OK");
    replica.follow(&primary);
    (primary, replica)
}

fn sale(conn: &mut Conn, key: &str, hold_ms: u64, buyers: usize) {
    conn.check(&[(&format!("SECKILL.INIT {key} 100 HOLD {hold_ms}"), "+OK")]);
    for buyer in 0..buyers {
        assert_eq!(conn.cmd(&format!("SECKILL.GRAB {key} u{buyer}")).items()[0].text(), "GRANTED");
    }
}

/// Cuts the replication link, runs `change`, and starts a slow full resync of the replica.
fn resync(primary: &Server, replica: &Server, change: impl FnOnce(&mut Conn)) {
    let mut conn = primary.conn();
    assert_eq!(conn.call("CONFIG SET rdb-key-save-delay 60000"), "+OK");
    signal(replica, "-STOP");
    conn.cmd("CLIENT KILL TYPE replica");
    change(&mut conn);
    for filler in 0..FILLERS {
        let (key, value) = (format!("filler{filler}"), vec![b'x'; FILLER_BYTES]);
        let set: [&[u8]; 3] = [b"SET", key.as_bytes(), &value];
        assert_eq!(conn.ask(&set).to_string(), "+OK");
    }
    signal(replica, "-CONT");
    wait_until("the replica loads beside", || is_loading(replica));
}

fn is_loading(replica: &Server) -> bool {
    replica.info("persistence", "async_loading") == "1"
}

fn counts(server: &Server) -> [String; 2] {
    ["sales", "holds"].map(|name| server.info("seckill", &format!("seckill_{name}")))
}

/// A sale whose last pieces never come, and its payload.
fn incomplete() -> (Reply, Vec<u8>) {
    let maker = Options::new().line("appendonly yes").line("aof-use-rdb-preamble no").start();
    fill(&maker, "k", 2500);
    rewrite(&maker);
    let base = rewritten_applies(&maker).swap_remove(0);
    let mut conn = maker.conn();
    begin(&mut conn, &base);
    let payload = conn.cmd("DUMP part").bytes().to_vec();
    (base, payload)
}

fn begin(conn: &mut Conn, base: &Reply) {
    let mut words: Vec<&[u8]> = base.items().iter().map(Reply::bytes).collect();
    words[1] = b"part";
    assert_eq!(conn.ask(&words).to_string(), "+OK");
}

#[test]
fn what_is_loaded_beside_counts_when_it_is_served() {
    let (primary, replica) = pair();
    let mut conn = primary.conn();
    sale(&mut conn, "old", 900_000, 2);
    sale(&mut conn, "kept", 1, 3);
    replica.wait_in_sync(&primary);
    let (base, incomplete) = incomplete();
    let payload = conn.cmd("DUMP old").bytes().to_vec();
    let mut far = replica.conn();

    resync(&primary, &replica, |conn| {
        assert_eq!(conn.call("DEL old"), "1");
        sale(conn, "new", 1, 5);
        sale(conn, "late", 2000, 1);
        begin(conn, &base);
    });
    assert_eq!(counts(&replica), ["2", "5"], "the loading data is not counted");
    assert_eq!((number(&mut far, "old", "held"), number(&mut far, "kept", "held")), (2, 3));
    assert_eq!(
        far.call("SECKILL.STATUS new"),
        "-NOSALE no sale at this key (the key is the first argument)"
    );
    let told = |far: &mut Conn, payload: &[u8]| {
        far.pipeline(&[restore("mine", payload)]).expect("a reply").remove(0).to_string()
    };
    assert_eq!(told(&mut far, &incomplete), "-ERR Bad data format");
    assert_eq!(told(&mut far, &payload), "+OK");
    assert!(is_loading(&replica), "all of this was while it loaded");
    assert_eq!(counts(&replica), ["3", "7"], "a client's payload is part of what is served");

    assert_eq!(conn.call("CONFIG SET rdb-key-save-delay 0"), "+OK");
    signal(&replica, "-STOP");
    conn.cmd("CLIENT KILL TYPE replica");
    wait_until("the fork is gone", || primary.info("persistence", "rdb_bgsave_in_progress") == "0");
    signal(&replica, "-CONT");
    wait_until("the link is up", || replica.info("replication", "master_link_status") == "up");
    replica.wait_in_sync(&primary);
    assert_eq!(counts(&replica), ["4", "9"]);
    replica.assert_follows(&primary, &["kept", "new", "late", "part"]);
    assert_eq!(far.call("REPLICAOF NO ONE"), "+OK");
    for key in ["kept", "new", "late"] {
        wait_for_no_holds(&replica, key);
        replica.assert_sound(key);
    }
    assert_eq!(counts(&replica), ["4", "0"]);
}

/// An aborted sync removes its own sales only; the served sales stay.
#[test]
fn an_aborted_sync_is_forgotten() {
    let (mut primary, replica) = pair();
    let mut conn = primary.conn();
    sale(&mut conn, "old", 1500, 2);
    replica.wait_in_sync(&primary);
    resync(&primary, &replica, |conn| sale(conn, "new", 1, 5));
    // The child that writes the data may outlive its parent.
    let log = primary.log();
    let child = log.rsplit_once("started by pid ").expect("a child").1;
    let digits = child.find(|letter: char| !letter.is_ascii_digit()).expect("the pid's end");
    primary.kill9();
    send("-KILL", &child[..digits]);
    wait_until("the load is given up", || !is_loading(&replica));
    assert_eq!(counts(&replica), ["1", "2"]);
    let mut far = replica.conn();
    assert_eq!(
        far.call("SECKILL.STATUS new"),
        "-NOSALE no sale at this key (the key is the first argument)"
    );
    assert_eq!(far.call("REPLICAOF NO ONE"), "+OK");
    wait_for_no_holds(&replica, "old");
    replica.assert_sound("old");
    assert_eq!(counts(&replica), ["1", "0"]);
    assert_eq!(replica.info("seckill", "seckill_sweeper_backlog"), "0");
}

/// A replica that loads serves calls but fires no timer. An audit, which takes several steps
/// otherwise, is made in one.
#[test]
fn an_audit_is_answered_while_it_loads() {
    const GRANTS: usize = 30_000;
    let (primary, replica) = pair();
    let mut conn = primary.conn();
    assert_eq!(conn.call("SECKILL.INIT k 1000000"), "+OK");
    grow(&mut conn, "k", 0, GRANTS, |user| effect(&format!("gu{user}")));
    replica.wait_in_sync(&primary);
    let mut far = replica.conn();
    resync(&primary, &replica, |_| ());
    let audit = far.cmd("SECKILL.AUDIT k");
    assert!(is_loading(&replica), "it was answered while the replica loaded");
    assert_eq!((audit.field("ok").int(), audit.field("grants").int()), (1, GRANTS as i64));
}
