//! `seckill split balance`: moves units to the parts that need them. A balancer keeps no state that
//! a crash could lose, and several may run at once.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::mem;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use redis::{cmd, Value};
use seckill_balance::{plan, tell, under_way, Demand, Load, Reading, Timing};

use super::nodes::{Call, Nodes};
use super::numbers::{self, Numbers};
use super::parts::{advice, number, one, Split, View};
use super::replicas::Replicas;
use crate::connect::Server;
use crate::print::tell;
use crate::stop::Stop;
use crate::web;

/// A part that refused a SEND is asked again after this time. Until then others give in its place.
const ASKED_AGAIN: Duration = Duration::from_secs(1);

/// Options: which split is balanced, and how.
#[derive(Args)]
pub struct Options {
    /// Names of splits
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
    /// Milliseconds between two passes
    #[arg(long, default_value_t = 20, value_name = "MS")]
    interval: u64,
    /// Replicas that must acknowledge a SEND before its RECEIVE; default: all of the part, dead
    /// ones included. With fewer a failover may duplicate units
    #[arg(long, value_name = "N")]
    replicas: Option<usize>,
    /// Address of /metrics for Prometheus, and of /health
    #[arg(long, visible_alias = "web.listen-address", value_name = "ADDRESS")]
    #[arg(value_parser = web::address)]
    metrics: Option<String>,
    /// Number of passes; 0: until it is stopped
    #[arg(long, default_value_t = 0, value_name = "N")]
    passes: u64,
}

/// Balances until it is told to stop.
///
/// # Errors
/// An error message if it can't start. A later error is printed, and the pass is tried again.
pub fn run(server: &Server, options: &Options) -> Result<(), String> {
    let stop = Stop::on_signals()?;
    let interval = Duration::from_millis(options.interval.max(1));
    let mut balancers = Vec::new();
    for name in &options.names {
        let split = Split::open(Nodes::new(server.targets()?), name)?;
        balancers.push(Balancer::new(split, interval, options.replicas));
    }
    let listener = options.metrics.as_deref().map(web::listen).transpose()?;
    let shown = Mutex::new(Vec::new());
    thread::scope(|scope| {
        if let Some(listener) = &listener {
            scope.spawn(|| web::serve(listener, &stop, &|asked| numbers::show(asked, &shown)));
        }
        balance(&mut balancers, options, &stop, &shown);
        stop.tell();
    });
    for Balancer { numbers: Numbers { name, moved, settled, unanswered, .. }, .. } in &balancers {
        tell!(
            "seckill split balance: {name}: {moved} units moved, some perhaps by others at the \
             same time; {settled} times units made twice were settled; {unanswered} times no \
             replica answered in time"
        );
    }
    Ok(())
}

fn balance(
    balancers: &mut [Balancer],
    options: &Options,
    stop: &Stop,
    shown: &Mutex<Vec<Numbers>>,
) {
    let started = Instant::now();
    for pass in 1.. {
        let began = Instant::now();
        for balancer in &mut *balancers {
            let done = balancer.pass(started, stop);
            balancer.numbers.is_well = done.is_ok();
            match done {
                Ok(()) => {
                    balancer.numbers.looked = began;
                    balancer.told.clear();
                }
                // A trouble that stays gives one message only.
                Err(why) if why == balancer.told => {}
                Err(why) => {
                    tell!("seckill split balance: {}: {why}", balancer.split.name);
                    balancer.told = why;
                }
            }
        }
        let numbers = balancers.iter().map(|balancer| balancer.numbers.clone()).collect();
        *shown.lock().unwrap_or_else(PoisonError::into_inner) = numbers;
        if stop.is_told() || pass == options.passes {
            break;
        }
        thread::sleep(balancers[0].interval.saturating_sub(began.elapsed()));
    }
}

struct Balancer {
    split: Split,
    demand: Demand,
    unmet: Demand,
    interval: Duration,
    replicas: Option<usize>,
    /// The replicas of each node, by node.
    known: HashMap<String, Replicas>,
    /// Parts that refused a SEND lately, with the time and the reason.
    refused: BTreeMap<usize, (Instant, String)>,
    /// The first error of this pass. The units of all other parts go on moving.
    trouble: Option<String>,
    /// The last error that was printed.
    told: String,
    numbers: Numbers,
}

