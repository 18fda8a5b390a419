//! Saving a sale and loading it again, as a dump and as a rewritten log.

use seckill_domain::bytes::Reader;
use seckill_domain::effect::{Change, Effect};
use seckill_domain::outcome::Refused;
use seckill_domain::snapshot::{Kind, Loader};
use seckill_domain::Sale;

use super::oracle::Fence;

/// Everything that replicates, as it is digested.
pub fn pieces(sale: &Sale) -> Vec<(u8, Vec<u8>)> {
    sale.pieces().map(|(kind, piece)| (kind.letter(), piece)).collect()
}

/// The letter of the piece that an effect of a rewritten log brings.
pub fn letter_of(effect: &[u8]) -> char {
    match Change::decode(effect).map(|change| change.effect) {
        Ok(Effect::Base(_)) => 'B',
        Ok(Effect::RestockIds(_)) => 'K',
        Ok(Effect::Fences(_)) => 'J',
        Ok(Effect::Listed(_)) => 'S',
        Ok(Effect::Amounts(_)) => 'O',
        Ok(Effect::Rows(_)) => 'L',
        Ok(Effect::Turn(_)) => 'Z',
        other => panic!("no piece: {other:?}"),
    }
}

/// The fences that are saved, the oldest first.
pub fn fences_in(pieces: &[(u8, Vec<u8>)]) -> Vec<Fence> {
    let mut fences = Vec::new();
    for (_, piece) in pieces.iter().filter(|(letter, _)| *letter == b'J') {
        let mut reader = Reader::new(piece);
        while !reader.is_empty() {
            let mut bytes = || reader.bytes().unwrap().to_vec();
            let (user, req) = (bytes(), bytes());
            fences.push(Fence { user, req, at: reader.varint().unwrap() });
        }
    }
    fences
}

/// The pieces of a dump: each behind its letter, the base first, the refusals last.
pub fn dump(sale: &Sale) -> Vec<Vec<u8>> {
    sale.pieces()
        .chain([sale.refusals_piece()])
        .map(|(kind, piece)| [&[kind.letter()], &piece[..]].concat())
        .collect()
}

/// Loads a dump.
pub fn load(dump: &[Vec<u8>], arrived_at: u64) -> Result<Sale, Refused> {
    let (base, rest) = dump.split_first().ok_or(Refused::Unknown)?;
    let mut loader = Loader::start(base, [5, 6])?;
    rest.iter().try_for_each(|piece| loader.add(piece))?;
    loader.finish(arrived_at)
}

/// The texts of a rewritten log, each with the version that it follows.
pub fn log(sale: &Sale) -> Vec<(u64, Vec<u8>)> {
    let pieces: Vec<(Kind, Vec<u8>)> = sale.pieces().collect();
    let mut version = sale.balances().version - (pieces.len() as u64 - 1);
    let mut texts = Vec::new();
    for (kind, piece) in &pieces {
        let Some(effect) = kind.effect(piece) else { continue };
        let mut text = Vec::new();
        Change::piece(effect).encode(&mut text);
        let follows = if *kind == Kind::Base { 0 } else { version };
        version += u64::from(*kind != Kind::Base);
        texts.push((follows, text));
    }
    texts
}

/// Loads a rewritten log.
pub fn replay(log: &[(u64, Vec<u8>)]) -> Result<Sale, Refused> {
    let ((_, base), rest) = log.split_first().ok_or(Refused::Unknown)?;
    let (mut sale, _) = Sale::create(Change::decode(base)?, [7, 8])?;
    for (version, text) in rest {
        sale.apply(*version, [Change::decode(text)?])?;
    }
    Ok(sale)
}

/// As a child that saves leaves it: it finds nobody, but has all that is saved.
fn without_indexes(sale: &Sale) -> Sale {
    let mut blind = sale.clone();
    blind.slots_mut().for_each(|words| words.fill(0));
    blind
}

/// Rebuilds `sale` in both forms and tells where the result is another sale.
pub fn check(sale: &Sale) -> Result<(), String> {
    let expected = pieces(sale);
    if dump(&without_indexes(sale)) != dump(sale) {
        return Err("its dump looks at an index, which a child that saves has given back".into());
    }
    let dumped = load(&dump(sale), 0).map_err(|why| format!("its dump is refused: {why:?}"))?;
    let logged = replay(&log(sale)).map_err(|why| format!("its log is refused: {why:?}"))?;
    for (form, rebuilt) in [("dump", &dumped), ("log", &logged)] {
        if pieces(rebuilt) != expected {
            return Err(format!("the sale of its {form} differs"));
        }
        // A sale that awaits pieces says so, and so does its copy.
        let differences = rebuilt.audit().differences;
        if differences != sale.audit().differences {
            return Err(format!("the sale of its {form} has {differences:?}"));
        }
    }
    if dumped.refusals_piece() != sale.refusals_piece() {
        return Err("a dump keeps the refusal counters".into());
    }
    Ok(())
}
