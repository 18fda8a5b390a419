//! IMPORT, and repeated calls.

use crate::support::shop::{counter, wait_for_no_holds};
use crate::support::{Conn, Reply, Server};

// Rules: 2312 a256 abd1
#[test]
fn an_import_is_entered_once() {
    let (server, mut conn) = Server::start().with_conn();
    conn.check(&[
        ("SECKILL.INIT k 5 HOLD 900000 LIMIT 1 CLOSEAT 100000000000", "+OK"),
        ("SECKILL.PAUSE k", "+OK"),
        ("SECKILL.IMPORT k a 3 REQ o AT 1500000000000", "['GRANTED' 1 3 'SOLD' 0 2]"),
        ("SECKILL.IMPORT k a 3 REQ o AT 1500000000001", "['REPLAY' 1 3 'SOLD' 0]"),
        ("SECKILL.IMPORT k a 2 REQ o", "-REQMISMATCH"),
        ("SECKILL.IMPORT k b 3 REQ o NODEFICIT", "['SHORT' 2]"),
        ("SECKILL.IMPORT k b 3 REQ o", "['GRANTED' 2 3 'SOLD' 0 0]"),
        ("SECKILL.IMPORT k c 2 req o nodeficit", "['SHORT' 0]"),
        ("SECKILL.REFUND k b", "['REFUNDED' 2 3 0]"),
        ("SECKILL.IMPORT k b 3 REQ o", "['REPLAY' 2 3 'REFUNDED' 0]"),
        ("SECKILL.RESTOCK k 1 REQ r", "[1 3]"),
    ]);
    let rows = conn.cmd("SECKILL.USER k a").items()[2].clone();
    assert_eq!(rows.items()[0].items()[4], Reply::Int(1_500_000_000_000), "AT is kept");
    let status = conn.cmd("SECKILL.STATUS k");
    let shown = ["supply", "available", "sold", "deficit"].map(|name| status.field(name).int());
    assert_eq!(shown, [6, 3, 3, 0]);
    for (name, count) in [("imported", 2), ("granted", 0), ("attempts", 0), ("replayed", 0)] {
        assert_eq!(counter(&mut conn, "k", name), count, "{name}");
    }
    server.assert_sound("k");
}

/// Units that come back reduce the deficit first.
// Rules: abd1 3f97
#[test]
fn a_deficit_is_paid_off_first() {
    let (server, mut conn) = Server::start().with_conn();
    let numbers = |conn: &mut Conn| {
        let status = conn.cmd("SECKILL.STATUS k");
        ["supply", "available", "held", "sold", "deficit"].map(|name| status.field(name).int())
    };
    assert_eq!(conn.call("SECKILL.INIT k 4 HOLD 900000 LIMIT 0"), "+OK");
    for (line, reply, stock) in [
        ("SECKILL.GRAB k a QTY 3 REQ a", "['GRANTED' 1 3 'HELD' T 1]", [4, 1, 3, 0, 0]),
        ("SECKILL.IMPORT k b 6 REQ b", "['GRANTED' 2 6 'SOLD' 0 0]", [9, 0, 3, 6, 5]),
        ("SECKILL.RESTOCK k 1 REQ r", "[1 0]", [9, 0, 3, 6, 4]),
        ("SECKILL.CANCEL k a", "['CANCELLED' 1 3 0]", [6, 0, 0, 6, 1]),
        ("SECKILL.RESTOCK k 4 REQ r2", "[4 3]", [9, 3, 0, 6, 0]),
        ("SECKILL.RESTOCK k 4 REQ r2", "[4 3]", [9, 3, 0, 6, 0]),
        ("SECKILL.IMPORT k a 3 REQ a", "['REPLAY' 1 3 'SOLD' 0]", [9, 0, 0, 9, 0]),
        ("SECKILL.GRAB k c REQ c", "['SOLDOUT' 0]", [9, 0, 0, 9, 0]),
        ("SECKILL.IMPORT k c 1 REQ c", "['GRANTED' 3 1 'SOLD' 0 0]", [10, 0, 0, 10, 1]),
        ("SECKILL.REFUND k b", "['REFUNDED' 2 6 0]", [9, 5, 0, 4, 0]),
        ("SECKILL.IMPORT k x 9007199254740991 REQ x", TOO_LARGE, [9, 5, 0, 4, 0]),
    ] {
        assert_eq!(conn.cmd(line).timeless(), reply, "{line}");
        assert_eq!(numbers(&mut conn), stock, "after {line}");
    }
    server.assert_sound("k");
}

