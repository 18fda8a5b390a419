//! Counters of a writer for Prometheus.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::metrics::Kind::{Counter, Gauge};
use crate::metrics::{self, flag, Family, Shown};
use crate::web::{Answer, Asked};

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
    transactions: AtomicU64,
    new: AtomicU64,
    again: AtomicU64,
    foreign: AtomicU64,
    /// Unix seconds of the last transaction; 0 before the first.
    last: AtomicU64,
}

impl Numbers {
    /// Counters at 0.
    pub fn of(stream: &str) -> Numbers {
        Numbers { stream: stream.to_owned(), ..Numbers::default() }
    }

    /// Counts the entries of an acknowledged batch: new ones, repeated ones, and entries of other
    /// programs.
    pub fn count(&self, new: u64, again: u64, foreign: u64) {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.last.store(since.as_secs(), Ordering::Relaxed);
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

/// The pages of a writer of these streams.
pub fn show(all: &[Numbers], asked: &Asked) -> Option<Answer> {
    let ill = || all.iter().find(|numbers| !numbers.is_well.load(Ordering::Relaxed));
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
    ("up", Gauge, "1: Redis and the database answer.", |numbers| {
        Some(flag(numbers.is_well.load(Ordering::Relaxed)))
    }),
    ("transactions", Counter, "Batches of entries written to the database.", |numbers| {
        read(&numbers.transactions)
    }),
    ("failures", Counter, "Times Redis or the database was lost.", |numbers| {
        read(&numbers.failures)
    }),
    ("repairs", Counter, "Commands that repaired Redis.", |numbers| read(&numbers.repaired)),
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
