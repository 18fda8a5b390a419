//! Snapshots of earlier versions stay readable, to the last number. The files in tests/golden are
//! written once and never changed, see the README.md there.

use crate::support::shop::counters;
use crate::support::{Conn, Options, Reply, Server};

/// A session with its snapshot and its rewritten AOF.
struct Golden {
    commands: &'static str,
    rdb: &'static [u8],
    aof: &'static [u8],
    keys: &'static [&'static str],
}

const V1: Golden = Golden {
    commands: include_str!("../golden/v1.commands"),
    rdb: include_bytes!("../golden/v1.rdb"),
    aof: include_bytes!("../golden/v1.aof"),
    keys: &["full", "held", "listed", "packets", "part", "kept"],
};
const V1_WAITLIST: Golden = Golden {
    commands: include_str!("../golden/v1-waitlist.commands"),
    rdb: include_bytes!("../golden/v1-waitlist.rdb"),
    aof: include_bytes!("../golden/v1-waitlist.aof"),
    keys: &["concert"],
};

/// Times and epochs of the session in v1.commands.
const V1_STATUS: &str = "\
    'state' 'paused' 'supply' 23 'available' 5 'held' 0 'sold' 18 'deficit' 0 'winners' 5 \
    'grants' 7 'limit' 6 'grabs' 4 'hold_ms' 0 'open_at' 1600000000001 \
    'close_at' 4102444800000";
const V1_IDENTITY: &str = "\
    'created_at' 1700000000000 'last_grant_at' 1700000061021 'id' '6964656e74697479' \
    'epoch' 1600000000001 'version' 13 'rev' 0";
const V1_COUNTERS: &str = "attempts 12 granted 7 already 2 replayed 1 paused 2";
const V1_WINNERS: [&str; 7] = [
    "[1 'alice' 1 'SOLD' 1700000000010 0 nil 1600000000000 0]",
    "[2 'alice' 1 'SOLD' 1700000000010 0 nil 1600000000000 0]",
    "[3 'bob' 3 'SOLD' 1700000000015 0 'o-1' 1600000000000 0]",
    "[4 'bob' 2 'SOLD' 1700000000020 0 'o-2' 1600000000000 0]",
    r"[5 '\x00\x01user\xfe%s' 1 'SOLD' 1700000000020 0 '\x00\xff%\n' 1600000000000 0]",
    "[6 'carol' 6 'SOLD' 1700000001020 0 nil 1600000000001 0]",
    "[7 'dave' 4 'SOLD' 1700000061021 0 'x' 1600000000001 0]",
];

/// Starts a server with this snapshot.
fn with_snapshot(bytes: &[u8]) -> Server {
    let mut server = Options::new().start();
    server.stop(false);
    std::fs::write(server.folder().join("dump.rdb"), bytes).expect("a writable folder");
    server.start_again();
    server
}

/// The words of a line of a session; `\xNN` is a byte.
fn decoded(line: &str) -> Vec<Vec<u8>> {
    let byte = |hex: &str| u8::from_str_radix(hex, 16).expect("two hexadecimal digits");
    let word = |word: &str| {
        let mut parts = word.split("\\x");
        let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
        for part in parts {
            bytes.push(byte(&part[..2]));
            bytes.extend_from_slice(&part.as_bytes()[2..]);
        }
        bytes
    };
    line.split(' ').map(word).collect()
}

/// Sends the commands of a stored session.
fn replay(conn: &mut Conn, session: &str) {
    for line in session.lines() {
        let reply = conn.ask(&decoded(line));
        assert!(!reply.is_error(), "{line}: {reply}");
    }
}

/// The values of a map for the field names in `like`.
fn fields(map: &Reply, like: &str) -> String {
    let names = like.split('\'').skip(1).step_by(2);
    let pairs = map.pairs();
    let found = |name: &str| pairs.iter().find(|(key, _)| key == name);
    let shown = names.filter_map(found).map(|(name, value)| format!("'{name}' {value}"));
    shown.collect::<Vec<_>>().join(" ")
}

#[test]
fn a_snapshot_of_version_1_loads() {
    let (server, mut conn) = with_snapshot(V1.rdb).with_conn();
    let status = conn.cmd("SECKILL.STATUS full");
    assert_eq!(fields(&status, V1_STATUS), V1_STATUS);
    assert_eq!(fields(&status, V1_IDENTITY), V1_IDENTITY);
    assert_eq!(counters(&mut conn, "full"), V1_COUNTERS);
    let page = conn.cmd("SECKILL.WINNERS full 0 STATE ALL");
    let rows: Vec<String> = page.items()[1].items().iter().map(Reply::to_string).collect();
    assert_eq!(rows, V1_WINNERS);
    server.assert_sound("full");
    conn.check(&[
        ("SECKILL.GRAB full bob QTY 3 REQ o-1", "['REPLAY' 3 3 'SOLD' 0]"),
        ("SECKILL.GRAB full bob UPTO 1 REQ o-2", "['REPLAY' 4 2 'SOLD' 0]"),
        ("SECKILL.RESTOCK full 20 REQ more", "[20 106]"),
        ("SECKILL.RESTOCK full -999 REQ take", "[-106 0]"),
        ("SECKILL.RESTOCK full 9 REQ again", "[9 9]"),
        ("SECKILL.STATUS empty XML", "-ERR syntax error at argument 2"),
        ("SECKILL.INIT empty 0", "+OK"),
        ("SECKILL.INIT empty 1", "-SALEEXISTS"),
    ]);
    let counters = conn.cmd("SECKILL.STATUS empty").field("counters");
    assert_eq!(counters.field("soldout"), Reply::Int(1));
    assert_eq!(server.log().matches("a sale was not loaded").count(), 0);
}

