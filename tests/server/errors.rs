//! Every error that a caller can get, word for word, and that an error changes nothing.

use seckill_oracle::shorthand::effect;

use crate::support::client::words;
use crate::support::shop::{clock_ms, number, wait_for_clock};
use crate::support::{Conn, Options, Server};

const INTEGER: &str = "-ERR value is not an integer or out of range";
const SYNTAX: &str = "-ERR syntax error";
const USER: &str = "-ERR user id must be 1 to 256 bytes";
const REQ: &str = "-ERR request id must be 1 to 128 bytes";
const NOSALE: &str = "-NOSALE no sale at this key";
const WRONGTYPE: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";
const WINDOW: &str = "-ERR CLOSEAT must be after OPENAT";
const OUTBOX_NAME: &str = "-ERR OUTBOX must be a key of 1 to 1024 bytes";
const EXTEND_LONG: &str = "-ERR EXTEND must be at most 2592000000 milliseconds (30 days)";
const MOMENT: &str = "-ERR OPENAT and CLOSEAT are Unix times in milliseconds";
const AT: &str =
    "-ERR AT must be 0 or a Unix time in milliseconds, 100000000000 to 140737488355327";
const HOLD_LONG: &str = "-ERR HOLD must be at most 2592000000 milliseconds (30 days)";
const EXHAUSTED: &str = "-ERR clock, version and epoch of a sale must be within their bounds";
const OUTBOX: &str = "-ERR outbox must be a stream that takes more entries";
const MISMATCH: &str = "-REQMISMATCH request id was used with other arguments";
const AMBIGUOUS: &str = "-AMBIGUOUS user has several grants, give SEQ or REQ";
const APPLY: &str = "-ERR effects must follow the version of the sale and keep its law";

/// Every command with arguments that are in order; `KEY` stands for the key.
const CALLS: [&str; 19] = [
    "SECKILL.GRAB KEY u",
    "SECKILL.RESTOCK KEY 1 REQ r",
    "SECKILL.PAUSE KEY",
    "SECKILL.RESUME KEY",
    "SECKILL.ALTER KEY LIMIT 2",
    "SECKILL.CONFIRM KEY u",
    "SECKILL.CANCEL KEY u REQ r",
    "SECKILL.EXTEND KEY u 5",
    "SECKILL.REFUND KEY u SEQ 1",
    "SECKILL.IMPORT KEY u 1 REQ r",
    "SECKILL.AUDIT KEY",
    "SECKILL.STATUS KEY",
    "SECKILL.STATUS KEY JSON",
    "SECKILL.USER KEY u",
    "SECKILL.WINNERS KEY 0",
    "SECKILL.ROUNDS KEY",
    "SECKILL.ALLOW KEY ADD u",
    "SECKILL.DENY KEY ADD u",
    "SECKILL.MGRAB u 1 KEY",
];

