//! Sales with holds. Each kind of fault has a small alphabet of its own: with all commands together
//! there would be too many sequences. Time steps are operations too.

use super::{grab, restock, walk_all, Ask, Op, Patch, Rules};
use crate::oracle::{Deed, Keeper, Pick, FENCE_MS};

const HOLD: u64 = 10;

/// A clock that steps back by an hour.
const HOUR_BACK: i64 = -3_600_000;

pub fn deed(user: &str, pick: Pick, deed: Deed) -> Op {
    Op::Settle { user: user.as_bytes().to_vec(), pick, deed }
}

pub fn req(id: &str) -> Pick {
    Pick::Req(id.as_bytes().to_vec())
}

pub fn import(user: &str, qty: u64, id: &str) -> Op {
    let (user, req) = (user.as_bytes().to_vec(), id.as_bytes().to_vec());
    Op::Import { user, qty, req, at: None, no_deficit: false }
}

fn held(limit: u64) -> Rules {
    Rules { limit, hold_ms: HOLD, ..Rules::default() }
}

/// All states of one buyer's grant, and the race for its unit.
#[test]
fn one_unit_two_buyers() {
    let alphabet = vec![
        grab("a", Ask::Qty(1), None),
        grab("b", Ask::Qty(1), None),
        deed("a", Pick::Only, Deed::Confirm),
        deed("b", Pick::Only, Deed::Confirm),
        deed("a", Pick::Only, Deed::Cancel),
        deed("a", Pick::Only, Deed::Refund),
        deed("a", Pick::Only, Deed::Extend(15)),
        deed("a", Pick::Seq(1), Deed::Reclaim),
        deed("b", Pick::Seq(1), Deed::Reclaim),
        deed("b", Pick::Seq(2), Deed::Reclaim),
        Op::Sweep(9),
        Op::ToDeadline(0),
        Op::ToDeadline(-1),
        Op::Wait(1_000_000),
        Op::Wait(HOUR_BACK),
    ];
    walk_all(1, held(1), alphabet);
}

/// Several grants of one user, named by their request ids or not at all.
#[test]
fn two_units_many_grants_of_a_user() {
    let alphabet = vec![
        grab("a", Ask::Qty(1), Some("r")),
        grab("a", Ask::UpTo(2), Some("s")),
        grab("a", Ask::Qty(2), None),
        grab("b", Ask::UpTo(2), None),
        deed("a", Pick::Only, Deed::Confirm),
        deed("a", req("r"), Deed::Confirm),
        deed("a", req("r"), Deed::Reclaim),
        deed("a", req("s"), Deed::Cancel),
        deed("a", req("s"), Deed::Refund),
        deed("a", Pick::Seq(2), Deed::Reclaim),
        deed("b", Pick::Seq(1), Deed::Extend(5)),
        Op::Sweep(1),
        Op::ToDeadline(0),
        Op::Wait(3),
    ];
    walk_all(2, held(2), alphabet);
}

/// CANCELs that arrive before their GRABs, and GRABs that arrive long after.
#[test]
fn two_units_behind_fences() {
    let alphabet = vec![
        grab("a", Ask::Qty(1), Some("r")),
        grab("a", Ask::UpTo(2), Some("r")),
        grab("b", Ask::Qty(2), Some("r")),
        deed("a", req("r"), Deed::Cancel),
        deed("a", req("s"), Deed::Cancel),
        deed("b", req("r"), Deed::Cancel),
        deed("a", req("r"), Deed::Confirm),
        import("a", 1, "r"),
        Op::ToDeadline(0),
        Op::Wait(FENCE_MS as i64 - 1),
        Op::Wait(1),
        Op::Wait(HOUR_BACK),
    ];
    walk_all(2, held(0), alphabet);
}

/// Units promised beyond the supply, and all ways of paying the deficit off.
// Rules: abd1 3f97
#[test]
fn one_unit_and_a_deficit() {
    let no_deficit = Op::Import {
        user: b"b".to_vec(),
        qty: 1,
        req: b"y".to_vec(),
        at: Some(7),
        no_deficit: true,
    };
    let alphabet = vec![
        grab("a", Ask::Qty(1), Some("r")),
        grab("b", Ask::UpTo(2), Some("x")),
        import("b", 2, "x"),
        import("a", 1, "r"),
        no_deficit,
        deed("a", req("r"), Deed::Cancel),
        deed("a", req("r"), Deed::Reclaim),
        deed("b", req("x"), Deed::Refund),
        deed("b", req("y"), Deed::Refund),
        restock(1, "m"),
        restock(-1, "o"),
        Op::ToDeadline(0),
    ];
    walk_all(1, held(0), alphabet);
}

