//! The same in sales with DRAW LIST.

#![cfg(test)]

use super::*;
use crate::limits::{GRANTS_MAX, INTEGER_MAX};
use crate::request::Init;
use crate::terms::TermsChange;
use crate::testing::rewritten;

/// An INIT with a list in rounds.
fn listing(list: &[u64], carry: bool, hold_ms: u64) -> Init {
    let schedule = Schedule { carry, ..SCHEDULE };
    let draw = Some(Draw::list(list));
    let terms = Terms { limit: 0, grabs: 1, draw, ..terms(schedule, hold_ms) };
    Init { amounts: list.to_vec(), ..init(list.iter().sum(), terms) }
}

/// The sale that it makes, created in round 1.
fn listed(list: &[u64], carry: bool, hold_ms: u64) -> Sale {
    created(&listing(list, carry, hold_ms), 1300)
}

fn drawn(sale: &mut Sale, user: &str, clock_ms: u64) -> u64 {
    match grab(sale, user, None, clock_ms) {
        Outcome::Granted { grant, .. } => grant.qty,
        other => panic!("{user}: {other:?}"),
    }
}

#[test]
fn every_round_begins_with_the_list() {
    let mut sale = listed(&[5, 1, 9], false, 0);
    assert_eq!((drawn(&mut sale, "a", 1300), drawn(&mut sale, "b", 1300)), (5, 1));
    for clock_ms in [2300, 5300] {
        let amounts = ["a", "b", "c"].map(|user| drawn(&mut sale, user, clock_ms));
        assert_eq!((amounts, sale.core().packets), ([5, 1, 9], Some(0)));
        assert_eq!(grab(&mut sale, "d", None, clock_ms), Outcome::SoldOut { held: 0 });
    }
    let told = |list: &[u64]| Request::Init(listing(list, false, 0));
    assert_eq!(run(&mut sale, &told(&[5, 1, 9]), 5301), Outcome::Done);
    let refused = run(&mut sale, &told(&[5, 9, 1]), 5301);
    assert_eq!(refused, Outcome::Misuse(Misuse::SaleExists));
}

#[test]
fn an_amount_comes_back_to_the_list_of_its_own_round() {
    let mut sale = listed(&[5, 1], false, 1500);
    let (a, b) = (wins(&mut sale, "a", 1300), wins(&mut sale, "b", 1300));
    assert_eq!(drawn(&mut sale, "c", 2300), 5);
    assert_eq!(state(settle(&mut sale, "b", b, Deed::Cancel, 2301)), State::Cancelled);
    // The stored round knows nothing of it: its own 1 is next, and then there is none.
    assert_eq!(drawn(&mut sale, "d", 2302), 1);
    assert_eq!(grab(&mut sale, "e", None, 2303), Outcome::SoldOut { held: 6 });
    let confirm = Deed::Confirm { reclaim: false };
    assert_eq!(state(settle(&mut sale, "a", a, confirm, 2800)), State::Expired);
    let old = sale.older().next().unwrap();
    assert_eq!((old.core.available, old.core.packets), (6, Some(2)));
    assert_eq!(*old.returned.as_ref().unwrap().amounts(), [1, 5]);
    let reclaim = Deed::Confirm { reclaim: true };
    assert_eq!(state(settle(&mut sale, "a", a, reclaim, 2801)), State::Sold);
    let old = sale.older().next().unwrap();
    assert_eq!((old.core.sold, old.core.packets), (5, Some(1)));
    assert_eq!(*old.returned.as_ref().unwrap().amounts(), [1]);
    assert_eq!(state(settle(&mut sale, "a", a, Deed::Refund, 2802)), State::Refunded);
    assert_eq!(*sale.older().next().unwrap().returned.as_ref().unwrap().amounts(), [1, 5]);
}

/// 5 and 9 are free in the round that is over, but b's 1 was drawn anew before that ended.
#[test]
fn a_reclaim_needs_that_very_amount_in_the_list_of_its_round() {
    let mut sale = listed(&[5, 1, 9], false, 50);
    let (a, b) = (wins(&mut sale, "a", 1300), wins(&mut sale, "b", 1300));
    let c = wins(&mut sale, "c", 1300);
    assert_eq!((drawn(&mut sale, "x", 1350), drawn(&mut sale, "y", 1351)), (5, 1));
    let (x, y) = (4, 5);
    assert_eq!(state(settle(&mut sale, "x", x, Deed::Cancel, 1352)), State::Cancelled);
    let confirm = Deed::Confirm { reclaim: false };
    assert_eq!(state(settle(&mut sale, "y", y, confirm, 1353)), State::Sold);
    assert_eq!(state(settle(&mut sale, "c", c, confirm, 1354)), State::Expired);
    assert_eq!((drawn(&mut sale, "z", 2300), drawn(&mut sale, "b", 2301)), (5, 1));
    for (text, is_there) in [(&b"Ys2"[..], false), (b"Ys1", true)] {
        let change = Change::decode(text).unwrap();
        let applied = sale.clone().apply_replicated(sale.core().version, &[change]);
        assert_eq!(applied.is_ok(), is_there, "{}", text.escape_ascii());
    }
    // b's 1 of the new round has run out and goes back to that.
    let reclaim = Deed::Confirm { reclaim: true };
    assert_eq!(state(settle(&mut sale, "b", b, reclaim, 2352)), State::Expired);
    assert_eq!(sale.grant(b).unwrap().state, State::Forfeited);
    assert_eq!(state(settle(&mut sale, "a", a, reclaim, 2353)), State::Sold);
}

