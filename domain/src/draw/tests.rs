//! Amounts of every kind but lists; [`sale`] and its neighbours serve all tests of draws.

#![cfg(test)]

mod law;
mod lists;

use super::*;
use crate::codec::effect::{Change, Effect};
use crate::model::outcome::{GrantView, Misuse, Outcome, State};
use crate::request::terms::{Terms, TermsChange};
use crate::request::{Amount, Deed, Grab, Init, Request, Settle, Which};
use crate::rules::decide::decide_new;
use crate::testing::{self, at, commit, created, grab, reloaded, run, SECRET};
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
    let mut told = init(Draw::list(&list), &list, 8, 0);
    let mut sale = created(&told, 1);
    for limit in [1, 8] {
        told.terms.limit = limit;
        let refused = Outcome::Misuse(Misuse::DrawTakesNoLimit);
        assert_eq!(decide_new(&told, &at(1)).outcome, refused);
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
