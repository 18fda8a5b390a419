//! Parts of a split: their users, how units move between them, and what survives a restart.

use super::cluster;
use super::promotion::signal;
use crate::support::logs::assert_same_everywhere;
use crate::support::payload::restore;
use crate::support::shop::{events, number};
use crate::support::{Conn, ReplicationStream, Server};

const WRONG_PART: &str = "-WRONGPART user belongs to another part";
const NOT_THIS: &str = "-ERR not this split";

/// Two parts. Dave and erin belong to part 0, alice, carol and frank to part 1.
fn two_parts(options: &str) -> (Server, Conn) {
    let (server, mut conn) = Server::start().with_conn();
    for (part, supply) in [(0, 6), (1, 4)] {
        let line =
            format!("SECKILL.INIT p{part} {supply} {options} PART {part} OF 2 SPLIT s TOTAL 10");
        assert_eq!(conn.call(&line), "+OK");
    }
    (server, conn)
}

/// Only changes have entries; a repeated SEND is replicated without one.
// Rules: fe17 e7d0
#[test]
fn repeats_are_replicated_where_a_wait_counts_on_them() {
    let (server, mut conn) = two_parts("OUTBOX o");
    let mut listener = server.conn();
    assert_eq!(server.call("CONFIG SET notify-keyspace-events KEd"), "+OK");
    let mut stream = ReplicationStream::attach(&server);
    let version = |key: &str| server.cmd(&format!("SECKILL.STATUS {key}")).field("version").int();
    listener.cmd("PSUBSCRIBE __keyspace@0__:*");
    for (line, replicates, appends, tells) in [
        ("SECKILL.SEND p0 s 1 2", 1, &["SEND"][..], Some("seckill.send")),
        ("SECKILL.SEND p0 s 1 2", 1, &[], None),
        ("SECKILL.SEND p0 s 1 2 OWED", 1, &[], None),
        ("SECKILL.SEND p0 s 1 1", 0, &[], None),
        ("SECKILL.RECEIVE p1 s 0 2", 1, &["RECEIVE"], Some("seckill.receive")),
        ("SECKILL.RECEIVE p1 s 0 2", 0, &[], None),
        ("SECKILL.RECEIVE p1 s 0 1", 0, &[], None),
        ("SECKILL.ELSEWHERE p1 s 3 1", 1, &[], None),
        ("SECKILL.ELSEWHERE p1 s 3 1", 0, &[], None),
        ("SECKILL.SEND p1 s 0 0", 1, &[], None),
    ] {
        let (len, versions) = (events(&mut conn, "o").len(), version("p0") + version("p1"));
        assert!(!conn.cmd(line).is_error(), "{line}");
        let sent = stream.lines(&server);
        assert_eq!(sent.len(), replicates, "{line} replicated {sent:?}");
        assert!(sent.iter().all(|line| line.starts_with("SECKILL.APPLY p")), "{sent:?}");
        assert_eq!(events(&mut conn, "o")[len..], *appends, "{line}");
        let after = version("p0") + version("p1");
        assert_eq!((after - versions) as usize, replicates, "{line}");
        if let Some(event) = tells {
            assert_eq!(listener.read().expect("a message").items()[3].text(), event);
        }
    }
    // Any other message would come before this.
    assert_eq!(conn.call("PUBLISH __keyspace@0__:end end"), "1");
    assert_eq!(listener.read().expect("a message").items()[3].text(), "end");
}

/// A balancer finds units in flight that another balancer has sent. A WAIT of the first balancer
/// must also wait for that SEND, although its connection has not written it.
// Rules: fe17 dc76
#[test]
fn a_wait_behind_a_repeated_send_covers_the_first() {
    let (server, mut conn) = two_parts("");
    let replica = Server::start();
    replica.follow(&server);
    replica.wait_in_sync(&server);
    signal(&replica, "-STOP");
    assert_eq!(conn.call("SECKILL.SEND p0 s 1 2"), "[2 4]");
    let mut other = server.conn();
    other.check(&[("SECKILL.SEND p0 s 1 2", "[2 4]"), ("WAIT 1 100", "0")]);
    signal(&replica, "-CONT");
    assert_eq!(other.call("WAIT 1 60000"), "1");
    let theirs = replica.call("SECKILL.PARTS p0");
    assert_eq!(theirs, "['s' 0 2 6 4 0 0 6 0 [[1 2 0]]]");
}

