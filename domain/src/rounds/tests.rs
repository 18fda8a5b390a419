//! Beginnings of rounds, rounds that are kept, and a sale across its rounds.

#![cfg(test)]

use super::*;
use crate::decide::{decide_new, NextRound};
use crate::effect::{self, Change, Effect};
use crate::ledger::NewGrant;
use crate::model::outcome::Outcome;
use crate::request::{Amount, Grab, Import, Request, Terms};
use crate::testing::{at, bytes_of, commit, created, init, reloaded, run};
use crate::Sale;

/// Rounds of 1000 ms from 300 on, open for 100 ms.
const SCHEDULE: Schedule =
    Schedule { period_ms: 1000, offset_ms: 300, lasts_ms: 100, carry: false };

#[test]
fn times_of_rounds() {
    assert_eq!([0, 299, 300, 1299, 1300].map(|t| SCHEDULE.round_at(t)), [0, 0, 0, 0, 1]);
    let opens = [0, 300, 399, 400, 1299, 1300].map(|t| SCHEDULE.opens_at(t));
    assert_eq!(opens, [300, 300, 399, 1300, 1300, 1300]);
    assert_eq!([0, 399, 400, 1399, 1400].map(|t| SCHEDULE.first_open_after(t)), [0, 0, 1, 1, 2]);
}

#[test]
fn periods_and_what_of_them_is_open_have_bounds() {
    let check = |period_ms, offset_ms, lasts_ms| {
        Schedule { period_ms, offset_ms, lasts_ms, carry: false }.check()
    };
    let most = TIME_MS_MAX;
    for (period, offset, lasts) in [(1, 0, 1), (most, most, most), (most, 0, 1), (9, most, 9)] {
        assert_eq!(check(period, offset, lasts), Ok(()), "{period} {offset} {lasts}");
    }
    for (period, offset) in [(0, 0), (most + 1, 0), (9, most + 1), (0, most + 1)] {
        assert_eq!(check(period, offset, 1), Err(Misuse::PeriodOutOfRange));
    }
    assert_eq!(check(9, 0, 0), Err(Misuse::LastsOutOfRange));
    assert_eq!(check(9, 0, 10), Err(Misuse::LastsOutOfRange));
}

/// The memory of dropped rounds is freed in small steps, and is counted until then.
#[test]
fn rounds_that_nobody_needs_are_given_back_step_by_step() {
    let old = |round, held| {
        let mut ledger = Ledger::starting([1, 2], 0, round);
        for number in 0..10_000_u64 {
            let user = &[number.to_be_bytes(); 30].concat()[..];
            let (req, state) = (None, crate::model::outcome::State::Sold);
            let new = NewGrant { user, req, qty: 1, state, at: 1, deadline: 0, epoch: 1 };
            ledger.push(&new, None);
        }
        OldRound { balances: Balances { round, held, ..Balances::default() }, ledger }
    };
    let mut rounds = Rounds::default();
    for (round, held) in [(0, 0), (1, 5), (2, 0), (3, 0)] {
        rounds.put_aside(old(round, held));
    }
    let (bytes, blocks) = (rounds.heap_bytes(), rounds.heap_blocks());
    let each = rounds.older[0].ledger.heap_bytes();
    let kept = |rounds: &Rounds| {
        rounds.older.capacity() * size_of::<Box<OldRound>>()
            + rounds.older.len() * size_of::<OldRound>()
    };
    assert_eq!(bytes, 4 * each + kept(&rounds));
    assert_eq!(blocks, 4 * rounds.older[0].ledger.heap_blocks() + 4 + 3);
    assert!(!rounds.free_some(), "all are needed");
    (0..4).rev().for_each(|index| rounds.prune(index));
    let left: Vec<u64> = rounds.older.iter().map(|old| old.balances.round).collect();
    assert_eq!((left, rounds.dropping.len()), (vec![1, 3], 2));
    let lists = kept(&rounds) + rounds.dropping.capacity() * size_of::<Ledger>();
    assert_eq!((rounds.heap_bytes(), rounds.heap_blocks()), (4 * each + lists, blocks - 2));
    assert_eq!(rounds.blocks_mut().count() + 2 * 4 + 3, {
        rounds.older.iter().map(|old| old.ledger.heap_blocks()).sum::<usize>() + 3
    });
    // Each step frees some; the largest number of blocks of a kind is 38 pages of records.
    let mut steps = 0;
    loop {
        let before = rounds.heap_blocks();
        let is_more = rounds.free_some();
        assert!(rounds.heap_blocks() < before);
        steps += 1;
        if !is_more {
            break;
        }
    }
    assert_eq!(steps, 2 * 38usize.div_ceil(FREED_BLOCKS_PER_STEP));
    (0..2).rev().for_each(|index| rounds.prune(index));
    assert_eq!((rounds.older.len(), rounds.free_some()), (2, false));
}

