//! The state of a split, read from its parts.

use std::collections::HashMap;

use redis::{cmd, Cmd, Value};
use seckill_balance::{made_twice, Reading, UnderWay};

use super::nodes::{said, Call, Nodes};

/// Most parts of a split.
const PARTS_MAX: usize = 1024;
/// HOME calls sent before their replies are read.
const HOMES_AT_ONCE: usize = 1000;

/// An existing split.
pub struct Split {
    pub name: String,
    /// The id that INIT was given.
    pub id: Vec<u8>,
    pub parts: usize,
    pub nodes: Nodes,
}

/// A part at one moment.
pub struct View {
    /// The part as its PARTS replied.
    pub reading: Reading,
    /// Numbers of STATUS, read directly after PARTS.
    pub numbers: HashMap<String, i64>,
    /// `open`, `paused` and so on.
    pub state: String,
    /// The address of the part's node.
    pub node: String,
}

impl View {
    pub fn number(&self, name: &str) -> u64 {
        self.numbers.get(name).copied().and_then(|n| u64::try_from(n).ok()).unwrap_or_default()
    }
}

/// The key of a part: each part number has one hash tag, which all splits use.
pub fn key(name: &str, part: usize) -> String {
    format!("{name}:{{p{part}}}")
}

/// `SECKILL.<name> <words>`.
pub fn seckill(name: &str, words: &[&[u8]]) -> Cmd {
    let mut command = cmd(&format!("SECKILL.{name}"));
    command.arg(words);
    command
}

impl Split {
    /// Finds the split by its part 0, which is made last.
    ///
    /// # Errors
    /// An error message that says what to do.
    pub fn open(nodes: Nodes, name: &str) -> Result<Split, String> {
        Split::find(nodes, name, 1)
    }

    /// Finds the split by any of its parts.
    ///
    /// # Errors
    /// As `open`.
    pub fn open_by_any(nodes: Nodes, name: &str) -> Result<Split, String> {
        Split::find(nodes, name, PARTS_MAX)
    }

    /// Finds the id and the number of parts by asking the first `parts` parts.
    fn find(mut nodes: Nodes, name: &str, parts: usize) -> Result<Split, String> {
        for part in 0..parts {
            let key = key(name, part);
            let reply = one(nodes.call(&key, part, &[seckill("PARTS", &[key.as_bytes()])])?);
            if part + 1 < parts && is_missing(&reply) {
                continue;
            }
            let Value::Array(fields) = &reply else { return Err(advice(&key, &reply)) };
            let id = fields.first().and_then(bytes).ok_or("PARTS answered something else")?;
            let parts = fields.get(2).and_then(number).unwrap_or_default() as usize;
            return Ok(Split { name: name.to_owned(), id, parts, nodes });
        }
        Err(format!("no part of {name} is there"))
    }

    pub fn key(&self, part: usize) -> String {
        key(&self.name, part)
    }

    /// One reply each to commands for one part.
    ///
    /// # Errors
    /// As `Nodes::call`.
    pub fn call(&mut self, part: usize, commands: &[Cmd]) -> Result<Vec<Value>, String> {
        self.nodes.call(&key(&self.name, part), part, commands)
    }

    /// `SECKILL.<name> key id <numbers>`, for `call_each`.
    pub fn message(&self, part: usize, name: &str, numbers: &[u64]) -> Call {
        let key = self.key(part);
        let mut message = seckill(name, &[key.as_bytes(), &self.id]);
        message.arg(numbers);
        Call { part, key, cmds: vec![message] }
    }

    /// Reads a part from its primary.
    ///
    /// # Errors
    /// An error message that says what to do.
    pub fn read(&mut self, part: usize) -> Result<View, String> {
        let replies = self.ask(part)?;
        self.view(part, &replies)
    }

    /// Like `read`, with `None` for a missing part.
    ///
    /// # Errors
    /// As `read`.
    pub fn read_if_there(&mut self, part: usize) -> Result<Option<View>, String> {
        let replies = self.ask(part)?;
        match replies.first().is_some_and(is_missing) {
            true => Ok(None),
            false => self.view(part, &replies).map(Some),
        }
    }

    fn ask(&mut self, part: usize) -> Result<Vec<Value>, String> {
        let Call { cmds, .. } = self.question(part);
        self.call(part, &cmds)
    }

    fn question(&self, part: usize) -> Call {
        let key = self.key(part);
        let cmds = ["PARTS", "STATUS"].map(|name| seckill(name, &[key.as_bytes()]));
        Call { part, cmds: cmds.into(), key }
    }

    fn view(&self, part: usize, replies: &[Value]) -> Result<View, String> {
        let key = self.key(part);
        let [parts, status] = replies else { return Err("no answer".into()) };
        let (id, of, reading) = reading(parts, self.parts).ok_or_else(|| advice(&key, parts))?;
        if id != self.id || of != self.parts {
            return Err(format!(
                "{key} is a part of another split, or of {of} parts instead of {}: give the new \
                 split a name of its own",
                self.parts
            ));
        }
        let mut view =
            View { reading, numbers: HashMap::new(), state: String::new(), node: String::new() };
        let fields = pairs(status);
        if fields.is_empty() {
            return Err(advice(&key, status));
        }
        for (name, value) in fields {
            match value {
                Value::BulkString(word) if name == "state" => {
                    view.state = String::from_utf8_lossy(&word).into_owned();
                }
                value => view.numbers.extend(number(&value).map(|n| (name, n))),
            }
        }
        view.node = self.nodes.address(&key);
        Ok(view)
    }

