//! Pieces that are accepted, and pieces that are refused for a single fault.

#![cfg(test)]

use super::*;
use crate::admission::Admission;
use crate::model::balances::Escrow;
use crate::parts::Split;
use crate::request::{Terms, UnitKind};
use crate::testing::{created, init};
use crate::waitlist::WaitTerms;

/// A sale at time 9 after `changes` changes, and its numbers after a piece.
fn sale(terms: Terms, changes: u64) -> (Sale, Balances) {
    let mut sale = created(&init(10, terms), 9);
    sale.balances.version = changes;
    (sale.clone(), sale.balances)
}

fn fence(user: &[u8], at: u64) -> Fence<'_> {
    Fence { user, req: b"r", at }
}

#[test]
fn restock_ids_that_a_sale_can_have() {
    let possible = |delta, applied| RestockId { req: b"r", delta, applied, available: 0 };
    for (delta, applied, is) in [
        (5, 5, true),
        (-5, -5, true),
        (-5, -4, true),
        (-5, 0, true),
        (0, 0, false),
        (5, 4, false),
        (5, 0, false),
        (-5, -6, false),
        (-5, 1, false),
    ] {
        assert_eq!(possible(delta, applied).is_possible(), is, "{delta} {applied}");
    }
    let id = |req| RestockId { req, delta: 1, applied: 1, available: 1 };
    let (mut known, balances) = sale(Terms::default(), 3);
    let check = |sale: &Sale, ids: &[RestockId<'_>]| check_restock_ids(sale, ids, &balances);
    assert_eq!(check(&known, &[id(b"a"), id(b"b")]), Ok(()));
    assert_eq!(check(&known, &[id(b"a"), id(b"b"), id(b"c")]), Err(Refused::Law), "too many");
    assert_eq!(check(&known, &[]), Err(Refused::Law));
    assert_eq!(check(&known, &[id(b"a"), id(b"a")]), Err(Refused::Law));
    known.fences.load(&fence(b"u", 1));
    assert_eq!(check(&known, &[id(b"a")]), Ok(()));
    assert_eq!(check(&known, &[id(b"a"), id(b"b")]), Err(Refused::Law), "a fence was a change");
    known.fences = Default::default();
    add_restock_ids(&mut known, &[id(b"c")]);
    assert_eq!(check(&known, &[id(b"a")]), Err(Refused::Law), "there are some");
}

#[test]
fn fences_that_a_sale_can_have() {
    let (mut known, balances) = sale(Terms::default(), 3);
    let check = |sale: &Sale, fences: &[Fence<'_>]| check_fences(sale, fences, &balances);
    assert_eq!(check(&known, &[fence(b"u", 9), fence(b"v", 1)]), Ok(()));
    let wrong: [(&str, &[Fence<'_>]); 4] = [
        ("none", &[]),
        ("twice", &[fence(b"u", 1), fence(b"u", 2)]),
        ("later", &[fence(b"u", 1), fence(b"v", 10)]),
        ("more than changes", &[fence(b"u", 1), fence(b"v", 1), fence(b"w", 1)]),
    ];
    for (what, fences) in wrong {
        assert_eq!(check(&known, fences), Err(Refused::Law), "{what}");
    }
    known.fences.load(&fence(b"v", 1));
    assert_eq!(check(&known, &[fence(b"u", 1)]), Ok(()));
    assert_eq!(check(&known, &[fence(b"v", 1)]), Err(Refused::Law), "known");
    // As many restock ids as a sale keeps.
    let (mut full, balances) = sale(Terms::default(), 1 << 20);
    let users = (0..FENCES_KEPT_MAX - 2).map(|number| number.to_string().into_bytes());
    users.for_each(|user| full.fences.load(&fence(&user, 1)));
    let check = |sale: &Sale, fences: &[Fence<'_>]| check_fences(sale, fences, &balances);
    let more = [fence(b"u", 1), fence(b"v", 1), fence(b"w", 1)];
    assert_eq!((check(&full, &more[..2]), check(&full, &more)), (Ok(()), Err(Refused::Law)));
    full.fences.load(&more[0]);
    assert!(full.fences.has_room_for(&more[1]) && !full.fences.has_room_for(&more[0]));
    full.fences.load(&more[1]);
    assert!(!full.fences.has_room_for(&more[2]));
}

#[test]
fn users_and_amounts_that_a_sale_can_have() {
    let admission = Admission { allowlist: true, ..Admission::default() };
    let (mut known, _) = sale(Terms { admission, ..Terms::default() }, 3);
    let listed = |user| Listed { user, is_in: true };
    let check = |sale: &Sale, users: &[Listed<'_>]| {
        let users = users.to_vec();
        check_listed(sale, &ListedUsers { list: List::Allow, users })
    };
    let [a, b] = [listed(&b"a"[..]), listed(b"b")];
    assert_eq!(check(&known, &[a, b]), Ok(()));
    assert_eq!(
        (check(&known, &[]), check(&known, &[a, a])),
        (Err(Refused::Law), Err(Refused::Law))
    );
    add_listed(&mut known, &ListedUsers { list: List::Allow, users: vec![a] });
    assert_eq!((check(&known, &[b]), check(&known, &[a])), (Ok(()), Err(Refused::Law)));
    known.extras_mut().list_mut(List::Allow).leave_room_for(1);
    let c = listed(b"c");
    assert_eq!((check(&known, &[b]), check(&known, &[b, c])), (Ok(()), Err(Refused::Law)));
}

#[test]
fn pairs_that_a_part_can_have() {
    let split = Some(Box::new(Split::new(1, 4, b"s", 90).unwrap()));
    let (mut known, balances) = sale(Terms { split, ..Terms::default() }, 3);
    let pair = |peer, sent, received| Pair { peer, sent, received };
    let mut check = |moved: (u64, u64), pairs: &[Pair]| {
        let (sent, received) = moved;
        known.escrow = Some(Escrow { sent, received, ..Escrow::default() });
        check_pairs(&known, pairs, &balances)
    };
    assert_eq!(check((3, 2), &[pair(0, 3, 0), pair(2, 0, 2)]), Ok(()));
    assert_eq!(check((3, 2), &[pair(0, 3, 1), pair(2, 0, 2)]), Err(Refused::Law), "received");
    assert_eq!(check((4, 2), &[pair(0, 3, 0), pair(2, 0, 2)]), Err(Refused::Law), "sent");
    assert_eq!(check((3, 2), &[pair(2, 3, 0), pair(0, 0, 2)]), Err(Refused::Law), "order");
    assert_eq!(check((3, 2), &[pair(0, 3, 0), pair(0, 0, 2)]), Err(Refused::Law), "twice");
    assert_eq!(check((3, 2), &[pair(0, 3, 2), pair(1, 0, 0)]), Err(Refused::Law), "itself");
    assert_eq!(check((3, 2), &[pair(0, 3, 2), pair(2, 0, 0)]), Err(Refused::Law), "nothing moved");
    assert_eq!(check((3, 2), &[pair(1, 3, 2)]), Err(Refused::Law), "itself");
    assert_eq!(check((3, 2), &[pair(4, 3, 2)]), Err(Refused::Law), "no part");
    assert_eq!(check((0, 0), &[]), Err(Refused::Law), "none");
    let three = [pair(0, 1, 1), pair(2, 1, 1), pair(3, 1, 0)];
    assert_eq!(check((3, 2), &three), Err(Refused::Law), "more than changes");
    known.pairs.set(pair(0, 3, 2));
    assert_eq!(
        check_pairs(&known, &[pair(2, 3, 2)], &balances),
        Err(Refused::Law),
        "some are there"
    );
}

/// A waiter is refused for a single impossible field.
#[test]
fn entries_that_a_waiting_list_can_have() {
    let waitlist = Some(WaitTerms { max: 9, offer_ms: 5, overtake: 1 });
    let (mut known, balances) = sale(Terms { waitlist, ..Terms::default() }, 3);
    let highest = u64::from(u32::MAX);
    known.waitlist_mut().unwrap().totals.last_ticket = highest;
    let entry = |ticket, user| {
        let waiter = Waiter { ticket, user, req: b"r", qty: 1, at: 9, until: 0 };
        StandingWaiter { waiter, passed: 0 }
    };
    let check = |sale: &Sale, added: &[StandingWaiter<'_>]| check_waiters(sale, added, &balances);
    let [a, b] = [entry(4, &b"a"[..]), entry(5, b"b")];
    let mut late = a;
    late.waiter.at = 10;
    let taken: [&[StandingWaiter<'_>]; 3] =
        [&[a, b], &[entry(2, b"a"), entry(highest, b"b")], &[entry(highest, b"a")]];
    for (at, added) in taken.iter().enumerate() {
        assert_eq!(check(&known, added), Ok(()), "{at}");
    }
    let wrong: [(&str, &[StandingWaiter<'_>]); 8] = [
        ("none", &[]),
        ("order", &[b, a]),
        ("one ticket", &[a, entry(4, b"b")]),
        ("one user", &[a, entry(5, b"a")]),
        ("later", &[late]),
        ("a ticket that was not given", &[entry(highest + 1, b"a")]),
        ("too far apart", &[entry(0, b"a"), entry(highest, b"b")]),
        ("more than changes", &[a, b, entry(6, b"c")]),
    ];
    for (what, added) in wrong {
        assert_eq!(check(&known, added), Err(Refused::Law), "{what}");
    }
    let with = |added: &[StandingWaiter<'_>]| {
        let mut other = known.clone();
        add_waiters(&mut other, added);
        other
    };
    let begun = with(&[b]);
    assert_eq!(check(&begun, &[entry(6, b"a")]), Ok(()));
    for (what, next) in
        [("before", entry(4, &b"a"[..])), ("same", entry(5, b"a")), ("known", entry(6, b"b"))]
    {
        assert_eq!(check(&begun, &[next]), Err(Refused::Law), "{what}");
    }
    let early = with(&[entry(1, b"x")]);
    assert_eq!(check(&early, &[entry(highest - 1, b"a")]), Ok(()));
    assert_eq!(check(&early, &[entry(highest, b"a")]), Ok(()));
    let zero = with(&[entry(0, b"x")]);
    assert_eq!(check(&zero, &[entry(highest, b"a")]), Err(Refused::Law), "too far");
    // Without OFFER and HOLD an offer would never end.
    let mut endless = known.clone();
    endless.terms.waitlist = Some(WaitTerms { max: 9, offer_ms: 0, overtake: 1 });
    assert_eq!(check(&endless, &[a]), Err(Refused::Law));
    // A grant of numbered units has at most 100, an offer, too.
    let kind = UnitKind::Numbered;
    let (mut numbered, _) = sale(Terms { waitlist, kind, ..Terms::default() }, 3);
    numbered.waitlist_mut().unwrap().totals.last_ticket = highest;
    for (qty, of_numbered) in [(100, Ok(())), (101, Err(Refused::Law))] {
        let mut other = a;
        other.waiter.qty = qty;
        let taken = [&known, &numbered].map(|sale| check(sale, &[other]));
        assert_eq!(taken, [Ok(()), of_numbered], "{qty}");
    }
    // The number of passes is saved with them.
    let passed = with(&[StandingWaiter { passed: 3, ..a }, b]);
    let list = passed.waitlist().unwrap();
    assert_eq!((list.passed(4), list.passed(5), list.len()), (3, 0, 2));
    let tickets = |first, count| {
        let part = waiters_from(&passed, first, count);
        part.iter().map(|it| (it.waiter.ticket, it.passed)).collect::<Vec<_>>()
    };
    assert_eq!((tickets(0, 9), tickets(1, 9)), (vec![(4, 3), (5, 0)], vec![(5, 0)]));
    assert_eq!((tickets(0, 1), tickets(2, 9)), (vec![(4, 3)], vec![]));
}
