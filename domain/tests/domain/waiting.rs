//! Rules of the waiting list, each by itself: which waiter is served, dropped or left.

use std::num::NonZeroU16;

use seckill_domain::decide::mgrab::{decide_multi_grab, MultiOutcome};
use seckill_domain::effect::{self, Change, Effect};
use seckill_domain::limits::OFFERS_PER_STEP_MAX;
use seckill_domain::outcome::{GrantView, Misuse, Outcome, Place, State};
use seckill_domain::parts::Split;
use seckill_domain::record::{Asked, ReqTag};
use seckill_domain::request::{
    Amount, Deed, Grab, Import, Receive, Request, Restock, Send, Settle, Terms, TermsChange, Wait,
    Which,
};
use seckill_domain::waitlist::{WaitTerms, WaitTermsChange};
use seckill_domain::Sale;
use seckill_model::sales::{self, created, run};
use seckill_model::world::commit;

const LIST: WaitTerms = WaitTerms { max: 9, offer_ms: 0, overtake: 0 };

/// Terms without a LIMIT.
fn unlimited() -> Terms {
    Terms { limit: 0, ..Terms::default() }
}

/// `supply` units under `terms`. One user holds all of them from time 2 on, and one user waits for
/// a unit.
fn sold_out(supply: u64, terms: Terms) -> Sale {
    let mut sale = created(supply, Terms { hold_ms: 50, waitlist: Some(LIST), ..terms });
    let ask = |user, qty, req| Grab { user, amount: Amount::Exactly(qty), req: Some(req) };
    let first = run(&mut sale, &Request::Grab(ask(b"u", supply, b"r")), 2);
    assert!(matches!(first, Outcome::Granted { .. }), "{first:?}");
    let wait = Wait { grab: ask(b"w", 1, b"r"), until: 0 };
    assert!(matches!(run(&mut sale, &Request::Wait(wait), 3), Outcome::Waiting(_)));
    sale
}

fn waiting(sale: &Sale) -> u64 {
    sale.waitlist().map_or(0, |list| list.len())
}

/// A waiting list is refused if its offers would never end, or would end at once.
#[test]
fn nobody_waits_where_offers_have_no_time() {
    let waitlist = WaitTermsChange { max: Some(0), ..WaitTermsChange::default() };
    let change = TermsChange { hold_ms: Some(0), waitlist, ..TermsChange::default() };
    let mut sale = sold_out(1, unlimited());
    let refused = run(&mut sale, &Request::Alter(change.clone()), 4);
    assert_eq!(refused, Outcome::Misuse(Misuse::OfferNeedsTime));
    for (hold_ms, ticket, is_taken) in [(1, 1, true), (0, 1, false), (1, 2, false)] {
        let mut sale = created(1, Terms { hold_ms: 50, waitlist: Some(LIST), ..Terms::default() });
        let change = TermsChange { hold_ms: Some(hold_ms), ..change.clone() };
        assert_eq!(run(&mut sale, &Request::Alter(change), 2), Outcome::Done);
        let joining = effect::Join { ticket, user: b"w", req: b"r", qty: 1, until: 0 };
        let (version, wait) = (sale.balances().version, Change::untimed(Effect::Wait(joining)));
        assert_eq!(sale.apply(version, [wait]).is_ok(), is_taken, "{hold_ms} {ticket}");
    }
}

/// Units promised in one step count before offers are made.
#[test]
fn an_import_counts_for_one_who_waits() {
    for (limit, grabs, totals) in [(1, 0, (0, 1)), (0, 1, (0, 1)), (2, 2, (1, 0))] {
        let mut sale = sold_out(2, Terms { limit: limit.max(2), ..Terms::default() });
        let terms = TermsChange { limit: Some(limit), grabs: Some(grabs), ..Default::default() };
        run(&mut sale, &Request::Alter(terms), 4);
        // The hold is due: one of its units pays off the import's deficit, the other one is for the
        // waiter.
        let import =
            Import { user: b"w", qty: 1, req: b"other", at: None, no_deficit: false, units: &[] };
        run(&mut sale, &Request::Import(import), 60);
        assert_eq!((sale.list_totals(), waiting(&sale)), (totals, 0), "{limit} {grabs}");
        assert_eq!(sale.balances().available, totals.1);
    }
}

