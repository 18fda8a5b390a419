//! Waiting lists: quantities of 1 to 3, OVERTAKE of 0 to 2, and everybody may leave or pay or not
//! at every point.

use super::holds::{deed, import, req};
use super::{grab, restock, walk_all, walk_to, Ask, GatePatch, ListPatch, Op, Patch, Rules};
use super::{CLOSES, OPENS, SHORT_DEPTH, START};
use crate::oracle::{Deed, Keeper, List, ListRules, Pick};

const OFFER: u64 = 10;

fn join(user: &str, qty: u64, req: &str) -> Op {
    until(user, qty, req, 0)
}

fn until(user: &str, qty: u64, req: &str, until: u64) -> Op {
    let (user, req) = (user.as_bytes().to_vec(), req.as_bytes().to_vec());
    Op::Join { user, ask: Ask::Qty(qty), req, until }
}

fn listed(max: u64, overtake: u64) -> Rules {
    let list = Some(ListRules { max, offer_ms: OFFER, overtake });
    Rules { limit: 0, list, outbox: Some('s'), ..Rules::default() }
}

fn alter(list: ListPatch) -> Op {
    Op::Alter(Patch { list, ..Patch::default() })
}

/// Heads of two or three units that may be passed, and users who leave or don't pay.
fn quantities(overtake: u64) {
    let alphabet = vec![
        grab("z", Ask::Qty(3), Some("z")),
        grab("y", Ask::Qty(1), Some("y")),
        grab("x", Ask::UpTo(2), None),
        join("a", 3, "r"),
        join("b", 2, "r"),
        join("c", 1, "r"),
        join("d", 1, "r"),
        deed("a", req("r"), Deed::Cancel),
        deed("b", req("r"), Deed::Cancel),
        deed("c", req("r"), Deed::Cancel),
        deed("d", req("r"), Deed::Cancel),
        deed("d", req("r"), Deed::Confirm),
        deed("z", req("z"), Deed::Refund),
        restock(1, "m"),
        restock(1, "n"),
        restock(2, "o"),
        Op::Sweep(9),
        Op::ToDeadline(0),
    ];
    walk_to(SHORT_DEPTH, 3, listed(9, overtake), alphabet);
}

#[test]
fn nobody_passes_the_head() {
    quantities(0);
}

#[test]
fn one_passes_the_head() {
    quantities(1);
}

/// GRABs and offers that pass the head, and the grants that count as a pass. Holds expire, and all
/// users may return units.
fn passes(overtake: u64) {
    let alphabet = vec![
        grab("z", Ask::Qty(1), Some("z")),
        grab("y", Ask::Qty(1), Some("y")),
        grab("x", Ask::Qty(1), Some("x")),
        grab("w", Ask::UpTo(2), None),
        join("a", 3, "r"),
        join("b", 2, "r"),
        join("c", 1, "r"),
        deed("a", req("r"), Deed::Cancel),
        deed("c", req("r"), Deed::Cancel),
        deed("y", req("y"), Deed::Cancel),
        Op::ToDeadline(0),
    ];
    walk_all(3, Rules { hold_ms: 7, ..listed(9, overtake) }, alphabet);
}

#[test]
fn a_head_is_never_passed() {
    passes(0);
}

// Rules: e4f3
#[test]
fn a_head_is_passed_once() {
    passes(1);
}

#[test]
fn a_head_is_passed_twice() {
    passes(2);
}

/// One unit and two waiters: the effect of every other command on an entry and on an offer.
#[test]
fn one_unit_and_all_commands() {
    let alphabet = vec![
        grab("a", Ask::Qty(1), Some("r")),
        join("a", 1, "s"),
        grab("a", Ask::Qty(2), Some("s")),
        grab("a", Ask::UpTo(1), Some("s")),
        join("b", 1, "r"),
        grab("b", Ask::Unsaid, None),
        deed("a", req("r"), Deed::Cancel),
        deed("a", Pick::Only, Deed::Cancel),
        deed("a", req("r"), Deed::Confirm),
        deed("b", req("r"), Deed::Cancel),
        deed("b", req("r"), Deed::Extend(15)),
        deed("b", req("r"), Deed::Reclaim),
        import("b", 1, "r"),
        import("b", 2, "r"),
        restock(-1, "m"),
        Op::Sweep(9),
        Op::ToDeadline(0),
    ];
    walk_to(SHORT_DEPTH, 1, Rules { hold_ms: 7, ..listed(2, 1) }, alphabet);
}

