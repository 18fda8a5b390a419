//! The crowd: many real TCP connections on a few threads, each with one click in flight.

pub mod heard;
pub mod plan;
pub mod sale;
pub mod screen;
pub mod wire;

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use indicatif::ProgressBar;
use mio::{Events, Interest, Poll, Token};
use redis::{ConnectionAddr, ConnectionInfo};

use plan::{Click, Plan};
use wire::{read_reply, write_command, Reply};

/// Timeout without any answer: then the rush fails.
const PATIENCE: Duration = Duration::from_secs(30);
/// More threads would take processor time from the server under test.
const THREADS_MAX: usize = 4;
const LATENCY_DIGITS: u8 = 3;

/// The crowd's answers and times.
pub struct Experience {
    /// Every click with its answer, in no particular order.
    pub answers: Vec<(Click, Reply)>,
    /// From the first click to the last answer.
    pub took: Duration,
    /// Microseconds from sending a click to its whole answer.
    pub latency: Histogram<u64>,
}

/// A rush: the server, the command of a click, and its start and end.
pub struct Rush<'a> {
    pub server: &'a ConnectionInfo,
    /// Appends the command of a click.
    pub write: &'a (dyn Fn(&mut Vec<u8>, Click) + Sync),
    /// All connections wait for this time before the first click.
    pub from: Instant,
    /// No click is sent after this time; clicks in flight still get their answer.
    pub until: Option<Instant>,
}

impl Rush<'_> {
    fn is_over(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }
}

/// Opens all connections, starts them together and returns when every click is answered.
pub fn rush(rush: &Rush<'_>, plan: Plan, bar: &ProgressBar) -> Result<Experience, String> {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX);
    let mut shares: Vec<Vec<VecDeque<Click>>> = vec![Vec::new(); threads];
    for (i, queue) in plan.queues.into_iter().enumerate() {
        shares[i % threads].push(queue);
    }
    let gate = Barrier::new(threads);
    let results: Vec<Result<Share, String>> = thread::scope(|scope| {
        let crowd: Vec<_> = shares
            .into_iter()
            .map(|queues| scope.spawn(|| part(rush, queues, &gate, bar)))
            .collect();
        crowd.into_iter().map(|part| part.join().map_err(|_| "A thread failed.")?).collect()
    });
    gather(results)
}

/// The results of one thread.
struct Share {
    answers: Vec<(Click, Reply)>,
    latency: Histogram<u64>,
    started: Instant,
    ended: Instant,
}

fn gather(results: Vec<Result<Share, String>>) -> Result<Experience, String> {
    let mut answers = Vec::new();
    let mut latency = histogram()?;
    let mut span: Option<(Instant, Instant)> = None;
    for share in results {
        let share = share?;
        answers.extend(share.answers);
        latency.add(&share.latency).map_err(|e| e.to_string())?;
        let (from, to) = span.unwrap_or((share.started, share.ended));
        span = Some((from.min(share.started), to.max(share.ended)));
    }
    let took = span.map_or(Duration::ZERO, |(from, to)| to - from);
    Ok(Experience { answers, took, latency })
}

fn histogram() -> Result<Histogram<u64>, String> {
    let longest = PATIENCE.as_micros() as u64;
    Histogram::new_with_max(longest, LATENCY_DIGITS).map_err(|e| e.to_string())
}

/// One connection with its remaining clicks.
struct Client {
    stream: mio::net::TcpStream,
    queue: VecDeque<Click>,
    under_way: Option<(Click, Instant)>,
    out: Vec<u8>,
    sent: usize,
    input: Vec<u8>,
}