const TOO_LARGE: &str = "-ERR supply must be 0 to 9007199254740991";

/// Orders from the first to the last command. `WAIT` waits until holds have expired.
const LIVES: [&[&str]; 10] = [
    &[
        "GRAB k u REQ o",
        "EXTEND k u 1 REQ o",
        "CONFIRM k u REQ o",
        "REFUND k u REQ o",
        "RESTOCK k 5 REQ r",
        "RESTOCK k -7 REQ r2",
    ],
    &["GRAB k u REQ o", "CANCEL k u REQ o", "GRAB k u REQ p", "CONFIRM k u REQ p RECLAIM"],
    &[
        "GRAB k u REQ o",
        "WAIT",
        "CONFIRM k u REQ o",
        "CONFIRM k u REQ o RECLAIM",
        "CANCEL k u REQ o",
        "REFUND k u REQ o",
    ],
    &[
        "GRAB k u REQ o",
        "WAIT",
        "RESTOCK k -2 REQ none-left",
        "CONFIRM k u REQ o RECLAIM",
        "RESTOCK k 2 REQ back",
        "CONFIRM k u SEQ 1 RECLAIM",
        "EXTEND k u 5 REQ o",
    ],
    &["CANCEL k u REQ o", "GRAB k u REQ o", "CONFIRM k u REQ o", "GRAB k u REQ p"],
    &["IMPORT k u 4 REQ o", "RESTOCK k 1 REQ r", "REFUND k u REQ o", "IMPORT k v 1 REQ o"],
    &["GRAB k u REQ o", "WAIT", "IMPORT k u 1 REQ o", "REFUND k u REQ o"],
    &["GRAB k u REQ o", "IMPORT k u 1 REQ o", "CANCEL k u REQ o", "CONFIRM k u", "REFUND k u"],
    &[
        "GRAB k u UPTO 3 REQ o",
        "CANCEL k u REQ o KEEP 2",
        "CANCEL k u REQ o KEEP 1",
        "CONFIRM k u REQ o",
        "GRAB k v REQ o",
        "REFUND k u REQ o",
    ],
    &["IMPORT k u 4 REQ o", "REFUND k u REQ o KEEP 3", "REFUND k u SEQ 1 KEEP 1", "REFUND k u"],
];

// Rules: efbb
#[test]
fn no_duplicate_changes_anything_however_late() {
    let (server, mut conn) = Server::start().with_conn();
    for life in LIVES {
        assert_eq!(conn.call("DEL k s").len(), 1);
        assert_eq!(conn.call("SECKILL.INIT k 2 HOLD 300 LIMIT 3 OUTBOX s"), "+OK");
        let long = !life.contains(&"WAIT");
        if long {
            assert_eq!(conn.call("SECKILL.ALTER k HOLD 900000"), "+OK");
        }
        for (place, step) in life.iter().enumerate() {
            if *step == "WAIT" {
                wait_for_no_holds(&server, "k");
            } else {
                let reply = conn.cmd(&format!("SECKILL.{step}"));
                assert!(!reply.is_error(), "{step}: {reply}");
            }
            // A held order of a WAIT may expire between two reads.
            if long || life[..=place].contains(&"WAIT") {
                assert_repeats_do_nothing(&server, &mut conn, &life[..=place]);
            }
        }
        server.assert_sound("k");
    }
}

#[track_caller]
fn assert_repeats_do_nothing(server: &Server, conn: &mut Conn, sent: &[&str]) {
    let dirty = |server: &Server| server.info("persistence", "rdb_changes_since_last_save");
    let before = (server.digest("k"), dirty(server), conn.call("XLEN s"));
    for line in sent.iter().filter(|line| **line != "WAIT") {
        let reply = conn.cmd(&format!("SECKILL.{line}"));
        assert!(!reply.is_error(), "{line}: {reply}");
        let after = (server.digest("k"), dirty(server), conn.call("XLEN s"));
        assert_eq!(after, before, "{line} again after {sent:?}");
    }
}
