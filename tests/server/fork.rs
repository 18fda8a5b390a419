//! A child that saves frees a sale's memory after saving it. So the parent's writes copy little
//! memory. The saved sale is complete, and the parent's sale is unchanged.

use seckill_model::shorthand::effect;

use crate::support::bulk::grow;
use crate::support::{wait_until, Options, Server};

const WINNERS: usize = 400_000;
/// Bytes that the index of these grants needs at least. Random grants write all of its pages.
const INDEX_BYTES: i64 = 4_000_000;
/// Largest number of copied bytes: the server's own pages, and pages written before the child
/// reaches the sale. On a busy machine half of the index could be copied, more than 6,000,000
/// bytes.
const COPIED_BYTES_MAX: i64 = 4_500_000;

fn user(number: usize) -> String {
    format!("user:{number:012}")
}

fn grant(number: usize) -> Vec<u8> {
    effect(&format!("g{}", user(number)))
}

fn start(lines: &[&str]) -> Server {
    let options = lines.iter().fold(Options::new(), |options, line| options.line(line));
    let (server, mut conn) = options.start().with_conn();
    assert_eq!(conn.call("SECKILL.INIT k 9000000"), "+OK");
    grow(&mut conn, "k", 0, WINNERS, grant);
    server
}

/// Keeps the child started by `ask` alive until grants have written every page of the index, then
/// waits for its end.
fn grant_while(server: &Server, ask: impl FnOnce(), is_saving: impl Fn(&Server) -> bool) {
    let mut conn = server.conn();
    // The child sleeps for this many microseconds after each key.
    conn.check(&[("CONFIG SET rdb-key-save-delay 4000000", "+OK")]);
    ask();
    wait_until("the child is there", || is_saving(server));
    grow(&mut conn, "k", WINNERS, WINNERS + 50_000, grant);
    assert!(is_saving(server), "the grants came while the child was there");
    wait_until("the child has ended", || !is_saving(server));
    conn.check(&[("CONFIG SET rdb-key-save-delay 0", "+OK")]);
}

/// Starts a child that writes a file. Once the file exists the child is about to save the sale.
fn ask_for_file(server: &Server, command: &str, answer: &str) {
    assert_eq!(server.call(command), answer);
    let is_its = |file: std::fs::DirEntry| file.file_name().to_string_lossy().starts_with("temp-");
    let files = || std::fs::read_dir(server.folder()).expect("the server's directory").flatten();
    wait_until("the child writes", || files().any(is_its));
}

fn is(server: &Server, field: &str, value: &str) -> bool {
    server.info("persistence", field) == value
}

fn copied(server: &Server, field: &str) -> i64 {
    server.info("persistence", field).parse().expect("a number")
}

/// Checks that the parent's sale is unchanged.
fn assert_untouched(server: &Server, before: i64) {
    server.assert_sound("k");
    let memory = server.cmd("MEMORY USAGE k").int();
    assert!(before > INDEX_BYTES && memory >= before, "{before} {memory}");
    let user = user(WINNERS / 2);
    let reply = server.cmd(&format!("SECKILL.GRAB k {user}"));
    assert_eq!(reply.items()[0].text(), "ALREADY");
    let status = server.cmd("SECKILL.STATUS k");
    assert_eq!(status.field("winners").int(), WINNERS as i64 + 50_000);
}

#[test]
fn a_snapshot_copies_little_and_is_whole() {
    let mut server = start(&[]);
    let (before, memory) = (server.digest("k"), server.cmd("MEMORY USAGE k").int());
    let ask = || ask_for_file(&server, "BGSAVE", "+Background saving started");
    grant_while(&server, ask, |server| is(server, "rdb_bgsave_in_progress", "1"));
    assert_eq!(server.info("persistence", "rdb_last_bgsave_status"), "ok");
    let copied = copied(&server, "rdb_last_cow_size");
    assert!((1..COPIED_BYTES_MAX).contains(&copied), "{copied}");
    assert_untouched(&server, memory);
    server.kill9();
    server.start_again();
    assert_eq!(server.digest("k"), before);
    server.assert_sound("k");
}

fn rewrite_copies_little(preamble: &str) {
    let preamble = format!("aof-use-rdb-preamble {preamble}");
    let mut server = start(&["appendonly yes", "appendfsync everysec", &preamble]);
    let memory = server.cmd("MEMORY USAGE k").int();
    let started = "+Background append only file rewriting started";
    let ask = || ask_for_file(&server, "BGREWRITEAOF", started);
    grant_while(&server, ask, |server| is(server, "aof_rewrite_in_progress", "1"));
    assert_eq!(server.info("persistence", "aof_last_bgrewrite_status"), "ok");
    let copied = copied(&server, "aof_last_cow_size");
    assert!((1..COPIED_BYTES_MAX).contains(&copied), "{copied}");
    assert_untouched(&server, memory);
    let after = server.digest("k");
    server.stop(false);
    server.start_again();
    assert_eq!(server.digest("k"), after);
    server.assert_sound("k");
}

#[test]
fn a_rewritten_log_with_a_snapshot_in_front_copies_little() {
    rewrite_copies_little("yes");
}

#[test]
fn a_rewritten_log_of_commands_copies_little() {
    rewrite_copies_little("no");
}

#[test]
fn replicas_without_a_file_copy_little() {
    // One child serves both replicas: it starts when the second one has connected.
    let primary = start(&[
        "repl-diskless-sync yes",
        "repl-diskless-sync-delay 30",
        "repl-diskless-sync-max-replicas 2",
    ]);
    let replicas = [Server::start(), Server::start()];
    let memory = primary.cmd("MEMORY USAGE k").int();
    let ask = || {
        for replica in &replicas {
            replica.cmd(&format!("REPLICAOF 127.0.0.1 {}", primary.port()));
        }
    };
    grant_while(&primary, ask, |server| is(server, "rdb_bgsave_in_progress", "1"));
    let copied = copied(&primary, "rdb_last_cow_size");
    assert!((1..COPIED_BYTES_MAX).contains(&copied), "{copied}");
    for replica in &replicas {
        replica.assert_follows(&primary, &["k"]);
        replica.assert_sound("k");
    }
    assert_untouched(&primary, memory);
}

/// A client's DUMP in the parent while a child saves must not free memory.
#[test]
fn a_dump_beside_a_child_is_whole() {
    let server = start(&[]);
    let ask = || ask_for_file(&server, "BGSAVE", "+Background saving started");
    grant_while(&server, ask, |server| is(server, "rdb_bgsave_in_progress", "1"));
    let digest = server.digest("k");
    let mut conn = server.conn();
    conn.check(&[("SAVE", "+OK")]);
    for _ in 0..2 {
        assert_eq!(server.digest("k"), digest);
        conn.check(&[("DEBUG RELOAD", "+OK")]);
    }
    assert_eq!(server.digest("k"), digest);
    server.assert_sound("k");
}
