//! MEMORY USAGE of a sale is compared with the growth of the server's memory.

use seckill_model::shorthand::effect;

use crate::support::bulk::grow;
use crate::support::shop::counter;
use crate::support::{wait_until, Options, Server};

/// Largest relative difference, by the server's allocator. Allocators other than jemalloc add a
/// header to small blocks such as restock ids.
const TOLERANCE: f64 = 0.10;
const TOLERANCE_OF_OTHERS: f64 = 0.15;

/// Enough for each I/O thread of the servers of `make matrix` to get one of them.
const CLIENTS_OF_THREADS: usize = 8;

/// A server without latency histograms, because each command's first call would allocate one.
fn start() -> Server {
    Options::new().line("latency-tracking no").start()
}

/// The server's memory while a new connection is its only one. Buffers of other connections
/// would change the number. So would the read buffer of an I/O thread, which comes with a client and
/// may go with it: clients for all threads make sure that each thread has one.
fn used(server: &Server) -> f64 {
    let mut conns: Vec<_> = (0..CLIENTS_OF_THREADS).map(|_| server.conn()).collect();
    for conn in &mut conns {
        assert_eq!(conn.call("PING"), "+PONG");
    }
    drop(conns);
    let mut conn = server.conn();
    wait_until("other connections are closed", || conn.info("clients", "connected_clients") == "1");
    conn.info("memory", "used_memory").parse().expect("bytes")
}

fn usage(server: &Server, key: &str) -> f64 {
    server.cmd(&format!("MEMORY USAGE {key}")).int() as f64
}

#[track_caller]
fn assert_close(server: &Server, told: f64, grown: f64, what: &str) {
    let off = (told - grown).abs() / grown;
    let is_jemalloc = server.info("memory", "mem_allocator").starts_with("jemalloc");
    let tolerance = if is_jemalloc { TOLERANCE } else { TOLERANCE_OF_OTHERS };
    assert!(off < tolerance, "{what}: MEMORY USAGE says {told}, the server grew by {grown}");
}

fn check_sizes(kind: &str, grant: impl Fn(usize) -> Vec<u8> + Copy) {
    let server = start();
    assert_eq!(server.call("SECKILL.INIT warm 10000000 LIMIT 0"), "+OK");
    grow(&mut server.conn(), "warm", 0, 10_000, grant);
    assert_eq!(server.call("DEL warm"), "1");
    let before = used(&server);
    assert_eq!(server.call("SECKILL.INIT k 10000000 LIMIT 0"), "+OK");
    let mut size = 0;
    for next in [1000, 3000, 10_000, 40_000, 200_000] {
        grow(&mut server.conn(), "k", size, next, grant);
        size = next;
        let grown = used(&server) - before;
        assert_close(&server, usage(&server, "k"), grown, &format!("{size} {kind}"));
    }
    server.assert_sound("k");
}

#[test]
fn of_users_with_one_grant() {
    check_sizes("single grants", |number| effect(&format!("guser:{number:012}")));
}

#[test]
fn of_users_with_many_grants_and_request_ids() {
    check_sizes("orders", |number| {
        let req = format!("order-{number:010}");
        effect(&format!("Gq3r{}:{req}user:{}", req.len(), number / 5))
    });
}

/// Users without live grants keep no data about old grants. A reload would show such data, because
/// loading never creates it.
#[test]
fn of_users_whose_grants_are_over() {
    const GRANTS: usize = 40_000;
    let server = start();
    assert_eq!(server.call("SECKILL.INIT warm 10000000 LIMIT 0 OUTBOX s"), "+OK");
    assert_eq!(server.call("DEL warm s"), "2");
    let before = used(&server);
    let mut conn = server.conn();
    assert_eq!(conn.call("SECKILL.INIT k 10000000 LIMIT 0"), "+OK");
    grow(&mut conn, "k", 0, GRANTS, |number| effect(&format!("Gd3000:user:{:012}", number / 2)));
    wait_until("all have expired", || counter(&mut conn, "k", "expired") == GRANTS as i64);
    drop(conn);
    let (grown, told) = (used(&server) - before, usage(&server, "k"));
    assert!(grown < 1.1 * told, "MEMORY USAGE says {told}, the server grew by {grown}");
    assert_close(&server, told, grown, "users whose grants are over");
    assert_eq!(server.call("DEBUG RELOAD"), "+OK");
    let reloaded = used(&server) - before;
    println!("{told} told, {grown} grown, {reloaded} after a reload");
    assert!((reloaded / grown - 1.0).abs() < 0.05, "{grown} before a reload, {reloaded} after it");
    server.assert_sound("k");
}

