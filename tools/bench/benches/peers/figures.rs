//! What was measured, and what it comes to.

use serde::{Deserialize, Serialize};

/// One thing measured again and again, a value a round.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Series {
    pub case: String,
    pub who: String,
    pub unit: String,
    pub values: Vec<f64>,
}

/// Requests a second.
pub const PER_SECOND: &str = "requests/s";
/// How much of the time the server's main thread was at work, 0 to 1. Well below 1, the load
/// generator is what bounds the figure.
pub const BUSY: &str = "server busy";
/// The same of redis-benchmark: near 1, it can't send more.
pub const LOAD_BUSY: &str = "load busy";
/// The main thread's time for one request, in microseconds.
pub const SERVER_US: &str = "server us/request";
/// The latency that one request in two, in a hundred, in a thousand exceeds.
pub const P50_MS: &str = "p50 ms";
pub const P99_MS: &str = "p99 ms";
pub const P999_MS: &str = "p99.9 ms";
/// The p99 of a window of some milliseconds, the median of all windows.
pub const TYPICAL_P99_MS: &str = "typical p99 ms";
pub const BYTES: &str = "bytes each";
pub const MS: &str = "ms";
pub const US: &str = "us";
pub const INSTRUCTIONS: &str = "instructions";

/// A middle value with the range it was seen in.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    pub median: f64,
    pub least: f64,
    pub most: f64,
}

impl Spread {
    /// `None` of no values.
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
}

/// All that was measured, in the order in which it first was.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(transparent)]
pub struct Figures {
    series: Vec<Series>,
}

impl Figures {
    /// Notes one value.
    pub fn add(&mut self, case: &str, who: &str, unit: &str, value: f64) {
        let found = self.series.iter_mut().find(|s| s.is(case, who, unit));
        match found {
            Some(series) => series.values.push(value),
            None => self.series.push(Series {
                case: case.to_owned(),
                who: who.to_owned(),
                unit: unit.to_owned(),
                values: vec![value],
            }),
        }
    }

    pub fn all(&self) -> &[Series] {
        &self.series
    }

    fn values(&self, case: &str, who: &str, unit: &str) -> &[f64] {
        let found = self.series.iter().find(|s| s.is(case, who, unit));
        found.map_or(&[], |series| &series.values)
    }

    pub fn spread(&self, case: &str, who: &str, unit: &str) -> Option<Spread> {
        Spread::of(self.values(case, who, unit).iter().copied())
    }

    /// How often `who` is `other`, round by round: what changes from round to round on a shared
    /// machine changes both.
    pub fn ratio(&self, unit: &str, who: (&str, &str), other: (&str, &str)) -> Option<Spread> {
        let ours = self.values(who.0, who.1, unit);
        let theirs = self.values(other.0, other.1, unit);
        Spread::of(ours.iter().zip(theirs).map(|(a, b)| a / b))
    }
}

impl Series {
    fn is(&self, case: &str, who: &str, unit: &str) -> bool {
        self.case == case && self.who == who && self.unit == unit
    }

    pub fn spread(&self) -> Option<Spread> {
        Spread::of(self.values.iter().copied())
    }
}
