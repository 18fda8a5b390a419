//! Admission: lists, numbers, a share, the first n users, and a mask over all of it.

use super::holds::{deed, req};
use super::{grab, walk_all, Ask, Op, Patch, Rules};
use crate::oracle::{Deed, GatePatch, Gates, List};

fn list(list: List, add: bool, users: &'static [&'static [u8]]) -> Op {
    Op::Enlist { list, add, users }
}

fn gates(gates: GatePatch) -> Op {
    Op::Alter(Patch { gates, ..Patch::default() })
}

#[test]
fn one_unit_for_listed_users() {
    let alphabet = vec![
        grab("a", Ask::Qty(1), Some("r")),
        grab("b", Ask::Qty(2), None),
        grab("b", Ask::Qty(1), None),
        deed("a", req("r"), Deed::Cancel),
        list(List::Allow, true, &[b"a"]),
        list(List::Allow, true, &[b"b", b"a", b"b"]),
        list(List::Allow, false, &[b"a", b"b"]),
        list(List::Deny, true, &[b"b"]),
        list(List::Deny, false, &[b"a", b"b"]),
        gates(GatePatch { allowlist: Some(false), mask: Some(true), ..GatePatch::default() }),
        gates(GatePatch { allowlist: Some(true), ..GatePatch::default() }),
        Op::ToDeadline(0),
        Op::Restore,
        Op::Rewrite,
    ];
    let allowing = Gates { allowlist: true, ..Gates::default() };
    walk_all(1, Rules { limit: 1, hold_ms: 10, gates: allowing, ..Rules::default() }, alphabet);
}

/// A first admission is a change that stays, whatever the call's outcome.
#[test]
fn one_unit_for_the_first_two() {
    let alphabet = vec![
        grab("a", Ask::Qty(1), None),
        grab("2", Ask::Qty(2), None),
        grab("3", Ask::Unsaid, Some("r")),
        grab("4", Ask::Qty(1), None),
        list(List::Deny, true, &[b"2"]),
        gates(GatePatch { admit: Some(1), ..GatePatch::default() }),
        gates(GatePatch { admit: Some(0), ..GatePatch::default() }),
        gates(GatePatch { modulo: Some(Some((2, &[0]))), ..GatePatch::default() }),
        gates(GatePatch {
            modulo: Some(None),
            sample: Some(Some((500, Some("s")))),
            ..GatePatch::default()
        }),
        gates(GatePatch { sample: Some(Some((1001, None))), ..GatePatch::default() }),
        gates(GatePatch { sample: Some(None), mask: Some(false), ..GatePatch::default() }),
        Op::Pause,
        Op::Resume,
        Op::Promote,
    ];
    let first = Gates { admit: 2, mask: true, ..Gates::default() };
    walk_all(1, Rules { limit: 1, gates: first, outbox: Some('s'), ..Rules::default() }, alphabet);
}
