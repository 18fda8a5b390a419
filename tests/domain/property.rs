//! Long random sequences with numbers at every edge and ids of any bytes.
//!
//! What is generated is a plan: amounts and times relative to where the sale stands, so that the
//! edges that matter are met often and a failing case shrinks to a short one. The numbers are
//! seeded: the same cases in every run. `SECKILL_SEED` chooses others, `PROPTEST_CASES` how many.

use std::cell::RefCell;
use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use seckill::sale::limits::{REQ_BYTES_MAX, TIME_MS_MAX, USER_BYTES_MAX};

use super::oracle::{Ask, Bytes, Op, Oracle, Patch, Rules, INTEGER_MAX};
use super::rebuild;
use super::world::World;

const START: u64 = 1_000_000;

/// The outcomes that random sequences must meet.
const OUTCOMES: [&str; 9] = [
    "granted",
    "already",
    "replayed",
    "overlimit",
    "soldout",
    "short",
    "notopen",
    "closed",
    "paused",
];

/// A number that is given as it is, or by its distance from where something stands.
#[derive(Clone, Copy, Debug)]
enum Size {
    Exactly(u64),
    FromAvailable(i64),
    FromAllowance(i64),
    FromRoom(i64),
}

#[derive(Clone, Copy, Debug)]
enum Tick {
    Forward(u64),
    Back(u64),
    FromOpen(i64),
    FromClose(i64),
    To(u64),
}

/// One step, to be made an operation where the sale stands then.
#[derive(Clone, Debug)]
enum Plan {
    Grab { user: Bytes, upto: bool, size: Size, req: Option<Bytes> },
    Restock { withdraws: bool, size: Size, req: Bytes },
    Tick(Tick),
    Plain(Op),
}

/// Bytes that have tripped programs before.
fn hostile(len_max: usize) -> impl Strategy<Value = Bytes> {
    let known: Vec<Bytes> = vec![
        b"a".to_vec(),
        b"ab".to_vec(),
        b":".to_vec(),
        b"g".to_vec(),
        b"\0".to_vec(),
        b"\r\n".to_vec(),
        b"%s%n".to_vec(),
        b"Gq2r3:".to_vec(),
        vec![0xff; 3],
        vec![0xff; len_max],
        vec![b'a'; len_max],
    ];
    prop_oneof![12 => select(known), 1 => vec(any::<u8>(), 1..=len_max)]
}

/// A number of the contract, likely at an edge.
fn number() -> impl Strategy<Value = u64> {
    let edges = vec![0, 1, 2, 3, 10, INTEGER_MAX / 2, INTEGER_MAX - 1, INTEGER_MAX];
    prop_oneof![4 => 0..6u64, 2 => select(edges), 1 => 0..=INTEGER_MAX]
}

fn size() -> impl Strategy<Value = Size> {
    prop_oneof![
        4 => number().prop_map(Size::Exactly),
        2 => (-2..=2i64).prop_map(Size::FromAvailable),
        2 => (-1..=1i64).prop_map(Size::FromAllowance),
        1 => (-1..=1i64).prop_map(Size::FromRoom),
    ]
}

fn moment() -> impl Strategy<Value = u64> {
    let edges = vec![0, 1, START - 1, START, TIME_MS_MAX, TIME_MS_MAX + 1, INTEGER_MAX];
    prop_oneof![3 => START..START + 60, 1 => select(edges)]
}

fn rules() -> impl Strategy<Value = Rules> {
    let hold = Just(0u64);
    let open_at = prop_oneof![2 => Just(0), 1 => moment()];
    let close_at = prop_oneof![2 => Just(0), 1 => moment()];
    let grabs = prop_oneof![2 => Just(0), 2 => 1..4u64, 1 => number()];
    (number(), grabs, hold, open_at, close_at).prop_map(
        |(limit, grabs, hold_ms, open_at, close_at)| Rules {
            limit,
            grabs,
            hold_ms,
            open_at,
            close_at,
            outbox: None,
        },
    )
}

fn patch() -> impl Strategy<Value = Patch> {
    (rules(), 1..32u8).prop_map(|(rules, named)| {
        let given = |bit: u8, number: u64| (named >> bit & 1 == 1).then_some(number);
        Patch {
            limit: given(0, rules.limit),
            grabs: given(1, rules.grabs),
            hold_ms: given(2, rules.hold_ms),
            open_at: given(3, rules.open_at),
            close_at: given(4, rules.close_at),
            outbox: None,
        }
    })
}

fn tick() -> impl Strategy<Value = Tick> {
    prop_oneof![
        4 => (0..20u64).prop_map(Tick::Forward),
        2 => (0..50u64).prop_map(Tick::Back),
        2 => (-1..=1i64).prop_map(Tick::FromOpen),
        2 => (-1..=1i64).prop_map(Tick::FromClose),
        1 => moment().prop_map(Tick::To),
    ]
}

