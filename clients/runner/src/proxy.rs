//! Faults between a client library and a server: connections end in the middle of a reply, so the
//! server has executed the call, but the client does not know. A link can also answer as a server
//! that is no longer the primary, and add words to replies.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use seckill_crowd::wire::reply_end;
use seckill_harness::link::{Filter, Link};
use seckill_harness::process::lock;

pub use seckill_harness::link::Then;

/// The faults during one step.
#[derive(Default)]
pub struct Trouble {
    /// Byte counts after which replies to the library's commands are cut, one after the other.
    pub cut: VecDeque<usize>,
    /// Only replies to requests with this word are cut; otherwise those of connections that have
    /// carried a command of the library.
    pub cut_of: Option<String>,
    /// Milliseconds by which each reply is late.
    pub slow_ms: u64,
    /// Called at the first cut, or at the first error reply.
    pub then: Option<Then>,
    /// An error for connections that existed before the first call.
    pub sick: Option<String>,
    /// Number of words that are added to each reply.
    pub more_words: usize,
    /// The newest connection that gets this error, once there was a call.
    pub sick_until: Option<u64>,
}

/// The faults, shared by all links of a place.
#[derive(Clone, Default)]
pub struct Troubles {
    now: Arc<Mutex<Trouble>>,
    connections: Arc<AtomicU64>,
}

impl Troubles {
    pub fn begin(&self, trouble: Trouble) {
        *lock(&self.now) = trouble;
    }

    /// Ends the faults. Returns the number of cuts that did not occur.
    pub fn end(&self) -> usize {
        std::mem::take(&mut *lock(&self.now)).cut.len()
    }

    /// A link with these faults, without a server yet.
    ///
    /// # Errors
    /// A message if no port is free.
    pub fn link(&self) -> Result<Link, String> {
        let troubles = self.clone();
        Link::through(Box::new(move || {
            let id = troubles.connections.fetch_add(1, Ordering::SeqCst) + 1;
            let (asked, named) = Default::default();
            Arc::new(Connection { id, asked, named, troubles: troubles.clone() })
        }))
    }
}

struct Connection {
    id: u64,
    /// Whether the connection has carried a command of the library.
    asked: AtomicBool,
    /// Whether the last request has the word of `cut_of`.
    named: AtomicBool,
    troubles: Troubles,
}

impl Filter for Connection {
    fn answer(&self, request: &[u8]) -> Option<Vec<u8>> {
        let is_ours = request.windows(8).any(|word| word == b"SECKILL.");
        self.asked.fetch_or(is_ours, Ordering::SeqCst);
        let word = lock(&self.troubles.now).cut_of.clone();
        let has = |word: String| {
            let word = format!("\r\n{word}\r\n").into_bytes();
            request.windows(word.len()).any(|part| part == word)
        };
        self.named.store(word.is_some_and(has), Ordering::SeqCst);
        let error = is_ours.then(|| self.sickness()).flatten()?;
        Some(format!("-{error}\r\n").repeat(commands(request)).into_bytes())
    }

    fn reply(&self, mut reply: Vec<u8>) -> (Vec<u8>, Option<Then>) {
        let mut trouble = lock(&self.troubles.now);
        let counts = if trouble.cut_of.is_some() { &self.named } else { &self.asked };
        if !counts.load(Ordering::SeqCst) {
            return (reply, None);
        }
        if trouble.slow_ms > 0 {
            let late = Duration::from_millis(trouble.slow_ms);
            drop(trouble);
            thread::sleep(late);
            trouble = lock(&self.troubles.now);
        }
        reply = longer(reply, trouble.more_words);
        let breaks = trouble.breaks(reply.len());
        let is_over = breaks.is_some() || reply.starts_with(b"-");
        let then = is_over.then(|| trouble.then.take()).flatten();
        drop(trouble);
        match breaks {
            Some(bytes) => {
                reply.truncate(bytes);
                (reply, Some(then.unwrap_or_else(|| Box::new(|| {}))))
            }
            None => {
                then.into_iter().for_each(|then| then());
                (reply, None)
            }
        }
    }
}

impl Connection {
    fn sickness(&self) -> Option<String> {
        let mut trouble = lock(&self.troubles.now);
        let error = trouble.sick.clone()?;
        let newest = self.troubles.connections.load(Ordering::SeqCst);
        (self.id <= *trouble.sick_until.get_or_insert(newest)).then_some(error)
    }
}

/// Number of commands in these bytes; they are arrays, as replies may be.
fn commands(mut request: &[u8]) -> usize {
    let mut commands = 0;
    while let Some(end) = reply_end(request) {
        commands += 1;
        request = &request[end..];
    }
    commands
}

impl Trouble {
    /// The number of these bytes after which the connection ends, if it does. Replies of all
    /// connections are counted together.
    fn breaks(&mut self, bytes: usize) -> Option<usize> {
        let left = self.cut.front_mut()?;
        match left.checked_sub(bytes) {
            Some(rest) => {
                *left = rest;
                None
            }
            None => self.cut.pop_front(),
        }
    }
}

/// An array with additional words.
fn longer(reply: Vec<u8>, more: usize) -> Vec<u8> {
    let text = String::from_utf8_lossy(&reply);
    let count = text.strip_prefix('*').and_then(|rest| rest.split_once("\r\n"));
    match count.and_then(|(count, rest)| Some((count.parse::<usize>().ok()?, rest))) {
        Some((count, rest)) if more > 0 => {
            format!("*{}\r\n{rest}{}", count + more, "$3\r\nnew\r\n".repeat(more)).into_bytes()
        }
        _ => reply,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_counted() {
        assert_eq!(
            commands(b"*2\r\n$4\r\nINCR\r\n$1\r\na\r\n*3\r\n$4\r\nWAIT\r\n$1\r\n1\r\n$1\r\n2\r\n"),
            2
        );
    }
}
