//! The bars: what the figures must reach.

use serde::Serialize;

use crate::callgrind;
use crate::cases::{fork, growth, instructions, rdb, refusals, unpipelined, wins};
use crate::contenders::{ALREADY, FUNCTION, GRAB, INCR, LUA, MULTI, SADD, SOLDOUT};
use crate::figures::{Figures, Spread, BYTES, INSTRUCTIONS, MS, P99_MS, PER_SECOND, US};
use crate::plan::Plan;

/// Bytes of a user id in the load: `user:` and twelve digits.
const ID_BYTES: f64 = 17.0;

/// One bar and what was found.
#[derive(Debug, Serialize)]
pub struct Bar {
    pub what: String,
    /// What it is compared with.
    pub with: String,
    pub limit: Limit,
    pub found: Option<Spread>,
}

/// What a figure must be.
#[derive(Clone, Copy, Debug, Serialize)]
pub enum Limit {
    AtLeast(f64),
    AtMost(f64),
}

impl Bar {
    /// Judged by the median; `None` when it was not measured.
    pub fn holds(&self) -> Option<bool> {
        let found = self.found?.median;
        Some(match self.limit {
            Limit::AtLeast(limit) => found >= limit,
            Limit::AtMost(limit) => found <= limit,
        })
    }
}

/// A place in the figures: case and contender.
type Place<'a> = (&'a str, &'a str);

struct Bars<'a> {
    figures: &'a Figures,
    bars: Vec<Bar>,
}

impl Bars<'_> {
    fn ratio(&mut self, what: &str, unit: &str, who: Place, other: Place, limit: Limit) {
        let found = self.figures.ratio(unit, who, other);
        let with = format!("x {}", other.1);
        self.bars.push(Bar { what: what.to_owned(), with, limit, found });
    }

    fn rate(&mut self, what: &str, case: &str, who: &str, other: &str, least: f64) {
        let limit = Limit::AtLeast(least);
        self.ratio(what, PER_SECOND, (case, who), (case, other), limit);
    }

    fn value(&mut self, what: &str, unit: &'static str, place: Place, limit: Limit) {
        let found = self.figures.spread(place.0, place.1, unit);
        self.bars.push(Bar { what: what.to_owned(), with: unit.to_owned(), limit, found });
    }
}

/// All bars, in the order of the issue that set them.
pub fn all(figures: &Figures, plan: &Plan) -> Vec<Bar> {
    let mut bars = Bars { figures, bars: Vec::new() };
    speed(&mut bars, plan);
    memory(&mut bars, plan);
    pauses(&mut bars, plan);
    storage(&mut bars, plan);
    bars.bars
}

fn speed(bars: &mut Bars<'_>, plan: &Plan) {
    bars.rate("winning GRAB", wins::WINS, GRAB, SADD, 1.3);
    bars.rate("winning GRAB", wins::WINS, GRAB, LUA, 4.0);
    bars.rate("winning GRAB", wins::WINS, GRAB, FUNCTION, 4.0);
    // No bar was set for it; it belongs into the picture.
    bars.rate("winning GRAB", wins::WINS, GRAB, MULTI, 1.0);
    bars.rate("winning GRAB, AOF everysec", wins::AOF, GRAB, SADD, 1.1);
    bars.rate("winning GRAB, AOF everysec", wins::AOF, GRAB, LUA, 3.5);
    let case = refusals::case(plan.sizes[1]);
    bars.rate("sold-out GRAB", &case, SOLDOUT, INCR, 0.85);
    bars.rate("sold-out GRAB", &case, SOLDOUT, LUA, 2.5);
    bars.rate("ALREADY", &case, ALREADY, INCR, 0.75);
    let sold_out = (instructions::CASE, callgrind::SOLDOUT);
    let noop = (instructions::CASE, callgrind::NOOP);
    bars.ratio("sold-out GRAB", INSTRUCTIONS, sold_out, noop, Limit::AtMost(1.6));
    let crowd = unpipelined::case(unpipelined::MANY);
    for who in [GRAB, SOLDOUT] {
        let what = format!("p99, 1,000 connections, {who}");
        bars.ratio(&what, P99_MS, (&crowd, who), (&crowd, INCR), Limit::AtMost(1.1));
    }
}

fn memory(bars: &mut Bars<'_>, plan: &Plan) {
    for winners in &plan.sizes[1..] {
        let (case, what) = (growth::memory(*winners), format!("memory, {winners} winners"));
        let ours = (case.as_str(), GRAB);
        bars.ratio(&what, BYTES, ours, (&case, SADD), Limit::AtMost(0.65));
        bars.ratio(&what, BYTES, ours, (&case, growth::SET_AND_ZSET), Limit::AtMost(0.3));
    }
}

fn pauses(bars: &mut Bars<'_>, plan: &Plan) {
    let large = plan.sizes[2];
    let what = format!("slowest GRAB, 0 to {large} winners");
    bars.value(&what, MS, (growth::SLOWEST, GRAB), Limit::AtMost(2.0));
    bars.value(&format!("DEL of {large}"), MS, (growth::DEL, GRAB), Limit::AtMost(60.0));
    bars.value(&format!("UNLINK of {large}"), MS, (growth::UNLINK, GRAB), Limit::AtMost(1.0));
}

fn storage(bars: &mut Bars<'_>, plan: &Plan) {
    for case in [rdb::SAVE, rdb::LOAD] {
        bars.ratio(case, MS, (case, GRAB), (case, SADD), Limit::AtMost(0.5));
    }
    let most = 1.2 * ID_BYTES + 8.0;
    bars.value("RDB size of a winner", BYTES, (rdb::SAVE, GRAB), Limit::AtMost(most));
    let aof = "AOF size of a grant";
    bars.ratio(aof, BYTES, (wins::AOF, GRAB), (wins::AOF, SADD), Limit::AtMost(1.5));
    let [small, _, large] = plan.sizes;
    let (few, many) = (growth::page(small), growth::page(large));
    let what = format!("WINNERS COUNT 1000 of {large}");
    bars.ratio(&what, US, (&many, GRAB), (&few, GRAB), Limit::AtMost(1.2));
    if let Some(last) = bars.bars.last_mut() {
        last.with = format!("x the same of {small}");
    }
    bars.ratio(fork::FORK, BYTES, (fork::FORK, GRAB), (fork::FORK, SADD), Limit::AtMost(0.5));
}
