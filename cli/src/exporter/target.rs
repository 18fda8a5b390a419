//! One watched server: its last reading, its problems, and its history.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use redis::{cmd, Connection};

use super::families;
use super::find::{wait, Sales};
use super::history::History;
use super::read::{self, Snapshot};
use crate::connect::{self, connect_within, reach};
use crate::metrics::Family;
use crate::print::tell;
use crate::stop::Stop;
use crate::web::{Answer, TEXT};

/// A reading is shared for this time: many viewers cost no more than one.
const FRESH: Duration = Duration::from_millis(900);

/// Pages share a reading for this many times the duration of the read. So readings for pages take
/// at most half a percent of the server's time.
const PAGES_REST: u32 = 200;

/// Upper limit of `PAGES_REST`: a server that was slow once is read again soon.
const PAGES_REST_AT_MOST: Duration = Duration::from_secs(5);

/// Time from one point of the history to the next.
pub const RECORD_EVERY: Duration = Duration::from_secs(15);

/// Interval of readings while a server has a problem, so that its message disappears soon.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// Time limit for an answer of the server. A scrape may have to wait for two readings, and
/// Prometheus waits 5 s for a scrape: with a longer limit it would never see `seckill_up` 0 of a
/// server that hangs.
const PATIENCE: Duration = Duration::from_secs(2);

/// Time limit for the answer of a replica.
const REPLICA_PATIENCE: Duration = Duration::from_secs(1);

/// Numbers of a numbered sale that are shown at once: the most that UNITS returns.
pub const MAP: u64 = 10_000;

/// The exporter's view of the sales.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sight {
    Clear,
    /// The server answers, but has no sale to show.
    NoSale(String),
    /// The exporter can't see the sales, for this reason.
    Blind(String),
}

/// A server and its last reading.
pub struct Target {
    /// The address, or its name for Sentinels.
    pub name: String,
    pub server: connect::Target,
    pub sales: Sales,
    most: usize,
    last: Mutex<Last>,
    pub history: Mutex<History>,
    /// For each replica that the primary names, the version of its module, if it has one. Replicas
    /// that could not be asked are missing.
    replicas: Mutex<BTreeMap<String, Option<String>>>,
}

/// The connection, and its last reading.
#[derive(Default)]
struct Last {
    redis: Option<Connection>,
    read: Option<(Instant, Result<Arc<Snapshot>, String>)>,
    /// Answers of UNITS since the last reading, by sale and first number.
    maps: HashMap<(String, u64), Result<String, String>>,
}

