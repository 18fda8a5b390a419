//! Every error that a caller can get, word for word, and that an error changes nothing.

mod texts;

use seckill_oracle::shorthand::effect;

use crate::calls::{changes_a_sale, spec_of};
use crate::support::calls::{self, ONE_EACH};
use crate::support::client::words;
use crate::support::shop::{clock_ms, number, wait_for_clock};
use crate::support::{Conn, Options, Server};
use texts::{
    AMBIGUOUS, EXHAUSTED, MISMATCH, MISTAKES, NOSALE, NOSALE_OF_SEVERAL, OUTBOX, REQ, USER,
    WRONGTYPE,
};

fn args(line: &str) -> Vec<&[u8]> {
    words(line).into_iter().map(|word| if word == b"~" { b"" } else { word }).collect()
}

/// The error is one that the docs list for the command: its own, or one of every change.
#[track_caller]
pub fn assert_listed(line: &str, error: &str) {
    let page = include_str!("../../docs/commands.md");
    let name = line.split(' ').next().unwrap();
    let section = |head: &str| {
        let (_, text) = page.split_once(&format!("# {head}\n")).unwrap();
        text.split("\n## ").next().unwrap()
    };
    let error = error.strip_prefix('-').unwrap();
    let item = match error.strip_prefix("ERR syntax error at argument ") {
        Some(at) if at.parse::<usize>().is_ok() => "\n- `ERR syntax error at argument N`\n".into(),
        _ => format!("\n- `{error}`\n"),
    };
    let own = section(name);
    let is_change = own.contains("\n- the errors of every command that changes a sale\n");
    let is_listed = own.contains(&item) || is_change && section("Commands").contains(&item);
    assert!(is_listed, "{line}: {error} is not among the errors of {name}");
}

// Rules: 7bf7 5511 6046 7e17 7087 7a20
#[test]
fn mistakes_have_their_text_and_change_nothing() {
    let server = Server::start();
    let mut conn = server.conn();
    assert_eq!(conn.call("SECKILL.INIT sale 10"), "+OK");
    let digest = server.digest("sale");
    let counters = conn.cmd("SECKILL.STATUS sale").field("counters");
    for (line, error) in MISTAKES {
        assert_eq!(conn.ask(&args(line)).to_string(), *error, "{line}");
        assert_listed(line, error);
    }
    assert_eq!(server.digest("sale"), digest);
    assert_eq!(conn.cmd("SECKILL.STATUS sale").field("counters"), counters);
    assert_eq!(conn.call("EXISTS new"), "0");
}

// Rules: 7bf7 5511
#[test]
fn parsing_comes_before_the_key() {
    let server = Server::start();
    let mut conn = server.conn();
    assert_eq!(conn.call("SET sale string"), "+OK");
    for (line, error) in MISTAKES.iter().filter(|(line, _)| !line.contains("APPLY")) {
        let args: Vec<&[u8]> = args(line);
        assert_eq!(conn.ask(&args).to_string(), *error, "{line} on a string");
    }
}

// Rules: 7bf7
#[test]
fn a_wrong_number_of_arguments_is_seen_by_the_server() {
    let server = Server::start();
    let mut conn = server.conn();
    assert_eq!(conn.call("SECKILL.INIT sale 10"), "+OK");
    for call in ONE_EACH {
        let (call, arity) = (call.replace('@', "sale"), spec_of(call).arity);
        let (all, least) = (words(&call), arity.unsigned_abs() as usize);
        let too_few = (1..least).map(|count| all[..count].to_vec());
        let too_many = (arity > 0).then(|| [&all[..], &[b"more"]].concat());
        for wrong in too_few.chain(too_many) {
            let reply = conn.ask(&wrong).to_string();
            let name = String::from_utf8_lossy(wrong[0]);
            let expected = format!("-ERR wrong number of arguments for '{name}' command");
            assert!(reply.eq_ignore_ascii_case(&expected), "{wrong:?} got {reply}");
        }
    }
}

