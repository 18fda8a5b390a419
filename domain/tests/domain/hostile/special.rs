//! Altered bytes of sales that draw, repeat and choose their buyers.

use super::*;
use crate::oracle;
use crate::oracle::{Drawing, Every, Gates, List, Pick};

const EVERY: Every = Every { period: 100, offset: START - 40, lasts: 90, carry: true };

/// The kinds of sales, each with its supply.
fn kinds() -> [(&'static str, u64, Rules); 6] {
    let held = Rules { limit: 0, grabs: 3, hold_ms: 120, outbox: Some('s'), ..Rules::default() };
    let gates = Gates {
        allowlist: true,
        modulo: Some((3, &[0, 1, 2])),
        sample: Some((999, "salt")),
        admit: 4,
        mask: true,
    };
    let list = Drawing::List(&[5, 1, 300, 70_000, 2, 2, 9, 4, 7, 7, 8, 1, 1, 3]);
    let dropping = Every { carry: false, ..EVERY };
    let packets = Drawing::Packets { packets: 9, min: 3 };
    let uniform = Drawing::Uniform { low: 1, high: 300 };
    [
        ("a list", 70_350, Rules { drawing: list, ..held }),
        ("a list in rounds", 70_350, Rules { drawing: list, every: Some(dropping), ..held }),
        ("a list that is carried", 70_350, Rules { drawing: list, every: Some(EVERY), ..held }),
        ("packets in rounds", 900, Rules { drawing: packets, every: Some(EVERY), ..held }),
        ("gates in rounds", 900, Rules { gates, every: Some(EVERY), ..held }),
        ("uniform amounts", 900, Rules { drawing: uniform, gates, ..held }),
    ]
}

/// A sale of this kind with a history over several rounds, and the texts of its changes.
fn special_sale(supply: u64, rules: Rules) -> (Sale, Vec<Vec<u8>>) {
    let mut world = World::open(supply, rules, START, 500).unwrap().unwrap();
    let (mut texts, mut random) = (Vec::new(), Random(5));
    let mut step = |world: &mut World, op: Op| {
        if let Some(decision) = world.decide(&op) {
            texts.extend(decision.changes.iter().map(encoded));
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
        let ask = if draws { Ask::Unsaid } else { Ask::UpTo(1 + number) };
        step(&mut world, Op::Grab { user, ask, req });
        let rows = world.oracle.rows();
        if number % 2 == 0 && !rows.is_empty() {
            let row = &rows[random.below(rows.len() as u64) as usize];
            let (user, pick) = (row.user.clone(), Pick::Seq(row.seq));
            let deed = deeds[random.below(3) as usize];
            step(&mut world, Op::Settle { user, pick, deed });
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
    let (mut pieces, mut effects) = (std::collections::BTreeSet::new(), Vec::new());
    for_each_kind(|kind, sale, texts| {
        assert_sound(sale, kind);
        pieces.extend(rebuild::pieces(sale).into_iter().map(|(letter, _)| letter));
        effects.extend(texts.iter().map(|text| text[0]));
    });
    let pieces: Vec<u8> = pieces.into_iter().collect();
    assert_eq!(pieces.escape_ascii().to_string(), "BJLOSZo");
    for letter in b"GCXYDTQHW" {
        assert!(effects.contains(letter), "no effect {}", char::from(*letter));
    }
}

#[test]
fn every_truncation_and_every_missing_piece_is_refused() {
    for_each_kind(|kind, sale, _| {
        let dump = rebuild::dump(sale);
        let last = dump.len() - 1;
        refuse_truncations(&dump, kind);
        for at in 0..dump.len() {
            let mut long = dump.clone();
            long[at].push(0);
            assert!(!try_load(&long, kind), "{kind}: piece {at} is longer");
        }
        for at in 0..last {
            let [fewer, more] = fewer_and_more(&dump, at);
            // One that adds nothing up, a round without a grant, is missed when it is counted.
            let loaded = rebuild::load(&fewer, START);
            assert!(
                loaded.is_err() || !loaded.unwrap().is_whole(),
                "{kind}: piece {at} is missing"
            );
            assert!(
                !try_load(&fewer, kind) || dump[at][0] == b'Z',
                "{kind}: piece {at} is missing"
            );
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

/// The kinds of sales that have a list in rounds.
fn for_each_list(mut check: impl FnMut(&str, &Sale)) {
    for_each_kind(|kind, sale, _| {
        if sale.terms().schedule.is_some() && sale.terms().draw.is_some_and(|draw| draw.is_list()) {
            check(kind, sale);
        }
    });
}

/// Every round begins with the very list that INIT was told.
#[test]
fn another_list_for_the_rounds_is_refused() {
    let mut checked = 0;
    for_each_list(|kind, sale| {
        let dump = rebuild::dump(sale);
        let told = dump.iter().position(|piece| piece[0] == b'O').unwrap();
        // 5 1 300 70000 2 2 9 ...: the order, or amounts of the same sum.
        let swaps: [&[u8]; 2] = [&[1, 5], &[4, 2]];
        for first in swaps {
            let mut altered = dump.clone();
            altered[told][1..3].copy_from_slice(first);
            assert!(!try_load(&altered, kind), "{kind}: {first:?}");
            checked += 1;
        }
    });
    assert_eq!(checked, 4);
}

/// What a round has left comes behind its rows, and before the next round.
#[test]
fn what_is_left_of_a_list_in_another_place_is_refused() {
    let mut checked = 0;
    for_each_list(|kind, sale| {
        let dump = rebuild::dump(sale);
        for at in 1..dump.len() - 2 {
            if dump[at][0] == b'o' || dump[at + 1][0] == b'o' {
                let mut altered = dump.clone();
                altered.swap(at, at + 1);
                assert!(!try_load(&altered, kind), "{kind}: piece {at}");
                checked += 1;
            }
        }
    });
    assert!(checked >= 6, "{checked}");
}

/// The rewritten log of a sale with the list 5 1 in rounds of 100 ms, so old.
fn log_of_list(carry: bool, age_ms: i64, grabs: usize) -> Vec<Vec<u8>> {
    let every = Every { carry, ..EVERY };
    let drawing = Drawing::List(&[5, 1]);
    let rules = Rules { limit: 0, drawing, every: Some(every), ..Rules::default() };
    let mut world = World::open(6, rules, START, 500).unwrap().unwrap();
    world.step(&Op::Wait(age_ms)).unwrap();
    world.step(&Op::Sweep(1)).unwrap();
    for _ in 0..grabs {
        let grab = Op::Grab { user: b"u".to_vec(), ask: Ask::Unsaid, req: None };
        world.step(&grab).unwrap();
    }
    rebuild::log(&world.sale).into_iter().map(|(_, text)| text).collect()
}

/// Replays a log piece by piece, at whatever version the sale then has.
fn replayed(log: &[Vec<u8>]) -> Result<Sale, Refused> {
    let mut sale = Sale::create(&Change::decode(&log[0])?, [1, 2])?.0;
    for text in &log[1..] {
        sale.apply_replicated(sale.core().version, &[Change::decode(text)?])?;
    }
    Ok(sale)
}

/// Such a sale that awaits what its round has left.
fn awaiting(carry: bool, grabs: usize) -> Sale {
    let log = log_of_list(carry, 300, grabs);
    let (last, before) = log.split_last().unwrap();
    assert_eq!(last[0], b'o');
    replayed(before).unwrap()
}

/// Numbers that agree with each other, of a round that began with more than the list.
#[test]
fn a_round_that_begins_with_more_than_its_list_is_refused() {
    let mut log = log_of_list(false, 300, 1);
    assert!(replayed(&log).unwrap().is_whole());
    let turn = log.iter().position(|text| text[0] == b'Z').unwrap();
    // Round 3 with 6 units, two amounts, of which the second is left.
    assert_eq!((&log[turn][..4], log[turn].last()), (&b"Z:\x03\x06"[..], Some(&2)));
    assert_eq!(log.last().unwrap(), b"o:\0\x01");
    log[turn][3] = 11;
    *log[turn].last_mut().unwrap() = 3;
    log.last_mut().unwrap()[3] = 2;
    assert_eq!(replayed(&log).err(), Some(Refused::Law));
}

/// Also when nothing of it is left to be drawn the list of the rounds to come is needed.
#[test]
fn a_log_without_the_list_of_its_rounds_is_refused() {
    let mut log = log_of_list(false, 0, 2);
    assert_eq!((log[1][0], log.last().unwrap()[0]), (b'O', b'L'));
    assert!(replayed(&log).unwrap().is_whole());
    log[1] = b"S:\x01\x01\x01u".to_vec();
    assert!(!replayed(&log[..2]).unwrap().is_whole(), "a user is listed instead");
    assert_eq!(replayed(&log).err(), Some(Refused::Law));
}

/// Whether it carries, grabs, the right piece, and wrong ones.
type Case = (bool, usize, &'static [u8], &'static [&'static [u8]]);

#[test]
fn what_is_left_of_a_list_must_be_what_was_not_drawn() {
    let cases: [Case; 4] = [
        (
            false,
            0,
            &[0, 2],
            &[
                &[],
                &[0],
                &[0, 0],
                &[0, 1],
                &[0, 3],
                &[5, 1],
                &[0, 1, 0, 1],
                &[5, 0, 1],
                &[0, 1, 5],
                &[0, 2, 1],
                &[0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f],
            ],
        ),
        (false, 1, &[0, 1], &[&[1], &[0, 2], &[5], &[0, 1, 1]]),
        (true, 0, &[0, 8], &[&[0, 4, 0, 4], &[0, 6], &[0, 7, 5], &[0, 6, 5, 1]]),
        (true, 3, &[0, 5], &[&[0, 4, 1], &[0, 3, 5, 1], &[0, 4, 2], &[1, 0, 2], &[0, 0, 1, 0, 4]]),
    ];
    for (carry, grabs, right, wrong) in cases {
        let sale = awaiting(carry, grabs);
        let takes = |piece: &[u8]| {
            let (mut other, text) = (sale.clone(), [b"o:", piece].concat());
            let version = other.core().version;
            try_apply(&mut other, version, &[&text], "what is left") && other.is_whole()
        };
        assert!(takes(right), "{carry} {grabs}");
        for piece in wrong {
            assert!(!takes(piece), "{carry} {grabs} {piece:?}");
        }
    }
}

/// A log whose pieces are not all there: what came so far must be a sale that can be saved.
#[test]
fn more_amounts_than_the_rows_leave_are_refused() {
    let rules = Rules { limit: 0, drawing: Drawing::List(&[5, 1, 9]), ..Rules::default() };
    let mut world = World::open(15, rules, START, 500).unwrap().unwrap();
    world.step(&Op::Enlist { list: List::Deny, add: true, users: &[b"x"] }).unwrap();
    world.step(&Op::Grab { user: b"u".to_vec(), ask: Ask::Unsaid, req: None }).unwrap();
    let mut log: Vec<_> = rebuild::log(&world.sale).into_iter().map(|(_, text)| text).collect();
    let letters: Vec<u8> = log.iter().map(|text| text[0]).collect();
    assert_eq!((&letters[..], &log[2][..]), (&b"BSOL"[..], &b"O:\x01\x09"[..]));
    log.remove(1);
    let sale = replayed(&log).unwrap();
    assert!(!sale.is_whole());
    assert_sound(&sale, "a user's list is missing");
    for amounts in [&b"O:\x01\x01\x01"[..], b"O:\x01\x0a"] {
        log[1] = amounts.to_vec();
        assert_eq!(replayed(&log).err(), Some(Refused::Law), "{}", amounts.escape_ascii());
    }
}