/// What runs out by the way may be of an older round: that is not what is drawn.
#[test]
fn a_due_hold_of_the_stored_round_makes_room_in_its_list() {
    let mut sale = listed(&[5], false, 1050);
    assert_eq!(drawn(&mut sale, "a", 1300), 5);
    wins(&mut sale, "b", 2300);
    let short = TermsChange { hold_ms: Some(20), ..TermsChange::default() };
    assert_eq!(settle_state_of(&mut sale, "b", Deed::Cancel, 2300), State::Cancelled);
    assert_eq!(run(&mut sale, &Request::Alter(short), 2300), Outcome::Done);
    assert_eq!(drawn(&mut sale, "c", 2301), 5);
    assert_eq!(drawn(&mut sale, "a", 2350), 5, "both holds are due");
    assert_eq!(sale.older().next().unwrap().core.available, 5);
}

fn settle_state_of(sale: &mut Sale, user: &str, deed: Deed, clock_ms: u64) -> State {
    let seq = sale.grants_of(user.as_bytes()).next().unwrap().seq;
    state(settle(sale, user, seq, deed, clock_ms))
}

#[test]
fn what_is_left_of_a_list_is_carried_in_order() {
    let mut sale = listed(&[5, 1, 9], true, 50);
    assert_eq!((drawn(&mut sale, "a", 1300), drawn(&mut sale, "b", 1310)), (5, 1));
    assert_eq!(state(settle(&mut sale, "b", 2, Deed::Cancel, 1320)), State::Cancelled);
    // The hold of a ends behind its round: it comes back to that one.
    assert_eq!(drawn(&mut sale, "c", 1399), 9);
    assert_eq!(drawn(&mut sale, "a", 2300), 1, "what is left comes first");
    assert_eq!((sale.core().supply, sale.core().packets), (16, Some(3)));
    let rest = ["b", "c", "d"].map(|user| drawn(&mut sale, user, 2300));
    assert_eq!(rest, [5, 1, 9]);
    assert_eq!(grab(&mut sale, "e", None, 2300), Outcome::SoldOut { held: 16 });
    // Nobody was awake for two rounds: they leave their lists.
    let all: Vec<u64> = (0..9).map(|user| drawn(&mut sale, &user.to_string(), 5300)).collect();
    assert_eq!(all, [5, 1, 9, 5, 1, 9, 5, 1, 9]);
    assert_eq!((sale.core().supply, sale.core().available), (45, 0));
}

#[test]
fn a_list_is_carried_only_within_the_bounds() {
    let half = 1 << 52;
    let mut sale = listed(&[half], true, 0);
    sale.commit(&sale.clone().decide_round(&at(2300)).unwrap().changes, 1).unwrap();
    assert_eq!(sale.core().supply, half, "both are more than any supply");
    let mut sale = listed(&[half / 2], true, 0);
    sale.commit(&sale.clone().decide_round(&at(99_300)).unwrap().changes, 1).unwrap();
    assert_eq!((sale.core().supply, sale.core().packets), (3 * (half / 2), Some(3)));
    let mut sale = listed(&[1; 1000], true, 0);
    let far = at(300 + 1000 * 10_000_000);
    sale.commit(&sale.clone().decide_round(&far).unwrap().changes, 1).unwrap();
    assert_eq!(sale.core().packets, Some(GRANTS_MAX / 1000 * 1000));
    assert!(reloaded(&sale).pieces().eq(sale.pieces()));
    assert!(sale.memory_bytes() < 32_768);
}

#[test]
fn a_broken_round_of_a_list_is_refused() {
    let accepts = |sale: &Sale, text: &str| {
        let change = Change::decode(text.as_bytes()).unwrap();
        sale.clone().apply_replicated(sale.core().version, &[change]).is_ok()
    };
    let mut plain = listed(&[5, 1], false, 0);
    drawn(&mut plain, "a", 1300);
    let wrong = ["Ht1000n2s6", "Ht1000n2s12l2", "Ht1000n2s7l1", "Ht1000n2s5l1", "Ht1000n2s0l0"];
    for text in wrong {
        assert!(!accepts(&plain, text), "{text}");
    }
    assert!(accepts(&plain, "Ht1000n2s6l1"));
    let mut carrying = listed(&[5, 1], true, 0);
    drawn(&mut carrying, "a", 1300);
    let wrong = ["Ht1000n2s7", "Ht1000n2s1l0", "Ht1000n2s8l1", "Ht1000n2s13l1"];
    let huge = ["Ht1000n2s9007199254740990l1501199875790165", "Ht1000n2s1l9007199254740991"];
    for text in wrong.into_iter().chain(huge) {
        assert!(!accepts(&carrying, text), "{text}");
    }
    assert!(["Ht1000n2s7l1", "Ht1000n2s6l1"].iter().all(|text| accepts(&carrying, text)));
    let packets = Some(Draw::Packets { packets: 3, min: 1 });
    let packets = sale_from(1300, 9, Terms { draw: packets, ..terms(SCHEDULE, 0) });
    assert!(accepts(&packets, "Ht1000n2s9") && !accepts(&packets, "Ht1000n2s9l1"));
}

