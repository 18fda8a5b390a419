//! Input of hostile or broken clients: the server continues, answers, and stays correct.

use seckill::command::table::TABLE;

use crate::support::calls::{EVERY_OPTION, ONE_EACH};
use crate::support::client::{encode, words};
use crate::support::shop::number;
use crate::support::{Random, Reply, Server};

/// Bytes that break programs which use them as text, format or end mark.
const NASTY: [&[u8]; 10] = [
    b"\0",
    b"a\0b",
    b"%s%n%s%n%p",
    b"%",
    b"\xff\xfe\x80",
    b"\xc3\x28",
    b"\r\n+OK\r\n",
    b"\"'\\",
    b"../../etc/passwd",
    "\u{1F9E8}\u{100}".as_bytes(),
];

/// The effect of a plain grant for `u`.
const GRANT: &[u8] = b"\0\0\0\x01u\0\x01\0";

const LARGEST: &str = "9007199254740991";

/// Calls with `arg` at every place for a caller's bytes.
fn calls_with(arg: &[u8]) -> impl Iterator<Item = Vec<&[u8]>> {
    EVERY_OPTION.iter().flat_map(move |line| {
        let call = words(line);
        let places = 1..call.len();
        places.map(move |place| [&call[..place], &[arg], &call[place + 1..]].concat())
    })
}

#[test]
fn nasty_bytes_go_anywhere_without_harm() {
    let (server, mut conn) = Server::start().with_conn();
    assert_eq!(conn.call("SECKILL.INIT k 1000 LIMIT 0"), "+OK");
    for nasty in NASTY {
        for call in calls_with(nasty) {
            if let Reply::Error(text) = conn.ask(&call) {
                let holds = |part: &[u8]| text.windows(part.len()).any(|w| w == part);
                assert!(!holds(nasty), "input is echoed: {}", text.escape_ascii());
                assert!(text.is_ascii() && !text.contains(&0));
            }
            assert_eq!(conn.call("PING"), "+PONG");
        }
    }
    server.assert_sound("k");
}

// Rules: 844a
#[test]
fn ids_come_back_byte_by_byte() {
    let (_server, mut conn) = Server::start().with_conn();
    assert_eq!(conn.call("SECKILL.INIT k 100 LIMIT 0"), "+OK");
    let all: Vec<u8> = (0..=255).collect();
    let half: &[u8] = &all[128..];
    let mut ids: Vec<&[u8]> = NASTY.to_vec();
    ids.extend([&all, half]);
    for (place, id) in ids.iter().enumerate() {
        let req = &id[..id.len().min(128)];
        let grab: [&[u8]; 5] = [b"SECKILL.GRAB", b"k", id, b"REQ", req];
        assert_eq!(conn.ask(&grab).items()[0].text(), "GRANTED");
        assert_eq!(conn.ask(&grab).items()[0].text(), "REPLAY");
        let rows = conn.ask(&[b"SECKILL.USER" as &[u8], b"k", id]);
        let row = rows.items()[2].items()[0].items();
        assert_eq!(row[1], Reply::Bulk(id.to_vec()));
        assert_eq!(row[6], Reply::Bulk(req.to_vec()));
        assert_eq!(row[0], Reply::Int(place as i64 + 1));
    }
    let winners = conn.cmd("SECKILL.WINNERS k 0");
    let users: Vec<Reply> =
        winners.items()[1].items().iter().map(|row| row.items()[1].clone()).collect();
    assert_eq!(users, ids.iter().map(|id| Reply::Bulk(id.to_vec())).collect::<Vec<_>>());
}

#[test]
fn ten_thousand_arguments_are_refused() {
    let (server, mut conn) = Server::start().with_conn();
    assert_eq!(conn.call("SECKILL.INIT k 1000"), "+OK");
    let digest = server.digest("k");
    // The list of users may be this long.
    let takes_many = |call: &&&str| call.contains("ALLOW") || call.contains("DENY");
    for call in ONE_EACH.iter().filter(|call| !takes_many(call)) {
        let call = call.replace('@', "k");
        for filler in [&b"LIMIT"[..], b"1", b"", GRANT] {
            let mut args = words(&call);
            args.resize(10_000, filler);
            assert!(conn.ask(&args).is_error(), "{call} {}", filler.escape_ascii());
        }
    }
    assert_eq!(server.digest("k"), digest);
    server.assert_sound("k");
}

