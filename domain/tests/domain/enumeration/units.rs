//! Three units with numbers, and the number that each buyer gets.

use super::holds::{deed, req};
use super::{grab, restock, walk_to, Ask, Op, Rules, START};
use crate::oracle::{Deed, Keeper, ListRules, Pick, Wish};

const HOLD: u64 = 10;

/// Operations of the longest sequence.
const DEPTH: usize = 5;

fn numbered() -> Rules {
    Rules { limit: 0, hold_ms: HOLD, numbered: true, ..Rules::default() }
}

fn choose(user: &str, wish: Wish, qty: u64, req: Option<&str>) -> Op {
    let req = req.map(|req| req.as_bytes().to_vec());
    Op::Choose { user: user.as_bytes().to_vec(), qty, wish, req }
}

fn these(user: &str, units: &[u64], req: &str) -> Op {
    choose(user, Wish::These(units.to_vec()), units.len() as u64, Some(req))
}

fn adjacent(user: &str, qty: u64) -> Op {
    choose(user, Wish::Adjacent, qty, None)
}

fn import(user: &str, units: &[u32], id: &str) -> Op {
    let (user, req) = (user.as_bytes().to_vec(), id.as_bytes().to_vec());
    Op::ImportUnits { user, units: units.to_vec(), req }
}

/// Operations that take numbers and give them back, at the last ms of a hold and after it.
#[test]
fn three_units_two_buyers() {
    let alphabet = vec![
        grab("a", Ask::Qty(1), None),
        grab("b", Ask::Qty(2), Some("r")),
        these("a", &[3, 1], "r"),
        these("b", &[2], "r"),
        these("b", &[1, 2], "s"),
        adjacent("a", 2),
        adjacent("b", 3),
        deed("a", req("r"), Deed::Confirm),
        deed("a", req("r"), Deed::Reclaim),
        deed("b", req("r"), Deed::Reclaim),
        deed("a", Pick::Seq(1), Deed::Cancel),
        deed("a", req("r"), Deed::Refund),
        Op::ToDeadline(0),
        Op::ToDeadline(-1),
        Op::Sweep(1),
    ];
    walk_to(DEPTH, 3, numbered(), alphabet);
}

/// IMPORT of numbers that the shop's database knows, and RESTOCK of numbers.
#[test]
fn two_units_imported_and_added() {
    let alphabet = vec![
        these("a", &[2], "r"),
        these("a", &[3], "s"),
        grab("b", Ask::Qty(2), Some("r")),
        import("a", &[2], "r"),
        import("b", &[1, 2], "r"),
        import("b", &[2, 3], "r"),
        import("b", &[1], "t"),
        restock(1, "x"),
        restock(-1, "y"),
        deed("a", req("r"), Deed::Cancel),
        deed("a", req("r"), Deed::Refund),
        deed("b", req("r"), Deed::Reclaim),
        Op::ToDeadline(0),
        Op::Rewrite,
        Op::Promote,
    ];
    walk_to(DEPTH, 2, Rules { outbox: Some('s'), ..numbered() }, alphabet);
}

fn keep(by: Keeper, user: &str, pick: Pick, units: &[u32]) -> Op {
    Op::KeepUnits { user: user.as_bytes().to_vec(), pick, by, units: units.to_vec() }
}

/// Parts of a grant are returned by number, and the rest is reclaimed or imported.
#[test]
fn three_units_kept_in_part() {
    let alphabet = vec![
        grab("a", Ask::Qty(3), Some("r")),
        these("a", &[1, 2, 3], "r"),
        these("a", &[2], "r"),
        these("b", &[2], "s"),
        grab("b", Ask::Qty(1), Some("s")),
        keep(Keeper::Cancel, "a", req("r"), &[1, 3]),
        keep(Keeper::Cancel, "a", req("r"), &[2, 1]),
        keep(Keeper::Confirm, "a", req("r"), &[3]),
        keep(Keeper::Refund, "a", Pick::Seq(1), &[3, 2]),
        deed("a", req("r"), Deed::Reclaim),
        deed("a", req("r"), Deed::Refund),
        import("a", &[3, 1], "r"),
        import("a", &[2], "r"),
        Op::ToDeadline(0),
        Op::Rewrite,
    ];
    walk_to(DEPTH, 3, Rules { outbox: Some('s'), ..numbered() }, alphabet);
}

/// Numbers that are given back by name are offered to waiters.
#[test]
fn two_units_kept_in_part_while_others_wait() {
    let join = |user: &str, qty| Op::Join {
        user: user.as_bytes().to_vec(),
        ask: Ask::Qty(qty),
        req: b"w".to_vec(),
        until: 0,
    };
    let list = Some(ListRules { max: 2, offer_ms: 5, overtake: 1 });
    let alphabet = vec![
        these("a", &[1, 2], "r"),
        grab("c", Ask::Qty(1), Some("s")),
        join("b", 1),
        join("c", 2),
        keep(Keeper::Cancel, "a", req("r"), &[2]),
        keep(Keeper::Confirm, "a", req("r"), &[1]),
        keep(Keeper::Cancel, "b", req("w"), &[1]),
        import("a", &[1], "r"),
        import("a", &[2, 1], "r"),
        deed("a", req("r"), Deed::Cancel),
        deed("b", req("w"), Deed::Confirm),
        Op::Sweep(9),
        Op::ToDeadline(0),
        Op::Promote,
    ];
    walk_to(DEPTH, 2, Rules { list, outbox: Some('s'), ..numbered() }, alphabet);
}

/// Waiters get the lowest numbers; buyers ask for numbers by name meanwhile.
#[test]
fn two_units_and_who_waits() {
    let join = |user: &str, qty| Op::Join {
        user: user.as_bytes().to_vec(),
        ask: Ask::Qty(qty),
        req: b"w".to_vec(),
        until: START + 25,
    };
    let list = Some(ListRules { max: 2, offer_ms: 5, overtake: 1 });
    let alphabet = vec![
        these("a", &[1], "r"),
        these("a", &[2], "s"),
        these("b", &[2], "w"),
        grab("c", Ask::Qty(1), None),
        adjacent("c", 2),
        join("b", 2),
        join("c", 1),
        import("b", &[1, 2], "w"),
        restock(1, "x"),
        deed("a", req("r"), Deed::Cancel),
        deed("a", req("r"), Deed::Reclaim),
        deed("b", req("w"), Deed::Confirm),
        Op::Sweep(9),
        Op::ToDeadline(0),
    ];
    walk_to(DEPTH, 2, Rules { list, outbox: Some('s'), ..numbered() }, alphabet);
}