fn plan() -> impl Strategy<Value = Plan> {
    let req = || hostile(REQ_BYTES_MAX);
    let grab = (hostile(USER_BYTES_MAX), any::<bool>(), size(), prop::option::of(req()))
        .prop_map(|(user, upto, size, req)| Plan::Grab { user, upto, size, req });
    let restock = (any::<bool>(), size(), req()).prop_map(|(withdraws, size, req)| Plan::Restock {
        withdraws,
        size,
        req,
    });
    let init = (number(), rules()).prop_map(|(supply, rules)| Op::Init { supply, rules });
    prop_oneof![
        30 => grab,
        8 => restock,
        8 => tick().prop_map(Plan::Tick),
        2 => select(vec![Op::Pause, Op::Resume]).prop_map(Plan::Plain),
        // As often as PAUSE and RESUME together, so that most sales are open most of the time.
        2 => Just(Plan::Plain(Op::Resume)),
        3 => patch().prop_map(|patch| Plan::Plain(Op::Alter(patch))),
        1 => init.prop_map(Plan::Plain),
        1 => select(vec![Op::Promote, Op::Rewrite, Op::Restore]).prop_map(Plan::Plain),
    ]
}

fn shifted(number: u64, by: i64) -> u64 {
    number.saturating_add_signed(by)
}

impl Size {
    /// A quantity as a parser lets it through.
    fn settle(self, oracle: &Oracle, user: &[u8]) -> u64 {
        let number = match self {
            Size::Exactly(number) => number,
            Size::FromAvailable(by) => shifted(oracle.available(), by),
            Size::FromAllowance(by) => shifted(oracle.allowance(user).unwrap_or(1), by),
            Size::FromRoom(by) => shifted(INTEGER_MAX - oracle.supply(), by),
        };
        number.clamp(1, INTEGER_MAX)
    }
}

impl Tick {
    fn settle(self, world: &World) -> u64 {
        let rules = world.oracle.rules();
        let clock = match self {
            Tick::Forward(by) => world.clock.saturating_add(by),
            Tick::Back(by) => world.clock.saturating_sub(by),
            Tick::FromOpen(by) => shifted(rules.open_at, by),
            Tick::FromClose(by) => shifted(rules.close_at, by),
            Tick::To(clock) => clock,
        };
        clock.clamp(1, TIME_MS_MAX)
    }
}

impl Plan {
    fn settle(&self, world: &World) -> Op {
        match self {
            Plan::Grab { user, upto, size, req } => {
                let qty = size.settle(&world.oracle, user);
                let ask = if *upto { Ask::UpTo(qty) } else { Ask::Qty(qty) };
                Op::Grab { user: user.clone(), ask, req: req.clone() }
            }
            Plan::Restock { withdraws, size, req } => {
                let size = size.settle(&world.oracle, b"") as i64;
                Op::Restock { delta: if *withdraws { -size } else { size }, req: req.clone() }
            }
            Plan::Tick(tick) => Op::Clock(tick.settle(world)),
            Plan::Plain(op) => op.clone(),
        }
    }
}

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

/// Lives through the plans and tells which outcomes were met.
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
    for (field, number) in world.oracle.counters() {
        if json["counters"][field] != number {
            return Err(format!("counter {field} in JSON should be {number}"));
        }
    }
    let met = world.oracle.counters().into_iter().filter(|(_, count)| *count > 0);
    Ok(met.map(|(outcome, _)| outcome).collect())
}

#[test]
fn long_random_sequences() {
    let sales = (number(), rules(), vec(plan(), 1..150));
    let seen = RefCell::new(BTreeSet::new());
    let outcome = runner(1500).run(&sales, |(supply, rules, plans)| {
        let met = live(supply, rules, &plans).map_err(TestCaseError::fail)?;
        seen.borrow_mut().extend(met);
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
    // A generator that no longer gets anywhere would pass too.
    for outcome in OUTCOMES {
        assert!(seen.borrow().contains(outcome), "no case met {outcome}");
    }
}

/// Big sales without a limit, where accounts, pieces and pages get long.
#[test]
fn many_grants_of_few_users() {
    let rules = Rules::default();
    let outcome = runner(20).run(&vec(plan(), 400..800), |plans| {
        live(INTEGER_MAX / 2, rules, &plans).map(drop).map_err(TestCaseError::fail)
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}

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
    let full = world.sale.core().version;
    // All are known, with the same delta and with another one.
    for number in [0, 1, 500, 1023] {
        world.step(&restock(number, if number % 3 == 0 { -1 } else { 1 })).unwrap();
        world.step(&restock(number, 9)).unwrap();
    }
    assert_eq!(world.sale.core().version, full);
    rebuild::check(&world.sale).unwrap();
    // One more, one that applies nothing: the first is forgotten, the second is not.
    world.step(&restock(2000, -9999)).unwrap();
    world.step(&restock(2001, -1)).unwrap();
    assert_eq!(world.sale.core().version, full + 2);
    world.step(&restock(2001, -1)).unwrap();
    world.step(&restock(2, 1)).unwrap();
    assert_eq!(world.sale.core().version, full + 2);
    world.step(&restock(0, 7)).unwrap();
    assert_eq!(world.sale.core().version, full + 3);
    for op in [Op::Promote, restock(2001, -1), Op::Restore, restock(3, -1), Op::Rewrite] {
        world.step(&op).unwrap();
    }
    rebuild::check(&world.sale).unwrap();
}
