//! Buyers of a split sale. Each user belongs to one part, most calls go to one part, and each
//! answer is recorded with its time.

use std::collections::hash_map::Entry;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use seckill_domain::parts::home_of;

use super::{key, PARTS};
use crate::buyers::Told;
use crate::routed::{Detours, Routed};
use crate::support::wait::{holds_in_time, SetAtEnd};
use crate::support::{wait_until, Random, Reply};

const BUYERS: u64 = 8;
/// Users of each part: with LIMIT 2 more than the part can sell to.
const USERS_EACH: usize = 6_000;
/// Number of answers that `let_buy` waits for.
const ANSWERS: u64 = 50;
/// Milliseconds that a buyer waits for a replica. Without a replica each WAIT takes this long.
const WAIT_MS: u64 = 100;

/// An order in the buyer's answer, and its part.
pub struct Order {
    pub part: usize,
    pub told: Told,
}

/// All answers to buyers.
#[derive(Default)]
pub struct History {
    pub orders: HashMap<String, Order>,
    pub detours: Detours,
    /// Time of the first answer that nothing will come back.
    pub sold_out: Option<Instant>,
    /// Time of the last call that still moved a unit.
    pub last_change: Option<Instant>,
}

impl History {
    fn add(&mut self, other: History) {
        self.orders.extend(other.orders);
        self.detours.add(other.detours);
        self.sold_out = self.sold_out.into_iter().chain(other.sold_out).min();
        self.last_change = self.last_change.max(other.last_change);
    }
}

/// State that all buyers share.
pub struct Crowd {
    ports: Vec<u16>,
    users: Vec<Vec<String>>,
    stopped: AtomicBool,
    /// The part that gets nine of ten calls.
    hot: AtomicU64,
    /// Number of units that may be granted before buyers pause.
    allowed: AtomicU64,
    granted: AtomicU64,
    /// Number of answered calls, and of calls that found no sale.
    answered: AtomicU64,
    missed: AtomicU64,
}

impl Crowd {
    pub fn new(ports: Vec<u16>) -> Crowd {
        let mut users = vec![Vec::new(); usize::from(PARTS.get())];
        for number in 0.. {
            let name = format!("user-{number}");
            let home = &mut users[usize::from(home_of(name.as_bytes(), PARTS))];
            home.push(name);
            if users.iter().all(|home| home.len() >= USERS_EACH) {
                break;
            }
        }
        let zero = || AtomicU64::new(0);
        let (hot, allowed, granted) = (zero(), zero(), zero());
        let (answered, missed, stopped) = (zero(), zero(), AtomicBool::new(false));
        Crowd { ports, users, stopped, hot, allowed, granted, answered, missed }
    }

    /// Runs `script` while buyers buy. Returns their answers.
    pub fn during(&self, script: impl FnOnce()) -> History {
        thread::scope(|scope| {
            let buyers = (0..BUYERS).map(|name| scope.spawn(move || Buyer::new(self, name).buy()));
            let buyers: Vec<_> = buyers.collect();
            {
                let _stop = SetAtEnd(&self.stopped);
                script();
            }
            let mut all = History::default();
            for buyer in buyers {
                all.add(buyer.join().expect("a buyer"));
            }
            all
        })
    }

    /// Allows this many further units, most of them in part `hot`.
    pub fn allow(&self, units: u64, hot: usize) {
        self.hot.store(hot as u64, Ordering::SeqCst);
        self.allowed.fetch_add(units, Ordering::SeqCst);
    }

    /// Waits until this many calls were answered after all units were sold.
    #[track_caller]
    pub fn wait_until_heard(&self) {
        let answered = self.answered.load(Ordering::SeqCst) + 2 * BUYERS + ANSWERS;
        wait_until("buyers hear of it", || self.answered.load(Ordering::SeqCst) >= answered);
    }

    /// Waits until all allowed units are granted.
    #[track_caller]
    pub fn wait_until_granted(&self) {
        wait_until("buyers were granted what is allowed", || !self.may_buy());
    }

    /// Lets buyers buy for a short time, unless all allowed units are granted.
    #[track_caller]
    pub fn let_buy(&self) {
        let answered = self.answered.load(Ordering::SeqCst) + ANSWERS;
        wait_until("buyers are served", || {
            self.answered.load(Ordering::SeqCst) >= answered || !self.may_buy()
        });
    }

    /// Waits until at most this many allowed units are left.
    #[track_caller]
    pub fn wait_until_left(&self, units: u64) {
        let allowed = self.allowed.load(Ordering::SeqCst);
        wait_until("buyers buy", || allowed <= self.granted.load(Ordering::SeqCst) + units);
    }

