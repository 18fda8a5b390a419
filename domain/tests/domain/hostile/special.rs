//! Altered bytes of sales that draw, repeat and choose their buyers.

use std::collections::BTreeSet;

use super::*;
use crate::oracle;
use crate::oracle::{Drawing, Every, Gates, List, Pick};

const EVERY: Every = Every { period: 100, offset: START - 40, lasts: 90, carry: true };

/// The kinds of sales, each with its supply.
fn kinds() -> [(&'static str, u64, Rules); 5] {
    let held = Rules { limit: 0, grabs: 3, hold_ms: 120, outbox: Some('s'), ..Rules::default() };
    let gates = Gates {
        allowlist: true,
        modulo: Some((3, &[0, 1, 2])),
        sample: Some((999, "salt")),
        admit: 4,
        mask: true,
    };
    let list = Drawing::List(&[5, 1, 300, 70_000, 2, 2, 9, 4, 7, 7, 8, 1, 1, 3]);
    let packets = Drawing::Packets { packets: 9, min: 3 };
    let uniform = Drawing::Uniform { low: 1, high: 300 };
    [
        ("a list", 70_350, Rules { drawing: list, ..held }),
        ("packets in rounds", 900, Rules { drawing: packets, every: Some(EVERY), ..held }),
        ("gates in rounds", 900, Rules { gates, every: Some(EVERY), ..held }),
        ("uniform amounts", 900, Rules { drawing: uniform, gates, ..held }),
        ("numbered units", 150, Rules { numbered: true, gates, ..held }),
    ]
}

/// A sale of this kind with a history over several rounds, and the texts of its changes.
fn special_sale(supply: u64, rules: Rules) -> (Sale, Vec<Vec<u8>>) {
    let mut world = World::open(supply, rules, START, 500).unwrap().unwrap();
    let (mut texts, mut random) = (Vec::new(), Random(5));
    let mut step = |world: &mut World, op: Op| {
        if let Some(changes) = world.changes(&op) {
            texts.extend(changes.iter().map(encoded));
        }
        world.step(&op).unwrap();
    };
    const USERS: &[&[u8]] = &[b"1", b"22", b"ann", b"bob", b"x", b"user:77", b"user:78"];
    step(&mut world, Op::Enlist { list: List::Allow, add: true, users: USERS });
    step(&mut world, Op::Enlist { list: List::Allow, add: false, users: &USERS[4..5] });
    step(&mut world, Op::Enlist { list: List::Deny, add: true, users: &USERS[5..] });
    let draws = rules.drawing != Drawing::Named;
    let deeds = [oracle::Deed::Confirm, oracle::Deed::Cancel, oracle::Deed::Reclaim];
    for number in 0..40 {
        step(&mut world, Op::Wait(9));
        let user = USERS[random.below(4) as usize].to_vec();
        let req = (number % 3 != 1).then(|| format!("order {number}").into_bytes());
        let ask = match draws {
            true => Ask::Unsaid,
            false if rules.numbered => Ask::Qty(1 + number % 5),
            false => Ask::UpTo(1 + number),
        };
        step(&mut world, Op::Grab { user, ask, req });
        let rows = &world.oracle.rows;
        if number % 2 == 0 && !rows.is_empty() {
            let row = &rows[random.below(rows.len() as u64) as usize];
            let (user, pick) = (row.user.clone(), Pick::Seq(row.seq));
            let (of, req) = (row.first_units.clone(), row.req.clone());
            let of: Vec<u32> = of.into_iter().map(|unit| unit as u32).collect();
            let deed = deeds[random.below(3) as usize];
            match req.filter(|_| rules.numbered && number % 4 == 0) {
                Some(req) if number % 8 == 0 => {
                    step(&mut world, Op::ImportUnits { user, units: of[..1].to_vec(), req });
                }
                Some(_) => {
                    let (by, units) = (oracle::Keeper::Cancel, of[of.len() / 2..].to_vec());
                    step(&mut world, Op::KeepUnits { user, pick, by, units });
                }
                None => step(&mut world, Op::Settle { user, pick, deed }),
            }
        }
        if number % 9 == 0 {
            let (pick, deed) = (Pick::Req(b"early".to_vec()), oracle::Deed::Cancel);
            step(&mut world, Op::Settle { user: b"ann".to_vec(), pick, deed });
            step(&mut world, Op::Sweep(2));
        }
    }
    (world.sale, texts)
}

fn for_each_kind(mut check: impl FnMut(&str, &Sale, &[Vec<u8>])) {
    for (kind, supply, rules) in kinds() {
        let (sale, texts) = special_sale(supply, rules);
        check(kind, &sale, &texts);
    }
}

#[test]
fn special_sales_have_all_pieces_and_effects() {
    let (mut pieces, mut effects) = (BTreeSet::new(), BTreeSet::new());
    for_each_kind(|kind, sale, texts| {
        assert_sound(sale, kind);
        pieces.extend(rebuild::pieces(sale).into_iter().map(|(letter, _)| letter));
        effects.extend(kinds_of(texts));
    });
    assert_eq!(pieces.into_iter().collect::<String>(), "BJLNOSTZ");
    for kind in [
        "Grant",
        "Sold",
        "Cancelled",
        "Expire",
        "Reclaim",
        "Admit",
        "Users",
        "Round",
        "Fence",
        "GrantNumbered",
        "TrimNumbered",
        "ReimportNumbered",
    ] {
        assert!(effects.contains(kind), "no {kind} in {effects:?}");
    }
}

#[test]
fn every_truncation_and_every_missing_piece_is_refused() {
    for_each_kind(|kind, sale, _| {
        let dump = rebuild::dump(sale);
        let (last, letters) = (dump.len() - 1, rebuild::letters(&dump));
        refuse_truncations(&dump, kind);
        for at in 0..dump.len() {
            let mut long = dump.clone();
            long[at].push(0);
            assert!(!try_load(&long, kind), "{kind}: piece {at} is longer");
        }
        for at in 0..last {
            let [fewer, more] = fewer_and_more(&dump, at);
            // A lost round without a grant changes no sum; the count of rounds finds it.
            let loaded = rebuild::load(&fewer, START);
            assert!(
                loaded.is_err() || !loaded.unwrap().is_whole(),
                "{kind}: piece {at} is missing"
            );
            let is_round = letters[at..].starts_with('Z');
            assert!(!try_load(&fewer, kind) || is_round, "{kind}: piece {at} is missing");
            assert!(!try_load(&more, kind), "{kind}: piece {at} is doubled");
        }
    });
}

#[test]
fn flipped_bytes() {
    for_each_kind(|kind, sale, _| {
        let loaded = load_altered(&rebuild::dump(sale), 3, 3, 5000, kind);
        assert!(loaded > 50, "{kind}: some alterations make another sale: {loaded}");
    });
}

#[test]
fn altered_effects() {
    for_each_kind(|kind, sale, texts| {
        let applied = apply_altered(sale, texts.to_vec(), 2, 5000, kind);
        assert!(applied > 50, "{kind}: some alterations make another effect: {applied}");
    });
}

/// Replays a log piece by piece, at whatever version the sale then has.
pub fn replayed(log: &[Vec<u8>]) -> Result<Sale, Refused> {
    let mut sale = Sale::create(Change::decode(&log[0])?, [1, 2])?.0;
    for text in &log[1..] {
        sale.apply(sale.balances().version, [Change::decode(text)?])?;
    }
    Ok(sale)
}

/// A log that lacks some pieces: the sale from the other pieces can be saved.
#[test]
fn more_amounts_than_the_rows_leave_are_refused() {
    let rules = Rules { limit: 0, drawing: Drawing::List(&[5, 1, 9]), ..Rules::default() };
    let mut world = World::open(15, rules, START, 500).unwrap().unwrap();
    world.step(&Op::Enlist { list: List::Deny, add: true, users: &[b"x"] }).unwrap();
    world.step(&Op::Grab { user: b"u".to_vec(), ask: Ask::Unsaid, req: None }).unwrap();
    let mut log: Vec<_> = rebuild::log(&world.sale).into_iter().map(|(_, text)| text).collect();
    assert_eq!((log.len(), &log[2]), (4, &amounts_of(&[1, 9])));
    log.remove(1);
    let sale = replayed(&log).unwrap();
    assert!(!sale.is_whole());
    assert_sound(&sale, "a user's list is missing");
    for other in [&[1, 1, 1][..], &[1, 10]] {
        log[1] = amounts_of(other);
        assert_eq!(replayed(&log).err(), Some(Refused::Law), "{other:?}");
    }
}
