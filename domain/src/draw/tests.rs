//! Amounts that are drawn, and what can't be kept: refused at INIT and later.

#![cfg(test)]

use super::*;
use crate::codec::effect::{Change, Effect, Granting, Importing};
use crate::model::outcome::{GrantView, Outcome, State};
use crate::request::terms::{Terms, TermsChange};
use crate::request::{Amount, Deed, Grab, Import, Init, Request, Restock, Settle, Which};
use crate::rules::decide::decide_new;
use crate::testing::{self, at, bytes_of, commit, created, grab, reloaded, run, SECRET};
use crate::Sale;

fn init(draw: Draw, amounts: &[u64], supply: u64, hold_ms: u64) -> Init {
    let terms = Terms { limit: 0, grabs: 1, hold_ms, draw: Some(draw), ..Terms::default() };
    Init { amounts: amounts.to_vec(), ..testing::init(supply, terms) }
}

fn sale(draw: Draw, amounts: &[u64], supply: u64, hold_ms: u64) -> Sale {
    created(&init(draw, amounts, supply, hold_ms), 1)
}

fn drawn(sale: &mut Sale, user: &str, clock_ms: u64) -> u64 {
    match grab(sale, user, clock_ms) {
        Outcome::Granted { grant, .. } => grant.qty,
        other => panic!("{user}: {other:?}"),
    }
}

fn settle(sale: &mut Sale, user: &str, deed: Deed, clock_ms: u64) -> State {
    let reclaims = deed == Deed::Confirm { reclaim: true };
    let seq = sale.ledger().grants_of(user.as_bytes()).next().map_or(0, |grant| grant.seq);
    let which = if reclaims { Which::Seq(seq) } else { Which::Only };
    let request = Request::Settle(Settle { user: user.as_bytes(), which, deed });
    match run(sale, &request, clock_ms) {
        Outcome::Stands(GrantView { state, .. }) => state,
        other => panic!("{user}: {other:?}"),
    }
}

/// Grabs until nothing is left; the amounts in order.
fn drained(mut sale: Sale) -> Vec<u64> {
    let mut amounts = Vec::new();
    for user in 0.. {
        let user = format!("u{user}");
        let grab = Grab { user: user.as_bytes(), amount: Amount::Unsaid, req: None };
        let decision = sale.decide(&Request::Grab(grab), &at(2));
        match decision.outcome {
            Outcome::Granted { grant, .. } => amounts.push(grant.qty),
            Outcome::SoldOut { held: 0 } => break,
            other => panic!("{other:?}"),
        }
        commit(&mut sale, &decision);
    }
    assert_eq!(sale.balances().available, 0);
    assert_eq!(sale.audit().differences, []);
    amounts
}

#[test]
fn packets_add_up_to_the_total_and_keep_the_minimum() {
    for packets in [1, 2, 3, 10, 57] {
        for min in [1, 2, 30] {
            for spare in [0, 1, 7, 1000, 123_456] {
                let supply = packets * min + spare;
                let amounts = drained(sale(Draw::Packets { packets, min }, &[], supply, 0));
                assert_eq!(amounts.len() as u64, packets);
                assert_eq!(amounts.iter().sum::<u64>(), supply);
                assert!(amounts.iter().all(|amount| *amount >= min), "{amounts:?}");
            }
        }
    }
}

#[test]
fn equal_parts_differ_by_one_and_the_first_are_larger() {
    assert_eq!(drained(sale(Draw::Equal { packets: 4 }, &[], 11, 0)), [3, 3, 3, 2]);
    assert_eq!(drained(sale(Draw::Equal { packets: 4 }, &[], 12, 0)), [3, 3, 3, 3]);
    assert_eq!(drained(sale(Draw::Equal { packets: 3 }, &[], 3, 0)), [1, 1, 1]);
}

#[test]
fn uniform_amounts_stay_in_range_and_the_last_is_cut() {
    let amounts = drained(sale(Draw::Uniform { low: 3, high: 9 }, &[], 1000, 0));
    let (last, others) = amounts.split_last().unwrap();
    assert!(others.iter().all(|amount| (3..=9).contains(amount)));
    assert!(*last <= 9);
    assert_eq!(amounts.iter().sum::<u64>(), 1000);
}

