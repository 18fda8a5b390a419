//! Client threads that buy, pay, cancel, restock, alter and import. They record every call and
//! reply.
//!
//! A client retries a request until it gets an answer, always with one REQ, over new connections to
//! the current primary. All threads know all orders, so one thread may cancel an order that another
//! one pays.

mod keeps;

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use redis::Connection;

use crate::ask::{ask, command, connect, Reply, Way, WAIT_MS};
use crate::draws::Draw;
use crate::history::{Answer, Answered, Deed, Kind, Limits, List, Op, Terms, Try};
use crate::library::{Flavour, Library};
use crate::seats;
use crate::setting::Setting;
use crate::shared::Shared;
use crate::waiting;
use seckill_harness::process::lock;
use seckill_random::Random;

/// Timeout of a reply; then the client retries.
const PATIENCE: Duration = Duration::from_millis(700);
const NO_SERVER_PAUSE: Duration = Duration::from_millis(4);
/// After all faults, a client gives up after this time.
pub const GIVE_UP_AFTER: Duration = Duration::from_secs(30);
/// Number of orders that all threads know.
const BOARD_ORDERS: usize = 64;
/// Most sales of one MGRAB.
const MGRAB_SALES: u64 = 3;

#[derive(Clone, Debug)]
pub struct Open {
    pub key: String,
    pub terms: Terms,
    pub users: u64,
}

impl Open {
    pub fn init(&self) -> String {
        let Open { key, terms: Terms { supply, limits, kind }, .. } = self;
        let Limits { limit, grabs, hold_ms, .. } = limits;
        let special = match kind {
            Kind::Plain => String::new(),
            Kind::Numbered => " NUMBERED".to_owned(),
            Kind::Drawn(draw) => format!(" {}", draw.words()),
            Kind::Listed(List { max, offer_ms, overtake }) => {
                format!(" WAITLIST {max} OFFER {offer_ms} OVERTAKE {overtake}")
            }
            Kind::Rounds { every_ms, lasts_ms } => format!(" EVERY {every_ms} LASTS {lasts_ms}"),
        };
        let stream = self.stream();
        format!(
            "SECKILL.INIT {key} {supply} LIMIT {limit} GRABS {grabs} HOLD {hold_ms} \
             OUTBOX {stream}{special}"
        )
    }

    /// Whether callers name the quantity.
    fn takes_amounts(&self) -> bool {
        !matches!(self.terms.kind, Kind::Drawn(_))
    }

    /// Whether units can be added: the number of packets is fixed.
    fn takes_units(&self) -> bool {
        match &self.terms.kind {
            Kind::Drawn(draw) => matches!(draw, Draw::Uniform { .. }),
            Kind::Plain | Kind::Rounds { .. } | Kind::Listed(_) | Kind::Numbered => true,
        }
    }

    pub fn stream(&self) -> String {
        format!("{}:orders", self.key)
    }
}

/// An order that all threads know, and that no thread has changed yet.
#[derive(Clone, Debug)]
struct Order {
    user: String,
    req: String,
    /// The text ` QTY n`, ` UPTO n` or nothing.
    amount: String,
    /// The known numbers of its units.
    units: Vec<u64>,
    left: Vec<Deed>,
}

/// The threads that buy from all sales.
pub struct Crowd {
    threads: Vec<JoinHandle<Result<Vec<Vec<Op>>, String>>>,
    shared: Arc<Shared>,
}

impl Crowd {
    /// Starts this many threads. If a library is named, it makes the buyers' calls.
    pub fn start(
        shared: Arc<Shared>,
        sales: &[Open],
        count: usize,
        setting: Setting,
        library: Option<Flavour>,
        seed: u64,
    ) -> Crowd {
        let boards: Arc<Vec<Mutex<Vec<Order>>>> =
            Arc::new(sales.iter().map(|_| Mutex::default()).collect());
        let threads = (0..count).map(|number| {
            let client = Client {
                shared: Arc::clone(&shared),
                boards: Arc::clone(&boards),
                sales: sales.to_vec(),
                setting,
                number,
                random: Random(seed ^ (number as u64) << 32),
                old: Vec::new(),
                connection: None,
                library: None,
                history: vec![Vec::new(); sales.len()],
                orders: 0,
            };
            let library = library.clone();
            thread::spawn(move || client.run(library.as_ref()))
        });
        Crowd { threads: threads.collect(), shared }
    }

    /// Stops new requests, and returns a history for each sale when all others are answered.
    pub fn finish(self, sales: usize) -> Result<Vec<Vec<Op>>, String> {
        self.shared.over.store(true, Ordering::SeqCst);
        let mut all = vec![Vec::new(); sales];
        for thread in self.threads {
            let histories = thread.join().map_err(|_| "A client thread failed.")??;
            for (all, history) in all.iter_mut().zip(histories) {
                all.extend(history);
            }
        }
        Ok(all)
    }
}

