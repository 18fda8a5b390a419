//! Payloads that were truncated or altered. The server does not crash: it refuses them, or has a
//! sale that obeys the law.

use super::persistence::fill;
use crate::support::payload::{assembled, pieces, restore, TRAILER_BYTES};
use crate::support::{payload, Conn, Options, Random, Reply, Server};

/// Offset of the version in a piece, and the current version.
const FORM: usize = 0;
const NEWEST: u8 = 0;
const FLIPS: usize = 10_000;
const REFUSED: &str = "-ERR Bad data format";

/// A server without compression, so that each altered byte reaches the module.
fn start() -> Server {
    Options::new().line("rdbcompression no").line("sanitize-dump-payload yes").start()
}

/// A payload with several pieces and all kinds of grants, small enough to alter each byte.
fn payload(server: &Server) -> Vec<u8> {
    fill(server, "k", 40);
    server.cmd("DUMP k").bytes().to_vec()
}

#[test]
fn a_payload_restores_to_the_same_sale() {
    let server = start();
    let payload = payload(&server);
    let other = start();
    let mut conn = other.conn();
    let reply = conn.pipeline(&[restore("copy", &payload)]).expect("a reply").remove(0);
    assert_eq!(reply.to_string(), "+OK");
    assert_eq!(other.digest("copy"), server.digest("k"));
    assert_eq!(other.picture("copy"), server.picture("k"));
    let counters =
        |server: &Server, key| server.cmd(&format!("SECKILL.STATUS {key}")).field("counters");
    assert_eq!(counters(&other, "copy"), counters(&server, "k"));
    let again = conn.cmd("DUMP copy");
    assert_eq!(again.bytes(), payload, "and dumps the same again");
}

#[test]
fn every_truncation_is_refused() {
    let server = start();
    let payload = payload(&server);
    let mut conn = server.conn();
    let trailer = &payload[payload.len() - TRAILER_BYTES..];
    let cut = |len: usize| {
        let mut part = [&payload[..len], trailer].concat();
        payload::repair(&mut part);
        restore("x", &part)
    };
    let body = payload.len() - TRAILER_BYTES;
    let parts: Vec<Vec<u8>> = (1..body).map(cut).collect();
    for (len, reply) in conn.pipeline(&parts).expect("the server lives").iter().enumerate() {
        assert_eq!(reply.to_string(), REFUSED, "cut off after {} bytes of {body}", len + 1);
    }
    assert_eq!(conn.call("EXISTS x"), "0");
    let whole = conn.pipeline(&[cut(body)]).expect("the server lives").remove(0);
    assert_eq!(whole.to_string(), "+OK", "the checksum was not what refused them");
    server.wait_for_log("a sale was not loaded: its data is cut off");
}

/// A base whose numbers do not match its grants is refused, never corrected silently.
#[test]
fn an_altered_base_is_held_as_told_or_refused() {
    let server = start();
    let payload = payload(&server);
    let whole = pieces(&payload);
    let mut conn = server.conn();
    let (mut refused, mut held) = (0, 0);
    // After the version and the kind of piece.
    for place in 2..whole[0].len() {
        for step in [1, 255] {
            let mut altered = whole.clone();
            altered[0][place] = altered[0][place].wrapping_add(step);
            let restore = restore("x", &assembled(&payload, &altered));
            let reply = conn.pipeline(&[restore]).expect("the server lives").remove(0);
            if reply.to_string() == REFUSED {
                refused += 1;
                continue;
            }
            held += 1;
            let base = pieces(conn.cmd("DUMP x").bytes()).remove(0);
            // A number in more bytes than needed is written shorter.
            let is_shorter = base.len() < altered[0].len();
            assert!(base == altered[0] || is_shorter, "byte {place} of the base");
        }
    }
    assert!(refused > 20 && held > 20, "{refused} refused, {held} held");
}