/// KEEP: current and initial units of grants.
#[test]
fn what_was_kept_in_version_1_goes_on() {
    let (server, mut conn) = with_snapshot(V1.rdb).with_conn();
    conn.check(&[
        ("SECKILL.GRAB kept bob QTY 9 REQ k-2", "['REPLAY' 2 1 'SOLD' 0]"),
        ("SECKILL.GRAB kept alice QTY 7 REQ k-1", "['REPLAY' 1 5 'HELD' 4105036800001]"),
        ("SECKILL.REFUND kept carol SEQ 3 KEEP 1", "['SOLD' 3 1 0]"),
        ("SECKILL.REFUND kept dave SEQ 4 KEEP 2", "['SOLD' 4 2 0]"),
        ("SECKILL.IMPORT kept alice 7 REQ k-1", "['REPLAY' 1 7 'SOLD' 0]"),
    ]);
    assert_eq!(conn.cmd("SECKILL.STATUS kept").field("counters").field("trimmed"), Reply::Int(6));
    server.assert_sound("kept");
}

/// Waiters, how often the head was passed, and the grants that are offers.
#[test]
fn a_waiting_list_of_version_1_goes_on() {
    let (server, mut conn) = with_snapshot(V1_WAITLIST.rdb).with_conn();
    let status = "'waitlist' 12 'offer_ms' 2400000000 'overtake' 2 'waiting' 3 'waiting_units' 6 \
        'waiting_since' 4102444800140 'offered' 3";
    assert_eq!(fields(&conn.cmd("SECKILL.STATUS concert"), status), status);
    conn.check(&[
        (
            "SECKILL.WAITERS concert 0",
            "[0 [[10 'mike' 2 'm-1' 4102444800140 4102544800000] \
             [12 'oscar' 3 'o-1' 4102444800156 0] \
             [13 'paula' 1 'p-1' 4102444800183 4102544800001]]]",
        ),
        ("SECKILL.GRAB concert heidi REQ h-1", "['REPLAY' 0 0 'CANCELLED' 0]"),
        // A unit is available, but mike was passed twice: after an entry leaves it is still
        // reserved.
        ("SECKILL.CANCEL concert oscar REQ o-1", "['CANCELLED' 0 0 0]"),
        ("SECKILL.PLACE concert paula", "['WAITING' 13 1 2]"),
        ("SECKILL.GRAB concert victor REQ v-1", "['SOLDOUT' 16]"),
        // An offer that is cancelled.
        ("SECKILL.CANCEL concert dave REQ d-1", "['CANCELLED' 7 3 0]"),
        ("SECKILL.CONFIRM concert mike REQ m-1", "['SOLD' 13 2 0]"),
        ("SECKILL.CONFIRM concert paula REQ p-1", "['SOLD' 14 1 0]"),
        ("SECKILL.GRAB concert victor REQ v-1", "['GRANTED' 15 1 'HELD' 4104944800183 0]"),
    ]);
    server.assert_sound("concert");
}

/// The commands of version 1 still lead to an equal sale, so effects of version 1 are understood.
/// Holds and rounds are in the year 2100, so none ends during the test.
#[test]
fn a_session_of_version_1_leads_to_its_snapshot() {
    for golden in [V1, V1_WAITLIST] {
        let (loaded, server) = (with_snapshot(golden.rdb), Server::start());
        replay(&mut server.conn(), golden.commands);
        for key in golden.keys {
            assert_eq!(server.digest(key), loaded.digest(key), "{key}");
            assert_eq!(server.picture(key), loaded.picture(key), "{key}");
            loaded.assert_sound(key);
        }
    }
}

/// The AOF as version 1 rewrote it, without an RDB preamble: the pieces are effects.
#[test]
fn a_rewritten_log_of_version_1_leads_to_its_snapshot() {
    for golden in [V1, V1_WAITLIST] {
        let (loaded, server) = (with_snapshot(golden.rdb), Server::start());
        let (mut conn, mut rest) = (server.conn(), golden.aof);
        while !rest.is_empty() {
            let command = Reply::read(&mut rest).expect("a command");
            let words: Vec<&[u8]> = command.items().iter().map(Reply::bytes).collect();
            assert_eq!(conn.ask(&words).to_string(), "+OK", "{command}");
        }
        for key in golden.keys {
            assert_eq!(server.digest(key), loaded.digest(key), "{key}");
            server.assert_sound(key);
        }
    }
}