#[test]
fn a_missing_key_and_a_foreign_value_are_told_apart() {
    let server = Server::start();
    let mut conn = server.conn();
    conn.check(&[("SET string x", "+OK"), ("RPUSH list x", "1"), ("XADD stream 1-1 f v", "'1-1'")]);
    let has_key = |call: &&&str| call.contains('@') && !call.contains("APPLY");
    for call in ONE_EACH.iter().filter(has_key) {
        let missing = if call.contains("MGRAB") { NOSALE_OF_SEVERAL } else { NOSALE };
        if !call.contains("INIT") {
            assert_eq!(conn.call(&call.replace('@', "missing")), missing, "{call}");
            assert_listed(call, missing);
        }
        assert_listed(call, WRONGTYPE);
        for key in ["string", "list", "stream"] {
            assert_eq!(conn.call(&call.replace('@', key)), WRONGTYPE, "{call} on a {key}");
        }
    }
    for (key, error) in [("string", WRONGTYPE), ("missing", NOSALE)] {
        let words = [b"SECKILL.APPLY", key.as_bytes(), b"0", &effect("gu")];
        assert_eq!(conn.ask(&words).to_string(), error);
    }
    assert_eq!(conn.call("EXISTS missing"), "0", "only INIT creates");
    conn.check(&[
        ("SECKILL.INIT sale 1", "+OK"),
        ("GET sale", WRONGTYPE),
        ("INCR sale", WRONGTYPE),
    ]);
}

/// Every command that changes a sale, on one that `init` made, whose round is over while the next
/// one can't begin: it is an error to each caller, and nothing changes.
#[track_caller]
fn assert_no_round_begins(conn: &mut Conn, init: &str, error: &str) {
    let (round, over) = (number(conn, "k", "round"), clock_ms(conn) + 400);
    wait_for_clock(conn, over);
    let calls = calls::with_key("k").filter(|call| !call.contains("INIT"));
    let changes = calls.filter(|call| changes_a_sale(call));
    for call in changes.chain([init.to_owned()]) {
        assert_eq!(conn.call(&call), error, "{call}");
        assert_listed(&call, error);
    }
    assert_eq!(number(conn, "k", "round"), round);
}

// Rules: dfb2
#[test]
fn a_sale_at_a_bound_changes_no_more() {
    let server = Server::start();
    let mut conn = server.conn();
    let init = "SECKILL.INIT k 5 EVERY 200";
    assert_eq!(conn.call(init), "+OK");
    let last = effect("Ue9007199254740991");
    assert_eq!(conn.ask(&[b"SECKILL.APPLY", &b"k"[..], b"1", &last]).to_string(), "+OK");
    // Loaded anew, the sale needs a further epoch for its next change.
    assert_eq!(conn.call("DEBUG RELOAD"), "+OK");
    assert_no_round_begins(&mut conn, init, EXHAUSTED);
    server.assert_sound("k");
}

// Rules: dfb2
#[test]
fn a_sale_whose_outbox_takes_nothing_changes_no_more() {
    let server = Server::start();
    let mut conn = server.conn();
    let init = "SECKILL.INIT k 5 EVERY 200 OUTBOX s";
    conn.check(&[(init, "+OK"), ("SET s string", "+OK")]);
    assert_no_round_begins(&mut conn, init, OUTBOX);
    server.assert_sound("k");
}

