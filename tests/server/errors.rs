//! Every error that a caller can get, word for word; an error changes nothing.

use seckill_model::shorthand::effect;

use crate::calls::{changes_a_sale, spec_of};
use crate::support::calls::{self, ONE_EACH};
use crate::support::client::words;
use crate::support::shop::{number, wait_for_clock};
use crate::support::{Conn, Options, Server};

const USER: &str = "-ERR user id must be 1 to 256 bytes";
const REQ: &str = "-ERR request id must be 1 to 128 bytes";
const NOSALE_OF_SEVERAL: &str = "-NOSALE no sale at this key (one of those behind numkeys)";
const NOSALE: &str = "-NOSALE no sale at this key (the key is the first argument)";
const WRONGTYPE: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";
const EXHAUSTED: &str = "-ERR clock, version and epoch of a sale must be within their bounds";
const OUTBOX: &str = "-ERR outbox must be a stream that takes more entries";

/// Calls that can't be parsed, and invalid terms.
const MISTAKES: &str = include_str!("errors/mistakes.txt");
/// Calls that are refused because of the sale's terms: see `what_only_the_sale_can_tell_is_listed`.
const REFUSED: &str = include_str!("errors/refused.txt");

/// Each call of a table with its error. The calls of an error are indented below it, separated by
/// bars and without `SECKILL.`; `~` is an empty argument.
fn calls_of(table: &str) -> impl Iterator<Item = (String, String)> + '_ {
    let mut error = "";
    table.lines().flat_map(move |line| {
        let calls = line.strip_prefix("    ").unwrap_or_default();
        if calls.is_empty() {
            error = line;
        }
        let calls = calls.split('|').map(str::trim).filter(|call| !call.is_empty());
        calls.map(move |call| (format!("SECKILL.{call}"), format!("-{error}")))
    })
}

fn args(line: &str) -> Vec<&[u8]> {
    words(line).into_iter().map(|word| if word == b"~" { b"" } else { word }).collect()
}

/// Checks that the docs list the error for the command, or for every change.
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

// Rules: 7bf7 5511 6046 7e17 7087 7a20 ac60 4145 5df7
#[test]
fn mistakes_have_their_text_and_change_nothing() {
    let (server, mut conn) = Server::start().with_conn();
    assert_eq!(conn.call("SECKILL.INIT sale 10"), "+OK");
    let digest = server.digest("sale");
    let counters = conn.cmd("SECKILL.STATUS sale").field("counters");
    for (line, error) in calls_of(MISTAKES) {
        assert_eq!(conn.ask(&args(&line)).to_string(), error, "{line}");
        assert_listed(&line, &error);
    }
    assert_eq!(server.digest("sale"), digest);
    assert_eq!(conn.cmd("SECKILL.STATUS sale").field("counters"), counters);
    assert_eq!(conn.call("EXISTS new"), "0");
}

// Rules: 7bf7 ec33 5511
#[test]
fn parsing_comes_before_the_key() {
    let (_server, mut conn) = Server::start().with_conn();
    assert_eq!(conn.call("SET sale string"), "+OK");
    for (line, error) in calls_of(MISTAKES).filter(|(line, _)| !line.contains("APPLY")) {
        assert_eq!(conn.ask(&args(&line)).to_string(), error, "{line} on a string");
    }
    for terms in ["EVERY 10 LASTS 20", "DRAW PACKETS 6", "PART 0 OF 1 SPLIT s TOTAL 1"] {
        let init = |key| format!("SECKILL.INIT {key} 5 {terms}");
        assert_eq!(conn.call(&init("sale")), WRONGTYPE, "{terms}");
        assert!(conn.cmd(&init("new")).is_error(), "{terms}");
    }
}