/// Creates parts with every kind of state, except one that takes too long.
fn fill(conn: &mut Conn) {
    conn.check(&[
        ("SECKILL.SEND p0 s 1 4", "[4 2]"),
        ("SECKILL.SEND p0 s 1 9 OWED", "[9 0]"),
        ("SECKILL.RECEIVE p0 s 1 3", "[3 0]"),
        ("SECKILL.ELSEWHERE p0 s 8 5", "[8 5]"),
        ("SECKILL.RESTOCK p1 -1 REQ r", "[-1 3]"),
        ("SECKILL.RECEIVE p1 s 0 9", "[9 12]"),
        ("SECKILL.SEND p1 s 0 9", "[9 3]"),
        ("SECKILL.DENY p1 ADD alice", "1"),
        ("SECKILL.ELSEWHERE p1 s 0 6", "[0 6]"),
        ("SECKILL.CANCEL p1 carol REQ never", "['CANCELLED' 0 0 0]"),
    ]);
    assert_eq!(conn.cmd("SECKILL.GRAB p1 frank QTY 9").items()[0].text(), "SHORT");
    assert_eq!(conn.cmd("SECKILL.GRAB p1 frank REQ r").items()[0].text(), "GRANTED");
}

#[test]
fn parts_are_the_same_everywhere() {
    let init = |conn: &mut Conn| {
        conn.check(&[
            ("SECKILL.INIT p0 6 PART 0 OF 2 SPLIT s TOTAL 10 OUTBOX o", "+OK"),
            ("SECKILL.INIT p1 4 PART 1 OF 2 SPLIT s TOTAL 10 LIMIT 0 HOLD 900000", "+OK"),
        ]);
        fill(conn);
    };
    assert_same_everywhere(&["p0", "p1"], init, |server| {
        // A dump also has counters of this node alone.
        let mut conn = server.conn();
        assert_eq!(conn.cmd("SECKILL.GRAB p1 frank QTY 9 REQ q").items()[0].text(), "SHORT");
        let payload = conn.cmd("DUMP p1").bytes().to_vec();
        let reply = conn.pipeline(&[restore("copy", &payload)]).expect("a reply").remove(0);
        assert_eq!(reply.to_string(), "+OK");
        assert_eq!(server.digest("copy"), server.digest("p1"));
        assert_eq!(number(&mut conn, "copy", "unmet_units"), 9);
        assert_eq!(conn.call("SECKILL.GRAB copy dave"), WRONG_PART);
    });
}

#[test]
fn parts_of_several_sales_lie_together_in_a_cluster() {
    let (_server, mut conn) = cluster::start();
    for (sale, part) in [("phone", 0), ("phone", 1), ("case", 0), ("case", 1)] {
        let line = format!(
            "SECKILL.INIT sale:{sale}:{{p{part}}} 5 PART {part} OF 2 SPLIT {sale} TOTAL 10 \
             OUTBOX orders:{{p{part}}}"
        );
        assert_eq!(conn.call(&line), "+OK");
    }
    conn.check(&[
        (
            "SECKILL.MGRAB alice 2 sale:phone:{p1} sale:case:{p1} REQ o",
            "['GRANTED' [1 1 'SOLD' 0 4] [1 1 'SOLD' 0 4]]",
        ),
        ("SECKILL.MGRAB alice 2 sale:phone:{p0} sale:case:{p0} REQ o", "-WRONGPART"),
        (
            "SECKILL.MGRAB alice 2 sale:phone:{p1} sale:case:{p0} REQ o",
            "-CROSSSLOT Keys in request don't hash to the same slot",
        ),
        ("SECKILL.SEND sale:phone:{p0} phone 1 3", "[3 2]"),
        ("SECKILL.RECEIVE sale:phone:{p1} phone 0 3", "[3 7]"),
        ("SECKILL.RECEIVE sale:case:{p1} phone 0 3", NOT_THIS),
        ("SECKILL.HOME alice 2", "1"),
        ("COMMAND GETKEYS SECKILL.SEND sale:phone:{p0} phone 1 3", "['sale:phone:{p0}']"),
    ]);
    assert_eq!(events(&mut conn, "orders:{p1}"), ["INIT", "INIT", "GRANT", "GRANT", "RECEIVE"]);
}
