//! Readings of a server, and of the machine if the server runs on it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use redis::{cmd, Cmd, Connection, ConnectionAddr, Value};

use crate::connect::{connect, words, Target};
use crate::split::{pairs, seckill};

/// Keys that a step of the search for sales visits.
const STEP_KEYS: usize = 1_000;

/// Most sales of which the future memory is estimated.
const SALES_MAX: usize = 1_000;

/// Number of TIME calls; the fastest answer is used.
const CLOCK_TRIES: usize = 5;

/// The readings of a server, as far as they were possible.
#[derive(Default)]
pub struct Node {
    pub name: String,
    /// The reason why the server does not answer.
    pub away: Option<String>,
    /// INFO and CONFIG GET, as names and texts.
    pub info: BTreeMap<String, String>,
    pub config: BTreeMap<String, String>,
    /// `flags` and `commands` of user default.
    pub default_user: Option<(Vec<String>, String)>,
    /// The lead of the server's clock over this machine's, and the error of that figure, in ms.
    pub clock: Option<(i64, i64)>,
    pub sales: Vec<Sale>,
    /// The machine, if the server runs on it.
    pub machine: Option<Machine>,
    /// Messages about everything that this user may not read.
    pub unread: Vec<String>,
}

/// Memory that a sale may still take.
#[derive(Clone)]
pub struct Sale {
    pub name: String,
    pub available: u64,
    pub hold: bool,
    pub outbox: bool,
}

/// Settings of the system.
#[derive(Default)]
pub struct Machine {
    /// `always`, `madvise` or `never`.
    pub huge_pages: Option<String>,
    /// vm.overcommit_memory.
    pub overcommit: Option<String>,
}

impl Node {
    pub fn info(&self, name: &str) -> &str {
        self.info.get(name).map_or("", String::as_str)
    }

    pub fn config(&self, name: &str) -> &str {
        self.config.get(name).map_or("", String::as_str)
    }

    pub fn number(&self, name: &str) -> u64 {
        self.info(name).parse().unwrap_or_default()
    }

    /// Redis or Valkey with its version and role, and the module's version.
    pub fn what(&self) -> String {
        let version = match self.info("valkey_version") {
            "" => format!("Redis {}", self.info("redis_version")),
            version => format!("Valkey {version}"),
        };
        match self.info("seckill_version") {
            _ if self.away.is_some() => "away".into(),
            "" => format!("{version}, {}", self.info("role")),
            module => format!("{version}, {}, module {module}", self.info("role")),
        }
    }

    /// Checks that were left out, each with the reason.
    pub fn notes(&self) -> Vec<String> {
        let elsewhere = self.away.is_none() && self.machine.is_none();
        let note = "transparent huge pages and overcommit: run this on the machine of the server";
        elsewhere.then(|| note.to_owned()).into_iter().collect()
    }
}

/// Reads a server; `root` is where the files of the system are.
pub fn at(target: &Target, root: &str) -> Node {
    let mut node = Node { name: target.name(), ..Node::default() };
    let mut redis = match connect(target) {
        Ok(redis) => redis,
        Err(why) => {
            node.away = Some(why.into());
            return node;
        }
    };
    let mut asked = Asked { redis: &mut redis, unread: Vec::new() };
    let info = asked.ask("INFO", cmd("INFO").arg("everything"));
    if let Some(Value::BulkString(text)) = info {
        let text = String::from_utf8_lossy(&text).into_owned();
        let lines = text.lines().filter_map(|line| line.split_once(':'));
        node.info = lines.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    }
    if let Some(reply) = asked.ask("CONFIG GET", cmd("CONFIG").arg("GET").arg("*")) {
        let text = |(name, value)| Some((name, plain(&value)?));
        node.config = pairs(&reply).into_iter().filter_map(text).collect();
    }
    if let Some(reply) = asked.ask("ACL GETUSER", cmd("ACL").arg("GETUSER").arg("default")) {
        let fields: BTreeMap<String, Value> = pairs(&reply).into_iter().collect();
        let flags = match fields.get("flags") {
            Some(Value::Array(flags) | Value::Set(flags)) => flags.iter().filter_map(plain),
            _ => [].iter().filter_map(plain),
        };
        let commands = fields.get("commands").and_then(plain).unwrap_or_default();
        node.default_user = Some((flags.collect(), commands));
    }
    node.clock = asked.clock();
    // Without READONLY a replica of a cluster answers every question about a key with MOVED.
    let is_of_cluster = node.info("redis_mode") == "cluster" && node.info("role") == "slave";
    let answers = !is_of_cluster || asked.ask("READONLY", &mut cmd("READONLY")).is_some();
    if answers && node.info.contains_key("seckill_version") {
        node.sales = asked.sales();
    }
    node.unread = asked.unread;
    if is_here(target) {
        node.machine = Some(machine(Path::new(root)));
    }
    node
}

