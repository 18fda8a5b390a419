//! A bar: what a figure must reach, what was found, and what the server alone comes to.

use serde::Serialize;

use crate::figures::{Figures, Spread};

/// One bar and what was found.
#[derive(Debug, Serialize)]
pub struct Bar {
    pub what: String,
    /// What it is compared with.
    pub with: String,
    pub limit: Limit,
    pub found: Option<Spread>,
    /// The same of the server's share alone: where even that is beyond the bar, no module reaches
    /// it.
    pub floor: Option<Spread>,
    /// No bar of its own: shown so that another can be understood.
    pub beside: bool,
}

/// What a figure must be.
#[derive(Clone, Copy, Debug, Serialize)]
pub enum Limit {
    AtLeast(f64),
    AtMost(f64),
}

impl Limit {
    fn holds(self, found: f64) -> bool {
        match self {
            Limit::AtLeast(limit) => found >= limit,
            Limit::AtMost(limit) => found <= limit,
        }
    }
}

impl Bar {
    /// Judged by the median; `None` when it was not measured.
    pub fn holds(&self) -> Option<bool> {
        self.found.map(|found| self.limit.holds(found.median))
    }

    /// Whether the server's share alone would hold.
    pub fn floor_holds(&self) -> Option<bool> {
        self.floor.map(|floor| self.limit.holds(floor.median))
    }
}

/// How many of the bars that were measured hold, and how many were measured.
pub fn held(bars: &[Bar]) -> (usize, usize) {
    let of_their_own = bars.iter().filter(|bar| !bar.beside);
    let holds: Vec<bool> = of_their_own.filter_map(Bar::holds).collect();
    (holds.iter().filter(|holds| **holds).count(), holds.len())
}

/// A place in the figures: case and contender.
pub type Place<'a> = (&'a str, &'a str);

/// Bars, being put together.
pub struct Bars<'a> {
    pub figures: &'a Figures,
    pub all: Vec<Bar>,
}

impl Bars<'_> {
    /// How often one figure is another, round by round.
    pub fn ratio(&mut self, what: &str, unit: &str, who: Place, other: Place, limit: Limit) {
        let found = self.figures.ratio(unit, who, other);
        let with = format!("x {}", other.1);
        self.add(what, with, limit, found);
    }

    /// A figure as it is.
    pub fn value(&mut self, what: &str, unit: &str, place: Place, limit: Limit) {
        let found = self.figures.spread(place.0, place.1, unit);
        self.add(what, unit.to_owned(), limit, found);
    }

    fn add(&mut self, what: &str, with: String, limit: Limit, found: Option<Spread>) {
        let what = what.to_owned();
        self.all.push(Bar { what, with, limit, found, floor: None, beside: false });
    }

    /// The last bar's floor, as a ratio.
    pub fn floor(&mut self, unit: &str, who: Place, other: Place) {
        let floor = self.figures.ratio(unit, who, other);
        self.last(|bar| bar.floor = floor);
    }

    /// The last bar's floor, as a figure.
    pub fn floor_value(&mut self, unit: &str, place: Place) {
        let floor = self.figures.spread(place.0, place.1, unit);
        self.last(|bar| bar.floor = floor);
    }

    /// The last bar is none of its own.
    pub fn beside(&mut self) {
        self.last(|bar| bar.beside = true);
    }

    /// Says otherwise what the last bar is compared with.
    pub fn with(&mut self, with: &str) {
        self.last(|bar| bar.with = with.to_owned());
    }

    fn last(&mut self, change: impl FnOnce(&mut Bar)) {
        if let Some(bar) = self.all.last_mut() {
            change(bar);
        }
    }
}
