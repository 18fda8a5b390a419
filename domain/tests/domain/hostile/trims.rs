//! Altered bytes of sales with grants of which a part was given back.

use super::special::replayed;
use super::*;
use crate::oracle::{Deed, Every, Keeper, Pick};

const EVERY: Every = Every { period: 300, offset: START - 40, lasts: 300, carry: false };

/// Two rounds, or one sale, in which every other grant was trimmed, and the texts of the changes.
fn trimmed_sale(every: Option<Every>) -> (Sale, Vec<Vec<u8>>) {
    let rules = Rules { limit: 0, hold_ms: 900, every, ..Rules::default() };
    let mut world = World::open(300, rules, START, 500).unwrap().unwrap();
    let mut texts = Vec::new();
    let mut step = |world: &mut World, op: Op| {
        texts.extend(world.changes(&op).iter().flatten().map(encoded));
        world.step(&op).unwrap();
    };
    for number in 0..24 {
        step(&mut world, Op::Clock(START + number * 20));
        let user = format!("user:{}", number % 5).into_bytes();
        let req = (number % 6 != 1).then(|| format!("order {number}").into_bytes());
        step(&mut world, Op::Grab { user: user.clone(), ask: Ask::Qty(4), req });
        let pick = Pick::Seq(world.sale.balances().grants);
        for (nth, by) in [Keeper::Cancel, Keeper::Confirm, Keeper::Refund].into_iter().enumerate() {
            if number % 2 == 1 && nth as u64 <= number % 3 {
                let deed = Deed::Keep(by, 3 - nth as u64);
                step(&mut world, Op::Settle { user: user.clone(), pick: pick.clone(), deed });
            }
        }
    }
    (world.sale, texts)
}

/// A piece of trimmed grants: seq and first quantity of each.
fn piece(trims: &[(u64, u64)]) -> Vec<u8> {
    let mut piece = vec![0, 10];
    put_varint(&mut piece, trims.len() as u64);
    for (seq, first) in trims {
        [seq, first].into_iter().for_each(|number| put_varint(&mut piece, *number));
    }
    piece
}

/// The trimmed grants, by seq.
const TRIMS: [(u64, u64); 8] =
    [(4, 4), (6, 4), (10, 4), (12, 4), (16, 4), (18, 4), (22, 4), (24, 4)];

#[test]
fn every_truncation_and_every_piece_out_of_place_is_refused() {
    let (sale, texts) = trimmed_sale(None);
    assert!(kinds_of(&texts).contains("Trim"));
    let dump = rebuild::dump(&sale);
    assert_eq!(rebuild::letters(&dump), "BTLC");
    assert_eq!(dump[1], piece(&TRIMS));
    let (rounds, _) = trimmed_sale(Some(EVERY));
    let rounds = rebuild::dump(&rounds);
    assert_eq!(rebuild::letters(&rounds), "BTLZTLC");
    for (dump, places) in [(&dump, &[1][..]), (&rounds, &[1, 4])] {
        assert!(try_load(dump, "as it is"));
        refuse_truncations(dump, "trimmed");
        for &at in places {
            for altered in fewer_and_more(dump, at) {
                assert!(!try_load(&altered, "missing or doubled"), "piece {at}");
            }
            let mut late = dump.clone();
            late.swap(at, at + 1);
            assert!(!try_load(&late, "behind its grants"), "piece {at}");
        }
    }
}

/// Trims that no sale can have, in a dump and in a log.
#[test]
fn trims_that_no_history_leaves_are_refused() {
    let (sale, _) = trimmed_sale(None);
    let dump = rebuild::dump(&sale);
    let mut log: Vec<_> = rebuild::log(&sale).into_iter().map(|(_, text)| text).collect();
    assert!(replayed(&log).is_ok());
    let spoilt = |at: usize, trim: (u64, u64)| {
        let mut trims = TRIMS.to_vec();
        trims[at] = trim;
        piece(&trims)
    };
    let cases = [
        ("it is as many as there are left", spoilt(0, (4, 3))),
        ("fewer than there are left", spoilt(0, (4, 2))),
        ("none at first", spoilt(0, (4, 0))),
        ("of a grant without a request id", spoilt(0, (2, 4))),
        ("of a grant that is not trimmed", spoilt(0, (3, 4))),
        ("the next one's", spoilt(0, (6, 4))),
        ("out of order", spoilt(0, (11, 4))),
        ("of no grant", spoilt(7, (25, 4))),
        ("seq 0", spoilt(0, (0, 4))),
        ("beyond the last seq", spoilt(7, (1 << 32, 4))),
        ("more than any grant has", spoilt(7, (24, INTEGER_MAX + 1))),
        ("one fewer", piece(&TRIMS[1..])),
        ("none", piece(&[])),
        ("one more", piece(&[&TRIMS[..], &[(25, 4)]].concat())),
    ];
    for (what, trims) in cases {
        let mut altered = dump.clone();
        altered[1].clone_from(&trims);
        assert!(!try_load(&altered, what), "{what}");
        // A log has no counts, so the case without the first trim is valid there: it belongs to
        // another sale.
        if what != "one fewer" {
            log[1] = as_effect(&trims);
            assert!(replayed(&log).is_err(), "{what}, in a log");
        }
    }
}

/// A sale whose amounts are drawn gives packets back whole.
#[test]
fn trims_of_packets_are_refused() {
    let drawing = crate::oracle::Drawing::Uniform { low: 4, high: 4 };
    let rules = Rules { limit: 0, drawing, ..Rules::default() };
    let mut world = World::open(40, rules, START, 500).unwrap().unwrap();
    for user in [b"a", b"b"] {
        let (user, req) = (user.to_vec(), Some(b"o".to_vec()));
        world.step(&Op::Grab { user, ask: Ask::Unsaid, req }).unwrap();
    }
    let log: Vec<_> = rebuild::log(&world.sale).into_iter().map(|(_, text)| text).collect();
    let mut sale = Sale::create(Change::decode(&log[0]).unwrap(), [1, 2]).unwrap().0;
    let version = sale.balances().version;
    assert!(!try_apply(&mut sale, version, &[&as_effect(&piece(&[(1, 9)]))], "of a packet"));
    let trim = encoded(&Change::untimed(Effect::Trim(effect::Trim {
        seq: 1,
        returned: 1,
        to: seckill_domain::outcome::State::Sold,
    })));
    let version = world.sale.balances().version;
    assert!(!try_apply(&mut world.sale, version, &[&trim], "of a packet"));
}

#[test]
fn every_number_of_trims_at_every_edge() {
    for every in [None, Some(EVERY)] {
        let (sale, texts) = trimmed_sale(every);
        let dump = rebuild::dump(&sale);
        let (mut loaded, mut tried) = (0, 0);
        for altered in at_edges(&dump[1]) {
            let mut all = dump.clone();
            all[1] = altered;
            loaded += u64::from(try_load(&all, "trims at an edge"));
            tried += 1;
        }
        assert!(loaded > 20 && loaded < tried / 2, "{loaded} of {tried} loaded");
        load_altered(&dump, 11, 3, 3_000, "trimmed");
        let is_trim =
            |text: &&Vec<u8>| matches!(Change::decode(text).unwrap().effect, Effect::Trim(_));
        apply_at_edges(&sale, texts.iter().filter(is_trim).cloned());
        let applied = apply_altered(&sale, texts, 5, 3_000, "trimmed");
        assert!(applied > 50, "some alterations make another effect: {applied}");
    }
}
