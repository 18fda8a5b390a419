//! Replies of STATUS, USER, WINNERS and AUDIT.

use seckill_domain::outcome::OUTCOMES;
use seckill_domain::terms::{Section, TERMS};

use crate::support::shop::counters;
use crate::support::{Reply, Server};

/// Checks the order of the counters: answers first, then changes.
fn assert_counter_names(status: &Reply) {
    let names: Vec<String> =
        status.field("counters").pairs().into_iter().map(|(name, _)| name).collect();
    let answers = OUTCOMES.iter().map(|row| row.counter.to_str().expect("plain text"));
    let changes = [
        "confirmed",
        "cancelled",
        "expired",
        "refunded",
        "reclaimed",
        "imported",
        "trimmed",
        "offers",
        "dropped",
    ];
    assert_eq!(names, ["attempts"].into_iter().chain(answers).chain(changes).collect::<Vec<_>>());
}

/// The terms in STATUS: these two, and 0 for all others.
fn terms(limit: &str, grabs: &str) -> Vec<String> {
    let shown = TERMS.iter().filter(|term| term.section() == Some(Section::Sale));
    let names = shown.filter_map(|term| Some(term.field?.0));
    let value = |name| match name {
        "limit" => limit.to_owned(),
        "grabs" => grabs.to_owned(),
        other => format!("{other} 0"),
    };
    names.map(value).collect()
}

/// The fields of STATUS and their order are part of the contract: scripts read them.
// Rules: d2f0 90fc
#[test]
fn status_shows_every_number() {
    let (server, mut conn) = Server::start().with_conn();
    let before = server.clock_ms();
    for line in [
        "SECKILL.INIT k 10 LIMIT 3 GRABS 9",
        "SECKILL.GRAB k a QTY 2 REQ o",
        "SECKILL.GRAB k b QTY 3",
        "SECKILL.GRAB k a QTY 2 REQ o",
        "SECKILL.GRAB k a QTY 2",
        "SECKILL.GRAB k b",
        "SECKILL.RESTOCK k -4 REQ r",
        "SECKILL.GRAB k c QTY 3",
        "SECKILL.GRAB k c",
        "SECKILL.GRAB k d",
        "SECKILL.PAUSE k",
        "SECKILL.GRAB k d",
    ] {
        assert!(!conn.cmd(line).is_error(), "{line}");
    }
    let after = server.clock_ms();
    let status = conn.cmd("SECKILL.STATUS k");
    for name in ["now", "created_at", "last_grant_at"] {
        let time = status.field(name).int();
        assert!((before..=after + 1000).contains(&time), "{name} is {time}");
    }
    let epoch = status.field("epoch").int();
    assert!((1..=after).contains(&epoch), "the run began before now: {epoch}");
    assert_eq!(status.field("id").bytes().len(), 16, "the id is 64 bits in hexadecimal");
    let shown: Vec<String> = status
        .pairs()
        .iter()
        .map(|(name, value)| match name.as_str() {
            "now" | "created_at" | "last_grant_at" | "epoch" | "id" | "counters" => name.clone(),
            _ => format!("{name} {value}"),
        })
        .collect();
    let expected_counters = "attempts 9 granted 3 already 1 replayed 1 overlimit 1 soldout 1 \
                             short 1 paused 1";
    assert_eq!(counters(&mut conn, "k"), expected_counters);
    assert_counter_names(&status);
    let before = [
        "state 'paused'",
        "supply 6",
        "available 0",
        "held 0",
        "sold 6",
        "deficit 0",
        "winners 3",
        "grants 3",
    ];
    let after = [
        "now",
        "next_deadline 0",
        "created_at",
        "last_grant_at",
        "id",
        "epoch",
        "version 6",
        "rev 0",
        "outbox nil",
        "outbox_error 0",
        "fences_dropped 0",
        "counters",
    ];
    let [before, after] = [&before[..], &after].map(|all| all.iter().map(|it| (*it).to_owned()));
    assert_eq!(shown, before.chain(terms("limit 3", "grabs 9")).chain(after).collect::<Vec<_>>());
}

// Rules: 54b3
#[test]
fn status_as_json_has_the_same_fields() {
    let (_server, mut conn) = Server::start().with_conn();
    conn.check(&[
        ("SECKILL.INIT k 10 PART 0 OF 1 SPLIT s TOTAL 10", "+OK"),
        ("SECKILL.GRAB k a", "['GRANTED' 1 1 'SOLD' 0 9]"),
        ("SECKILL.GRAB k a", "['ALREADY' 1 1 'SOLD' 0]"),
    ]);
    let mut status = conn.cmd("SECKILL.STATUS k").pairs();
    let text = conn.cmd("SECKILL.STATUS k json");
    let json: serde_json::Value = serde_json::from_slice(text.bytes()).expect("JSON");
    let json = json.as_object().expect("an object");
    let (_, counters) = status.pop().expect("the counters come last");
    assert_eq!(json.len(), status.len() + 1);
    for (name, value) in status.iter().filter(|(name, _)| name != "now") {
        assert_eq!(as_reply(&json[name]), *value, "{name}");
    }
    let json = json["counters"].as_object().expect("nested counters");
    assert_eq!(json.len(), counters.pairs().len());
    for (name, value) in counters.pairs() {
        assert_eq!(as_reply(&json[&name]), value, "{name}");
    }
}