/// Requests against the terms of the sale itself.
// Rules: e7e6
#[test]
fn what_only_the_sale_can_tell_is_listed() {
    let server = Server::start();
    let mut conn = server.conn();
    for sale in [
        "packets 9 DRAW PACKETS 3",
        "list 3 DRAW LIST 1 2",
        "rounds 9 EVERY 900000",
        "plain 9 OUTBOX s HOLD 900000 LIMIT 3",
        "rich 9007199254740991",
    ] {
        assert_eq!(conn.call(&format!("SECKILL.INIT {sale}")), "+OK");
    }
    for grab in ["SECKILL.GRAB plain u QTY 1 REQ r", "SECKILL.GRAB plain u"] {
        assert!(!conn.cmd(grab).is_error(), "{grab}");
    }
    assert_eq!(conn.call("SECKILL.RESTOCK plain 1 REQ r"), "[1 8]");
    for (line, error) in [
        ("SECKILL.RESTOCK packets 1 REQ r", "-ERR the supply of a sale with DRAW packets is fixed"),
        ("SECKILL.RESTOCK list 1 REQ r", "-ERR the supply of a sale with DRAW packets is fixed"),
        ("SECKILL.RESTOCK plain 2 REQ r", MISMATCH),
        ("SECKILL.RESTOCK rich 1 REQ r", "-ERR supply must be 0 to 9007199254740991"),
        (
            "SECKILL.IMPORT packets u 1 REQ r",
            "-ERR the supply of a sale with DRAW packets is fixed",
        ),
        ("SECKILL.IMPORT rounds u 1 REQ r", "-ERR a sale with EVERY takes no IMPORT"),
        ("SECKILL.IMPORT plain u 2 REQ r", MISMATCH),
        (
            "SECKILL.IMPORT plain v 9007199254740991 REQ r",
            "-ERR supply must be 0 to 9007199254740991",
        ),
        ("SECKILL.GRAB plain u QTY 2 REQ r", MISMATCH),
        ("SECKILL.GRAB packets u QTY 1", "-ERR a sale with DRAW takes neither QTY nor UPTO"),
        ("SECKILL.MGRAB u 1 plain QTY 2 REQ r", MISMATCH),
        ("SECKILL.MGRAB u 1 packets QTY 1", "-ERR a sale with DRAW takes neither QTY nor UPTO"),
        ("SECKILL.CONFIRM plain u", AMBIGUOUS),
        ("SECKILL.CANCEL plain u", AMBIGUOUS),
        ("SECKILL.EXTEND plain u 5", AMBIGUOUS),
        ("SECKILL.REFUND plain u", AMBIGUOUS),
        ("SECKILL.ALTER plain OUTBOX t", "-ERR OUTBOX can be set only while the sale has none"),
        (
            "SECKILL.INIT plain 10",
            "-SALEEXISTS a sale with other terms is at this key (RESTOCK and ALTER change a sale)",
        ),
        ("SECKILL.INIT new 9 DRAW EQUAL 10", "-ERR supply must be enough for every packet"),
        ("SECKILL.INIT new 9 OUTBOX rich", OUTBOX),
    ] {
        assert_eq!(conn.call(line), error, "{line}");
        assert_listed(line, error);
    }
}

// Rules: 0a12 844a
#[test]
fn id_lengths_have_edges() {
    let server = Server::start();
    let mut conn = server.conn();
    assert_eq!(conn.call("SECKILL.INIT k 10 LIMIT 0"), "+OK");
    let (longest, longer) = ("u".repeat(256), "u".repeat(257));
    let (longest_req, longer_req) = ("r".repeat(128), "r".repeat(129));
    for (line, expected) in [
        (format!("SECKILL.GRAB k {longest}"), "['GRANTED' 1 1 'SOLD' 0 9]"),
        (format!("SECKILL.GRAB k {longer}"), USER),
        (format!("SECKILL.USER k {longer}"), USER),
        (format!("SECKILL.GRAB k u REQ {longest_req}"), "['GRANTED' 2 1 'SOLD' 0 8]"),
        (format!("SECKILL.GRAB k u REQ {longest_req}"), "['REPLAY' 2 1 'SOLD' 0]"),
        (format!("SECKILL.GRAB k u REQ {longer_req}"), REQ),
        (format!("SECKILL.RESTOCK k 1 REQ {longest_req}"), "[1 9]"),
        (format!("SECKILL.RESTOCK k 1 REQ {longer_req}"), REQ),
    ] {
        assert_eq!(conn.call(&line), expected, "{line}");
    }
    let user = conn.cmd(&format!("SECKILL.USER k {longest}"));
    assert_eq!(user.items()[2].items()[0].items()[1].bytes(), longest.as_bytes());
}

/// A client that resends or gives up looks at the first word: it must be a code.
// Rules: 6a53
#[test]
fn error_statistics_have_our_codes() {
    let server = Server::start();
    let mut conn = server.conn();
    for line in ["SECKILL.INIT k 1", "SECKILL.INIT k 2", "SECKILL.GRAB x u", "SECKILL.GRAB k u Q"] {
        conn.cmd(line);
    }
    let errors = conn.cmd("INFO errorstats").text();
    for code in ["SALEEXISTS", "NOSALE", "ERR"] {
        assert!(errors.contains(&format!("errorstat_{code}:count=1")), "{errors}");
    }
}

