//! The module's data about sales outside their values: it is freed with the sale on every node, and
//! keys of other types are left alone.

use crate::support::client::encode;
use crate::support::{wait_until, Conn, Options, Server};

/// 30 days.
const LONG_MS: u64 = 2_592_000_000;

/// Memory that changes by itself: buffers of connections, tables of the server.
const NOISE_BYTES: i64 = 300_000;

fn used(server: &Server) -> i64 {
    server.info("memory", "used_memory").parse().expect("bytes")
}

#[track_caller]
fn assert_freed(server: &Server, before: i64, what: &str) {
    let grown = || used(server) - before;
    wait_until(&format!("memory is free after {what}"), || grown() < NOISE_BYTES);
}

const SALES: usize = 3000;
const NAME_BYTES: usize = 1000;

/// Creates sales with a hold of 30 days, under names that no other round uses.
fn hold_many(conn: &mut Conn, round: usize) -> Vec<Vec<u8>> {
    let name = |number: usize| format!("{:0NAME_BYTES$}", round * SALES + number).into_bytes();
    let names: Vec<Vec<u8>> = (0..SALES).map(name).collect();
    let hold = LONG_MS.to_string();
    for part in names.chunks(500) {
        let mut commands = Vec::new();
        for name in part {
            let init: [&[u8]; 5] = [b"SECKILL.INIT", name, b"5", b"HOLD", hold.as_bytes()];
            commands.push(encode(&init));
            commands.push(encode(&[&b"SECKILL.GRAB"[..], name, b"u"]));
        }
        for reply in conn.pipeline(&commands).expect("replies") {
            assert!(!reply.is_error(), "{reply}");
        }
    }
    names
}

fn delete(conn: &mut Conn, names: &[Vec<u8>]) {
    for part in names.chunks(500) {
        let mut words: Vec<&[u8]> = vec![b"UNLINK"];
        words.extend(part.iter().map(Vec::as_slice));
        assert_eq!(conn.ask(&words).int(), part.len() as i64);
    }
}

fn start() -> Server {
    Options::new().line("latency-tracking no").line("repl-backlog-size 16kb").start()
}

#[test]
fn memory_goes_with_the_sale() {
    let (server, replica) = (start(), start());
    replica.follow(&server);
    let mut conn = server.conn();
    // Allocations that the server makes only once.
    let names = hold_many(&mut conn, 0);
    delete(&mut conn, &names);
    replica.wait_in_sync(&server);
    let before = (used(&server), used(&replica));
    let ways = ["UNLINK", "FLUSHALL", "FLUSHALL ASYNC", "FLUSHDB", "SWAPDB 0 1", "RENAME"];
    for (round, how) in ways.into_iter().enumerate() {
        let names = hold_many(&mut conn, round + 1);
        match how {
            "UNLINK" => delete(&mut conn, &names),
            "SWAPDB 0 1" => {
                conn.check(&[(how, "+OK"), ("SELECT 1", "+OK"), ("FLUSHDB", "+OK")]);
                conn.check(&[("SELECT 0", "+OK")]);
            }
            "RENAME" => {
                for name in &names {
                    assert_eq!(conn.ask(&[&b"RENAME"[..], name, b"k"]).to_string(), "+OK");
                }
                assert_eq!(conn.call("DEL k"), "1");
            }
            _ => assert_eq!(conn.call(how), "+OK"),
        }
        replica.wait_in_sync(&server);
        assert_freed(&server, before.0, how);
        assert_freed(&replica, before.1, &format!("{how} on the replica"));
    }
}

/// A deleted sale with due holds is no backlog. A replica, which expires nothing, has none.
#[test]
fn the_backlog_is_what_this_node_has_to_sweep() {
    let (server, replica) = Server::pair();
    let mut conn = server.conn();
    conn.check(&[("CONFIG SET seckill.sweep-interval-ms 60000", "+OK")]);
    for key in ["k", "l"] {
        conn.check(&[(&format!("SECKILL.INIT {key} 5 HOLD 20"), "+OK")]);
        conn.cmd(&format!("SECKILL.GRAB {key} u"));
    }
    let backlog = |server: &Server| server.info("seckill", "seckill_sweeper_backlog");
    wait_until("both are due", || backlog(&server) == "2");
    replica.wait_in_sync(&server);
    assert_eq!(backlog(&replica), "0");
    assert_eq!(conn.call("DEL l"), "1");
    assert_eq!(backlog(&server), "1");
    assert_eq!(conn.call("FLUSHALL"), "+OK");
    assert_eq!(backlog(&server), "0");
}

/// RESTORE, RENAME and MOVE of other keys: the module changes neither their idle time nor the
/// server's statistics, also after sales came and went.
#[test]
fn foreign_keys_are_not_touched() {
    let (_server, mut conn) = Server::start().with_conn();
    conn.check(&[("SECKILL.INIT k 5 HOLD 900000", "+OK"), ("SET s text", "+OK")]);
    conn.cmd("SECKILL.GRAB k u");
    conn.check(&[("RENAME k l", "+OK"), ("MOVE l 2", "1")]);
    let payload = conn.cmd("DUMP s").bytes().to_vec();
    let counts =
        |conn: &mut Conn| ["keyspace_hits", "keyspace_misses"].map(|name| conn.info("stats", name));
    let before = counts(&mut conn);
    let restore: [&[u8]; 6] = [b"RESTORE", b"foo", b"0", &payload, b"IDLETIME", b"1000"];
    assert_eq!(conn.ask(&restore).to_string(), "+OK");
    assert_eq!(counts(&mut conn), before);
    let idle = conn.cmd("OBJECT IDLETIME foo").int();
    assert!((1000..1060).contains(&idle), "idle for {idle} s");
    let before = counts(&mut conn);
    conn.check(&[("RENAME foo bar", "+OK"), ("MOVE bar 3", "1")]);
    assert_eq!(counts(&mut conn), before);
}

/// The server's log lines at load depend on the module; each of them must be useful.
#[test]
fn nothing_is_logged_of_what_we_do_not_use() {
    let log = Server::start().log();
    assert!(!log.contains("Skip register"), "{log}");
}