fn as_reply(value: &serde_json::Value) -> Reply {
    match value {
        serde_json::Value::Null => Reply::Nil,
        serde_json::Value::String(text) => Reply::Bulk(text.clone().into_bytes()),
        number => Reply::Int(number.as_i64().expect("an integer")),
    }
}

/// A row without time and epoch, which are checked here, because they differ in each run.
fn row(server: &Server, row: &Reply) -> String {
    let [seq, user, qty, state, at, deadline, req, epoch, round] = row.items() else {
        panic!("nine elements were expected: {row}");
    };
    let now = server.clock_ms();
    assert!((now - 60_000..=now).contains(&at.int()), "at is a time: {row}");
    assert!((1..=now).contains(&epoch.int()), "epoch is a time: {row}");
    format!("{seq} {user} {qty} {state} {deadline} {req} {round}")
}

// Rules: 36ed 305e 589b
#[test]
fn user_lists_the_newest_grants_first() {
    let (server, mut conn) = Server::start().with_conn();
    assert_eq!(conn.call("SECKILL.INIT k 1000 LIMIT 500"), "+OK");
    assert_eq!(conn.call("SECKILL.USER k nobody"), "[500 'OK' []]");
    for number in 1..=150 {
        conn.cmd("SECKILL.GRAB k other");
        conn.cmd(&format!("SECKILL.GRAB k a REQ o{number}"));
    }
    let seqs = |line: &str| -> Vec<i64> {
        let user = server.cmd(line);
        assert_eq!(user.items()[0], Reply::Int(350));
        assert_eq!(user.items()[1], Reply::Bulk(b"OK".to_vec()));
        user.items()[2].items().iter().map(|row| row.items()[0].int()).collect()
    };
    let newest = |count: i64| (0..count).map(|step| 300 - 2 * step).collect::<Vec<_>>();
    assert_eq!(seqs("SECKILL.USER k a"), newest(100));
    assert_eq!(seqs("SECKILL.USER k a COUNT 3"), newest(3));
    assert_eq!(seqs("SECKILL.USER k a COUNT 10000"), newest(150));
    let user = conn.cmd("SECKILL.USER k a COUNT 1");
    assert_eq!(row(&server, &user.items()[2].items()[0]), "300 'a' 1 'SOLD' 0 'o150' 0");
    conn.check(&[
        ("SECKILL.ALTER k LIMIT 0", "+OK"),
        ("SECKILL.USER k nobody", "[-1 'OK' []]"),
        ("SECKILL.ALTER k GRABS 150", "+OK"),
        ("SECKILL.USER k nobody", "[-1 'OK' []]"),
    ]);
    assert_eq!(conn.cmd("SECKILL.USER k a").items()[0], Reply::Int(0), "150 grabs are used up");
}

// Rules: 349e 9a7f 0a07 8d77 cd30 bac4
#[test]
fn winners_are_walked_by_seq() {
    let (server, mut conn) = Server::start().with_conn();
    conn.check(&[
        ("SECKILL.INIT k 1000 LIMIT 0", "+OK"),
        ("SECKILL.WINNERS k 0", "[0 []]"),
        ("SECKILL.WINNERS k 7", "[0 []]"),
    ]);
    for number in 1..=250 {
        conn.cmd(&format!("SECKILL.GRAB k u{number} QTY 2"));
    }
    let page = |line: &str| -> (i64, Vec<i64>) {
        let page = server.cmd(line);
        let rows = page.items()[1].items();
        (page.items()[0].int(), rows.iter().map(|row| row.items()[0].int()).collect())
    };
    let seqs = |from: i64, to: i64| (from..=to).collect::<Vec<_>>();
    assert_eq!(page("SECKILL.WINNERS k 0"), (100, seqs(1, 100)));
    assert_eq!(page("SECKILL.WINNERS k 100"), (200, seqs(101, 200)));
    assert_eq!(page("SECKILL.WINNERS k 200"), (0, seqs(201, 250)));
    assert_eq!(page("SECKILL.WINNERS k 0 COUNT 10000"), (0, seqs(1, 250)));
    assert_eq!(page("SECKILL.WINNERS k 247 COUNT 2"), (249, seqs(248, 249)));
    assert_eq!(page("SECKILL.WINNERS k 249 COUNT 1"), (0, seqs(250, 250)));
    assert_eq!(page("SECKILL.WINNERS k 250"), (0, vec![]));
    assert_eq!(page("SECKILL.WINNERS k 9007199254740991"), (0, vec![]));
    for state in ["LIVE", "SOLD", "ALL", "sold"] {
        let line = format!("SECKILL.WINNERS k 3 STATE {state} COUNT 2");
        assert_eq!(page(&line), (5, vec![4, 5]));
    }
    for state in ["HELD", "CANCELLED", "EXPIRED", "REFUNDED"] {
        let line = format!("SECKILL.WINNERS k 3 COUNT 2 STATE {state}");
        assert_eq!(page(&line), (5, vec![]), "a page may be empty before the end");
        assert_eq!(page(&format!("SECKILL.WINNERS k 0 STATE {state} COUNT 300")), (0, vec![]));
    }
    let one = conn.cmd("SECKILL.WINNERS k 41 COUNT 1");
    assert_eq!(row(&server, &one.items()[1].items()[0]), "42 'u42' 2 'SOLD' 0 nil 0");
}
