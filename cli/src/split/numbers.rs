//! What a balancer shows to Prometheus.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::metrics::{self, Family, Kind, Labels};
use crate::web::{Answer, TEXT};

/// What it knows of one split.
#[derive(Clone, Debug)]
pub struct Numbers {
    pub name: String,
    /// Of each part, what it can sell and what is asked of it in a second.
    pub parts: Vec<(u64, f64)>,
    pub under_way: u64,
    pub moved: u64,
    /// Pairs of parts that had units made twice, which were settled.
    pub settled: u64,
    /// WAITs that too few replicas answered.
    pub unanswered: u64,
    /// Nodes of whose replicas too few answer.
    pub silent: BTreeSet<String>,
    /// When the last look began that went well to its end; before the first one, the start.
    pub looked: Instant,
    /// Whether the last one did.
    pub is_well: bool,
}

impl Numbers {
    pub fn new(name: &str) -> Numbers {
        Numbers {
            name: name.to_owned(),
            parts: Vec::new(),
            under_way: 0,
            moved: 0,
            settled: 0,
            unanswered: 0,
            silent: BTreeSet::new(),
            looked: Instant::now(),
            is_well: false,
        }
    }
}

/// The page at `path`.
pub fn show(path: &str, all: &Mutex<Vec<Numbers>>) -> Option<Answer> {
    // A poisoned lock only means that another answer failed.
    let all = all.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match path {
        "/metrics" => Some(metrics::answer(families(&all))),
        "/health" => Some(match all.iter().find(|one| !one.is_well) {
            None => Answer::ok(TEXT, "OK\n"),
            Some(ill) => Answer {
                status: 503,
                kind: TEXT,
                body: format!("{}: the last look failed\n", ill.name),
            },
        }),
        _ => None,
    }
}

/// All names that there are, also where there is nothing to show.
pub fn families(all: &[Numbers]) -> Vec<Family> {
    let of_split = |name, kind, help, number: fn(&Numbers) -> f64| Family {
        name,
        help,
        kind,
        rows: all.iter().map(|one| (vec![("split", one.name.clone())], number(one))).collect(),
    };
    let of_part = |name, help, number: fn(&(u64, f64)) -> f64| {
        let row = |one: &Numbers, at: usize| -> Labels {
            vec![("split", one.name.clone()), ("part", at.to_string())]
        };
        let rows = all.iter().flat_map(|one| {
            one.parts.iter().enumerate().map(move |(at, part)| (row(one, at), number(part)))
        });
        Family { name, help, kind: Kind::Gauge, rows: rows.collect() }
    };
    let (gauge, counter) = (Kind::Gauge, Kind::Counter);
    vec![
        of_part("seckill_split_available_units", "Units that the part can sell.", |part| {
            part.0 as f64
        }),
        of_part(
            "seckill_split_demand_units_per_second",
            "Units that the part is asked for in a second, granted or not.",
            |part| part.1,
        ),
        of_split("seckill_split_under_way_units", gauge, "Sent and not received.", |one| {
            one.under_way as f64
        }),
        of_split("seckill_split_moved_units", counter, "Units this balancer moved.", |one| {
            one.moved as f64
        }),
        of_split(
            "seckill_split_made_twice_pairs",
            counter,
            "Pairs of parts whose units were made twice, which this balancer settled.",
            |one| one.settled as f64,
        ),
        of_split(
            "seckill_split_failed_waits",
            counter,
            "Sent units that too few replicas had in time: they stayed under way.",
            |one| one.unanswered as f64,
        ),
        of_split(
            "seckill_split_silent_nodes",
            gauge,
            "Nodes of whose replicas too few answer: nothing leaves their parts.",
            |one| one.silent.len() as f64,
        ),
        of_split(
            "seckill_split_lag_seconds",
            gauge,
            "Since the last look at all parts that went well began.",
            |one| one.looked.elapsed().as_secs_f64(),
        ),
        of_split("seckill_split_up", gauge, "1: the last look went well.", |one| {
            f64::from(u8::from(one.is_well))
        }),
    ]
}
