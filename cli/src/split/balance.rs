//! `seckill split balance`: units move to where they are asked for. It keeps nothing that a crash
//! could lose; any number may run.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use redis::{cmd, Value};
use seckill_balance::{plan, tell, under_way, Demand, Load, Reading, Timing};

use super::nodes::Nodes;
use super::numbers::{self, Numbers};
use super::parts::{advice, number, one, seckill, Split, View};
use crate::connect::Server;
use crate::stop::Stop;
use crate::web;

/// What is balanced, and how.
#[derive(Args)]
pub struct Options {
    /// Names of splits
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
    /// Milliseconds from one look to the next
    #[arg(long, default_value_t = 20, value_name = "MS")]
    interval: u64,
    /// Replicas that must have a SEND before its RECEIVE; default: as many as the part has, dead
    /// ones included. Fewer: a failover may make units twice
    #[arg(long, value_name = "N")]
    replicas: Option<usize>,
    /// Serves its numbers to Prometheus here, at /metrics, and /health
    #[arg(long, visible_alias = "web.listen-address", value_name = "ADDRESS")]
    metrics: Option<String>,
    /// Looks so often and ends; 0: until it is told to stop
    #[arg(long, default_value_t = 0, value_name = "N")]
    passes: u64,
}

/// How long a replica may take.
const WAIT_MS: u64 = 1_000;
/// How long the number of replicas is believed.
const REPLICAS_KNOWN: Duration = Duration::from_secs(1);

