//! Finds the sales. A name without a pattern is the name of a sale. Keys that match a pattern are
//! searched by SCAN, repeatedly, in small steps with pauses.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use redis::{cmd, Connection, RedisResult};

use crate::connect::{connect, words, Target};
use crate::stop::Stop;

/// The name of the module's type, as TYPE returns it.
const TYPE: &str = "flashsale";

/// Keys that a SCAN step may visit: about 0.6 ms of the server's time.
const STEP_KEYS: u32 = 500;

/// Pause between two steps: at most 2,000 keys are visited in a second, a quarter of a percent of
/// the server's time.
const STEP_PAUSE: Duration = Duration::from_millis(250);

/// The pause between steps of the first search, which is shorter, because a viewer waits for the
/// result.
const FIRST_STEP_PAUSE: Duration = Duration::from_millis(50);

/// A pause checks `stop` at this interval.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Names of keys, in their order.
pub type Names = BTreeSet<Vec<u8>>;

/// The sales that are known at the moment.
pub struct Sales {
    named: Names,
    patterns: Vec<String>,
    found: Mutex<Names>,
    /// The reason if the last search failed.
    trouble: Mutex<Option<String>>,
    /// Whether the whole keyspace has been searched once.
    are_searched: AtomicBool,
}

impl Sales {
    /// The sales that are named; patterns are not searched yet.
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

    /// The reason why sales can't be searched: a server that answers refuses the SCAN.
    pub fn trouble(&self) -> Option<String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether the whole keyspace has been searched once.
    pub fn are_searched(&self) -> bool {
        self.patterns.is_empty() || self.are_searched.load(Ordering::Relaxed)
    }

    /// The names and patterns as given.
    pub fn wanted(&self) -> String {
        let named = self.named.iter().map(|name| String::from_utf8_lossy(name).into_owned());
        named.chain(self.patterns.iter().cloned()).collect::<Vec<_>>().join(", ")
    }

    /// All known sales.
    pub fn names(&self) -> Names {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        self.named.union(&found).cloned().collect()
    }

    /// Searches until `stop`; `every` is the time from the end of a search to the next.
    pub fn look(&self, server: &Target, every: Duration, stop: &Stop) {
        let mut pause = FIRST_STEP_PAUSE;
        while !self.patterns.is_empty() && !stop.is_told() {
            // The reader reports an unreachable server; the search only tries again soon.
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

    /// New sales are added at once. Vanished sales are removed when the whole keyspace was
    /// searched.
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

/// Waits for `time`, or until `stop`.
pub fn wait(time: Duration, stop: &Stop) {
    let until = Instant::now() + time;
    while !stop.is_told() {
        match until.checked_duration_since(Instant::now()) {
            Some(rest) if !rest.is_zero() => thread::sleep(rest.min(LOOK_EVERY)),
            _ => return,
        }
    }
}
