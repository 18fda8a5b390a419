//! Numbers of a balancer for Prometheus.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::metrics::Kind::{Counter, Gauge};
use crate::metrics::{self, flag, Family, Labels, Shown};
use crate::web::{Answer, Asked};

/// Numbers of one split.
#[derive(Clone, Debug)]
pub struct Numbers {
    pub name: String,
    /// For each part: units available, and units asked for in a second.
    pub parts: Vec<(u64, f64)>,
    pub under_way: u64,
    pub moved: u64,
    /// Pairs of parts that had units made twice, which were settled.
    pub settled: u64,
    /// WAITs that too few replicas answered.
    pub unanswered: u64,
    /// Nodes with too few replicas that answer.
    pub silent: BTreeSet<String>,
    /// Start of the last successful pass; before the first one, the start of the program.
    pub looked: Instant,
    /// Whether the last pass was successful.
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

/// The page that is asked for.
pub fn show(asked: &Asked, all: &Mutex<Vec<Numbers>>) -> Option<Answer> {
    // A poisoned lock only means that another answer failed.
    let all = all.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let ill = || all.iter().find(|one| !one.is_well);
    match asked.path.as_str() {
        "/metrics" => Some(metrics::answer(asked, families(&all))),
        "/health" => {
            Some(Answer::health(ill().map(|ill| format!("{}: the last look failed", ill.name))))
        }
        _ => None,
    }
}

/// After the prefix `seckill_split_`: numbers of each part.
const OF_PART: &[Shown<(u64, f64)>] = &[
    ("available_units", Gauge, "Units that the part can sell.", |part| Some(part.0 as f64)),
    (
        "demand_units_per_second",
        Gauge,
        "Units that the part is asked for in a second, granted or not.",
        |part| Some(part.1),
    ),
];

/// After the prefix `seckill_split_`: numbers of the whole split.
const OF_SPLIT: &[Shown<Numbers>] = &[
    ("under_way_units", Gauge, "Sent and not received.", |one| Some(one.under_way as f64)),
    ("moved_units", Counter, "Units this balancer moved.", |one| Some(one.moved as f64)),
    (
        "made_twice_pairs",
        Counter,
        "Pairs of parts whose units were made twice, which this balancer settled.",
        |one| Some(one.settled as f64),
    ),
    (
        "failed_waits",
        Counter,
        "Sent units that too few replicas had in time: they stayed under way.",
        |one| Some(one.unanswered as f64),
    ),
    (
        "silent_nodes",
        Gauge,
        "Nodes of whose replicas too few answer: nothing leaves their parts.",
        |one| Some(one.silent.len() as f64),
    ),
    ("lag_seconds", Gauge, "Since the last look at all parts that went well began.", |one| {
        Some(one.looked.elapsed().as_secs_f64())
    }),
    ("up", Gauge, "1: the last look went well.", |one| Some(flag(one.is_well))),
];

/// All metrics of the splits; without a split only their names.
pub fn families(all: &[Numbers]) -> Vec<Family> {
    let of = |one: &Numbers| -> Labels { vec![("split", one.name.clone())] };
    let splits: Vec<_> = all.iter().map(|one| (of(one), one)).collect();
    let parts = all.iter().flat_map(|one| {
        let labels = move |at: usize| [of(one), vec![("part", at.to_string())]].concat();
        one.parts.iter().enumerate().map(move |(at, part)| (labels(at), part))
    });
    const PREFIX: &str = "seckill_split_";
    let parts = metrics::families(PREFIX, OF_PART, &parts.collect::<Vec<_>>());
    [parts, metrics::families(PREFIX, OF_SPLIT, &splits)].concat()
}
