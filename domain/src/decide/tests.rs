//! Each rule at the last number that it accepts and at the first that it refuses.

#![cfg(test)]

use crate::admission::{Admission, List};
use crate::effect::{self, Change, Effect};
use crate::model::balances::Escrow;
use crate::model::limits::{
    GRANTS_MAX, HOLD_MS_MAX, INTEGER_MAX, OUTBOX_BYTES_MAX, REV_LAST, TIME_MS_MAX, WAITERS_MAX,
};
use crate::model::outcome::{GrantView, Misuse, Outcome, State};
use crate::parts::{Pair, Split};
use crate::request::{
    Amount, Deed, Grab, Import, ListChange, Receive, Request, Restock, Send, Settle, Terms, Wait,
    Which,
};
use crate::rounds::Schedule;
use crate::testing::{at, created, grab, init, run};
use crate::waitlist::WaitTerms;
use crate::Sale;

/// A sale without grants whose numbers a test sets.
fn plain(change: impl FnOnce(&mut Sale)) -> Sale {
    let mut sale = created(&init(10, Terms::default()), 1);
    change(&mut sale);
    assert!(sale.is_lawful());
    sale
}

/// The first of five parts without units; the test sets its numbers.
fn part(change: impl FnOnce(&mut Sale, &mut Escrow)) -> Sale {
    let split = Some(Box::new(Split::new(0, 5, b"s", 0).unwrap()));
    let mut sale = created(&init(0, Terms { split, ..Terms::default() }), 1);
    let mut escrow = Escrow::default();
    change(&mut sale, &mut escrow);
    sale.escrow = Some(escrow);
    assert!(sale.is_lawful());
    sale
}

fn judged(sale: &Sale, request: &Request<'_>) -> Outcome {
    let decision = sale.decide(request, &at(5)).unwrap();
    assert_eq!(decision.plan.is_some(), !matches!(decision.outcome, Outcome::Misuse(_)));
    decision.outcome
}

fn restock(sale: &Sale, delta: i64) -> Outcome {
    judged(sale, &Request::Restock(Restock { delta, req: b"r" }))
}

fn import(sale: &Sale, qty: u64) -> Outcome {
    let import = Import { user: b"u", qty, req: b"r", at: None, no_deficit: false, units: &[] };
    judged(sale, &Request::Import(import))
}

fn send(sale: &Sale, total: u64, owed: bool) -> Outcome {
    judged(sale, &Request::Send(Send { split: b"s", to: 1, total, owed }))
}

fn receive(sale: &Sale, total: u64) -> Outcome {
    judged(sale, &Request::Receive(Receive { split: b"s", from: 1, total }))
}

const TOO_LARGE: Outcome = Outcome::Misuse(Misuse::SupplyTooLarge);
const TOO_MANY: Outcome = Outcome::Misuse(Misuse::MovedTooMany);
const EXHAUSTED: Outcome = Outcome::Misuse(Misuse::Exhausted);
/// Five below the largest number.
const NEARLY: u64 = INTEGER_MAX - 5;

#[test]
fn a_restock_up_to_the_largest_number() {
    let restocked = |applied, available| Outcome::Restocked { applied, available };
    let sale = plain(|it| (it.balances.supply, it.balances.available) = (NEARLY, NEARLY));
    assert_eq!(restock(&sale, 5), restocked(5, INTEGER_MAX));
    assert_eq!(restock(&sale, 6), TOO_LARGE);
    // The deficit is paid off first and adds nothing to the available units.
    let sale = plain(|it| {
        (it.balances.supply, it.balances.available) = (INTEGER_MAX, 0);
        (it.balances.sold, it.balances.deficit) = (INTEGER_MAX, 4);
    });
    assert_eq!(restock(&sale, 4), restocked(4, 0));
    assert_eq!(restock(&sale, 5), TOO_LARGE);
    // The largest integer also limits the units ever put into a part.
    let sale = part(|it, escrow| {
        (it.balances.supply, it.balances.available) = (3, 3);
        (escrow.put_in, escrow.sent) = (NEARLY as i64, NEARLY - 3);
        it.pairs.set(Pair { peer: 2, sent: NEARLY - 3, received: 0 });
    });
    assert_eq!(restock(&sale, 5), restocked(5, 8));
    assert_eq!(restock(&sale, 6), TOO_LARGE);
    assert_eq!(restock(&sale, -4), restocked(-3, 0));
}

