//! Buyers who record every acknowledged grant.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use redis::Connection;
use seckill_client::{Answer, Outcome};
use seckill_crowd::sale;
use seckill_harness::program::Server;
use seckill_harness::wait::holds_in_time;

use super::nodes::{tell, KEY};
use crate::ask::command;

const BUYERS: usize = 16;
const WAIT_MS: u64 = 1_000;
const WAIT_FOR_DISK: &str = "WAITAOF 0 1 2000";

/// The confirmation that a grant needs before it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// None but the reply.
    No,
    /// This number of replicas has the grant in memory.
    Replicas(u64),
    /// A replica has the grant on its disk.
    ReplicaDisk,
}

pub struct Buyers {
    threads: Vec<JoinHandle<Vec<String>>>,
    acknowledged: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
    started: Instant,
}

impl Buyers {
    /// Starts all buyers. A grant counts only after the confirmation `wait`.
    pub fn start(server: &Server, wait: Wait) -> Result<Buyers, String> {
        let (acknowledged, over) = (Arc::<AtomicU64>::default(), Arc::<AtomicBool>::default());
        let mut threads = Vec::new();
        for number in 0..BUYERS {
            let connection = server.connect()?;
            let (count, over) = (Arc::clone(&acknowledged), Arc::clone(&over));
            threads.push(thread::spawn(move || buy(connection, number, wait, &count, &over)));
        }
        Ok(Buyers { threads, acknowledged, over, started: Instant::now() })
    }

    pub fn acknowledged(&self) -> u64 {
        self.acknowledged.load(Ordering::Relaxed)
    }

    /// Returns when `count` grants were acknowledged.
    pub fn reach(&self, count: u64) -> Result<(), String> {
        holds_in_time(|| self.acknowledged() >= count || self.all_gave_up());
        match self.acknowledged() {
            enough if enough >= count => Ok(()),
            few => Err(format!("Only {few} grants were acknowledged.")),
        }
    }

    pub fn speed(&self) -> f64 {
        self.acknowledged() as f64 / self.started.elapsed().as_secs_f64()
    }

    /// Whether the server refuses all buyers.
    pub fn all_gave_up(&self) -> bool {
        self.threads.iter().all(JoinHandle::is_finished)
    }

    /// Makes the buyers leave this primary.
    pub fn leave(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    /// The users who got GRANTED, once the server is gone or refuses calls, or after `leave`.
    pub fn winners(self) -> Result<HashSet<String>, String> {
        let mut all = HashSet::new();
        for thread in self.threads {
            all.extend(thread.join().map_err(|_| "A buyer failed.")?);
        }
        Ok(all)
    }
}

/// Buys for one new user after the other until the server refuses, is gone, or the run ends.
fn buy(
    mut connection: Connection,
    number: usize,
    wait: Wait,
    count: &AtomicU64,
    over: &AtomicBool,
) -> Vec<String> {
    let mut mine = Vec::new();
    for turn in 0.. {
        if over.load(Ordering::Relaxed) {
            break;
        }
        let user = format!("user-{number}-{turn}");
        let reply: Result<Answer, _> =
            redis::cmd("SECKILL.GRAB").arg(KEY).arg(&user).query(&mut connection);
        let is_granted = reply.is_ok_and(|answer| answer.outcome == Outcome::Granted);
        if !is_granted || !wait.is_over(&mut connection) {
            break;
        }
        mine.push(user);
        count.fetch_add(1, Ordering::Relaxed);
    }
    mine
}

impl Wait {
    /// Waits for the confirmation. Returns whether it came.
    fn is_over(self, connection: &mut Connection) -> bool {
        match self {
            Wait::No => true,
            Wait::Replicas(wanted) => {
                let waiting = redis::cmd("WAIT").arg(wanted).arg(WAIT_MS).query(connection);
                waiting.is_ok_and(|replicas: u64| replicas >= wanted)
            }
            Wait::ReplicaDisk => {
                let disks = command(WAIT_FOR_DISK.split(' ')).query(connection);
                disks.is_ok_and(|(_, replicas): (u64, u64)| replicas >= 1)
            }
        }
    }
}

/// Whether this server has WAITAOF; Redis 7.0 does not.
pub fn has_waitaof(server: &Server) -> bool {
    // A known command without keys gives another error than an unknown command.
    let said = tell(server, "COMMAND GETKEYS WAITAOF 0 1 1");
    said.is_err_and(|why| why.contains("no key arguments"))
}

/// The users in WINNERS; empty if the sale is missing.
pub fn listed(server: &Server) -> Result<HashSet<String>, String> {
    let mut connection = server.connect()?;
    let kind: String =
        redis::cmd("TYPE").arg(KEY).query(&mut connection).map_err(|e| e.to_string())?;
    if kind == "none" {
        return Ok(HashSet::new());
    }
    sale::audit(&mut connection, KEY)?.check()?;
    let rows = sale::grants(&mut connection, KEY, None)?;
    let live = rows.into_iter().filter(|row| row.state.is_live());
    Ok(live.map(|row| row.user.to_string()).collect())
}
