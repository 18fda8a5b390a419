//! The stream of an outbox: one that refuses entries, a missing one, its readers, and the
//! permission to write.

use crate::support::shop::{
    assert_whole, entries, entry, events, number, state_of, wait_for_no_holds,
};
use crate::support::valgrind::slowed;
use crate::support::{wait_until, Conn, ReplicationStream, Server};

const REFUSED: &str = "-ERR outbox must be a stream that takes more entries";
const LAST_ID: &str = "18446744073709551615-18446744073709551615";

/// Changes of every kind, each possible if the stream accepted its entry.
const CHANGES: [&str; 10] = [
    "SECKILL.GRAB k new",
    "SECKILL.GRAB k new QTY 3 REQ n",
    "SECKILL.CONFIRM k held",
    "SECKILL.CANCEL k held",
    "SECKILL.EXTEND k held 1000000",
    "SECKILL.REFUND k sold",
    "SECKILL.RESTOCK k 5 REQ new",
    "SECKILL.PAUSE k",
    "SECKILL.ALTER k LIMIT 9",
    "SECKILL.IMPORT k lost 5 REQ lost",
];

fn prepare(conn: &mut Conn) {
    conn.check(&[
        ("SECKILL.INIT k 5 HOLD 900000 LIMIT 3 OUTBOX s", "+OK"),
        ("SECKILL.GRAB k held", "['GRANTED' 1 1 'HELD' T 4]"),
        ("SECKILL.GRAB k sold", "['GRANTED' 2 1 'HELD' T 3]"),
        ("SECKILL.CONFIRM k sold", "['SOLD' 2 1 0]"),
    ]);
}

// Rules: b7dd
#[test]
fn a_stream_that_takes_nothing_stops_every_change() {
    let (server, mut conn) = Server::start().with_conn();
    prepare(&mut conn);
    let mut stream = ReplicationStream::attach(&server);
    for spoil in ["SET s text".to_owned(), format!("XADD s {LAST_ID} f v")] {
        let reply = conn.cmd(&spoil);
        assert!(!reply.is_error(), "{spoil}: {reply}");
        stream.lines(&server);
        let (digest, length) = (server.digest("k"), conn.call("XLEN s"));
        for line in CHANGES {
            assert_eq!(conn.call(line), REFUSED, "{line} after {spoil}");
            assert_eq!(stream.lines(&server), [""; 0], "{line} after {spoil}");
            assert_eq!((server.digest("k"), conn.call("XLEN s")), (digest.clone(), length.clone()));
            assert_eq!(number(&mut conn, "k", "outbox_error"), 1);
        }
        // A call without a change needs no entry.
        conn.check(&[("SECKILL.RESUME k", "+OK"), ("SECKILL.CONFIRM k sold", "['SOLD' 2 1 0]")]);
        assert_eq!(conn.call("DEL s"), "1");
        conn.check(&[("SECKILL.PAUSE k", "+OK"), ("SECKILL.RESUME k", "+OK")]);
        assert_eq!(number(&mut conn, "k", "outbox_error"), 0);
        assert_eq!(events(&mut conn, "s"), ["PAUSE", "RESUME"], "a missing stream is made anew");
    }
    server.assert_sound("k");
}

/// The stream has room for one entry, but the grab needs two: neither is added, and nothing is
/// granted.
#[test]
fn two_entries_are_appended_both_or_none() {
    let (server, mut conn) = Server::start().with_conn();
    for (before, length) in [(None, "0"), (Some("f"), "1")] {
        conn.cmd("DEL k s");
        assert_eq!(conn.call("SECKILL.INIT k 1 OUTBOX s"), "+OK");
        assert_eq!(conn.call("DEL s"), "1");
        conn.cmd("XADD s 18446744073709551615-18446744073709551614 f v");
        if before.is_none() {
            assert_eq!(conn.call("XTRIM s MAXLEN 0"), "1");
        }
        let (digest, numbers) = (server.digest("k"), conn.call("XINFO STREAM s"));
        assert_eq!(conn.call("SECKILL.GRAB k a"), REFUSED);
        assert_eq!(conn.call("XINFO STREAM s"), numbers);
        assert_eq!(conn.call("XLEN s"), length);
        assert_eq!(server.digest("k"), digest);
        assert_eq!(number(&mut conn, "k", "outbox_error"), 1);
        assert_eq!(conn.call("DEL s"), "1");
        assert_eq!(conn.call("SECKILL.GRAB k a"), "['GRANTED' 1 1 'SOLD' 0 0]");
        assert_eq!(events(&mut conn, "s"), ["GRANT", "SOLDOUT"]);
    }
}