/// Terms that change while holds are open, a late outbox, other nodes that take over.
#[test]
fn two_units_whose_terms_change() {
    let alphabet = vec![
        grab("a", Ask::Qty(1), None),
        grab("b", Ask::UpTo(2), None),
        deed("a", Pick::Only, Deed::Confirm),
        deed("a", Pick::Only, Deed::Cancel),
        deed("b", Pick::Only, Deed::Confirm),
        deed("b", Pick::Seq(2), Deed::Reclaim),
        Op::Alter(Patch { outbox: Some('s'), ..Patch::default() }),
        Op::Alter(Patch { outbox: Some('z'), ..Patch::default() }),
        Op::Alter(Patch { hold_ms: Some(0), limit: Some(1), ..Patch::default() }),
        Op::Alter(Patch { hold_ms: Some(25), limit: Some(0), grabs: Some(1), ..Patch::default() }),
        Op::Pause,
        Op::Resume,
        Op::Sweep(9),
        Op::ToDeadline(0),
        Op::Promote,
    ];
    walk_all(2, held(2), alphabet);
}

/// Every event of the outbox, and the transitions between them.
#[test]
fn one_unit_with_an_outbox() {
    let alphabet = vec![
        grab("a", Ask::Qty(1), None),
        grab("b", Ask::Qty(1), Some("r")),
        deed("a", Pick::Only, Deed::Confirm),
        deed("a", Pick::Only, Deed::Cancel),
        deed("a", Pick::Only, Deed::Refund),
        deed("a", Pick::Only, Deed::Extend(11)),
        deed("b", req("r"), Deed::Reclaim),
        deed("b", req("q"), Deed::Cancel),
        import("b", 1, "r"),
        restock(1, "m"),
        restock(-1, "o"),
        Op::Pause,
        Op::ToDeadline(0),
        Op::Rewrite,
    ];
    walk_all(1, Rules { outbox: Some('s'), ..held(1) }, alphabet);
}

/// KEEP in every state, twice and out of order, of grants that are asked for and imported again.
#[test]
fn three_units_of_which_a_part_is_kept() {
    let alphabet = vec![
        grab("a", Ask::Qty(3), Some("r")),
        grab("a", Ask::Qty(2), Some("r")),
        grab("b", Ask::UpTo(2), Some("x")),
        deed("a", req("r"), Deed::Keep(Keeper::Confirm, 2)),
        deed("a", req("r"), Deed::Keep(Keeper::Cancel, 2)),
        deed("a", req("r"), Deed::Keep(Keeper::Cancel, 1)),
        deed("a", req("r"), Deed::Keep(Keeper::Refund, 1)),
        deed("a", Pick::Seq(1), Deed::Keep(Keeper::Refund, 2)),
        deed("b", req("x"), Deed::Keep(Keeper::Cancel, 1)),
        deed("a", req("r"), Deed::Confirm),
        deed("a", req("r"), Deed::Reclaim),
        deed("a", req("r"), Deed::Cancel),
        deed("a", req("r"), Deed::Refund),
        import("a", 3, "r"),
        import("b", 2, "x"),
        Op::ToDeadline(0),
    ];
    walk_all(3, Rules { outbox: Some('s'), ..held(3) }, alphabet);
}

/// KEEP across copies, under limits that change.
#[test]
fn two_units_kept_by_copies() {
    let alphabet = vec![
        grab("a", Ask::Qty(2), Some("r")),
        grab("a", Ask::Qty(1), None),
        grab("b", Ask::UpTo(2), None),
        deed("a", req("r"), Deed::Keep(Keeper::Cancel, 1)),
        deed("a", req("r"), Deed::Keep(Keeper::Confirm, 1)),
        deed("a", req("r"), Deed::Keep(Keeper::Refund, 1)),
        deed("a", req("s"), Deed::Keep(Keeper::Cancel, 1)),
        deed("a", req("s"), Deed::Cancel),
        import("a", 2, "r"),
        Op::Alter(Patch { limit: Some(1), ..Patch::default() }),
        Op::Alter(Patch { limit: Some(0), grabs: Some(1), ..Patch::default() }),
        Op::ToDeadline(0),
        Op::Promote,
        Op::Rewrite,
        Op::Restore,
    ];
    walk_all(2, held(2), alphabet);
}