/// A poisoned lock only means that another answer failed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Target {
    /// A target that was not read yet.
    pub fn of(server: connect::Target, sales: &[String], most: usize) -> Target {
        Target {
            name: server.name(),
            server,
            sales: Sales::of(sales),
            most,
            last: Mutex::new(Last::default()),
            history: Mutex::new(History::default()),
            replicas: Mutex::new(BTreeMap::new()),
        }
    }

    /// Whether `name` means this server: its address, or a URL with this address.
    pub fn is_called(&self, name: &str) -> bool {
        let bare = name.split_once("://").map_or(name, |(_, rest)| rest);
        bare.trim_end_matches('/') == self.name
    }

    /// The last reading if it is fresh, or a new one.
    pub fn now(&self) -> Result<Arc<Snapshot>, String> {
        self.snapshot(|_| FRESH)
    }

    /// Like `now`, for pages, which poll all the time.
    pub fn for_pages(&self) -> Result<Arc<Snapshot>, String> {
        self.snapshot(|took| (took * PAGES_REST).clamp(FRESH, PAGES_REST_AT_MOST))
    }

    /// `fresh_for` gets the duration of the read and returns how long the reading is shared.
    fn snapshot(&self, fresh_for: fn(Duration) -> Duration) -> Result<Arc<Snapshot>, String> {
        let mut last = lock(&self.last);
        if let Some((at, read)) = &last.read {
            let took = read.as_ref().map_or(Duration::ZERO, |snapshot| snapshot.took);
            if at.elapsed() < fresh_for(took) {
                return read.clone();
            }
        }
        let read = self.read(&mut last.redis).map(Arc::new);
        last.read = Some((Instant::now(), read.clone()));
        last.maps.clear();
        read
    }

    /// The states of `MAP` numbers of a numbered sale from `first` on. All viewers share the result
    /// until the next reading.
    pub fn map(&self, sale: &str, first: u64) -> Result<String, String> {
        let mut last = lock(&self.last);
        let Last { redis, maps, .. } = &mut *last;
        let shared = maps.entry((sale.to_owned(), first));
        let ask = || match redis {
            Some(redis) => read::map(redis, sale, first, MAP),
            None => Err(format!("{} is away", self.name)),
        };
        shared.or_insert_with(ask).clone()
    }

    /// Reads over the connection, or over a new one if the last one broke.
    fn read(&self, connection: &mut Option<Connection>) -> Result<Snapshot, String> {
        // `is_all` is read before the names, because a search may end in between.
        let is_all = self.sales.are_searched();
        let names = self.sales.names();
        let mut redis = match connection.take() {
            Some(redis) => redis,
            None => connect_within(&self.server, PATIENCE)?,
        };
        let snapshot = Snapshot { is_all, ..read::snapshot(&mut redis, &names, self.most)? };
        *connection = Some(redis);
        Ok(snapshot)
    }

    /// The sales that a reading shows.
    pub fn sight(&self, read: &Result<Arc<Snapshot>, String>) -> Sight {
        let snapshot = match read {
            Ok(snapshot) => snapshot,
            Err(why) => return Sight::Blind(why.clone()),
        };
        if !snapshot.info.contains_key("seckill_version") {
            return Sight::Blind(format!(
                "{} has no module seckill: `loadmodule` is missing in its configuration, see \
                 install.md",
                self.name
            ));
        }
        if let Some(why) = self.sales.trouble() {
            return Sight::Blind(format!(
                "sales can't be looked for at {}: {why}. User monitoring of redis.conf.example may \
                 SCAN; a sale that is named with its whole name takes no SCAN",
                self.name
            ));
        }
        match &snapshot.refused {
            Some(why) if snapshot.sales.is_empty() => {
                Sight::Blind(format!("no sale at {} may be read: {why}", self.name))
            }
            _ if !snapshot.sales.is_empty() => Sight::Clear,
            _ if !snapshot.is_all => Sight::NoSale(format!("looking for sales at {}", self.name)),
            _ => Sight::NoSale(format!("{} has no sale {} yet", self.name, self.sales.wanted())),
        }
    }

    /// Status 200, or 503 with the message about the problem.
    pub fn health(&self) -> Answer {
        match self.sight(&self.now()) {
            Sight::Clear => Answer::health(None),
            Sight::NoSale(why) => Answer::ok(TEXT, format!("OK, but {why}\n")),
            Sight::Blind(why) => Answer::health(Some(why)),
        }
    }

    /// All numbers of this server.
    pub fn families(&self) -> Vec<Family> {
        let read = self.now();
        let is_blind = matches!(self.sight(&read), Sight::Blind(_));
        let replicas = lock(&self.replicas).clone();
        families::all(read.ok().as_deref(), !is_blind, &replicas)
    }

    /// Runs until `stop`: keeps the history, and prints to stderr when the visible sales change.
    pub fn record(&self, stop: &Stop) {
        let mut told = Sight::Clear;
        while !stop.is_told() {
            let read = self.for_pages();
            let sight = self.sight(&read);
            if let Ok(snapshot) = &read {
                lock(&self.history).add(snapshot);
                *lock(&self.replicas) = self.modules_of(snapshot.replicas());
            }
            // Before the end of the first search it is unknown whether there is a sale.
            let is_all = read.is_ok_and(|snapshot| snapshot.is_all);
            let is_known = is_all || matches!(sight, Sight::Blind(_));
            if is_known && sight != told {
                match &sight {
                    Sight::Clear => tell!("seckill exporter: {}: all is well", self.name),
                    Sight::NoSale(why) | Sight::Blind(why) => tell!("seckill exporter: {why}"),
                }
                told = sight;
            }
            let is_well = is_known && told == Sight::Clear;
            wait(if is_well { RECORD_EVERY } else { LOOK_AGAIN }, stop);
        }
    }

    /// Asks replicas for the module's version. The primary does not know it, and WAIT also counts a
    /// replica without the module.
    fn modules_of(&self, replicas: Vec<(String, u16)>) -> BTreeMap<String, Option<String>> {
        let module = |(host, port): &(String, u16)| {
            let client = self.server.at(host, *port).ok()?;
            let mut redis = reach(&client, REPLICA_PATIENCE).ok()?;
            let info: String = cmd("INFO").arg("seckill").query(&mut redis).ok()?;
            let version = info.lines().find_map(|line| line.strip_prefix("seckill_version:"));
            Some((format!("{host}:{port}"), version.map(|version| version.trim().to_owned())))
        };
        replicas.iter().filter_map(module).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_asks_less_often_of_a_server_that_takes_longer() {
        let fresh_for = |took: Duration| (took * PAGES_REST).clamp(FRESH, PAGES_REST_AT_MOST);
        for (took_ms, fresh_ms) in [(0, 900), (3, 900), (10, 2_000), (60_000, 5_000)] {
            let fresh = fresh_for(Duration::from_millis(took_ms));
            assert_eq!(fresh, Duration::from_millis(fresh_ms), "{took_ms} ms");
        }
    }
}
