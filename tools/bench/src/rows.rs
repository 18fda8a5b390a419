//! The rows of the tables: a figure, its comparison, setting and bar.

mod forms;
mod rounds;
mod units;
mod waiting;

use seckill_crowd::screen::thousands;

use crate::cases::{crowd, fork, growth, instructions, others, parts, restore, sale};
use crate::contenders::{FUNCTION, INCR, MODULE, SADD, SCRIPT};
use crate::figures::{
    Figures, Place, Spread, BUSY, BYTES, INSTRUCTIONS, MS, PER_SECOND, SERVER_US, US,
};
use crate::plan::Plan;

/// A bar: the smallest or largest allowed figure.
#[derive(Clone, Copy)]
pub enum Bar {
    AtLeast(f64),
    AtMost(f64),
    /// At most this far from 1.0.
    Near(f64),
}

/// One row for one server.
pub struct Row {
    pub what: String,
    /// The unit of the figure, or the figure that it is divided by.
    pub figure: String,
    pub setting: String,
    /// The bar in words, for all servers; empty if there is none.
    pub bar: String,
    pub found: Option<Spread>,
    pub holds: Option<bool>,
    /// Text before the figure: the two times that make the ratio.
    pub lead: String,
    /// Text right after the figure: the unit of a ratio.
    pub unit: &'static str,
    /// Text after the range: a second figure.
    pub note: String,
}

impl Row {
    /// The text of the cell, bold if the bar is missed.
    pub fn cell(&self) -> String {
        let Some(Spread { median, least, most }) = self.found else {
            return "not measured".to_owned();
        };
        let [median, least, most] = [median, least, most].map(short);
        let range = match least == most {
            true => String::new(),
            false => format!(" ({least} to {most})"),
        };
        let mark = if self.holds == Some(false) { "**" } else { "" };
        let (lead, unit) = (&self.lead, self.unit);
        format!("{lead}{mark}{median}{unit}{range}{mark}{}", self.note)
    }
}

/// Rows under construction.
struct Rows<'a> {
    figures: &'a Figures,
    /// Newer servers have lower bars for the first rows.
    is_redis_7: bool,
    all: Vec<Row>,
}

/// All rows, those with bars first, in the order of docs/performance.md.
pub fn all(figures: &Figures, plan: &Plan, server: &str) -> Vec<Row> {
    let is_redis_7 = server.starts_with("Redis 7.0");
    let mut rows = Rows { figures, is_redis_7, all: Vec::new() };
    rows.recommended();
    rows.plain();
    rows.instructions();
    rows.large(plan);
    rows.forms(plan);
    rows.others();
    rows.waiting(plan);
    rows.rounds();
    rows.units(plan);
    rows.reported(plan);
    rows.parts();
    rows.all
}

/// Short names of settings: pipeline, connections, replicas.
const PIPELINED: &str = "P32, c50, no replica";
const DIRECT: &str = "no AOF, no replica";

