//! Reads a server and its sales in a few round trips. Nothing here writes.

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use redis::{cmd, Cmd, Connection, ConnectionLike, Pipeline, Value};

use super::find::Names;
use crate::connect::words;

/// The parts of INFO that are shown.
const SECTIONS: [&str; 9] = [
    "server",
    "clients",
    "memory",
    "persistence",
    "stats",
    "replication",
    "cpu",
    "cluster",
    "seckill",
];

/// Calls sent before answers are read: the server serves other clients in between.
const AT_ONCE: usize = 50;

/// Everything read at one moment.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// INFO, as names and texts.
    pub info: BTreeMap<String, String>,
    /// The sales, in the order of their names.
    pub sales: Vec<Sale>,
    /// Sales that are known and could not be read, or their outboxes.
    pub unreadable: u64,
    /// The reason for the first unreadable sale.
    pub refused: Option<String>,
    /// Sales that are known and were not asked, because there are too many.
    pub left_out: u64,
    /// Whether all keys had been searched before, so that no other sales exist.
    pub is_all: bool,
    /// Duration of the reading.
    pub took: Duration,
    /// Time of the reading, in Unix ms of this machine.
    pub at_ms: u64,
}

impl Snapshot {
    /// Whether the server may remove a sale to make room.
    pub fn evicts(&self) -> bool {
        self.info.get("maxmemory_policy").is_some_and(|policy| policy.starts_with("allkeys-"))
    }

    /// The server software and its version.
    pub fn software(&self) -> (&'static str, &str) {
        let version = |field: &str| self.info.get(field).map(String::as_str);
        match version("valkey_version") {
            Some(valkey) => ("Valkey", valkey),
            None => ("Redis", version("redis_version").unwrap_or_default()),
        }
    }

    /// Host and port of each replica: `slave0:ip=10.0.0.2,port=6379,state=online,...`. A backup by
    /// `redis-cli --rdb` is among them while it runs; it has no port, and is left out.
    pub fn replicas(&self) -> Vec<(String, u16)> {
        let is_replica = |name: &str| {
            let number = name.strip_prefix("slave");
            number.is_some_and(|number| number.parse::<u16>().is_ok())
        };
        let replica = |(_, text): (&String, &String)| {
            let field = |name: &str| text.split(',').find_map(|pair| pair.strip_prefix(name));
            Some((field("ip=")?.to_owned(), field("port=")?.parse().ok()?))
        };
        let rows = self.info.iter().filter(|(name, _)| is_replica(name));
        rows.filter_map(replica).filter(|(_, port)| *port != 0).collect()
    }
}

/// One sale.
#[derive(Clone, Debug, Default)]
pub struct Sale {
    /// The key, made readable.
    pub name: String,
    /// Fields of STATUS that are numbers.
    pub numbers: BTreeMap<String, i64>,
    /// The fields of STATUS that are words.
    pub words: BTreeMap<String, String>,
    /// The map `counters` of STATUS.
    pub counters: BTreeMap<String, u64>,
    /// The key of the outbox, unchanged.
    pub stream: Option<Vec<u8>>,
    /// The state of the outbox, if this user may read it.
    pub outbox: Option<Outbox>,
}

/// The outbox stream of a sale.
#[derive(Clone, Debug, Default)]
pub struct Outbox {
    /// Number of entries in the stream.
    pub length: u64,
    /// The consumer groups of the stream.
    pub groups: Vec<Group>,
}

/// A consumer group.
#[derive(Clone, Debug, Default)]
pub struct Group {
    pub name: String,
    pub consumers: u64,
    /// Entries that were delivered to a consumer and not acknowledged.
    pub pending: u64,
    /// Entries not delivered to any consumer. After an XDEL of such an entry the server does not
    /// know their number, only that there are some; then this is the length of the stream.
    pub lag: u64,
    /// Time of the newest entry that was delivered to a consumer, Unix ms.
    pub delivered_ms: u64,
}

/// Reads the server, and at most `most` of the sales.
///
/// # Errors
/// An error message if the server does not answer.
pub fn snapshot(redis: &mut Connection, names: &Names, most: usize) -> Result<Snapshot, String> {
    let started = Instant::now();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut info = cmd("INFO");
    info.arg(&SECTIONS);
    let info = lines(info.query(redis).map_err(said)?);
    let is_primary = info.get("role").is_some_and(|role| role == "master");
    let asked: Vec<&Vec<u8>> = names.iter().take(most).collect();
    let status = |name: &&Vec<u8>| command("SECKILL.STATUS", &[name]);
    let replies = ask(redis, asked.iter().map(status))?;
    let (mut unreadable, mut refused) = (0, None);
    let mut sales = Vec::with_capacity(asked.len());
    for (name, reply) in asked.iter().zip(replies) {
        match reply {
            // The sale was deleted after it was found.
            Value::ServerError(error) if error.code() == "NOSALE" => {}
            // Of several primaries one has a sale that is named. (A replica has it and says MOVED.)
            Value::ServerError(error) if error.code() == "MOVED" && is_primary => {}
            Value::ServerError(error) => {
                unreadable += 1;
                let detail = error.details().unwrap_or_default();
                refused.get_or_insert_with(|| format!("{} {detail}", error.code()));
            }
            reply => match sale(name, reply) {
                Some(sale) => sales.push(sale),
                None => unreadable += 1,
            },
        }
    }
    unreadable += outboxes(redis, &mut sales)?;
    Ok(Snapshot {
        info,
        sales,
        unreadable,
        refused,
        left_out: (names.len() - asked.len()) as u64,
        took: started.elapsed(),
        at_ms: u64::try_from(now.as_millis()).unwrap_or(u64::MAX),
        is_all: false,
    })
}