// Rules: 7838
#[test]
fn integers_hold_at_and_over_every_edge() {
    let (server, mut conn) = Server::start().with_conn();
    let over = [
        "9007199254740992",
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551615",
        "18446744073709551616",
        "99999999999999999999999999999999",
    ];
    assert_eq!(conn.call(&format!("SECKILL.INIT k {LARGEST} LIMIT {LARGEST}")), "+OK");
    let places = [
        ("SECKILL.INIT n #", true),
        ("SECKILL.INIT n2 1 LIMIT #", true),
        ("SECKILL.INIT n3 1 GRABS #", true),
        ("SECKILL.INIT n4 1 OPENAT #", false),
        ("SECKILL.INIT n5 1 CLOSEAT #", false),
        ("SECKILL.INIT n6 1 HOLD #", false),
        ("SECKILL.ALTER k LIMIT #", true),
        ("SECKILL.ALTER k GRABS #", true),
        ("SECKILL.ALTER k CLOSEAT #", false),
        ("SECKILL.GRAB k u1 QTY #", true),
        ("SECKILL.GRAB k u2 UPTO #", true),
        ("SECKILL.RESTOCK k -# REQ r1", true),
        ("SECKILL.RESTOCK n2 # REQ r2", false),
        ("SECKILL.WINNERS k #", true),
        ("SECKILL.WINNERS k 0 COUNT #", false),
        ("SECKILL.INIT d1 # DRAW PACKETS 1 MIN 5", true),
        ("SECKILL.INIT d2 5 DRAW PACKETS #", false),
        ("SECKILL.INIT d3 5 DRAW PACKETS 1 MIN #", false),
        ("SECKILL.INIT d4 5 DRAW UNIFORM 1 #", true),
        ("SECKILL.INIT d5 5 DRAW UNIFORM # 5", false),
        ("SECKILL.INIT d6 5 DRAW EQUAL #", false),
        ("SECKILL.INIT d7 5 DRAW LIST 5 #", false),
        ("SECKILL.INIT r1 5 EVERY #", false),
        ("SECKILL.INIT r2 5 EVERY 9 OFFSET #", false),
        ("SECKILL.INIT r3 5 EVERY 9 LASTS #", false),
        ("SECKILL.INIT a1 5 MOD # 0", true),
        ("SECKILL.INIT a2 5 SAMPLE #", false),
        ("SECKILL.INIT a3 5 ADMIT #", true),
        ("SECKILL.ALTER a3 MOD # 5", true),
        ("SECKILL.ROUNDS k COUNT #", false),
        ("SECKILL.WINNERS k 0 ROUND #", true),
    ];
    for (line, fits) in places {
        for number in over {
            let reply = conn.call(&line.replace('#', number));
            let is_of_row = reply.starts_with("-ERR ") && reply.contains(" must be ");
            assert!(is_of_row && reply.contains(" to "), "{line} {number}: {reply}");
        }
        let reply = conn.cmd(&line.replace('#', LARGEST));
        assert_eq!(!reply.is_error(), fits, "{line} {LARGEST}: {reply}");
    }
    server.assert_sound("k");
    assert_eq!(conn.cmd("SECKILL.STATUS k").field("sold"), Reply::Int(9_007_199_254_740_991));
}

/// Other words in calls; two spaces enclose an empty one.
const WORDS: &str =
    "k k k u v 1 2 0 -1 -3 9007199254740991 QTY UPTO REQ LIMIT GRABS OPENAT CLOSEAT \
    COUNT STATE ALL JSON r  \0 SEQ HOLD RECLAIM ADD REMOVE MOD SAMPLE SALT ADMIT MASK OFF ROUND \
    ALLOWLIST";

/// Sales for random calls, with their terms. A round ends every few batches.
const SALES: &[(&str, &str)] = &[
    ("k", "1000 LIMIT 9"),
    ("h", "1000 LIMIT 0 HOLD 20"),
    ("p", "1000 HOLD 20 DRAW PACKETS 300 MIN 2"),
    ("u", "1000 GRABS 9 DRAW UNIFORM 1 9 EVERY 50"),
    ("l", "60 GRABS 9 HOLD 20 DRAW LIST 10 20 30"),
    ("c", "10 LIMIT 3 HOLD 70 EVERY 40 LASTS 30 CARRY ADMIT 5 MASK"),
];

/// Random numbers of random words of all commands: no crash, and no sale that breaks the law.
#[test]
fn random_calls_keep_the_law() {
    let (server, mut conn) = Server::start().with_conn();
    for (key, terms) in SALES {
        assert_eq!(conn.call(&format!("SECKILL.INIT {key} {terms}")), "+OK");
    }
    let (mut random, words) = (Random(2), WORDS.split(' ').collect::<Vec<_>>());
    for _ in 0..300 {
        let mut batch = Vec::new();
        for _ in 0..200 {
            let name = TABLE[random.below(TABLE.len() as u64) as usize].name;
            // A third of the calls are GRABs, so that there are grants to change.
            let name = if random.below(3) == 0 { "SECKILL.GRAB" } else { name };
            let mut args = vec![name.to_owned()];
            if random.below(8) > 0 {
                args.push(SALES[random.below(SALES.len() as u64) as usize].0.to_owned());
            }
            for _ in 0..random.below(6) {
                args.push(words[random.below(words.len() as u64) as usize].to_owned());
            }
            batch.push(encode(&args));
        }
        let replies = conn.pipeline(&batch).expect("the server lives");
        assert!(replies.iter().any(|reply| !reply.is_error()), "some of them make sense");
    }
    for (key, _) in SALES {
        server.assert_sound(key);
        assert!(number(&mut conn, key, "grants") > 0, "{key} was never sold from");
    }
}

/// A panic of a command would be caught, logged and replied. No call may cause one.
#[test]
fn requests_that_are_no_requests_do_not_reach_us() {
    let server = Server::start();
    for bytes in [&b"*-1\r\n"[..], b"*3\r\n$12\r\nSECKILL.GRAB\r\n$-1\r\n", b"SECKILL.GRAB\r\n"] {
        let mut conn = server.conn();
        conn.send_raw(bytes).expect("the server reads");
        drop(conn);
        assert_eq!(server.call("PING"), "+PONG");
    }
}