// Rules: 7bf7
#[test]
fn a_wrong_number_of_arguments_is_seen_by_the_server() {
    let (_server, mut conn) = Server::start().with_conn();
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
    let (_server, mut conn) = Server::start().with_conn();
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

/// Calls every command that changes a sale on the sale of `init`, whose round is over and whose
/// next one can't begin. Each call is an error and changes nothing.
#[track_caller]
fn assert_no_round_begins(conn: &mut Conn, init: &str, error: &str) {
    let (round, over) = (number(conn, "k", "round"), conn.clock_ms() + 400);
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
    let (server, mut conn) = Server::start().with_conn();
    let init = "SECKILL.INIT k 5 EVERY 200";
    assert_eq!(conn.call(init), "+OK");
    let last = effect("Ue9007199254740991");
    assert_eq!(conn.ask(&[b"SECKILL.APPLY", &b"k"[..], b"1", &last]).to_string(), "+OK");
    // After a reload the sale needs a new epoch for its next change.
    assert_eq!(conn.call("DEBUG RELOAD"), "+OK");
    assert_no_round_begins(&mut conn, init, EXHAUSTED);
    server.assert_sound("k");
}

// Rules: dfb2
#[test]
fn a_sale_whose_outbox_takes_nothing_changes_no_more() {
    let (server, mut conn) = Server::start().with_conn();
    let init = "SECKILL.INIT k 5 EVERY 200 OUTBOX s";
    conn.check(&[(init, "+OK"), ("SET s string", "+OK")]);
    assert_no_round_begins(&mut conn, init, OUTBOX);
    server.assert_sound("k");
}

/// Requests that contradict the terms of the sale.
// Rules: e7e6 c68a d951 a749
#[test]
fn what_only_the_sale_can_tell_is_listed() {
    let (server, mut conn) = Server::start().with_conn();
    let sales = [
        "packets 9 DRAW PACKETS 3",
        "list 3 DRAW LIST 1 2",
        "equal 10 DRAW EQUAL 3",
        "uniform 10 DRAW UNIFORM 1 9",
        "rounds 9 EVERY 900000",
        "plain 9 OUTBOX s HOLD 900000 LIMIT 3",
        "bare 10",
        "rich 9007199254740991",
        "hall 200 LIMIT 0 HOLD 900000 NUMBERED",
        "p0 6 PART 0 OF 2 SPLIT s TOTAL 10",
        "p1 4 PART 1 OF 2 SPLIT s TOTAL 10",
    ];
    for sale in sales {
        assert_eq!(conn.call(&format!("SECKILL.INIT {sale}")), "+OK");
    }
    for call in ["GRAB plain u QTY 1 REQ r", "GRAB plain u", "GRAB hall u UNITS 1 2 REQ r"] {
        assert!(!conn.cmd(&format!("SECKILL.{call}")).is_error(), "{call}");
    }
    conn.check(&[("SECKILL.RESTOCK plain 1 REQ r", "[1 8]"), ("SET string x", "+OK")]);
    let digests = || sales.map(|sale| server.digest(sale.split(' ').next().unwrap()));
    let before = digests();
    for (line, error) in calls_of(REFUSED) {
        assert_eq!(conn.call(&line), error, "{line}");
        assert_listed(&line, &error);
    }
    assert_eq!(digests(), before);
}

// Rules: 0a12 844a
#[test]
fn lengths_have_edges() {
    let (_server, mut conn) = Server::start().with_conn();
    conn.check(&[("SECKILL.INIT k 10 LIMIT 0", "+OK"), ("SECKILL.INIT hall 200 NUMBERED", "+OK")]);
    let (longest, longer) = ("u".repeat(256), "u".repeat(257));
    let (longest_req, longer_req) = ("r".repeat(128), "r".repeat(129));
    let numbers = |count: u32| (1..=count).map(|n| format!(" {n}")).collect::<String>();
    let (units, fits, remainders) = (numbers(101), numbers(1000), numbers(1001));
    let split = "x".repeat(65);
    let (many_units, salt) = ("-ERR QTY must be 1 to 100", "-ERR SALT must be 0 to 128 bytes");
    let many_remainders = "-ERR MOD takes at most 1000 remainders";
    for (line, expected) in [
        (format!("SECKILL.GRAB k {longest}"), "['GRANTED' 1 1 'SOLD' 0 9]"),
        (format!("SECKILL.GRAB k {longer}"), USER),
        (format!("SECKILL.USER k {longer}"), USER),
        (format!("SECKILL.GRAB k u REQ {longest_req}"), "['GRANTED' 2 1 'SOLD' 0 8]"),
        (format!("SECKILL.GRAB k u REQ {longest_req}"), "['REPLAY' 2 1 'SOLD' 0]"),
        (format!("SECKILL.GRAB k u REQ {longer_req}"), REQ),
        (format!("SECKILL.RESTOCK k 1 REQ {longest_req}"), "[1 9]"),
        (format!("SECKILL.RESTOCK k 1 REQ {longer_req}"), REQ),
        (format!("SECKILL.ALLOW k ADD {longer}"), USER),
        (format!("SECKILL.DENY k ADD {longer}"), USER),
        (format!("SECKILL.INIT new 5 MOD 5000{remainders}"), many_remainders),
        (format!("SECKILL.ALTER k MOD 5000{remainders}"), many_remainders),
        (format!("SECKILL.INIT new 5 MOD 5000{fits}"), "+OK"),
        (format!("SECKILL.INIT new 5 SAMPLE 5 SALT {longer_req}"), salt),
        (format!("SECKILL.ALTER k SAMPLE 5 SALT {longer_req}"), salt),
        (
            format!("SECKILL.INIT new 9 PART 0 OF 2 SPLIT {split} TOTAL 9"),
            "-ERR SPLIT must be 1 to 64 bytes",
        ),
        (format!("SECKILL.GRAB hall u UNITS{units}"), many_units),
        (format!("SECKILL.IMPORT hall u 101 REQ r UNITS{units}"), many_units),
        (format!("SECKILL.CANCEL hall u REQ r KEEP UNITS{units}"), many_units),
    ] {
        assert_eq!(conn.call(&line), expected, "{line}");
    }
    let user = conn.cmd(&format!("SECKILL.USER k {longest}"));
    assert_eq!(user.items()[2].items()[0].items()[1].bytes(), longest.as_bytes());
}

/// A client decides by the first word whether to retry: it must be a code.
// Rules: 6a53
#[test]
fn error_statistics_have_our_codes() {
    let (_server, mut conn) = Server::start().with_conn();
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