#[test]
fn out_of_memory_refuses_grants_but_not_what_was_promised() {
    let server = Options::new().line("maxmemory-policy noeviction").start();
    let mut conn = server.conn();
    conn.check(&[
        ("SECKILL.INIT k 10 HOLD 900000 LIMIT 2 OUTBOX s", "+OK"),
        ("SECKILL.ALTER k HOLD 0", "+OK"),
        ("SECKILL.GRAB k a", "['GRANTED' 1 1 'SOLD' 0 9]"),
        ("SECKILL.ALTER k HOLD 900000", "+OK"),
    ]);
    for user in ["b", "c"] {
        assert_eq!(conn.cmd(&format!("SECKILL.GRAB k {user}")).items()[3].text(), "HELD");
    }
    assert_eq!(conn.call("CONFIG SET maxmemory 1"), "+OK");
    let oom = "-OOM command not allowed when used memory > 'maxmemory'.";
    conn.check(&[
        ("SECKILL.GRAB k d", oom),
        ("SECKILL.GRAB k a", oom),
        ("SECKILL.INIT l 10", oom),
        ("SECKILL.RESTOCK k 1 REQ r", oom),
        ("SECKILL.IMPORT k d 1 REQ r", oom),
        ("SECKILL.MGRAB d 1 k", oom),
        ("SECKILL.ALLOW k ADD d", oom),
        ("SECKILL.DENY k ADD d", oom),
        ("SECKILL.CONFIRM k b", "['SOLD' 2 1 0]"),
        ("SECKILL.CANCEL k c", "['CANCELLED' 3 1 0]"),
        ("SECKILL.REFUND k b", "['REFUNDED' 2 1 0]"),
        ("SECKILL.CANCEL k z REQ early", "['CANCELLED' 0 0 0]"),
        ("SECKILL.PAUSE k", "+OK"),
        ("SECKILL.RESUME k", "+OK"),
        ("SECKILL.ALTER k LIMIT 3", "+OK"),
        (
            "SECKILL.AUDIT k",
            "['ok' 1 'grants' 3 'winners' 1 'supply' 10 'available' 9 'held' 0 \
          'sold' 1 'differences' [] 'version' [13 13]]",
        ),
    ]);
    for line in ["SECKILL.STATUS k", "SECKILL.USER k a", "SECKILL.WINNERS k 0", "SECKILL.HELP"] {
        assert!(!conn.cmd(line).is_error(), "{line}");
    }
}

#[test]
fn a_replica_refuses_changes() {
    let primary = Server::start();
    let replica = Server::start();
    assert_eq!(primary.call("SECKILL.INIT k 10"), "+OK");
    replica.follow(&primary);
    let mut conn = replica.conn();
    let readonly = "-READONLY You can't write against a read only replica.";
    conn.check(&[
        ("SECKILL.GRAB k a", readonly),
        ("SECKILL.INIT l 1", readonly),
        ("SECKILL.RESTOCK k 1 REQ r", readonly),
        ("SECKILL.PAUSE k", readonly),
        ("SECKILL.RESUME k", readonly),
        ("SECKILL.ALTER k LIMIT 2", readonly),
        ("SECKILL.CONFIRM k a", readonly),
        ("SECKILL.CANCEL k a", readonly),
        ("SECKILL.EXTEND k a 5", readonly),
        ("SECKILL.REFUND k a", readonly),
        ("SECKILL.IMPORT k a 1 REQ r", readonly),
        ("SECKILL.MGRAB a 1 k", readonly),
        ("SECKILL.ALLOW k ADD a", readonly),
        ("SECKILL.DENY k ADD a", readonly),
        ("SECKILL.APPLY k 1 gu", readonly),
        ("SECKILL.WINNERS k 0", "[0 []]"),
        ("SECKILL.ROUNDS k", "[]"),
        ("SECKILL.USER k a", "[1 'OK' []]"),
    ]);
    for line in ["SECKILL.STATUS k", "SECKILL.AUDIT k", "SECKILL.HELP"] {
        assert!(!conn.cmd(line).is_error(), "{line}");
    }
}
