//! Counters of a writer for Prometheus.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::metrics::Kind::{Counter, Gauge};
use crate::metrics::{self, flag, Family, Shown};
use crate::web::{Answer, Asked};

/// A writer without a step for this time is waiting for a database that hangs.
const STEP_WITHIN_S: u64 = 60;

/// Counters of one stream since the program started.
#[derive(Default)]
pub struct Numbers {
    /// The key.
    pub stream: String,
    /// Whether Redis and the database answered the last request.
    pub is_well: AtomicBool,
    /// Number of sessions that failed.
    pub failures: AtomicU64,
    /// Commands that restored lost orders in Redis.
    pub repaired: AtomicU64,
    /// Paid orders that Redis has lost and not got back yet.
    pub lost: AtomicU64,
    /// Entries that the database lacks and that no reader will get.
    pub missing: AtomicU64,
    transactions: AtomicU64,
    new: AtomicU64,
    again: AtomicU64,
    foreign: AtomicU64,
    /// Unix seconds of the last transaction; 0 before the first.
    last: AtomicU64,
    /// Unix seconds of the last step: an answer of Redis, or an order that was repaired.
    step: AtomicU64,
}

impl Numbers {
    /// Counters at 0.
    pub fn of(stream: &str) -> Numbers {
        Numbers { stream: stream.to_owned(), ..Numbers::default() }
    }

    /// Notes a step: until now Redis and the database have answered.
    pub fn step(&self) {
        self.step.store(now_s(), Ordering::Relaxed);
        self.is_well.store(true, Ordering::Relaxed);
    }

    /// Whether Redis and the database answer.
    fn is_up(&self) -> bool {
        let step = self.step.load(Ordering::Relaxed).max(self.last.load(Ordering::Relaxed));
        self.is_well.load(Ordering::Relaxed) && now_s().saturating_sub(step) < STEP_WITHIN_S
    }

    /// Counts the entries of an acknowledged batch: new ones, repeated ones, and entries of other
    /// programs.
    pub fn count(&self, new: u64, again: u64, foreign: u64) {
        self.last.store(now_s(), Ordering::Relaxed);
        for (counter, more) in [
            (&self.transactions, 1),
            (&self.new, new),
            (&self.again, again),
            (&self.foreign, foreign),
        ] {
            counter.fetch_add(more, Ordering::Relaxed);
        }
    }
}

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// The pages of a writer of these streams.
pub fn show(all: &[Numbers], asked: &Asked) -> Option<Answer> {
    let ill = || all.iter().find(|numbers| !numbers.is_up());
    match asked.path.as_str() {
        "/metrics" => Some(metrics::answer(asked, families(all))),
        "/health" => {
            let why = |ill: &Numbers| format!("{}: no Redis or no database", ill.stream);
            Some(Answer::health(ill().map(why)))
        }
        _ => None,
    }
}

/// After the prefix `seckill_orders_`.
const OF_STREAM: &[Shown<Numbers>] = &[
    ("up", Gauge, "1: Redis and the database answer.", |numbers| Some(flag(numbers.is_up()))),
    ("transactions", Counter, "Batches of entries written to the database.", |numbers| {
        read(&numbers.transactions)
    }),
    ("failures", Counter, "Times Redis or the database was lost.", |numbers| {
        read(&numbers.failures)
    }),
    ("repairs", Counter, "Commands that repaired Redis.", |numbers| read(&numbers.repaired)),
    ("lost", Gauge, "Paid orders that Redis lost and does not have again.", |numbers| {
        read(&numbers.lost)
    }),
    (
        "missing_entries",
        Counter,
        "Entries that the database lacks and that no reader will get.",
        |numbers| read(&numbers.missing),
    ),
    ("last_batch_timestamp_seconds", Gauge, "When the last batch was acknowledged.", |numbers| {
        read(&numbers.last)
    }),
];

fn read(counter: &AtomicU64) -> Option<f64> {
    Some(counter.load(Ordering::Relaxed) as f64)
}

pub fn families(all: &[Numbers]) -> Vec<Family> {
    let streams = all.iter().map(|numbers| (vec![("stream", numbers.stream.clone())], numbers));
    let streams: Vec<_> = streams.collect();
    let help = "Entries that were acknowledged: new, written before, or not of a sale.";
    let results = ("result", &["new", "again", "foreign"][..]);
    let of = |numbers: &Numbers, result: &str| match result {
        "new" => read(&numbers.new),
        "again" => read(&numbers.again),
        _ => read(&numbers.foreign),
    };
    let entries = Family::by_word("seckill_orders_entries", Counter, help, results, &streams, of);
    [vec![entries], metrics::families("seckill_orders_", OF_STREAM, &streams)].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_writer_that_hangs_is_not_up() {
        let numbers = Numbers::of("s");
        assert!(!numbers.is_up(), "nobody has answered yet");
        numbers.step();
        assert!(numbers.is_up());
        numbers.step.fetch_sub(STEP_WITHIN_S, Ordering::Relaxed);
        assert!(!numbers.is_up());
        numbers.count(1, 0, 0);
        assert!(numbers.is_up(), "a batch is written");
    }
}
