//! Buyers who grab, pay and cancel without a pause and record the answers.

use std::collections::hash_map::Entry;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::routed::{Detours, Routed};
use crate::support::{Random, Reply};

/// Keys of the sale and its stream, in one slot.
pub const SALE: &str = "{drop}sale";
pub const STREAM: &str = "{drop}orders";

pub const BUYERS: u64 = 6;
/// Milliseconds that a buyer waits for a replica.
const WAIT_MS: u64 = 500;

/// A buyer's last answer about an order.
#[derive(Clone, Debug)]
pub struct Told {
    pub user: String,
    pub seq: i64,
    pub qty: i64,
    pub state: String,
    /// Whether the grant counts: always, or, for buyers who send WAIT, only if a replica has it.
    pub is_kept: bool,
    /// The state by a later answer that no replica had: it may be lost.
    pub in_doubt: Option<String>,
}

impl Told {
    /// Notes a later answer. What a replica has is not forgotten for an answer that none has.
    pub fn update(&mut self, later: Told) {
        match self.is_kept && !later.is_kept {
            true => self.in_doubt = Some(later.state),
            false => *self = later,
        }
    }
}

/// All answers to buyers, by REQ.
#[derive(Default)]
pub struct History {
    pub orders: HashMap<String, Told>,
    pub detours: Detours,
    pub longest: Duration,
}

/// State that all buyers of a run share.
pub struct Run {
    ports: Vec<u16>,
    /// Number of users; 0: a new user for each order.
    users: u64,
    waits: bool,
    stopped: AtomicBool,
    /// Number of answered calls.
    pub calls: AtomicU64,
    /// Number of grants in buyers' answers; with WAIT only those that a replica has.
    pub grants: AtomicU64,
}

impl Run {
    /// A run whose buyers know these ports of the cluster.
    pub fn new(ports: Vec<u16>, users: u64, waits: bool) -> Run {
        let (calls, grants) = (AtomicU64::new(0), AtomicU64::new(0));
        Run { ports, users, waits, stopped: AtomicBool::new(false), calls, grants }
    }

    /// Runs `script` while buyers buy. Returns their answers.
    pub fn during(&self, script: impl FnOnce()) -> History {
        thread::scope(|scope| {
            let buyers = (0..BUYERS).map(|name| scope.spawn(move || Buyer::new(self, name).buy()));
            let buyers: Vec<_> = buyers.collect();
            // Catches a panic of the script, because this scope waits for the buyers' end.
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(script));
            self.stopped.store(true, Ordering::SeqCst);
            let mut all = History::default();
            for buyer in buyers {
                let one = buyer.join().expect("a buyer");
                all.orders.extend(one.orders);
                all.detours.add(one.detours);
                all.longest = all.longest.max(one.longest);
            }
            done.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            all
        })
    }
}

struct Buyer<'a> {
    run: &'a Run,
    name: u64,
    client: Routed,
    random: Random,
    history: History,
}

impl Buyer<'_> {
    fn new(run: &Run, name: u64) -> Buyer<'_> {
        let client = Routed::new(&run.ports);
        Buyer { run, name, client, random: Random(name), history: History::default() }
    }

    fn buy(mut self) -> History {
        for step in 0.. {
            if self.run.stopped.load(Ordering::SeqCst) {
                break;
            }
            let req = format!("{}-{step}", self.name);
            let user = match self.run.users {
                0 => format!("user-{req}"),
                users => format!("user-{}", self.random.below(users)),
            };
            self.order(&user, &req);
        }
        self.history.detours = self.client.detours;
        self.history
    }

    fn order(&mut self, user: &str, req: &str) {
        let qty = 1 + self.random.below(2);
        let reply = self.call(&format!("SECKILL.GRAB {SALE} {user} QTY {qty} REQ {req}"));
        let outcome = reply.items()[0].text();
        if outcome != "GRANTED" && outcome != "REPLAY" {
            return;
        }
        let item = |place: usize| reply.items()[place].clone();
        self.note(user, req, item(3).text(), item(1).int(), item(2).int());
        let deed = match self.random.below(4) {
            0 => return,
            1 => "CANCEL",
            _ => "CONFIRM",
        };
        let reply = self.call(&format!("SECKILL.{deed} {SALE} {user} REQ {req}"));
        let item = |place: usize| reply.items()[place].clone();
        // NOGRANT means that the grant was lost. The check finds that, too.
        if item(0).text() != "NOGRANT" && item(1).int() != 0 {
            self.note(user, req, item(0).text(), item(1).int(), item(2).int());
        }
    }

    #[track_caller]
    fn call(&mut self, line: &str) -> Reply {
        let started = Instant::now();
        let reply = self.client.cmd(line);
        assert!(!reply.is_error(), "{line}: {reply}");
        self.history.longest = self.history.longest.max(started.elapsed());
        self.run.calls.fetch_add(1, Ordering::SeqCst);
        reply
    }

    fn note(&mut self, user: &str, req: &str, state: String, seq: i64, qty: i64) {
        let is_kept = !self.run.waits || self.client.replicas_that_have_it(WAIT_MS) > 0;
        let told = Told { user: user.to_owned(), seq, qty, state, is_kept, in_doubt: None };
        match self.history.orders.entry(req.to_owned()) {
            Entry::Occupied(mut order) => order.get_mut().update(told),
            Entry::Vacant(place) => {
                place.insert(told);
                self.run.grants.fetch_add(u64::from(is_kept), Ordering::SeqCst);
            }
        }
    }
}
