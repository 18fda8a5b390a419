//! Saves a sale and loads it again, as a dump and as a rewritten AOF.

use seckill_domain::effect::{Change, Effect};
use seckill_domain::outcome::Refused;
use seckill_domain::plan::Loader;
use seckill_domain::snapshot::Piece;
use seckill_domain::Sale;

use super::oracle::Fence;

/// All replicated state in the form that the digest uses, each piece with its letter.
pub fn pieces(sale: &Sale) -> Vec<(char, Vec<u8>)> {
    sale.pieces().map(|piece| (letter(&piece), bytes(&piece))).collect()
}

/// The bytes of a piece.
fn bytes(piece: &Piece<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    piece.encode(&mut bytes);
    bytes
}

/// The letter of a piece, for tests.
fn letter(piece: &Piece<'_>) -> char {
    match piece {
        Piece::Base(_) => 'B',
        Piece::RestockIds(_) => 'K',
        Piece::Fences(_) => 'J',
        Piece::Listed(_) => 'S',
        Piece::Amounts(_) => 'O',
        Piece::Grants(_) => 'L',
        Piece::Round(_) => 'Z',
        Piece::Refusals(_) => 'C',
        Piece::Pairs(_) => 'P',
        Piece::Waiters(_) => 'W',
        Piece::Trims(_) => 'T',
        Piece::NumberedGrants(_) => 'N',
    }
}

/// The letters of the pieces of a dump; a dot for other bytes.
pub fn letters(dump: &[Vec<u8>]) -> String {
    dump.iter().map(|bytes| Piece::decode(bytes).map_or('.', |piece| letter(&piece))).collect()
}

/// The letter of the piece in an effect of a rewritten AOF.
pub fn letter_of(effect: &[u8]) -> char {
    match Change::decode(effect).map(|change| change.effect) {
        Ok(Effect::Piece(piece)) => letter(&piece),
        other => panic!("no piece: {other:?}"),
    }
}

/// The saved fences, the oldest first.
pub fn fences_in(pieces: &[(char, Vec<u8>)]) -> Vec<Fence> {
    let mut fences = Vec::new();
    for (_, bytes) in pieces {
        if let Ok(Piece::Fences(part)) = Piece::decode(bytes) {
            fences.extend(part.iter().map(|fence| {
                let (user, req) = (fence.user.to_vec(), fence.req.to_vec());
                Fence { user, req, at: fence.at }
            }));
        }
    }
    fences
}

/// The pieces of a dump: the base first, the refusals last.
pub fn dump(sale: &Sale) -> Vec<Vec<u8>> {
    sale.pieces().chain([sale.refusals_piece()]).map(|piece| bytes(&piece)).collect()
}

/// The numbers of a base, and the bytes before them. After version, kind, id and secret there are
/// only numbers, if the sale's id is small and it has no outbox.
pub fn numbers_of(base: &[u8]) -> (Vec<u8>, Vec<u64>) {
    let (head, mut rest) = base.split_at(1 + 1 + 1 + 16);
    let mut numbers = Vec::new();
    while !rest.is_empty() {
        numbers.push(take_varint(&mut rest));
    }
    (head.to_vec(), numbers)
}

/// A base with these bytes before its numbers.
pub fn base_with(head: &[u8], numbers: &[u64]) -> Vec<u8> {
    let mut base = head.to_vec();
    numbers.iter().for_each(|number| put_varint(&mut base, *number));
    base
}

/// Appends a number as a varint, which every encoding uses.
pub fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Removes a varint from the front.
pub fn take_varint(bytes: &mut &[u8]) -> u64 {
    let len = 1 + bytes.iter().take_while(|byte| **byte >= 0x80).count();
    let (varint, rest) = bytes.split_at(len);
    *bytes = rest;
    let add = |sum: u64, byte: &u8| sum << 7 | u64::from(byte & 0x7f);
    varint.iter().rev().fold(0, add)
}

/// Loads a dump. `seed` stands for the server's random seed.
pub fn load(dump: &[Vec<u8>], seed: u64) -> Result<Sale, Refused> {
    let (base, rest) = dump.split_first().ok_or(Refused::Unknown)?;
    let mut loader = Loader::start(base, [5, seed])?;
    rest.iter().try_for_each(|piece| loader.add(piece))?;
    loader.finish()
}

/// The effects of a rewritten AOF, each with the version that it follows.
pub fn log(sale: &Sale) -> Vec<(u64, Vec<u8>)> {
    let pieces = sale.pieces();
    let mut version = sale.balances().version + 1 - pieces.size_hint().0 as u64;
    let mut texts = Vec::new();
    for piece in pieces {
        let begins = matches!(piece, Piece::Base(_));
        texts.push((if begins { 0 } else { version }, encoded(&Change::untimed(piece))));
        version += u64::from(!begins);
    }
    texts
}

/// Loads a rewritten AOF. `seed` stands for the server's random seed.
pub fn replay(log: &[(u64, Vec<u8>)], seed: u64) -> Result<Sale, Refused> {
    let ((_, base), rest) = log.split_first().ok_or(Refused::Unknown)?;
    let (mut sale, _) = Sale::create(Change::decode(base)?, [7, seed])?;
    for (version, text) in rest {
        sale.apply(*version, [Change::decode(text)?])?;
    }
    Ok(sale)
}

/// The sale as in a forked child that saves: without indexes, but with all saved data.
fn without_indexes(sale: &Sale) -> Sale {
    let mut blind = sale.clone();
    blind.slots_mut().for_each(|words| words.fill(0));
    blind
}

/// The refusal counters of a dump.
pub fn refusals(sale: &Sale) -> Vec<u8> {
    bytes(&sale.refusals_piece())
}

/// Saves and loads `sale` in both forms; an error if the result differs.
pub fn check(sale: &Sale) -> Result<(), String> {
    let (expected, saved, differences) = (pieces(sale), dump(sale), sale.audit().differences);
    if dump(&without_indexes(sale)) != saved {
        return Err("its dump looks at an index, which a child that saves has given back".into());
    }
    let dumped = load(&saved, 0).map_err(|why| format!("its dump is refused: {why:?}"))?;
    let logged = replay(&log(sale), 0).map_err(|why| format!("its log is refused: {why:?}"))?;
    for (form, rebuilt) in [("dump", &dumped), ("log", &logged)] {
        if pieces(rebuilt) != expected {
            return Err(format!("the sale of its {form} differs"));
        }
        // A sale that awaits pieces reports that, and so must its copy.
        let its = rebuilt.audit().differences;
        if its != differences {
            return Err(format!("the sale of its {form} has {its:?}"));
        }
    }
    if refusals(&dumped) != refusals(sale) {
        return Err("a dump keeps the refusal counters".into());
    }
    Ok(())
}

/// The encoded change.
pub fn encoded(change: &Change<'_>) -> Vec<u8> {
    let mut text = Vec::new();
    change.encode(&mut text);
    text
}