#[test]
fn a_round_begins_with_what_its_terms_say() {
    let (plain, carrying) = (listed(&[5, 1], false, 0), listed(&[5, 1], true, 0));
    assert!(plain.can_begin(6, 2) && carrying.can_begin(6, 2) && carrying.can_begin(7, 3));
    assert!(!plain.can_begin(7, 3) && !plain.can_begin(12, 4) && !plain.can_begin(6, 1));
    assert!(!carrying.can_begin(5, 2) && !carrying.can_begin(7, 1));
    assert!(!carrying.can_begin(INTEGER_MAX, GRANTS_MAX + 1));
    let packets = Terms { draw: Some(Draw::Equal { packets: 3 }), ..terms(SCHEDULE, 0) };
    let equal = sale_from(1300, 9, packets);
    assert!(equal.can_begin(9, 0) && !equal.can_begin(9, 3));
}

#[test]
fn an_audit_sees_a_list_that_is_not_that_of_its_round() {
    let mut sale = listed(&[5, 1, 9], false, 0);
    drawn(&mut sale, "a", 1300);
    drawn(&mut sale, "a", 2300);
    let fields = |sale: &Sale| -> Vec<&'static str> {
        sale.audit().differences.iter().map(|difference| difference.field).collect()
    };
    let mut more = sale.clone();
    more.old_mut(1).unwrap().returned.as_mut().unwrap().push(5);
    assert_eq!(fields(&more), ["older_lists_wrong"]);
    let mut fewer = sale.clone();
    fewer.old_mut(1).unwrap().core.packets = Some(3);
    assert_eq!(fields(&fewer), ["older_packets", "older_lists_wrong"]);
    let mut now = sale.clone();
    now.amounts_mut().unwrap().take_first();
    assert_eq!(fields(&now), ["amounts"]);
    now.core.packets = Some(1);
    assert_eq!(fields(&now), ["packets", "amounts"]);
}

#[test]
fn a_defragmenter_is_lent_the_list_once() {
    let mut sale = listed(&[5, 1, 9], true, 0);
    drawn(&mut sale, "a", 2300);
    let is_list = |block: &Block<'_>| matches!(block, Block::Slots(it) if ***it == [5, 1, 9]);
    assert_eq!(sale.blocks_mut().filter(is_list).count(), 1);
    let packets = Some(Draw::Packets { packets: 3, min: 1 });
    let packets = sale_from(1300, 9, Terms { draw: packets, ..terms(SCHEDULE, 0) });
    let fresh = listed(&[5, 1, 9], true, 0);
    assert_eq!(fresh.memory_blocks(), packets.memory_blocks() + 1, "a part of the list");
}

/// Lists of more than one piece, in the stored round and in the one before.
#[test]
fn long_lists_are_saved_in_bounded_pieces() {
    let list: Vec<u64> = (1..=9000).collect();
    let mut sale = listed(&list, true, 50);
    let commit = |sale: &mut Sale, decision: crate::decide::Decision<'_>| {
        sale.commit(&decision.changes, 1).unwrap();
    };
    for (clock_ms, grabs) in [(1300, 9000), (2300, 14_000)] {
        for user in 0..grabs {
            let user = user.to_string();
            let grab = Grab { user: user.as_bytes(), amount: Amount::Unsaid, req: None };
            while sale.decide_round(&at(clock_ms)).is_some() {
                let turn = sale.clone().decide_round(&at(clock_ms)).unwrap();
                sale.commit(&turn.changes, 1).unwrap();
            }
            let decision = sale.decide(&Request::Grab(grab), &at(clock_ms));
            assert!(matches!(decision.outcome, Outcome::Granted { .. }));
            commit(&mut sale, decision);
        }
        let due = sale.decide_expiry(grabs, &at(clock_ms + 50));
        commit(&mut sale, due);
        assert_eq!((sale.core().held, sale.audit().differences), (0, vec![]));
        assert!(reloaded(&sale).pieces().eq(sale.pieces()));
        assert!(rewritten(&sale).pieces().eq(sale.pieces()));
    }
    assert_eq!(sale.core().packets, Some(18_000));
    let pieces: Vec<_> = sale.pieces().collect();
    assert!(pieces.iter().all(|(_, piece)| piece.len() <= 131_072));
    assert!(pieces.iter().filter(|(kind, _)| kind.letter() == b'o').count() >= 7);
}