/// MEMORY USAGE and the cost of freeing: three lists and their contents.
#[test]
fn the_bytes_of_rounds_are_those_of_their_lists() {
    let mut rounds = Rounds::default();
    assert_eq!((rounds.heap_bytes(), rounds.heap_blocks()), (0, 3));
    rounds.totals = (0..50).map(|round| Total { round, supply: 9, sold: 1, winners: 1 }).collect();
    assert_eq!(rounds.heap_bytes(), rounds.totals.capacity() * size_of::<Total>());
    assert!(rounds.heap_bytes() >= 50 * 32);
}

fn sale_from(clock_ms: u64, supply: u64, terms: Terms) -> Sale {
    created(&init(supply, terms), clock_ms)
}

fn terms(schedule: Schedule, hold_ms: u64) -> Terms {
    Terms { schedule: Some(schedule), hold_ms, ..Terms::default() }
}

fn grab(sale: &mut Sale, user: &str, req: Option<&str>, clock_ms: u64) -> Outcome {
    let req = req.map(str::as_bytes);
    let grab = Grab { user: user.as_bytes(), amount: Amount::Unsaid, req };
    run(sale, &Request::Grab(grab), clock_ms)
}

fn wins(sale: &mut Sale, user: &str, clock_ms: u64) -> u64 {
    match grab(sale, user, None, clock_ms) {
        Outcome::Granted { grant, .. } => grant.seq,
        other => panic!("{user}: {other:?}"),
    }
}

#[test]
fn every_round_starts_anew_and_seq_runs_on() {
    let mut sale = sale_from(5000, 2, terms(SCHEDULE, 0));
    assert_eq!(sale.balances().round, 4);
    assert_eq!(sale.status(&at(5000)).state, "pending");
    assert_eq!(grab(&mut sale, "a", None, 5299), Outcome::NotOpen { in_ms: 1 });
    assert_eq!(wins(&mut sale, "a", 5300), 1);
    assert_eq!(sale.balances().round, 5);
    assert!(matches!(grab(&mut sale, "a", None, 5301), Outcome::Already(_)));
    assert_eq!(wins(&mut sale, "b", 5399), 2);
    assert_eq!(grab(&mut sale, "c", None, 5400), Outcome::NotOpen { in_ms: 900 });
    let status = sale.status(&at(5400));
    assert_eq!((status.state, status.sold, status.winners), ("pending", 2, 2));
    let times = (status.round, status.round_ends_at, status.next_round_at);
    assert_eq!(times, (Some(5), Some(5400), Some(6300)));
    assert_eq!(wins(&mut sale, "a", 6300), 3);
    assert_eq!((sale.balances().available, sale.balances().grants), (1, 3));
    let rows: Vec<_> = sale.grants_of(b"a").map(|grant| (grant.seq, grant.round)).collect();
    assert_eq!(rows, [(3, 6), (1, 5)]);
    assert_eq!((sale.seqs_of_round(5), sale.seqs_of_round(6)), (Some((1, 2)), Some((3, 3))));
    // Several rounds later only the current and the previous round are kept.
    assert_eq!(wins(&mut sale, "a", 9300), 4);
    assert_eq!(sale.grants_of(b"a").count(), 2);
    assert_eq!((sale.grant(1), sale.next_seq(0), sale.next_seq(3)), (None, Some(3), Some(4)));
    let totals: Vec<_> = sale.round_totals().map(|t| (t.round, t.sold, t.winners)).collect();
    assert_eq!(totals, [(9, 1, 1), (6, 1, 1), (5, 2, 2), (4, 0, 0)]);
}

