//! One buyer: a process of the shop that handles one request, with its own connections.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;

use redis::Connection;

use crate::gate::{lock, Gate};
use crate::session::Session;
use crate::told::{Rush, Stop};

/// State that the shop's processes share, in addition to Redis and the database.
#[derive(Debug, Default)]
pub struct House {
    /// The "sold out" marker in the memory of an application server.
    pub sold_out_flag: AtomicBool,
    /// The mark of a server that gets notifications: the generation in which it was set, plus 1.
    pub cached_at: AtomicU64,
    /// The generation of the server's marks; each notification begins a new one.
    pub generation: AtomicU64,
    /// In a rush: no more buyers come, so workers may stop.
    pub closed: AtomicBool,
    /// Next number for unique tokens and request ids.
    pub next_number: AtomicU64,
    /// The folder of lock files.
    pub folder: std::path::PathBuf,
    pub redis_url: String,
}

/// The state of one request, and the connections, which are reused.
pub struct Buyer {
    pub gate: Gate,
    /// The index in the interleaver (A is 0), or the worker's number.
    pub who: usize,
    pub user: String,
    /// The request id of this click; a resent click has an equal id.
    pub req: String,
    /// Whether this click was sent before without an answer.
    pub resent: bool,
    /// 1, or 2 for the second buyer of a contender with two products.
    pub product: u64,
    pub redis: Connection,
    pub sql: Option<Session>,
    pub house: Arc<House>,
    pub rush: Rush,
    /// The request's number in the rush.
    pub number: u64,
    /// Commands, transactions and statements sent for this request.
    pub round_trips: u64,
    /// Coins paid (the red packets of 001).
    pub paid: u64,
    /// In a soak: the process of this request ends before this step.
    pub dies_before: Option<u64>,
    steps: u64,
    pub(crate) random: fastrand::Rng,
    pub(crate) watches: bool,
    pub(crate) in_transaction: bool,
}

impl Buyer {
    pub fn new(gate: Gate, redis: Connection, sql: Option<Session>, house: Arc<House>) -> Buyer {
        Buyer {
            gate,
            who: 0,
            user: String::new(),
            req: String::new(),
            resent: false,
            product: 1,
            redis,
            sql,
            house,
            rush: Rush::USUAL,
            number: 0,
            round_trips: 0,
            paid: 0,
            dies_before: None,
            steps: 0,
            random: fastrand::Rng::with_seed(0),
            watches: false,
            in_transaction: false,
        }
    }

    /// Starts a new request of `user` and clears the state of the last one.
    pub fn comes(&mut self, user: String, req: String, number: u64) {
        self.random = fastrand::Rng::with_seed(number.wrapping_mul(0x9e37_79b9).wrapping_add(1));
        self.gate.begin();
        (self.user, self.req, self.number) = (user, req, number);
        (self.resent, self.round_trips, self.paid, self.steps) = (false, 0, 0, 0);
    }

    /// PHP's `mt_rand`: both bounds are possible.
    pub fn mt_rand(&mut self, low: u64, high: u64) -> u64 {
        self.random.u64(low..=high)
    }

    /// The coins that the business logic gives this user: 1 in the interleaver, 1 to 1000 in a
    /// rush.
    pub fn amount(&mut self) -> u64 {
        if self.gate.is_held() {
            return 1;
        }
        self.mt_rand(1, 1000)
    }

    /// `usleep(100)` and the like. The interleaver plays every order without it.
    pub fn sleep(&mut self, time: Duration) {
        if !self.gate.is_held() {
            std::thread::sleep(time);
        }
    }

    /// Sleeps before a retry; in the interleaver waits until another buyer has made a step.
    pub fn pause(&mut self, time: Duration) {
        self.gate.pause();
        self.sleep(time);
    }

    /// `执行额外业务逻辑`: a separate step, in which a lease may expire. In a rush some requests work
    /// longer than their lease.
    pub fn work(&mut self) -> Result<(), Stop> {
        self.step(|_| Ok(((), || "works".into())))?;
        let every = self.rush.overlong_every;
        if every > 0 && self.number.is_multiple_of(every) {
            self.sleep(Duration::from_millis(self.rush.lease_ms * 3 / 2));
        }
        Ok(())
    }

    /// Whether the shop's own work fails: in the interleaver for A, in a rush for some orders. The
    /// result depends on the order, so a repeated order is paid at most once.
    pub fn work_fails(&mut self) -> bool {
        match self.gate.is_held() {
            true => self.rush.fails_percent > 0 && self.who == 0,
            false => {
                let order = self
                    .req
                    .bytes()
                    .fold(7, |sum: u64, byte| sum.wrapping_mul(31) ^ u64::from(byte));
                fastrand::Rng::with_seed(order).u64(0..100) < self.rush.fails_percent
            }
        }
    }

    /// A further connection, whose statements may block the first connection.
    pub fn second_connection(&self) -> Result<Connection, Stop> {
        Ok(redis::Client::open(self.house.redis_url.as_str())?.get_connection()?)
    }

    /// A number that no other buyer gets.
    pub fn unlike(&self) -> u64 {
        self.house.next_number.fetch_add(1, Ordering::Relaxed)
    }

    /// Whether a worker may stop.
    pub fn buyers_are_gone(&self) -> bool {
        match &self.gate {
            Gate::Held(turns) => lock(&turns.scene).buyers_are_gone,
            Gate::Open => self.house.closed.load(Ordering::SeqCst),
        }
    }

    /// One round trip: waits for the buyer's turn, sends the command, and adds both to the
    /// timeline.
    pub(crate) fn step<T, S: FnOnce() -> String>(
        &mut self,
        act: impl FnOnce(&mut Buyer) -> Result<(T, S), Stop>,
    ) -> Result<T, Stop> {
        if self.dies_before == Some(self.steps) || !self.gate.pass() {
            return Err(Stop::Died);
        }
        self.steps += 1;
        let (out, text) = act(self)?;
        self.gate.note(text);
        Ok(out)
    }

    /// The script has ended or crashed, so WATCH and open transactions must end. The connections
    /// are kept for the next request, so this sends UNWATCH and ROLLBACK.
    pub fn script_ends(&mut self) -> Result<(), Stop> {
        if std::mem::take(&mut self.watches) {
            redis::cmd("UNWATCH")
                .exec(&mut self.redis)
                .map_err(|e| Stop::Trouble(e.to_string()))?;
        }
        if std::mem::take(&mut self.in_transaction) {
            self.quietly("ROLLBACK")?;
        }
        Ok(())
    }

    pub(crate) fn session(&mut self) -> Result<&mut Session, Stop> {
        self.sql.as_mut().ok_or_else(|| Stop::Trouble("this buyer has no database".into()))
    }

    /// A call of the lab itself: without a turn and without a line in the timeline.
    pub fn quietly(&mut self, statement: &str) -> Result<(), Stop> {
        self.session()?.ask(statement).map(drop)
    }
}
