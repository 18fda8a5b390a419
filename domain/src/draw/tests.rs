//! Drawn amounts, the list of amounts left, and the hash that draws use.

#![cfg(test)]

use super::*;
use crate::decide::decide_new;
use crate::effect::{self, Change, Effect};
use crate::model::outcome::Outcome;
use crate::request::{Amount, Grab, Import, Init, Request, Restock, Terms, TermsChange};
use crate::testing::{self, at, bytes_of, created, grab, reloaded, run, SECRET};
use crate::Sale;

fn init(draw: Draw, amounts: &[u64], supply: u64, hold_ms: u64) -> Init {
    let terms = Terms { limit: 0, grabs: 1, hold_ms, kind: Some(draw).into(), ..Terms::default() };
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

#[test]
fn ten_million_packets_cost_nothing() {
    let packets = 10_000_000;
    let mut sale = sale(Draw::Packets { packets, min: 1 }, &[], 3 * packets, 0);
    assert!(sale.memory_bytes() < 4096);
    assert!(drawn(&mut sale, "a", 2) <= 6);
    assert_eq!(sale.balances().packets, Some(packets - 1));
}

/// A drawn amount above the limit could never be granted to anybody.
#[test]
fn a_limit_on_drawn_amounts_is_refused() {
    let list = [5, 3];
    let mut wanted = init(Draw::list(&list), &list, 8, 0);
    let mut sale = created(&wanted, 1);
    for limit in [1, 8] {
        wanted.terms.limit = limit;
        let misuse = Misuse::DrawTakesNoLimit;
        assert_eq!(decide_new(&wanted, &at(1), [1, 2]).err(), Some(misuse));
        let refused = Outcome::Misuse(misuse);
        let change = TermsChange { limit: Some(limit), ..TermsChange::default() };
        assert_eq!(run(&mut sale, &Request::Alter(change), 2), refused);
        let change = TermsChange { limit: Some(limit), ..TermsChange::default() };
        let change = Change::untimed(effect::Alter(Box::new(change)));
        assert!(sale.apply(sale.balances().version, [change]).is_err());
    }
    let change = TermsChange { limit: Some(0), grabs: Some(2), ..TermsChange::default() };
    assert_eq!(run(&mut sale, &Request::Alter(change), 2), Outcome::Done);
    assert_eq!((drawn(&mut sale, "u", 2), drawn(&mut sale, "u", 3)), (5, 3));
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
    let grant = |qty| Effect::Grant(effect::Grant { user: b"u", req: None, qty, hold_ms: 0 });
    let restock = Effect::Restock(effect::Restock { req: b"r", delta: 1, applied: 1 });
    let import = Effect::Import(effect::Import { user: b"u", req: b"r", qty: 5, at: 1 });
    for effect in [grant(3), grant(8), grant(1), restock, import] {
        let change = Change::untimed(effect.clone());
        assert!(sale.apply(version, [change]).is_err(), "{effect:?}");
    }
    assert!(sale.apply(version, [Change::untimed(grant(5))]).is_ok());
}

#[test]
fn the_supply_of_packets_is_fixed_and_no_amount_is_named() {
    let mut packets = sale(Draw::Packets { packets: 3, min: 2 }, &[], 40, 0);
    let mut uniform = sale(Draw::Uniform { low: 1, high: 2 }, &[], 40, 0);
    let restock = Request::Restock(Restock { delta: 5, req: b"r" });
    let import = Import { user: b"i", qty: 50, req: b"r", at: None, no_deficit: false, units: &[] };
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

/// Of 2^53 numbers one in 2,048 draws lies beyond the last whole multiple, and is drawn again.
#[test]
fn what_would_favour_a_number_is_drawn_again() {
    let size = INTEGER_MAX + 1;
    let mut again = 0;
    for seq in 0..20_000 {
        let dice = Dice::new(&SECRET, seq);
        let is_whole = |attempt: &u64| dice.bits(*attempt) < u64::MAX - u64::MAX % size;
        let attempt = (0..).find(is_whole).unwrap();
        again += u64::from(attempt > 0);
        assert_eq!(dice.range(0, INTEGER_MAX), dice.bits(attempt) % size);
        assert_eq!(dice.range(7, 7), 7);
        assert_eq!(dice.range(7, 9), 7 + dice.bits(0) % 3);
    }
    assert!((1..50).contains(&again), "{again}");
}

/// A packet has at least the minimum and at most twice the mean, and leaves each later one its
/// minimum. Every amount between occurs.
#[test]
fn packets_of_every_size_are_drawn() {
    for (packets, min, supply, most) in [(2, 1, 10, 9), (2, 3, 10, 7), (3, 1, 12, 8), (3, 3, 12, 6)]
    {
        let draw = Draw::Packets { packets, min };
        let balances = *sale(draw, &[], supply, 0).balances();
        let amount = |seq| draw.amount(&balances, None, &Dice::new(&SECRET, seq)).unwrap();
        let drawn: BTreeSet<u64> = (0..200).map(amount).collect();
        assert!(drawn.into_iter().eq(min..=most), "{draw:?} of {supply}");
    }
}

/// Drawn amounts that a dump may contain.
#[test]
fn amounts_that_a_draw_can_come_to() {
    let list = [5, 3];
    let cases = [
        (Draw::Packets { packets: 3, min: 2 }, 10, vec![2, 3, 6], vec![0, 1]),
        (Draw::Uniform { low: 2, high: 4 }, 10, vec![1, 2, 4], vec![0, 5]),
        (Draw::Equal { packets: 3 }, 10, vec![3, 4], vec![0, 2, 5]),
        (Draw::list(&list), 8, vec![3, 5], vec![0]),
    ];
    for (draw, supply, drawn, never) in cases {
        assert!(drawn.iter().all(|qty| draw.can_draw(*qty, supply)), "{draw:?}");
        assert!(!never.iter().any(|qty| draw.can_draw(*qty, supply)), "{draw:?}");
    }
}

#[test]
fn the_first_is_drawn_and_the_last_equal_one_is_taken() {
    let mut list: Amounts = [5].into_iter().collect();
    [1, 9, 1, 5].into_iter().for_each(|amount| list.push(amount));
    assert_eq!((list.len(), list.sum(), list.first()), (5, 21, Some(5)));
    assert!(list.contains(5) && list.contains(9) && !list.contains(7));
    assert!(list.remove(5) && !list.contains(5) && !list.remove(5) && !list.remove(7));
    list.push(5);
    assert!(list.remove(1));
    assert_eq!(list.iter().collect::<Vec<_>>(), [5, 1, 9, 5]);
    assert_eq!((list.take_first(), list.take_first()), (Some(5), Some(1)));
    assert!(!list.contains(1) && list.remove(5) && !list.remove(5));
    assert_eq!((list.take_first(), list.take_first()), (Some(9), None));
    assert_eq!((list.len(), list.sum(), list.is_empty()), (0, 0, true));
}

/// The list of amounts as planned equals the list after the commit.
#[test]
fn a_plan_does_what_the_list_does() {
    const STEPS: u64 = 400;
    for seed in 0..50u64 {
        let mut list: Amounts = (0..seed % 9).map(|index| 1 + index % 3).collect();
        // Some amounts were returned before, at indexes that do not begin with 0.
        (0..seed % 7).for_each(|index| list.push(1 + index % 4));
        (0..seed % 3).for_each(|_| assert!(list.take_first() != Some(0)));
        let (before, mut planned) = (list.clone(), PlannedAmounts::default());
        for step in 0..STEPS {
            let chance = (seed * STEPS + step).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
            let amount = 1 + chance / 8 % 4;
            assert_eq!(planned.first(&before), list.first(), "{seed} {step}");
            assert_eq!(planned.contains(&before, amount), list.contains(amount), "{seed} {step}");
            match chance % 4 {
                0 | 1 => {
                    planned.push(amount);
                    list.push(amount);
                }
                2 => {
                    assert_eq!(planned.take_first(&before), list.take_first(), "{seed} {step}")
                }
                _ => {
                    assert_eq!(
                        planned.remove(&before, amount),
                        list.remove(amount),
                        "{seed} {step}"
                    )
                }
            }
        }
    }
}

/// The values are those of another implementation, checked with the authors' test vector.
#[test]
fn every_use_hashes_its_own_bytes() {
    let numbers = [&7u64.to_le_bytes()[..], &1u64.to_le_bytes()];
    assert_eq!(keyed(&SECRET, Purpose::Draw, &numbers), 0x98ea_3df6_553f_4284);
    assert_eq!(Dice::new(&SECRET, 7).bits(1), 0x98ea_3df6_553f_4284);
    assert_eq!(keyed(&SECRET, Purpose::Modulo, &[b"alice"]), 0x0fae_d97e_0c37_898e);
    assert_eq!(keyed(&SECRET, Purpose::Sample, &[&[4], b"salt", b"alice"]), 0xf3bf_b9b0_13fa_1a7c);
}
