//! Sales that draw their amounts: taking, returning and taking again in every order.

use super::holds::{deed, import, req};
use super::{grab, restock, walk_all, Ask, Op, Rules};
use crate::oracle::{Deed, Drawing, Keeper, Pick};

const HOLD: u64 = 10;

fn drawing(drawing: Drawing) -> Rules {
    Rules { grabs: 1, hold_ms: HOLD, drawing, ..Rules::default() }
}

/// Operations of buyers and of the clock; `more` are operations for one kind of sale.
fn alphabet(more: &[Op]) -> Vec<Op> {
    let common = vec![
        grab("a", Ask::Unsaid, None),
        grab("b", Ask::Unsaid, Some("r")),
        grab("c", Ask::Unsaid, None),
        deed("a", Pick::Only, Deed::Confirm),
        deed("a", Pick::Only, Deed::Cancel),
        deed("a", Pick::Seq(1), Deed::Refund),
        deed("a", Pick::Seq(1), Deed::Reclaim),
        deed("b", req("r"), Deed::Cancel),
        deed("b", req("r"), Deed::Keep(Keeper::Cancel, 1)),
        deed("b", req("r"), Deed::Reclaim),
        Op::ToDeadline(0),
    ];
    [&common, more].concat()
}

#[test]
fn three_packets() {
    let more = [grab("a", Ask::Qty(1), None), restock(1, "m"), Op::Sweep(1), Op::Promote];
    walk_all(9, drawing(Drawing::Packets { packets: 3, min: 2 }), alphabet(&more));
}

#[test]
fn a_list_of_three() {
    let more = [grab("b", Ask::UpTo(9), Some("r")), Op::Sweep(1), Op::Rewrite, Op::Restore];
    walk_all(6, drawing(Drawing::List(&[1, 3, 2])), alphabet(&more));
}

#[test]
fn two_equal_parts() {
    let more = [import("a", 3, "r"), Op::ToDeadline(-1), Op::Sweep(9)];
    walk_all(5, drawing(Drawing::Equal { packets: 2 }), alphabet(&more));
}

/// The only draw that takes RESTOCK, and that can have a deficit.
// Rules: 3601
#[test]
fn uniform_amounts_of_a_small_budget() {
    let more = [import("b", 2, "r"), import("c", 2, "s"), restock(2, "m"), restock(-2, "n")];
    walk_all(4, drawing(Drawing::Uniform { low: 1, high: 3 }), alphabet(&more));
}
