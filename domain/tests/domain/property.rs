//! Long random sequences with numbers at every edge and ids of any bytes.
//!
//! Proptest generates a plan: amounts and times relative to the sale's state. So the edges that
//! matter are met often, and a failing case shrinks to a short one. The numbers are seeded: the
//! same cases in every run. `SECKILL_SEED` chooses other cases, `PROPTEST_CASES` their number.

mod plan;
mod strategies;

use std::cell::RefCell;
use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use seckill_domain::effect::{Change, Effect};

use super::compare::expected_counters;
use super::oracle::{Deed, Drawing, Op, Rules, FENCE_MS, INTEGER_MAX};
use super::rebuild;
use super::world::World;
use plan::Plan;
use strategies::{plan, sale};

const START: u64 = 1_000_000;

/// Outcomes and counters that random sequences must meet.
const OUTCOMES: [&str; 29] = [
    "granted",
    "already",
    "replayed",
    "overlimit",
    "soldout",
    "short",
    "notopen",
    "closed",
    "paused",
    "confirmed",
    "cancelled",
    "expired",
    "refunded",
    "reclaimed",
    "imported",
    "refused",
    "fenced",
    "owing",
    "outbox",
    "denied",
    "busy",
    "drawn",
    "round",
    "admitted",
    "sent",
    "received",
    "below",
    "taken",
    "kept",
];

fn runner(cases: u32) -> TestRunner {
    let mut config = Config { failure_persistence: None, ..Config::default() };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = cases;
    }
    let number = std::env::var("SECKILL_SEED").map_or(1, |seed| seed.parse().unwrap());
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&u64::to_le_bytes(number));
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seed))
}

/// Executes the plans and returns which outcomes were met.
fn live(supply: u64, rules: Rules, plans: &[Plan]) -> Result<Vec<&'static str>, String> {
    let Some(mut world) = World::open(supply, rules, START, 500)? else {
        return Ok(Vec::new());
    };
    for plan in plans {
        let op = plan.settle(&world);
        world.step(&op)?;
    }
    rebuild::check(&world.sale)?;
    let json = serde_json::to_value(world.sale.status(&world.now())).unwrap();
    for (field, number) in world.oracle.numbers(world.clock) {
        if json[field] != number {
            return Err(format!("{field} in JSON is {}, should be {number}", json[field]));
        }
    }
    for (field, number) in expected_counters(&world.oracle) {
        if json["counters"][field] != number {
            return Err(format!("counter {field} in JSON should be {number}"));
        }
    }
    let met = expected_counters(&world.oracle).into_iter().filter(|(_, count)| *count > 0);
    let mut met: Vec<_> = met.map(|(outcome, _)| outcome).collect();
    let oracle = &world.oracle;
    let others = [
        ("refused", oracle.rows.iter().any(|row| row.refused)),
        ("fenced", !oracle.fences.is_empty()),
        ("owing", oracle.numbers(0).contains(&("deficit", 1))),
        ("outbox", oracle.rules.outbox.is_some()),
        ("drawn", oracle.rules.drawing != Drawing::Named && !oracle.rows.is_empty()),
        ("round", oracle.totals().len() > 2),
        ("admitted", !oracle.admitted.is_empty()),
        ("sent", oracle.pairs().iter().any(|(_, sent, _)| *sent > 0)),
        ("received", oracle.pairs().iter().any(|(.., received)| *received > 0)),
        ("kept", oracle.rows.iter().any(|row| row.units.len() < row.first_units.len())),
        ("below", oracle.part_numbers().first().is_some_and(|put_in| *put_in < 0)),
    ];
    met.extend(others.into_iter().filter(|(_, is_so)| *is_so).map(|(what, _)| what));
    Ok(met)
}