#[test]
fn ten_million_packets_cost_nothing() {
    let packets = 10_000_000;
    let mut sale = sale(Draw::Packets { packets, min: 1 }, &[], 3 * packets, 0);
    assert!(sale.memory_bytes() < 4096);
    assert!(drawn(&mut sale, "a", 2) <= 6);
    assert_eq!(sale.balances().packets, Some(packets - 1));
}

#[test]
fn every_position_has_the_same_mean() {
    let rounds = 4000u64;
    let mut sums = [0u64; 10];
    for round in 0..rounds {
        let mut balances = Balances { available: 10_000, packets: Some(10), ..Balances::default() };
        let draw = Draw::Packets { packets: 10, min: 1 };
        for (place, sum) in sums.iter_mut().enumerate() {
            let dice = Dice::new(&SECRET, round * 10 + place as u64);
            let amount = draw.amount(&balances, None, &dice).unwrap();
            *sum += amount;
            balances.available -= amount;
            balances.packets = balances.packets.map(|packets| packets - 1);
        }
    }
    for sum in sums {
        let mean = sum as f64 / rounds as f64;
        assert!((mean - 1000.0).abs() < 60.0, "{mean}");
    }
}

#[test]
fn a_replay_shows_the_same_amount() {
    let mut sale = sale(Draw::Packets { packets: 3, min: 2 }, &[], 40, 0);
    let request = Request::Grab(Grab { user: b"u", amount: Amount::Unsaid, req: Some(b"r") });
    let Outcome::Granted { grant, .. } = run(&mut sale, &request, 2) else { panic!() };
    assert_eq!(run(&mut sale, &request, 3), Outcome::Replay(grant));
    let mut sale = reloaded(&sale);
    assert_eq!(run(&mut sale, &request, 3), Outcome::Replay(grant));
}

/// A drawn amount above the limit could never be granted to anybody.
#[test]
fn a_limit_on_drawn_amounts_is_refused() {
    let list = [5, 3];
    let mut wanted = init(Draw::list(&list), &list, 8, 0);
    let mut sale = created(&wanted, 1);
    for limit in [1, 8] {
        wanted.terms.limit = limit;
        let refused = Outcome::Misuse(Misuse::DrawTakesNoLimit);
        assert_eq!(decide_new(&wanted, &at(1)).outcome, refused);
        let change = TermsChange { limit: Some(limit), ..TermsChange::default() };
        assert_eq!(run(&mut sale, &Request::Alter(change), 2), refused);
        let change = TermsChange { limit: Some(limit), ..TermsChange::default() };
        let change = Change::piece(Effect::Alter(Box::new(change)));
        assert!(sale.apply(sale.balances().version, [change]).is_err());
    }
    let change = TermsChange { limit: Some(0), grabs: Some(2), ..TermsChange::default() };
    assert_eq!(run(&mut sale, &Request::Alter(change), 2), Outcome::Done);
    assert_eq!((drawn(&mut sale, "u", 2), drawn(&mut sale, "u", 3)), (5, 3));
}

#[test]
fn a_list_is_drawn_in_order() {
    let list = [5, 1, 9, 1];
    assert_eq!(drained(sale(Draw::list(&list), &list, 16, 0)), list);
}

#[test]
fn a_repeated_init_is_known_by_its_list() {
    let (list, other) = ([5, 1, 9, 1], [5, 1, 1, 9]);
    let mut sale = sale(Draw::list(&list), &list, 16, 0);
    drawn(&mut sale, "a", 2);
    let again = Request::Init(init(Draw::list(&list), &list, 16, 0));
    assert_eq!(run(&mut sale, &again, 3), Outcome::Done);
    let again = Request::Init(init(Draw::list(&other), &other, 16, 0));
    assert_eq!(run(&mut sale, &again, 3), Outcome::Misuse(Misuse::SaleExists));
}