/// A move of units: a SEND, and later a RECEIVE.
struct Message {
    from: usize,
    to: usize,
    /// Units that the message asks to send, all earlier messages to this part included.
    total: u64,
    /// The total before this message.
    before: u64,
}

impl Balancer {
    fn new(split: Split, interval: Duration, replicas: Option<usize>) -> Balancer {
        let seconds = interval.as_secs_f64();
        let demand = Demand::new(split.parts, seconds);
        let unmet = Demand::new(split.parts, seconds);
        let known = HashMap::new();
        let numbers = Numbers::new(&split.name);
        let (refused, trouble, told) = (BTreeMap::new(), None, String::new());
        Balancer {
            split,
            demand,
            unmet,
            interval,
            replicas,
            known,
            refused,
            trouble,
            told,
            numbers,
        }
    }

    /// Keeps the first error of a pass.
    fn note<T>(&mut self, done: Result<T, String>) -> Option<T> {
        match done {
            Ok(value) => Some(value),
            Err(why) => {
                self.trouble.get_or_insert(why);
                None
            }
        }
    }

    /// Reads all parts once, and makes the moves that are needed. Checks `stop` between two steps.
    ///
    /// # Errors
    /// The first error of the pass. One part that refuses does not stop the others.
    fn pass(&mut self, started: Instant, stop: &Stop) -> Result<(), String> {
        let asked = Instant::now();
        let views = self.split.read_all()?;
        let nodes: HashSet<&str> = views.iter().map(|view| view.node.as_str()).collect();
        let round_trip = asked.elapsed().as_secs_f64() / nodes.len().max(1) as f64;
        let readings: Vec<Reading> = views.iter().map(|view| view.reading.clone()).collect();
        self.trouble = None;
        let settled = self.settle(&readings, stop);
        self.note(settled);
        let mut silent = self.silent(&views)?;
        self.refused.retain(|_, (at, _)| at.elapsed() < ASKED_AGAIN);
        for (part, (_, why)) in &self.refused {
            silent[*part] = true;
            self.trouble.get_or_insert_with(|| why.clone());
        }
        let loads = self.loads(&views, &silent, started.elapsed().as_secs_f64());
        let timing = Timing { interval: self.interval.as_secs_f64(), round_trip };
        let on_their_way = under_way(&readings).into_iter().map(|one| {
            let (from, to, total) = (one.from, one.to, one.total);
            Message { from, to, total, before: total }
        });
        let planned = plan(&loads, &timing).into_iter().map(|one| {
            let before = readings[one.from].sent[one.to];
            Message { from: one.from, to: one.to, total: before + one.units, before }
        });
        let messages = on_their_way.chain(planned).filter(|one| !silent[one.from]).collect();
        self.forward(messages, stop);
        let told = tell(&readings);
        let told = told.iter().map(|one| (one.part, [one.elsewhere, one.pass]));
        let told: Vec<Call> =
            told.map(|(part, told)| self.split.message(part, "ELSEWHERE", &told)).collect();
        if !stop.is_told() {
            self.call_each(&told);
        }
        self.trouble.take().map_or(Ok(()), Err)
    }

    /// The first number of each answer; `None` for a call that was refused.
    fn call_each(&mut self, calls: &[Call]) -> Vec<Option<u64>> {
        let answers = self.split.nodes.call_each(calls, None);
        let answers = self.note(answers).unwrap_or_default();
        let first = |(call, replies): (&Call, Vec<Value>)| first_of(&call.key, &one(replies));
        let firsts: Vec<Result<u64, String>> = calls.iter().zip(answers).map(first).collect();
        firsts.into_iter().map(|first| self.note(first)).collect()
    }

    /// Makes the sender of duplicated units owe them.
    fn settle(&mut self, readings: &[Reading], stop: &Stop) -> Result<(), String> {
        let found = self.split.made_twice(readings)?;
        let owed = found.iter().map(|one| {
            let mut owed = self.split.message(one.from, "SEND", &[one.to as u64, one.total]);
            owed.cmds[0].arg("OWED");
            owed
        });
        let owed: Vec<Call> = owed.collect();
        if stop.is_told() {
            return Ok(());
        }
        let done = self.call_each(&owed);
        for (one, _) in found.iter().zip(done).filter(|(_, total)| total.is_some()) {
            self.numbers.settled += 1;
            tell!(
                "seckill split balance: {}: part {} owes part {} what was made twice, {} units",
                self.split.name,
                one.from,
                one.to,
                one.units
            );
        }
        Ok(())
    }

