//! Parts of a split: units are sent, received and owed in every order, late and twice.

use super::holds::{deed, import, req};
use super::{grab, restock, walk_to, Ask, Op, Patch, Rules, DEPTH, SHORT_DEPTH};
use crate::oracle::{Deed, Keeper, List, Part, INTEGER_MAX};

const SPLIT: &str = "s";
const PART: Part = Part { number: 0, of: 3, split: SPLIT, total: 4 };

fn send(to: u64, total: u64) -> Op {
    Op::Send { split: SPLIT, to, total, owed: false }
}

fn owe(to: u64, total: u64) -> Op {
    Op::Send { split: SPLIT, to, total, owed: true }
}

fn receive(from: u64, total: u64) -> Op {
    Op::Receive { split: SPLIT, from, total }
}

fn elsewhere(units: u64, pass: u64) -> Op {
    Op::Elsewhere { split: SPLIT, units, pass }
}

/// The home of `a` and `e` is part 0 of 3, that of `b` is not.
#[test]
fn units_move_in_every_order() {
    let rules = Rules { outbox: Some('s'), part: Some(PART), ..Rules::default() };
    let alphabet = vec![
        grab("a", Ask::Qty(1), Some("r")),
        grab("a", Ask::UpTo(3), None),
        grab("e", Ask::Qty(2), None),
        grab("b", Ask::Qty(1), None),
        deed("e", req("q"), Deed::Cancel),
        deed("b", req("r"), Deed::Cancel),
        send(1, 1),
        send(1, 2),
        send(2, 3),
        owe(1, 2),
        owe(2, 3),
        send(0, 1),
        send(3, 1),
        receive(1, 1),
        receive(1, 2),
        receive(2, 1),
        receive(0, 1),
        elsewhere(0, 1),
        elsewhere(2, 1),
        elsewhere(0, 2),
        Op::Restore,
        Op::Rewrite,
        Op::Promote,
    ];
    walk_to(SHORT_DEPTH, 2, rules, alphabet);
}

/// A deficit is paid by any incoming units, and holds come back.
#[test]
fn what_is_owed_is_paid_first() {
    let part = Some(PART);
    let rules = Rules { limit: 2, hold_ms: 10, outbox: Some('s'), part, ..Rules::default() };
    let alphabet = vec![
        grab("a", Ask::Qty(1), Some("r")),
        grab("e", Ask::Qty(1), None),
        deed("a", req("r"), Deed::Cancel),
        deed("a", req("r"), Deed::Confirm),
        deed("a", req("r"), Deed::Refund),
        deed("a", req("r"), Deed::Reclaim),
        import("a", 2, "i"),
        import("b", 2, "i"),
        deed("a", req("i"), Deed::Keep(Keeper::Refund, 1)),
        deed("b", req("i"), Deed::Keep(Keeper::Refund, 1)),
        owe(1, 2),
        owe(1, 3),
        receive(2, 1),
        receive(2, 3),
        restock(1, "x"),
        restock(-2, "y"),
        elsewhere(0, 1),
        Op::ToDeadline(0),
        Op::Rewrite,
        Op::Restore,
    ];
    walk_to(SHORT_DEPTH, 1, rules, alphabet);
}

#[test]
fn lists_have_users_of_the_part_alone() {
    let rules = Rules { part: Some(PART), ..Rules::default() };
    let list = |list, add, users| Op::Enlist { list, add, users };
    let other = Rules { part: Some(Part { split: "t", ..PART }), ..rules };
    let alphabet = vec![
        grab("a", Ask::Qty(1), None),
        list(List::Deny, true, &[b"a"]),
        list(List::Deny, true, &[b"a", b"b"]),
        list(List::Deny, false, &[b"a"]),
        list(List::Allow, true, &[b"b"]),
        Op::Init { supply: 1, rules },
        Op::Init { supply: 1, rules: other },
        Op::Init { supply: 5, rules },
        Op::Alter(Patch { limit: Some(2), ..Patch::default() }),
        Op::Send { split: "t", to: 1, total: 1, owed: true },
        Op::Receive { split: "t", from: 1, total: 1 },
        Op::Elsewhere { split: "t", units: 0, pass: 1 },
        receive(1, INTEGER_MAX),
        receive(2, 1),
        owe(2, INTEGER_MAX),
        owe(1, 2),
        restock(INTEGER_MAX as i64, "x"),
        restock(-1, "y"),
        Op::Rewrite,
        Op::Restore,
    ];
    walk_to(SHORT_DEPTH, 1, rules, alphabet);
}

#[test]
fn a_part_of_one_begins_as_the_whole() {
    let part = Some(Part { number: 0, of: 1, split: SPLIT, total: 1 });
    let rules = Rules { part, ..Rules::default() };
    let alphabet = vec![
        grab("a", Ask::Qty(1), None),
        grab("b", Ask::Qty(1), None),
        send(0, 1),
        elsewhere(1, 1),
        elsewhere(0, 2),
        Op::Promote,
    ];
    walk_to(DEPTH, 1, rules, alphabet);
}

/// A sale that is not a part sends and receives nothing.
#[test]
fn a_sale_that_is_no_part_moves_nothing() {
    let alphabet = vec![
        grab("a", Ask::Qty(1), None),
        send(1, 1),
        owe(1, 1),
        receive(1, 1),
        elsewhere(1, 1),
        Op::Restore,
    ];
    walk_to(DEPTH, 1, Rules::default(), alphabet);
}