#[test]
fn an_import_up_to_the_largest_number() {
    let granted = |qty, available| {
        let grant = GrantView { seq: 1, qty, state: State::Sold, deadline: 0 };
        Outcome::Granted { grant, available }
    };
    let sale = plain(|it| {
        (it.balances.supply, it.balances.available, it.balances.sold) = (NEARLY, 2, NEARLY - 2);
    });
    assert_eq!(import(&sale, 7), granted(7, 0));
    assert_eq!(import(&sale, 8), TOO_LARGE);
    let sale = part(|it, escrow| (it.balances.deficit, escrow.put_in) = (NEARLY, -(NEARLY as i64)));
    let users = (0..100u64).map(|number| number.to_string().into_bytes());
    let user = users.into_iter().find(|user| sale.is_home(user)).unwrap();
    let at_home = |qty| {
        let import =
            Import { user: &user, qty, req: b"r", at: None, no_deficit: false, units: &[] };
        judged(&sale, &Request::Import(import))
    };
    assert_eq!(at_home(5), granted(5, 0));
    assert_eq!(at_home(6), TOO_LARGE);
    let without = |qty| {
        let import = Import { user: b"u", qty, req: b"r", at: None, no_deficit: true, units: &[] };
        plain(|_| ()).decide(&Request::Import(import), &at(5)).unwrap().outcome
    };
    assert_eq!(without(10), granted(10, 0));
    assert_eq!(without(11), Outcome::Short { available: 10 });
    for (grants, full) in [(GRANTS_MAX - 1, false), (GRANTS_MAX, true)] {
        let sale = plain(|it| (it.balances.grants, it.balances.version) = (grants, 2 * GRANTS_MAX));
        assert_eq!(import(&sale, 1) == Outcome::Misuse(Misuse::GrantsFull), full);
    }
}

#[test]
fn what_moves_between_parts_up_to_the_largest_number() {
    let moved = |total, available| Outcome::Moved { total, available };
    let sale = part(|it, escrow| {
        (it.balances.supply, it.balances.available) = (9, 9);
        (escrow.put_in, escrow.sent) = (INTEGER_MAX as i64, INTEGER_MAX - 9);
        it.pairs.set(Pair { peer: 1, sent: INTEGER_MAX - 9, received: 0 });
    });
    assert_eq!(send(&sale, INTEGER_MAX, false), moved(INTEGER_MAX, 0));
    assert_eq!(send(&sale, INTEGER_MAX - 2, false), moved(INTEGER_MAX - 2, 2));
    // An unavailable unit is not sent, and a smaller total than before changes nothing.
    assert_eq!(send(&sale, u64::MAX, false), moved(INTEGER_MAX, 0));
    assert_eq!(send(&sale, u64::MAX, true), TOO_MANY);
    let refused = sale
        .decide(&Request::Send(Send { split: b"s", to: 1, total: 4, owed: false }), &at(5))
        .unwrap();
    assert_eq!((refused.outcome, refused.plan.is_none()), (moved(INTEGER_MAX - 9, 9), true));
    let sale = part(|it, escrow| (it.balances.deficit, escrow.put_in) = (NEARLY, -(NEARLY as i64)));
    assert_eq!(send(&sale, 5, true), moved(5, 0));
    assert_eq!(send(&sale, 6, true), TOO_MANY);
    let sale = part(|it, escrow| {
        (it.balances.supply, it.balances.available) = (NEARLY, NEARLY);
        escrow.put_in = NEARLY as i64;
    });
    assert_eq!(receive(&sale, 5), moved(5, INTEGER_MAX));
    assert_eq!(receive(&sale, 6), TOO_MANY);
    let sale = part(|it, escrow| {
        (escrow.sent, escrow.received) = (NEARLY, NEARLY);
        it.pairs.set(Pair { peer: 2, sent: NEARLY, received: NEARLY });
    });
    assert_eq!(receive(&sale, 5), moved(5, 5));
    assert_eq!(receive(&sale, 6), TOO_MANY);
}

#[test]
fn a_change_up_to_the_last_version_rev_moment_and_epoch() {
    let last_version = INTEGER_MAX - 1;
    type Set = fn(&mut Sale, u64);
    let cases: [(Set, u64); 2] = [
        (|it, version| it.balances.version = version, last_version),
        (|it, rev| it.balances.rev = rev, REV_LAST),
    ];
    for (set, last) in cases {
        for (number, is_taken) in [(last, true), (last + 1, false)] {
            let outcome = restock(&plain(|it| set(it, number)), 1);
            assert_eq!(outcome != EXHAUSTED, is_taken, "{number}");
        }
    }
    // The next node epoch gives a new epoch to the sale, a part of which may be drawn.
    for (epoch, is_taken) in [(INTEGER_MAX - (1 << 32), true), (INTEGER_MAX, false)] {
        let outcome = restock(&plain(|it| (it.balances.epoch, it.node_epoch) = (epoch, 0)), 1);
        assert_eq!(outcome != EXHAUSTED, is_taken, "{epoch}");
    }
    for (clock_ms, is_taken) in [(TIME_MS_MAX, true), (TIME_MS_MAX + 1, false)] {
        let decision = plain(|_| ()).decide(&Request::Pause, &at(clock_ms)).unwrap();
        assert_eq!(decision.outcome != EXHAUSTED, is_taken);
    }
}

