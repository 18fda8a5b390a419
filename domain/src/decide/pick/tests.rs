//! Numbered units: which numbers a GRAB gets, and which due holds and offers end for it.

#![cfg(test)]

mod copies;

use super::*;
use crate::admission::{Admission, List};
use crate::decide::mgrab::{decide_multi_grab, MultiOutcome};
use crate::model::limits::{UNITS_MAX, UNITS_PER_CALL_MAX};
use crate::model::outcome::{GrantView, Mask, State};
use crate::request::{
    Deed, Grab, Import, Keeper, Kept, ListChange, Request, Restock, Settle, Terms, UnitKind, Wait,
    Which,
};
use crate::testing::{at, created, init, run};
use crate::waitlist::WaitTerms;

const HOLD: u64 = 50;

fn hall_with(supply: u64, terms: Terms) -> Sale {
    created(&init(supply, Terms { limit: 0, kind: UnitKind::Numbered, ..terms }), 1)
}

/// Numbered units, held for [`HOLD`].
fn hall(supply: u64) -> Sale {
    hall_with(supply, Terms { hold_ms: HOLD, ..Terms::default() })
}

/// A GRAB of a user of the same name.
fn grab(req: &'static str, qty: u64) -> Grab<'static> {
    Grab { user: req.as_bytes(), amount: Amount::Exactly(qty), req: Some(req.as_bytes()) }
}

fn these(req: &'static str, units: &[u32]) -> Request<'static> {
    let wish = Wish::These(units.to_vec());
    Request::Pick(Pick { grab: grab(req, units.len() as u64), wish, waits: false })
}

fn adjacent(req: &'static str, qty: u64) -> Request<'static> {
    Request::Pick(Pick { grab: grab(req, qty), wish: Wish::Adjacent, waits: false })
}

fn settle(req: &'static str, deed: Deed<'static>) -> Request<'static> {
    Request::Settle(Settle { user: req.as_bytes(), which: Which::Req(req.as_bytes()), deed })
}

fn import(req: &'static str, units: &'static [u32]) -> Request<'static> {
    let (qty, req) = (units.len() as u64, req.as_bytes());
    Request::Import(Import { user: req, qty, req, at: None, no_deficit: false, units })
}

/// The unit numbers in an answer.
fn replied(sale: &mut Sale, request: &Request<'_>, clock_ms: u64) -> Vec<u32> {
    let decision = sale.decide(request, &at(clock_ms)).unwrap();
    let units = sale.units_replied(&decision.outcome, decision.plan.as_ref()).expect("numbers");
    run(sale, request, clock_ms);
    let has = match decision.outcome {
        Outcome::Granted { grant, .. } | Outcome::Replay(grant) | Outcome::Stands(grant) => grant,
        other => panic!("{other:?}"),
    };
    assert_eq!(sale.numbers().unwrap().of(has.seq), units);
    units.to_vec()
}

/// The state of each number.
fn map(sale: &Sale) -> String {
    String::from_utf8(sale.units_from(1, 1000).unwrap()).unwrap()
}

#[test]
fn a_quantity_is_the_lowest_run_or_the_lowest_numbers() {
    let mut sale = hall(10);
    assert_eq!(replied(&mut sale, &these("a", &[7, 3]), 2), [3, 7]);
    assert_eq!(map(&sale), "..h...h...");
    assert_eq!(replied(&mut sale, &Request::Grab(grab("b", 3)), 2), [4, 5, 6]);
    assert_eq!(replied(&mut sale, &Request::Grab(grab("c", 4)), 2), [1, 2, 8, 9], "no run of four");
    assert_eq!(replied(&mut sale, &Request::Grab(grab("d", 1)), 2), [10]);
    assert_eq!(run(&mut sale, &these("e", &[10]), 2), Outcome::Taken { unit: 10 }, "nothing left");
    assert_eq!(run(&mut sale, &adjacent("e", 1), 2), Outcome::SoldOut { held: 10 });
}

#[test]
fn adjacent_units_are_a_run_or_nothing() {
    let mut sale = hall(10);
    run(&mut sale, &these("a", &[3, 7]), 2);
    assert_eq!(run(&mut sale, &adjacent("b", 4), 2), Outcome::Short { available: 3 });
    assert_eq!(replied(&mut sale, &adjacent("b", 3), 3), [4, 5, 6]);
    // The hold of 3 and 7 is due at 52, the hold of 4 to 6 at 53. Both expire only if both are
    // needed.
    assert_eq!(run(&mut sale, &adjacent("c", 11), 60), Outcome::Short { available: 3 });
    assert_eq!(map(&sale), "..hhhhh...", "no run is that long whatever ends");
    assert_eq!(replied(&mut sale, &adjacent("c", 4), 60), [7, 8, 9, 10]);
    assert_eq!(map(&sale), "...hhhhhhh", "one hold was enough");
    assert_eq!(replied(&mut sale, &adjacent("d", 5), 60), [1, 2, 3, 4, 5]);
}

#[test]
fn these_units_or_the_first_that_is_taken() {
    let mut sale = hall(6);
    run(&mut sale, &these("a", &[5]), 2);
    run(&mut sale, &these("b", &[2]), 2);
    assert_eq!(run(&mut sale, &these("c", &[1, 5, 2]), 2), Outcome::Taken { unit: 5 });
    assert_eq!(map(&sale), ".h..h.");
    // The due hold of 2 expires. The due hold of 5 does not: its number is not wanted.
    assert_eq!(replied(&mut sale, &these("c", &[2, 1]), 60), [1, 2]);
    assert_eq!(map(&sale), "hh..h.");
    for (units, misuse) in [(&[7][..], Misuse::NoSuchUnit), (&[1; 101], Misuse::TooManyAtOnce)] {
        assert_eq!(run(&mut sale, &these("d", units), 60), Outcome::Misuse(misuse));
    }
}

#[test]
fn a_repeat_names_as_many_units_or_the_same() {
    let mut sale = hall(6);
    run(&mut sale, &these("a", &[5, 2]), 2);
    let replays = [these("a", &[2, 5]), Request::Grab(grab("a", 2)), adjacent("a", 2)];
    for request in &replays {
        assert_eq!(replied(&mut sale, request, 3), [2, 5]);
    }
    for request in [these("a", &[2, 4]), these("a", &[2]), Request::Grab(grab("a", 1))] {
        assert_eq!(run(&mut sale, &request, 3), Outcome::Misuse(Misuse::ReqMismatch));
    }
    assert!(
        matches!(run(&mut sale, &replays[0], 60), Outcome::Replay(it) if it.state == State::Expired)
    );
    assert_eq!(replied(&mut sale, &these("b", &[2, 5]), 60), [2, 5]);
    assert_eq!(replied(&mut sale, &replays[0], 61), [2, 5], "what it had last");
    let fenced = settle("never", Deed::Cancel);
    let decision = sale.decide(&fenced, &at(61)).unwrap();
    assert_eq!(sale.units_replied(&decision.outcome, decision.plan.as_ref()).unwrap().len(), 0);
}

#[test]
fn what_comes_back_is_free_and_a_late_payment_takes_the_same() {
    let mut sale = hall(4);
    for (req, units) in [("a", [1, 2]), ("b", [3, 4])] {
        run(&mut sale, &these(req, &units), 2);
    }
    assert_eq!(replied(&mut sale, &settle("a", Deed::Confirm { reclaim: false }), 3), [1, 2]);
    assert_eq!(map(&sale), "sshh");
    assert_eq!(replied(&mut sale, &settle("a", Deed::Refund), 3), [1, 2]);
    assert_eq!(map(&sale), "..hh");
    assert_eq!(replied(&mut sale, &settle("b", Deed::Confirm { reclaim: true }), 60), [3, 4]);
    assert_eq!(map(&sale), "..ss", "expired, and taken again");
    run(&mut sale, &these("c", &[1]), 60);
    run(&mut sale, &these("d", &[2]), 61);
    run(&mut sale, &Request::Grab(Grab { user: b"v", ..grab("e", 1) }), 110);
    assert_eq!(map(&sale), "hhss", "c's number");
    // The number of grant c belongs to another grant, although 2 is due and would be free.
    let late = run(&mut sale, &settle("c", Deed::Confirm { reclaim: true }), 120);
    assert!(matches!(late, Outcome::Stands(GrantView { state: State::Expired, .. })));
    assert_eq!(map(&sale), "hhss");
    run(&mut sale, &settle("e", Deed::Cancel), 120);
    let late = run(&mut sale, &settle("c", Deed::Confirm { reclaim: true }), 170);
    assert!(matches!(late, Outcome::Stands(GrantView { state: State::Forfeited, .. })), "for good");
}

/// A late payment ends the due hold that has its number, and no other hold.
#[test]
fn a_late_payment_ends_the_due_hold_in_its_way() {
    let mut sale = hall(3);
    run(&mut sale, &these("a", &[1]), 2);
    for (user, unit, at) in [(b"v", 1, 53), (b"w", 2, 53)] {
        let grab = Grab { user, ..grab("r", 1) };
        let wish = Wish::These(vec![unit]);
        run(&mut sale, &Request::Pick(Pick { grab, wish, waits: false }), at);
    }
    assert_eq!(map(&sale), "hh.");
    assert_eq!(replied(&mut sale, &settle("a", Deed::Confirm { reclaim: true }), 110), [1]);
    assert_eq!(map(&sale), "sh.");
}

#[test]
fn imports_name_their_units() {
    let mut sale = hall(5);
    run(&mut sale, &these("a", &[1, 2]), 2);
    for (request, misuse) in [
        (import("b", &[6]), Misuse::NoSuchUnit),
        (import("b", &[]), Misuse::ImportNeedsUnits),
        (import("a", &[1, 3]), Misuse::ReqMismatch),
    ] {
        let request = match request {
            Request::Import(it) if it.units.is_empty() => Request::Import(Import { qty: 1, ..it }),
            other => other,
        };
        assert_eq!(run(&mut sale, &request, 3), Outcome::Misuse(misuse), "{request:?}");
    }
    assert_eq!(run(&mut sale, &import("b", &[3, 2]), 3), Outcome::Taken { unit: 2 });
    assert_eq!(replied(&mut sale, &import("b", &[5, 3]), 3), [3, 5]);
    assert_eq!(replied(&mut sale, &import("a", &[2, 1]), 3), [1, 2], "held, now sold");
    assert_eq!(map(&sale), "sss.s");
    run(&mut sale, &these("c", &[4]), 3);
    assert_eq!(replied(&mut sale, &import("d", &[4]), 60), [4], "a due hold makes way");
    assert_eq!(run(&mut sale, &import("c", &[4]), 60), Outcome::Taken { unit: 4 });
    run(&mut sale, &settle("d", Deed::Refund), 60);
    assert_eq!(replied(&mut sale, &import("c", &[4]), 61), [4], "taken again");
    assert_eq!((map(&sale).as_str(), sale.balances().deficit), ("sssss", 0));
}

/// A due hold is over: IMPORT sells what it names, with no other number of that grant.
#[test]
fn an_import_of_a_due_hold_is_of_what_it_names_alone() {
    for (units, at, left) in [(&[2][..], 51, "sss"), (&[2], 52, ".s."), (&[3, 1], 52, "s.s")] {
        let mut sale = hall(3);
        run(&mut sale, &these("a", &[1, 2, 3]), 2);
        replied(&mut sale, &import("a", units), at);
        assert_eq!(map(&sale), left, "{units:?} {at}");
    }
    let mut sale = hall(2);
    run(&mut sale, &these("a", &[1, 2]), 2);
    run(&mut sale, &settle("a", Deed::Keep { by: Keeper::Cancel, kept: Kept::These(&[2]) }), 3);
    run(&mut sale, &these("b", &[1]), 4);
    assert_eq!(run(&mut sale, &import("a", &[1]), 52), Outcome::Taken { unit: 1 });
    assert_eq!(map(&sale), "h.", "over all the same");
}

/// Each entry has the numbers of its own event: the hold expires with all, one of them is sold.
#[test]
fn a_due_hold_that_is_imported_tells_both_numbers() {
    let outbox = Some(b"s"[..].into());
    let mut sale = hall_with(3, Terms { hold_ms: HOLD, outbox, ..Terms::default() });
    run(&mut sale, &these("a", &[1, 2, 3]), 2);
    let plan = sale.decide(&import("a", &[2]), &at(52)).unwrap().plan.unwrap();
    let mut told = Vec::new();
    sale.each_entry(&plan, &mut Vec::new(), |entry| {
        let data = core::str::from_utf8(entry.data).unwrap();
        let units = data.split_once("\"units\":").map(|(_, units)| units.to_owned());
        told.extend(units.map(|units| (entry.event, units)));
    });
    let told = told.iter().map(|(event, units)| (event.name(), units.as_str()));
    assert_eq!(told.collect::<Vec<_>>(), [("EXPIRE", "[1,2,3]}"), ("IMPORT", "[2]}")]);
}

#[test]
fn restocks_add_numbers_behind_the_last() {
    let mut sale = hall(0);
    let restock = |delta, req: &'static [u8]| Request::Restock(Restock { delta, req });
    assert_eq!(run(&mut sale, &these("a", &[1]), 2), Outcome::Misuse(Misuse::NoSuchUnit));
    run(&mut sale, &restock(3, b"one"), 2);
    run(&mut sale, &these("a", &[2]), 2);
    run(&mut sale, &restock(2, b"two"), 2);
    assert_eq!(map(&sale), ".h...");
    let refused = run(&mut sale, &restock(-1, b"three"), 2);
    assert_eq!(refused, Outcome::Misuse(Misuse::NumberedOnlyGrows));
    let most = UNITS_MAX as i64 - 5;
    assert_eq!(
        run(&mut sale, &restock(most + 1, b"four"), 2),
        Outcome::Misuse(Misuse::TooManyUnits)
    );
    let decision = sale.decide(&restock(most, b"four"), &at(2)).unwrap();
    assert!(decision.plan.is_some());
}

/// Waiters are offered the lowest numbers, including those of a restock in this step. A grant that
/// may pass the list gets its own numbers first.
#[test]
fn offers_are_of_the_lowest_numbers() {
    let list = WaitTerms { max: 9, offer_ms: HOLD, overtake: 1 };
    let mut sale = hall_with(4, Terms { hold_ms: HOLD, waitlist: Some(list), ..Terms::default() });
    run(&mut sale, &these("a", &[1, 2, 3, 4]), 2);
    let wait = |user: &'static [u8], qty| {
        Request::Wait(Wait { grab: Grab { user, ..grab("w", qty) }, until: 0 })
    };
    run(&mut sale, &wait(b"v", 3), 3);
    run(&mut sale, &wait(b"w", 2), 3);
    assert_eq!(run(&mut sale, &these("b", &[1]), 4), Outcome::SoldOut { held: 4 });
    run(&mut sale, &Request::Restock(Restock { delta: 6, req: b"more" }), 4);
    assert_eq!(map(&sale), "hhhhhhhhh.");
    let has = |sale: &Sale, seq| sale.numbers().unwrap().of(seq).to_vec();
    assert_eq!([2, 3].map(|seq| has(&sale, seq)), [vec![5, 6, 7], vec![8, 9]]);
    // A buyer can take unit 10 by its number: the waiting list is empty.
    assert_eq!(replied(&mut sale, &these("c", &[10]), 4), [10]);
}

