//! Who on the waiting list is served, dropped or left where they are, each rule by itself.

use seckill_domain::effect::{Change, Effect, Granting, Joining};
use seckill_domain::limits::OFFERS_PER_STEP_MAX;
use seckill_domain::multi_grab::{decide_multi_grab, MultiOutcome};
use seckill_domain::outcome::{Misuse, Outcome, Place};
use seckill_domain::record::{Asked, ReqTag};
use seckill_domain::request::{Amount, Grab, Import, Request, Restock, Terms, TermsChange, Wait};
use seckill_domain::waitlist::{WaitTerms, WaitTermsChange};
use seckill_domain::Sale;
use seckill_oracle::sales::{self, created, run};

const LIST: WaitTerms = WaitTerms { max: 9, offer_ms: 0, overtake: 0 };

/// Nobody is limited.
fn unlimited() -> Terms {
    Terms { limit: 0, ..Terms::default() }
}

/// `supply` units under `terms`, all of them held by one user from 2 on; one waits for a unit.
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

/// Nobody waits for an offer that would never end, or end at once.
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
        let joining = Joining { ticket, user: b"w", req: b"r", qty: 1, until: 0 };
        let (version, wait) = (sale.balances().version, Change::untimed(Effect::Wait(joining)));
        assert_eq!(sale.apply(version, [wait]).is_ok(), is_taken, "{hold_ms} {ticket}");
    }
}

/// What is promised to somebody in the same step counts before they are offered anything.
#[test]
fn an_import_counts_for_one_who_waits() {
    for (limit, grabs, totals) in [(1, 0, (0, 1)), (0, 1, (0, 1)), (2, 2, (1, 0))] {
        let mut sale = sold_out(2, Terms { limit: limit.max(2), ..Terms::default() });
        let terms = TermsChange { limit: Some(limit), grabs: Some(grabs), ..Default::default() };
        run(&mut sale, &Request::Alter(terms), 4);
        // The hold is due: one of its units is owed to the import, the other is for who waits.
        let import = Import { user: b"w", qty: 1, req: b"other", at: None, no_deficit: false };
        run(&mut sale, &Request::Import(import), 60);
        assert_eq!((sale.list_totals(), waiting(&sale)), (totals, 0), "{limit} {grabs}");
        assert_eq!(sale.balances().available, totals.1);
    }
}

/// From the moment on that ends an entry it is as if it were gone, before anything drops it.
#[test]
fn an_entry_is_over_when_its_time_has_come() {
    let ask = |user| Grab { user, amount: Amount::Exactly(1), req: Some(b"r") };
    for (close_at, until) in [(0, 40), (40, 0)] {
        let mut sale =
            created(1, Terms { hold_ms: 50, close_at, waitlist: Some(LIST), ..unlimited() });
        run(&mut sale, &Request::Grab(ask(b"u")), 2);
        run(&mut sale, &Request::Wait(Wait { grab: ask(b"w"), until }), 3);
        let at = |ms| sale.decide(&Request::Grab(ask(b"w")), &sales::at(ms)).outcome;
        let place = Place { ticket: 1, ahead: 0, units_ahead: 0 };
        assert_eq!(at(39), Outcome::Waiting(place));
        let over = if close_at == 0 { Outcome::SoldOut { held: 1 } } else { Outcome::Closed };
        assert_eq!(at(40), over);
    }
}

/// Who comes back when their entry is over drops it themselves, once, and may buy what is there.
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

/// What a log may say of those who wait, and of what they wait for.
#[test]
fn who_waits_is_on_the_list_once_and_for_one_order() {
    let sale = sold_out(2, unlimited());
    let wait = |user, req| Effect::Wait(Joining { ticket: 2, user, req, qty: 1, until: 0 });
    let grant = |user, req| {
        let req = Some(ReqTag { id: req, asked: Asked::Exactly });
        Effect::Grant(Granting { user, req, qty: 1, hold_ms: 50 })
    };
    let leave = || Effect::Leave { ticket: 1 };
    let restock = || Effect::Restock { req: b"r", delta: 9, applied: 9 };
    let offer = |hold_ms, passed| Effect::Offer { ticket: 1, hold_ms, passed };
    let alter = || Effect::Alter(TermsChange { limit: Some(9), ..Default::default() }.into());
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

/// An order that waits for one sale can't be one for several; another of its user is refused there.
#[test]
fn an_order_that_waits_is_none_for_several_sales() {
    let (waits, other) = (sold_out(1, unlimited()), created(9, unlimited()));
    let Some(place) = waits.place(b"w") else { panic!("nobody waits") };
    let refused = MultiOutcome::Refused { index: 0, outcome: Outcome::Waiting(place) };
    for (req, expected) in [
        (Some(&b"r"[..]), MultiOutcome::Misuse(Misuse::ReqMismatch)),
        (Some(b"other"), refused.clone()),
        (None, refused),
    ] {
        let grab = Grab { user: b"w", amount: Amount::Exactly(1), req };
        let decided = decide_multi_grab(&[(&waits, grab), (&other, grab)], &sales::at(5));
        assert_eq!(decided.outcome, expected);
    }
}

/// A step lets a thousand due holds expire for those who wait, and goes on in the next.
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

/// A step drops no more entries than it makes offers, and goes on in the next; also while nobody
/// is offered anything.
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
            let decision = sale.decide_expiry(1, &sales::at(40));
            sale.commit(&decision.plan.unwrap());
            assert_eq!((sale.list_totals(), waiting(&sale)), ((0, MANY - left), left));
        }
    }
}