/// An ended entry counts as gone from its end on, before it is dropped.
#[test]
fn an_entry_is_over_when_its_time_has_come() {
    let ask = |user| Grab { user, amount: Amount::Exactly(1), req: Some(b"r") };
    for (close_at, until) in [(0, 40), (40, 0)] {
        let mut sale =
            created(1, Terms { hold_ms: 50, close_at, waitlist: Some(LIST), ..unlimited() });
        run(&mut sale, &Request::Grab(ask(b"u")), 2);
        run(&mut sale, &Request::Wait(Wait { grab: ask(b"w"), until }), 3);
        let at = |ms| sale.decide(&Request::Grab(ask(b"w")), &sales::at(ms)).unwrap().outcome;
        let place = Place { ticket: 1, ahead: 0, units_ahead: 0 };
        assert_eq!(at(39), Outcome::Waiting(place));
        let over = if close_at == 0 { Outcome::SoldOut { held: 1 } } else { Outcome::Closed };
        assert_eq!(at(40), over);
    }
}

/// The next call of a user drops their ended entry, once, and may buy available units.
#[test]
fn an_entry_that_is_over_stands_in_nobodys_way() {
    let mut sale = created(2, Terms { hold_ms: 900, waitlist: Some(LIST), ..unlimited() });
    let ask = |user, qty| Grab { user, amount: Amount::Exactly(qty), req: Some(b"r") };
    run(&mut sale, &Request::Grab(ask(b"u", 1)), 2);
    let wait = Wait { grab: ask(b"w", 2), until: 30 };
    assert!(matches!(run(&mut sale, &Request::Wait(wait), 3), Outcome::Waiting(_)));
    let outcome = run(&mut sale, &Request::Grab(ask(b"w", 1)), 31);
    assert!(matches!(outcome, Outcome::Granted { .. }), "{outcome:?}");
    assert_eq!((sale.list_totals(), waiting(&sale), sale.balances().held), ((0, 1), 0, 2));
}

/// Nothing brings back who has cancelled, not even a sale that opens again.
#[test]
fn who_cancels_an_entry_that_is_over_leaves_the_list() {
    let waitlist = Some(LIST);
    let mut sale = created(1, Terms { hold_ms: 900, close_at: 40, waitlist, ..unlimited() });
    let ask = |user| Grab { user, amount: Amount::Exactly(1), req: Some(b"r") };
    run(&mut sale, &Request::Grab(ask(b"u")), 2);
    run(&mut sale, &Request::Wait(Wait { grab: ask(b"w"), until: 0 }), 3);
    let cancel = Settle { user: b"w", which: Which::Req(b"r"), deed: Deed::Cancel };
    assert_eq!(run(&mut sale, &Request::Settle(cancel), 41), Outcome::Fenced);
    assert_eq!((waiting(&sale), sale.list_totals()), (0, (0, 1)));
    let open = TermsChange { close_at: Some(0), ..TermsChange::default() };
    run(&mut sale, &Request::Alter(open), 42);
    run(&mut sale, &Request::Restock(Restock { delta: 1, req: b"more" }), 43);
    assert_eq!((sale.balances().available, sale.list_totals()), (1, (0, 1)));
}