#[test]
fn who_waits_comes_before_who_names_a_unit() {
    let list = WaitTerms { max: 9, offer_ms: HOLD, overtake: 1 };
    let mut sale = hall_with(4, Terms { hold_ms: HOLD, waitlist: Some(list), ..Terms::default() });
    run(&mut sale, &these("a", &[1, 2, 3]), 2);
    let wait = |qty| Request::Wait(Wait { grab: Grab { user: b"v", ..grab("w", qty) }, until: 0 });
    run(&mut sale, &wait(4), 3);
    let other = |units: &[u32]| {
        let grab = Grab { user: b"x", ..grab("x", units.len() as u64) };
        Request::Pick(Pick { grab, wish: Wish::These(units.to_vec()), waits: false })
    };
    // A wish for two units finds only one available. A wish for one unit may pass the head; then
    // its number is checked.
    assert_eq!(run(&mut sale, &other(&[4, 1]), 4), Outcome::SoldOut { held: 3 });
    assert_eq!(run(&mut sale, &other(&[3]), 4), Outcome::Taken { unit: 3 });
    assert_eq!(replied(&mut sale, &other(&[4]), 4), [4]);
    assert_eq!(run(&mut sale, &these("w", &[1, 2, 3, 4]), 4), Outcome::SoldOut { held: 4 });
    let same = Grab { user: b"v", ..grab("w", 4) };
    let wish = Wish::These(vec![1, 2, 3, 4]);
    let pick = Request::Pick(Pick { grab: same, wish, waits: false });
    assert_eq!(run(&mut sale, &pick, 4), Outcome::Misuse(Misuse::ReqMismatch));
    run(&mut sale, &settle("a", Deed::Cancel), 5);
    run(
        &mut sale,
        &Request::Settle(Settle { user: b"x", which: Which::Only, deed: Deed::Cancel }),
        5,
    );
    assert_eq!(map(&sale), "hhhh", "offered");
}

