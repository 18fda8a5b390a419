//! Pieces of a part of a split.

use super::*;
use crate::model::balances::Escrow;
use crate::model::limits::INTEGER_MAX;
use crate::parts::Split;
use crate::request::{Receive, Send};

/// A part that has exchanged units with both other parts.
fn a_part() -> Sale {
    let split = Split::new(1, 3, b"s", 20).ok().map(Box::new);
    let mut sale = created(&init(9, Terms { split, ..Terms::default() }), 1);
    for (to, total) in [(0, 3), (2, 4)] {
        run(&mut sale, &Request::Send(Send { split: b"s", to, total, owed: false }), 2);
    }
    run(&mut sale, &Request::Receive(Receive { split: b"s", from: 0, total: 5 }), 2);
    run(&mut sale, &Request::Restock(Restock { delta: 1, req: b"r" }), 2);
    sale
}

/// Units sent and received agree with the numbers, pair by pair.
#[test]
fn pairs_that_do_not_add_up_are_refused() {
    let sale = a_part();
    let all: Vec<_> = sale.pieces().collect();
    let [base, Piece::Pairs(pairs), ids] = &all[..] else { panic!("other pieces: {all:?}") };
    assert_eq!(load(&all).map(|loaded| bytes_of(&loaded)), Ok(bytes_of(&sale)));
    let before = begun([base.clone()]);
    let pair = |peer, sent, received| Pair { peer, sent, received };
    assert_eq!(pairs[..], [pair(0, 3, 5), pair(2, 4, 0)]);
    let others = [
        ("another split of the sum", vec![pair(0, 4, 5), pair(2, 3, 0)], true),
        ("less sent", vec![pair(0, 2, 5), pair(2, 4, 0)], false),
        ("more received", vec![pair(0, 3, 5), pair(2, 4, 1)], false),
        ("a pair is missing", vec![pair(0, 3, 5)], false),
        ("no pair", vec![], false),
        ("out of order", vec![pair(2, 4, 0), pair(0, 3, 5)], false),
        ("twice", vec![pair(0, 3, 0), pair(0, 0, 5), pair(2, 4, 0)], false),
        ("itself", vec![pair(0, 3, 5), pair(1, 4, 0)], false),
        ("no such part", vec![pair(0, 3, 5), pair(3, 4, 0)], false),
        ("nothing has moved", vec![pair(0, 7, 5), pair(2, 0, 0)], false),
    ];
    for (what, pairs, taken) in others {
        let expected = if taken { Ok(()) } else { Err(Refused::Law) };
        assert_eq!(after(&before, Piece::Pairs(pairs)), expected, "{what}");
    }
    // Pairs come first, and once.
    let with_ids = begun([base.clone(), ids.clone()]);
    assert_eq!(after(&with_ids, Piece::Pairs(pairs.clone())), Err(Refused::Law));
    let with_pairs = begun([base.clone(), Piece::Pairs(pairs.clone())]);
    assert_eq!(after(&with_pairs, Piece::Pairs(pairs.clone())), Err(Refused::Law));
    assert!(load(&[base.clone(), ids.clone(), Piece::Pairs(pairs.clone())]).is_err());
    let whole = with_rounds(None);
    assert_eq!(after(&begun(whole.pieces().take(1)), all[1].clone()), Err(Refused::Law));
}

/// Units sent and received need pairs, even if no piece brings any.
#[test]
fn a_part_without_its_pairs_is_refused() {
    let split = Split::new(1, 3, b"s", 20).ok().map(Box::new);
    let mut sale = created(&init(9, Terms { split, ..Terms::default() }), 1);
    for (moved, expected) in [(0, Ok(())), (3, Err(Refused::Law))] {
        let put_in = 9;
        sale.escrow = sale.escrow.map(|it| Escrow { put_in, sent: moved, received: moved, ..it });
        assert_eq!(load(&[sale.pieces().next().unwrap()]).map(drop), expected, "{moved}");
    }
}

/// The numbers of a part keep its law.
#[test]
fn a_base_of_a_part_keeps_its_law() {
    let sale = a_part();
    let all: Vec<_> = sale.pieces().collect();
    let altered = |alter: &dyn Fn(&mut Base)| {
        let mut pieces = all.clone();
        let Piece::Base(base) = &mut pieces[0] else { panic!("no base") };
        alter(base);
        load(&pieces).map(drop)
    };
    fn escrow(base: &mut Base) -> &mut Escrow {
        base.escrow.as_mut().unwrap()
    }
    assert_eq!(altered(&|_| {}), Ok(()));
    assert_eq!(altered(&|base| base.balances.elsewhere = 0), Ok(()));
    type Alteration = (&'static str, fn(&mut Base));
    let wrong: [Alteration; 9] = [
        ("put in", |base| escrow(base).put_in += 1),
        ("sent", |base| escrow(base).sent += 1),
        ("received", |base| escrow(base).received += 1),
        ("sent and received", |base| {
            escrow(base).sent += 1;
            escrow(base).received += 1;
        }),
        ("beyond its bound", |base| base.balances.elsewhere = INTEGER_MAX + 1),
        ("a pass beyond its bound", |base| escrow(base).pass = u64::MAX),
        ("least of all", |base| escrow(base).put_in = i64::MIN),
        ("no part", |base| base.escrow = None),
        ("more than all parts", |base| base.initial_supply = 21),
    ];
    for (what, alter) in wrong {
        assert!(altered(&alter).is_err(), "{what}");
    }
}