// Rules: 3faf 9768 a227 fc19 7adc
#[test]
fn long_random_sequences() {
    let sales = (sale(), vec(plan(), 1..150));
    let seen = RefCell::new(BTreeSet::new());
    let outcome = runner(8000).run(&sales, |((supply, rules), plans)| {
        let met = live(supply, rules, &plans).map_err(TestCaseError::fail)?;
        seen.borrow_mut().extend(met);
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
    // Otherwise a generator that only makes refused commands would pass, too.
    for outcome in OUTCOMES {
        assert!(seen.borrow().contains(outcome), "no case met {outcome}");
    }
}

/// Big sales without a limit, with large accounts, pieces and pages.
#[test]
fn many_grants_of_few_users() {
    let rules = Rules::default();
    let outcome = runner(30).run(&vec(plan(), 400..800), |plans| {
        live(INTEGER_MAX / 2, rules, &plans).map(drop).map_err(TestCaseError::fail)
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}

/// The command that is sent again, and its first result.
struct Done {
    op: Op,
    /// The deadline that an EXTEND asked for.
    deadline: u64,
    /// Time from which the command counts as new, because its fence is forgotten.
    until: u64,
}

impl Done {
    /// The record of `op`, if it changes something other than expiries.
    fn of(world: &World, op: &Op) -> Option<Done> {
        let t = world.sale.time(&world.now());
        let changes = world.changes(op)?;
        let fences = |change: &Change<'_>| matches!(change.effect, Effect::Fence(_));
        let deadline = match op {
            Op::Settle { deed: Deed::Extend(ms), .. } => t + ms,
            Op::Settle { .. } | Op::Import { .. } | Op::Restock { .. } => 0,
            Op::KeepUnits { .. } | Op::ImportUnits { .. } => 0,
            // SEND is left out: a repeated SEND may move units that were not available at first.
            Op::Receive { .. } | Op::Elsewhere { .. } => 0,
            _ => return None,
        };
        let until = if changes.iter().any(fences) { t + FENCE_MS } else { u64::MAX };
        let did = changes.iter().any(|change| !expires(change));
        did.then(|| Done { op: op.clone(), deadline, until })
    }

    /// Sends the command again. The only changes may be expiries of holds that are due.
    fn again(&self, world: &World) -> Result<(), String> {
        let t = world.sale.time(&world.now());
        let mut op = self.op.clone();
        if let Op::Settle { deed: Deed::Extend(ms), .. } = &mut op {
            *ms = self.deadline.saturating_sub(t).max(1);
        }
        let changes = world.changes(&op).ok_or("not a command")?;
        match t >= self.until || changes.iter().all(expires) {
            true => Ok(()),
            false => Err(format!("{op:?} does something again: {changes:?}")),
        }
    }
}

fn expires(change: &Change<'_>) -> bool {
    matches!(change.effect, Effect::Expire(_))
}

/// Every command is repeated at every later point of an order's life. Sales with rounds are left
/// out: an order is forgotten with its round, and its command then counts as new.
#[test]
fn what_was_done_is_not_done_again() {
    let once = sale().prop_map(|(supply, rules)| (supply, Rules { every: None, ..rules }));
    let sales = (once, vec(plan(), 1..100));
    let outcome = runner(2500).run(&sales, |((supply, rules), plans)| {
        let world = World::open(supply, rules, START, 500).map_err(TestCaseError::fail)?;
        let Some(mut world) = world else { return Ok(()) };
        let mut done: Vec<Done> = Vec::new();
        for plan in plans {
            let op = plan.settle(&world);
            // An IMPORT restores the quantity first granted, so an earlier KEEP takes effect again.
            if matches!(op, Op::Import { .. }) {
                done.retain(|done| !matches!(done.op, Op::Settle { deed: Deed::Keep(..), .. }));
            }
            done.extend(Done::of(&world, &op));
            world.step(&op).map_err(TestCaseError::fail)?;
            done.iter().try_for_each(|done| done.again(&world)).map_err(TestCaseError::fail)?;
        }
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}

// Rules: 329a
#[test]
fn a_restock_id_is_known_for_1024_restocks() {
    let mut world = World::open(5, Rules::default(), START, 500).unwrap().unwrap();
    let restock = |number: u64, delta: i64| {
        // Ids of full length, so that their piece is as long as it can be.
        let req = format!("{number:0128}").into_bytes();
        Op::Restock { delta, req }
    };
    for number in 0..1024 {
        world.step(&restock(number, if number % 3 == 0 { -1 } else { 1 })).unwrap();
    }
    let full = world.sale.balances().version;
    // All request ids are known, with their own delta and with another one.
    for number in [0, 1, 500, 1023] {
        world.step(&restock(number, if number % 3 == 0 { -1 } else { 1 })).unwrap();
        world.step(&restock(number, 9)).unwrap();
    }
    assert_eq!(world.sale.balances().version, full);
    rebuild::check(&world.sale).unwrap();
    // Two more restocks: one that applies nothing, which is forgotten, and one that is kept.
    world.step(&restock(2000, -9999)).unwrap();
    world.step(&restock(2001, -1)).unwrap();
    assert_eq!(world.sale.balances().version, full + 2);
    world.step(&restock(2001, -1)).unwrap();
    world.step(&restock(2, 1)).unwrap();
    assert_eq!(world.sale.balances().version, full + 2);
    world.step(&restock(0, 7)).unwrap();
    assert_eq!(world.sale.balances().version, full + 3);
    for op in [Op::Promote, restock(2001, -1), Op::Restore, restock(3, -1), Op::Rewrite] {
        world.step(&op).unwrap();
    }
    rebuild::check(&world.sale).unwrap();
}