/// What does not parse, by command. `~` stands for an empty argument.
const MISTAKES: &[(&str, &str)] = &[
    ("SECKILL.INIT new ~", INTEGER),
    ("SECKILL.INIT new -1", INTEGER),
    ("SECKILL.INIT new +1", INTEGER),
    ("SECKILL.INIT new 01", INTEGER),
    ("SECKILL.INIT new 1.0", INTEGER),
    ("SECKILL.INIT new 1e3", INTEGER),
    ("SECKILL.INIT new 0x1", INTEGER),
    ("SECKILL.INIT new ten", INTEGER),
    ("SECKILL.INIT new 9007199254740992", INTEGER),
    ("SECKILL.INIT new 9223372036854775808", INTEGER),
    ("SECKILL.INIT new 18446744073709551617", INTEGER),
    ("SECKILL.INIT new 1 LIMIT", SYNTAX),
    ("SECKILL.INIT new 1 LIMIT x", INTEGER),
    ("SECKILL.INIT new 1 LIMIT -1", INTEGER),
    ("SECKILL.INIT new 1 LIMIT 9007199254740992", INTEGER),
    ("SECKILL.INIT new 1 LIMIT 1 LIMIT 1", SYNTAX),
    ("SECKILL.INIT new 1 LIMIT 1 limit 1", SYNTAX),
    ("SECKILL.INIT new 1 GRABS", SYNTAX),
    ("SECKILL.INIT new 1 GRABS -1", INTEGER),
    ("SECKILL.INIT new 1 GRABS 1 GRABS 1", SYNTAX),
    ("SECKILL.INIT new 1 HOLD", SYNTAX),
    ("SECKILL.INIT new 1 HOLD x", INTEGER),
    ("SECKILL.INIT new 1 HOLD 2592000001", HOLD_LONG),
    ("SECKILL.INIT new 1 OPENAT", SYNTAX),
    ("SECKILL.INIT new 1 OPENAT -5", INTEGER),
    ("SECKILL.INIT new 1 CLOSEAT", SYNTAX),
    ("SECKILL.INIT new 1 CLOSEAT 1.5", INTEGER),
    ("SECKILL.INIT new 1 OPENAT 100000000005 CLOSEAT 100000000005", WINDOW),
    ("SECKILL.INIT new 1 CLOSEAT 100000000005 OPENAT 100000000006", WINDOW),
    ("SECKILL.INIT new 1 OPENAT 1", MOMENT),
    ("SECKILL.INIT new 1 OPENAT 1795241037", MOMENT),
    ("SECKILL.INIT new 1 CLOSEAT 99999999999", MOMENT),
    ("SECKILL.INIT new 1 CLOSEAT 5 OPENAT x", MOMENT),
    ("SECKILL.INIT new 1 COLOUR red", SYNTAX),
    ("SECKILL.INIT new 1 ~", SYNTAX),
    ("SECKILL.INIT new 1 QTY 1", SYNTAX),
    ("SECKILL.INIT new 1 OUTBOX", SYNTAX),
    ("SECKILL.INIT new 1 OUTBOX ~", OUTBOX_NAME),
    ("SECKILL.INIT new 1 OUTBOX s OUTBOX s", SYNTAX),
    ("SECKILL.INIT new 1 DRAW", SYNTAX),
    ("SECKILL.INIT new 1 DRAW NONE 1", SYNTAX),
    ("SECKILL.INIT new 1 DRAW EQUAL x", INTEGER),
    ("SECKILL.INIT new 1 MIN 1", SYNTAX),
    ("SECKILL.INIT new 1 OFFSET 5", SYNTAX),
    ("SECKILL.INIT new 1 EVERY x", INTEGER),
    (
        "SECKILL.INIT new 1 EVERY 0",
        "-ERR EVERY must be 1 to 140737488355327 milliseconds, OFFSET at most that",
    ),
    ("SECKILL.INIT new 1 EVERY 5 LASTS 6", "-ERR LASTS must be at least 1 and at most EVERY"),
    ("SECKILL.INIT new 1 EVERY 5 EVERY 5", SYNTAX),
    ("SECKILL.INIT new 1 EVERY 5 CARRY CARRY", SYNTAX),
    ("SECKILL.INIT new 1 CARRY", SYNTAX),
    ("SECKILL.INIT new 4 DRAW LIST 4 DRAW LIST 4", SYNTAX),
    ("SECKILL.INIT new 4 DRAW LIST", SYNTAX),
    ("SECKILL.INIT new 4 DRAW UNIFORM 1", SYNTAX),
    ("SECKILL.INIT new 1 ALLOWLIST ALLOWLIST", SYNTAX),
    ("SECKILL.INIT new 1 MASK MASK", SYNTAX),
    ("SECKILL.INIT new 1 MOD 2 0 MOD 2 0", SYNTAX),
    ("SECKILL.INIT new 1 SAMPLE 1 SAMPLE 1", SYNTAX),
    ("SECKILL.INIT new 1 ADMIT x", INTEGER),
    ("SECKILL.INIT new 1 SALT s", SYNTAX),
    ("SECKILL.INIT new 1 MOD 2 2", "-ERR MOD remainders must be less than the modulus"),
    ("SECKILL.INIT new 1 SAMPLE 1001", "-ERR SAMPLE must be at most 1000 permille"),
    ("SECKILL.ALLOW sale ADD ~", USER),
    ("SECKILL.ALLOW sale PUT u", SYNTAX),
    ("SECKILL.ALLOW sale ADD u ~", USER),
    ("SECKILL.DENY sale ADD ~", USER),
    ("SECKILL.MGRAB u 0 sale", "-ERR numkeys must be 1 to 64"),
    ("SECKILL.MGRAB u 2 sale", SYNTAX),
    ("SECKILL.MGRAB ~ 1 sale", USER),
    ("SECKILL.MGRAB u 1 sale QTY 0", INTEGER),
    ("SECKILL.MGRAB u 1 sale QTY 1 2", SYNTAX),
    ("SECKILL.MGRAB u 1 sale QTY", SYNTAX),
    ("SECKILL.MGRAB u 1 sale QTY 1 QTY 1", SYNTAX),
    ("SECKILL.MGRAB u 2 sale sale QTY 9007199254740991", INTEGER),
    ("SECKILL.MGRAB u 1 sale REQ ~", REQ),
    ("SECKILL.MGRAB u 1 sale REQ r REQ r", SYNTAX),
    ("SECKILL.MGRAB u -1 sale", INTEGER),
    ("SECKILL.MGRAB u 65 sale", "-ERR numkeys must be 1 to 64"),
    ("SECKILL.ROUNDS sale COUNT 101", INTEGER),
    ("SECKILL.ROUNDS sale COUNT 0", INTEGER),
    ("SECKILL.ROUNDS sale COUNT", SYNTAX),
    ("SECKILL.ROUNDS sale COUNT 1 COUNT 1", SYNTAX),
    ("SECKILL.ROUNDS sale LAST 1", SYNTAX),
    ("SECKILL.GRAB sale ~", USER),
    ("SECKILL.GRAB sale u QTY", SYNTAX),
    ("SECKILL.GRAB sale u QTY 0", INTEGER),
    ("SECKILL.GRAB sale u QTY -1", INTEGER),
    ("SECKILL.GRAB sale u QTY 01", INTEGER),
    ("SECKILL.GRAB sale u QTY 1.0", INTEGER),
    ("SECKILL.GRAB sale u QTY 9007199254740992", INTEGER),
    ("SECKILL.GRAB sale u UPTO", SYNTAX),
    ("SECKILL.GRAB sale u UPTO 0", INTEGER),
    ("SECKILL.GRAB sale u UPTO many", INTEGER),
    ("SECKILL.GRAB sale u QTY 1 UPTO 1", SYNTAX),
    ("SECKILL.GRAB sale u UPTO 1 QTY 1", SYNTAX),
    ("SECKILL.GRAB sale u QTY 1 QTY 1", SYNTAX),
    ("SECKILL.GRAB sale u REQ", SYNTAX),
    ("SECKILL.GRAB sale u REQ ~", REQ),
    ("SECKILL.GRAB sale u REQ r REQ r", SYNTAX),
    ("SECKILL.GRAB sale u NOW", SYNTAX),
    ("SECKILL.GRAB sale u ~", SYNTAX),
    ("SECKILL.RESTOCK sale 0 REQ r", INTEGER),
    ("SECKILL.RESTOCK sale -0 REQ r", INTEGER),
    ("SECKILL.RESTOCK sale x REQ r", INTEGER),
    ("SECKILL.RESTOCK sale +1 REQ r", INTEGER),
    ("SECKILL.RESTOCK sale --1 REQ r", INTEGER),
    ("SECKILL.RESTOCK sale 9007199254740992 REQ r", INTEGER),
    ("SECKILL.RESTOCK sale -9007199254740992 REQ r", INTEGER),
    ("SECKILL.RESTOCK sale 1 REQ ~", REQ),
    ("SECKILL.RESTOCK sale 1 QER r", SYNTAX),
    ("SECKILL.ALTER sale LIMIT 2 GRABS", SYNTAX),
    ("SECKILL.ALTER sale LIMIT", SYNTAX),
    ("SECKILL.ALTER sale LIMIT x", INTEGER),
    ("SECKILL.ALTER sale LIMIT 2 LIMIT 2", SYNTAX),
    ("SECKILL.ALTER sale GRABS -1", INTEGER),
    ("SECKILL.ALTER sale HOLD 2592000001", HOLD_LONG),
    ("SECKILL.ALTER sale OPENAT 100000000009 CLOSEAT 100000000009", WINDOW),
    ("SECKILL.ALTER sale OPENAT 1795241037", MOMENT),
    ("SECKILL.ALTER sale CLOSEAT 99999999999", MOMENT),
    ("SECKILL.ALTER sale SUPPLY 9", SYNTAX),
    ("SECKILL.ALTER sale LIMIT 2 OUTBOX", SYNTAX),
    ("SECKILL.ALTER sale OUTBOX ~", OUTBOX_NAME),
    ("SECKILL.ALTER sale DRAW EQUAL", SYNTAX),
    ("SECKILL.ALTER sale LIMIT 2 DRAW EQUAL 3", SYNTAX),
    ("SECKILL.ALTER sale LIMIT 2 EVERY 1000", SYNTAX),
    ("SECKILL.ALTER sale LIMIT 2 PART 1 OF 2 SPLIT s TOTAL 9", SYNTAX),
    ("SECKILL.STATUS sale XML", SYNTAX),
    ("SECKILL.STATUS sale JSON JSON", SYNTAX),
    ("SECKILL.USER sale ~", USER),
    ("SECKILL.USER sale u COUNT", SYNTAX),
    ("SECKILL.USER sale u COUNT 0", INTEGER),
    ("SECKILL.USER sale u COUNT -1", INTEGER),
    ("SECKILL.USER sale u COUNT 1 COUNT 1", SYNTAX),
    ("SECKILL.USER sale u LIMIT 1", SYNTAX),
    ("SECKILL.WINNERS sale ~", INTEGER),
    ("SECKILL.WINNERS sale -1", INTEGER),
    ("SECKILL.WINNERS sale x", INTEGER),
    ("SECKILL.WINNERS sale 0 COUNT", SYNTAX),
    ("SECKILL.WINNERS sale 0 COUNT 0", INTEGER),
    ("SECKILL.WINNERS sale 0 COUNT 10001", INTEGER),
    ("SECKILL.WINNERS sale 0 COUNT 1 COUNT 1", SYNTAX),
    ("SECKILL.WINNERS sale 0 STATE", SYNTAX),
    ("SECKILL.WINNERS sale 0 STATE PAID", SYNTAX),
    ("SECKILL.WINNERS sale 0 STATE ALL STATE ALL", SYNTAX),
    ("SECKILL.WINNERS sale 0 ROUND x", INTEGER),
    ("SECKILL.CONFIRM sale ~", USER),
    ("SECKILL.CONFIRM sale u SEQ", SYNTAX),
    ("SECKILL.CONFIRM sale u SEQ 0", INTEGER),
    ("SECKILL.CONFIRM sale u SEQ x", INTEGER),
    ("SECKILL.CONFIRM sale u SEQ 1 SEQ 1", SYNTAX),
    ("SECKILL.CONFIRM sale u SEQ 1 REQ r", SYNTAX),
    ("SECKILL.CONFIRM sale u REQ ~", REQ),
    ("SECKILL.CONFIRM sale u RECLAIM", SYNTAX),
    ("SECKILL.CONFIRM sale u SEQ 1 RECLAIM RECLAIM", SYNTAX),
    ("SECKILL.CONFIRM sale u now", SYNTAX),
    ("SECKILL.CANCEL sale ~", USER),
    ("SECKILL.CANCEL sale u REQ", SYNTAX),
    ("SECKILL.CANCEL sale u REQ ~", REQ),
    ("SECKILL.CANCEL sale u SEQ -1", INTEGER),
    ("SECKILL.CANCEL sale u SEQ 1 RECLAIM", SYNTAX),
    ("SECKILL.EXTEND sale ~ 5", USER),
    ("SECKILL.EXTEND sale u 0", INTEGER),
    ("SECKILL.EXTEND sale u -5", INTEGER),
    ("SECKILL.EXTEND sale u 01", INTEGER),
    ("SECKILL.EXTEND sale u 2592000001", EXTEND_LONG),
    ("SECKILL.EXTEND sale u 5 SEQ", SYNTAX),
    ("SECKILL.EXTEND sale u 5 RECLAIM", SYNTAX),
    ("SECKILL.REFUND sale ~", USER),
    ("SECKILL.REFUND sale u SEQ 1 RECLAIM", SYNTAX),
    ("SECKILL.REFUND sale u QTY 1", SYNTAX),
    ("SECKILL.IMPORT sale ~ 1 REQ r", USER),
    ("SECKILL.IMPORT sale u 0 REQ r", INTEGER),
    ("SECKILL.IMPORT sale u -1 REQ r", INTEGER),
    ("SECKILL.IMPORT sale u 9007199254740992 REQ r", INTEGER),
    ("SECKILL.IMPORT sale u 1 REQ ~", REQ),
    ("SECKILL.IMPORT sale u 1 REQ r REQ r", SYNTAX),
    ("SECKILL.IMPORT sale u 1 AT 100000000005", SYNTAX),
    ("SECKILL.IMPORT sale u 1 REQ r AT", SYNTAX),
    ("SECKILL.IMPORT sale u 1 REQ r AT -5", INTEGER),
    ("SECKILL.IMPORT sale u 1 REQ r AT 140737488355328", AT),
    ("SECKILL.IMPORT sale u 1 REQ r AT 1795241037", AT),
    ("SECKILL.IMPORT sale u 1 AT 99999999999 REQ r", AT),
    ("SECKILL.IMPORT sale u 1 NODEFICIT 5", SYNTAX),
    ("SECKILL.IMPORT sale u 1 REQ r NODEFICIT NODEFICIT", SYNTAX),
    ("SECKILL.APPLY sale x gu", APPLY),
    ("SECKILL.APPLY sale 1 ~", APPLY),
    ("SECKILL.APPLY sale 0 gu", APPLY),
];