    /// Waits until this many more calls found no sale.
    #[track_caller]
    pub fn wait_until_missed(&self, calls: u64) {
        let before = self.missed.load(Ordering::SeqCst);
        wait_until("buyers miss the part", || self.missed.load(Ordering::SeqCst) >= before + calls);
    }

    fn may_buy(&self) -> bool {
        self.granted.load(Ordering::SeqCst) < self.allowed.load(Ordering::SeqCst)
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }
}

struct Buyer<'a> {
    crowd: &'a Crowd,
    name: u64,
    /// A client for each part, because its slot may be on any node.
    clients: Vec<Routed>,
    random: Random,
    history: History,
}

impl Buyer<'_> {
    fn new(crowd: &Crowd, name: u64) -> Buyer<'_> {
        let clients = crowd.users.iter().map(|_| Routed::new(&crowd.ports)).collect();
        Buyer { crowd, name, clients, random: Random(name), history: History::default() }
    }

    fn buy(mut self) -> History {
        for step in 0.. {
            holds_in_time(|| self.crowd.is_stopped() || self.crowd.may_buy());
            if self.crowd.is_stopped() {
                break;
            }
            self.order(&format!("{}-{step}", self.name));
        }
        for client in &self.clients {
            self.history.detours.add(client.detours);
        }
        self.history
    }

    fn order(&mut self, req: &str) {
        let part = match self.random.below(10) {
            0 => self.random.below(self.clients.len() as u64),
            _ => self.crowd.hot.load(Ordering::SeqCst),
        } as usize;
        let users = &self.crowd.users[part];
        let user = users[self.random.below(users.len() as u64) as usize].clone();
        let qty = 1 + self.random.below(2);
        let line = format!("SECKILL.GRAB {} {user} QTY {qty} REQ {req}", key(part));
        let Some(answer) = self.call(part, &line) else { return };
        let outcome = answer.text(0);
        // A repaired part is PAUSED for a short time.
        if outcome == "SOLDOUT" && answer.reply.items()[1].int() == 0 {
            self.history.sold_out.get_or_insert_with(Instant::now);
        }
        if outcome != "GRANTED" && outcome != "REPLAY" {
            return;
        }
        self.crowd.granted.fetch_add(qty, Ordering::SeqCst);
        self.note(part, &user, req, &answer, 3);
        let deed = match self.random.below(4) {
            0 => return,
            1 => "CANCEL",
            _ => "CONFIRM",
        };
        let line = format!("SECKILL.{deed} {} {user} REQ {req}", key(part));
        let Some(answer) = self.call(part, &line) else { return };
        // NOGRANT means that the grant was lost. The check finds that, too.
        if answer.text(0) != "NOGRANT" && answer.reply.items()[1].int() != 0 {
            self.note(part, &user, req, &answer, 0);
        }
    }

    /// `None`: the part is missing.
    #[track_caller]
    fn call(&mut self, part: usize, line: &str) -> Option<Answer> {
        let client = &mut self.clients[part];
        let (started, before) = (Instant::now(), client.detours);
        let reply = client.cmd(line);
        let now = client.detours;
        // If the call was sent twice, it is unknown which connection wrote the grant.
        self.crowd.answered.fetch_add(1, Ordering::SeqCst);
        let is_first = (before.unheard, before.asked) == (now.unheard, now.asked);
        if matches!(&reply, Reply::Error(text) if text.starts_with(b"NOSALE")) {
            self.crowd.missed.fetch_add(1, Ordering::SeqCst);
            return None;
        }
        assert!(!reply.is_error(), "{line}: {reply}");
        Some(Answer { reply, started, is_first })
    }

    fn note(&mut self, part: usize, user: &str, req: &str, answer: &Answer, state: usize) {
        self.history.last_change = self.history.last_change.max(Some(answer.started));
        let is_kept = answer.is_first && self.clients[part].replicas_that_have_it(WAIT_MS) > 0;
        let (seq, qty) = (answer.reply.items()[1].int(), answer.reply.items()[2].int());
        let (user, state) = (user.to_owned(), answer.text(state));
        let told = Told { user, seq, qty, state, is_kept, in_doubt: None };
        match self.history.orders.entry(req.to_owned()) {
            Entry::Occupied(mut order) if order.get().part == part => {
                order.get_mut().told.update(told);
            }
            order => drop(order.insert_entry(Order { part, told })),
        }
    }
}

struct Answer {
    reply: Reply,
    /// Time of the first request for the grant.
    started: Instant,
    is_first: bool,
}

impl Answer {
    fn text(&self, place: usize) -> String {
        self.reply.items()[place].text()
    }
}
