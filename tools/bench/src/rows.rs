//! Rows of the tables: a figure, its comparison, setting and bar. Each case makes its own rows.

use seckill_crowd::screen::thousands;

use crate::contenders::MODULE;
use crate::figures::{Figures, Place, Spread, SERVER_US};
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
    /// The bar in words, for all servers.
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
            return ABSENT.to_owned();
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

/// Rows under construction, those of one server.
pub struct Rows<'a> {
    pub figures: &'a Figures,
    pub plan: &'a Plan,
    /// Newer servers have lower bars for the first rows.
    pub is_redis_7: bool,
    pub all: Vec<Row>,
}

/// The cell of a run without this figure.
pub const ABSENT: &str = "not measured";

/// Short names of settings: pipeline, connections, replicas.
pub const LOADED: &str = "P32, c50, no replica";
pub const DIRECT: &str = "no AOF, no replica";

impl Rows<'_> {
    /// A row; without a bar it is not judged, because its bar was not measured.
    pub fn add(
        &mut self,
        (what, figure): (&str, &str),
        setting: &str,
        bar: Option<Bar>,
        found: Option<Spread>,
    ) -> &mut Row {
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
        let place = self.all.len();
        self.all.push(Row { what, figure, setting, bar, found, holds, lead, unit, note });
        &mut self.all[place]
    }

    /// One figure divided by another; the bar is the largest allowed ratio.
    pub fn ratio(
        &mut self,
        what: (&str, &str),
        setting: &str,
        bar: f64,
        (unit, of, to): (&str, Place<'_>, Place<'_>),
    ) -> &mut Row {
        let found = self.figures.ratio(unit, of, to);
        self.add(what, setting, Some(Bar::AtMost(bar)), found)
    }

    /// The module's figure divided by `scale`, followed by another contender's figure of that case.
    pub fn value(
        &mut self,
        what: (&str, &str),
        setting: &str,
        bar: f64,
        (case, unit, scale): (&str, &str, f64),
        other: &str,
    ) -> &mut Row {
        let spread = |who| Some(self.figures.spread((case, who), unit)?.in_parts_of(scale));
        let (found, note) = (spread(MODULE), beside(spread(other)));
        let row = self.add(what, setting, Some(Bar::AtMost(bar)), found);
        row.note = note;
        row
    }

    /// A second figure for the end of a cell.
    pub fn beside(&self, place: Place<'_>, unit: &str) -> String {
        beside(self.figures.spread(place, unit))
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
pub fn beside(other: Option<Spread>) -> String {
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