#[test]
fn a_mask_shows_the_first_unit_as_taken() {
    let admission = Admission { mask: true, ..Admission::default() };
    let mut sale = hall_with(4, Terms { admission, ..Terms::default() });
    run(&mut sale, &Request::List(ListChange { list: List::Deny, add: true, users: &[b"a"] }), 2);
    let masked = |shown| Outcome::Masked { is_denied: true, shown };
    assert_eq!(run(&mut sale, &these("a", &[3, 1]), 2), masked(Mask::Taken(3)));
    assert_eq!(run(&mut sale, &adjacent("a", 1), 2), masked(Mask::SoldOut));
}

#[test]
fn misuse_is_found_behind_the_key() {
    let keep = |kept| settle("a", Deed::Keep { by: Keeper::Cancel, kept });
    let mut plain = created(&init(5, Terms { limit: 0, ..Terms::default() }), 1);
    let not = Outcome::Misuse(Misuse::NotNumbered);
    let kept = keep(Kept::These(&[1]));
    for request in [these("a", &[1]), adjacent("a", 1), import("a", &[1]), kept] {
        assert_eq!(run(&mut plain, &request, 2), not);
    }
    let mut sale = hall(5);
    for (kept, misuse) in [
        (Kept::AtMost(1), Misuse::NumberedTakesNoKeep),
        (Kept::These(&[6]), Misuse::NoSuchUnit),
        (Kept::These(&[1; 101]), Misuse::TooManyAtOnce),
    ] {
        assert_eq!(run(&mut sale, &keep(kept), 2), Outcome::Misuse(misuse));
    }
    assert_eq!(run(&mut sale, &keep(Kept::These(&[1])), 2), Outcome::NoGrant);
    let up_to = Request::Grab(Grab { amount: Amount::UpTo(1), ..grab("a", 1) });
    assert_eq!(run(&mut sale, &up_to, 2), Outcome::Misuse(Misuse::NumberedTakesNoUpTo));
    let many = Request::Grab(grab("a", 101));
    assert_eq!(run(&mut sale, &many, 2), Outcome::Misuse(Misuse::TooManyAtOnce));
    let (wish, grab) = (Wish::Adjacent, grab("a", 1));
    let waits = Request::Pick(Pick { grab, wish, waits: true });
    assert_eq!(run(&mut sale, &waits, 2), Outcome::Misuse(Misuse::PickTakesNoWait));
    let schedule =
        crate::rounds::Schedule { period_ms: 9, offset_ms: 0, lasts_ms: 9, carry: false };
    let terms = Terms { kind: UnitKind::Numbered, schedule: Some(schedule), ..Terms::default() };
    assert_eq!(terms.check(), Err(Misuse::NumberedTakesNoDraw));
    let terms = Terms { kind: UnitKind::Numbered, ..Terms::default() };
    assert_eq!(terms.check_supply(UNITS_MAX + 1, &[]), Err(Misuse::TooManyUnits));
}

