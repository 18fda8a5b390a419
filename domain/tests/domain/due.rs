//! The state of a sale between calls: its next due time, the round of a grant, the cursor of a
//! page, a failed outbox.

use seckill_domain::outcome::Outcome;
use seckill_domain::request::{Amount, Grab, Now, Request, Terms, Wait};
use seckill_domain::Sale;

use super::oracle::{Every, Rules};
use super::world::{after_rounds, commit, World};

const START: u64 = 1_000_000;
const NODE_EPOCH: u64 = 500;

fn at(clock_ms: u64) -> Now {
    Now { clock_ms, node_epoch: NODE_EPOCH }
}

fn opened(supply: u64, rules: Rules) -> Sale {
    World::open(supply, Rules { limit: 0, ..rules }, START, NODE_EPOCH).unwrap().unwrap().sale
}

/// A sale with rounds of one second, the first from `START` on.
fn repeating(rules: Rules) -> Sale {
    let every = Every { period: 1000, offset: START, lasts: 1000, carry: false };
    opened(9, Rules { every: Some(every), ..rules })
}

/// Commits the rounds that begin first, then decides and commits a request.
fn make(sale: &mut Sale, request: &Request<'_>, ms: u64) -> Outcome {
    let decision = after_rounds(sale, request, &at(START + ms));
    commit(sale, &decision);
    decision.outcome
}

/// `count` grants of one unit, each of another user.
fn grab(sale: &mut Sale, count: u64, ms: u64) {
    for number in 0..count {
        let user = number.to_be_bytes();
        let grab = Grab { user: &user, amount: Amount::Exactly(1), req: None };
        let outcome = make(sale, &Request::Grab(grab), ms);
        assert!(matches!(outcome, Outcome::Granted { .. }), "{outcome:?}");
    }
}

/// A hold of any round expires, or a round begins, while the sale is open.
#[test]
fn what_is_due_next_in_a_sale_that_repeats() {
    for (closes, next) in [(0, Some(2000)), (2001, Some(2000)), (2000, None), (1999, None)] {
        let close_at = if closes == 0 { 0 } else { START + closes };
        let mut sale = repeating(Rules { hold_ms: 1500, close_at, ..Rules::default() });
        let due = |ms: u64| Some(START + ms);
        assert_eq!((sale.next_deadline(), sale.holds_len()), (None, 0));
        assert_eq!(sale.next_due(), due(1000));
        // The sweeper is asked once for a given time.
        sale.forget_look();
        assert_eq!((sale.next_look(START), sale.next_look(START)), (due(1000), None));
        sale.forget_look();
        assert_eq!(sale.next_look(START), due(1000));
        grab(&mut sale, 2, 700);
        grab(&mut sale, 1, 1100);
        // Two holds of the previous round until 2200, one hold of this round until 2600.
        assert_eq!((sale.next_deadline(), sale.holds_len()), (due(2200), 3));
        assert_eq!(sale.next_round_at(&at(START + 1100)), next.and_then(due));
        assert_eq!(sale.next_due(), due(next.unwrap_or(2200)), "{closes}");
    }
}

/// The clock determines the next round, even if no call has begun it.
#[test]
fn when_the_next_round_opens() {
    let sale = repeating(Rules::default());
    for (now, next) in [(0, 1000), (999, 1000), (1000, 2000), (5500, 6000)] {
        assert_eq!(sale.next_round_at(&at(START + now)), Some(START + next), "{now}");
    }
    // Before the series begins it is the moment at which GRAB will find the sale open.
    let every = Every { period: 1000, offset: START + 200, lasts: 500, carry: false };
    for (open_at, opens) in [(0, 200), (100, 200), (250, 250), (900, 1200), (2300, 2300)] {
        let open_at = if open_at == 0 { 0 } else { START + open_at };
        let rules = Rules { every: Some(every), open_at, ..Rules::default() };
        let sale = opened(9, rules);
        assert_eq!(sale.next_round_at(&at(START)), Some(START + opens), "{open_at}");
        let next = (opens - 200) / 1000 * 1000 + 1200;
        assert_eq!(sale.next_round_at(&at(START + opens)), Some(START + next), "{open_at}");
    }
    let mut plain = opened(9, Rules { hold_ms: 50, ..Rules::default() });
    plain.forget_look();
    assert_eq!(
        (plain.next_round_at(&at(START)), plain.next_due(), plain.next_look(START)),
        (None, None, None)
    );
    grab(&mut plain, 1, 7);
    assert_eq!((plain.next_due(), plain.next_look(START)), (Some(START + 57), Some(START + 57)));
    assert_eq!((plain.holds_len(), plain.round_totals().count()), (1, 0));
    // Due by T is due now, whatever this clock says.
    make(&mut plain, &Request::Pause, 60);
    plain.forget_look();
    assert_eq!(plain.next_look(START + 20), Some(START + 20));
}

