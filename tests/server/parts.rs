//! Parts of a split: their users, how units move between them, and what survives a restart.

use super::promotion::signal;
use crate::support::logs::assert_same_everywhere;
use crate::support::payload::restore;
use crate::support::shop::{assert_whole, entries, events, number, Entry};
use crate::support::{wait_until, Conn, Options, ReplicationStream, Server};

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

// Rules: a4d3 f155 3544 b607 7879
#[test]
fn a_part_is_told_which_it_is_once() {
    let (server, mut conn) = Server::start().with_conn();
    conn.check(&[
        ("SECKILL.INIT k 9 total 9 split s part 1 of 2", "+OK"),
        ("SECKILL.INIT k 9 PART 1 OF 2 SPLIT s TOTAL 9", "+OK"),
        ("SECKILL.INIT k 9 PART 0 OF 2 SPLIT s TOTAL 9", "-SALEEXISTS"),
        ("SECKILL.INIT k 9 PART 1 OF 3 SPLIT s TOTAL 9", "-SALEEXISTS"),
        ("SECKILL.INIT k 9 PART 1 OF 2 SPLIT t TOTAL 9", "-SALEEXISTS"),
        ("SECKILL.INIT k 9 PART 1 OF 2 SPLIT s TOTAL 10", "-SALEEXISTS"),
        ("SECKILL.INIT k 9", "-SALEEXISTS"),
        ("SECKILL.ALTER k LIMIT 2", "+OK"),
        ("SECKILL.PARTS k", "['s' 1 2 9 9 0 0 1 0 []]"),
        ("SECKILL.INIT all 9 PART 0 OF 1 SPLIT s TOTAL 9", "+OK"),
        ("SECKILL.PARTS all", "['s' 0 1 9 9 0 0 0 0 []]"),
        ("SECKILL.INIT whole 9", "+OK"),
    ]);
    let status = conn.cmd("SECKILL.STATUS whole");
    assert!(!status.pairs().iter().any(|(name, _)| name == "part" || name == "unmet_units"));
    let status = conn.cmd("SECKILL.STATUS k JSON").text();
    let fields = "\"part\":1,\"parts\":2,\"put_in\":9,\"sent\":0,\"received\":0,\"elsewhere\":1,\
                  \"unmet_units\":0,\"counters\"";
    assert!(status.contains(fields), "{status}");
    server.assert_sound("k");
}

/// A user's part agrees with zlib's crc32 in every language.
// Rules: c56f e8f6 4ddb b95e
#[test]
fn users_have_one_home() {
    let (_server, mut conn) = Server::start().with_conn();
    conn.check(&[
        ("SECKILL.HOME alice 1", "0"),
        ("SECKILL.HOME alice 2", "1"),
        ("SECKILL.HOME alice 16", "7"),
        ("SECKILL.HOME alice 1024", "71"),
        ("SECKILL.HOME 123456789 1000", "262"),
        ("SECKILL.HOME alice 0", "-ERR parts must be 1 to 1024"),
        ("SECKILL.HOME alice 1025", "-ERR parts must be 1 to 1024"),
        ("SECKILL.HOME alice 2 3", "-ERR wrong number of arguments for 'SECKILL.HOME' command"),
    ]);
    let (long, zero) = (vec![b'x'; 256], vec![0u8]);
    let too_long = "-ERR user id must be 1 to 256 bytes";
    for (user, home) in [(&long, "80"), (&zero, "757"), (&vec![b'x'; 257], too_long)] {
        let reply = conn.ask(&[&b"SECKILL.HOME"[..], user, b"1000"]).to_string();
        assert_eq!(reply, home);
    }
}

// Rules: a4d3
#[test]
fn users_of_another_part_are_sent_away_before_anything_is_judged() {
    let (server, mut conn) = two_parts("LIMIT 2 HOLD 900000");
    conn.check(&[("SECKILL.PAUSE p1", "+OK")]);
    assert_eq!(conn.cmd("SECKILL.GRAB p0 dave REQ r").items()[0].text(), "GRANTED");
    let digest = server.digest("p1");
    for line in [
        "SECKILL.GRAB p1 dave",
        "SECKILL.GRAB p1 dave QTY 9 REQ r",
        "SECKILL.GRAB p1 dave REQ r WAIT",
        "SECKILL.CONFIRM p1 dave",
        "SECKILL.CONFIRM p1 dave REQ r RECLAIM",
        "SECKILL.CANCEL p1 dave REQ r",
        "SECKILL.EXTEND p1 dave 1000",
        "SECKILL.REFUND p1 dave",
        "SECKILL.IMPORT p1 dave 1 REQ r",
        "SECKILL.USER p1 dave",
        "SECKILL.ALLOW p1 ADD alice dave",
        "SECKILL.DENY p1 ADD alice carol dave frank",
        "SECKILL.DENY p1 REMOVE dave",
        "SECKILL.MGRAB dave 1 p1",
        "SECKILL.MGRAB dave 2 p0 p1",
        // This error comes first, also if the first key has another error.
        "SECKILL.MGRAB dave 2 p0 p1 QTY 2 REQ r",
        "SECKILL.MGRAB alice 2 p0 p1",
    ] {
        assert_eq!(conn.call(line), WRONG_PART, "{line}");
        assert_eq!(server.digest("p1"), digest, "{line}");
    }
    conn.check(&[
        ("SECKILL.GRAB none dave", "-NOSALE"),
        ("SECKILL.MGRAB dave 2 p1 none", "-NOSALE"),
        ("SECKILL.DENY p1 ADD alice carol", "2"),
        ("SECKILL.RESUME p1", "+OK"),
        ("SECKILL.GRAB p1 alice", "['DENIED']"),
    ]);
    let counters = conn.cmd("SECKILL.STATUS p1").field("counters");
    assert_eq!(counters.field("attempts").int(), 1, "who is sent away has not tried");
}

