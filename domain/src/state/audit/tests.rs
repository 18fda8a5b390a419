//! Recounts in steps, and planted numbers that they find.

#![cfg(test)]

use super::*;
use crate::request::{Amount, Grab, Request, Terms};
use crate::rounds::{Hold, Schedule};
use crate::testing::{at, commit, created, init, run};
use crate::waitlist::WaitTerms;

/// A sale with grants to ten users, two to each.
fn sold() -> Sale {
    let mut sale = created(&init(100, Terms { limit: 0, ..Terms::default() }), 1);
    for number in 0..20u8 {
        grab(&mut sale, number % 10);
    }
    sale
}

fn grab(sale: &mut Sale, user: u8) {
    let grab = Grab { user: &[user + 1], amount: Amount::Exactly(2), req: None };
    let decision = sale.decide(&Request::Grab(grab), &at(2)).unwrap();
    commit(sale, &decision);
}

/// A sale that has moved to another key keeps nothing of an audit. If it comes back, the audit
/// goes on.
#[test]
fn a_sale_that_moves_forgets_its_audits() {
    let schedule = Schedule { period_ms: 10, offset_ms: 0, lasts_ms: 10, carry: false };
    let waitlist = Some(WaitTerms { max: 9, offer_ms: 9, overtake: 0 });
    let many = Terms { limit: 0, ..Terms::default() };
    for terms in [
        Terms { schedule: Some(schedule), ..many.clone() },
        Terms { waitlist, ..many.clone() },
        many,
    ] {
        let mut sale = created(&init(40, terms), 1);
        (0..20).for_each(|number| grab(&mut sale, number % 10));
        if sale.rounds().is_some() {
            run(&mut sale, &Request::Pause, 12);
        }
        let (begun, mut walk) = (sale.memory_bytes(), sale.begin_audit(1));
        assert_eq!(sale.audit_some(&mut walk, 1), None, "the waiting list");
        let audit = loop {
            if let Some(audit) = sale.audit_some(&mut walk, 15) {
                break audit;
            }
            assert!(sale.memory_bytes() > begun);
            sale.forget_audits();
            assert_eq!(sale.memory_bytes(), begun);
            if let Some(audit) = sale.audit_some(&mut walk, u64::MAX) {
                break audit;
            }
        };
        assert_eq!(audit.differences, []);
    }
}

/// Numbers that are wrong before an audit in steps, or become wrong between two steps, are
/// found although the sale changes meanwhile.
#[test]
fn planted_numbers_are_found_in_steps() {
    type Plant = (&'static str, fn(&mut Sale));
    let plants: [Plant; 4] = [
        ("sold", |sale| {
            sale.balances.sold += 1;
            sale.balances.available -= 1;
        }),
        ("held", |sale| sale.balances.held += 3),
        ("supply", |sale| sale.balances.supply += 1),
        ("grants", |sale| sale.balances.grants += 1),
    ];
    for (field, plant) in plants {
        for planted_at in [0, 5, 17] {
            let mut sale = sold();
            let (mut walk, mut steps) = (sale.begin_audit(1), 0);
            let audit = loop {
                if steps == planted_at {
                    plant(&mut sale);
                }
                if let Some(audit) = sale.audit_some(&mut walk, 1) {
                    break audit;
                }
                // A broken sale grants nothing more.
                if steps < planted_at {
                    grab(&mut sale, steps as u8);
                }
                steps += 1;
            };
            let fields: Vec<_> = audit.differences.iter().map(|it| it.field).collect();
            assert!(fields.contains(&field), "{field} at {planted_at}: {fields:?}");
            assert_eq!(fields, {
                let all = sale.audit().differences;
                all.iter().map(|it| it.field).collect::<Vec<_>>()
            });
        }
    }
    let mut sale = sold();
    let mut walk = sale.begin_audit(1);
    while sale.audit_some(&mut walk, 1).is_none() {}
    assert!(sale.audit().differences.is_empty());
    while walk.free_some() {}
}

/// In the index of all holds, a missing entry and an entry of a grant that is not held are
/// found, in steps and in one go.
#[test]
fn a_wrong_index_of_held_grants_is_found() {
    let every = Schedule { period_ms: 100, offset_ms: 0, lasts_ms: 100, carry: false };
    let terms = Terms { hold_ms: 9_000, limit: 0, schedule: Some(every), ..Terms::default() };
    let held = |sale: &Sale, seq| sale.hold_of(&sale.grant(seq).expect("a grant"));
    type Plant = (&'static [&'static str], fn(&mut Sale, Hold));
    let plants: [Plant; 3] = [
        (&[], |_, _| {}),
        (&["held_index"], |sale, hold| {
            sale.rounds_mut().expect("rounds").held.remove(&hold);
        }),
        (&["held_index_wrong"], |sale, hold| {
            let held = &mut sale.rounds_mut().expect("rounds").held;
            held.remove(&hold);
            held.insert(&Hold { deadline: hold.deadline + 1, ..hold });
        }),
    ];
    for (fields, plant) in plants {
        for seq in [1, 7] {
            let mut sale = created(&init(100, terms.clone()), 1);
            for number in 0..8 {
                let (user, req) = ([number as u8 + 1], [number as u8]);
                let amount = Amount::Exactly(1);
                let grab = Request::Grab(Grab { user: &user, amount, req: Some(&req) });
                run(&mut sale, &grab, 60 * number + 1);
            }
            let hold = held(&sale, seq);
            plant(&mut sale, hold);
            let found =
                |audit: Audit| -> Vec<_> { audit.differences.iter().map(|it| it.field).collect() };
            assert_eq!(found(sale.audit()), fields, "{seq}");
            let mut walk = sale.begin_audit(1);
            let audit = std::iter::repeat_with(|| sale.audit_some(&mut walk, 1)).flatten().next();
            assert_eq!(found(audit.expect("an end")), fields, "{seq}, in steps");
        }
    }
}
