//! A refusal, a replay or an error changes nothing: no WATCH fails, no cached value is invalidated,
//! nothing is replicated, no event is sent, and the digest stays.

use std::collections::BTreeSet;

use seckill_domain::outcome::OUTCOMES;

use crate::calls::spec_of;
use crate::support::calls::{self, ONE_EACH};
use crate::support::{Conn, ReplicationStream, Reply, Server};

/// Refusals, replays and errors on the sales of `prepare`; `~` is an empty argument.
const REFUSED: &[&str] = &[
    "SECKILL.GRAB k winner",
    "SECKILL.GRAB k buyer QTY 1 REQ o",
    "SECKILL.GRAB k buyer QTY 2",
    "SECKILL.GRAB k other QTY 2",
    "SECKILL.GRAB empty u",
    "SECKILL.GRAB k buyer UPTO 1 REQ o",
    "SECKILL.GRAB k ~",
    "SECKILL.CONFIRM k winner",
    "SECKILL.CANCEL k buyer REQ o KEEP 1",
    "SECKILL.EXTEND k buyer 5",
    "SECKILL.REFUND k winner SEQ 1 KEEP 2",
    "SECKILL.IMPORT k buyer 1 REQ o",
    "SECKILL.INIT k 3 LIMIT 2",
    "SECKILL.INIT k 5",
    "SECKILL.RESTOCK k 1 REQ r0",
    "SECKILL.RESTOCK k 2 REQ r0",
    "SECKILL.RESTOCK k 9007199254740991 REQ r1",
    "SECKILL.RESUME k",
    "SECKILL.ALTER k LIMIT 2",
    "SECKILL.ALTER k HOLD 0",
    "SECKILL.APPLY k 0 gu",
    "SECKILL.SEND k s 1 1",
    "SECKILL.SEND part s 1 1",
    "SECKILL.SEND part s 1 9",
    "SECKILL.RECEIVE part s 1 3",
    "SECKILL.RECEIVE part s 1 2",
    "SECKILL.RECEIVE part t 1 9",
    "SECKILL.ELSEWHERE part s 7 1",
    "SECKILL.ELSEWHERE part s 8 0",
    "SECKILL.GRAB part alice",
    "SECKILL.DENY part ADD dave alice",
    "SECKILL.GRAB gate u",
    "SECKILL.GRAB lottery u",
    "SECKILL.GRAB queue w REQ w WAIT",
    "SECKILL.GRAB seats u UNITS 1",
];

/// The sales of `prepare`.
const SALES: [&str; 7] = ["k", "empty", "part", "gate", "lottery", "queue", "seats"];

/// Calls that change nothing on the sales of `prepare`: those above, all reads, and every command
/// on a missing key.
fn traceless() -> Vec<String> {
    let reads = |call: &&&str| !spec_of(call).flags.starts_with("write");
    let reads = ONE_EACH.iter().filter(reads);
    let reads = reads.flat_map(|call| ["k", "part"].map(|key| call.replace('@', key)));
    let creates = |call: &String| call.starts_with("SECKILL.INIT");
    let missing = calls::with_key("missing").filter(|call| !creates(call));
    let foreign = calls::with_key("string");
    let refused = REFUSED.iter().map(|call| (*call).to_owned());
    refused.chain(reads).chain(missing).chain(foreign).collect()
}

fn prepare(server: &Server) {
    server.conn().check(&[
        ("SET string s", "+OK"),
        ("SECKILL.INIT empty 0", "+OK"),
        ("SECKILL.INIT k 3 LIMIT 2", "+OK"),
        ("SECKILL.GRAB k winner QTY 2", "['GRANTED' 1 2 'SOLD' 0 1]"),
        ("SECKILL.GRAB k buyer REQ o", "['GRANTED' 2 1 'SOLD' 0 0]"),
        ("SECKILL.RESTOCK k 1 REQ r0", "[1 1]"),
        ("SECKILL.INIT part 2 PART 0 OF 2 SPLIT s TOTAL 4", "+OK"),
        ("SECKILL.RECEIVE part s 1 3", "[3 5]"),
        ("SECKILL.SEND part s 1 5", "[5 0]"),
        ("SECKILL.ELSEWHERE part s 7 1", "[7 1]"),
        ("SECKILL.INIT gate 5 ALLOWLIST", "+OK"),
        ("SECKILL.INIT lottery 5 SAMPLE 0", "+OK"),
        ("SECKILL.INIT queue 1 WAITLIST 5 HOLD 900000", "+OK"),
        ("SECKILL.INIT seats 2 NUMBERED", "+OK"),
        ("SECKILL.GRAB seats buyer UNITS 1", "['GRANTED' 1 1 'SOLD' 0 1 [1]]"),
    ]);
    let mut conn = server.conn();
    conn.cmd("SECKILL.GRAB queue buyer");
    conn.cmd("SECKILL.GRAB queue w REQ w WAIT");
}