/// Small sales: memory of each beside its grants.
#[test]
fn of_small_sales() {
    const SALES: usize = 500;
    for grants in [0, 1, 4, 40] {
        let server = start();
        for line in ["SECKILL.INIT warm 9", "SECKILL.GRAB warm u", "DEL warm"] {
            assert!(!server.cmd(line).is_error(), "{line}");
        }
        let before = used(&server);
        let mut conn = server.conn();
        for number in 0..SALES {
            let key = format!("sale:{number}");
            assert_eq!(conn.call(&format!("SECKILL.INIT {key} 99 LIMIT 2")), "+OK");
            for user in 0..grants {
                conn.cmd(&format!("SECKILL.GRAB {key} user:{}", user / 2));
                conn.cmd(&format!("SECKILL.RESTOCK {key} 1 REQ restock-{user}"));
            }
        }
        drop(conn);
        let grown = used(&server) - before;
        let told: f64 = (0..SALES).map(|number| usage(&server, &format!("sale:{number}"))).sum();
        assert_close(&server, told, grown, &format!("small sales of {grants} grants"));
    }
}

/// A winner with an id of 17 bytes; tools/bench/README.md has the measured bytes.
#[test]
fn a_winner_costs_less_than_55_bytes() {
    let (server, mut conn) = start().with_conn();
    assert_eq!(conn.call("SECKILL.INIT k 10000000"), "+OK");
    grow(&mut conn, "k", 0, 300_000, |number| effect(&format!("guser:{number:012}")));
    let each = usage(&server, "k") / 300_000.0;
    assert!((25.0..55.0).contains(&each), "{each} bytes a winner");
}

/// A list of 1,000,000 users: pages and index, compared with a Redis set of these ids.
#[test]
fn a_listed_user_costs_less_than_in_a_set() {
    const USERS: usize = 1_000_000;
    const AT_ONCE: usize = 50_000;
    let (server, mut conn) = start().with_conn();
    assert_eq!(conn.call("SECKILL.INIT k 10 ALLOWLIST"), "+OK");
    drop(conn);
    let before = used(&server);
    let each = |start: &[&str]| {
        let mut conn = server.conn();
        for first in (0..USERS).step_by(AT_ONCE) {
            let mut words: Vec<String> = start.iter().map(|word| (*word).to_owned()).collect();
            words.extend((first..first + AT_ONCE).map(|number| format!("user:{number:012}")));
            assert_eq!(conn.ask(&words).int(), AT_ONCE as i64);
        }
    };
    each(&["SECKILL.ALLOW", "k", "ADD"]);
    let grown = used(&server) - before;
    assert_close(&server, usage(&server, "k"), grown, "a list of a million users");
    each(&["SADD", "set"]);
    let set = server.cmd("MEMORY USAGE set SAMPLES 0").int() as f64;
    let (mine, set) = (usage(&server, "k") / USERS as f64, set / USERS as f64);
    println!("{mine:.1} bytes a listed user of 17 bytes, {set:.1} in a set");
    // A set needs 64 bytes a user on Redis 7.0, and 43 to 52 on the newest servers.
    assert!(mine < 36.0 && mine < set * 0.8, "{mine} bytes a user, {set} in a set");
    let mut conn = server.conn();
    conn.check(&[
        ("SECKILL.GRAB k user:000000999999", "['GRANTED' 1 1 'SOLD' 0 9]"),
        ("SECKILL.GRAB k user:000001000000", "['DENIED']"),
    ]);
}