/// Too few or too many arguments for the arity in the command table.
const ARITIES: [&str; 38] = [
    "SECKILL.INIT",
    "SECKILL.INIT sale",
    "SECKILL.GRAB",
    "SECKILL.GRAB sale",
    "SECKILL.RESTOCK sale 1",
    "SECKILL.RESTOCK sale 1 REQ",
    "SECKILL.RESTOCK sale 1 REQ r r",
    "SECKILL.PAUSE",
    "SECKILL.PAUSE sale now",
    "SECKILL.RESUME",
    "SECKILL.RESUME sale now",
    "SECKILL.ALTER",
    "SECKILL.ALTER sale",
    "SECKILL.CONFIRM sale",
    "SECKILL.CANCEL sale",
    "SECKILL.EXTEND sale u",
    "SECKILL.REFUND sale",
    "SECKILL.IMPORT sale u 1",
    "SECKILL.IMPORT sale u 1 REQ",
    "SECKILL.IMPORT sale u 1 NODEFICIT",
    "SECKILL.AUDIT",
    "SECKILL.AUDIT sale now",
    "SECKILL.STATUS",
    "SECKILL.USER sale",
    "SECKILL.WINNERS sale",
    "SECKILL.ALLOW sale",
    "SECKILL.ALLOW sale ADD",
    "SECKILL.DENY sale",
    "SECKILL.DENY sale REMOVE",
    "SECKILL.MGRAB",
    "SECKILL.MGRAB u",
    "SECKILL.MGRAB u 1",
    "SECKILL.ROUNDS",
    "SECKILL.USER",
    "SECKILL.WINNERS",
    "SECKILL.HELP me",
    "SECKILL.APPLY sale",
    "SECKILL.APPLY sale 0",
];

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
    let item = format!("\n- `{}`\n", error.strip_prefix('-').unwrap());
    let own = section(name);
    let is_change = own.contains("\n- those of every command that changes a sale\n");
    let is_listed = own.contains(&item) || is_change && section("Commands").contains(&item);
    assert!(is_listed, "{line}: {error} is not among the errors of {name}");
}

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