impl Rows<'_> {
    fn add(
        &mut self,
        (what, figure): (&str, &str),
        setting: &str,
        bar: Option<Bar>,
        found: Option<Spread>,
    ) {
        let holds = found.zip(bar).map(|(found, bar)| match bar {
            Bar::AtLeast(least) => found.median >= least,
            Bar::AtMost(most) => found.median <= most,
            Bar::Near(most) => (found.median - 1.0).abs() <= most,
        });
        let bar = match bar {
            Some(Bar::AtLeast(least)) => format!(">= {}", short(least)),
            Some(Bar::AtMost(most)) => format!("<= {}", short(most)),
            Some(Bar::Near(_)) => "within the control".to_owned(),
            None => String::new(),
        };
        let [what, figure, setting] = [what, figure, setting].map(str::to_owned);
        let (lead, unit, note) = (String::new(), "", String::new());
        self.all.push(Row { what, figure, setting, bar, found, holds, lead, unit, note });
    }

    fn last(&mut self, change: impl FnOnce(&mut Row)) {
        if let Some(row) = self.all.last_mut() {
            change(row);
        }
    }

    /// Another contender's server time divided by the module's.
    fn times(&mut self, what: &str, setting: &str, other: &str, bar: Option<f64>) {
        let case = sale::case(what, setting);
        self.slower((what, &case), &format!("{setting}, {PIPELINED}"), other, bar);
    }

    /// Both server times of a case and their ratio.
    fn slower(&mut self, (what, case): (&str, &str), setting: &str, other: &str, bar: Option<f64>) {
        let found = self.figures.ratio(SERVER_US, (case, other), (case, MODULE));
        self.add((what, "server time per call"), setting, bar.map(Bar::AtLeast), found);
        let lead = both_times(self.figures, case, other);
        self.last(|row| (row.lead, row.unit) = (lead, " x"));
    }

    fn recommended(&mut self) {
        for (setting, least, text) in [
            (sale::LOGGED, 4.0, ">= 4 on Redis 7.0, >= 3.5 elsewhere"),
            (sale::UNLOGGED, 4.5, ">= 4.5 on Redis 7.0, >= 3.5 elsewhere"),
        ] {
            let least = if self.is_redis_7 { least } else { 3.5 };
            self.times(sale::GRAB, setting, SCRIPT, Some(least));
            self.last(|row| row.bar = text.to_owned());
        }
        for setting in [sale::LOGGED, sale::UNLOGGED] {
            self.times(sale::CONFIRM, setting, SCRIPT, Some(3.5));
        }
    }

    fn plain(&mut self) {
        for (setting, least) in [(sale::LOGGED, 2.5), (sale::UNLOGGED, 3.3)] {
            for other in [SCRIPT, FUNCTION] {
                self.times(sale::PLAIN, setting, other, Some(least));
            }
        }
        self.times(sale::SOLD_OUT, sale::LOGGED, SCRIPT, Some(3.5));
        self.times(sale::ALREADY, sale::LOGGED, SCRIPT, Some(3.0));
    }

    fn instructions(&mut self) {
        let case = instructions::CASE;
        let bars = [Some(3_500.0), Some(1_800.0), Some(700.0), None];
        for ([name, promised], bar) in instructions::ALL.into_iter().zip(bars) {
            let of = |name| self.figures.spread((case, name), INSTRUCTIONS);
            let note = of(name).map(|all| format!("; {}", short(all.median)));
            let found = self.figures.difference(INSTRUCTIONS, (case, name), (case, promised));
            let figure = "instructions added by the module; of the whole call";
            self.add((name, figure), "AOF everysec, P32, c1", bar.map(Bar::AtMost), found);
            self.last(|row| row.note = note.unwrap_or_default());
        }
        let (part, whole) = ((case, instructions::PART), (case, instructions::RECOMMENDED[0]));
        let found = self.figures.difference(INSTRUCTIONS, part, whole);
        let what = (instructions::PART, "instructions added to a whole sale's");
        self.add(what, "AOF everysec, P32, c1", Some(Bar::AtMost(150.0)), found);
    }

    fn large(&mut self, plan: &Plan) {
        let [small, middle, large] = plan.sizes;
        for winners in [middle, large] {
            let (case, what) = (growth::memory(winners), thousands(winners));
            let found = self.figures.ratio(BYTES, (&case, MODULE), (&case, SADD));
            let what = format!("memory of {what} winners");
            self.add(
                (&what, "bytes, divided by a Redis set's"),
                DIRECT,
                Some(Bar::AtMost(0.6)),
                found,
            );
        }
        // The better round counts, because a shared machine sometimes pauses.
        let better = |who| self.figures.spread((growth::SLOWEST, who), MS).map(|all| all.least);
        let (ours, noop) = (better(MODULE), better(growth::NOOP));
        let found = ours.map(|ms| Spread { median: ms, least: ms, most: ms });
        let what = format!("slowest GRAB to {} winners", thousands(large));
        let setting = format!("no AOF, {PIPELINED}");
        self.add((&what, "ms; a no-op command's"), &setting, noop.map(Bar::AtMost), found);
        self.last(|row| {
            row.bar = "no worse than the no-op's".to_owned();
            row.note = noop.map_or_else(String::new, |noop| format!("; {}", short(noop)));
        });
        for (case, figure, most) in
            [(growth::DEL, "ms; a set's", 60.0), (growth::UNLINK, "ms", 1.0)]
        {
            let set = self.figures.spread((case, SADD), MS);
            let found = self.figures.spread((case, MODULE), MS);
            self.add((case, figure), DIRECT, Some(Bar::AtMost(most)), found);
            self.last(|row| row.note = beside(set));
        }
        let (few, many) = (growth::page(small), growth::page(large));
        let found = self.figures.ratio(US, (&many, MODULE), (&few, MODULE));
        let what = format!("WINNERS COUNT 1000 of {}", thousands(large));
        let figure = format!("time, divided by that of {} winners", thousands(small));
        self.add((&what, &figure), DIRECT, Some(Bar::AtMost(1.2)), found);
        self.last(|row| row.bar = "flat (<= 1.20)".to_owned());
    }

    /// The control: the largest difference between two servers without the module.
    fn others(&mut self) {
        for command in others::COMMANDS {
            let case = others::case(command);
            let to_plain =
                |who| self.figures.ratio(SERVER_US, (&case, who), (&case, others::WITHOUT));
            let apart = to_plain(others::CONTROL)
                .map(|control| (control.most - 1.0).abs().max((control.least - 1.0).abs()));
            let (found, setting) = (to_plain(others::WITH), format!("no AOF, {PIPELINED}"));
            let figure = "server time with the module, divided by without; control";
            self.add((&case, figure), &setting, apart.map(Bar::Near), found);
            self.last(|row| {
                row.bar = "within the control".to_owned();
                row.note = apart.map_or_else(String::new, |apart| format!("; 1 ± {apart:.2}"));
            });
        }
    }

    fn reported(&mut self, plan: &Plan) {
        for (connections, _) in plan.crowds {
            let case = crowd::case(connections);
            let (module, script) = ((case.as_str(), MODULE), (case.as_str(), SCRIPT));
            let setting = format!("AOF everysec, P1, c{connections}, no replica");
            let found = self.figures.ratio(PER_SECOND, module, (&case, INCR));
            self.add((sale::GRAB, "calls/s, divided by INCR's"), &setting, None, found);
            self.slower((sale::GRAB, &case), &setting, SCRIPT, None);
            let with_script = beside(self.figures.spread(script, BUSY));
            let found = self.figures.spread(module, BUSY);
            let figure = "share of the server's core in use; with the script";
            self.add((sale::GRAB, figure), &setting, None, found);
            self.last(|row| row.note = with_script);
        }
        for what in [sale::GRAB, sale::CONFIRM] {
            self.times(what, sale::THREADED, SCRIPT, None);
        }
        let middle = thousands(plan.sizes[1]);
        let setting = format!("{DIRECT}, {middle} winners");
        let loaded = format!("{setting}, 100,000 grants/s meanwhile");
        let what = (fork::FORK, "MB; a set's");
        self.value(what, &loaded, (fork::FORK, MODULE), (BYTES, 1e6), SADD);
        let (audit, restore) = ((restore::AUDIT, MODULE), (restore::RESTORE, MODULE));
        let what =
            ("AUDIT, grants with HOLD and REQ", "ms until the reply, while others are served");
        self.value(what, &setting, audit, (MS, 1.0), "");
        let what = ("RESTORE of these grants", "ms; of a hash and a sorted set");
        self.value(what, &setting, restore, (MS, 1.0), restore::HASH_AND_ZSET);
    }

    /// Rows of a sale in parts. The bar is for a server with one eighth of the parts.
    fn parts(&mut self) {
        for servers in parts::SERVERS {
            let case = parts::grabs(servers);
            let found = self.figures.spread((&case, MODULE), SERVER_US);
            let setting = format!("no AOF, {PIPELINED}; servers take turns");
            self.add((&case, "server time per call, us"), &setting, None, found);
        }
        for servers in parts::SPREAD_OVER {
            let case = parts::balanced(servers);
            let found = self.figures.spread((&case, MODULE), BUSY);
            let bar = (servers > 1).then_some(Bar::AtMost(1.0));
            self.add((&case, "% of a server's core"), "--interval 20, nobody buys", bar, found);
        }
    }

    /// A figure divided by `scale`, followed by another contender's figure of that case.
    fn value(
        &mut self,
        what: (&str, &str),
        setting: &str,
        place: Place<'_>,
        (unit, scale): (&str, f64),
        other: &str,
    ) {
        let spread = |place| self.figures.spread(place, unit).map(|all| all.in_parts_of(scale));
        let (found, other) = (spread(place), beside(spread((place.0, other))));
        self.add(what, setting, None, found);
        self.last(|row| row.note = other);
    }
}

/// The server times of a case: `Lua script 14.2 us, module 2.94 us: `.
pub fn both_times(figures: &Figures, case: &str, other: &str) -> String {
    let median = |who| Some(short(figures.spread((case, who), SERVER_US)?.median));
    let (theirs, ours) = (median(other), median(MODULE));
    theirs.zip(ours).map_or_else(String::new, |(theirs, ours)| {
        format!("{other} {theirs} us, module {ours} us: ")
    })
}

/// The second figure of a cell, if there is one.
fn beside(other: Option<Spread>) -> String {
    other.map_or_else(String::new, |other| format!("; {}", short(other.median)))
}

/// A number with two or three significant digits.
pub fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 1_000.0 => thousands(value.round() as u64),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}
