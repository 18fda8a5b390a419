//! Plans are for one version of a sale, and each of their commands has its position.

#![cfg(test)]

use super::*;
use crate::effect::{self, Change, Effect};
use crate::fields::EntryVersion;
use crate::model::balances::Escrow;
use crate::parts::Split;
use crate::request::{Amount, Grab, Init, Request, Terms};
use crate::testing::{at, created, init, run};

fn sale() -> Sale {
    created(&init(3, Terms { outbox: Some(b"s"[..].into()), ..Terms::default() }), 1)
}

#[test]
fn a_plan_is_for_one_version_of_one_sale() {
    let mut sale = sale();
    let plan = sale.decide(&Request::Pause, &at(2)).unwrap().plan.unwrap();
    assert!(plan.is_for(&sale));
    assert_eq!(plan.events.len(), 1);
    let other = created(&Init { id: 77, ..init(3, Terms::default()) }, 1);
    assert!(!plan.is_for(&other), "another sale at the same version");
    let grab = Grab { user: b"u", amount: Amount::Unsaid, req: None };
    run(&mut sale, &Request::Grab(grab), 2);
    assert!(!plan.is_for(&sale), "another version of the sale");
}

/// Commands with parts of a plan name the first of their own entries.
#[test]
fn every_part_of_a_plan_has_its_position() {
    let sale = sale();
    let effects = (0..3).map(|n| Effect::Admit(effect::Admit { user: &b"abc"[n..=n] }));
    let grant = |n: usize| effect::Grant { user: &b"xyz"[n..=n], req: None, qty: 1, hold_ms: 0 };
    let grants = (0..3).map(|n| Effect::Grant(grant(n)));
    let changes: Changes<'_> = effects.chain(grants).map(Change::untimed).collect();
    let plan = sale.check(1, changes).unwrap();
    let id = StreamId { ms: 7, seq: 5 };
    let entries = Some(EntriesAt { version: EntryVersion::V1, id });
    let at = |changes: Range<usize>, entries| {
        let position = plan.position(changes, entries);
        (position.version, position.entries.map(|entries| entries.id.seq))
    };
    assert_eq!(plan.events.len(), 4, "the last grant sells out");
    assert_eq!(at(0..6, entries), (1, Some(5)));
    assert_eq!(at(0..3, entries), (1, None));
    assert_eq!(at(2..4, entries), (3, Some(5)));
    assert_eq!(at(5..6, entries), (6, Some(7)));
    assert_eq!(at(5..6, None), (6, None));
}

/// The common change needs no heap.
#[test]
fn a_plain_grant_is_planned_on_the_stack() {
    let sale = sale();
    let grab = Grab { user: b"u", amount: Amount::Unsaid, req: Some(b"r") };
    let plan = sale.decide(&Request::Grab(grab), &at(2)).unwrap().plan.unwrap();
    assert!(!plan.changes.spilled() && !plan.events.spilled() && plan.touched.is_none());
    assert_eq!((plan.changes.len(), plan.events.len()), (1, 1));
}

const LAST: u64 = u64::MAX;

#[test]
fn what_is_written_is_read() {
    let id = |ms, seq| Some(EntriesAt { version: EntryVersion::V1, id: StreamId { ms, seq } });
    let cases = [
        (0, None, "0"),
        (71, None, "1z"),
        (LAST, None, "3w5e11264sgsf"),
        (35, id(1_763_805_600_000, 0), "z:1:1763805600000-0"),
        (36, id(0, 1), "10:1:0-1"),
        (1, id(LAST, LAST), "1:1:18446744073709551615-18446744073709551615"),
    ];
    for (version, entries, text) in cases {
        let position = Position { version, entries };
        let mut out = Vec::new();
        position.encode(&mut out);
        assert_eq!(std::str::from_utf8(&out), Ok(text));
        assert_eq!(Position::decode(&out), Some(position));
    }
}

#[test]
fn anything_else_is_refused() {
    for text in [
        "",
        "01",
        "-1",
        "Z",
        "1 ",
        "3w5e11264sgsg",
        ":1:1-1",
        "1:",
        "1:1",
        "1:1:",
        "1:1:1",
        "1:1:-1",
        "1:1:1-",
        "1:1:01-1",
        "1:1:1-01",
        "1:1:0-0",
        "1:0:1-1",
        "1:2:1-1",
        "1::1-1",
        "1:01:1-1",
        "1:1:1-1:",
        "1:1:1-1-1",
        "1:1:18446744073709551616-1",
        "1:1:a-1",
    ] {
        assert_eq!(Position::decode(text.as_bytes()), None, "{text}");
    }
}

#[test]
fn ids_go_on_in_the_next_millisecond_and_end() {
    let id = |ms, seq| StreamId { ms, seq };
    assert_eq!(id(5, 0).after(0), Some(id(5, 0)));
    assert_eq!(id(5, 7).after(3), Some(id(5, 10)));
    assert_eq!(id(5, LAST - 1).after(1), Some(id(5, LAST)));
    assert_eq!(id(5, LAST - 1).after(2), Some(id(6, 0)));
    assert_eq!(id(LAST, LAST - 1).after(1), Some(id(LAST, LAST)));
    assert_eq!(id(LAST, LAST - 1).after(2), None);
}

#[test]
fn the_only_form_is_written_for_every_version_of_the_effects() {
    for version in [0, 1] {
        assert_eq!(EntryVersion::known_to(version), EntryVersion::V1);
    }
}

/// The law of units, of packets and of parts: each is broken alone.
#[test]
fn numbers_that_are_not_of_their_terms_are_refused() {
    let (terms, escrow) = (Terms::default(), Escrow { put_in: 3, ..Escrow::default() });
    let split = Some(Box::new(Split::new(0, 5, b"s", 9).unwrap()));
    let part = Terms { split, ..Terms::default() };
    let lawful = Balances { supply: 3, available: 3, ..Balances::default() };
    for (number, (terms, balances, escrow, holds)) in [
        (&terms, lawful, None, true),
        (&part, lawful, Some(&escrow), true),
        (&terms, Balances { packets: Some(1), ..lawful }, None, false),
        (&terms, Balances { supply: 4, ..lawful }, None, false),
        (&terms, lawful, Some(&escrow), false),
        (&part, lawful, None, false),
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(check_law(terms, &balances, escrow).is_ok(), holds, "{number}");
    }
}