/// If an altered payload is accepted, the sale must be sound and usable.
#[track_caller]
fn assert_works(conn: &mut Conn, what: &str) {
    let audit = conn.cmd("SECKILL.AUDIT x");
    assert_eq!(audit.field("ok"), Reply::Int(1), "{what}: {audit}");
    let number = |name: &str| audit.field(name).int();
    let (supply, available) = (number("supply"), number("available"));
    assert_eq!(supply, available + number("held") + number("sold"), "{what}: {audit}");
    for line in [
        "SECKILL.STATUS x",
        "SECKILL.STATUS x JSON",
        "SECKILL.WINNERS x 0 STATE ALL",
        "SECKILL.USER x user:1",
        "DEBUG DIGEST-VALUE x",
        "DUMP x",
        "SECKILL.GRAB x newcomer REQ r",
        "SECKILL.RESTOCK x -1 REQ some-restock",
    ] {
        let reply = conn.cmd(line);
        // A sale with T or numbers at their largest value may refuse changes, but never reads.
        assert!(!reply.is_error() || line.contains("REQ"), "{what}: {line} {reply}");
    }
    assert_eq!(conn.cmd("SECKILL.AUDIT x").field("ok"), Reply::Int(1), "{what}");
}

#[test]
fn altered_bytes_are_refused_or_harmless() {
    let server = start();
    let payload = payload(&server);
    let mut conn = server.conn();
    let mut random = Random(1);
    let (mut refused, mut accepted) = (0, 0);
    for number in 0..FLIPS {
        let mut altered = payload.clone();
        // The first byte is the type. Other types are not tested with these bytes.
        let bytes = 1 + random.below(if number % 2 == 0 { 1 } else { 4 });
        for _ in 0..bytes {
            let place = 1 + random.below((payload.len() - TRAILER_BYTES - 1) as u64) as usize;
            let old = altered[place];
            altered[place] = match random.below(4) {
                0 => old ^ 1 << random.below(8),
                1 => old.wrapping_add(1),
                2 => 0xff,
                _ => random.number() as u8,
            };
        }
        payload::repair(&mut altered);
        let reply = conn.pipeline(&[restore("x", &altered)]).expect("the server lives").remove(0);
        if reply.to_string() == "+OK" {
            accepted += 1;
            assert_works(&mut conn, &format!("alteration {number}"));
        } else {
            assert_eq!(reply.to_string(), REFUSED, "alteration {number}");
            refused += 1;
        }
    }
    assert!(
        refused > FLIPS / 10 && accepted > FLIPS / 100,
        "{refused} refused, {accepted} accepted"
    );
}

/// A payload of a newer form is refused with a log line.
#[test]
fn a_newer_form_is_refused() {
    let server = start();
    let payload = payload(&server);
    let mut conn = server.conn();
    let whole = pieces(&payload);
    for place in 0..whole.len() - 1 {
        let mut newer = whole.clone();
        assert_eq!(newer[place][FORM], NEWEST);
        newer[place][FORM] = NEWEST + 1;
        let restore = restore("x", &assembled(&payload, &newer));
        let reply = conn.pipeline(&[restore]).expect("the server lives").remove(0);
        assert_eq!(reply.to_string(), REFUSED, "piece {place} of a newer version");
    }
    server.wait_for_log("a sale was not loaded: its data is altered, or of a newer version");
    // The module's type id ends in ten bits for the version of its encoding.
    let mut encoding = payload;
    encoding[9] += 1;
    payload::repair(&mut encoding);
    let reply = conn.pipeline(&[restore("x", &encoding)]).expect("the server lives").remove(0);
    assert_eq!(reply.to_string(), REFUSED);
    server.wait_for_log("a sale was not loaded: a newer version of the module saved it");
}

/// An RDB file with a broken sale stops the server at its start with a message, without a crash.
#[test]
fn a_broken_snapshot_does_not_start() {
    let mut server = Options::new().line("rdbchecksum no").line("rdbcompression no").start();
    fill(&server, "k", 40);
    let base = pieces(server.cmd("DUMP k").bytes()).remove(0);
    server.stop(true);
    let file = server.folder().join("dump.rdb");
    let bytes = std::fs::read(&file).expect("a snapshot");
    // The offset of the base, whose end the process may have changed.
    let base = bytes.windows(20).position(|part| part == &base[..20]).expect("the base");
    let mut broken = bytes.clone();
    broken[base + FORM] = 9;
    std::fs::write(&file, broken).expect("a writable snapshot");
    let log = server.try_start_again().expect_err("the server must not start");
    assert!(log.contains("a sale was not loaded: its data is altered"), "{log}");
    assert!(!log.contains("CRASHED") && !log.contains("BUG REPORT"), "{log}");
    std::fs::write(&file, bytes).expect("a writable snapshot");
    server.start_again();
    server.assert_sound("k");
}
