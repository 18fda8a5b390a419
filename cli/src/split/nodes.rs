//! Calls to the node that has a key, wherever the key is at the moment.
//!
//! The cluster's MOVED and ASK replies say where a key is, so no map of slots is kept. All commands
//! of one call use one connection. A WAIT covers only writes of its own connection, so after a
//! reconnect it would cover none of them.

use std::collections::{BTreeMap, HashMap};
use std::thread;
use std::time::{Duration, Instant};

use redis::{cmd, Arg, Cmd, Connection, ConnectionLike, Pipeline, Value};

use crate::connect::{connect, words, Failure, Target};
use crate::print::tell;

/// A call is retried for this time: a failover ends within it.
const PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(50);

/// A wait longer than this is reported, with its reason.
const QUIET: Duration = Duration::from_secs(1);

/// Calls sent to a node before their answers are read: meanwhile the node serves no other client.
const AT_ONCE: usize = 32;

/// Errors that end without an operator: a retry is enough.
const PASSING: [&str; 6] = ["TRYAGAIN", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "BUSY", "READONLY"];

/// The nodes of a cluster, or one or several single servers.
pub struct Nodes {
    seeds: Vec<Target>,
    /// The node on which each key was found last.
    known: HashMap<String, String>,
    open: HashMap<String, Connection>,
    /// Whether a node has answered MOVED. Then any node knows where a key is, and the next node is
    /// asked if one is unreachable. Single servers each have their own parts.
    is_cluster: bool,
    turn: usize,
}

/// Commands for one key, which one node answers.
pub struct Call {
    pub part: usize,
    pub key: String,
    pub cmds: Vec<Cmd>,
}

/// The result of one attempt.
enum Attempt {
    Done(Vec<Value>),
    /// The key is there now.
    Moved(String),
    /// An ASK reply: the key is at this node for clients that send ASKING.
    Ask(String),
    /// A retry may succeed; the reason why this attempt failed.
    Again(String),
    /// A failure that a retry can't end, for example a wrong password.
    Never(String),
}

impl Nodes {
    /// Nodes that are reached by `seeds`. With single servers part n is at seed n, modulo their
    /// number.
    pub fn new(seeds: Vec<Target>) -> Nodes {
        Nodes { seeds, known: HashMap::new(), open: HashMap::new(), is_cluster: false, turn: 0 }
    }

    /// Several calls, each like `call`: one write and one read for up to `AT_ONCE` calls to one
    /// node. Calls that the node does not answer this way are repeated one by one. `last` is
    /// appended to each write, and its reply to the replies of each call.
    ///
    /// # Errors
    /// As `call`, for the first one that fails.
    pub fn call_each(
        &mut self,
        calls: &[Call],
        last: Option<&Cmd>,
    ) -> Result<Vec<Vec<Value>>, String> {
        let mut by_node: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (at, one) in calls.iter().enumerate() {
            by_node.entry(self.place(&one.key, one.part)).or_default().push(at);
        }
        let mut answers: Vec<Option<Vec<Value>>> = vec![None; calls.len()];
        for (address, all) in &by_node {
            for some in all.chunks(AT_ONCE) {
                let cmds = some.iter().flat_map(|at| &calls[*at].cmds).chain(last).cloned();
                let cmds: Vec<Cmd> = cmds.collect();
                let Ok(mut replies) = self.exchange(address, false, &cmds) else { break };
                let behind = last.and_then(|_| replies.pop());
                let mut replies = replies.into_iter();
                for at in some {
                    let Call { key, cmds, .. } = &calls[*at];
                    let mut own: Vec<Value> = replies.by_ref().take(cmds.len()).collect();
                    own.extend(behind.clone());
                    let (to, answer) = match judge(own, false, address) {
                        Attempt::Done(own) => (address.clone(), Some(own)),
                        Attempt::Moved(to) => {
                            self.is_cluster = true;
                            (to, None)
                        }
                        Attempt::Ask(_) | Attempt::Again(_) | Attempt::Never(_) => continue,
                    };
                    self.known.insert(key.clone(), to);
                    answers[*at] = answer;
                }
            }
        }
        let alone = |(answer, call): (Option<Vec<Value>>, &Call)| match answer {
            Some(replies) => Ok(replies),
            None => {
                let cmds: Vec<Cmd> = call.cmds.iter().chain(last).cloned().collect();
                self.call(&call.key, call.part, &cmds)
            }
        };
        answers.into_iter().zip(calls).map(alone).collect()
    }

    /// The node to ask first for a key.
    fn place(&self, key: &str, part: usize) -> String {
        self.known.get(key).cloned().unwrap_or_else(|| self.any(part))
    }

    /// The node on which a key was found last; empty if it was not found yet.
    pub fn address(&self, key: &str) -> String {
        self.known.get(key).cloned().unwrap_or_default()
    }

    /// One reply each, errors of single commands included.
    ///
    /// # Errors
    /// An error message if no node answers for this key.
    pub fn call(&mut self, key: &str, part: usize, cmds: &[Cmd]) -> Result<Vec<Value>, String> {
        let (until, mut quiet) = (Instant::now() + PATIENCE, Some(Instant::now() + QUIET));
        loop {
            let address = self.place(key, part);
            let why = match self.attempt(&address, false, cmds) {
                Attempt::Done(replies) => {
                    self.known.insert(key.to_owned(), address);
                    return Ok(replies);
                }
                Attempt::Moved(to) if Instant::now() < until => {
                    self.is_cluster = true;
                    self.known.insert(key.to_owned(), to);
                    continue;
                }
                Attempt::Moved(to) | Attempt::Ask(to) => format!("it is said to be at {to}"),
                Attempt::Again(why) => why,
                Attempt::Never(why) => return Err(why),
            };
            self.known.remove(key);
            // A primary may have become a replica, so another node is asked next.
            self.open.remove(&address);
            self.turn += 1;
            if Instant::now() > until {
                return Err(no_answer(key, &why));
            }
            if quiet.take_if(|quiet| Instant::now() > *quiet).is_some() {
                tell!("seckill: {why}; it is asked again, for {} s in all", PATIENCE.as_secs());
            }
            thread::sleep(PAUSE);
        }
    }

