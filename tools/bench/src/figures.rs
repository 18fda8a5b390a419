//! Measured figures, with their ratios and spreads.

use serde::{Deserialize, Serialize};

/// One quantity, measured once in each round.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Series {
    case: String,
    who: String,
    unit: String,
    values: Vec<f64>,
}

/// Processor time of the server's main thread for each call.
pub const SERVER_US: &str = "us a call";
pub const PER_SECOND: &str = "calls/s";
/// Share of time that the server's main thread was busy, 0 to 1.
pub const BUSY: &str = "busy";
pub const BYTES: &str = "bytes";
pub const MS: &str = "ms";
pub const MAX_MS: &str = "ms at most";
pub const US: &str = "us";
pub const INSTRUCTIONS: &str = "instructions";

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub median: f64,
    pub least: f64,
    pub most: f64,
}

impl Spread {
    /// `None` if there are no values.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Spread> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let middle = values.len() / 2;
        let median = match values.len() {
            0 => return None,
            length if length % 2 == 1 => values[middle],
            _ => (values[middle - 1] + values[middle]) / 2.0,
        };
        Some(Spread { median, least: values[0], most: values[values.len() - 1] })
    }

    pub fn in_parts_of(self, scale: f64) -> Spread {
        let Spread { median, least, most } = self;
        Spread { median: median / scale, least: least / scale, most: most / scale }
    }
}

/// Key of a figure: case and contender.
pub type Place<'a> = (&'a str, &'a str);

/// All figures, in the order in which they were first measured.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(transparent)]
pub struct Figures {
    series: Vec<Series>,
}

impl Figures {
    pub fn add(&mut self, case: &str, who: &str, unit: &str, value: f64) {
        match self.series.iter_mut().find(|series| series.is((case, who), unit)) {
            Some(series) => series.values.push(value),
            None => self.series.push(Series {
                case: case.to_owned(),
                who: who.to_owned(),
                unit: unit.to_owned(),
                values: vec![value],
            }),
        }
    }

    /// Keeps figures of an older run that this run did not measure.
    pub fn keep_others_of(&mut self, old: Figures) {
        for series in old.series {
            if !self.series.iter().any(|new| new.is((&series.case, &series.who), &series.unit)) {
                self.series.push(series);
            }
        }
    }

    fn values(&self, place: Place<'_>, unit: &str) -> &[f64] {
        let found = self.series.iter().find(|series| series.is(place, unit));
        found.map_or(&[], |series| &series.values)
    }

    pub fn spread(&self, place: Place<'_>, unit: &str) -> Option<Spread> {
        Spread::of(self.values(place, unit).iter().copied())
    }

    /// One figure divided by another, round by round: on a shared machine rounds differ more than
    /// contenders within a round.
    pub fn ratio(&self, unit: &str, of: Place<'_>, to: Place<'_>) -> Option<Spread> {
        let (ours, theirs) = (self.values(of, unit), self.values(to, unit));
        Spread::of(ours.iter().zip(theirs).map(|(a, b)| a / b))
    }

    /// One figure minus another, each with its unit, round by round.
    pub fn difference(&self, of: (Place<'_>, &str), to: (Place<'_>, &str)) -> Option<Spread> {
        let (ours, theirs) = (self.values(of.0, of.1), self.values(to.0, to.1));
        Spread::of(ours.iter().zip(theirs).map(|(a, b)| a - b))
    }
}

impl Series {
    fn is(&self, place: Place<'_>, unit: &str) -> bool {
        (self.case.as_str(), self.who.as_str()) == place && self.unit == unit
    }
}
