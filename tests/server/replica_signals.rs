//! Changes applied on a replica are signalled as on a primary: to transactions with WATCH, to
//! clients with a cache, and to blocked readers of the outbox.

use crate::support::{wait_until, Conn, Server};

fn pair() -> (Server, Server) {
    let (primary, replica) = Server::pair();
    primary.conn().check(&[
        ("SECKILL.INIT k 5 HOLD 900000 OUTBOX s", "+OK"),
        ("SECKILL.INIT plain 5", "+OK"),
    ]);
    replica.wait_in_sync(&primary);
    (primary, replica)
}

/// Changes on the primary, each with the keys that it changes.
const CHANGES: [(&str, &[&str]); 5] = [
    ("SECKILL.GRAB k a", &["k", "s"]),
    ("SECKILL.CONFIRM k a", &["k", "s"]),
    ("SECKILL.GRAB plain a", &["plain"]),
    ("SECKILL.DENY plain ADD b", &["plain"]),
    ("SECKILL.INIT new 5", &["new"]),
];
const KEYS: [&str; 4] = ["k", "s", "plain", "new"];

#[test]
fn an_applied_change_fails_a_watch() {
    let (primary, replica) = pair();
    for (line, changed) in CHANGES {
        let watch = |key| {
            let mut conn = replica.conn();
            let watch = format!("WATCH {key}");
            conn.check(&[(&watch, "+OK"), ("MULTI", "+OK"), ("PING", "+QUEUED")]);
            conn
        };
        let watchers = KEYS.map(|key| (key, watch(key)));
        assert!(!primary.cmd(line).is_error(), "{line}");
        replica.wait_in_sync(&primary);
        for (key, mut conn) in watchers {
            let expected = if changed.contains(&key) { "nil" } else { "[+PONG]" };
            assert_eq!(conn.call("EXEC"), expected, "{line} and a WATCH of {key}");
        }
    }
}

#[test]
fn an_applied_change_invalidates_what_clients_cache() {
    let (primary, replica) = pair();
    let mut reader = replica.conn().resp3();
    assert_eq!(reader.call("CLIENT TRACKING ON"), "+OK");
    for (line, changed) in CHANGES {
        KEYS.iter().for_each(|key| read_and_cache(&mut reader, key));
        assert!(!primary.cmd(line).is_error(), "{line}");
        replica.wait_in_sync(&primary);
        reader.send(&["PING"]).expect("sent");
        let mut told = Vec::new();
        loop {
            match reader.read().expect("a push, then PONG").to_string() {
                pong if pong == "+PONG" => break,
                push => told.push(push),
            }
        }
        told.sort_unstable();
        let expected = changed.iter().map(|key| format!(">['invalidate' ['{key}']]"));
        assert_eq!(told, expected.collect::<Vec<_>>(), "{line}");
    }
}

/// Reads a key so that the server tracks it for the client's cache, also if it is missing.
fn read_and_cache(reader: &mut Conn, key: &str) {
    match key {
        "s" => reader.cmd("XLEN s"),
        _ => reader.cmd(&format!("SECKILL.STATUS {key}")),
    };
}

#[test]
fn a_reader_that_waits_is_woken_on_a_replica() {
    let (primary, replica) = pair();
    let mut reader = replica.conn();
    reader.send(&["XREAD", "BLOCK", "0", "STREAMS", "s", "$"]).expect("sent");
    wait_until("the reader waits", || replica.info("clients", "blocked_clients") == "1");
    assert!(!primary.cmd("SECKILL.GRAB k a").is_error());
    let read = reader.read().expect("the entry").to_string();
    assert!(read.contains("'GRANT'"), "{read}");
}

/// INIT is signalled on the primary, too, because the server does not do that.
#[test]
fn an_init_is_signalled_where_it_is_made() {
    let server = Server::start();
    let (mut watcher, mut reader) = (server.conn(), server.conn());
    watcher.check(&[("WATCH new", "+OK"), ("MULTI", "+OK"), ("PING", "+QUEUED")]);
    reader.send(&["XREAD", "BLOCK", "0", "STREAMS", "s", "$"]).expect("sent");
    wait_until("the reader waits", || server.info("clients", "blocked_clients") == "1");
    assert!(!server.cmd("SECKILL.INIT new 5 OUTBOX s").is_error());
    assert_eq!(watcher.call("EXEC"), "nil");
    let read = reader.read().expect("the entry").to_string();
    assert!(read.contains("'INIT'"), "{read}");
}
