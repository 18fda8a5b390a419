//! What a writer has done so far, for Prometheus.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::metrics::{self, Family, Kind};
use crate::web::{self, Answer};

/// Of one stream, since the program started.
#[derive(Default)]
pub struct Numbers {
    /// Its key.
    pub stream: String,
    /// Both servers answered when they were last asked.
    pub is_well: AtomicBool,
    /// How often a session broke.
    pub failures: AtomicU64,
    /// Commands that gave back to Redis what it had lost.
    pub repaired: AtomicU64,
    transactions: AtomicU64,
    new: AtomicU64,
    again: AtomicU64,
    foreign: AtomicU64,
    /// Unix seconds of the last transaction, 0 before it.
    last: AtomicU64,
}

impl Numbers {
    /// Nothing yet.
    pub fn of(stream: &str) -> Numbers {
        Numbers { stream: stream.to_owned(), ..Numbers::default() }
    }

    /// A batch was written and acknowledged: entries that were new, that came again, that are none.
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
pub fn show(all: &[Numbers], path: &str) -> Option<Answer> {
    match path {
        "/metrics" => Some(metrics::answer(families(all))),
        "/health" => {
            let is_ill = |numbers: &&Numbers| !numbers.is_well.load(Ordering::Relaxed);
            Some(match all.iter().find(is_ill) {
                None => Answer::ok(web::TEXT, "OK\n"),
                Some(ill) => Answer {
                    status: 503,
                    kind: web::TEXT,
                    body: format!("{}: no Redis or no database\n", ill.stream),
                },
            })
        }
        _ => None,
    }
}

pub fn families(all: &[Numbers]) -> Vec<Family> {
    let of = |name, kind, help, number: fn(&Numbers) -> u64| Family {
        name,
        help,
        kind,
        rows: all
            .iter()
            .map(|numbers| (vec![("stream", numbers.stream.clone())], number(numbers) as f64))
            .collect(),
    };
    let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed) as f64;
    let rows = all.iter().flat_map(|numbers| {
        let results =
            [("new", &numbers.new), ("again", &numbers.again), ("foreign", &numbers.foreign)];
        results.map(|(result, counter)| {
            let stream = ("stream", numbers.stream.clone());
            (vec![stream, ("result", result.to_owned())], read(counter))
        })
    });
    vec![
        of("seckill_orders_up", Kind::Gauge, "1: Redis and the database answer.", |numbers| {
            u64::from(numbers.is_well.load(Ordering::Relaxed))
        }),
        Family {
            name: "seckill_orders_entries",
            help: "Entries that were acknowledged: new, written before, or not of a sale.",
            kind: Kind::Counter,
            rows: rows.collect(),
        },
        of("seckill_orders_transactions", Kind::Counter, "Batches.", |numbers| {
            numbers.transactions.load(Ordering::Relaxed)
        }),
        of("seckill_orders_failures", Kind::Counter, "How often a server was lost.", |numbers| {
            numbers.failures.load(Ordering::Relaxed)
        }),
        of("seckill_orders_repairs", Kind::Counter, "Commands that repaired Redis.", |numbers| {
            numbers.repaired.load(Ordering::Relaxed)
        }),
        of(
            "seckill_orders_last_batch_timestamp_seconds",
            Kind::Gauge,
            "When the last batch was acknowledged.",
            |numbers| numbers.last.load(Ordering::Relaxed),
        ),
    ]
}