    fn loads(&mut self, views: &[View], silent: &[bool], at: f64) -> Vec<Load> {
        let mut loads = Vec::with_capacity(views.len());
        for (part, view) in views.iter().enumerate() {
            let unmet = view.number("unmet_units");
            let taken = view.reading.taken().unwrap_or_default();
            self.demand.observe(part, at, taken, unmet);
            self.unmet.observe(part, at, 0, unmet);
            // A paused part may be in repair and show more units than it has, so it gives none.
            let available = view.reading.available * u64::from(view.state != "paused");
            loads.push(Load {
                available,
                deficit: view.reading.deficit,
                waiting_units: view.number("waiting_units"),
                waiting_since: view.number("waiting_since"),
                demand: self.demand.rate(part),
                unmet: self.unmet.rate(part),
                keeps: silent[part],
                incoming: 0,
            });
        }
        self.numbers.parts = loads.iter().map(|load| (load.available, load.demand)).collect();
        self.numbers.under_way = 0;
        let readings: Vec<Reading> = views.iter().map(|view| view.reading.clone()).collect();
        for one in under_way(&readings) {
            // Units from a silent part may never arrive, so they don't count as incoming.
            loads[one.to].incoming += one.units * u64::from(!silent[one.from]);
            self.numbers.under_way += one.units;
        }
        loads
    }

    /// SEND, WAIT, RECEIVE.
    fn forward(&mut self, messages: Vec<Message>, stop: &Stop) {
        let sent = self.send(messages, stop);
        if stop.is_told() {
            return;
        }
        let receive =
            |one: &Message| self.split.message(one.to, "RECEIVE", &[one.from as u64, one.total]);
        let calls: Vec<Call> = sent.iter().map(receive).collect();
        for (one, arrived) in sent.iter().zip(self.call_each(&calls)) {
            self.numbers.moved += arrived.unwrap_or_default().saturating_sub(one.before);
        }
    }

    /// Sends the messages, and returns those that all replicas have, with one WAIT for each node. A
    /// SEND whose reply has another total may have written nothing, and a WAIT would then cover
    /// nothing. So that message is sent again unchanged.
    fn send(&mut self, mut messages: Vec<Message>, stop: &Stop) -> Vec<Message> {
        let mut safe = Vec::new();
        for _ in 0..2 {
            let mut by_node: BTreeMap<String, Vec<Message>> = BTreeMap::new();
            for one in mem::take(&mut messages) {
                let node = self.split.nodes.address(&self.split.key(one.from));
                by_node.entry(node).or_default().push(one);
            }
            for (node, batch) in by_node {
                if !stop.is_told() {
                    let again = self.send_from(&node, batch, &mut safe);
                    messages.extend(self.note(again).unwrap_or_default());
                }
            }
        }
        safe
    }

