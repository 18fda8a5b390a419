//! RESTORE of altered payloads with a valid checksum on a live server. The server does not crash:
//! it refuses them, or has a sale that passes AUDIT and works.

use std::time::Instant;

use crate::corpus::{alter, corpus, pick};
use crate::random::Random;
use crate::support::payload::{assembled, restore, HEADER_BYTES, TRAILER_BYTES};
use crate::support::{payload, Conn, Options, Reply, Server};
use crate::{long, rebuild, seed, Figures};

/// Payloads in one write.
const BATCH: u64 = 50;

/// Calls to the restored sale, with AUDIT before and after.
const USES: [&str; 16] = [
    "SECKILL.STATUS x",
    "SECKILL.WINNERS x 0 STATE ALL",
    "SECKILL.USER x a",
    "SECKILL.ROUNDS x",
    "SECKILL.GRAB x a",
    "SECKILL.GRAB x a UPTO 3 REQ new",
    "SECKILL.CANCEL x a REQ new",
    "SECKILL.RESTOCK x -1 REQ new",
    "SECKILL.IMPORT x b 2 REQ new",
    // For numbered units.
    "SECKILL.UNITS x 1",
    "SECKILL.UNIT x 1",
    "SECKILL.GRAB x c UNITS 2 1 REQ new",
    "SECKILL.GRAB x d QTY 2 ADJACENT REQ new",
    "SECKILL.CONFIRM x c REQ new KEEP UNITS 2",
    "SECKILL.RESTOCK x 1 REQ more",
    "SECKILL.IMPORT x e 2 REQ new UNITS 1 3",
];

fn words(line: &str) -> Vec<u8> {
    crate::support::client::encode(&crate::support::client::words(line))
}

/// Restores one payload, sends commands to its sale, and deletes it.
fn session(payload: &[u8]) -> Vec<Vec<u8>> {
    let mut lines = vec![restore("x", payload), words("SECKILL.AUDIT x")];
    lines.extend(USES.iter().map(|line| words(line)));
    lines.extend([words("SECKILL.AUDIT x"), words("DEL x")]);
    lines
}

/// Whether the server accepted the payload; then its sale must be sound.
fn is_taken(replies: &[Reply], how: &str) -> bool {
    let [restored, before, uses @ .., after, _] = replies else { return false };
    match restored.to_string().as_str() {
        "+OK" => {}
        "-ERR Bad data format" => return false,
        other => panic!("{how}: {other}"),
    }
    for audit in [before, after] {
        assert_eq!(audit.field("ok"), Reply::Int(1), "{how}: {audit}");
        let number = |name: &str| audit.field(name).int();
        let sum = number("available") + number("held") + number("sold");
        assert_eq!(number("supply"), sum, "{how}: {audit}");
    }
    // Reads never fail; only a part may refuse another part's user.
    let is_read = |reply: &Reply| !reply.is_error() || reply.to_string().starts_with("-WRONGPART");
    uses.iter().take(3).for_each(|reply| assert!(is_read(reply), "{how}: {reply}"));
    true
}

/// Payloads of the corpus; the server accepts all of them unaltered.
fn payloads(server: &Server, seed: u64) -> (Vec<u8>, Vec<Vec<Vec<u8>>>) {
    let mut conn = server.conn();
    assert_eq!(conn.call("SECKILL.INIT like 1"), "+OK");
    let like = conn.cmd("DUMP like").bytes().to_vec();
    let dumps: Vec<Vec<Vec<u8>>> =
        corpus(seed).iter().map(|sample| rebuild::dump(&sample.sale)).collect();
    for (place, dump) in dumps.iter().enumerate() {
        let payload = payload_of(&like, dump);
        let replies = conn.pipeline(&session(&payload)).expect("the server lives");
        assert!(is_taken(&replies, "as it is"), "payload {place}: {}", replies[0]);
    }
    (like, dumps)
}

/// A payload of these pieces; an empty string ends it.
fn payload_of(like: &[u8], dump: &[Vec<u8>]) -> Vec<u8> {
    assembled(like, &[dump, &[Vec::new()]].concat())
}

/// Changes bytes of the payload after its type id, which the server checks.
fn flip(payload: &mut [u8], random: &mut Random) {
    let body = HEADER_BYTES..payload.len() - TRAILER_BYTES;
    for _ in 0..1 + random.below(4) {
        let place = body.start + random.below(body.len() as u64) as usize;
        payload[place] = match random.below(4) {
            0 => payload[place] ^ 1 << random.below(8),
            1 => payload[place].wrapping_add(1),
            2 => 0xff,
            _ => random.number() as u8,
        };
    }
    payload::repair(payload);
}

/// Restores altered payloads; the server shuts down normally.
pub fn alter_payloads(rounds: u64, seed: u64) -> Figures {
    let mut server = Options::new().line("sanitize-dump-payload yes").start();
    let (like, dumps) = payloads(&server, seed);
    let mut conn: Conn = server.conn();
    let (mut random, mut figures) = (Random(seed), Figures::default());
    for batch in 0..rounds.div_ceil(BATCH) {
        let altered = (0..BATCH).map(|_| {
            let mut dump = pick(&mut random, &dumps).clone();
            if random.below(2) == 0 {
                alter(&mut dump, pick::<Vec<_>>(&mut random, &dumps), &mut random);
                return payload_of(&like, &dump);
            }
            let mut payload = payload_of(&like, &dump);
            flip(&mut payload, &mut random);
            payload
        });
        let sessions: Vec<Vec<u8>> = altered.flat_map(|payload| session(&payload)).collect();
        let replies = conn.pipeline(&sessions).expect("the server lives");
        for (place, replies) in replies.chunks(USES.len() + 4).enumerate() {
            let how = format!("seed {seed}, batch {batch}, payload {place}");
            figures.note(is_taken(replies, &how));
        }
    }
    assert_eq!(conn.call("PING"), "+PONG");
    server.stop(false);
    figures
}

#[test]
fn altered_payloads() {
    let figures = alter_payloads(5000, 1);
    assert!(figures.taken > 100 && figures.refused > 2000, "{figures:?}");
}

#[test]
#[ignore = "long: make fuzz"]
fn long_altered_payloads() {
    let since = Instant::now();
    alter_payloads(long(100_000), seed()).print("payloads restored on a live server", since);
}
