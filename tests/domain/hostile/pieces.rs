//! Pieces of a dump or of a rewritten log, altered.

use seckill::sale::bytes::{put_varint, Reader};
use seckill::sale::effect::Change;
use seckill::sale::limits::INTEGER_MAX;
use seckill::sale::Sale;

use super::super::oracle::{Ask, Op, Rules};
use super::super::random::Random;
use super::super::rebuild;
use super::super::world::{request, World};
use super::{assert_sound, full_sale, scramble, try_apply, try_load, EDGES, START};

#[test]
fn every_truncation_and_every_missing_or_doubled_piece_is_refused() {
    let (sale, _) = full_sale(20);
    let dump = rebuild::dump(&sale);
    assert_eq!(dump.len(), 4, "base, restock ids, rows and refusals");
    assert!(try_load(&dump, "as it is"));
    for (at, piece) in dump.iter().enumerate() {
        for len in 0..piece.len() {
            let mut short = dump.clone();
            short[at].truncate(len);
            assert!(!try_load(&short, "truncated"), "piece {at} of {len} bytes");
        }
        let mut long = dump.clone();
        long[at].push(0);
        assert!(!try_load(&long, "longer"), "piece {at}");
    }
    for at in 0..3 {
        let mut fewer = dump.clone();
        fewer.remove(at);
        assert!(!try_load(&fewer, "a piece is missing"));
        let mut more = dump.clone();
        more.insert(at, dump[at].clone());
        assert!(!try_load(&more, "a piece is doubled"));
    }
    assert!(!try_load(&[], "nothing"));
}

#[test]
fn flipped_bytes_are_refused_or_leave_a_sound_sale() {
    let (sale, _) = full_sale(20);
    let dump = rebuild::dump(&sale);
    let (mut random, mut loaded) = (Random(1), 0);
    for (at, piece) in dump.iter().enumerate() {
        for place in 0..piece.len() {
            for _ in 0..6 {
                let mut altered = dump.clone();
                altered[at][place] ^= 1 + random.below(255) as u8;
                loaded += u64::from(try_load(&altered, "a byte is another"));
            }
        }
    }
    for _ in 0..20_000 {
        let mut altered = dump.clone();
        for _ in 0..2 + random.below(4) {
            let at = random.below(altered.len() as u64) as usize;
            scramble(&mut altered[at], &mut random);
        }
        loaded += u64::from(try_load(&altered, "several bytes are others"));
    }
    assert!(loaded > 100, "some alterations make another sale: {loaded}");
}

/// The numbers of a base, and the bytes before them.
fn numbers_of(base: &[u8]) -> (Vec<u8>, Vec<u64>) {
    let (head, rest) = base.split_at(1 + 1 + 8 + 16);
    let mut reader = Reader::new(rest);
    let mut numbers = Vec::new();
    while !reader.is_empty() {
        numbers.push(reader.varint().unwrap());
    }
    (head.to_vec(), numbers)
}

fn base_with(head: &[u8], numbers: &[u64]) -> Vec<u8> {
    let mut base = head.to_vec();
    numbers.iter().for_each(|number| put_varint(&mut base, *number));
    base
}

/// Places of the numbers of a base that what follows it tells too: supply, available, held, sold,
/// grants, winners, restocks, pieces, and how many epochs there are.
const RECOUNTED: [usize; 9] = [17, 18, 19, 20, 22, 24, 25, 26, 34];
const EPOCH: usize = 16;
const AVAILABLE: usize = 18;
const SOLD: usize = 20;
const GRANTS: usize = 22;
const EPOCHS: usize = 34;

#[test]
fn a_base_that_its_rows_do_not_bear_out_is_refused() {
    let (sale, _) = full_sale(12);
    let dump = rebuild::dump(&sale);
    let (head, numbers) = numbers_of(&dump[0]);
    let core = sale.core();
    let here = [core.epoch, core.available, core.sold, core.grants];
    assert_eq!([EPOCH, AVAILABLE, SOLD, GRANTS].map(|at| numbers[at]), here);
    assert_eq!(numbers[EPOCHS], sale.ledger().epochs().len() as u64);
    let refused = |alter: &dyn Fn(&mut Vec<u64>)| {
        let mut others = numbers.clone();
        alter(&mut others);
        let mut altered = dump.clone();
        altered[0] = base_with(&head, &others);
        !try_load(&altered, "not borne out")
    };
    assert!(!refused(&|_| ()));
    // The law holds, but the rows have sold another number.
    assert!(refused(&|numbers| {
        numbers[AVAILABLE] += 1;
        numbers[SOLD] -= 1;
    }));
    // One more epoch, which granted nothing.
    assert!(refused(&|numbers| {
        numbers[EPOCH] += 1;
        numbers[EPOCHS] += 1;
        numbers.extend([core.grants + 1, core.epoch + 1]);
    }));
}