    /// Sends from the parts of one node. Returns the messages that must be sent again.
    fn send_from(
        &mut self,
        node: &str,
        batch: Vec<Message>,
        safe: &mut Vec<Message>,
    ) -> Result<Vec<Message>, String> {
        self.look_for_replicas(node, batch[0].from)?;
        let Some(replicas) = self.known.get(node) else { return Ok(Vec::new()) };
        let (count, wait) = (replicas.count, replicas.wait());
        if replicas.are_silent() {
            return Ok(Vec::new());
        }
        let send =
            |one: &Message| self.split.message(one.from, "SEND", &[one.to as u64, one.total]);
        let calls: Vec<Call> = batch.iter().map(send).collect();
        let answers = self.split.nodes.call_each(&calls, Some(&wait))?;
        let (mut again, mut in_time) = (Vec::new(), None);
        for ((one, call), replies) in batch.into_iter().zip(&calls).zip(answers) {
            let now = match replies.as_slice() {
                [sent, waited] => first_of(&call.key, sent)
                    .and_then(|now| is_permitted(&call.key, waited).map(|()| (now, waited))),
                _ => Err(advice(&call.key, &self::one(replies.clone()))),
            };
            let (now, waited) = match now {
                Ok(now) => now,
                Err(why) => {
                    self.trouble.get_or_insert_with(|| why.clone());
                    self.refused.insert(one.from, (Instant::now(), why));
                    continue;
                }
            };
            if now == one.total {
                // A primary that took over in between has other replicas.
                let is_same = self.split.nodes.address(&call.key) == node;
                let is_safe = is_same && is_answered(waited, count);
                in_time = Some(is_safe && in_time != Some(false));
                safe.extend(is_safe.then_some(one));
            } else if now > 0 {
                again.push(Message { total: now, ..one });
            }
        }
        if let (Some(in_time), Some(replicas)) = (in_time, self.known.get_mut(node)) {
            self.numbers.unanswered += u64::from(!in_time);
            replicas.heard(in_time);
        }
        Ok(again)
    }

    /// For each part, whether the replicas of its node are known not to answer.
    fn silent(&mut self, views: &[View]) -> Result<Vec<bool>, String> {
        let is_silent =
            |known: &HashMap<_, Replicas>, node| known.get(node).is_some_and(Replicas::are_silent);
        let mut silent = Vec::with_capacity(views.len());
        for (part, View { node, .. }) in views.iter().enumerate() {
            if is_silent(&self.known, node) {
                self.look_for_replicas(node, part)?;
            }
            silent.push(is_silent(&self.known, node));
        }
        let nodes = views.iter().zip(&silent).filter(|(_, is_silent)| **is_silent);
        let nodes: BTreeSet<String> = nodes.map(|(view, _)| view.node.clone()).collect();
        for node in nodes.difference(&self.numbers.silent) {
            tell!(
                "seckill split balance: {}: too few replicas of {node} answer: until they do, \
                 nothing leaves its parts",
                self.split.name
            );
        }
        self.numbers.silent = nodes;
        Ok(silent)
    }

    /// Counts the replicas of a node, dead ones included, by INFO and CLUSTER NODES at one of its
    /// parts.
    fn look_for_replicas(&mut self, node: &str, part: usize) -> Result<(), String> {
        if self.known.get(node).is_some_and(Replicas::is_known) {
            return Ok(());
        }
        let key = self.split.key(part);
        let mut nodes = cmd("CLUSTER");
        nodes.arg("NODES");
        let mut info = cmd("INFO");
        info.arg("replication");
        let replies = self.split.call(part, &[info, nodes])?;
        let text = |value: &Value| match value {
            Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Value::VerbatimString { text, .. } => text.clone(),
            _ => String::new(),
        };
        let [info, nodes] = replies.as_slice() else { return Err("no answer".into()) };
        // A user without rights for INFO or CLUSTER NODES would count too few.
        for reply in [info, nodes] {
            if self.replicas.is_none() {
                is_permitted(&key, reply)?;
            }
        }
        let before = self.known.get(node);
        let now = Replicas::new(&text(info), &text(nodes), self.replicas, before);
        self.known.insert(self.split.nodes.address(&key), now);
        Ok(())
    }
}

/// The first number of an answer.
fn first_of(key: &str, reply: &Value) -> Result<u64, String> {
    let Value::Array(numbers) = reply else { return Err(advice(key, reply)) };
    let first = numbers.first().and_then(number);
    Ok(first.and_then(|first| u64::try_from(first).ok()).unwrap_or_default())
}

/// Whether at least `replicas` replicas acknowledged the WAIT.
fn is_answered(waited: &Value, replicas: usize) -> bool {
    match waited {
        Value::Int(count) => *count >= replicas as i64,
        Value::Array(counts) => counts.first().and_then(number) >= Some(1),
        // WAITAOF failed: the server has no AOF or does not know the command. So appendfsync
        // decides.
        _ => replicas == 0,
    }
}

fn is_permitted(key: &str, reply: &Value) -> Result<(), String> {
    match reply {
        Value::ServerError(error) if error.code() == "NOPERM" => Err(advice(key, reply)),
        _ => Ok(()),
    }
}
