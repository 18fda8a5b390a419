//! Sales that repeat: the clock comes to a boundary, one millisecond before it, far behind it and
//! back over it, with holds that outlive their round.

use super::holds::{deed, import, req};
use super::{grab, restock, walk_all, walk_to, Ask, Op, Patch, Rules};
use super::{SHORT_DEPTH, START};
use crate::oracle::{Deed, Drawing, Every, Keeper, Pick};

/// The first round begins before the sale; holds are longer than rounds.
const EVERY: Every = Every { period: 20, offset: START - 5, lasts: 12, carry: false };
const HOLD: u64 = 25;

fn rounds(every: Every, hold_ms: u64) -> Rules {
    Rules { limit: 1, hold_ms, every: Some(every), ..Rules::default() }
}

#[test]
fn two_units_in_every_round() {
    let alphabet = vec![
        grab("a", Ask::Qty(1), None),
        grab("b", Ask::Qty(1), Some("r")),
        deed("a", Pick::Only, Deed::Confirm),
        deed("a", Pick::Only, Deed::Cancel),
        deed("a", Pick::Seq(1), Deed::Reclaim),
        deed("a", Pick::Seq(1), Deed::Refund),
        deed("b", req("r"), Deed::Confirm),
        Op::ToRound(0, 0),
        Op::ToRound(0, -1),
        Op::ToRound(2, 1),
        Op::ToClose(0),
        Op::Wait(-30),
        Op::ToDeadline(0),
        Op::Sweep(1),
    ];
    walk_all(2, rounds(EVERY, HOLD), alphabet);
}

/// Units returned by a grant of an older round belong to that round.
#[test]
fn a_part_of_an_older_round() {
    let alphabet = vec![
        grab("a", Ask::Qty(2), Some("r")),
        grab("b", Ask::UpTo(2), None),
        deed("a", req("r"), Deed::Keep(Keeper::Confirm, 1)),
        deed("a", req("r"), Deed::Keep(Keeper::Cancel, 1)),
        deed("a", Pick::Seq(1), Deed::Keep(Keeper::Refund, 1)),
        deed("a", req("r"), Deed::Confirm),
        deed("a", req("r"), Deed::Reclaim),
        Op::ToRound(0, 0),
        Op::ToDeadline(0),
        Op::Sweep(9),
        Op::Rewrite,
    ];
    let rules = Rules { limit: 2, outbox: Some('s'), ..rounds(EVERY, HOLD) };
    walk_all(2, rules, alphabet);
}

/// Unsold units go on to the next round, also from rounds in which no call came.
// Rules: 9da1
#[test]
fn one_unit_that_is_carried() {
    let alphabet = vec![
        grab("a", Ask::UpTo(2), None),
        grab("b", Ask::UpTo(9), None),
        deed("a", Pick::Seq(1), Deed::Refund),
        restock(2, "m"),
        restock(-1, "n"),
        import("a", 1, "r"),
        Op::Alter(Patch { limit: Some(0), ..Patch::default() }),
        Op::Alter(Patch { open_at: Some(START + 40), ..Patch::default() }),
        Op::Alter(Patch { close_at: Some(START + 60), ..Patch::default() }),
        Op::ToRound(0, 0),
        Op::ToRound(3, -1),
        Op::ToClose(-1),
        Op::Wait(-100),
        Op::Sweep(9),
    ];
    walk_to(SHORT_DEPTH, 1, rounds(Every { carry: true, ..EVERY }, 0), alphabet);
}

/// Operations of buyers, the shop and the clock on a list in rounds. Every round has new packets,
/// and each round's entries have that round's numbers.
#[test]
fn two_packets_in_every_round() {
    let alphabet = vec![
        grab("a", Ask::Unsaid, Some("r")),
        grab("b", Ask::Unsaid, None),
        grab("c", Ask::Unsaid, None),
        deed("a", req("r"), Deed::Confirm),
        deed("a", req("r"), Deed::Reclaim),
        deed("b", Pick::Only, Deed::Cancel),
        Op::Pause,
        Op::Resume,
        Op::ToRound(0, 0),
        Op::ToRound(1, 0),
        Op::ToDeadline(0),
        Op::Sweep(9),
        Op::Promote,
        Op::Rewrite,
    ];
    let drawing = Drawing::Packets { packets: 2, min: 1 };
    let rules = Rules { limit: 0, grabs: 1, drawing, outbox: Some('s'), ..rounds(EVERY, HOLD) };
    walk_to(SHORT_DEPTH, 5, rules, alphabet);
}