// Rules: 59f7 6f6e 3bcd 7a5e bc41 caea 4480 a2cf de06
#[test]
fn units_move_by_totals() {
    let (server, mut conn) = two_parts("LIMIT 0");
    conn.check(&[
        ("SECKILL.PARTS p0", "['s' 0 2 6 6 0 0 4 0 []]"),
        ("SECKILL.SEND p0 s 1 2", "[2 4]"),
        ("SECKILL.SEND p0 s 1 2", "[2 4]"),
        ("SECKILL.SEND p0 s 1 1", "[2 4]"),
        ("SECKILL.SEND p0 s 1 0", "[2 4]"),
        ("SECKILL.RECEIVE p1 s 0 2", "[2 6]"),
        ("SECKILL.RECEIVE p1 s 0 2", "[2 6]"),
        ("SECKILL.RECEIVE p1 s 0 1", "[2 6]"),
        ("SECKILL.PARTS p0", "['s' 0 2 6 4 0 0 6 0 [[1 2 0]]]"),
        ("SECKILL.PARTS p1", "['s' 1 2 4 6 0 0 6 0 [[0 0 2]]]"),
        // At most the available units; a repeated call sends the others.
        ("SECKILL.GRAB p0 dave QTY 3", "['GRANTED' 1 3 'SOLD' 0 1]"),
        ("SECKILL.SEND p0 s 1 9", "[3 0]"),
        ("SECKILL.SEND p0 s 1 9", "[3 0]"),
        ("SECKILL.RESTOCK p0 5 REQ r", "[5 5]"),
        ("SECKILL.SEND p0 s 1 4", "[4 4]"),
        ("SECKILL.RESTOCK p0 -4 REQ q", "[-4 0]"),
        // Units that never existed are a deficit, which received units reduce.
        ("SECKILL.SEND p0 s 1 11 OWED", "[11 0]"),
        ("SECKILL.PARTS p0", "['s' 0 2 7 0 0 7 15 0 [[1 11 0]]]"),
        ("SECKILL.RECEIVE p0 s 1 5", "[5 0]"),
        ("SECKILL.RESTOCK p0 1 REQ t", "[1 0]"),
        ("SECKILL.REFUND p0 dave", "['REFUNDED' 1 3 0]"),
        ("SECKILL.PARTS p0", "['s' 0 2 8 2 0 0 15 0 [[1 11 5]]]"),
    ]);
    let status = conn.cmd("SECKILL.STATUS p0");
    let fields = ["supply", "deficit", "put_in", "sent", "received", "elsewhere"];
    assert_eq!(fields.map(|name| status.field(name).int()), [2, 0, 8, 11, 5, 15]);
    // SEND of more units than the initial share: they include units of other parts.
    conn.check(&[
        ("SECKILL.RESTOCK p1 -9 REQ r", "[-6 0]"),
        ("SECKILL.PARTS p1", "['s' 1 2 -2 0 0 0 6 0 [[0 0 2]]]"),
    ]);
    assert_eq!(number(&mut conn, "p1", "put_in"), -2);
    for key in ["p0", "p1"] {
        server.assert_sound(key);
    }
}