#[test]
fn a_clock_that_steps_back_stays_in_the_round() {
    let mut sale = sale_from(1300, 10, terms(SCHEDULE, 0));
    wins(&mut sale, "a", 2300);
    assert!(matches!(grab(&mut sale, "a", None, 2299), Outcome::Already(_)));
    assert_eq!(sale.balances().round, 2);
    let early = Change::untimed(effect::Round { round: 2, supply: 5 });
    let mut broken = sale.clone();
    assert!(broken.apply(sale.balances().version, [early]).is_err());
    let effect = Effect::Round(effect::Round { round: 9, supply: 5 });
    let future = Change { elapsed_ms: 10, ..Change::untimed(effect) };
    assert!(broken.apply(sale.balances().version, [future]).is_err());
}

#[test]
fn what_rounds_can_not_keep_is_refused() {
    let refused = |schedule: Schedule| {
        decide_new(&init(0, terms(schedule, 0)), &at(1), [1, 2]).err().unwrap()
    };
    let zero = Schedule { period_ms: 0, ..SCHEDULE };
    let long = Schedule { lasts_ms: 1001, ..SCHEDULE };
    assert_eq!(refused(zero), Misuse::PeriodOutOfRange);
    assert_eq!(refused(long), Misuse::LastsOutOfRange);
    let mut sale = sale_from(1300, 10, terms(SCHEDULE, 0));
    let import = Import { user: b"i", qty: 5, req: b"r", at: None, no_deficit: false, units: &[] };
    let refused = run(&mut sale, &Request::Import(import), 1300);
    assert_eq!(refused, Outcome::Misuse(Misuse::RoundsTakeNoImport));
}

#[test]
fn a_round_with_many_winners_is_given_back_in_steps() {
    let supply = 200_000;
    let mut sale = sale_from(1300, supply, terms(SCHEDULE, 0));
    for user in 0..supply {
        let user = user.to_string();
        let grab = Grab { user: user.as_bytes(), amount: Amount::Unsaid, req: None };
        let decision = sale.decide(&Request::Grab(grab), &at(1300)).unwrap();
        commit(&mut sale, &decision);
    }
    let full = sale.memory_bytes();
    for clock_ms in [2300, 3300] {
        let NextRound(plan) = sale.decide_round(&at(clock_ms)).unwrap().unwrap_err();
        sale.commit(&plan);
    }
    assert!(sale.memory_bytes() > full / 3, "not yet given back");
    let mut steps = 0;
    while sale.free_some() {
        steps += 1;
    }
    assert!(steps > 1 && sale.memory_bytes() < full / 50, "{steps}");
    assert_eq!(bytes_of(&reloaded(&sale)), bytes_of(&sale));
}

/// Each entry of a hold is looked up in a recount, and counted as memory.
#[test]
fn each_entry_of_a_hold_counts() {
    let hold = |seq| Hold { seq, deadline: 9, user: 1, req: Some(2) };
    let mut index = Held::default();
    (1..=1000).for_each(|seq| index.insert(&hold(seq)));
    let wrong = |is_held: bool| {
        let hold_of = |seq| is_held.then(|| hold(seq));
        index.recount_some(&mut HeldRecount::default(), u64::MAX, hold_of)
    };
    assert_eq!([wrong(true), wrong(false)], [Some(0), Some(3000)]);
    assert!((50_000..400_000).contains(&index.heap_bytes()), "{} bytes", index.heap_bytes());
}