/// Whether the server runs on this machine, as far as its address tells.
fn is_here(target: &Target) -> bool {
    let Target::Address(client) = target else { return false };
    match client.get_connection_info().addr() {
        ConnectionAddr::Tcp(host, _) | ConnectionAddr::TcpTls { host, .. } => {
            let is_loopback = |ip: std::net::IpAddr| ip.is_loopback();
            host == "localhost" || host.parse().is_ok_and(is_loopback)
        }
        _ => true,
    }
}

/// Settings in the files of the system below `root`.
pub fn machine(root: &Path) -> Machine {
    let read = |file: &str| fs::read_to_string(root.join(file)).ok();
    let pages = read("sys/kernel/mm/transparent_hugepage/enabled");
    // The setting that is chosen is in brackets.
    let chosen = |text: String| Some(text.split_once('[')?.1.split_once(']')?.0.to_owned());
    Machine {
        huge_pages: pages.and_then(chosen),
        overcommit: read("proc/sys/vm/overcommit_memory").map(|text| text.trim().to_owned()),
    }
}

fn plain(value: &Value) -> Option<String> {
    match value {
        Value::BulkString(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        Value::SimpleString(text) => Some(text.clone()),
        _ => None,
    }
}

struct Asked<'a> {
    redis: &'a mut Connection,
    unread: Vec<String>,
}

impl Asked<'_> {
    fn ask(&mut self, name: &str, command: &mut Cmd) -> Option<Value> {
        match command.query(self.redis) {
            Ok(reply) => Some(reply),
            Err(error) => {
                let sentence = format!("{name} could not be asked: {}", words(&error));
                if !self.unread.contains(&sentence) {
                    self.unread.push(sentence);
                }
                None
            }
        }
    }

    fn clock(&mut self) -> Option<(i64, i64)> {
        let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros();
        let mut best: Option<(i64, i64)> = None;
        for _ in 0..CLOCK_TRIES {
            let before = now() as i64;
            let reply = self.ask("TIME", &mut cmd("TIME"))?;
            let after = now() as i64;
            let Value::Array(parts) = reply else { return None };
            let part = |at: usize| parts.get(at).and_then(plain)?.parse::<i64>().ok();
            let theirs = part(0)? * 1_000_000 + part(1)?;
            let (ahead, wrong) = (theirs - (before + after) / 2, (after - before) / 2);
            if best.is_none_or(|(_, least)| wrong < least) {
                best = Some((ahead, wrong));
            }
        }
        best.map(|(ahead, wrong)| (ahead / 1_000, wrong / 1_000 + 1))
    }

    fn sales(&mut self) -> Vec<Sale> {
        let (mut cursor, mut all) = ("0".to_owned(), Vec::new());
        loop {
            let mut scan = cmd("SCAN");
            scan.arg(&cursor).arg("COUNT").arg(STEP_KEYS).arg("TYPE").arg("flashsale");
            let Some(Value::Array(reply)) = self.ask("SCAN", &mut scan) else { return all };
            let [next, Value::Array(keys)] = reply.as_slice() else { return all };
            for key in keys {
                let Value::BulkString(key) = key else { continue };
                let status = self.ask("SECKILL.STATUS", &mut seckill("STATUS", &[key]));
                all.extend(status.map(|status| sale(key, &status)));
                if all.len() == SALES_MAX {
                    return all;
                }
            }
            cursor = plain(next).unwrap_or_default();
            if cursor == "0" || cursor.is_empty() {
                return all;
            }
        }
    }
}

fn sale(key: &[u8], status: &Value) -> Sale {
    let fields: BTreeMap<String, Value> = pairs(status).into_iter().collect();
    let number = |name: &str| match fields.get(name) {
        Some(Value::Int(number)) => u64::try_from(*number).unwrap_or_default(),
        _ => 0,
    };
    Sale {
        name: String::from_utf8_lossy(key).into_owned(),
        available: number("available"),
        hold: number("hold_ms") > 0,
        outbox: matches!(fields.get("outbox"), Some(Value::BulkString(_))),
    }
}