/// Effects about waiters that a log may contain.
#[test]
fn who_waits_is_on_the_list_once_and_for_one_order() {
    let sale = sold_out(2, unlimited());
    let wait = |user, req| Effect::Wait(effect::Join { ticket: 2, user, req, qty: 1, until: 0 });
    let grant = |user, req| {
        let req = Some(ReqTag { id: req, asked: Asked::Exactly });
        Effect::Grant(effect::Grant { user, req, qty: 1, hold_ms: 50 })
    };
    let leave = || Effect::Leave(effect::Leave { ticket: 1 });
    let restock = || Effect::Restock(effect::Restock { req: b"r", delta: 9, applied: 9 });
    let offer = |hold_ms, passed| Effect::Offer(effect::Offer { ticket: 1, hold_ms, passed });
    let alter = || {
        Effect::Alter(effect::Alter(TermsChange { limit: Some(9), ..Default::default() }.into()))
    };
    let cases: [(Vec<Effect<'_>>, bool); 15] = [
        (vec![restock(), offer(50, 0)], true),
        (vec![restock(), offer(0, 0)], false),
        (vec![restock(), offer(50, 1)], false),
        (vec![restock(), offer(50, 2)], false),
        (vec![alter(), wait(b"v", b"r")], false),
        (vec![wait(b"v", b"r"), alter()], false),
        (vec![wait(b"v", b"r")], true),
        (vec![wait(b"w", b"other")], false),
        (vec![leave(), wait(b"w", b"other")], true),
        (vec![restock(), grant(b"w", b"other")], true),
        (vec![restock(), grant(b"w", b"r")], false),
        (vec![restock(), leave(), grant(b"w", b"r")], true),
        (vec![restock(), grant(b"v", b"x"), wait(b"v", b"x")], false),
        (vec![restock(), grant(b"v", b"x"), wait(b"v", b"y")], true),
        (vec![restock(), grant(b"v", b"x"), grant(b"v", b"x")], false),
    ];
    for (number, (effects, is_taken)) in cases.into_iter().enumerate() {
        let changes: Vec<_> = effects.into_iter().map(Change::untimed).collect();
        let applied = sale.clone().apply(sale.balances().version, changes);
        assert_eq!(applied.is_ok(), is_taken, "{number}: {:?}", applied.err());
    }
}

/// A request id that waits in one sale can't be used for several sales. Another request of its user
/// is refused in that sale.
#[test]
fn an_order_that_waits_is_none_for_several_sales() {
    let (waits, other) = (sold_out(1, unlimited()), created(9, unlimited()));
    let Some(place) = waits.place(b"w", &sales::at(5)) else { panic!("nobody waits") };
    let refused = MultiOutcome::Refused { index: 0, outcome: Outcome::Waiting(place) };
    for (req, expected) in [
        (Some(&b"r"[..]), MultiOutcome::Misuse(Misuse::ReqMismatch)),
        (Some(b"other"), refused.clone()),
        (None, refused),
    ] {
        let grab = Grab { user: b"w", amount: Amount::Exactly(1), req };
        let decided = decide_multi_grab(&[(&waits, grab), (&other, grab)], &sales::at(5)).unwrap();
        assert_eq!(decided.outcome, expected);
    }
}

/// A step expires a thousand due holds for waiters, and the next step goes on.
#[test]
fn holds_expire_for_those_who_wait_in_parts() {
    let mut sale = created(1005, Terms { hold_ms: 50, waitlist: Some(LIST), ..unlimited() });
    let ask = |user, qty, req| Grab { user, amount: Amount::Exactly(qty), req };
    for _ in 0..1005 {
        run(&mut sale, &Request::Grab(ask(b"u", 1, None)), 2);
    }
    let wait = Wait { grab: ask(b"w", 1005, Some(b"r")), until: 0 };
    assert!(matches!(run(&mut sale, &Request::Wait(wait), 3), Outcome::Waiting(_)));
    for (req, expired, offers) in [(b"a", 1000, 0), (b"b", 1003, 1)] {
        run(&mut sale, &Request::Restock(Restock { delta: 1, req }), 60);
        assert_eq!((sale.tallies().expired, sale.list_totals().0), (expired, offers));
    }
}

/// The holds that a call expires for itself count among the thousand that may expire for waiters.
#[test]
fn a_late_payment_leaves_fewer_holds_for_those_who_wait() {
    let mut sale = created(2001, Terms { hold_ms: 50, waitlist: Some(LIST), ..unlimited() });
    let ask = |user, qty, req| Grab { user, amount: Amount::Exactly(qty), req };
    run(&mut sale, &Request::Grab(ask(b"late", 1, Some(b"r"))), 2);
    for _ in 0..2001 {
        run(&mut sale, &Request::Grab(ask(b"u", 1, None)), 60);
    }
    let wait = Wait { grab: ask(b"w", 2000, Some(b"r")), until: 0 };
    assert!(matches!(run(&mut sale, &Request::Wait(wait), 61), Outcome::Waiting(_)));
    let deed = Deed::Confirm { reclaim: true };
    let pay = Settle { user: b"late", which: Which::Req(b"r"), deed };
    let outcome = run(&mut sale, &Request::Settle(pay), 200);
    let Outcome::Stands(GrantView { state: State::Sold, .. }) = outcome else { panic!() };
    // Before, the hold of the late payer itself expired.
    assert_eq!((sale.tallies().expired, sale.balances().available), (1 + 1000, 999));
}

/// An MGRAB expires, for those who wait in all its sales together, no more holds than one GRAB.
#[test]
fn holds_expire_for_those_who_wait_in_several_sales_in_parts() {
    let mut sale = created(1500, Terms { hold_ms: 50, waitlist: Some(LIST), ..unlimited() });
    let ask = |user, qty, req| Grab { user, amount: Amount::Exactly(qty), req };
    let own = ask(b"own", 1, Some(b"r"));
    run(&mut sale, &Request::Grab(own), 2);
    for _ in 1..1500 {
        run(&mut sale, &Request::Grab(ask(b"u", 1, None)), 2);
    }
    let wait = Wait { grab: ask(b"w", 1500, Some(b"r")), until: 0 };
    assert!(matches!(run(&mut sale, &Request::Wait(wait), 3), Outcome::Waiting(_)));
    let mut sales = [sale.clone(), sale];
    let parts: Vec<_> = sales.iter().map(|sale| (sale, own)).collect();
    let decided = decide_multi_grab(&parts, &sales::at(60)).unwrap();
    assert!(matches!(decided.outcome, MultiOutcome::Replayed(_)), "{:?}", decided.outcome);
    sales.iter_mut().zip(&decided.decisions).for_each(|(sale, decision)| commit(sale, decision));
    assert_eq!([0, 1].map(|place: usize| sales[place].tallies().expired), [1001, 1]);
}

/// One limit holds for the offers and drops of a step, and the next step goes on. Entries are also
/// dropped while no waiter gets an offer.
#[test]
fn entries_that_are_over_are_dropped_in_parts() {
    const MANY: u64 = OFFERS_PER_STEP_MAX as u64 + 5;
    let waitlist = Some(WaitTerms { max: MANY, ..LIST });
    for (close_at, until, pauses) in [(0, 40, false), (40, 0, false), (0, 40, true), (40, 0, true)]
    {
        let mut sale = created(1, Terms { hold_ms: 90, close_at, waitlist, ..unlimited() });
        for number in 0..=MANY {
            let user = number.to_be_bytes();
            let grab = Grab { user: &user, amount: Amount::Exactly(1), req: Some(b"r") };
            let outcome = run(&mut sale, &Request::Wait(Wait { grab, until }), 2);
            assert_eq!(matches!(outcome, Outcome::Waiting(_)), number > 0, "{outcome:?}");
        }
        if pauses {
            run(&mut sale, &Request::Pause, 2);
        }
        for left in [5, 0] {
            let decision = sale.decide_expiry(1, &sales::at(40)).unwrap();
            sale.commit(&decision.plan.unwrap());
            assert_eq!((sale.list_totals(), waiting(&sale)), ((0, MANY - left), left));
        }
    }
}

/// A list on which all entries have ended counts as empty, even before they are dropped. So another
/// user's GRAB, a full list, SEND, IMPORT and the user's own PLACE ignore these entries.
#[test]
fn entries_that_are_over_stand_in_nobodys_way() {
    let ask = |user, qty| Grab { user, amount: Amount::Exactly(qty), req: Some(b"r") };
    let wait = |user, until| Request::Wait(Wait { grab: ask(user, 1), until });
    let over = || {
        let waitlist = Some(WaitTerms { max: 2, ..LIST });
        let mut sale = created(3, Terms { hold_ms: 50, waitlist, ..unlimited() });
        run(&mut sale, &Request::Grab(ask(b"u", 2)), 2);
        run(&mut sale, &Request::Grab(ask(b"t", 1)), 9);
        for user in [b"w", b"x"] {
            assert!(matches!(run(&mut sale, &wait(user, 40), 10), Outcome::Waiting(_)));
        }
        sale
    };
    let granted = |outcome: Outcome| match outcome {
        Outcome::Granted { grant, available } => (grant.qty, available),
        other => panic!("{other:?}"),
    };
    // Due holds of others make room for a GRAB, and a GRAB with UPTO takes the available units.
    let mut sale = over();
    assert_eq!(run(&mut sale, &wait(b"v", 0), 39), Outcome::Busy);
    assert_eq!(run(&mut sale, &Request::Grab(ask(b"v", 1)), 52), {
        let grant = GrantView { seq: 3, qty: 1, state: State::Held, deadline: 102 };
        Outcome::Granted { grant, available: 1 }
    });
    assert_eq!((sale.tallies().expired, waiting(&sale)), (1, 0), "{:?}", sale.list_totals());
    let up_to = Grab { amount: Amount::UpTo(9), ..ask(b"v", 1) };
    let up_to = Request::Grab(Grab { req: None, ..up_to });
    assert_eq!(granted(run(&mut over(), &up_to, 52)), (2, 0));
    // Nothing is available and nothing is held: nothing will come back.
    let mut sale = over();
    for user in [&b"u"[..], b"t"] {
        let deed = Deed::Confirm { reclaim: false };
        let settle = Settle { user, which: Which::Only, deed };
        run(&mut sale, &Request::Settle(settle), 11);
    }
    for (at, held) in [(39, 1), (40, 0)] {
        let refused = run(&mut sale, &Request::Grab(ask(b"v", 1)), at);
        assert_eq!(refused, Outcome::SoldOut { held });
    }
    // The list has room again as soon as enough entries have ended.
    assert_eq!(sale.place(b"w", &sales::at(39)).map(|place| place.ticket), Some(1));
    assert_eq!(sale.place(b"w", &sales::at(40)), None);
    let place = Place { ticket: 3, ahead: 2, units_ahead: 2 };
    assert_eq!(run(&mut sale, &wait(b"v", 0), 40), Outcome::Waiting(place));
    let place = Place { ticket: 4, ahead: 3, units_ahead: 3 };
    assert_eq!(run(&mut sale, &wait(b"y", 0), 41), Outcome::Waiting(place));
    assert_eq!(run(&mut sale, &wait(b"z", 0), 42), Outcome::Busy);
    // Another quantity may be imported under the request id, and the user's ended entry is dropped.
    let import = |user| Import { user, qty: 2, req: b"r", at: None, no_deficit: false, units: &[] };
    let mut sale = over();
    let refused = run(&mut sale, &Request::Import(import(b"w")), 39);
    assert_eq!(refused, Outcome::Misuse(Misuse::ReqMismatch));
    assert_eq!(granted(run(&mut sale, &Request::Import(import(b"w")), 40)), (2, 0));
    assert_eq!((sale.list_totals(), waiting(&sale)), ((0, 2), 0));
    // A part may send its units.
    let split =
        Split { part: 0, parts: NonZeroU16::MIN.saturating_add(1), id: b"s"[..].into(), total: 9 };
    let terms =
        Terms { split: Some(Box::new(split)), waitlist: Some(LIST), hold_ms: 50, ..unlimited() };
    let mut sale = created(1, terms);
    let at_home = (0..9u8).map(|byte| [byte]).find(|user| sale.is_home(user)).unwrap();
    run(&mut sale, &Request::Wait(Wait { grab: ask(&at_home, 1), until: 0 }), 2);
    let other = (9..99u8).map(|byte| [byte]).find(|user| sale.is_home(user)).unwrap();
    run(&mut sale, &Request::Wait(Wait { grab: ask(&other, 1), until: 40 }), 3);
    let cancels = Settle { user: &at_home, which: Which::Only, deed: Deed::Cancel };
    run(&mut sale, &Request::Pause, 4);
    run(&mut sale, &Request::Settle(cancels), 5);
    for (at, total) in [(39, 0), (40, 1)] {
        let send = Send { split: b"s", to: 1, total: 1, owed: false };
        let moved = Outcome::Moved { total, available: 1 - total };
        assert_eq!(run(&mut sale, &Request::Send(send), at), moved);
    }
}

/// More ended entries than one step can drop make a GRAB wait for the sweeper.
#[test]
fn very_many_entries_that_are_over_are_dropped_first() {
    for (count, is_granted) in [(65, true), (66, false)] {
        let waitlist = Some(WaitTerms { max: 99, ..LIST });
        let mut sale = created(1, Terms { hold_ms: 30, waitlist, ..unlimited() });
        fn ask(user: &[u8]) -> Grab<'_> {
            Grab { user, amount: Amount::Exactly(1), req: Some(b"r") }
        }
        run(&mut sale, &Request::Grab(ask(&[0])), 2);
        for number in 1..=count {
            let user = [number];
            let wait = Wait { grab: ask(&user), until: 20 };
            assert!(matches!(run(&mut sale, &Request::Wait(wait), 2), Outcome::Waiting(_)));
        }
        let outcome = sale.decide(&Request::Grab(ask(b"late")), &sales::at(40)).unwrap().outcome;
        assert_eq!(matches!(outcome, Outcome::Granted { .. }), is_granted, "{outcome:?}");
    }
}