#[test]
fn rounds_have_their_grants_and_pages_go_on() {
    let mut sale = repeating(Rules::default());
    assert_eq!((sale.next_seq(0), sale.seqs_of_round(0)), (None, None));
    for (count, ms) in [(2, 500), (3, 1500), (1, 2500)] {
        grab(&mut sale, count, ms);
    }
    // Only the total of the first round is kept.
    let rounds = [None, None, None, Some(1), Some(1), Some(1), Some(2), None];
    for (seq, round) in (0..).zip(rounds) {
        assert_eq!(sale.grant(seq).map(|grant| grant.round), round, "{seq}");
    }
    for (seq, next) in [(0, Some(3)), (2, Some(3)), (3, Some(4)), (5, Some(6)), (6, None)] {
        assert_eq!(sale.next_seq(seq), next, "{seq}");
    }
    assert_eq!((sale.next_seq(u64::MAX), sale.seqs_of_round(0)), (None, None));
    assert_eq!((sale.seqs_of_round(1), sale.seqs_of_round(2)), (Some((3, 5)), Some((6, 6))));
    assert_eq!(sale.seqs_of_round(3), None);
    let totals: Vec<_> =
        sale.round_totals().map(|it| (it.round, it.supply, it.sold, it.winners)).collect();
    assert_eq!(totals, [(2, 9, 1, 1), (1, 9, 3, 3), (0, 9, 2, 2)]);
}

/// A hundred rounds are shown, the current one among them.
#[test]
fn the_oldest_totals_are_forgotten() {
    let mut sale = repeating(Rules::default());
    for round in 0..130 {
        grab(&mut sale, 1, round * 1000 + 500);
        let shown: Vec<u64> = sale.round_totals().map(|total| total.round).collect();
        let expected = ((round + 1).saturating_sub(100)..=round).rev();
        assert_eq!(shown, expected.collect::<Vec<_>>());
    }
}

/// The sweeper has work exactly when a waiter can be served or a waiter's time is over.
#[test]
fn when_those_who_wait_are_served() {
    let list = super::oracle::ListRules { max: 9, offer_ms: 40, overtake: 0 };
    let mut sale = opened(1, Rules { hold_ms: 50, list: Some(list), ..Rules::default() });
    let serves = |sale: &Sale, ms: u64| sale.has_due_waiter(&at(START + ms));
    assert!(!serves(&sale, 0) && !serves(&opened(1, Rules::default()), 0));
    grab(&mut sale, 1, 1);
    let wait = |until| {
        let grab = Grab { user: b"w", amount: Amount::Exactly(1), req: Some(b"r") };
        Request::Wait(Wait { grab, until: START + until })
    };
    assert!(matches!(make(&mut sale, &wait(30), 2), Outcome::Waiting(_)));
    assert_eq!([2, 29, 30, 31].map(|ms| serves(&sale, ms)), [false, false, true, true]);
    assert_eq!(sale.next_due(), Some(START + 30));
    assert_eq!(sale.list_totals(), (0, 0));
    // The waiters' UNTIL comes first, then the hold's deadline: no waiter is left for an offer.
    let decision = sale.decide_expiry(100, &at(START + 30)).unwrap();
    commit(&mut sale, &decision);
    assert_eq!((sale.list_totals(), sale.next_due()), ((0, 1), Some(START + 51)));
    assert!(matches!(make(&mut sale, &wait(90), 31), Outcome::Waiting(_)));
    let decision = sale.decide_expiry(100, &at(START + 51)).unwrap();
    commit(&mut sale, &decision);
    assert_eq!((sale.list_totals(), sale.next_due()), ((1, 1), Some(START + 91)));
    assert_eq!((sale.holds_len(), sale.waitlist().map(|list| list.len())), (1, Some(0)));
}

#[test]
fn units_that_were_asked_for() {
    let units = [Amount::Exactly(3), Amount::UpTo(4), Amount::Unsaid].map(Amount::units);
    assert_eq!(units, [3, 4, 1]);
}

/// STATUS shows an outbox that took no entry, of a sale that has one.
#[test]
fn an_outbox_that_failed_is_shown() {
    let shown = |sale: &Sale| {
        let json = serde_json::to_value(sale.status(&at(START))).unwrap();
        json["outbox_error"].clone()
    };
    for (outbox, error) in [(Some('s'), 1), (None, 0)] {
        let mut sale = opened(1, Rules { outbox, ..Rules::default() });
        assert_eq!(shown(&sale), 0);
        sale.note_outbox_failed();
        assert_eq!(shown(&sale), error);
        let plan = sale.decide(&Request::Pause, &at(START)).unwrap().plan.unwrap();
        sale.commit(&plan);
        assert_eq!(shown(&sale), 0);
    }
    assert_eq!(Terms::default().offer_ms(), 0);
}