struct Client {
    shared: Arc<Shared>,
    boards: Arc<Vec<Mutex<Vec<Order>>>>,
    sales: Vec<Open>,
    setting: Setting,
    number: usize,
    random: Random,
    /// Older orders of several units, by sale. A part of each may be returned late.
    old: Vec<(usize, Order)>,
    /// The connection, and the reign of its primary.
    connection: Option<(u64, Connection)>,
    /// The library, for the calls that it supports.
    library: Option<Library>,
    history: Vec<Vec<Op>>,
    orders: u64,
}

impl Client {
    fn run(mut self, library: Option<&Flavour>) -> Result<Vec<Vec<Op>>, String> {
        // A driver ends with the thread that started it.
        let port = self.shared.address.load(Ordering::SeqCst);
        self.library = library.map(|flavour| Library::start(flavour, port)).transpose()?;
        while !self.shared.over.load(Ordering::SeqCst) {
            let sale = self.random.below(self.sales.len() as u64) as usize;
            match self.random.below(100) {
                0..=2 if self.number == 0 => self.pause(sale),
                3..=9 if self.number < 2 && self.sales[sale].takes_units() => self.restock(sale),
                3..=9 if self.number == 2 => self.alter(sale),
                10..=13 => self.fence_first(sale),
                14..=19 => self.grab_several(),
                20..=49 => self.grab_anew(sale),
                50..=52 if !self.old.is_empty() => self.keep_late(),
                _ => self.go_on(sale),
            }
        }
        Ok(self.history)
    }

    fn pause(&mut self, sale: usize) {
        let key = self.sales[sale].key.clone();
        self.ask(sale, Deed::Pause, ("", ""), &format!("SECKILL.PAUSE {key}"));
        thread::sleep(Duration::from_millis(self.random.below(30)));
        self.ask(sale, Deed::Resume, ("", ""), &format!("SECKILL.RESUME {key}"));
    }

    fn restock(&mut self, sale: usize) {
        let Open { key, terms, .. } = self.sales[sale].clone();
        let most = (terms.supply / 20).max(3);
        // Supply of numbered units can only grow.
        let adds = matches!(terms.kind, Kind::Numbered) || self.random.below(3) > 0;
        let sign = if adds { "" } else { "-" };
        let (req, units) = (self.new_req("r"), 1 + self.random.below(most));
        let line = format!("SECKILL.RESTOCK {key} {sign}{units} REQ {req}");
        self.ask(sale, Deed::Restock, ("", &req), &line);
    }

    /// Changes the terms for later grants. Only one thread sends ALTER, so no other one reverts it.
    fn alter(&mut self, sale: usize) {
        let open = &self.sales[sale];
        let (key, takes_limit) = (open.key.clone(), open.takes_amounts());
        let set = match self.random.below(3) {
            // In a sale that draws amounts LIMIT is an error.
            0 if takes_limit => format!("LIMIT {}", self.random.below(5)),
            0 | 1 => format!("GRABS {}", self.random.below(3)),
            _ => format!("HOLD {}", self.random.below(4) * (20 + self.random.below(300))),
        };
        self.ask(sale, Deed::Alter, ("", &set), &format!("SECKILL.ALTER {key} {set}"));
    }

    /// Sends an MGRAB. Sales with rounds are left out: a sale that has forgotten the REQ, while
    /// others know it, makes it REQMISMATCH.
    fn grab_several(&mut self) {
        let has_rounds = |sale: &Open| matches!(sale.terms.kind, Kind::Rounds { .. });
        let mut sales: Vec<usize> =
            (0..self.sales.len()).filter(|sale| !has_rounds(&self.sales[*sale])).collect();
        let count = 2 + self.random.below(MGRAB_SALES - 1) as usize;
        while sales.len() > count {
            sales.swap_remove(self.random.below(sales.len() as u64) as usize);
        }
        let (user, req) = (format!("u{}", self.random.below(60)), self.new_req("m"));
        let keys: Vec<&str> = sales.iter().map(|sale| self.sales[*sale].key.as_str()).collect();
        let mut line = format!("SECKILL.MGRAB {user} {} {}", sales.len(), keys.join(" "));
        if sales.iter().all(|sale| self.sales[*sale].takes_amounts()) {
            let amounts = sales.iter().map(|_| (1 + self.random.below(2)).to_string());
            line += &format!(" QTY {}", amounts.collect::<Vec<_>>().join(" "));
        }
        line += &format!(" REQ {req}");
        self.ask_all(&sales, Deed::Mgrab, (&user, &req), &line);
        // The REQ must be new to all sales: a fence in one of them makes it REQMISMATCH.
        for sale in sales {
            let (user, req) = (user.clone(), req.clone());
            let mut left = vec![Deed::Confirm, Deed::Cancel, Deed::Extend, Deed::Refund];
            left.extend(self.keeps(sale, &[]));
            let order = Order { user, req, amount: String::new(), units: Vec::new(), left };
            self.pin(sale, order.clone());
            self.keep_told(sale, &order);
        }
    }