/// The part of one thread. It waits at the barrier even if its own connections failed, because the
/// other threads wait there.
fn part(
    rush: &Rush<'_>,
    queues: Vec<VecDeque<Click>>,
    gate: &Barrier,
    bar: &ProgressBar,
) -> Result<Share, String> {
    let clients = queues.into_iter().map(|queue| Client::connect(rush.server, queue));
    let clients: Result<Vec<Client>, String> = clients.collect();
    gate.wait();
    let mut clients = clients?;
    thread::sleep(rush.from.saturating_duration_since(Instant::now()));
    let failed = |e: io::Error| format!("The rush broke off: {e}");
    let mut poll = Poll::new().map_err(failed)?;
    let started = Instant::now();
    let mut waiting = 0;
    for (i, client) in clients.iter_mut().enumerate() {
        let interest = Interest::READABLE | Interest::WRITABLE;
        poll.registry().register(&mut client.stream, Token(i), interest).map_err(failed)?;
        waiting += usize::from(client.click(rush).map_err(failed)?);
    }
    let mut share = Share { answers: Vec::new(), latency: histogram()?, started, ended: started };
    let mut events = Events::with_capacity(1024);
    while waiting > 0 {
        poll.poll(&mut events, Some(PATIENCE)).map_err(failed)?;
        if events.is_empty() {
            return Err(format!("No answer for {} seconds.", PATIENCE.as_secs()));
        }
        let before = share.answers.len();
        for event in &events {
            let Some(client) = clients.get_mut(event.token().0) else { continue };
            let was_busy = client.under_way.is_some();
            client.serve(rush, &mut share).map_err(failed)?;
            waiting -= usize::from(was_busy && client.under_way.is_none());
        }
        bar.inc((share.answers.len() - before) as u64);
    }
    share.ended = Instant::now();
    Ok(share)
}

impl Client {
    fn connect(server: &ConnectionInfo, queue: VecDeque<Click>) -> Result<Client, String> {
        let stream = open(server).map_err(|e| format!("A connection failed: {e}"))?;
        let stream = mio::net::TcpStream::from_std(stream);
        Ok(Client { stream, queue, under_way: None, out: Vec::new(), sent: 0, input: Vec::new() })
    }

    /// Sends the next click; `false` if none is left.
    fn click(&mut self, rush: &Rush<'_>) -> io::Result<bool> {
        let Some(click) = self.queue.pop_front().filter(|_| !rush.is_over()) else {
            self.under_way = None;
            return Ok(false);
        };
        self.out.clear();
        self.sent = 0;
        (rush.write)(&mut self.out, click);
        self.under_way = Some((click, Instant::now()));
        self.flush()?;
        Ok(true)
    }

    fn flush(&mut self) -> io::Result<()> {
        while self.sent < self.out.len() {
            match self.stream.write(&self.out[self.sent..]) {
                Ok(bytes) => self.sent += bytes,
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Reads until the answer is complete, records it and sends the next click. Then the next
    /// connection is served, even if this one's answer arrives at once. So every connection really
    /// has a click in flight.
    fn serve(&mut self, rush: &Rush<'_>, share: &mut Share) -> io::Result<()> {
        self.flush()?;
        let mut part = [0; 1024];
        loop {
            match self.stream.read(&mut part) {
                Ok(0) => return Err(io::Error::other("the server closed a connection")),
                Ok(bytes) => self.input.extend_from_slice(&part[..bytes]),
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(e) => return Err(e),
            }
            if let Some((reply, length)) = read_reply(&self.input) {
                self.input.drain(..length);
                let Some((click, sent_at)) = self.under_way.take() else {
                    return Err(io::Error::other("the server answered without being asked"));
                };
                share.latency.saturating_record(sent_at.elapsed().as_micros() as u64);
                share.answers.push((click, reply));
                self.click(rush)?;
                return Ok(());
            }
        }
    }
}

/// Connects, logs in, and waits until the server has accepted the connection.
fn open(server: &ConnectionInfo) -> io::Result<TcpStream> {
    let ConnectionAddr::Tcp(host, port) = server.addr() else {
        return Err(io::Error::other("only redis://host:port is supported here"));
    };
    let address = (host.as_str(), *port).to_socket_addrs()?.next();
    let address = address.ok_or_else(|| io::Error::other("this host has no address"))?;
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let settings = server.redis_settings();
    match (settings.username(), settings.password()) {
        (Some(user), Some(password)) => ask(&mut stream, &["AUTH", user, password])?,
        (None, Some(password)) => ask(&mut stream, &["AUTH", password])?,
        _ => {}
    }
    if settings.db() != 0 {
        ask(&mut stream, &["SELECT", &settings.db().to_string()])?;
    }
    ask(&mut stream, &["PING"])?;
    stream.set_nonblocking(true)?;
    Ok(stream)
}

/// Sends one command before the rush; any reply but a simple string is an error.
fn ask(stream: &mut TcpStream, words: &[&str]) -> io::Result<()> {
    let mut out = Vec::new();
    write_command(&mut out, words);
    stream.write_all(&out)?;
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n") {
        let mut byte = [0; 1];
        stream.read_exact(&mut byte)?;
        answer.push(byte[0]);
    }
    if answer.first() == Some(&b'+') {
        return Ok(());
    }
    Err(io::Error::other(String::from_utf8_lossy(&answer).trim().to_owned()))
}
