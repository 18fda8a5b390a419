//! Alterations of the bytes of every kind of sale.

use std::collections::BTreeSet;

use seckill_domain::snapshot::Piece;

use super::*;

/// Asserts that no sale is loaded from `dump` if a piece of it is cut anywhere.
#[track_caller]
pub fn refuse_truncations(dump: &[Vec<u8>], what: &str) {
    for (at, piece) in dump.iter().enumerate() {
        for len in 0..piece.len() {
            let mut short = dump.to_vec();
            short[at].truncate(len);
            assert!(!try_load(&short, what), "{what}: piece {at} of {len} bytes");
        }
    }
}

/// The dump without its piece `at`, and with that piece twice.
pub fn fewer_and_more(dump: &[Vec<u8>], at: usize) -> [Vec<Vec<u8>>; 2] {
    let (mut fewer, mut more) = (dump.to_vec(), dump.to_vec());
    fewer.remove(at);
    more.insert(at, dump[at].clone());
    [fewer, more]
}

/// Loads `dump` with each byte changed `flips` times, and `tries` times with several bytes changed.
/// Returns how often the result was another sale.
pub fn load_altered(dump: &[Vec<u8>], seed: u64, flips: u64, tries: u64, what: &str) -> u64 {
    let (mut random, mut loaded) = (Random(seed), 0);
    for (at, piece) in dump.iter().enumerate() {
        for place in 0..piece.len() {
            for _ in 0..flips {
                let mut altered = dump.to_vec();
                altered[at][place] ^= 1 + random.below(255) as u8;
                loaded += u64::from(try_load(&altered, what));
            }
        }
    }
    for _ in 0..tries {
        let mut altered = dump.to_vec();
        for _ in 0..2 + random.below(4) {
            let at = random.below(altered.len() as u64) as usize;
            scramble(&mut altered[at], &mut random);
        }
        loaded += u64::from(try_load(&altered, what));
    }
    loaded
}

/// Applies up to three effects at a time, `tries` times, most of them altered. The effects come
/// from the sale's history `texts` or from its rewritten AOF. Returns how often they were accepted.
pub fn apply_altered(
    sale: &Sale,
    texts: impl IntoIterator<Item = Vec<u8>>,
    seed: u64,
    tries: u64,
    what: &str,
) -> u64 {
    let (mut random, mut applied) = (Random(seed), 0);
    let log = rebuild::log(sale).into_iter().map(|(_, text)| text);
    let known: Vec<Vec<u8>> = texts.into_iter().chain(log).collect();
    for _ in 0..tries {
        let mut batch = Vec::new();
        for _ in 0..1 + random.below(3) {
            let mut text = known[random.below(known.len() as u64) as usize].clone();
            (0..random.below(4)).for_each(|_| scramble(&mut text, &mut random));
            batch.push(text);
        }
        let how = format!("{what}: {batch:?}");
        applied += u64::from(apply_to_copy(sale, &batch.iter().collect::<Vec<_>>(), &how));
    }
    applied
}

/// The effect that brings a piece of a dump: the piece has the version of the effect.
pub fn as_effect(piece: &[u8]) -> Vec<u8> {
    let effect = encoded(&Change::untimed(Effect::Piece(Piece::Amounts(Vec::new()))));
    [&effect[..effect.len() - 2], &piece[1..]].concat()
}

/// Rows of grants as in an AOF: each is one unit, sold to "u" at the start of the world.
pub fn plain_rows(first: u64, count: u64) -> Vec<u8> {
    let mut piece = vec![0, 5];
    [first, START, count].iter().for_each(|number| put_varint(&mut piece, *number));
    (0..count).for_each(|_| piece.extend([1, b'u', 0, 1, 1, 0, 0]));
    as_effect(&piece)
}

/// The bytes with each number replaced by each edge. Every byte is treated as part of a varint,
/// bytes of user ids included, which does no harm.
pub fn at_edges(bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> + '_ {
    (0..bytes.len()).flat_map(move |from| {
        let len = bytes[from..].iter().take_while(|byte| **byte >= 0x80).count() + 1;
        let after = (from + len).min(bytes.len());
        EDGES.into_iter().map(move |edge| {
            let mut altered = bytes[..from].to_vec();
            put_varint(&mut altered, edge);
            altered.extend_from_slice(&bytes[after..]);
            altered
        })
    })
}

/// Applies effects of these shapes with each of `numbers` for every `#`.
pub fn apply_shapes(sale: &Sale, shapes: &[&str], numbers: &[String]) {
    for shape in shapes {
        for number in numbers {
            let text = shape.replace('#', number);
            apply_to_copy(sale, &[&effect(&text)], &text);
        }
    }
}

/// Applies each of these effects with each of its numbers at each edge. Returns how often an effect
/// was accepted.
pub fn apply_at_edges(sale: &Sale, texts: impl IntoIterator<Item = Vec<u8>>) -> u64 {
    let altered = texts.into_iter().flat_map(|text| at_edges(&text).collect::<Vec<_>>());
    altered.map(|text| u64::from(apply_to_copy(sale, &[&text], &format!("{text:?}")))).sum()
}

/// Whether a copy of the sale takes these effects. If it does, it is sound.
fn apply_to_copy(sale: &Sale, texts: &[&Vec<u8>], how: &str) -> bool {
    let mut other = sale.clone();
    let version = other.balances().version;
    let taken = try_apply(&mut other, version, texts, how);
    if taken {
        assert_sound(&other, how);
    }
    taken
}

/// Kinds of these effects: their names, or the state they settle a grant to.
pub fn kinds_of<'a>(texts: impl IntoIterator<Item = &'a Vec<u8>>) -> BTreeSet<String> {
    let kind = |text: &'a Vec<u8>| match Change::decode(text).unwrap().effect {
        Effect::Settle(effect::Settle { to, .. }) => format!("{to:?}"),
        effect => format!("{effect:?}").split([' ', '(']).next().unwrap().to_owned(),
    };
    texts.into_iter().map(kind).collect()
}

/// The letters of the pieces in a log.
pub fn letters_of(log: &[Vec<u8>]) -> String {
    log.iter().map(|text| rebuild::letter_of(text)).collect()
}

/// Amounts as a log writes them.
pub fn amounts_of(amounts: &[u64]) -> Vec<u8> {
    encoded(&Change::untimed(Effect::Piece(Piece::Amounts(amounts.to_vec()))))
}
