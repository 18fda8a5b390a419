//! Which sales there are. A name that is no pattern is taken as it is; what matches a pattern is
//! looked for by SCAN, in small steps with pauses between them, over and over.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use redis::{cmd, Connection, RedisResult};

use crate::connect::{connect, words, Target};
use crate::stop::Stop;

/// The type's name, which TYPE says of a sale.
const TYPE: &str = "flashsale";

/// How many keys the server is asked to look at in a step: some 0.6 ms of its time.
const STEP_KEYS: u32 = 500;

/// Between two steps: no more than 2,000 keys are looked at in a second, a quarter of a percent of
/// the server's time.
const STEP_PAUSE: Duration = Duration::from_millis(250);

/// The same for the first search: somebody has just begun to look, and knows nothing yet.
const FIRST_STEP_PAUSE: Duration = Duration::from_millis(50);

/// How long a pause goes on without a look whether to stop.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Names of keys, in their order.
pub type Names = BTreeSet<Vec<u8>>;

/// The sales that are known at the moment.
pub struct Sales {
    named: Names,
    patterns: Vec<String>,
    found: Mutex<Names>,
    /// Why the last search failed, if it did.
    trouble: Mutex<Option<String>>,
    /// The whole keyspace has been looked at once.
    are_searched: AtomicBool,
}

impl Sales {
    /// Those that are named; none of the patterns has been looked for.
    pub fn of(sales: &[String]) -> Sales {
        let is_pattern = |sale: &&String| sale.contains(['*', '?', '[', '\\']);
        let (patterns, named): (Vec<_>, Vec<_>) = sales.iter().partition(is_pattern);
        Sales {
            named: named.into_iter().map(|name| name.clone().into_bytes()).collect(),
            patterns: patterns.into_iter().cloned().collect(),
            found: Mutex::new(Names::new()),
            trouble: Mutex::new(None),
            are_searched: AtomicBool::new(false),
        }
    }

    /// Why sales can't be looked for, while a server that answers refuses it.
    pub fn trouble(&self) -> Option<String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether all that there is has been found once.
    pub fn are_searched(&self) -> bool {
        self.patterns.is_empty() || self.are_searched.load(Ordering::Relaxed)
    }

    /// What is looked for, as it was given.
    pub fn wanted(&self) -> String {
        let named = self.named.iter().map(|name| String::from_utf8_lossy(name).into_owned());
        named.chain(self.patterns.iter().cloned()).collect::<Vec<_>>().join(", ")
    }

    /// All that are known.
    pub fn names(&self) -> Names {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        self.named.union(&found).cloned().collect()
    }

    /// Looks until it is told to stop; `every` is from the end of one search to the next.
    pub fn look(&self, server: &Target, every: Duration, stop: &Stop) {
        let mut pause = FIRST_STEP_PAUSE;
        while !self.patterns.is_empty() && !stop.is_told() {
            // Whether the server is there is told by what reads it; here the next turn comes soon.
            let Ok(mut redis) = connect(server) else {
                wait(Duration::from_secs(1), stop);
                continue;
            };
            let searched = self.search(&mut redis, pause, stop);
            let trouble = searched.err();
            let wait_for = match trouble {
                None => {
                    pause = STEP_PAUSE;
                    self.are_searched.store(true, Ordering::Relaxed);
                    every.max(pause)
                }
                Some(_) => Duration::from_secs(1),
            };
            *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = trouble;
            wait(wait_for, stop);
        }
    }

    /// What is new counts at once; what is gone, when the whole keyspace has been looked at.
    fn search(&self, redis: &mut Connection, pause: Duration, stop: &Stop) -> Result<(), String> {
        let mut seen = Names::new();
        for pattern in &self.patterns {
            let mut cursor = "0".to_owned();
            loop {
                let (next, names) = step(redis, &cursor, pattern).map_err(|e| words(&e))?;
                self.found
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .extend(names.iter().cloned());
                seen.extend(names);
                if next == "0" {
                    break;
                }
                wait(pause, stop);
                if stop.is_told() {
                    return Ok(());
                }
                cursor = next;
            }
        }
        *self.found.lock().unwrap_or_else(PoisonError::into_inner) = seen;
        Ok(())
    }
}

fn step(redis: &mut Connection, cursor: &str, pattern: &str) -> RedisResult<(String, Names)> {
    cmd("SCAN")
        .arg(cursor)
        .arg("MATCH")
        .arg(pattern)
        .arg("COUNT")
        .arg(STEP_KEYS)
        .arg("TYPE")
        .arg(TYPE)
        .query(redis)
}

/// Waits for so long, or until it is told to stop.
pub fn wait(time: Duration, stop: &Stop) {
    let until = Instant::now() + time;
    while !stop.is_told() {
        match until.checked_duration_since(Instant::now()) {
            Some(rest) if !rest.is_zero() => thread::sleep(rest.min(LOOK_EVERY)),
            _ => return,
        }
    }
}
