//! Amounts that are drawn, and what can't be kept: refused at INIT and later.

#![cfg(test)]

use super::*;
use crate::codec::effect::{Change, Effect, Granting, Importing};
use crate::model::outcome::Outcome;
use crate::request::terms::{Terms, TermsChange};
use crate::request::{Amount, Grab, Import, Init, Request, Restock};
use crate::rules::decide::decide_new;
use crate::testing::{self, at, bytes_of, created, grab, reloaded, run};
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
        let refused = Outcome::Misuse(Misuse::DrawTakesNoLimit);
        assert_eq!(decide_new(&wanted, &at(1)).outcome, refused);
        let change = TermsChange { limit: Some(limit), ..TermsChange::default() };
        assert_eq!(run(&mut sale, &Request::Alter(change), 2), refused);
        let change = TermsChange { limit: Some(limit), ..TermsChange::default() };
        let change = Change::untimed(Effect::Alter(Box::new(change)));
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
    let grant = |qty| Effect::Grant(Granting { user: b"u", req: None, qty, hold_ms: 0 });
    let restock = Effect::Restock { req: b"r", delta: 1, applied: 1 };
    let import = Effect::Import(Importing { user: b"u", req: b"r", qty: 5, at: 1 });
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
