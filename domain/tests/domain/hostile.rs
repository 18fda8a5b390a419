//! Altered and truncated bytes are loaded and applied. Nothing panics, and every accepted result is
//! a lawful sale that can sell, be saved and be loaded again.

mod altering;
mod holds;
mod parts;
mod special;
mod trims;
mod unreachable;

use seckill_domain::effect::{self, Change, Effect};
use seckill_domain::limits::{EFFECTS_PER_APPLY_MAX, INTEGER_MAX, TIME_MS_MAX};
use seckill_domain::outcome::{Refused, OUTCOMES};
use seckill_domain::request::{Now, Request};
use seckill_domain::Sale;

use self::altering::*;
use super::oracle::{Ask, Op, Patch, Rules};
use super::random::Random;
use super::rebuild::{self, base_with, encoded, numbers_of, put_varint, take_varint};
use super::requests::request;
use super::shorthand::effect;
use super::sound::{assert_sound, scramble, try_apply, try_follow, try_load};
use super::world::{commit, World};

const START: u64 = 1_000_000;

/// Indexes of the numbers in a base.
const VERSION: usize = 0;
const AVAILABLE: usize = 5;
const DEFICIT: usize = 8;
const PIECES: usize = 28;
const EPOCHS: usize = 40;

/// Numbers at and over the edges of every field.
const EDGES: [u64; 16] = [
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

/// A sale with every kind of state that needs no holds, and the texts of its changes.
fn full_sale(grabs: u64) -> (Sale, Vec<(u64, Vec<u8>)>) {
    let rules = Rules { limit: 9, grabs: 4, close_at: START * 9, ..Rules::default() };
    let mut world = World::open(grabs * 2 + 7, rules, START, 500).unwrap().unwrap();
    let mut texts = Vec::new();
    let mut step = |world: &mut World, op: Op| {
        if let Some(request) = request(&op) {
            let decision = world.sale.decide(&request, &world.now()).unwrap();
            let version = world.sale.balances().version;
            texts.extend(decision.changes().iter().map(|change| (version, encoded(change))));
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

/// A sale without holds, and one with holds, fences and an outbox.
fn plain_and_rich() -> [(&'static str, Sale); 2] {
    [("plain", full_sale(20).0), ("rich", holds::rich_sale(24).0)]
}

#[test]
fn every_truncation_and_every_missing_or_doubled_piece_is_refused() {
    for (kind, sale) in plain_and_rich() {
        let dump = rebuild::dump(&sale);
        assert!(try_load(&dump, "as it is"));
        refuse_truncations(&dump, kind);
        for at in 0..dump.len() {
            let mut long = dump.clone();
            long[at].push(0);
            assert!(!try_load(&long, "longer"), "{kind}: piece {at}");
        }
        // The last piece has the refusals of one node: it may be missing or doubled.
        for at in 0..dump.len() - 1 {
            for altered in fewer_and_more(&dump, at) {
                assert!(!try_load(&altered, "a piece is missing or doubled"), "{kind}: piece {at}");
            }
        }
    }
    assert!(!try_load(&[], "nothing"));
}

#[test]
fn flipped_bytes_are_refused_or_leave_a_sound_sale() {
    for (kind, sale) in plain_and_rich() {
        let loaded = load_altered(&rebuild::dump(&sale), 1, 8, 15_000, kind);
        assert!(loaded > 100, "{kind}: some alterations make another sale: {loaded}");
    }
}

#[test]
fn every_number_of_a_base_at_every_edge() {
    for (kind, sale) in plain_and_rich() {
        let (dump, version) = (rebuild::dump(&sale), sale.balances().version);
        let (head, numbers) = numbers_of(&dump[0]);
        assert_eq!(base_with(&head, &numbers), dump[0]);
        for (field, number) in numbers.iter().enumerate() {
            let beside = [number + 1, number.wrapping_sub(1), version];
            for edge in EDGES.into_iter().chain(beside) {
                let mut altered = dump.clone();
                let mut others = numbers.clone();
                others[field] = edge;
                altered[0] = base_with(&head, &others);
                try_load(&altered, &format!("{kind}: number {field} is {edge}"));
                // In a rewritten AOF the base comes first, and grants follow.
                let log = rebuild::log(&sale).into_iter().map(|(_, text)| text);
                let mut log: Vec<_> = log.collect();
                log[0] = as_effect(&altered[0]);
                try_follow(&log, &format!("{kind}: number {field} of a log is {edge}"));
            }
        }
    }
}

#[test]
fn two_numbers_of_a_base_at_once() {
    for (kind, sale) in plain_and_rich() {
        let dump = rebuild::dump(&sale);
        let (head, numbers) = numbers_of(&dump[0]);
        // As much as the largest possible supply has room for, all of it available or sold.
        let room = INTEGER_MAX - sale.balances().supply;
        let more =
            [(1, 1), (u64::MAX, u64::MAX), (1, u64::MAX), (1, 0), (1 << 40, 1 << 40), (room, room)];
        for one in 0..numbers.len() {
            for two in 0..numbers.len() {
                for (plus, also) in more {
                    let mut altered = dump.clone();
                    let mut others = numbers.clone();
                    others[one] = others[one].wrapping_add(plus);
                    others[two] = others[two].wrapping_add(also);
                    altered[0] = base_with(&head, &others);
                    let how = format!("{kind}: numbers {one} and {two}: {plus} and {also} more");
                    try_load(&altered, &how);
                }
            }
        }
    }
}

/// Every number, tag and length after the base, in a dump and in an AOF.
#[test]
fn every_number_of_every_piece_at_every_edge() {
    let (sale, _) = holds::rich_sale(24);
    let (dump, log) = (rebuild::dump(&sale), rebuild::log(&sale));
    assert_eq!(rebuild::letters(&dump), "BKJLC");
    let (mut loaded, mut tried) = (0, 0);
    for at in 1..dump.len() {
        for (place, piece) in at_edges(&dump[at]).enumerate() {
            let mut altered = dump.clone();
            altered[at].clone_from(&piece);
            loaded += u64::from(try_load(&altered, &format!("piece {at}, alteration {place}")));
            tried += 1;
            if at < log.len() {
                let mut texts: Vec<_> = log.iter().map(|(_, text)| text.clone()).collect();
                texts[at] = as_effect(&piece);
                try_follow(&texts, &format!("piece {at} of a log, alteration {place}"));
            }
        }
    }
    assert!(loaded > 100 && loaded < tried / 2, "{loaded} of {tried} loaded");
}

#[test]
fn every_refusal_counter_at_every_edge() {
    let (sale, _) = full_sale(12);
    let mut dump = rebuild::dump(&sale);
    let mut loads = |names: &[&str], number: u64| {
        dump[3].truncate(2);
        put_varint(&mut dump[3], names.len() as u64);
        for name in names {
            put_varint(&mut dump[3], name.len() as u64);
            dump[3].extend_from_slice(name.as_bytes());
            put_varint(&mut dump[3], number);
        }
        try_load(&dump, &format!("{number} refusals"))
    };
    let known: Vec<_> = OUTCOMES.iter().map(|row| row.counter.to_str().unwrap()).collect();
    for edge in EDGES {
        assert_eq!(loads(&known, edge), edge <= INTEGER_MAX);
    }
    assert!(loads(&["unmet_units", "region"], 1), "a newer version counts more");
    assert!(loads(&["region"; 64], 1) && !loads(&["region"; 65], 1));
}

/// A dump may hold one piece of rows where the sale itself would write several; its version must
/// have room for all of those pieces.
#[test]
fn a_version_has_room_for_the_pieces_of_its_sale() {
    let mut world = World::open(1000, Rules::default(), START, 500).unwrap().unwrap();
    for number in 0..300 {
        let user = format!("{number:0255}x").into_bytes();
        let op = Op::Grab { user, ask: Ask::Qty(1), req: None };
        let decided = world.sale.decide(&request(&op).unwrap(), &world.now()).unwrap();
        commit(&mut world.sale, &decided);
    }
    let dump = rebuild::dump(&world.sale);
    assert_eq!(dump.len(), 1 + 2 + 1, "rows of 300 users with the longest names are two pieces");
    let rows = |piece: &[u8]| {
        let mut rest = &piece[2..];
        (0..3).for_each(|_| {
            take_varint(&mut rest);
        });
        rest.to_vec()
    };
    let mut joined = dump[1][..2].to_vec();
    [1, START, 300].iter().for_each(|number| put_varint(&mut joined, *number));
    joined.extend([rows(&dump[1]), rows(&dump[2])].concat());
    let (head, mut numbers) = numbers_of(&dump[0]);
    assert_eq!((numbers[VERSION], numbers[PIECES]), (301, 2));
    for (stated, taken) in [(301, true), (300, false), (2, false), (1, false), (0, false)] {
        numbers[VERSION] = stated;
        numbers[PIECES] = 1;
        let one = [base_with(&head, &numbers), joined.clone(), dump[3].clone()];
        assert_eq!(try_load(&one, &format!("version {stated}, one piece")), taken);
    }
}

#[test]
fn every_field_of_every_effect_at_every_edge() {
    let (sale, _) = full_sale(12);
    let numbers = EDGES.map(|edge| edge.to_string());
    let shapes = [
        "Gq#:new",
        "Gt#:new",
        "Ge#:new",
        "Gq#t#e#:new",
        "Rp#a#:new",
        "Rm#a#:new",
        "Rm#a0:new",
        "Rp1a1t#:new",
        "Rp1a1e#:new",
        "Rp#a#:truck 1",
        "Pt#",
        "Pe#",
        "Ut#e#",
        "Al#",
        "Ag#",
        "Ah#",
        "Ao#",
        "Ac#",
        "Ao#c#",
        "Al#g#h#o#c#t#",
        "A",
        "P",
        "U",
        "G:",
        "g",
    ];
    apply_shapes(&sale, &shapes, &numbers);
    let said = ["Gq2t1e501r3u1:reqnew", "Rp5a5:x", "Rm5a3:y", "Al5g5h0o1c0:s", "Pt1", "Q#p1:x"];
    let texts = said.map(|text| effect(&text.replace('#', "l1")));
    let taken = apply_at_edges(&sale, texts);
    assert!(taken > 50, "{taken} taken");
}

#[test]
fn every_number_of_an_init_at_every_edge() {
    let (mut begun, mut refused) = (0, 0);
    for altered in at_edges(&effect("Is5l2g0h0o0c0t1000000e500:its id 8secret of 16 byts")) {
        let made = Change::decode(&altered).and_then(|change| Sale::create(change, [1, 2]));
        match made {
            Ok((sale, _)) => {
                assert_sound(&sale, &format!("{altered:?}"));
                begun += 1;
            }
            Err(_) => refused += 1,
        }
    }
    assert!(begun > 50 && refused > 50, "{begun} begun, {refused} refused");
}

#[test]
fn altered_effects_are_refused_or_leave_a_sound_sale() {
    let sales = [("plain", full_sale(12), 1000), ("rich", holds::rich_sale(24), 200)];
    for (kind, (sale, texts), least) in sales {
        let texts = texts.into_iter().map(|(_, text)| text);
        let applied = apply_altered(&sale, texts, 2, 30_000, kind);
        assert!(applied > least, "{kind}: some alterations make another effect: {applied}");
    }
}

/// Pieces belong to a rewritten AOF, but a caller with the right to APPLY may send them to any
/// sale.
#[test]
fn pieces_for_a_sale_that_is_sold_from() {
    let restocks = |count: u64| {
        let mut piece = vec![0, 1, count as u8];
        (0..count).for_each(|number| piece.extend([1, b'a' + number as u8, 2, 2, 9]));
        as_effect(&piece)
    };
    let world = World::open(900, Rules::default(), START, 500).unwrap().unwrap();
    let full = || full_sale(12).0;
    let new = || world.sale.clone();
    // A sale that awaits no piece refuses every piece, even one that would fit.
    let cases = [
        (full(), plain_rows(13, 1)),
        (full(), plain_rows(13, 300)),
        (full(), restocks(1)),
        (new(), plain_rows(1, 1)),
        (new(), restocks(1)),
    ];
    for (at, (mut sale, text)) in cases.into_iter().enumerate() {
        let (version, how) = (sale.balances().version, format!("case {at}"));
        assert!(!try_apply(&mut sale, version, &[&text], &how), "{how}");
        assert_sound(&sale, &how);
    }
}

#[test]
fn only_the_version_that_follows_is_taken() {
    let (sale, texts) = full_sale(12);
    let (mut at, _) = Sale::create(Change::decode(&init_text()).unwrap(), [1, 2]).unwrap();
    let first = at.balances().version;
    assert_eq!(texts[0].0, first);
    for (version, text) in &texts {
        let change = [Change::decode(text).unwrap()];
        let wrong = [0, version.wrapping_sub(1), version + 1, version + 2, u64::MAX];
        for wrong in wrong.into_iter().filter(|wrong| wrong != version) {
            let before = rebuild::pieces(&at);
            assert_eq!(at.apply(wrong, change.clone()).err(), Some(Refused::Gap));
            assert_eq!(rebuild::pieces(&at), before);
        }
        at.apply(*version, change.clone()).unwrap();
        assert_eq!(at.apply(*version, change).err(), Some(Refused::Gap), "a repeat");
    }
    assert_eq!(rebuild::pieces(&at), rebuild::pieces(&sale));
}

/// The INIT of [`full_sale`] with twelve grabs.
fn init_text() -> Vec<u8> {
    let head = format!("It{START}e500s31l9g4h0o0c{}:", START * 9);
    effect(&[head.as_bytes(), &77u64.to_be_bytes(), &[7; 16]].concat())
}

/// Effects of one APPLY, which is taken as a whole or not at all.
fn apply_all(texts: &[&str]) -> Result<(), Refused> {
    let (mut sale, _) = full_sale(12);
    let how = format!("{texts:?}");
    let texts: Vec<Vec<u8>> = texts.iter().map(effect).collect();
    let version = sale.balances().version;
    let applied = try_apply(&mut sale, version, &texts.iter().collect::<Vec<_>>(), &how);
    assert_sound(&sale, &how);
    if applied {
        Ok(())
    } else {
        Err(Refused::Law)
    }
}

#[test]
fn effects_of_one_apply_are_taken_all_or_none() {
    let cases: [(&[&str], bool); 12] = [
        (&["gnew", "gnew", "P", "U", "Rp5a5:x", "Al3"], true),
        (&["Gr1:rnew", "Gr1:rother"], true),
        (&["Gr1:rnew", "Gr1:rnew"], false),
        (&["Gr1:rnew", "Gq2r1u1:rnew"], false),
        (&["Rp5a5:x", "Rp5a5:x"], false),
        (&["Rp5a5:x", "Rm5a5:x"], false),
        (&["Rp5a5:x", "Rm5a5:y"], true),
        (&["Gq9999999:new", "gnew"], false),
        (&["gnew", "Gq9999999:new"], false),
        (&["Rp9999999a9999999:x", "Gq9999999:new"], true),
        (&["Ge9999999999:new", "Ge9999999999:new"], false),
        (&["Ac2000000", "Ao2000000"], false),
    ];
    for (texts, taken) in cases {
        assert_eq!(apply_all(texts).is_ok(), taken, "{texts:?}");
    }
}

// Rules: 6f34
#[test]
fn an_apply_is_bounded() {
    let (mut sale, _) = full_sale(12);
    let restock = Effect::Restock(effect::Restock { req: b"much", delta: 5000, applied: 5000 });
    let version = sale.balances().version;
    sale.apply(version, [Change::untimed(restock)]).unwrap();
    let grant = effect::Grant { user: b"crowd", req: None, qty: 1, hold_ms: 0 };
    let grants = vec![Change::untimed(Effect::Grant(grant)); EFFECTS_PER_APPLY_MAX + 1];
    let before = rebuild::pieces(&sale);
    assert!(sale.apply(version + 1, grants.clone()).is_err());
    assert_eq!(rebuild::pieces(&sale), before);
    sale.apply(version + 1, grants[1..].to_vec()).unwrap();
    assert_sound(&sale, "as many effects as one command may carry");
}

/// A clock that is centuries ahead: a change that can't be recorded is refused, not answered
/// GRANTED.
#[test]
fn a_clock_beyond_its_bound_is_refused() {
    let (sale, _) = full_sale(3);
    for (clock_ms, taken) in [(TIME_MS_MAX, true), (TIME_MS_MAX + 1, false), (u64::MAX, false)] {
        let decision = sale.decide(&Request::Resume, &Now { clock_ms, node_epoch: START }).unwrap();
        assert_eq!(decision.changes().len(), usize::from(taken), "{clock_ms}");
        let mut sale = sale.clone();
        commit(&mut sale, &decision);
        assert_sound(&sale, "at the last moment of time");
    }
}