/// The states of `count` numbers of a numbered sale from `first` on, one character each.
///
/// # Errors
/// An error message if the server does not answer, or refuses.
pub fn map(redis: &mut Connection, sale: &str, first: u64, count: u64) -> Result<String, String> {
    let mut units = command("SECKILL.UNITS", &[sale.as_bytes()]);
    units.arg(first).arg("COUNT").arg(count).query(redis).map_err(said)
}

/// Reads the outboxes of the sales that have one, and returns how many this user may not read: no
/// alert would tell that nobody reads them.
fn outboxes(redis: &mut Connection, sales: &mut [Sale]) -> Result<u64, String> {
    let is_refused =
        |reply: &Value| matches!(reply, Value::ServerError(error) if error.code() == "NOPERM");
    let mut unreadable = 0;
    let mut with_stream: Vec<(&mut Sale, Vec<u8>)> = sales
        .iter_mut()
        .filter_map(|sale| sale.stream.clone().map(|stream| (sale, stream)))
        .collect();
    let questions = with_stream
        .iter()
        .flat_map(|(_, key)| [command("XLEN", &[key]), command("XINFO", &[b"GROUPS", key])]);
    let replies = ask(redis, questions.collect::<Vec<_>>().into_iter())?;
    for ((sale, _), pair) in with_stream.iter_mut().zip(replies.chunks_exact(2)) {
        unreadable += u64::from(pair.iter().any(is_refused));
        if let [Value::Int(length), Value::Array(groups)] = pair {
            let length = unsigned(*length);
            let groups = groups.iter().map(|reply| group(reply, length)).collect();
            sale.outbox = Some(Outbox { length, groups });
        }
    }
    Ok(unreadable)
}

fn command(name: &str, words: &[&[u8]]) -> Cmd {
    let mut command = cmd(name);
    command.arg(words);
    command
}

/// One reply each, errors of single calls included.
fn ask(redis: &mut Connection, commands: impl Iterator<Item = Cmd>) -> Result<Vec<Value>, String> {
    let commands: Vec<Cmd> = commands.collect();
    let mut replies = Vec::with_capacity(commands.len());
    for part in commands.chunks(AT_ONCE) {
        let mut pipeline = Pipeline::with_capacity(part.len());
        for command in part {
            pipeline.add_command(command.clone());
        }
        let packed = pipeline.get_packed_pipeline();
        replies.extend(redis.req_packed_commands(&packed, 0, part.len()).map_err(said)?);
    }
    Ok(replies)
}

fn said(error: redis::RedisError) -> String {
    format!("Redis says: {}", words(&error))
}

fn lines(info: String) -> BTreeMap<String, String> {
    let pairs = info.lines().filter_map(|line| line.split_once(':'));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// A sale out of the reply to STATUS; `None` for an error.
fn sale(name: &[u8], reply: Value) -> Option<Sale> {
    let mut sale = Sale { name: readable(name), ..Sale::default() };
    for (field, value) in pairs(reply)? {
        match value {
            Value::Int(number) => drop(sale.numbers.insert(field, number)),
            Value::BulkString(key) if field == "outbox" => sale.stream = Some(key),
            Value::BulkString(word) => drop(sale.words.insert(field, readable(&word))),
            Value::Nil => {}
            nested => {
                for (name, count) in pairs(nested)? {
                    if let Value::Int(count) = count {
                        sale.counters.insert(name, unsigned(count));
                    }
                }
            }
        }
    }
    Some(sale)
}

/// A group of a stream that has `length` entries.
fn group(reply: &Value, length: u64) -> Group {
    let mut group = Group { lag: length, ..Group::default() };
    for (field, value) in pairs(reply.clone()).unwrap_or_default() {
        match (field.as_str(), value) {
            ("name", Value::BulkString(name)) => group.name = readable(&name),
            ("consumers", Value::Int(count)) => group.consumers = unsigned(count),
            ("pending", Value::Int(count)) => group.pending = unsigned(count),
            ("lag", Value::Int(count)) => group.lag = unsigned(count),
            ("last-delivered-id", Value::BulkString(id)) => {
                let id = readable(&id);
                let ms = id.split('-').next().and_then(|ms| ms.parse().ok());
                group.delivered_ms = ms.unwrap_or_default();
            }
            _ => {}
        }
    }
    group
}

/// A map, or the flat array that RESP2 has instead.
fn pairs(reply: Value) -> Option<Vec<(String, Value)>> {
    let word = |value: Value| match value {
        Value::BulkString(bytes) => Some(readable(&bytes)),
        Value::SimpleString(text) => Some(text),
        _ => None,
    };
    match reply {
        Value::Map(pairs) => {
            pairs.into_iter().map(|(name, value)| Some((word(name)?, value))).collect()
        }
        Value::Array(flat) => {
            let mut flat = flat.into_iter();
            let pairs = std::iter::from_fn(|| Some((flat.next()?, flat.next()?)));
            pairs.map(|(name, value)| Some((word(name)?, value))).collect()
        }
        _ => None,
    }
}

fn readable(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}