    /// The node to ask for a key that was not found yet.
    fn any(&self, part: usize) -> String {
        let mut nodes: Vec<String> = self.seeds.iter().map(Target::name).collect();
        if !self.is_cluster {
            return nodes.swap_remove(part % nodes.len());
        }
        nodes.extend(self.known.values().cloned());
        nodes.swap_remove(self.turn % nodes.len())
    }

    fn attempt(&mut self, address: &str, asking: bool, cmds: &[Cmd]) -> Attempt {
        let replies = match self.exchange(address, asking, cmds) {
            Ok(replies) => replies,
            Err(failure) if failure.heals => return Attempt::Again(failure.said),
            Err(failure) => return Attempt::Never(failure.said),
        };
        match judge(replies, cmds.first().is_some_and(is_multi), address) {
            Attempt::Ask(to) if !asking => self.attempt(&to, true, cmds),
            attempt => attempt,
        }
    }

    /// Writes all commands to one node, and reads as many replies.
    fn exchange(
        &mut self,
        address: &str,
        asking: bool,
        cmds: &[Cmd],
    ) -> Result<Vec<Value>, Failure> {
        let mut connection = match self.open.remove(address) {
            Some(connection) => connection,
            None => self.connect(address)?,
        };
        let mut pipeline = Pipeline::new();
        for command in cmds {
            // ASKING holds for one command.
            if asking {
                pipeline.add_command(cmd("ASKING"));
            }
            pipeline.add_command(command.clone());
        }
        let each = 1 + usize::from(asking);
        let count = cmds.len() * each;
        let packed = pipeline.get_packed_pipeline();
        let replies = connection
            .req_packed_commands(&packed, 0, count)
            .map_err(|error| Failure::passing(format!("{address}: {}", words(&error))))?;
        self.open.insert(address.to_owned(), connection);
        Ok(replies.into_iter().skip(each - 1).step_by(each).collect())
    }

    fn connect(&self, address: &str) -> Result<Connection, Failure> {
        if let Some(seed) = self.seeds.iter().find(|seed| seed.name() == address) {
            return connect(seed);
        }
        let parsed = address.rsplit_once(':').and_then(|(host, port)| {
            let port: u16 = port.parse().ok()?;
            Some((host.trim_matches(['[', ']']), port))
        });
        let unknown = || Failure::passing(format!("{address} is no address"));
        let (host, port) = parsed.ok_or_else(unknown)?;
        let client = self.seeds[0].at(host, port).map_err(Failure::lasting)?;
        connect(&Target::Address(client))
    }
}

/// The error after `PATIENCE`, with what the operator can do about it.
fn no_answer(key: &str, why: &str) -> String {
    let advice = if why.starts_with("READONLY") { " Give --redis the primary" } else { "" };
    format!("no node answers for {key}: {why}{advice}")
}

/// Classifies the replies to one call, of the node at `asked`.
fn judge(replies: Vec<Value>, is_whole: bool, asked: &str) -> Attempt {
    // Each command of a transaction can be refused when it is queued, before any is executed.
    let first = if is_whole { replies.len() } else { 1 };
    let refused = replies.iter().take(first).find_map(|reply| match reply {
        Value::ServerError(error) => Some((error.clone(), said(reply))),
        _ => None,
    });
    let Some((error, text)) = refused else { return Attempt::Done(replies) };
    let there = error.details().and_then(|text| text.split(' ').nth(1));
    let there = there.map(|there| address_of(there, asked));
    match (error.code(), there) {
        ("MOVED", Some(to)) => Attempt::Moved(to),
        // ASKING has no effect on the commands that a transaction queues.
        ("ASK", _) if is_whole => Attempt::Again("its slot is on its way".into()),
        ("ASK", Some(to)) => Attempt::Ask(to),
        (code, _) if PASSING.contains(&code) => Attempt::Again(text),
        _ => Attempt::Done(replies),
    }
}

/// An address of MOVED or ASK. Without a host it is on the host of the node that named it.
fn address_of(named: &str, by: &str) -> String {
    let host = by.rsplit_once(':').map_or(by, |(host, _)| host);
    if named.rfind(':') == Some(0) {
        return format!("{host}{named}");
    }
    named.to_owned()
}

fn is_multi(command: &Cmd) -> bool {
    command.args_iter().next().is_some_and(|name| matches!(name, Arg::Simple(b"MULTI")))
}

/// The text of an error reply, unchanged.
pub fn said(reply: &Value) -> String {
    match reply {
        Value::ServerError(e) => format!("{} {}", e.code(), e.details().unwrap_or_default()),
        other => format!("{other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{address_of, no_answer};

    #[test]
    fn an_address_without_a_host_is_on_the_node_that_named_it() {
        assert_eq!(address_of(":2", "a:1"), "a:2");
        assert_eq!(address_of("b:2", "a:1"), "b:2");
        assert_eq!(address_of("::1:2", "a:1"), "::1:2");
    }

    #[test]
    fn who_names_a_replica_is_told_so() {
        let why = "READONLY You can't write against a read only replica.";
        assert!(no_answer("s:{p0}", why).ends_with("replica. Give --redis the primary"));
        assert_eq!(no_answer("s:{p0}", "x"), "no node answers for s:{p0}: x");
    }
}