// Rules: c64a afcf 4c4c 9100 2c8b
#[test]
fn sold_out_is_said_when_nothing_can_come_any_more() {
    let (server, mut conn) = two_parts("LIMIT 0 HOLD 900000 OUTBOX o");
    conn.check(&[
        ("SECKILL.GRAB p1 alice QTY 3 REQ a", "['GRANTED' 1 3 'HELD' T 1]"),
        ("SECKILL.GRAB p1 carol QTY 2", "['SHORT' 1]"),
        ("SECKILL.GRAB p1 carol UPTO 5 REQ c", "['GRANTED' 2 1 'HELD' T 0]"),
        ("SECKILL.GRAB p1 frank", "['SOLDOUT' 10]"),
        ("SECKILL.GRAB p1 frank UPTO 7", "['SOLDOUT' 10]"),
        ("SECKILL.CONFIRM p1 alice", "['SOLD' 1 3 0]"),
        ("SECKILL.CONFIRM p1 carol", "['SOLD' 2 1 0]"),
        ("SECKILL.GRAB p1 frank", "['SOLDOUT' 6]"),
        ("SECKILL.ELSEWHERE p1 s 0 1", "[0 1]"),
        ("SECKILL.GRAB p1 frank", "['SOLDOUT' 0]"),
        // Older reports and repeated ones change nothing.
        ("SECKILL.ELSEWHERE p1 s 9 0", "[0 1]"),
        ("SECKILL.ELSEWHERE p1 s 0 1", "[0 1]"),
        ("SECKILL.ELSEWHERE p1 s 5 1", "[5 1]"),
        ("SECKILL.GRAB p1 frank", "['SOLDOUT' 5]"),
        ("SECKILL.ELSEWHERE p1 s 0 3", "[0 3]"),
        ("SECKILL.ELSEWHERE p1 s 7 2", "[0 3]"),
    ]);
    let status = conn.cmd("SECKILL.STATUS p1");
    assert_eq!(status.field("state").text(), "soldout");
    // Refused units: 2, 1, 7, 1, 1 and 1.
    assert_eq!(status.field("unmet_units").int(), 13);
    conn.check(&[
        ("SECKILL.RECEIVE p1 s 0 2", "[2 2]"),
        ("SECKILL.SEND p1 s 0 2", "[2 0]"),
        ("SECKILL.GRAB p1 frank", "['SOLDOUT' 2]"),
    ]);
    assert_eq!(conn.cmd("SECKILL.STATUS p1").field("state").text(), "allheld");
    assert_told(&entries(&mut conn, "o"));
    server.assert_sound("p1");
}

/// Checks the entries of the part that the test above sells out and fills again.
fn assert_told(all: &[Entry]) {
    let told: Vec<Entry> = all.iter().filter(|entry| entry.text("sale") == "p1").cloned().collect();
    assert_whole(&told);
    let words: Vec<&str> = told.iter().map(|entry| entry.text("event")).collect();
    assert_eq!(
        words,
        [
            "INIT",
            "GRANT",
            "GRANT",
            "ALLHELD",
            "CONFIRM",
            "CONFIRM",
            "SOLDOUT",
            "ALLHELD",
            "SOLDOUT",
            "RECEIVE",
            "AVAILABLE",
            "SEND",
            "ALLHELD"
        ]
    );
    let line = |place: usize| told[place].line();
    let numbers = "{id:ID,epoch:T,rev:";
    assert_eq!(
        line(0),
        format!(
            "event=INIT sale=p1 data={numbers}1,t:T,supply:4,available:4,held:0,sold:0,\
             hold_ms:900000,part:1,parts:2,total:10}} outbox=o split=s"
        )
    );
    assert_eq!(
        line(9),
        format!(
            "event=RECEIVE sale=p1 data={numbers}10,t:T,supply:6,available:2,held:0,sold:4,\
             peer:0,total:2}} split=s"
        )
    );
    assert_eq!(
        line(11),
        format!(
            "event=SEND sale=p1 data={numbers}12,t:T,supply:4,available:0,held:0,sold:4,\
             peer:0,total:2}} split=s"
        )
    );
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
fn a_promoted_part_goes_on() {
    let (server, mut conn) = two_parts("LIMIT 0 HOLD 900000 OUTBOX o");
    let replica = Server::start();
    replica.follow(&server);
    fill(&mut conn);
    conn.check(&[("SECKILL.SEND p0 s 1 9", "[9 0]"), ("SECKILL.RECEIVE p0 s 1 9", "[9 6]")]);
    replica.wait_in_sync(&server);
    assert_eq!(replica.digest("o"), server.digest("o"));
    let mut conn = replica.conn();
    conn.check(&[
        ("SECKILL.USER p0 alice", "-WRONGPART"),
        ("REPLICAOF NO ONE", "+OK"),
        ("SECKILL.RECEIVE p0 s 1 9", "[9 6]"),
        ("SECKILL.SEND p0 s 1 10", "[10 5]"),
    ]);
    replica.assert_sound("p0");
}

#[test]
fn parts_of_several_sales_lie_together_in_a_cluster() {
    let (server, mut conn) = Options::new().line("cluster-enabled yes").start().with_conn();
    assert_eq!(conn.call("CLUSTER ADDSLOTSRANGE 0 16383"), "+OK");
    wait_until("the cluster is up", || server.call("CLUSTER INFO").contains("cluster_state:ok"));
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
