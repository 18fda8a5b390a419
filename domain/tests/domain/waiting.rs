//! Who on the waiting list is served, dropped or left where they are, each rule by itself.

use seckill_domain::effect::{Change, Effect, Joining};
use seckill_domain::outcome::{Misuse, Outcome};
use seckill_domain::request::{Amount, Grab, Import, Request, Terms, TermsChange, Wait};
use seckill_domain::waitlist::{WaitTerms, WaitTermsChange};
use seckill_domain::Sale;
use seckill_oracle::sales::{created, run};

const LIST: WaitTerms = WaitTerms { max: 9, offer_ms: 0, overtake: 0 };

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
    let mut sale = sold_out(1, Terms { limit: 0, ..Terms::default() });
    let refused = run(&mut sale, &Request::Alter(change.clone()), 4);
    assert_eq!(refused, Outcome::Misuse(Misuse::OfferNeedsTime));
    let joining = Joining { ticket: 1, user: b"w", req: b"r", qty: 1, until: 0 };
    let wait = [Change::untimed(Effect::Wait(joining))];
    for (hold_ms, is_taken) in [(1, true), (0, false)] {
        let mut sale = created(1, Terms { hold_ms: 50, waitlist: Some(LIST), ..Terms::default() });
        let change = TermsChange { hold_ms: Some(hold_ms), ..change.clone() };
        assert_eq!(run(&mut sale, &Request::Alter(change), 2), Outcome::Done);
        let version = sale.balances().version;
        assert_eq!(sale.apply(version, wait.clone()).is_ok(), is_taken, "{hold_ms}");
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
