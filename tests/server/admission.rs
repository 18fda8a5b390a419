//! Admission by lists, MOD, SAMPLE and ADMIT, and the answers to refused users.

use std::cell::RefCell;

use crate::support::shop::{counter, number};
use crate::support::{logs, wait_until, Conn, Options, Reply, Server};

/// The admission that USER shows.
#[track_caller]
fn word(conn: &mut Conn, user: &str) -> String {
    conn.cmd(&format!("SECKILL.USER k {user}")).items()[1].text()
}

// Rules: ce58 cac3 5fe8 63e5 3d8a 589b
#[test]
fn lists_let_in_and_keep_out() {
    let (server, mut conn) = Server::start().with_conn();
    conn.check(&[
        ("SECKILL.INIT k 9 ALLOWLIST OUTBOX s", "+OK"),
        ("SECKILL.GRAB k a", "['DENIED']"),
        ("SECKILL.ALLOW k ADD a b a c", "3"),
        ("SECKILL.ALLOW k ADD a b d", "1"),
        ("SECKILL.ALLOW k REMOVE d x", "1"),
        ("SECKILL.GRAB k a REQ o", "['GRANTED' 1 1 'SOLD' 0 8]"),
        ("SECKILL.GRAB k d", "['DENIED']"),
        ("SECKILL.DENY k ADD b a", "2"),
        ("SECKILL.GRAB k b", "['DENIED']"),
        // Winners always get their grant in the answer.
        ("SECKILL.GRAB k a", "['ALREADY' 1 1 'SOLD' 0]"),
        ("SECKILL.GRAB k a REQ o", "['REPLAY' 1 1 'SOLD' 0]"),
        ("SECKILL.DENY k remove b b", "1"),
        ("SECKILL.GRAB k b", "['GRANTED' 2 1 'SOLD' 0 7]"),
        ("SECKILL.ALTER k ALLOWLIST OFF", "+OK"),
        ("SECKILL.GRAB k d", "['GRANTED' 3 1 'SOLD' 0 6]"),
        ("SECKILL.ALTER k ALLOWLIST", "+OK"),
        ("SECKILL.GRAB k c", "['GRANTED' 4 1 'SOLD' 0 5]"),
        ("SECKILL.GRAB k e", "['DENIED']"),
        ("XLEN s", "7"),
    ]);
    for (user, expected) in [("a", "DENIED"), ("b", "OK"), ("d", "DENIED"), ("c", "OK")] {
        assert_eq!(word(&mut conn, user), expected, "{user}");
    }
    assert_eq!(counter(&mut conn, "k", "denied"), 4);
    let version = number(&mut conn, "k", "version");
    conn.check(&[("SECKILL.ALLOW k ADD a", "0"), ("SECKILL.DENY k REMOVE z", "0")]);
    assert_eq!(number(&mut conn, "k", "version"), version, "what changes nothing leaves no trace");
    server.assert_sound("k");
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

// Rules: 3faf 9768
#[test]
fn numbers_decide() {
    let (_server, mut conn) = Server::start().with_conn();
    let long = "9".repeat(256);
    conn.check(&[
        ("SECKILL.INIT k 99 MOD 2 1", "+OK"),
        ("SECKILL.GRAB k 7", "['GRANTED' 1 1 'SOLD' 0 98]"),
        ("SECKILL.GRAB k 8", "['DENIED']"),
        ("SECKILL.GRAB k 0", "['DENIED']"),
        (&format!("SECKILL.GRAB k {long}"), "['GRANTED' 2 1 'SOLD' 0 97]"),
        ("SECKILL.GRAB k 123456789012345678901234567890", "['DENIED']"),
        ("SECKILL.ALTER k MOD 97 96 0 96", "+OK"),
        // 10^30 is 85 modulo 97.
        ("SECKILL.GRAB k 1000000000000000000000000000011", "['GRANTED' 3 1 'SOLD' 0 96]"),
        ("SECKILL.GRAB k 1000000000000000000000000000013", "['DENIED']"),
        ("SECKILL.ALTER k MOD 0", "+OK"),
        ("SECKILL.GRAB k 8", "['GRANTED' 4 1 'SOLD' 0 95]"),
    ]);
    assert_eq!(conn.call("SECKILL.ALTER k MOD 2 0"), "+OK");
    let words: Vec<String> = (0..200).map(|user| word(&mut conn, &format!("n{user}"))).collect();
    let passed = words.iter().filter(|word| *word == "OK").count();
    assert!((60..140).contains(&passed), "{passed} of 200 other ids are even");
}

// Rules: a227 fc19 7adc
#[test]
fn a_share_is_the_same_however_often_one_asks() {
    let (_server, mut conn) = Server::start().with_conn();
    assert_eq!(conn.call("SECKILL.INIT k 9999 SAMPLE 300 SALT one"), "+OK");
    let share = |conn: &mut Conn| -> Vec<bool> {
        (0..1000).map(|user| word(conn, &format!("u{user}")) == "OK").collect()
    };
    let first = share(&mut conn);
    let passed = first.iter().filter(|passes| **passes).count();
    assert!((220..380).contains(&passed), "{passed} of 1000 at 300 permille");
    for (user, passes) in first.iter().enumerate().take(100) {
        for _ in 0..2 {
            let told = conn.cmd(&format!("SECKILL.GRAB k u{user}")).items()[0].text();
            assert_eq!(told != "BUSY", *passes, "u{user} {told}");
        }
    }
    assert_eq!(conn.call("SECKILL.ALTER k SAMPLE 600"), "+OK");
    let larger = share(&mut conn);
    assert!(first.iter().zip(&larger).all(|(small, large)| !small || *large));
    assert_eq!(conn.call("SECKILL.ALTER k SAMPLE 300 SALT two"), "+OK");
    assert_ne!(share(&mut conn), first);
    conn.check(&[
        ("SECKILL.ALTER k SAMPLE 0", "+OK"),
        ("SECKILL.GRAB k new", "['BUSY']"),
        ("SECKILL.ALTER k SAMPLE 1000", "+OK"),
    ]);
    assert!(share(&mut conn).iter().all(|passes| *passes));
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
