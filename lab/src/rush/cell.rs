//! A cell of the table: the repeats of one contender with one number of workers.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::contender::Contender;
use crate::told::Fault;

/// The users of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Crowd {
    /// Each request has another user.
    Distinct,
    /// Each user clicks twice at one time; half of them with one request id.
    DoubleClicks,
}

impl Crowd {
    pub fn user(self, request: usize) -> usize {
        match self {
            Crowd::Distinct => request,
            Crowd::DoubleClicks => request / 2,
        }
    }

    pub fn req(self, request: usize) -> String {
        match self {
            Crowd::DoubleClicks if (request / 2).is_multiple_of(2) => {
                format!("r{}", request / 2 * 2)
            }
            _ => format!("r{request}"),
        }
    }
}

/// One rush.
#[derive(Clone, Copy, Debug, Default)]
pub struct Run {
    pub requests: u64,
    pub supply: u64,
    pub told: u64,
    pub winners: u64,
    pub undersold: u64,
    pub no_record: u64,
    pub no_winner: u64,
    pub users_with_two: u64,
    pub counter: Option<i64>,
    pub wrong_refusals: u64,
    pub inversions: u64,
    pub in_then_out: u64,
    pub errors: u64,
    pub hangs: u64,
    pub stuck: bool,
    pub seconds: f64,
    pub sold_out_ms: f64,
    pub round_trips: u64,
    pub cpu_us: u64,
    pub paid: u64,
}

/// Smallest value, median and largest value of some repeats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    pub least: f64,
    pub middle: f64,
    pub most: f64,
}

impl Spread {
    pub fn of(values: impl Iterator<Item = f64>) -> Spread {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        match values.as_slice() {
            [] => Spread::default(),
            all => Spread { least: all[0], middle: all[all.len() / 2], most: all[all.len() - 1] },
        }
    }
}

/// Largest ratio between the fastest and slowest run for which a speed is shown.
const SPREAD_MAX: f64 = 1.5;
/// With fewer runs the variation of speeds is unknown.
pub const RUNS_MIN: usize = 3;

impl Spread {
    /// The speeds of this many runs, if they agree: a shared machine is not always equally fast.
    pub fn if_steady(self, runs: usize) -> Option<Spread> {
        (runs >= RUNS_MIN && self.most <= self.least * SPREAD_MAX).then_some(self)
    }
}

/// The figures of a cell on the page and in lab.json.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Cell {
    pub id: String,
    pub workers: usize,
    pub crowd: Crowd,
    pub repeats: usize,
    pub requests: u64,
    pub supply: u64,
    /// The reason for fewer workers or requests than usual, in both languages.
    pub smaller: Option<(String, String)>,
    pub told: Spread,
    pub oversold: Spread,
    pub undersold: Spread,
    pub no_record: Spread,
    pub no_winner: Spread,
    pub users_with_two: Spread,
    pub counter: Option<Spread>,
    pub wrong_refusals: Spread,
    pub inversions: Spread,
    pub in_then_out: Spread,
    pub errors: Spread,
    pub hangs: Spread,
    /// Number of repeats after which a buyer who came alone was refused although units were left.
    pub stuck: usize,
    pub decisions_per_s: Spread,
    pub sold_out_ms: Spread,
    pub p50_us: u64,
    pub p99_us: u64,
    pub max_us: u64,
    pub round_trips: f64,
    pub server_us: f64,
    pub paid: Spread,
}

impl Cell {
    /// Decisions a second, if the runs agree.
    pub fn steady_speed(&self) -> Option<Spread> {
        self.decisions_per_s.if_steady(self.repeats)
    }

    pub fn of(
        contender: &Contender,
        workers: usize,
        crowd: Crowd,
        runs: &[Run],
        times: &Histogram<u64>,
    ) -> Cell {
        let spread = |of: fn(&Run) -> f64| Spread::of(runs.iter().map(of));
        let requests: u64 = runs.iter().map(|run| run.requests).sum();
        let each = |sum: u64| sum as f64 / requests.max(1) as f64;
        let counters: Vec<f64> =
            runs.iter().filter_map(|run| run.counter).map(|counter| counter as f64).collect();
        Cell {
            id: contender.id.to_owned(),
            workers,
            crowd,
            repeats: runs.len(),
            requests: runs.first().map_or(0, |run| run.requests),
            supply: runs.first().map_or(0, |run| run.supply),
            smaller: contender.rush.smaller().map(|(one, two)| (one.to_owned(), two.to_owned())),
            told: spread(|run| run.told as f64),
            oversold: spread(|run| run.told.saturating_sub(run.supply) as f64),
            undersold: spread(|run| run.undersold as f64),
            no_record: spread(|run| run.no_record as f64),
            no_winner: spread(|run| run.no_winner as f64),
            users_with_two: spread(|run| run.users_with_two as f64),
            counter: (!counters.is_empty()).then(|| Spread::of(counters.into_iter())),
            wrong_refusals: spread(|run| run.wrong_refusals as f64),
            inversions: spread(|run| run.inversions as f64),
            in_then_out: spread(|run| run.in_then_out as f64),
            errors: spread(|run| run.errors as f64),
            hangs: spread(|run| run.hangs as f64),
            stuck: runs.iter().filter(|run| run.stuck).count(),
            decisions_per_s: spread(|run| run.requests as f64 / run.seconds.max(1e-9)),
            sold_out_ms: spread(|run| run.sold_out_ms),
            p50_us: times.value_at_quantile(0.5),
            p99_us: times.value_at_quantile(0.99),
            max_us: times.max(),
            round_trips: each(runs.iter().map(|run| run.round_trips).sum()),
            server_us: each(runs.iter().map(|run| run.cpu_us).sum()),
            paid: spread(|run| run.paid as f64),
        }
    }

    /// Faults in a rush that the row is not marked with. (A rush need not show all faults of the
    /// interleaver.)
    pub fn contradictions(&self, contender: &Contender) -> Vec<String> {
        let clicks_twice = self.crowd == Crowd::DoubleClicks;
        let twice = clicks_twice && contender.once_per_user;
        // A user who gets "yours" twice for one record also counts as a unit too many.
        let told_twice = clicks_twice && contender.marked.contains(&Fault::TwoForOne);
        let shown = [
            (self.oversold.most, Fault::Oversold, !told_twice),
            (self.undersold.most, Fault::Undersold, true),
            (self.stuck as f64, Fault::Stuck, true),
            (self.users_with_two.most, Fault::TwoForOne, twice),
            (self.no_record.most, Fault::WinnerWithoutRecord, contender.is_ours()),
            (self.no_winner.most, Fault::RecordWithoutWinner, contender.is_ours()),
            (self.inversions.most, Fault::Inversion, contender.is_ours()),
            (self.wrong_refusals.most, Fault::Undersold, contender.is_ours()),
        ];
        shown
            .into_iter()
            .filter(|(most, fault, asked)| {
                *asked && *most > 0.0 && !contender.marked.contains(fault)
            })
            .map(|(most, fault, _)| {
                format!(
                    "{} at c = {}: {fault:?} ({most}), and it is not marked so",
                    self.id, self.workers
                )
            })
            .collect()
    }
}