/// KEEP with waiters: units that it gives back are offered, and KEEP of an offer.
#[test]
fn who_waits_gets_what_is_not_kept() {
    let alphabet = vec![
        grab("z", Ask::Qty(3), Some("z")),
        join("a", 2, "r"),
        join("z", 1, "w"),
        join("b", 1, "r"),
        deed("z", req("z"), Deed::Keep(Keeper::Confirm, 2)),
        deed("z", req("z"), Deed::Keep(Keeper::Cancel, 1)),
        deed("z", req("z"), Deed::Keep(Keeper::Refund, 1)),
        deed("z", req("w"), Deed::Keep(Keeper::Cancel, 1)),
        deed("a", req("r"), Deed::Keep(Keeper::Cancel, 1)),
        deed("a", req("r"), Deed::Keep(Keeper::Confirm, 1)),
        import("z", 3, "z"),
        Op::Alter(Patch { limit: Some(3), ..Patch::default() }),
        Op::ToDeadline(0),
    ];
    walk_to(SHORT_DEPTH, 3, Rules { hold_ms: 7, ..listed(9, 1) }, alphabet);
}

/// Ends of waiting: UNTIL, the window, a pause, a full list, terms that change.
#[test]
fn one_unit_and_all_ends() {
    let alphabet = vec![
        grab("z", Ask::Qty(1), Some("z")),
        until("a", 1, "r", START + 5),
        until("a", 2, "s", OPENS + 5),
        join("b", 1, "r"),
        grab("b", Ask::Qty(1), Some("q")),
        deed("z", req("z"), Deed::Refund),
        deed("a", req("r"), Deed::Cancel),
        deed("b", req("r"), Deed::Cancel),
        import("a", 1, "r"),
        restock(1, "m"),
        Op::Pause,
        Op::Resume,
        Op::Clock(START + 5),
        Op::Clock(CLOSES),
        Op::Sweep(9),
        Op::Alter(Patch { open_at: Some(OPENS), close_at: Some(CLOSES), ..Patch::default() }),
        Op::Alter(Patch { close_at: Some(0), ..Patch::default() }),
        alter(ListPatch { max: Some(0), ..ListPatch::default() }),
        alter(ListPatch { offer_ms: Some(0), ..ListPatch::default() }),
        alter(ListPatch { max: Some(2), overtake: Some(0), ..ListPatch::default() }),
    ];
    walk_to(SHORT_DEPTH, 1, listed(1, 2), alphabet);
}

/// Limits and lists at the time of the offer, and other nodes that go on.
#[test]
fn two_units_within_limits() {
    let gates = |gates| Op::Alter(Patch { gates, ..Patch::default() });
    let alphabet = vec![
        grab("a", Ask::Qty(1), Some("z")),
        grab("c", Ask::Qty(1), Some("z")),
        join("a", 1, "r"),
        join("b", 2, "r"),
        deed("a", req("z"), Deed::Confirm),
        deed("a", req("r"), Deed::Cancel),
        deed("b", req("r"), Deed::Cancel),
        deed("c", req("z"), Deed::Cancel),
        import("a", 1, "paid"),
        Op::Alter(Patch { limit: Some(1), ..Patch::default() }),
        gates(GatePatch { allowlist: Some(true), mask: Some(true), ..GatePatch::default() }),
        Op::Enlist { list: List::Deny, add: true, users: &[b"b"] },
        Op::Enlist { list: List::Allow, add: true, users: &[b"a", b"b"] },
        Op::Sweep(1),
        Op::ToDeadline(0),
        Op::Promote,
        Op::Rewrite,
        Op::Restore,
    ];
    walk_to(SHORT_DEPTH, 2, Rules { limit: 2, hold_ms: 7, ..listed(9, 1) }, alphabet);
}