/// One call gives back a limited number of numbers; a call sent again gives back more.
#[test]
fn a_call_gives_back_a_bounded_number_of_numbers() {
    const HOLDS: u64 = 120;
    let mut sale = hall(HOLDS * 100);
    for _ in 0..HOLDS {
        let grab = Grab { user: b"v", amount: Amount::Exactly(100), req: None };
        let decision = sale.decide(&Request::Grab(grab), &at(2)).unwrap();
        crate::testing::commit(&mut sale, &decision);
    }
    let freed = |sale: &Sale| map_len(sale, b'.');
    let wide = Request::Pick(Pick { grab: grab("a", 100), wish: Wish::Adjacent, waits: false });
    let mut all = sale.clone();
    assert!(matches!(run(&mut all, &wide, 60), Outcome::Granted { .. }), "one hold is enough");
    // Background expiry takes back as many numbers as one call may; so does the user's own call.
    let decision = all.decide_expiry(1000, &at(60)).unwrap();
    crate::testing::commit(&mut all, &decision);
    assert_eq!(freed(&all), UNITS_PER_CALL_MAX as usize);
    let own = Request::Grab(Grab { user: b"v", amount: Amount::Exactly(1), req: None });
    assert!(matches!(run(&mut sale, &own, 60), Outcome::Granted { .. }));
    assert_eq!(freed(&sale), UNITS_PER_CALL_MAX as usize - 1);
}