    fn new_req(&mut self, letter: &str) -> String {
        self.orders += 1;
        format!("{letter}{}-{}", self.number, self.orders)
    }

    fn new_order(&mut self, sale: usize) -> Order {
        let user = format!("u{}", self.random.below(self.sales[sale].users));
        let Terms { supply, kind, .. } = &self.sales[sale].terms;
        // Few waiters are served. A part of an order with several units may be returned.
        let odds = if matches!(kind, Kind::Listed(_)) { 3 } else { 6 };
        let amount = match self.random.below(odds) {
            _ if !self.sales[sale].takes_amounts() => String::new(),
            0..=3 if matches!(kind, Kind::Numbered) => seats::amount(*supply, &mut self.random),
            _ if matches!(kind, Kind::Numbered) => String::new(),
            0 => format!(" QTY {}", 1 + self.random.below(4)),
            1 => format!(" UPTO {}", 1 + self.random.below(4)),
            _ => String::new(),
        };
        let units = seats::named(kind, &amount);
        let mut left = vec![Deed::Confirm, Deed::Cancel, Deed::Extend, Deed::Refund, Deed::Grab];
        // The quantity of an UPTO is unknown. Sales that draw or have rounds accept no IMPORT.
        if !amount.is_empty() {
            left.extend(self.keeps(sale, &units));
        }
        let takes_imports = match self.sales[sale].terms.kind {
            Kind::Plain => !amount.contains("UPTO"),
            Kind::Numbered => amount.contains("UNITS"),
            _ => false,
        };
        let odds = if amount.is_empty() { 8 } else { 2 };
        if takes_imports && self.random.below(odds) == 0 {
            left.push(Deed::Import);
        }
        left.extend(waiting::deeds(&self.sales[sale].terms.kind, &amount, &mut self.random));
        Order { user, req: self.new_req("o"), amount, units, left }
    }

    /// Sends a GRAB for an order that other threads already see and may cancel.
    fn grab_anew(&mut self, sale: usize) {
        let order = self.new_order(sale);
        self.pin(sale, order.clone());
        self.deed(sale, &order, Deed::Grab);
    }

    fn fence_first(&mut self, sale: usize) {
        let order = self.new_order(sale);
        self.deed(sale, &order, Deed::Cancel);
        self.deed(sale, &order, Deed::Grab);
    }

    /// Changes an order that no client has changed yet.
    fn go_on(&mut self, sale: usize) {
        let taken = {
            let mut board = lock(&self.boards[sale]);
            let Some(at) = (board.len() as u64).checked_sub(1) else {
                drop(board);
                return self.grab_anew(sale);
            };
            let at = self.random.below(at + 1) as usize;
            let left = board[at].left.len() as u64;
            let deed = board[at].left.swap_remove(self.random.below(left) as usize);
            let order = board[at].clone();
            if order.left.is_empty() {
                board.swap_remove(at);
            }
            (order, deed)
        };
        self.deed(sale, &taken.0, taken.1);
    }

    fn pin(&mut self, sale: usize, order: Order) {
        let mut board = lock(&self.boards[sale]);
        if board.len() >= BOARD_ORDERS {
            let at = self.random.below(board.len() as u64) as usize;
            board.swap_remove(at);
        }
        board.push(order);
    }

    fn deed(&mut self, sale: usize, order: &Order, deed: Deed) {
        let Order { user, req, amount, units: known, .. } = order;
        let key = &self.sales[sale].key;
        let line = match deed {
            Deed::Grab => {
                let kind = &self.sales[sale].terms.kind;
                let waits = waiting::words(kind, amount, &mut self.random);
                format!("SECKILL.GRAB {key} {user}{amount} REQ {req}{waits}")
            }
            Deed::Confirm => {
                let late = if self.random.below(2) == 0 { " RECLAIM" } else { "" };
                format!("SECKILL.CONFIRM {key} {user} REQ {req}{late}")
            }
            Deed::Extend => {
                let ms = 50 + self.random.below(1_000);
                format!("SECKILL.EXTEND {key} {user} {ms} REQ {req}")
            }
            Deed::Import => {
                let qty = seats::imported(&self.sales[sale].terms.kind, amount);
                let covered = if self.random.below(2) == 0 { " NODEFICIT" } else { "" };
                format!("SECKILL.IMPORT {key} {user} {qty} REQ {req}{covered}")
            }
            Deed::Cancel => format!("SECKILL.CANCEL {key} {user} REQ {req}"),
            Deed::Keep(by, units) => {
                let command = format!("{by:?}").to_uppercase();
                let kept = seats::kept(&self.sales[sale].terms.kind, known, units);
                format!("SECKILL.{command} {key} {user} REQ {req} KEEP {kept}")
            }
            Deed::Place => format!("SECKILL.PLACE {key} {user}"),
            _ => format!("SECKILL.REFUND {key} {user} REQ {req}"),
        };
        self.ask(sale, deed, (user, req), &line);
        if deed == Deed::Grab && !amount.is_empty() {
            self.keep_at_once(sale, order);
            self.keep_told(sale, order);
        }
    }

