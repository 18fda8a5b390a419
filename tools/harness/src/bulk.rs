//! Fills a sale fast: thousands of grants in one APPLY, as from a primary.

use super::client::Conn;
use super::Reply;

/// Grants in one command.
const BATCH: usize = 1000;

/// Adds grants `from..to` to a sale that has `from` grants and no other change but INIT. `effect`
/// makes the effect of each grant.
#[track_caller]
pub fn grow(conn: &mut Conn, key: &str, from: usize, to: usize, effect: impl Fn(usize) -> Vec<u8>) {
    for start in (from..to).step_by(BATCH) {
        let end = to.min(start + BATCH);
        let position = position(conn, key, 1 + start);
        let mut words = ["SECKILL.APPLY", key, &position].map(|it| it.as_bytes().to_vec()).to_vec();
        words.extend((start..end).map(&effect));
        assert_eq!(conn.ask(&words).to_string(), "+OK");
    }
}

/// The position for changes that follow this version of a sale. Entries of these changes, if any,
/// come next in the outbox.
#[track_caller]
pub fn position(conn: &mut Conn, key: &str, version: usize) -> String {
    let version = base36(version);
    let Reply::Bulk(stream) = conn.cmd(&format!("SECKILL.STATUS {key}")).field("outbox") else {
        return version;
    };
    let words: [&[u8]; 3] = [b"XINFO", b"STREAM", &stream];
    let last = conn.ask(&words).field("last-generated-id").text();
    let (ms, seq) = last.split_once('-').expect("an id");
    format!("{version}:1:{ms}-{}", seq.parse::<u64>().expect("a number") + 1)
}

/// A number in base 36, the form of versions in a position.
pub fn base36(mut number: usize) -> String {
    let mut digits = Vec::new();
    while number > 0 || digits.is_empty() {
        digits.push(char::from_digit((number % 36) as u32, 36).unwrap_or_default());
        number /= 36;
    }
    digits.iter().rev().collect()
}