#[test]
fn every_number_of_a_base_at_every_edge() {
    let (sale, _) = full_sale(12);
    let dump = rebuild::dump(&sale);
    let (head, numbers) = numbers_of(&dump[0]);
    assert_eq!(base_with(&head, &numbers), dump[0]);
    for field in 0..numbers.len() {
        for edge in EDGES {
            let mut altered = dump.clone();
            let mut others = numbers.clone();
            others[field] = edge;
            altered[0] = base_with(&head, &others);
            let loaded = try_load(&altered, &format!("number {field} is {edge}"));
            let recounted = RECOUNTED.contains(&field) && numbers[field] != edge;
            assert!(!(loaded && recounted), "number {field} is {edge}");
            // A base alone begins a rewritten log, which rows follow.
            let mut log = rebuild::log(&sale);
            log[0].1 = [b"B:", &altered[0][1..]].concat();
            let followed: Vec<_> = log.iter().map(|(_, text)| text.clone()).collect();
            try_follow(&followed, &format!("number {field} of a log is {edge}"));
        }
    }
}

/// Applies a base and what follows it, at whatever version the sale then has.
fn try_follow(texts: &[Vec<u8>], how: &str) {
    let Ok(base) = Change::decode(&texts[0]) else { return };
    let Ok(mut sale) = Sale::create(&base, [1, 2]) else { return };
    for text in &texts[1..] {
        let version = sale.core().version;
        try_apply(&mut sale, version, &[text], how);
    }
    assert_sound(&sale, how);
}

#[test]
fn two_numbers_of_a_base_at_once() {
    let (sale, _) = full_sale(12);
    let dump = rebuild::dump(&sale);
    let (head, numbers) = numbers_of(&dump[0]);
    for one in 0..numbers.len() {
        for two in 0..one {
            for (plus, also) in [(1, 1), (0u64.wrapping_sub(1), 0u64.wrapping_sub(1)), (1, 0)] {
                let mut others = numbers.clone();
                others[one] = others[one].wrapping_add(plus);
                others[two] = others[two].wrapping_add(also);
                let mut altered = dump.clone();
                altered[0] = base_with(&head, &others);
                try_load(&altered, &format!("numbers {one} and {two} moved together"));
            }
            // As much supply as there can be, all of it available or sold.
            let room = INTEGER_MAX - sale.core().supply;
            let mut others = numbers.clone();
            others[one] = others[one].saturating_add(room);
            others[two] = others[two].saturating_add(room);
            let mut altered = dump.clone();
            altered[0] = base_with(&head, &others);
            try_load(&altered, &format!("numbers {one} and {two} with all the room"));
        }
    }
}

#[test]
fn the_head_of_a_piece_of_rows_at_every_edge() {
    let (sale, _) = full_sale(12);
    let dump = rebuild::dump(&sale);
    let mut reader = Reader::new(&dump[2][1..]);
    let head: Vec<u64> = (0..3).map(|_| reader.varint().unwrap()).collect();
    let rest = reader.take(dump[2].len() - 1 - 1 - 1 - 3).unwrap();
    for field in 0..3 {
        for edge in EDGES {
            let mut altered = dump.clone();
            altered[2] = b"L".to_vec();
            for (place, number) in head.iter().enumerate() {
                put_varint(&mut altered[2], if place == field { edge } else { *number });
            }
            altered[2].extend_from_slice(rest);
            let same = head[field] == edge;
            let loaded = try_load(&altered, &format!("number {field} of rows is {edge}"));
            assert!(loaded || !same);
        }
    }
}

#[test]
fn every_refusal_counter_at_every_edge() {
    let (sale, _) = full_sale(12);
    let mut dump = rebuild::dump(&sale);
    for edge in EDGES {
        dump[3] = b"C".to_vec();
        (0..10).for_each(|_| put_varint(&mut dump[3], edge));
        assert_eq!(try_load(&dump, &format!("{edge} refusals")), edge <= INTEGER_MAX);
    }
}

/// A dump may hold one piece of rows where the sale itself would write several; its version must
/// have room for those.
#[test]
fn a_version_has_room_for_the_pieces_of_its_sale() {
    let mut world = World::open(1000, Rules::default(), START, 500).unwrap().unwrap();
    for number in 0..300 {
        let user = format!("{number:0256}").into_bytes();
        let op = Op::Grab { user, ask: Ask::Qty(1), req: None };
        let decided = world.sale.decide(&request(&op).unwrap(), &world.now());
        world.sale.commit(&decided.changes, world.run);
    }
    let dump = rebuild::dump(&world.sale);
    assert_eq!(dump.len(), 1 + 2 + 1, "rows of 300 users with the longest names are two pieces");
    let rows = |piece: &[u8]| {
        let mut reader = Reader::new(&piece[1..]);
        let head = (0..3).map(|_| reader.varint().unwrap()).count();
        assert_eq!(head, 3);
        std::iter::from_fn(move || reader.byte()).collect::<Vec<u8>>()
    };
    let mut joined = b"L".to_vec();
    [1, 300, START].iter().for_each(|number| put_varint(&mut joined, *number));
    joined.extend([rows(&dump[1]), rows(&dump[2])].concat());
    let (head, mut numbers) = numbers_of(&dump[0]);
    let version = numbers.iter().position(|number| *number == 301).unwrap();
    let pieces = version + 13;
    assert_eq!((numbers[version], numbers[pieces]), (301, 2));
    for (stated, taken) in [(301, true), (300, false), (2, false), (1, false), (0, false)] {
        numbers[version] = stated;
        numbers[pieces] = 1;
        let one = [base_with(&head, &numbers), joined.clone(), dump[3].clone()];
        assert_eq!(try_load(&one, &format!("version {stated}, one piece")), taken);
    }
}
