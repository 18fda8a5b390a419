//! The mode --pay: a grab is a hold of a few seconds, and not all users pay.
//!
//! Half of the users pay in time. The others cancel, never pay, or pay too late. Every unit that
//! comes back is grabbed again, until all units are paid.

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use redis::{Client, Connection};

use seckill_crowd::wire::user_name;

/// Each buyer is a thread, because buyers wait most of the time.
pub const CLIENTS_MAX: u32 = 2_000;
const STACK_BYTES: usize = 256 * 1024;
/// Longest time in ms until a user pays or cancels; shorter for short holds.
const THINKING_MS: u64 = 200;
/// Pause of a user while others hold all remaining units.
const AGAIN_AFTER: Duration = Duration::from_millis(100);
/// Milliseconds after the deadline when a late user pays, so that the answer is certain.
const LATE_MS: u64 = 20;

/// A user's habit: user n has habit n modulo the number of habits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Habit {
    Pays,
    Forgets,
    Cancels,
    /// Pays after the deadline, and gets a unit if one is free, otherwise the money back.
    PaysLate,
}

const HABITS: [Habit; 8] = [
    Habit::Pays,
    Habit::Forgets,
    Habit::Pays,
    Habit::Cancels,
    Habit::Pays,
    Habit::PaysLate,
    Habit::Pays,
    Habit::Forgets,
];

impl Habit {
    pub fn of(user: u32) -> Habit {
        HABITS[user as usize % HABITS.len()]
    }
}

/// One grant with the last state in an answer to its buyer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    pub user: u32,
    pub seq: u64,
    /// The last answer. A user who never pays gets none, so the grant must be EXPIRED.
    pub state: String,
}

/// The answers to the crowd.
pub struct Paid {
    pub endings: Vec<Ending>,
    /// GRABs that were refused while others held the remaining units.
    pub waits: u64,
    /// Users who came when all units were sold.
    pub too_late: u64,
    pub took: Duration,
}

/// A sale with holds, and its buyers.
pub struct Crowd<'a> {
    pub client: &'a Client,
    pub key: &'a str,
    pub clients: u32,
    pub users: u32,
    pub hold_ms: u64,
}

impl Crowd<'_> {
    /// Returns when every user has a unit, has returned it, or came too late. `bar` counts the paid
    /// units.
    ///
    /// # Errors
    /// A message with the first unexpected answer.
    pub fn rush(&self, bar: &ProgressBar) -> Result<Paid, String> {
        let next_user = AtomicU32::new(0);
        let mut connections = Vec::new();
        for _ in 0..self.clients {
            let connection = self.client.get_connection();
            connections.push(connection.map_err(|e| format!("A connection failed: {e}"))?);
        }
        let started = Instant::now();
        let shares: Result<Vec<Paid>, String> = thread::scope(|scope| {
            let mut buyers = Vec::new();
            for connection in connections {
                let thread = thread::Builder::new().stack_size(STACK_BYTES);
                let buyer = || self.buy(connection, &next_user, bar);
                buyers.push(thread.spawn_scoped(scope, buyer).map_err(|e| e.to_string())?);
            }
            buyers.into_iter().map(|buyer| buyer.join().map_err(|_| "A buyer failed.")?).collect()
        });
        let mut all = Paid::nothing();
        for share in shares? {
            all.endings.extend(share.endings);
            all.waits += share.waits;
            all.too_late += share.too_late;
        }
        all.took = started.elapsed();
        Ok(all)
    }

    /// Runs one user after the other over one connection.
    fn buy(
        &self,
        mut redis: Connection,
        next_user: &AtomicU32,
        bar: &ProgressBar,
    ) -> Result<Paid, String> {
        let mut share = Paid::nothing();
        loop {
            let user = next_user.fetch_add(1, Ordering::Relaxed);
            if user >= self.users {
                return Ok(share);
            }
            match self.grab(&mut redis, user, &mut share.waits)? {
                None => share.too_late += 1,
                Some(seq) => {
                    let state = self.settle(&mut redis, user, seq)?;
                    bar.inc(u64::from(state == "SOLD"));
                    share.endings.push(Ending { user, seq, state });
                }
            }
        }
    }

    /// The seq of the hold, or `None` when all units are sold for good.
    fn grab(
        &self,
        redis: &mut Connection,
        user: u32,
        waits: &mut u64,
    ) -> Result<Option<u64>, String> {
        loop {
            let reply = self.ask(redis, "SECKILL.GRAB", user, "")?;
            match (word(&reply, 0).as_str(), word(&reply, 1).parse::<u64>(), &word(&reply, 3)[..]) {
                ("GRANTED", Ok(seq), "HELD") => return Ok(Some(seq)),
                ("SOLDOUT", Ok(0), _) => return Ok(None),
                ("SOLDOUT", Ok(_), _) => *waits += 1,
                _ => return Err(format!("GRAB gave an unexpected answer: {reply:?}")),
            }
            thread::sleep(AGAIN_AFTER);
        }
    }

    /// Does what this user's habit says. Returns the state in the answer.
    fn settle(&self, redis: &mut Connection, user: u32, seq: u64) -> Result<String, String> {
        let thinking = THINKING_MS.min(self.hold_ms / 2);
        let thinks = Duration::from_millis(u64::from(user).wrapping_mul(7_919) % thinking.max(1));
        let reply = match Habit::of(user) {
            Habit::Forgets => return Ok("EXPIRED".into()),
            Habit::Pays => {
                thread::sleep(thinks);
                self.ask(redis, "SECKILL.CONFIRM", user, "")?
            }
            Habit::Cancels => {
                thread::sleep(thinks);
                self.ask(redis, "SECKILL.CANCEL", user, "")?
            }
            Habit::PaysLate => {
                thread::sleep(Duration::from_millis(self.hold_ms + LATE_MS));
                self.ask(redis, "SECKILL.CONFIRM", user, "RECLAIM")?
            }
        };
        if word(&reply, 1) != seq.to_string() {
            return Err(format!("{} asked for grant {seq} and got {reply:?}", user_name(user)));
        }
        Ok(word(&reply, 0))
    }

    /// Sends one command for this user's order.
    fn ask(
        &self,
        redis: &mut Connection,
        name: &str,
        user: u32,
        option: &str,
    ) -> Result<Vec<redis::Value>, String> {
        let mut command = redis::cmd(name);
        command.arg(self.key).arg(user_name(user)).arg("REQ").arg(format!("order-{user}"));
        if !option.is_empty() {
            command.arg(option);
        }
        command.query(redis).map_err(|e| format!("{name} failed: {e}"))
    }
}

impl Paid {
    fn nothing() -> Paid {
        Paid { endings: Vec::new(), waits: 0, too_late: 0, took: Duration::ZERO }
    }

    /// Number of grants of users with this habit that ended in `state`.
    pub fn count(&self, habit: Habit, state: &str) -> u64 {
        let such = |end: &&Ending| Habit::of(end.user) == habit && end.state == state;
        self.endings.iter().filter(such).count() as u64
    }
}

fn word(reply: &[redis::Value], at: usize) -> String {
    let value = reply.get(at).map(redis::from_redis_value_ref::<String>);
    value.and_then(Result::ok).unwrap_or_default()
}
