//! How a run begins: the sales, their terms, the clock.

use seckill::sale::admission::{Admission, Modulo, Sample};
use seckill::sale::draw::Draw;
use seckill::sale::limits::{INTEGER_MAX, TIME_MS_MAX};
use seckill::sale::request::Init;
use seckill::sale::schedule::Schedule;
use seckill::sale::terms::Terms;

use crate::oracle::{Oracle, Rules, HOLD_MAX};
use crate::random::Random;
use crate::world::terms;

/// When runs begin, Unix ms by the sales' clock.
const START: u64 = 1_000_000;

/// When the first process starts.
const RUN: u64 = 500;

/// The id of every sale: the oracle's.
const ID: u64 = 77;

/// An INIT.
#[derive(Clone, Debug)]
pub struct Opening {
    pub supply: u64,
    pub rules: Rules,
    pub draw: Option<Draw>,
    /// The amounts of a list.
    pub amounts: Vec<u64>,
    pub schedule: Option<Schedule>,
    pub admission: Admission,
}

/// What a run begins with.
#[derive(Clone, Debug)]
pub struct Setup {
    pub sales: Vec<Opening>,
    pub clock: u64,
    pub run: u64,
    /// Whether the first replica gets everything at once.
    pub attached: bool,
}

/// A number from `low` to `high`.
pub fn between(random: &mut Random, low: u64, high: u64) -> u64 {
    low + random.below(high - low + 1)
}

/// True once in `times`.
pub fn once_in(random: &mut Random, times: u64) -> bool {
    random.below(times) == 0
}

/// One of several.
pub fn pick<'a, T>(random: &mut Random, from: &'a [T]) -> &'a T {
    &from[random.below(from.len() as u64) as usize]
}

/// A number of the contract, likely at an edge.
pub fn any_number(random: &mut Random) -> u64 {
    match random.below(8) {
        0..=4 => random.below(6),
        5 | 6 => *pick(random, &[0, 1, 2, 3, 10, INTEGER_MAX / 2, INTEGER_MAX - 1, INTEGER_MAX]),
        _ => random.below(INTEGER_MAX),
    }
}

impl Setup {
    /// Draws one.
    pub fn draw(random: &mut Random) -> Setup {
        let sales = if once_in(random, 6) { 2 } else { 1 };
        let is_plain = random.below(5) < 3;
        Setup {
            sales: (0..sales).map(|_| Opening::draw(random, is_plain)).collect(),
            clock: START,
            run: RUN,
            attached: !once_in(random, 4),
        }
    }
}

/// Terms that every sale has.
#[allow(clippy::needless_update, reason = "the oracle may learn further terms")]
pub fn rules(random: &mut Random) -> Rules {
    // Most sales are open most of the time.
    let window = |random: &mut Random| match random.below(32) {
        0..=26 => 0,
        27..=30 => between(random, START, START + 120),
        _ => *pick(random, &[1, START - 1, START, TIME_MS_MAX, TIME_MS_MAX + 1, INTEGER_MAX]),
    };
    Rules {
        limit: if once_in(random, 3) { 0 } else { any_number(random) },
        grabs: if random.below(3) > 0 { 0 } else { any_number(random) },
        hold_ms: match random.below(8) {
            0..=2 => 0,
            3..=6 => between(random, 1, 40),
            _ => *pick(random, &[1, 1000, HOLD_MAX - 1, HOLD_MAX]),
        },
        open_at: window(random),
        close_at: window(random),
        outbox: (!once_in(random, 3)).then_some('s'),
        ..Rules::default()
    }
}

/// Terms of admission.
pub fn admission(random: &mut Random) -> Admission {
    let modulo = once_in(random, 4).then(|| {
        let modulus = between(random, 1, 4);
        let residues = (0..between(random, 1, 3)).map(|_| random.below(modulus)).collect();
        Box::new(Modulo::new(modulus, residues))
    });
    let sample = once_in(random, 4).then(|| {
        let salt = (0..random.below(3)).map(|_| random.next() as u8).collect();
        Box::new(Sample { permille: random.below(1000), salt })
    });
    Admission {
        allowlist: once_in(random, 3),
        modulo,
        sample,
        admit: if once_in(random, 2) { between(random, 1, 5) } else { 0 },
        mask: once_in(random, 3),
    }
}

fn schedule(random: &mut Random) -> Schedule {
    let period_ms = *pick(random, &[1, 7, 20, 50, 1000]);
    let offset_ms = *pick(random, &[0, 1, START, START - 30, START + 60]);
    let lasts_ms = between(random, 1, period_ms);
    Schedule { period_ms, offset_ms, lasts_ms, carry: once_in(random, 2) }
}

fn draw(random: &mut Random, supply: u64) -> (Option<Draw>, Vec<u64>) {
    let some = supply.max(1);
    let packets = between(random, 1, some.min(12));
    match random.below(4) {
        0 => (
            Some(Draw::Packets { packets, min: between(random, 1, (some / packets).min(5)) }),
            vec![],
        ),
        1 => {
            let low = between(random, 1, some.min(6));
            (Some(Draw::Uniform { low, high: between(random, low, some.max(low)) }), vec![])
        }
        2 => (Some(Draw::Equal { packets }), vec![]),
        _ => {
            let amounts: Vec<u64> = (0..packets).map(|_| between(random, 1, 9)).collect();
            (Some(Draw::list(&amounts)), amounts)
        }
    }
}

impl Opening {
    fn draw(random: &mut Random, is_plain: bool) -> Opening {
        let mut rules = rules(random);
        let supply = if once_in(random, 3) { any_number(random) } else { between(random, 1, 40) };
        let mut opening = Opening {
            supply,
            rules,
            draw: None,
            amounts: Vec::new(),
            schedule: None,
            admission: Admission::default(),
        };
        if is_plain {
            return opening;
        }
        if once_in(random, 2) {
            (opening.draw, opening.amounts) = draw(random, supply);
            if opening.draw.as_ref().is_some_and(Draw::is_list) {
                opening.supply = opening.amounts.iter().sum();
            }
            if once_in(random, 2) {
                (rules.limit, rules.grabs) = (0, 1);
                opening.rules = rules;
            }
        }
        let is_list = opening.draw.as_ref().is_some_and(Draw::is_list);
        if once_in(random, 2) && !is_list {
            opening.schedule = Some(schedule(random));
        }
        if once_in(random, 2) {
            opening.admission = admission(random);
        }
        opening
    }

    /// The terms.
    pub fn terms(&self) -> Terms {
        Terms {
            draw: self.draw,
            schedule: self.schedule,
            admission: self.admission.clone(),
            ..terms(&self.rules)
        }
    }

    /// The request.
    pub fn init(&self) -> Init {
        let (supply, amounts) = (self.supply, self.amounts.clone());
        Init { supply, terms: self.terms(), amounts, id: ID, secret: [7; 16] }
    }

    /// The oracle's word on the INIT, if it knows such terms.
    pub fn oracle(&self, clock: u64, run: u64) -> Option<Result<Oracle, String>> {
        let is_known = self.draw.is_none() && self.schedule.is_none() && self.admission.is_open();
        is_known.then(|| Oracle::init(self.supply, self.rules, clock, run))
    }
}