/// Every request for a user of another part is refused with WRONGPART.
#[test]
fn users_are_judged_at_home() {
    let sale = part(|it, escrow| {
        (it.balances.supply, it.balances.available) = (9, 9);
        escrow.put_in = 9;
    });
    let of = |home: bool| {
        let users = (0..100u64).map(|number| number.to_string().into_bytes());
        users.filter(|user| sale.is_home(user) == home).take(2).collect::<Vec<_>>()
    };
    let (here, away) = (of(true), of(false));
    let judge = |users: &[&[u8]]| {
        let user = users[users.len() - 1];
        let grab = Grab { user, amount: Amount::Exactly(1), req: Some(b"r") };
        let settle = |deed| Request::Settle(Settle { user, which: Which::Req(b"r"), deed });
        let list = |add| Request::List(ListChange { list: List::Deny, add, users });
        let requests = [
            Request::Grab(grab),
            Request::Wait(Wait { grab, until: 0 }),
            Request::Import(Import {
                user,
                qty: 1,
                req: b"r",
                at: None,
                no_deficit: false,
                units: &[],
            }),
            settle(Deed::Cancel),
            settle(Deed::Refund),
            list(true),
            list(false),
        ];
        let is_refused = |it: &Request<'_>| {
            sale.decide(it, &at(5)).unwrap().outcome == Outcome::Misuse(Misuse::WrongPart)
        };
        requests.iter().map(is_refused).collect::<Vec<_>>()
    };
    assert_eq!(judge(&[&here[0], &here[1]]), [false; 7]);
    assert_eq!(judge(&[&away[0], &away[1]]), [true; 7]);
    // One user of another part is enough.
    assert_eq!(judge(&[&away[0], &here[1]])[5..], [true; 2]);
    assert_eq!(judge(&[&here[0], &away[1]])[5..], [true; 2]);
}

/// Full lists: for ALLOW and DENY, for ADMIT, and for effects of a primary.
#[test]
fn a_full_list_takes_nobody() {
    let admission = Admission { admit: 9, ..Admission::default() };
    let mut sale = created(&init(10, Terms { admission, ..Terms::default() }), 1);
    let users: [&[u8]; 3] = [b"a", b"b", b"c"];
    let add = |users| Request::List(ListChange { list: List::Allow, add: true, users });
    let applies = |sale: &Sale, users: &[&[u8]], add: bool| {
        let change = effect::Users { list: List::Allow, add, users: users.to_vec() };
        let change = Change::untimed(Effect::Users(change));
        sale.clone().apply(sale.balances.version, [change]).is_ok()
    };
    sale.extras_mut().list_mut(List::Allow).leave_room_for(2);
    assert_eq!(judged(&sale, &add(&users[..2])), Outcome::Changed { users: 2 });
    assert_eq!(judged(&sale, &add(&users)), Outcome::Misuse(Misuse::ListFull));
    assert!(applies(&sale, &users[..2], true) && !applies(&sale, &users, true));
    assert!(applies(&sale, &users, false) && !applies(&sale, &[], true));
    // A user named twice is counted once.
    let twice: [&[u8]; 4] = [b"a", b"b", b"a", b"b"];
    assert_eq!(judged(&sale, &add(&twice)), Outcome::Changed { users: 2 });
    for (room, admits) in [(1, true), (0, false)] {
        sale.extras_mut().list_mut(List::Admitted).leave_room_for(room);
        let grab = Request::Grab(Grab { user: b"u", amount: Amount::Unsaid, req: None });
        let decision = sale.decide(&grab, &at(5)).unwrap();
        assert_eq!(decision.outcome != Outcome::Busy, admits);
        let admit = Change::untimed(effect::Admit { user: b"u" });
        assert_eq!(sale.clone().apply(sale.balances.version, [admit]).is_ok(), admits);
    }
}

