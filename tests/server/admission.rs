//! Admission: the bounds of its lists, its copies, and a sale that lacks a part of its log.

use std::cell::RefCell;

use crate::support::shop::number;
use crate::support::{logs, wait_until, Conn, Options, Reply, Server};

/// The admission that USER shows.
#[track_caller]
fn word(conn: &mut Conn, user: &str) -> String {
    conn.cmd(&format!("SECKILL.USER k {user}")).items()[1].text()
}

#[test]
fn a_call_lists_at_most_so_many_users() {
    let (server, mut conn) = Server::start().with_conn();
    assert_eq!(conn.call("SECKILL.INIT k 9"), "+OK");
    for command in ["SECKILL.ALLOW", "SECKILL.DENY"] {
        let mut words: Vec<String> = [command, "k", "ADD"].map(str::to_owned).into();
        words.extend((0..100_000).map(|user| format!("u{user}")));
        assert_eq!(conn.ask(&words).to_string(), "100000");
        words.push("one".to_owned());
        assert_eq!(conn.ask(&words).to_string(), "-ERR at most 100000 users at once");
        words.pop();
        words[2] = "REMOVE".to_owned();
        assert_eq!(conn.ask(&words).to_string(), "100000");
    }
    server.assert_sound("k");
}

/// The sweeper frees the memory of a list that has lost its last user, on replicas, too.
#[test]
fn an_emptied_list_gives_its_memory_back() {
    let (server, replica) = Server::pair();
    let mut conn = server.conn();
    assert_eq!(conn.call("SECKILL.INIT k 9"), "+OK");
    let memory = |node: &Server| node.cmd("MEMORY USAGE k").int();
    let change = |conn: &mut Conn, verb: &str| {
        let mut words: Vec<String> = ["SECKILL.DENY", "k", verb].map(str::to_owned).into();
        words.extend((0..100_000).map(|user| format!("u{user}")));
        assert_eq!(conn.ask(&words).to_string(), "100000");
    };
    change(&mut conn, "ADD");
    assert!(memory(&server) > 1_000_000, "{}", memory(&server));
    change(&mut conn, "REMOVE");
    replica.wait_in_sync(&server);
    for node in [&server, &replica] {
        wait_until("the memory is given back", || memory(node) < 20_000);
    }
    conn.check(&[("SECKILL.GRAB k u1", "['GRANTED' 1 1 'SOLD' 0 8]")]);
    server.assert_sound("k");
}

/// Lists, admissions, the secret and all terms are in every file and on every replica.
#[test]
fn admission_is_the_same_everywhere() {
    let init = "SECKILL.INIT k 900 ALLOWLIST MOD 3 0 1 SAMPLE 700 SALT s ADMIT 20 MASK";
    let words = |conn: &mut Conn| -> Vec<_> {
        (0..400).map(|user| word(conn, &format!("n{user}"))).collect()
    };
    let told = RefCell::new(Vec::new());
    let fill = |conn: &mut Conn| {
        assert_eq!(conn.call(init), "+OK");
        let users: String = (0..3000).map(|user| format!(" n{user}")).collect();
        assert_eq!(conn.call(&format!("SECKILL.ALLOW k ADD{users}")), "3000");
        assert_eq!(conn.call("SECKILL.DENY k ADD n1 n2 n3"), "3");
        for user in 0..200 {
            conn.cmd(&format!("SECKILL.GRAB k n{user}"));
        }
        assert_eq!(number(conn, "k", "sold"), 20);
        told.replace(words(conn));
    };
    logs::assert_same_everywhere(&["k"], fill, |server| {
        assert_eq!(words(&mut server.conn()), *told.borrow());
        assert_eq!(server.call(init), "+OK", "the same terms");
    });
}

/// A sale that has lost its last pieces must not sell units again that were already sold.
// Rules: dfb2
#[test]
fn a_sale_without_all_its_pieces_sells_nothing() {
    let server = Options::new().line("appendonly yes").line("aof-use-rdb-preamble no").start();
    let mut conn = server.conn();
    assert_eq!(conn.call("SECKILL.INIT k 10 LIMIT 1 ALLOWLIST"), "+OK");
    assert_eq!(conn.call("SECKILL.ALLOW k ADD a b"), "2");
    assert_eq!(conn.cmd("SECKILL.GRAB k a REQ o").timeless(), "['GRANTED' 1 1 'SOLD' 0 9]");
    let digest = server.digest("k");
    logs::rewrite(&server);
    let pieces = logs::rewritten_applies(&server);
    assert!(pieces.len() > 1, "a base and pieces");
    let other = Server::start();
    let mut conn = other.conn();
    let missing = "-ERR part of this sale's log is missing: restore it from a backup or resync it";
    for (place, piece) in pieces.iter().enumerate() {
        let words: Vec<&[u8]> = piece.items().iter().map(Reply::bytes).collect();
        assert_eq!(conn.ask(&words).to_string(), "+OK");
        let is_whole = place + 1 == pieces.len();
        let audit = conn.cmd("SECKILL.AUDIT k");
        assert_eq!(audit.field("ok").int(), i64::from(is_whole), "{audit}");
        if is_whole {
            break;
        }
        for line in ["GRAB k a", "GRAB k b REQ o", "PAUSE k", "RESTOCK k 1 REQ r", "MGRAB b 1 k"] {
            assert_eq!(conn.call(&format!("SECKILL.{line}")), missing, "{line} after {place}");
        }
        assert!(!conn.cmd("SECKILL.STATUS k").is_error());
    }
    assert_eq!(other.digest("k"), digest);
    conn.check(&[
        ("SECKILL.GRAB k a REQ o", "['REPLAY' 1 1 'SOLD' 0]"),
        ("SECKILL.GRAB k b", "['GRANTED' 2 1 'SOLD' 0 8]"),
    ]);
}
