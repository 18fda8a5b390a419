//! The rows of the tables: what was found, beside what, in which setting, and its bar.

use seckill_crowd::screen::thousands;

use crate::cases::{crowd, fork, growth, instructions, others, restore, sale};
use crate::contenders::{FUNCTION, INCR, MODULE, SADD, SCRIPT};
use crate::figures::{
    Figures, Place, Spread, BUSY, BYTES, INSTRUCTIONS, MS, PER_SECOND, SERVER_US, US,
};
use crate::plan::Plan;

/// What a figure must be.
#[derive(Clone, Copy)]
pub enum Bar {
    AtLeast(f64),
    AtMost(f64),
    /// So far from 1 at the most.
    Near(f64),
}

/// One row, as one server has it.
pub struct Row {
    pub what: String,
    pub setting: String,
    /// The bar in words, of all servers; nothing where the row is only reported.
    pub bar: String,
    pub found: Option<Spread>,
    pub holds: Option<bool>,
    /// What stands behind the figure.
    pub note: String,
}

impl Row {
    /// As the tables show it: bold where the bar is not reached.
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
        format!("{mark}{median}{range}{mark}{}", self.note)
    }
}

/// Rows, being put together.
struct Rows<'a> {
    figures: &'a Figures,
    /// The bars of the first rows are lower on newer servers.
    is_redis_7: bool,
    all: Vec<Row>,
}

/// All rows, bars first, in the order of the issue that set them.
pub fn all(figures: &Figures, plan: &Plan, server: &str) -> Vec<Row> {
    let is_redis_7 = server.starts_with("Redis 7.0");
    let mut rows = Rows { figures, is_redis_7, all: Vec::new() };
    rows.recommended();
    rows.plain();
    rows.instructions();
    rows.large(plan);
    rows.others();
    rows.reported(plan);
    rows.all
}

const PIPELINED: &str = "pipeline 32, 50 connections, no replica";