#[test]
fn a_wrong_number_of_arguments_is_seen_by_the_server() {
    let server = Server::start();
    let mut conn = server.conn();
    assert_eq!(conn.call("SECKILL.INIT sale 10"), "+OK");
    for line in ARITIES {
        let reply = conn.call(line);
        let name = line.split(' ').next().unwrap_or_default();
        let expected = format!("-ERR wrong number of arguments for '{name}' command");
        assert!(reply.eq_ignore_ascii_case(&expected), "{line} got {reply}");
    }
}

#[test]
fn a_missing_key_and_a_foreign_value_are_told_apart() {
    let server = Server::start();
    let mut conn = server.conn();
    conn.check(&[("SET string x", "+OK"), ("RPUSH list x", "1"), ("XADD stream 1-1 f v", "'1-1'")]);
    for call in CALLS {
        assert_eq!(conn.call(&call.replace("KEY", "missing")), NOSALE, "{call}");
        assert_listed(call, NOSALE);
        assert_listed(call, WRONGTYPE);
        for key in ["string", "list", "stream"] {
            assert_eq!(conn.call(&call.replace("KEY", key)), WRONGTYPE, "{call} on a {key}");
        }
    }
    assert_eq!(conn.call("SECKILL.INIT string 1"), WRONGTYPE);
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
    let reads =
        ["AUDIT", "STATUS", "USER", "WINNERS", "ROUNDS"].map(|name| format!("SECKILL.{name} "));
    let changes = CALLS.iter().filter(|call| !reads.iter().any(|name| call.starts_with(name)));
    for call in changes.copied().chain([init]) {
        assert_eq!(conn.call(&call.replace("KEY", "k")), error, "{call}");
        assert_listed(call, error);
    }
    assert_eq!(number(conn, "k", "round"), round);
}

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

