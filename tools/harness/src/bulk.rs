//! Filling a sale fast: thousands of grants in one command, as a replica would get them.

use super::client::Conn;

/// Grants in one command.
const BATCH: usize = 1000;

/// Adds grants `from..to` to a sale that has had `from` grants and no other change but INIT.
/// `effect` is the text of each grant.
#[track_caller]
pub fn grow(conn: &mut Conn, key: &str, from: usize, to: usize, effect: impl Fn(usize) -> Vec<u8>) {
    for start in (from..to).step_by(BATCH) {
        let end = to.min(start + BATCH);
        let mut words = ["SECKILL.APPLY", key, &base36(1 + start)]
            .map(|word| word.as_bytes().to_vec())
            .to_vec();
        words.extend((start..end).map(&effect));
        assert_eq!(conn.ask(&words).to_string(), "+OK");
    }
}

/// A number as versions are written.
pub fn base36(mut number: usize) -> String {
    let mut digits = Vec::new();
    while number > 0 || digits.is_empty() {
        digits.push(char::from_digit((number % 36) as u32, 36).unwrap_or_default());
        number /= 36;
    }
    digits.iter().rev().collect()
}