impl Rows<'_> {
    fn add(&mut self, what: &str, setting: &str, bar: Option<Bar>, found: Option<Spread>) {
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
        let (what, setting, note) = (what.to_owned(), setting.to_owned(), String::new());
        self.all.push(Row { what, setting, bar, found, holds, note });
    }

    fn last(&mut self, change: impl FnOnce(&mut Row)) {
        if let Some(row) = self.all.last_mut() {
            change(row);
        }
    }

    /// How often the module's processor time goes into another's.
    fn times(&mut self, what: &str, setting: &str, other: &str, bar: Option<f64>) {
        let case = sale::case(what, setting);
        let found = self.figures.ratio(SERVER_US, (&case, other), (&case, MODULE));
        let what = format!("{what}: times of the {other} to it");
        let setting = format!("{setting}, {PIPELINED}");
        self.add(&what, &setting, bar.map(Bar::AtLeast), found);
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
            let note = of(name).map(|all| format!(" of {}", short(all.median)));
            let found = self.figures.difference(INSTRUCTIONS, (case, name), (case, promised));
            let what = format!("instructions of ours, {name}");
            self.add(&what, "AOF everysec, under callgrind", bar.map(Bar::AtMost), found);
            self.last(|row| row.note = note.unwrap_or_default());
        }
    }

    fn large(&mut self, plan: &Plan) {
        let [small, middle, large] = plan.sizes;
        let unlogged = "no AOF, no replica";
        for winners in [middle, large] {
            let (case, what) = (growth::memory(winners), thousands(winners));
            let found = self.figures.ratio(BYTES, (&case, MODULE), (&case, SADD));
            let what = format!("memory of {what} winners, to a set's");
            self.add(&what, unlogged, Some(Bar::AtMost(0.6)), found);
        }
        // The machine stands still now and then, whatever runs on it: the better round counts.
        let better = |who| self.figures.spread((growth::SLOWEST, who), MS).map(|all| all.least);
        let (ours, noop) = (better(MODULE), better(growth::NOOP));
        let found = ours.map(|ms| Spread { median: ms, least: ms, most: ms });
        let what = format!("slowest GRAB to {} winners, ms; a no-op's", thousands(large));
        self.add(&what, &format!("no AOF, {PIPELINED}"), noop.map(Bar::AtMost), found);
        self.last(|row| {
            row.bar = "no worse than the no-op's".to_owned();
            row.note = noop.map_or_else(String::new, |noop| format!("; {}", short(noop)));
        });
        for (case, most) in [(growth::DEL, 60.0), (growth::UNLINK, 1.0)] {
            let set = self.figures.spread((case, SADD), MS);
            let found = self.figures.spread((case, MODULE), MS);
            let what = format!("{case}, ms; of a set");
            self.add(&what, unlogged, Some(Bar::AtMost(most)), found);
            self.last(|row| {
                row.note = set.map_or(String::new(), |s| "; ".to_owned() + &short(s.median))
            });
        }
        let (few, many) = (growth::page(small), growth::page(large));
        let found = self.figures.ratio(US, (&many, MODULE), (&few, MODULE));
        let what = format!(
            "WINNERS COUNT 1000 of {}, to the same of {}",
            thousands(large),
            thousands(small)
        );
        self.add(&what, unlogged, Some(Bar::AtMost(1.2)), found);
        self.last(|row| row.bar = "flat (<= 1.20)".to_owned());
    }

    /// The control: how far two servers without the module are apart, at the most.
    fn others(&mut self) {
        for command in others::COMMANDS {
            let case = others::case(command);
            let to_plain =
                |who| self.figures.ratio(SERVER_US, (&case, who), (&case, others::WITHOUT));
            let apart = to_plain(others::CONTROL)
                .map(|control| (control.most - 1.0).abs().max((control.least - 1.0).abs()));
            let what = format!("{case}: {}, to {}", others::WITH, others::WITHOUT);
            let found = to_plain(others::WITH);
            self.add(&what, &format!("no AOF, {PIPELINED}"), apart.map(Bar::Near), found);
            self.last(|row| {
                row.bar = "within the control".to_owned();
                row.note = apart.map_or_else(String::new, |apart| format!("; control {apart:.2}"));
            });
        }
    }

    fn reported(&mut self, plan: &Plan) {
        for (connections, _) in plan.crowds {
            let case = crowd::case(connections);
            let setting = format!("AOF everysec, {case}, no replica");
            let what = format!("{}: calls/s, to those of {INCR}", sale::GRAB);
            let found = self.figures.ratio(PER_SECOND, (&case, MODULE), (&case, INCR));
            self.add(&what, &setting, None, found);
            let what = format!("{}: times of the {SCRIPT} to it", sale::GRAB);
            let found = self.figures.ratio(SERVER_US, (&case, SCRIPT), (&case, MODULE));
            self.add(&what, &setting, None, found);
            let found = self.figures.spread((&case, MODULE), BUSY);
            let note = self.figures.spread((&case, SCRIPT), BUSY).map(|busy| busy.median);
            self.add("how busy the server is; with the script", &setting, None, found);
            self.last(|row| row.note = note.map_or(String::new(), |b| "; ".to_owned() + &short(b)));
        }
        for what in [sale::GRAB, sale::CONFIRM] {
            self.times(what, sale::THREADED, SCRIPT, None);
        }
        let middle = thousands(plan.sizes[1]);
        let setting = format!("no AOF, {middle} winners");
        let loaded = format!("{setting}, 100,000 grants/s meanwhile");
        self.beside(
            "MB copied by a fork; of a set",
            &loaded,
            (fork::FORK, MODULE),
            (BYTES, 1e6),
            SADD,
        );
        let audit = (restore::AUDIT, MODULE);
        self.beside("AUDIT with HOLD and REQ, ms", &setting, audit, (MS, 1.0), "");
        let (what, place) =
            ("RESTORE of the same, ms; of a hash and a sorted set", (restore::RESTORE, MODULE));
        self.beside(what, &setting, place, (MS, 1.0), restore::HASH_AND_ZSET);
    }

    /// A figure as it is in parts of `scale`, beside another's of the same case.
    fn beside(
        &mut self,
        what: &str,
        setting: &str,
        place: Place<'_>,
        (unit, scale): (&str, f64),
        other: &str,
    ) {
        let scaled = |Spread { median, least, most }| Spread {
            median: median / scale,
            least: least / scale,
            most: most / scale,
        };
        let found = self.figures.spread(place, unit).map(scaled);
        let beside = self.figures.spread((place.0, other), unit).map(scaled);
        self.add(what, setting, None, found);
        self.last(|row| {
            row.note = beside.map_or_else(String::new, |it| format!("; {}", short(it.median)));
        });
    }
}

/// Two or three digits that matter.
pub fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 1_000.0 => thousands(value.round() as u64),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}