#[test]
fn a_sale_whose_outbox_takes_nothing_changes_no_more() {
    let server = Server::start();
    let mut conn = server.conn();
    let init = "SECKILL.INIT k 5 EVERY 200 OUTBOX s";
    conn.check(&[(init, "+OK"), ("SET s string", "+OK")]);
    assert_no_round_begins(&mut conn, init, OUTBOX);
    server.assert_sound("k");
}

/// What goes against the terms of the sale itself.
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
        ("SECKILL.RESTOCK rich 1 REQ r", "-ERR supply must be at most 9007199254740991"),
        (
            "SECKILL.IMPORT packets u 1 REQ r",
            "-ERR the supply of a sale with DRAW packets is fixed",
        ),
        ("SECKILL.IMPORT rounds u 1 REQ r", "-ERR a sale with EVERY takes no IMPORT"),
        ("SECKILL.IMPORT plain u 2 REQ r", MISMATCH),
        (
            "SECKILL.IMPORT plain v 9007199254740991 REQ r",
            "-ERR supply must be at most 9007199254740991",
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
        ("SECKILL.INIT plain 10", "-SALEEXISTS a sale with other terms is at this key"),
        ("SECKILL.INIT new 9 DRAW EQUAL 10", "-ERR supply must be enough for every packet"),
        ("SECKILL.INIT new 9 OUTBOX rich", OUTBOX),
    ] {
        assert_eq!(conn.call(line), error, "{line}");
        assert_listed(line, error);
    }
}

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
          'sold' 1 'differences' []]",
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
