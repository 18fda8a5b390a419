//! Replies byte by byte: RESP2 and RESP3 differ only in maps and null.

use seckill_domain::outcome::OUTCOMES;
use seckill_domain::terms::{Section, TERMS};

use crate::support::client::encode;
use crate::support::{Conn, Server};

fn both(server: &Server) -> [(&'static str, Conn); 2] {
    [("RESP2", server.conn()), ("RESP3", server.conn().resp3())]
}

/// Outcomes are bulk strings in both protocols, because some clients turn simple strings into
/// `true`.
#[test]
fn replies_of_buyer_commands_are_the_same_in_both() {
    let server = Server::start();
    for (protocol, mut conn) in both(&server) {
        let mut expect = |line: &str, bytes: &str| {
            assert_eq!(conn.raw(line), bytes, "{line} in {protocol}");
        };
        expect("FLUSHALL", "+OK\r\n");
        expect("SECKILL.INIT k 5 LIMIT 2", "+OK\r\n");
        expect(
            "SECKILL.GRAB k a REQ o",
            "*6\r\n$7\r\nGRANTED\r\n:1\r\n:1\r\n$4\r\nSOLD\r\n:0\r\n:4\r\n",
        );
        expect("SECKILL.GRAB k a REQ o", "*5\r\n$6\r\nREPLAY\r\n:1\r\n:1\r\n$4\r\nSOLD\r\n:0\r\n");
        expect("SECKILL.GRAB k a QTY 2", "*2\r\n$9\r\nOVERLIMIT\r\n:1\r\n");
        expect("SECKILL.RESTOCK k -1 REQ r", "*2\r\n:-1\r\n:3\r\n");
        expect("SECKILL.PAUSE k", "+OK\r\n");
        expect("SECKILL.GRAB k d", "*1\r\n$6\r\nPAUSED\r\n");
        expect("SECKILL.INIT most 9007199254740991 LIMIT 0", "+OK\r\n");
        expect(
            "SECKILL.GRAB most a QTY 1000000000",
            "*6\r\n$7\r\nGRANTED\r\n:1\r\n:1000000000\r\n$4\r\nSOLD\r\n:0\r\n:9007198254740991\r\n",
        );
        expect("SECKILL.CONFIRM most b", "*4\r\n$7\r\nNOGRANT\r\n:0\r\n:0\r\n:0\r\n");
        expect(
            "SECKILL.GRAB nokey d",
            "-NOSALE no sale at this key (the key is the first argument)\r\n",
        );
        expect("SECKILL.USER k d", "*3\r\n:2\r\n$2\r\nOK\r\n*0\r\n");
        expect("SECKILL.WINNERS k 1", "*2\r\n:0\r\n*0\r\n");
    }
}

/// Replies in a pipeline, a transaction or a script do not mix.
#[test]
fn replies_in_a_long_pipeline_keep_apart() {
    let (_server, mut conn) = Server::start().with_conn();
    conn.cmd("SECKILL.INIT k 20000");
    let grabs: Vec<Vec<Vec<u8>>> = (10_000..20_000)
        .map(|user| {
            let user = format!("user:{user}").into_bytes();
            vec![b"SECKILL.GRAB".to_vec(), b"k".to_vec(), user]
        })
        .collect();
    let all: Vec<u8> = grabs.iter().flat_map(|grab| encode(grab)).collect();
    conn.send_raw(&all).unwrap();
    for seq in 1..=10_000 {
        let expected = format!("['GRANTED' {seq} 1 'SOLD' 0 {}]", 20_000 - seq);
        assert_eq!(conn.read().unwrap().to_string(), expected);
    }
    conn.cmd("MULTI");
    for user in ["a", "b"] {
        conn.cmd(&format!("SECKILL.GRAB k {user}"));
    }
    let (a, b) = ("['GRANTED' 10001 1 'SOLD' 0 9999]", "['GRANTED' 10002 1 'SOLD' 0 9998]");
    assert_eq!(conn.call("EXEC"), format!("[{a} {b}]"));
    let script = "local a = redis.call('SECKILL.GRAB', KEYS[1], 'c'); \
        local b = redis.call('SECKILL.GRAB', KEYS[1], 'd'); return {a[2], b[2]}";
    let made = conn.ask(&["EVAL", script, "1", "k"]);
    assert_eq!(made.to_string(), "[10003 10004]");
}

// Rules: 4295
#[test]
fn a_grant_row_has_nine_elements() {
    let server = Server::start();
    for (protocol, mut conn) in both(&server) {
        conn.check(&[("FLUSHALL", "+OK"), ("SECKILL.INIT k 9 LIMIT 0", "+OK")]);
        conn.call("SECKILL.GRAB k alice QTY 3 REQ o-1");
        conn.call("SECKILL.GRAB k bob");
        let rows = conn.cmd("SECKILL.WINNERS k 0").items()[1].items().to_vec();
        let number = |row: usize, place: usize| rows[row].items()[place].int();
        let (at, epoch) = ([number(0, 4), number(1, 4)], number(0, 7));
        let nil = if protocol == "RESP3" { "_\r\n" } else { "$-1\r\n" };
        let expected = format!(
            "*2\r\n:0\r\n*2\r\n\
             *9\r\n:1\r\n$5\r\nalice\r\n:3\r\n$4\r\nSOLD\r\n:{}\r\n:0\r\n\
             $3\r\no-1\r\n:{epoch}\r\n:0\r\n\
             *9\r\n:2\r\n$3\r\nbob\r\n:1\r\n$4\r\nSOLD\r\n:{}\r\n:0\r\n{nil}:{epoch}\r\n:0\r\n",
            at[0], at[1],
        );
        assert_eq!(conn.raw("SECKILL.WINNERS k 0"), expected, "{protocol}");
    }
}

/// Maps are flat arrays in RESP2.
// Rules: a0f1 90fc
#[test]
fn status_and_audit_are_maps() {
    let server = Server::start();
    let [(_, mut two), (_, mut three)] = both(&server);
    two.check(&[
        ("SECKILL.INIT k 9", "+OK"),
        ("SECKILL.GRAB k a", "['GRANTED' 1 1 'SOLD' 0 8]"),
        ("SECKILL.PAUSE k", "+OK"),
    ]);
    let flat = two.raw("SECKILL.STATUS k");
    let map = three.raw("SECKILL.STATUS k");
    // Each term and each outcome has a row, and each row is a number of STATUS.
    let terms = TERMS.iter().filter(|term| term.section() == Some(Section::Sale)).count();
    let (fields, counters) = (20 + terms, 10 + OUTCOMES.len());
    for (text, fields, counters) in [
        (&flat, format!("*{}", 2 * fields), format!("*{}", 2 * counters)),
        (&map, format!("%{fields}"), format!("%{counters}")),
    ] {
        let head = "$5\r\nstate\r\n$6\r\npaused\r\n$6\r\nsupply\r\n:9\r\n";
        assert!(text.starts_with(&format!("{fields}\r\n{head}")), "{text}");
        let counted = format!("$8\r\ncounters\r\n{counters}\r\n$8\r\nattempts\r\n:1\r\n");
        assert!(text.contains(&counted), "{text}");
    }
    assert!(flat.contains("$6\r\noutbox\r\n$-1\r\n"), "{flat}");
    assert!(map.contains("$6\r\noutbox\r\n_\r\n"), "{map}");

    let body =
        "$2\r\nok\r\n:1\r\n$6\r\ngrants\r\n:1\r\n$7\r\nwinners\r\n:1\r\n$6\r\nsupply\r\n:9\r\n\
                $9\r\navailable\r\n:8\r\n$4\r\nheld\r\n:0\r\n$4\r\nsold\r\n:1\r\n\
                $11\r\ndifferences\r\n*0\r\n$7\r\nversion\r\n*2\r\n:3\r\n:3\r\n";
    assert_eq!(two.raw("SECKILL.AUDIT k"), format!("*18\r\n{body}"));
    assert_eq!(three.raw("SECKILL.AUDIT k"), format!("%9\r\n{body}"));

    let json = two.raw("SECKILL.STATUS k JSON");
    assert!(
        json.starts_with('$') && json.contains("\r\n{\"state\":\"paused\",\"supply\":9,"),
        "{json}"
    );
}

/// A key may have any bytes as name; JSON has only text.
#[test]
fn the_name_of_an_outbox_is_bytes_in_the_map_and_text_in_json() {
    let server = Server::start();
    for (protocol, mut conn) in both(&server) {
        assert_eq!(conn.call("FLUSHALL"), "+OK");
        let init: [&[u8]; 5] = [b"SECKILL.INIT", b"k", b"9", b"OUTBOX", b"s\xff\0"];
        conn.send_raw(&encode(&init.map(<[u8]>::to_vec))).unwrap();
        assert_eq!(conn.read().unwrap().to_string(), "+OK");
        let status = conn.cmd("SECKILL.STATUS k");
        assert_eq!(status.field("outbox").bytes(), b"s\xff\0", "{protocol}");
        let json = conn.cmd("SECKILL.STATUS k JSON").text();
        assert!(json.contains("\"outbox\":\"s\u{fffd}\\u0000\""), "{protocol}: {json}");
    }
}
