//! Draws the start of a run: the sales, their terms, and the clock.

use seckill_domain::limits::{INTEGER_MAX, TIME_MS_MAX};

use super::versions::Versions;
use crate::oracle::{Drawing, Every, Gates, ListRules, Part, Rules, HOLD_MAX};
use crate::random::Random;

/// Start of runs in Unix ms.
const START: u64 = 1_000_000;

const NODE_EPOCH: u64 = 500;

pub const SPLIT: &str = "s";

const LISTS: [&[u64]; 6] = [
    &[1],
    &[5, 6, 7, 8],
    &[3, 3, 3],
    &[9, 1, 1, 300, 2, 2, 7],
    &[1, 1, 1, 1, 1, 1, 1, 1],
    &[70_000, 2],
];

const MODULI: [(u64, &[u64]); 5] =
    [(1, &[0]), (2, &[1]), (3, &[0, 2]), (7, &[0, 1, 2, 3, 4, 5]), (1_000_003, &[5, 12])];

#[derive(Clone, Debug)]
pub struct Opening {
    pub supply: u64,
    pub rules: Rules,
}

#[derive(Clone, Debug)]
pub struct Setup {
    pub sales: Vec<Opening>,
    pub clock: u64,
    pub node_epoch: u64,
    /// Whether the first replica gets each transaction at once.
    pub attached: bool,
    pub versions: Versions,
}

impl Setup {
    pub fn draw(random: &mut Random) -> Setup {
        let sales = if random.once_in(6) { 2 } else { 1 };
        let is_plain = random.below(5) < 3;
        let mut sales: Vec<Opening> = (0..sales).map(|_| Opening::draw(random, is_plain)).collect();
        if random.once_in(4) {
            // One number for all sales: else no user would belong to the parts of two sales.
            let of = random.between(1, 3);
            let number = random.below(of);
            sales.iter_mut().for_each(|sale| sale.be_part(random, number, of));
        }
        let (attached, versions) = (!random.once_in(4), Versions::draw(random));
        Setup { sales, clock: START, node_epoch: NODE_EPOCH, attached, versions }
    }
}

/// A number within the limits, often the smallest or largest.
pub fn any_number(random: &mut Random) -> u64 {
    match random.below(8) {
        0..=4 => random.below(6),
        5 | 6 => *random.pick(&[0, 1, 2, 3, 10, INTEGER_MAX / 2, INTEGER_MAX - 1, INTEGER_MAX]),
        _ => random.below(INTEGER_MAX),
    }
}

pub fn rules(random: &mut Random) -> Rules {
    // Most sales are open most of the time.
    let window = |random: &mut Random| match random.below(32) {
        0..=26 => 0,
        27..=30 => random.between(START, START + 120),
        _ => *random.pick(&[1, START - 1, START, TIME_MS_MAX, TIME_MS_MAX + 1, INTEGER_MAX]),
    };
    Rules {
        limit: if random.once_in(3) { 0 } else { any_number(random) },
        grabs: if random.below(3) > 0 { 0 } else { any_number(random) },
        hold_ms: match random.below(8) {
            0..=2 => 0,
            3..=6 => random.between(1, 40),
            _ => *random.pick(&[1, 1000, HOLD_MAX - 1, HOLD_MAX]),
        },
        open_at: window(random),
        close_at: window(random),
        outbox: (!random.once_in(3)).then_some('s'),
        ..Rules::default()
    }
}

pub fn list(random: &mut Random) -> ListRules {
    ListRules {
        max: if random.once_in(8) { 0 } else { random.between(1, 9) },
        offer_ms: if random.once_in(3) { 0 } else { random.between(1, 40) },
        overtake: random.below(4),
    }
}

pub fn gates(random: &mut Random) -> Gates {
    Gates {
        allowlist: random.once_in(3),
        modulo: random.once_in(4).then(|| *random.pick(&MODULI)),
        sample: random.once_in(4).then(|| (random.below(1000), *random.pick(&["", "x", "salt"]))),
        admit: if random.once_in(2) { random.between(1, 5) } else { 0 },
        mask: random.once_in(3),
    }
}

fn every(random: &mut Random) -> Every {
    let period = *random.pick(&[1, 7, 20, 50, 1000]);
    let offset = *random.pick(&[0, 1, START, START - 30, START + 60]);
    Every { period, offset, lasts: random.between(1, period), carry: random.once_in(2) }
}

fn drawing(random: &mut Random, supply: u64) -> Drawing {
    let some = supply.max(1);
    let packets = random.between(1, some.min(12));
    match random.below(4) {
        0 => Drawing::Packets { packets, min: random.between(1, (some / packets).min(5)) },
        1 => {
            let low = random.between(1, some.min(6));
            Drawing::Uniform { low, high: random.between(low, some) }
        }
        2 => Drawing::Equal { packets },
        _ => {
            let amounts = random.pick(&LISTS);
            Drawing::List(amounts)
        }
    }
}

impl Opening {
    fn draw(random: &mut Random, is_plain: bool) -> Opening {
        let mut rules = rules(random);
        let mut supply = if random.once_in(3) { any_number(random) } else { random.between(1, 40) };
        if random.once_in(3) {
            rules.list = Some(list(random)).filter(|list| list.max > 0);
            // A waiting list needs holds: without them nothing comes back.
            rules.hold_ms = rules.hold_ms.max(random.between(1, 40));
            supply = supply.min(40);
        }
        if random.once_in(4) {
            // Few numbered units, or too many.
            rules.numbered = true;
            supply = if random.once_in(20) { supply } else { random.between(0, 40) };
        }
        if is_plain || rules.numbered || rules.list.is_some() {
            if !is_plain && random.once_in(2) {
                rules.gates = gates(random);
            }
            return Opening { supply, rules };
        }
        if random.once_in(2) {
            rules.drawing = drawing(random, supply);
            if random.once_in(2) {
                (rules.limit, rules.grabs) = (0, 1);
            }
            // A limit on drawn amounts is mostly left out, because INIT refuses it.
            rules.limit *= u64::from(random.once_in(20));
        }
        if let Drawing::List(amounts) = rules.drawing {
            supply = amounts.iter().sum();
        }
        // INIT refuses a DRAW LIST that repeats.
        let is_list = matches!(rules.drawing, Drawing::List(_));
        if random.once_in(if is_list { 20 } else { 2 }) {
            rules.every = Some(every(random));
        }
        if random.once_in(2) {
            rules.gates = gates(random);
        }
        Opening { supply, rules }
    }

    /// Makes the sale one of several parts. INIT refuses a few of these: those that draw or repeat,
    /// those with numbered units, and those with a total that is too small.
    fn be_part(&mut self, random: &mut Random, number: u64, of: u64) {
        let is_named = self.rules.drawing == Drawing::Named && !self.rules.numbered;
        let is_possible = is_named && self.rules.every.is_none();
        if is_possible || random.once_in(10) {
            let total = match random.once_in(20) {
                true => any_number(random),
                false => INTEGER_MAX.min(self.supply + any_number(random)),
            };
            self.rules.part = Some(Part { number, of, split: SPLIT, total });
        }
    }
}
