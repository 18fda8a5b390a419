//! A client that follows redirections, as cluster clients do.

use std::collections::HashMap;
use std::io;

use crate::support::client::words;
use crate::support::wait::holds_in_time;
use crate::support::{Conn, Reply};

/// How often a client was redirected or told to retry.
#[derive(Clone, Copy, Debug, Default)]
pub struct Detours {
    pub moved: u64,
    pub asked: u64,
    pub again: u64,
    pub unheard: u64,
}

impl Detours {
    /// Adds the counts of another client.
    pub fn add(&mut self, other: Detours) {
        self.moved += other.moved;
        self.asked += other.asked;
        self.again += other.again;
        self.unheard += other.unheard;
    }
}

impl std::fmt::Display for Detours {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Detours { moved, asked, again, unheard } = self;
        write!(f, "{moved} MOVED, {asked} ASK, {again} told to come again, {unheard} unanswered")
    }
}

/// A client of the whole cluster for keys of one slot.
pub struct Routed {
    ports: Vec<u16>,
    /// The owner of the slot that this client knows.
    pub owner: u16,
    conns: HashMap<u16, Conn>,
    pub detours: Detours,
}

/// Errors after which a client retries.
const AGAIN: [&[u8]; 4] = [b"TRYAGAIN", b"CLUSTERDOWN", b"LOADING", b"MASTERDOWN"];

impl Routed {
    /// A client that knows these ports of the cluster.
    pub fn new(ports: &[u16]) -> Routed {
        let owner = ports[0];
        Routed { ports: ports.to_vec(), owner, conns: HashMap::new(), detours: Detours::default() }
    }

    /// Sends a command until a node answers it.
    #[track_caller]
    pub fn ask(&mut self, args: &[impl AsRef<[u8]>]) -> Reply {
        let mut answer = None;
        let answered = holds_in_time(|| {
            answer = self.follow(args);
            answer.is_some()
        });
        assert!(answered, "nobody answers {:?}", args[0].as_ref().escape_ascii().to_string());
        answer.unwrap_or(Reply::Nil)
    }

    /// [`Routed::ask`] with a command written as one line.
    #[track_caller]
    pub fn cmd(&mut self, line: &str) -> Reply {
        self.ask(&words(line))
    }

    /// Number of replicas that have the writes of this client's last command; 0 if its node is
    /// gone.
    pub fn replicas_that_have_it(&mut self, wait_ms: u64) -> i64 {
        let line = format!("WAIT 1 {wait_ms}");
        let Some(conn) = self.conns.get_mut(&self.owner) else { return 0 };
        match conn.try_ask(&words(&line)) {
            Ok(Reply::Int(count)) => count,
            _ => 0,
        }
    }

    /// Follows all redirections; `None` means that the caller must retry.
    fn follow(&mut self, args: &[impl AsRef<[u8]>]) -> Option<Reply> {
        let mut asking = None;
        for _ in 0..8 {
            let reply = match self.once(asking.take(), args) {
                Ok(reply) => reply,
                Err(_) => {
                    self.turn_elsewhere();
                    return None;
                }
            };
            let Reply::Error(text) = &reply else { return Some(reply) };
            if AGAIN.iter().any(|code| text.starts_with(code)) {
                self.detours.again += 1;
                return None;
            }
            let Some((is_ask, port)) = redirection(text) else { return Some(reply) };
            if is_ask {
                self.detours.asked += 1;
                asking = Some(port);
            } else {
                self.detours.moved += 1;
                self.owner = port;
            }
        }
        None
    }

    fn once(&mut self, asking: Option<u16>, args: &[impl AsRef<[u8]>]) -> io::Result<Reply> {
        let port = asking.unwrap_or(self.owner);
        if let std::collections::hash_map::Entry::Vacant(place) = self.conns.entry(port) {
            place.insert(Conn::open(port)?);
        }
        let Some(conn) = self.conns.get_mut(&port) else { return Err(io::ErrorKind::Other.into()) };
        if asking.is_some() {
            conn.send(&["ASKING"])?;
        }
        conn.send(args)?;
        let first = conn.read()?;
        match asking {
            Some(_) => conn.read(),
            None => Ok(first),
        }
    }

    /// Tries the next node, because the last one is gone, perhaps with a reply.
    fn turn_elsewhere(&mut self) {
        if self.conns.remove(&self.owner).is_some() {
            self.detours.unheard += 1;
        }
        let place = self.ports.iter().position(|port| *port == self.owner).unwrap_or_default();
        self.owner = self.ports[(place + 1) % self.ports.len()];
    }
}

/// Whether the error is ASK (otherwise MOVED), with its port.
pub fn redirection(error: &[u8]) -> Option<(bool, u16)> {
    let text = String::from_utf8_lossy(error);
    let mut words = text.split(' ');
    let is_ask = match words.next()? {
        "ASK" => true,
        "MOVED" => false,
        _ => return None,
    };
    Some((is_ask, words.nth(1)?.rsplit(':').next()?.parse().ok()?))
}