    fn ask(&mut self, sale: usize, deed: Deed, order: (&str, &str), line: &str) {
        self.ask_all(&[sale], deed, order, line);
    }

    /// Retries until an answer counts.
    fn ask_all(&mut self, sales: &[usize], deed: Deed, (user, req): (&str, &str), line: &str) {
        let (thread, tries) = (self.number, Vec::new());
        let op = Op { thread, deed, user: user.to_owned(), req: req.to_owned(), tries };
        let mut ops = vec![op; sales.len()];
        let mut over_since = None;
        loop {
            if self.tries(line, &mut ops) {
                break;
            }
            if self.shared.over.load(Ordering::SeqCst) {
                let since = *over_since.get_or_insert_with(Instant::now);
                if since.elapsed() > GIVE_UP_AFTER {
                    break;
                }
            }
        }
        sales.iter().zip(ops).for_each(|(sale, op)| self.history[*sale].push(op));
    }

    /// One call, recorded in the op of each sale. Returns whether its answer counts.
    fn tries(&mut self, line: &str, ops: &mut [Op]) -> bool {
        let library = self.library.as_mut();
        if let Some((tries, counts)) = library.and_then(|library| library.call(&self.shared, line))
        {
            ops[0].tries.extend(tries);
            return counts;
        }
        let calls = self.call(line, ops.len());
        if calls.is_empty() {
            thread::sleep(NO_SERVER_PAUSE);
        }
        let is_kept = |call: &Try| call.answered.as_ref().is_some_and(|told| told.kept);
        let counts = calls.first().is_some_and(is_kept);
        ops.iter_mut().zip(calls).for_each(|(op, call)| op.tries.push(call));
        counts
    }

    /// One call for this many sales, as a try of each. Empty without a connection.
    fn call(&mut self, line: &str, sales: usize) -> Vec<Try> {
        if self.connection.is_none() {
            let (reign, port) = *lock(&self.shared.door);
            self.connection = connect(port, PATIENCE).ok().map(|connection| (reign, connection));
        }
        let Some((reign, mut connection)) = self.connection.take() else { return Vec::new() };
        self.shared.calls.fetch_add(1, Ordering::Relaxed);
        let invoked = self.shared.moment();
        let mut calls = vec![Try::new(invoked, reign); sales];
        let way = match self.random.below(12) {
            0 => Way::Module,
            1 => Way::Thread,
            _ => Way::Direct,
        };
        self.shared.by_module.fetch_add(u64::from(way != Way::Direct), Ordering::Relaxed);
        match ask(&mut connection, way, line, sales) {
            Reply::Answers(answers) => {
                let wrote = way == Way::Direct && matches!(answers[0], Answer::Granted { .. });
                let kept = !self.setting.waits() || is_replicated(&mut connection, wrote);
                let returned = self.shared.moment();
                self.shared.answers.fetch_add(1, Ordering::Relaxed);
                for (call, answer) in calls.iter_mut().zip(answers) {
                    call.answered = Some(Answered { returned, answer, kept });
                }
                self.connection = Some((reign, connection)).filter(|_| kept);
            }
            Reply::NotNow => thread::sleep(NO_SERVER_PAUSE),
            Reply::Silence => {}
        }
        calls
    }
}

/// Whether a replica has the change behind the answer.
///
/// WAIT waits for the last write of its own connection. The change may be of another connection, as
/// for REPLAY. Redis 7.0 waits for that, too; Redis 7.2 and newer, and Valkey, do not. So the
/// connection writes something first, which comes after the change.
fn is_replicated(connection: &mut Connection, wrote: bool) -> bool {
    let mark = ["SET", "torture:mark", "1"];
    let written = wrote || command(mark).query::<()>(connection).is_ok();
    let replicas = command(["WAIT", "1", &WAIT_MS.to_string()]).query::<u64>(connection);
    written && replicas.is_ok_and(|replicas| replicas >= 1)
}
