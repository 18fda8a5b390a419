//! Altered and truncated bytes, through loading and through applying: nothing panics, and what is
//! not refused is a lawful sale that can be sold from, saved and loaded again.

mod effects;
mod pieces;

use seckill::sale::effect::Change;
use seckill::sale::limits::{INTEGER_MAX, TIME_MS_MAX};
use seckill::sale::outcome::{Outcome, Refused, Standing, State};
use seckill::sale::request::{Amount, Grab, Now, Request, Restock};
use seckill::sale::Sale;

use super::oracle::{Ask, Op, Patch, Rules};
use super::random::Random;
use super::rebuild;
use super::world::{encoded, request, World};

pub const START: u64 = 1_000_000;

/// Numbers at and over the edges of every field.
pub const EDGES: [u64; 16] = [
    0,
    1,
    2,
    255,
    256,
    START,
    u32::MAX as u64 - 1,
    u32::MAX as u64,
    u32::MAX as u64 + 1,
    TIME_MS_MAX,
    TIME_MS_MAX + 1,
    INTEGER_MAX - 1,
    INTEGER_MAX,
    INTEGER_MAX + 1,
    i64::MAX as u64,
    u64::MAX,
];

/// Fails unless `sale` is lawful, survives saving and loading, and goes on like any other.
pub fn assert_sound(sale: &Sale, how: &str) {
    assert!(sale.core().is_lawful(), "{how}: {:?}", sale.core());
    assert_eq!(sale.audit().differences, [], "{how}");
    rebuild::check(sale).unwrap_or_else(|wrong| panic!("{how}: {wrong}"));
    assert_usable(sale.clone(), how);
}

/// Sells, restocks and pauses: what is answered must be done, and apply elsewhere.
pub fn assert_usable(mut sale: Sale, how: &str) {
    let mut replica = sale.clone();
    let now = Now { clock_ms: START + 5000, run: START + 5000 };
    let grab = Grab { user: b"late buyer", amount: Amount::UpTo(3), req: Some(b"late") };
    let requests = [
        Request::Resume,
        Request::Restock(Restock { delta: 1, req: b"late" }),
        Request::Grab(grab),
        Request::Pause,
        Request::Restock(Restock { delta: -7, req: b"withdrawn" }),
    ];
    let grant = Standing { seq: 1, qty: 1, state: State::Sold, deadline: 0 };
    let refusals = [
        Outcome::Already(grant),
        Outcome::Replay(grant),
        Outcome::OverLimit { allowance: 1 },
        Outcome::SoldOut { held: 0 },
        Outcome::Short { available: 1 },
        Outcome::NotOpen { in_ms: 1 },
        Outcome::Closed,
        Outcome::Paused,
    ];
    refusals.iter().for_each(|refusal| sale.count(refusal));
    for request in requests {
        let version = sale.core().version;
        let decision = sale.decide(&request, &now);
        let before = sale.ledger().len();
        sale.commit(&decision.changes, now.run);
        assert_eq!(sale.core().version, version + decision.changes.len() as u64, "{how}");
        let granted = matches!(decision.outcome, Outcome::Granted { .. });
        assert_eq!(sale.ledger().len() - before, u64::from(granted), "{how}");
        for change in &decision.changes {
            let text = encoded(change);
            let change = Change::decode(&text).unwrap();
            assert_eq!(replica.apply_replicated(version, &[change]), Ok(()), "{how}");
        }
    }
    assert_eq!(rebuild::pieces(&replica), rebuild::pieces(&sale), "{how}");
    assert_eq!(sale.audit().differences, [], "{how}");
    rebuild::check(&sale).unwrap_or_else(|wrong| panic!("{how}, sold from: {wrong}"));
}

/// A sale with everything that a sale can have, and the texts of its changes.
pub fn full_sale(grabs: u64) -> (Sale, Vec<(u64, Vec<u8>)>) {
    let rules = Rules { limit: 9, grabs: 4, close_at: START * 9, ..Rules::default() };
    let mut world = World::open(grabs * 2 + 7, rules, START, 500).unwrap().unwrap();
    let mut texts = Vec::new();
    let mut step = |world: &mut World, op: Op| {
        if let Some(request) = request(&op) {
            let decision = world.sale.decide(&request, &world.now());
            let version = world.sale.core().version;
            texts.extend(decision.changes.iter().map(|change| (version, encoded(change))));
        }
        world.step(&op).unwrap();
    };
    for number in 0..grabs {
        step(&mut world, Op::Clock(START + number * 3));
        let user = format!("user:{}", number * 7 % 11).into_bytes();
        let req = (number % 3 != 0).then(|| format!("order {number}").into_bytes());
        let ask = if number % 2 == 0 { Ask::Qty(1 + number % 2) } else { Ask::UpTo(2) };
        step(&mut world, Op::Grab { user, ask, req });
        if number % 5 == 1 {
            let (delta, req) = (number as i64 - 9, format!("truck {number}").into_bytes());
            step(&mut world, Op::Restock { delta: if delta == 0 { 5 } else { delta }, req });
        }
        if number % 10 == 4 {
            step(&mut world, Op::Promote);
        }
    }
    step(&mut world, Op::Alter(Patch { limit: Some(0), grabs: Some(0), ..Patch::default() }));
    step(&mut world, Op::Pause);
    (world.sale, texts)
}

/// Loads what may be anything; a sale that comes out must be sound.
pub fn try_load(dump: &[Vec<u8>], how: &str) -> bool {
    match rebuild::load(dump, START) {
        Ok(sale) => {
            assert_sound(&sale, how);
            true
        }
        Err(_) => false,
    }
}

/// Alters, inserts, removes or repeats a few bytes.
pub fn scramble(bytes: &mut Vec<u8>, random: &mut Random) {
    if bytes.is_empty() {
        return;
    }
    let at = random.below(bytes.len() as u64) as usize;
    match random.below(5) {
        0 => bytes[at] = random.next() as u8,
        1 => bytes[at] ^= 1 << random.below(8),
        2 => bytes.insert(at, random.next() as u8),
        3 => drop(bytes.remove(at)),
        _ => {
            let end = bytes.len().min(at + 1 + random.below(9) as usize);
            let part = bytes[at..end].to_vec();
            bytes.splice(at..at, part);
        }
    }
}

/// Applies texts that may be anything. What is refused must change nothing.
pub fn try_apply(sale: &mut Sale, version: u64, texts: &[&Vec<u8>], how: &str) -> bool {
    let changes: Result<Vec<Change<'_>>, Refused> =
        texts.iter().map(|text| Change::decode(text)).collect();
    let Ok(changes) = changes else { return false };
    let (pieces, refusals) = (rebuild::pieces(sale), sale.refusals_piece());
    let applied = sale.apply_replicated(version, &changes);
    if applied.is_err() {
        assert_eq!(rebuild::pieces(sale), pieces, "{how}: refused, but {texts:?} changed it");
    } else {
        let moved = sale.core().version - version;
        assert_eq!(moved, texts.len() as u64, "{how}: {texts:?}");
    }
    assert_eq!(sale.refusals_piece(), refusals);
    applied.is_ok()
}