/// An expiry can't be refused: background expiry retries until the stream accepts the entry.
#[test]
fn an_expiry_waits_for_the_stream_and_loses_nothing() {
    let (server, replica) = Server::pair();
    let mut conn = server.conn();
    let init = format!("SECKILL.INIT k 9 HOLD {} LIMIT 0 OUTBOX s", slowed(60));
    assert_eq!(conn.call(&init), "+OK");
    for user in ["a", "b", "c"] {
        conn.cmd(&format!("SECKILL.GRAB k {user}"));
    }
    conn.check(&[("RENAME s kept", "+OK"), ("SET s text", "+OK")]);
    wait_until("the sweeper was refused", || number(&mut conn, "k", "outbox_error") == 1);
    assert_eq!(state_of(&mut conn, "k", "a"), "HELD");
    assert_eq!(number(&mut conn, "k", "held"), 3);
    // The hold's deadline is over, so it does not become SOLD.
    assert_eq!(conn.call("SECKILL.CONFIRM k a"), REFUSED);
    assert_eq!(conn.call("RENAME kept s"), "+OK");
    wait_for_no_holds(&server, "k");
    assert_eq!(
        events(&mut conn, "s"),
        ["INIT", "GRANT", "GRANT", "GRANT", "EXPIRE", "EXPIRE", "EXPIRE"]
    );
    assert_whole(&entries(&mut conn, "s"));
    assert_eq!(number(&mut conn, "k", "outbox_error"), 0);
    replica.wait_in_sync(&server);
    assert_eq!(replica.digest("s"), server.digest("s"));
    assert_eq!(replica.digest("k"), server.digest("k"));
}

/// One command creates the sale, its stream and the entry. A transaction is avoided, because an AOF
/// can lose it.
// Rules: bb47
#[test]
fn a_missing_stream_is_made_by_the_same_command() {
    let (server, mut conn) = Server::start().with_conn();
    let mut stream = ReplicationStream::attach(&server);
    let kinds = |stream: &mut ReplicationStream| {
        let lines = stream.lines(&server);
        let kind = |line: &String| line.split(' ').take(2).collect::<Vec<_>>().join(" ");
        lines.iter().map(kind).collect::<Vec<_>>()
    };
    assert_eq!(conn.call("SECKILL.INIT k 5 OUTBOX s"), "+OK");
    assert_eq!(kinds(&mut stream), ["SECKILL.APPLY k"]);
    assert_eq!(conn.call("DEL s"), "1");
    conn.check(&[("SECKILL.GRAB k a", "['GRANTED' 1 1 'SOLD' 0 4]")]);
    assert_eq!(kinds(&mut stream), ["DEL s", "SECKILL.APPLY k"]);
    conn.check(&[
        ("XINFO GROUPS s", "[]"),
        ("XLEN s", "1"),
        ("DEL s", "1"),
        ("SECKILL.GRAB k a", "['ALREADY' 1 1 'SOLD' 0]"),
        ("SECKILL.CANCEL k b REQ never", "['CANCELLED' 0 0 0]"),
        ("EXISTS s", "0"),
    ]);
    assert_eq!(kinds(&mut stream), ["DEL s", "SECKILL.APPLY k"], "a fence has no entry");
    conn.check(&[("SECKILL.INIT l 5", "+OK"), ("SECKILL.ALTER l OUTBOX t", "+OK")]);
    assert_eq!(kinds(&mut stream), ["SECKILL.APPLY l", "SECKILL.APPLY l"]);
}

/// Blocked readers of the stream are woken on primary and replica, by commands and by expiry.
#[test]
fn readers_that_wait_are_woken() {
    let (server, replica) = Server::pair();
    let mut conn = server.conn();
    let init = format!("SECKILL.INIT k 5 HOLD {} OUTBOX s", slowed(120));
    conn.check(&[(init.as_str(), "+OK"), ("XGROUP CREATE s group $", "+OK")]);
    replica.wait_in_sync(&server);
    let mut reader = server.conn();
    let mut far_reader = replica.conn();
    let mut grouped = server.conn();
    for event in ["GRANT", "EXPIRE"] {
        let last = entries(&mut conn, "s").last().map(|entry| entry.id.clone()).expect("an entry");
        for waiting in [&mut reader, &mut far_reader] {
            waiting.send(&["XREAD", "BLOCK", "0", "STREAMS", "s", &last]).expect("sent");
        }
        let words = ["XREADGROUP", "GROUP", "group", "me", "BLOCK", "0", "STREAMS", "s", ">"];
        grouped.send(&words).expect("sent");
        if event == "GRANT" {
            wait_until("they wait", || {
                let blocked = |server: &Server| server.info("clients", "blocked_clients");
                blocked(&server) == "2" && blocked(&replica) == "1"
            });
            conn.cmd("SECKILL.GRAB k a");
        }
        for waiting in [&mut reader, &mut far_reader, &mut grouped] {
            let reply = waiting.read().expect("a reply");
            let entry = entry(&reply.items()[0].items()[1].items()[0]);
            assert_eq!(entry.text("event"), event);
        }
    }
}