/// Changes, each with the later reply to a GRAB of two units.
const REFUSING: [(&str, &str); 4] = [
    ("SECKILL.ALTER k CLOSEAT 100000000000", "['CLOSED']"),
    ("SECKILL.ALTER k CLOSEAT 0 OPENAT 4102444800000", "['NOTOPEN' "),
    ("SECKILL.ALTER k OPENAT 0", "['SHORT' 1]"),
    ("SECKILL.PAUSE k", "['PAUSED']"),
];

#[test]
fn a_refusal_does_not_fail_a_watch() {
    let server = Server::start();
    prepare(&server);
    let (mut watcher, mut other) = (server.conn(), server.conn());
    let mut survives = |line: &str| {
        assert_eq!(watcher.call(&format!("WATCH string missing {}", SALES.join(" "))), "+OK");
        other.ask(&args(line));
        watcher.check(&[("MULTI", "+OK"), ("PING", "+QUEUED")]);
        watcher.call("EXEC") == "[+PONG]"
    };
    for line in traceless() {
        assert!(survives(&line), "{line} failed a WATCH");
    }
    assert!(!survives("SECKILL.RESTOCK k 1 REQ r2"), "a change must fail it");
    assert!(!survives("SECKILL.GRAB k other"), "a grant must fail it");
}

fn args(line: &str) -> Vec<&[u8]> {
    line.split(' ').map(|word| if word == "~" { &[] } else { word.as_bytes() }).collect()
}

#[test]
fn a_refusal_does_not_invalidate_a_cached_status() {
    let server = Server::start();
    prepare(&server);
    let (mut reader, mut other) = (server.conn().resp3(), server.conn());
    assert_eq!(reader.call("CLIENT TRACKING ON"), "+OK");
    for line in traceless() {
        read_and_cache(&mut reader);
        other.ask(&args(&line));
        assert_eq!(reader.call("PING"), "+PONG", "{line} invalidated");
    }
    read_and_cache(&mut reader);
    assert_eq!(other.call("SECKILL.RESTOCK k 1 REQ r2"), "[1 2]");
    assert_eq!(reader.call("PING"), ">['invalidate' ['k']]", "a change must invalidate");
}

fn read_and_cache(reader: &mut Conn) {
    for line in ["SECKILL.STATUS k", "GET string", "SECKILL.PARTS part"] {
        let reply = reader.cmd(line);
        assert!(!reply.is_error() && !matches!(reply, Reply::Push(_)), "{reply}");
    }
}

#[test]
fn a_refusal_replicates_nothing_and_keeps_the_digest() {
    let server = Server::start();
    prepare(&server);
    let mut stream = ReplicationStream::attach(&server);
    let digests = || SALES.map(|key| server.digest(key));
    let before = digests();
    let (mut conn, mut met) = (server.conn(), BTreeSet::new());
    for line in traceless() {
        met.extend(refusal(&conn.ask(&args(&line))));
        assert_eq!(stream.lines(&server), [""; 0], "{line} replicated");
        assert_eq!(digests(), before, "{line}");
    }
    for (how, refused) in REFUSING {
        assert_eq!(conn.call(how), "+OK");
        assert_eq!(stream.lines(&server).len(), 1, "{how} is a change");
        let digest = server.digest("k");
        let reply = conn.call("SECKILL.GRAB k somebody QTY 2");
        assert!(reply.starts_with(refused), "{reply}");
        assert_eq!(stream.lines(&server), [""; 0], "{refused} replicated");
        assert_eq!(server.digest("k"), digest, "{refused}");
        met.extend(OUTCOMES.iter().position(|row| refused.contains(row.word)));
    }
    assert!(met.into_iter().eq(1..OUTCOMES.len()), "each refusal was met");
}

/// The index in OUTCOMES of a reply that is a refusal.
fn refusal(reply: &Reply) -> Option<usize> {
    let Reply::Array(items) = reply else { return None };
    let word = items.first()?.to_string();
    OUTCOMES.iter().position(|row| word == format!("'{}'", row.word)).filter(|row| *row > 0)
}

#[test]
fn a_refusal_sends_no_event_and_counts_no_change() {
    let server = Server::start();
    prepare(&server);
    let mut listener = server.conn();
    assert_eq!(server.call("CONFIG SET notify-keyspace-events KEA"), "+OK");
    listener.cmd("PSUBSCRIBE __key*__:*");
    let dirty = server.info("persistence", "rdb_changes_since_last_save");
    let mut conn = server.conn();
    for line in traceless() {
        conn.ask(&args(&line));
    }
    assert_eq!(server.info("persistence", "rdb_changes_since_last_save"), dirty);
    // A published message marks the end: earlier events would come before it.
    assert_eq!(conn.call("PUBLISH __keyspace@0__:end end"), "1");
    let first = listener.read().expect("a message").to_string();
    assert_eq!(first, "['pmessage' '__key*__:*' '__keyspace@0__:end' 'end']");
}