/// Replies have the units available after the step's offers, and so have their replays.
#[test]
fn what_is_offered_in_the_same_step_is_available_no_more() {
    let restock = Restock { delta: 3, req: b"more" };
    let mut sale = sold_out(1, unlimited());
    let restocked = Outcome::Restocked { applied: 3, available: 2 };
    for _ in 0..2 {
        assert_eq!(run(&mut sale, &Request::Restock(restock), 4), restocked);
        assert_eq!((sale.balances().available, sale.list_totals().0), (2, 1));
    }
    // Expiries on behalf of waiters belong to the step, too.
    let mut sale = sold_out(3, unlimited());
    let withdrawal = Restock { delta: -2, req: b"less" };
    let withdrawn = Outcome::Restocked { applied: 0, available: 2 };
    for _ in 0..2 {
        assert_eq!(run(&mut sale, &Request::Restock(withdrawal), 60), withdrawn);
        assert_eq!((sale.balances().available, sale.list_totals().0), (2, 1));
    }
    let split =
        Split { part: 0, parts: NonZeroU16::MIN.saturating_add(1), id: b"s"[..].into(), total: 9 };
    let terms =
        Terms { split: Some(Box::new(split)), waitlist: Some(LIST), hold_ms: 50, ..unlimited() };
    let mut sale = created(0, terms);
    let user = (0..9u8).map(|byte| [byte]).find(|user| sale.is_home(user)).unwrap();
    let grab = Grab { user: &user, amount: Amount::Unsaid, req: Some(b"r") };
    run(&mut sale, &Request::Restock(Restock { delta: 1, req: b"r" }), 2);
    run(&mut sale, &Request::Grab(Grab { req: None, ..grab }), 2);
    run(&mut sale, &Request::Wait(Wait { grab, until: 0 }), 3);
    let receive = Receive { split: b"s", from: 1, total: 3 };
    let moved = Outcome::Moved { total: 3, available: 2 };
    for _ in 0..2 {
        assert_eq!(run(&mut sale, &Request::Receive(receive), 4), moved);
    }
}