    /// The home of each of these users.
    ///
    /// # Errors
    /// As `call`.
    pub fn homes(&mut self, users: &[&[u8]]) -> Result<Vec<usize>, String> {
        let parts = self.parts.to_string();
        let mut homes = Vec::with_capacity(users.len());
        for some in users.chunks(HOMES_AT_ONCE) {
            let asked = some.iter().map(|user| seckill("HOME", &[user, parts.as_bytes()]));
            for reply in self.call(0, &asked.collect::<Vec<Cmd>>())? {
                let home = number(&reply).and_then(|home| usize::try_from(home).ok());
                let home = home.filter(|home| *home < self.parts);
                homes.push(home.ok_or_else(|| advice("SECKILL.HOME", &reply))?);
            }
        }
        Ok(homes)
    }

    /// Reads all parts, with one round trip for the parts of a node.
    ///
    /// # Errors
    /// The error of the first part that can't be read.
    pub fn read_all(&mut self) -> Result<Vec<View>, String> {
        let questions: Vec<Call> = (0..self.parts).map(|part| self.question(part)).collect();
        let answers = self.nodes.call_each(&questions, None)?;
        answers.iter().enumerate().map(|(part, replies)| self.view(part, replies)).collect()
    }

    /// Pairs of parts with more units received than sent. The source is read again after the peer,
    /// so that units moved in between are not counted as duplicated.
    ///
    /// # Errors
    /// As `read`.
    pub fn made_twice(&mut self, readings: &[Reading]) -> Result<Vec<UnderWay>, String> {
        let mut found = Vec::new();
        let all = 0..readings.len();
        for (from, to) in all.clone().flat_map(|from| all.clone().map(move |to| (from, to))) {
            let peer = (to, &readings[to]);
            if made_twice((from, &readings[from]), peer).is_none() {
                continue;
            }
            let source = self.read(from)?.reading;
            if let Some(total) = made_twice((from, &source), peer) {
                found.push(UnderWay { from, to, total, units: total - source.sent[to] });
            }
        }
        Ok(found)
    }
}

/// The first reply.
pub fn one(mut replies: Vec<Value>) -> Value {
    if replies.is_empty() {
        Value::Nil
    } else {
        replies.swap_remove(0)
    }
}

/// Whether a part's reply is that it does not exist.
fn is_missing(reply: &Value) -> bool {
    matches!(reply, Value::ServerError(error) if error.code() == "NOSALE")
}

/// An error message that says what the operator can do about an error reply.
pub fn advice(key: &str, reply: &Value) -> String {
    let text = said(reply);
    match text.split(' ').next().unwrap_or_default() {
        "NOSALE" if key.ends_with("{p0}") => format!(
            "{key}: there is no such sale. Part 0 is made last: was `seckill split create` \
             finished, with this name?"
        ),
        "NOSALE" => format!(
            "{key} is missing. Don't make it again with its share: what it sold or sent would be \
             there twice. `seckill split repair` makes it with what the others know; see parts.md"
        ),
        "NOPERM" => format!("{key}: {text}. This takes the operator's commands, see security.md"),
        "READONLY" => format!("{key}: {text}. Give --redis the primary"),
        "NOAUTH" => format!("{key}: {text} Give --redis-user and --redis-password-file"),
        _ if text.contains("unknown command") => {
            format!("{key}: the node does not have the module seckill, or one without parts")
        }
        _ => format!("{key}: {text}"),
    }
}

pub fn number(value: &Value) -> Option<i64> {
    match value {
        Value::Int(number) => Some(*number),
        _ => None,
    }
}

fn bytes(value: &Value) -> Option<Vec<u8>> {
    match value {
        Value::BulkString(bytes) => Some(bytes.clone()),
        _ => None,
    }
}

/// A map, in either protocol.
pub fn pairs(value: &Value) -> Vec<(String, Value)> {
    let name = |value: &Value| bytes(value).map(|b| String::from_utf8_lossy(&b).into_owned());
    let both: Vec<(&Value, &Value)> = match value {
        Value::Array(items) => items.chunks_exact(2).map(|two| (&two[0], &two[1])).collect(),
        Value::Map(items) => items.iter().map(|(name, value)| (name, value)).collect(),
        _ => Vec::new(),
    };
    both.into_iter().filter_map(|(n, value)| Some((name(n)?, value.clone()))).collect()
}

/// `[id, part, parts, put_in, available, held, deficit, elsewhere, pass, [[peer, sent, received]]]`
fn reading(value: &Value, parts: usize) -> Option<(Vec<u8>, usize, Reading)> {
    let Value::Array(fields) = value else { return None };
    let [id, _part, of, put_in, rest @ ..] = fields.as_slice() else { return None };
    let [available, held, deficit, elsewhere, pass, Value::Array(rows)] = rest else { return None };
    let unsigned = |value: &Value| number(value).and_then(|n| u64::try_from(n).ok());
    let mut reading = Reading {
        put_in: number(put_in)?,
        available: unsigned(available)?,
        held: unsigned(held)?,
        deficit: unsigned(deficit)?,
        elsewhere: unsigned(elsewhere)?,
        pass: unsigned(pass)?,
        sent: vec![0; parts],
        received: vec![0; parts],
    };
    for row in rows {
        let Value::Array(row) = row else { return None };
        let [peer, sent, received] = row.as_slice() else { return None };
        let peer = unsigned(peer)? as usize;
        *reading.sent.get_mut(peer)? = unsigned(sent)?;
        *reading.received.get_mut(peer)? = unsigned(received)?;
    }
    Some((bytes(id)?, unsigned(of)? as usize, reading))
}