/// Balances until it is told to stop.
///
/// # Errors
/// A sentence when it can't begin. Later trouble is told, and tried again.
pub fn run(server: &Server, options: &Options) -> Result<(), String> {
    let stop = Stop::on_signals()?;
    let interval = Duration::from_millis(options.interval.max(1));
    let mut balancers = Vec::new();
    for name in &options.names {
        let split = Split::open(Nodes::new(server.clients()?), name)?;
        balancers.push(Balancer::new(split, interval, options.replicas));
    }
    let listener = options.metrics.as_deref().map(web::listen).transpose()?;
    let shown = Mutex::new(Vec::new());
    thread::scope(|scope| {
        if let Some(listener) = &listener {
            scope.spawn(|| web::serve(listener, &stop, &|path| numbers::show(path, &shown)));
        }
        balance(&mut balancers, options, &stop, &shown);
        stop.tell();
    });
    for Balancer { numbers: Numbers { name, moved, settled, unanswered, .. }, .. } in &balancers {
        eprintln!(
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
                Ok(()) => balancer.numbers.looked = began,
                Err(why) => eprintln!("seckill split balance: {}: {why}", balancer.split.name),
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
    /// Replicas of a node, and when that was asked.
    known: HashMap<String, (Instant, usize)>,
    numbers: Numbers,
}

impl Balancer {
    fn new(split: Split, interval: Duration, replicas: Option<usize>) -> Balancer {
        let seconds = interval.as_secs_f64();
        let demand = Demand::new(split.parts, seconds);
        let unmet = Demand::new(split.parts, seconds);
        let known = HashMap::new();
        let numbers = Numbers::new(&split.name);
        Balancer { split, demand, unmet, interval, replicas, known, numbers }
    }

    /// Looks once, and does what is to be done. It stops between two messages.
    fn pass(&mut self, started: Instant, stop: &Stop) -> Result<(), String> {
        let asked = Instant::now();
        let views = self.split.read_all()?;
        let round_trip = asked.elapsed().as_secs_f64() / views.len().max(1) as f64;
        let readings: Vec<Reading> = views.iter().map(|view| view.reading.clone()).collect();
        self.settle(&readings, stop)?;
        for one in under_way(&readings) {
            if !stop.is_told() {
                self.forward(one.from, one.to, one.total)?;
            }
        }
        let loads = self.loads(&views, &readings, started.elapsed().as_secs_f64());
        let timing = Timing { interval: self.interval.as_secs_f64(), round_trip };
        for one in plan(&loads, &timing) {
            if !stop.is_told() {
                let total = readings[one.from].sent[one.to] + one.units;
                let arrived = self.forward(one.from, one.to, total)?;
                self.numbers.moved += arrived.saturating_sub(readings[one.to].received[one.from]);
            }
        }
        for one in tell(&readings) {
            if !stop.is_told() {
                let (units, pass) = (one.elsewhere.to_string(), one.pass.to_string());
                let (key, id) = (self.split.key(one.part), self.split.id.clone());
                let words = [key.as_bytes(), &id, units.as_bytes(), pass.as_bytes()];
                self.split.call(one.part, &[seckill("ELSEWHERE", &words)])?;
            }
        }
        Ok(())
    }

    /// Units that were made twice are owed by who sent them.
    fn settle(&mut self, readings: &[Reading], stop: &Stop) -> Result<(), String> {
        for one in self.split.made_twice(readings)? {
            if !stop.is_told() {
                self.numbers.settled += 1;
                self.send(one.from, one.to, one.total, true)?;
                eprintln!(
                    "seckill split balance: {}: part {} owes part {} what was made twice, {} units",
                    self.split.name, one.from, one.to, one.units
                );
            }
        }
        Ok(())
    }

    fn loads(&mut self, views: &[View], readings: &[Reading], at: f64) -> Vec<Load> {
        let mut loads = Vec::with_capacity(views.len());
        for (part, view) in views.iter().enumerate() {
            let unmet = view.number("unmet_units");
            let taken = view.reading.taken().unwrap_or_default();
            self.demand.observe(part, at, taken, unmet);
            self.unmet.observe(part, at, 0, unmet);
            // What is paused may be a part in repair, which seems to have more than it has.
            let available = view.reading.available * u64::from(view.state != "paused");
            loads.push(Load {
                available,
                deficit: view.reading.deficit,
                waiting_units: view.number("waiting_units"),
                waiting_since: view.number("waiting_since"),
                demand: self.demand.rate(part),
                unmet: self.unmet.rate(part),
                ..Load::default()
            });
        }
        self.numbers.parts = loads.iter().map(|load| (load.available, load.demand)).collect();
        self.numbers.under_way = 0;
        for one in under_way(readings) {
            loads[one.to].incoming += one.units;
            self.numbers.under_way += one.units;
        }
        loads
    }

    /// SEND, WAIT, RECEIVE; the total that has arrived, 0 if none is known to.
    fn forward(&mut self, from: usize, to: usize, total: u64) -> Result<u64, String> {
        let Some(sent) = self.send(from, to, total, false)? else { return Ok(0) };
        let (key, id) = (self.split.key(to), self.split.id.clone());
        let (from, sent) = (from.to_string(), sent.to_string());
        let words = [key.as_bytes(), &id, from.as_bytes(), sent.as_bytes()];
        let reply = one(self.split.call(to, &[seckill("RECEIVE", &words)])?);
        let Value::Array(now) = &reply else { return Err(advice(&key, &reply)) };
        Ok(now.first().and_then(number).unwrap_or_default() as u64)
    }

    /// The total that was sent and that all replicas have. A total that is another than was asked
    /// for may have written nothing, and there is nothing to wait for: it is sent again as it is.
    fn send(
        &mut self,
        from: usize,
        to: usize,
        mut total: u64,
        owed: bool,
    ) -> Result<Option<u64>, String> {
        for _ in 0..2 {
            let key = self.split.key(from);
            let (peer, sum) = (to.to_string(), total.to_string());
            let id = self.split.id.clone();
            let mut words = vec![key.as_bytes(), &id, peer.as_bytes(), sum.as_bytes()];
            words.extend(owed.then_some(&b"OWED"[..]));
            let (node, replicas) = self.replicas(from)?;
            let mut wait = cmd(if replicas > 0 { "WAIT" } else { "WAITAOF" });
            match replicas {
                0 => wait.arg(1).arg(0).arg(WAIT_MS),
                count => wait.arg(count).arg(WAIT_MS),
            };
            let replies = self.split.call(from, &[seckill("SEND", &words), wait])?;
            let [Value::Array(sent), waited] = replies.as_slice() else {
                return Err(advice(&key, &one(replies)));
            };
            is_permitted(&key, waited)?;
            let now = sent.first().and_then(number).unwrap_or_default() as u64;
            if now == total {
                // A primary that took over in between has replicas of its own.
                let is_same = self.split.nodes.address(&key) == node;
                let is_safe = is_same
                    && match waited {
                        Value::Int(count) => *count >= replicas as i64,
                        Value::Array(counts) => counts.first().and_then(number) >= Some(1),
                        // There is no log, or this server can't say: appendfsync decides.
                        _ => replicas == 0,
                    };
                self.numbers.unanswered += u64::from(!is_safe);
                return Ok(is_safe.then_some(total));
            }
            if now == 0 {
                return Ok(None);
            }
            total = now;
        }
        Ok(None)
    }

    /// The part's node, and how many replicas it has, dead ones included.
    fn replicas(&mut self, part: usize) -> Result<(String, usize), String> {
        let key = self.split.key(part);
        let node = self.split.nodes.address(&key);
        if let Some(count) = self.replicas {
            return Ok((node, count));
        }
        if let Some((asked, count)) = self.known.get(&node) {
            if asked.elapsed() < REPLICAS_KNOWN {
                return Ok((node, *count));
            }
        }
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
        // Who may not ask would count too few.
        for reply in [info, nodes] {
            is_permitted(&key, reply)?;
        }
        let count = replicas_of(&text(info), &text(nodes));
        let node = self.split.nodes.address(&key);
        self.known.insert(node.clone(), (Instant::now(), count));
        Ok((node, count))
    }
}

fn is_permitted(key: &str, reply: &Value) -> Result<(), String> {
    match reply {
        Value::ServerError(error) if error.code() == "NOPERM" => Err(advice(key, reply)),
        _ => Ok(()),
    }
}

/// By CLUSTER NODES; of a single server by INFO, which only knows those that are connected.
fn replicas_of(info: &str, nodes: &str) -> usize {
    let me = nodes.lines().find(|line| line.contains("myself"));
    let Some(id) = me.and_then(|line| line.split(' ').next()) else {
        let count = info.lines().find_map(|line| line.strip_prefix("connected_slaves:"));
        return count.and_then(|count| count.trim().parse().ok()).unwrap_or_default();
    };
    nodes.lines().filter(|line| line.split(' ').nth(3) == Some(id)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dead_replicas_count_and_those_of_others_do_not() {
        let nodes = "\
            aa 127.0.0.1:1@2 myself,master - 0 0 1 connected 0-5460\n\
            bb 127.0.0.1:3@4 master - 0 0 2 connected 5461-16383\n\
            cc 127.0.0.1:5@6 slave,fail aa 0 0 1 disconnected\n\
            dd 127.0.0.1:7@8 slave aa 0 0 1 connected\n\
            ee 127.0.0.1:9@10 slave bb 0 0 2 connected\n";
        assert_eq!(replicas_of("connected_slaves:1\r\n", nodes), 2);
        assert_eq!(replicas_of("role:master\r\nconnected_slaves:1\r\n", ""), 1);
    }
}