#[test]
fn amount_and_packet_come_back_together() {
    let list = [5, 1, 9];
    let mut sale = sale(Draw::list(&list), &list, 15, 100);
    assert_eq!(drawn(&mut sale, "a", 10), 5);
    assert_eq!(drawn(&mut sale, "b", 11), 1);
    assert_eq!(settle(&mut sale, "b", Deed::Cancel, 12), State::Cancelled);
    assert!(sale.amounts().unwrap().iter().eq([9, 1]));
    // The hold of a is due: its amount is needed by nobody yet, so it expires on its own.
    assert_eq!(drawn(&mut sale, "c", 110), 9);
    assert_eq!(drawn(&mut sale, "d", 111), 1);
    assert_eq!(drawn(&mut sale, "e", 112), 5, "the due hold makes room");
    assert_eq!(grab(&mut sale, "f", 113), Outcome::SoldOut { held: 15 });
    assert_eq!(settle(&mut sale, "e", Deed::Confirm { reclaim: false }, 114), State::Sold);
    assert_eq!(settle(&mut sale, "e", Deed::Refund, 115), State::Refunded);
    assert_eq!(bytes_of(&reloaded(&sale)), bytes_of(&sale));
    assert_eq!(drawn(&mut sale, "f", 116), 5);
}

#[test]
fn a_list_reclaims_only_that_very_amount() {
    let list = [5, 1];
    let mut sale = sale(Draw::list(&list), &list, 6, 100);
    drawn(&mut sale, "a", 10);
    assert_eq!(settle(&mut sale, "a", Deed::Confirm { reclaim: true }, 110), State::Sold);
    assert_eq!(drawn(&mut sale, "b", 111), 1);
    assert_eq!(settle(&mut sale, "a", Deed::Refund, 112), State::Refunded);
    // b's 1 expires, but c takes it before b pays; the 5 is free and does not serve.
    assert_eq!(drawn(&mut sale, "x", 211), 5);
    assert_eq!(drawn(&mut sale, "c", 212), 1);
    assert_eq!(settle(&mut sale, "x", Deed::Cancel, 213), State::Cancelled);
    assert_eq!(settle(&mut sale, "b", Deed::Confirm { reclaim: true }, 214), State::Expired);
    assert_eq!(settle(&mut sale, "c", Deed::Cancel, 215), State::Cancelled);
    assert_eq!(settle(&mut sale, "b", Deed::Confirm { reclaim: true }, 216), State::Forfeited);
}

#[test]
fn a_long_list_is_saved_in_bounded_pieces() {
    let list: Vec<u64> = (1..=DRAW_AMOUNTS_MAX).collect();
    let mut sale = sale(Draw::list(&list), &list, list.iter().sum(), 0);
    assert_eq!(drawn(&mut sale, "a", 2), 1);
    let pieces = bytes_of(&sale);
    assert!(pieces.len() > 20 && pieces.iter().all(|piece| piece.len() < 65_536));
    assert_eq!(bytes_of(&reloaded(&sale)), pieces);
}

#[test]
fn a_broken_effect_on_a_draw_is_refused() {
    let list = [5, 3];
    let mut sale = sale(Draw::list(&list), &list, 8, 0);
    let version = sale.balances().version;
    let grant = |qty| Effect::Grant(Granting { user: b"u", req: None, qty, hold_ms: 0 });
    let restock = Effect::Restock { req: b"r", delta: 1, applied: 1 };
    let import = Effect::Import(Importing { user: b"u", req: b"r", qty: 5, at: 1 });
    for effect in [grant(3), grant(8), grant(1), restock, import] {
        let change = Change::piece(effect.clone());
        assert!(sale.apply(version, [change]).is_err(), "{effect:?}");
    }
    assert!(sale.apply(version, [Change::piece(grant(5))]).is_ok());
}

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
    assert_eq!(bytes_of(&reloaded(&uniform)), bytes_of(&uniform));
    for amount in [Amount::Exactly(1), Amount::UpTo(1)] {
        let grab = Request::Grab(Grab { user: b"u", amount, req: None });
        let named = run(&mut uniform, &grab, 3);
        assert_eq!(named, Outcome::Misuse(Misuse::DrawTakesNoAmount));
    }
}

#[test]
fn the_range_is_uniform() {
    let mut counts = [0u32; 7];
    for seq in 0..70_000 {
        counts[Dice::new(&SECRET, seq).range(10, 16) as usize - 10] += 1;
    }
    let chi: f64 = counts.iter().map(|n| (f64::from(*n) - 1e4).powi(2) / 1e4).sum();
    assert!(chi < 22.46, "chi-square with 6 degrees of freedom at 0.001: {chi}");
    assert_eq!(Dice::new(&SECRET, 5).range(9, 9), 9);
    assert!(Dice::new(&SECRET, 5).range(0, INTEGER_MAX) <= INTEGER_MAX);
}
