//! Amounts of DRAW LIST.

#![cfg(test)]

use super::*;
use crate::codec::effect::{Granting, Importing};
use crate::model::limits::DRAW_AMOUNTS_MAX;
use crate::model::outcome::Misuse;

#[test]
fn a_list_is_drawn_in_order() {
    let list = [5, 1, 9, 1];
    assert_eq!(drained(sale(Draw::list(&list), &list, 16, 0)), list);
}

#[test]
fn a_repeated_init_is_told_by_its_list() {
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
    assert!(reloaded(&sale).pieces().eq(sale.pieces()));
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
    let pieces: Vec<_> = sale.pieces().collect();
    assert!(pieces.len() > 20 && pieces.iter().all(|(_, piece)| piece.len() < 65_536));
    assert!(reloaded(&sale).pieces().eq(pieces));
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