/// A hold that is due at T is due by every clock, even by one that has stepped back, or by a slow
/// replica's.
#[test]
fn who_waits_is_served_soon_after_a_step_back_of_the_clock() {
    const MANY: u64 = OFFERS_PER_STEP_MAX as u64 + 5;
    for (until, due) in [(0, 700), (1500, 700), (1501, 700)] {
        let waitlist = Some(WaitTerms { max: MANY, ..LIST });
        let mut sale = created(MANY, Terms { hold_ms: 9000, waitlist, ..unlimited() });
        fn ask(user: &[u8], qty: u64) -> Grab<'_> {
            Grab { user, amount: Amount::Exactly(qty), req: Some(b"r") }
        }
        run(&mut sale, &Request::Grab(ask(b"u", MANY)), 2);
        for number in 0..MANY {
            let user = number.to_be_bytes();
            run(&mut sale, &Request::Wait(Wait { grab: ask(&user, 1), until }), 2);
        }
        let cancels = Settle { user: b"u", which: Which::Only, deed: Deed::Cancel };
        run(&mut sale, &Request::Settle(cancels), 1000);
        assert_eq!((sale.list_totals().0, waiting(&sale)), (64, 5));
        sale.forget_look();
        assert_eq!((sale.next_look(due), sale.next_look(due)), (Some(due), None));
        // An earlier deadline that was watched for the hold does not delay the waiter.
        sale.forget_look();
        assert_eq!(sale.next_look(1000), Some(1000));
    }
    let mut sale = created(1, Terms { hold_ms: 9000, waitlist: Some(LIST), ..unlimited() });
    let ask = |user| Grab { user, amount: Amount::Exactly(1), req: Some(b"r") };
    run(&mut sale, &Request::Grab(ask(b"u")), 2);
    run(&mut sale, &Request::Wait(Wait { grab: ask(b"w"), until: 900 }), 3);
    sale.forget_look();
    assert_eq!(sale.next_look(3), Some(900));
    run(&mut sale, &Request::Pause, 1000);
    assert_eq!((sale.next_look(700), sale.next_look(701)), (Some(700), None));
}
