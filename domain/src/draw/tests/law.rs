//! What can't be kept is refused, at INIT and later.

#![cfg(test)]

use super::*;
use crate::model::limits::{DRAW_AMOUNTS_MAX, GRANTS_MAX, INTEGER_MAX};
use crate::model::outcome::Misuse;
use crate::request::{Import, Restock};
use crate::rules::decide::decide_new;

#[test]
fn what_can_not_be_kept_is_refused() {
    let big = GRANTS_MAX + 1;
    let cases = [
        (Draw::Packets { packets: 0, min: 1 }, 5, Misuse::DrawNoPackets),
        (Draw::Packets { packets: 2, min: 0 }, 5, Misuse::DrawMinZero),
        (Draw::Packets { packets: 2, min: 3 }, 5, Misuse::DrawSupplyTooSmall),
        (Draw::Packets { packets: big, min: 1 }, INTEGER_MAX, Misuse::DrawTooManyPackets),
        (Draw::Packets { packets: 2, min: INTEGER_MAX }, 5, Misuse::DrawSupplyTooSmall),
        (Draw::Equal { packets: 0 }, 5, Misuse::DrawNoPackets),
        (Draw::Equal { packets: 6 }, 5, Misuse::DrawSupplyTooSmall),
        (Draw::Uniform { low: 0, high: 5 }, 5, Misuse::DrawAmountZero),
        (Draw::Uniform { low: 6, high: 5 }, 5, Misuse::DrawRangeEmpty),
        (Draw::list(&[]), 0, Misuse::DrawNoPackets),
    ];
    for (draw, supply, misuse) in cases {
        let decision = decide_new(&init(draw, &[], supply, 0), &at(1));
        assert_eq!(decision.outcome, Outcome::Misuse(misuse), "{draw:?}");
    }
    for (list, misuse) in
        [(vec![5, 1], Misuse::DrawSumDiffers), (vec![5, 0], Misuse::DrawAmountZero)]
    {
        let decision = decide_new(&init(Draw::list(&list), &list, 5, 0), &at(1));
        assert_eq!(decision.outcome, Outcome::Misuse(misuse));
    }
    let list = vec![1; DRAW_AMOUNTS_MAX as usize + 1];
    let decision = decide_new(&init(Draw::list(&list), &list, list.len() as u64, 0), &at(1));
    assert_eq!(decision.outcome, Outcome::Misuse(Misuse::DrawListTooLong));
}

#[test]
fn packets_reclaim_only_what_leaves_the_others_their_share() {
    let mut sale = sale(Draw::Packets { packets: 3, min: 2 }, &[], 40, 100);
    let first = drawn(&mut sale, "a", 10);
    drawn(&mut sale, "b", 10);
    drawn(&mut sale, "c", 10);
    assert_eq!(settle(&mut sale, "a", Deed::Confirm { reclaim: true }, 200), State::Sold);
    assert_eq!(sale.balances().packets, Some(0), "only what was needed has expired");
    assert_eq!((sale.balances().sold, sale.balances().available), (first, 0));
    assert_eq!(settle(&mut sale, "b", Deed::Confirm { reclaim: true }, 201), State::Sold);
    assert_eq!(settle(&mut sale, "c", Deed::Confirm { reclaim: true }, 202), State::Sold);
    assert_eq!((sale.balances().sold, sale.balances().available), (40, 0));
}

#[test]
fn a_reclaim_that_would_strand_units_is_refused() {
    // Both packets expire and somebody takes one of another size: the last is the rest.
    let mut sale = sale(Draw::Packets { packets: 2, min: 1 }, &[], 20, 100);
    let a = drawn(&mut sale, "a", 10);
    drawn(&mut sale, "b", 10);
    let c = drawn(&mut sale, "c", 200);
    let left = 20 - c;
    let state = settle(&mut sale, "a", Deed::Confirm { reclaim: true }, 201);
    assert_eq!(state == State::Sold, a == left, "{a} of {left}");
}

#[test]
fn the_supply_of_packets_is_fixed_and_no_amount_is_named() {
    let mut packets = sale(Draw::Packets { packets: 3, min: 2 }, &[], 40, 0);
    let mut uniform = sale(Draw::Uniform { low: 1, high: 2 }, &[], 40, 0);
    let restock = Request::Restock(Restock { delta: 5, req: b"r" });
    let import = Import { user: b"i", qty: 50, req: b"r", at: None, no_deficit: false };
    let fixed = Outcome::Misuse(Misuse::DrawFixesSupply);
    assert_eq!(run(&mut packets, &restock, 2), fixed);
    assert_eq!(run(&mut packets, &Request::Import(import), 2), fixed);
    assert_eq!(run(&mut uniform, &restock, 2), Outcome::Restocked { applied: 5, available: 45 });
    let imported = run(&mut uniform, &Request::Import(import), 2);
    assert!(matches!(imported, Outcome::Granted { .. }), "{imported:?}");
    assert!(reloaded(&uniform).pieces().eq(uniform.pieces()));
    for amount in [Amount::Exactly(1), Amount::UpTo(1)] {
        let grab = Request::Grab(Grab { user: b"u", amount, req: None });
        let named = run(&mut uniform, &grab, 3);
        assert_eq!(named, Outcome::Misuse(Misuse::DrawTakesNoAmount));
    }
}
