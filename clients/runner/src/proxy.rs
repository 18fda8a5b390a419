//! A proxy between a client library and a server. It breaks connections in the middle of a reply:
//! the server has executed the call, and the client does not know. It can also answer in place of a
//! server that is no longer the right one, and add words to replies.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use seckill_harness::process::lock;

/// The fault between the server's reply and the end of the connection.
pub type Then = Box<dyn FnOnce() + Send>;

/// The faults for the calls of one step.
#[derive(Default)]
pub struct Trouble {
    /// Replies to the library's commands break off after this many bytes, one after the other.
    pub cut: VecDeque<usize>,
    /// Done at the first cut, or at the first reply that is an error.
    pub then: Option<Then>,
    /// An error that connections get which were there before the first call.
    pub sick: Option<String>,
    /// Words that each reply gets at its end.
    pub more_words: usize,
    /// The newest connection that is sick, once there was a call.
    pub sick_until: Option<u64>,
}

/// Shared by all proxies of a place.
#[derive(Clone, Default)]
pub struct Troubles {
    now: Arc<Mutex<Trouble>>,
    connections: Arc<AtomicU64>,
}

impl Troubles {
    pub fn begin(&self, trouble: Trouble) {
        *lock(&self.now) = trouble;
    }

    /// Ends the trouble. Returns the number of cuts that did not happen.
    pub fn end(&self) -> usize {
        std::mem::take(&mut *lock(&self.now)).cut.len()
    }
}

/// A port of this machine that forwards to a server for as long as the program runs.
pub struct Proxy {
    port: u16,
    server: Arc<AtomicU16>,
}

impl Proxy {
    /// A proxy without a server forwards nothing.
    ///
    /// # Errors
    /// A sentence when no port is free.
    pub fn new(troubles: &Troubles) -> Result<Proxy, String> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|e| e.to_string())?;
        let port = listener.local_addr().map_err(|e| e.to_string())?.port();
        let proxy = Proxy { port, server: Arc::default() };
        let (troubles, server) = (troubles.clone(), Arc::clone(&proxy.server));
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                let server = server.load(Ordering::SeqCst);
                if let Ok(far) = TcpStream::connect((Ipv4Addr::LOCALHOST, server)) {
                    let id = troubles.connections.fetch_add(1, Ordering::SeqCst) + 1;
                    join(
                        &near,
                        &far,
                        Connection { id, asked: Arc::default(), troubles: troubles.clone() },
                    );
                }
            }
        });
        Ok(proxy)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// New connections go there from now on.
    pub fn lead_to(&self, server: u16) {
        self.server.store(server, Ordering::SeqCst);
    }
}

#[derive(Clone)]
struct Connection {
    id: u64,
    /// Whether a command of the library came over this connection.
    asked: Arc<AtomicBool>,
    troubles: Troubles,
}

fn join(near: &TcpStream, far: &TcpStream, connection: Connection) {
    let _ = (near.set_nodelay(true), far.set_nodelay(true));
    let ends = [near, near, far, far].map(TcpStream::try_clone);
    let [Ok(near), Ok(near_too), Ok(far), Ok(far_too)] = ends else { return };
    let back = connection.clone();
    thread::spawn(move || requests(near, far, &connection));
    thread::spawn(move || replies(far_too, near_too, &back));
}

fn requests(mut from: TcpStream, mut to: TcpStream, connection: &Connection) {
    let mut part = vec![0; 64 * 1024];
    while let Ok(bytes @ 1..) = from.read(&mut part) {
        let request = &part[..bytes];
        let is_ours = request.windows(8).any(|word| word == b"SECKILL.");
        connection.asked.fetch_or(is_ours, Ordering::SeqCst);
        let passed = match is_ours.then(|| connection.sickness()).flatten() {
            Some(error) => {
                let reply = format!("-{error}\r\n").repeat(commands(request));
                from.write_all(reply.as_bytes())
            }
            None => to.write_all(request),
        };
        if passed.is_err() {
            break;
        }
    }
    end(&from, &to);
}

impl Connection {
    fn sickness(&self) -> Option<String> {
        let mut trouble = lock(&self.troubles.now);
        let error = trouble.sick.clone()?;
        let newest = self.troubles.connections.load(Ordering::SeqCst);
        (self.id <= *trouble.sick_until.get_or_insert(newest)).then_some(error)
    }
}

/// How many commands these bytes are.
fn commands(mut request: &[u8]) -> usize {
    let mut commands = 0;
    let mut words = 0;
    while let Some(end) = request.windows(2).position(|line| line == b"\r\n") {
        let number = std::str::from_utf8(&request[1..end]).ok().and_then(|n| n.parse().ok());
        let number: usize = number.unwrap_or(0);
        let skipped = match request[0] {
            b'*' => 0,
            _ => number + 2,
        };
        match skipped {
            0 => words = number,
            _ => words -= 1,
        }
        commands += usize::from(words == 0);
        request = request.get(end + 2 + skipped..).unwrap_or_default();
    }
    commands
}

fn replies(mut from: TcpStream, mut to: TcpStream, connection: &Connection) {
    let mut part = vec![0; 64 * 1024];
    while let Ok(bytes @ 1..) = from.read(&mut part) {
        let mut reply = part[..bytes].to_vec();
        let (mut breaks, mut then) = (None, None);
        if connection.asked.load(Ordering::SeqCst) {
            let mut trouble = lock(&connection.troubles.now);
            reply = longer(reply, trouble.more_words);
            breaks = trouble.breaks(reply.len());
            if breaks.is_some() || reply.starts_with(b"-") {
                then = trouble.then.take();
            }
        }
        if breaks.is_none() {
            then.take().into_iter().for_each(|then| then());
        }
        if to.write_all(&reply[..breaks.unwrap_or(reply.len())]).is_err() {
            break;
        }
        if breaks.is_some() {
            then.into_iter().for_each(|then| then());
            break;
        }
    }
    end(&from, &to);
}

impl Trouble {
    /// After how many of these bytes the connection ends, if it does. All replies of ours count,
    /// whatever connection they come over.
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

/// An array with this many more words.
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

/// Fails when the other side was faster.
fn end(from: &TcpStream, to: &TcpStream) {
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
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