/// A late payment gets as much as the limit allows, and no more.
#[test]
fn a_reclaim_up_to_the_allowance() {
    for (others, state) in [(2, State::Sold), (3, State::Expired)] {
        let mut sale = created(&init(9, Terms { hold_ms: 10, limit: 5, ..Terms::default() }), 1);
        let ask = |qty, req| Grab { user: b"u", amount: Amount::Exactly(qty), req: Some(req) };
        run(&mut sale, &Request::Grab(ask(3, b"first")), 2);
        run(&mut sale, &Request::Grab(ask(others, b"next")), 12);
        let (which, deed) = (Which::Req(b"first"), Deed::Confirm { reclaim: true });
        let reclaim = Request::Settle(Settle { user: b"u", which, deed });
        let stands = GrantView { seq: 1, qty: 3, state, deadline: 0 };
        assert_eq!(run(&mut sale, &reclaim, 13), Outcome::Stands(stands), "{others}");
        let kept = if state == State::Sold { State::Sold } else { State::Forfeited };
        assert_eq!(sale.grant(1).map(|grant| grant.state), Some(kept));
    }
}

/// A request id of the previous round is known, to its own user only.
#[test]
fn a_request_id_is_known_across_rounds() {
    let schedule = Schedule { period_ms: 100, offset_ms: 0, lasts_ms: 100, carry: false };
    let terms = Terms { schedule: Some(schedule), limit: 0, ..Terms::default() };
    let mut sale = created(&init(9, terms), 1);
    let ask = |user| Request::Grab(Grab { user, amount: Amount::Exactly(2), req: Some(b"r") });
    let granted = run(&mut sale, &ask(b"u"), 2);
    let Outcome::Granted { grant, .. } = granted else { panic!("{granted:?}") };
    assert!(matches!(grab(&mut sale, "v", 150), Outcome::Granted { .. }));
    assert_eq!(sale.balances.round, 1);
    assert_eq!(run(&mut sale, &ask(b"u"), 160), Outcome::Replay(grant));
    assert!(matches!(run(&mut sale, &ask(b"w"), 170), Outcome::Granted { .. }));
    // Two rounds later it is forgotten.
    assert!(matches!(run(&mut sale, &ask(b"u"), 270), Outcome::Granted { .. }));
}

/// Units elsewhere at the beginning of a part, and the lifetime of an offer.
#[test]
fn what_terms_say_at_the_beginning() {
    for (parts, total, supply, elsewhere) in
        [(1, 9, 9, 0), (2, 9, 9, 1), (2, 9, 8, 1), (3, 9, 4, 5)]
    {
        let split = Some(Box::new(Split::new(0, parts, b"s", total).unwrap()));
        let sale = created(&init(supply, Terms { split, ..Terms::default() }), 1);
        assert_eq!(sale.balances.elsewhere, elsewhere, "{parts} {supply}");
    }
    fn list(max: u64, offer_ms: u64) -> Option<WaitTerms> {
        Some(WaitTerms { max, offer_ms, overtake: 0 })
    }
    type Set = fn(&mut Terms, u64);
    let bounds: [(Set, u64); 5] = [
        (|it, ms| it.hold_ms = ms, HOLD_MS_MAX),
        (|it, max| it.waitlist = list(max, 9), WAITERS_MAX),
        (|it, ms| it.waitlist = list(1, ms), HOLD_MS_MAX),
        (|it, at| (it.open_at, it.close_at) = (at, 9), 8),
        (|it, len| it.outbox = Some(vec![b's'; len as usize].into()), OUTBOX_BYTES_MAX as u64),
    ];
    for (number, (set, last)) in bounds.into_iter().enumerate() {
        for (value, is_taken) in [(last, true), (last + 1, false)] {
            let mut terms = Terms::default();
            set(&mut terms, value);
            assert_eq!(terms.check().is_ok(), is_taken, "{number} {value}");
        }
    }
    for (waitlist, offer_ms) in [(None, 30), (list(9, 0), 30), (list(9, 1), 1), (list(9, 40), 40)] {
        let terms = Terms { hold_ms: 30, waitlist, ..Terms::default() };
        assert_eq!(terms.offer_ms(), offer_ms);
    }
}

/// After the last possible grant nothing is offered.
#[test]
fn nothing_is_offered_behind_the_last_grant() {
    let waitlist = Some(WaitTerms { max: 9, offer_ms: 10, overtake: 0 });
    for (grants, effects) in [(GRANTS_MAX - 1, 2), (GRANTS_MAX, 1)] {
        let mut sale = created(&init(1, Terms { hold_ms: 3, waitlist, ..Terms::default() }), 1);
        let ask = |user| Grab { user, amount: Amount::Unsaid, req: Some(b"r") };
        run(&mut sale, &Request::Grab(ask(b"u")), 2);
        run(&mut sale, &Request::Wait(Wait { grab: ask(b"w"), until: 0 }), 2);
        (sale.balances.grants, sale.balances.version) = (grants, 2 * GRANTS_MAX);
        let restock = Request::Restock(Restock { delta: 1, req: b"r" });
        assert_eq!(sale.decide(&restock, &at(4)).unwrap().changes().len(), effects);
    }
}