fn map_len(sale: &Sale, state: u8) -> usize {
    let numbers = sale.units_from(1, UNITS_MAX).unwrap();
    numbers.iter().filter(|it| **it == state).count()
}

/// Each sale of an MGRAB answers with its own numbers.
#[test]
fn several_sales_at_once() {
    let mut sales = [hall(5), hall(3)];
    run(&mut sales[0], &these("a", &[1]), 2);
    let parts: Vec<(&Sale, Grab<'_>)> = sales.iter().map(|sale| (sale, grab("m", 2))).collect();
    let decided = decide_multi_grab(&parts, &at(3)).unwrap();
    assert!(matches!(decided.outcome, MultiOutcome::Granted(_)));
    let units: Vec<_> = parts
        .iter()
        .zip(&decided.decisions)
        .map(|((sale, _), decision)| {
            sale.units_replied(&decision.outcome, decision.plan.as_ref()).unwrap().to_vec()
        })
        .collect();
    assert_eq!(units, [[2, 3], [1, 2]]);
    let refused = [(&sales[0], grab("n", 2)), (&sales[1], grab("n", 4))];
    let decided = decide_multi_grab(&refused, &at(3)).unwrap();
    assert!(matches!(decided.outcome, MultiOutcome::Refused { index: 1, .. }));
    assert!(decided.decisions.iter().all(|decision| decision.plan.is_none()));
}

/// In a step with a grant and offers, the grant gets its numbers first.
#[test]
fn a_grant_gets_its_numbers_before_the_offers_of_its_step() {
    let list = WaitTerms { max: 9, offer_ms: HOLD, overtake: 1 };
    let mut sale = hall_with(3, Terms { hold_ms: HOLD, waitlist: Some(list), ..Terms::default() });
    run(&mut sale, &these("a", &[1, 2, 3]), 2);
    let wait = Request::Wait(Wait { grab: grab("b", 1), until: 0 });
    assert!(matches!(run(&mut sale, &wait, 3), Outcome::Waiting(_)));
    run(&mut sale, &Request::Pause, 3);
    run(&mut sale, &settle("a", Deed::Cancel), 3);
    run(&mut sale, &Request::Resume, 3);
    assert_eq!(replied(&mut sale, &Request::Grab(grab("c", 1)), 3), [1]);
    assert_eq!((map(&sale).as_str(), sale.holder_of(2).unwrap().user), ("hh.", &b"b"[..]));
}
