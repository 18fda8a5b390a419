//! Load at a steady rate, one request at a time on each of many connections. redis-benchmark sends
//! the next request when it has read a reply, so with many connections its latencies say how fast
//! it is itself; here requests come when they come, as buyers do, and a latency is counted from the
//! moment that a request was due, also when it had to wait for its turn.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};

use crate::control::Control;
use crate::figures::{Figures, Spread, BUSY, P50_MS, P999_MS, P99_MS, SERVER_US, TYPICAL_P99_MS};
use crate::sender::{self, Template};

const EVENTS: usize = 1_024;
const READ_BYTES: usize = 4_096;
const DEADLINE: Duration = Duration::from_secs(60);
/// Requests of a window. A machine that others share stands still for some milliseconds now and
/// then, whatever runs on it; most windows see nothing of that.
const WINDOW: usize = 2_000;
/// Requests of each connection that are not counted: while a server meets its clients, everything
/// waits.
const WARM_UP: u64 = 5;

/// How much is sent, and how fast.
#[derive(Clone, Copy)]
pub struct Steady {
    pub connections: u64,
    pub requests: u64,
    /// Requests a second, at random moments.
    pub per_second: f64,
}

/// What it came to.
pub struct Latencies {
    /// In the order of the replies.
    all_ms: Vec<f64>,
    server_seconds: f64,
    took: Duration,
    requests: u64,
}

impl Latencies {
    pub fn note(&self, figures: &mut Figures, case: &str, who: &str) {
        for (unit, part) in [(P50_MS, 0.5), (P99_MS, 0.99), (P999_MS, 0.999)] {
            figures.add(case, who, unit, quantile(&self.all_ms, part));
        }
        let windows = self.all_ms.chunks_exact(WINDOW).map(|window| quantile(window, 0.99));
        if let Some(typical) = Spread::of(windows) {
            figures.add(case, who, TYPICAL_P99_MS, typical.median);
        }
        figures.add(case, who, SERVER_US, self.server_seconds * 1e6 / self.requests as f64);
        figures.add(case, who, BUSY, self.server_seconds / self.took.as_secs_f64());
    }
}

/// What so large a part of the values does not exceed.
fn quantile(values: &[f64], part: f64) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let place = (values.len() as f64 * part).ceil() as usize;
    values.get(place.saturating_sub(1)).copied().unwrap_or_default()
}

/// Moments at which requests are due: random ones, `per_second` on the average.
fn moments(seed: u64, per_second: f64) -> impl Iterator<Item = Duration> {
    const PARTS: u64 = 1 << 53;
    let mut at = 0.0;
    sender::random(seed, PARTS).map(move |number| {
        at -= ((number + 1) as f64 / PARTS as f64).ln() / per_second;
        Duration::from_secs_f64(at)
    })
}

impl Steady {
    /// Sends the template with one of `numbers` again and again.
    ///
    /// # Errors
    /// When a reply is an error, a connection breaks, or the server can't keep up at all.
    pub fn run(
        self,
        control: &mut Control,
        template: &Template,
        numbers: impl Iterator<Item = u64>,
        seed: u64,
    ) -> Result<Latencies, String> {
        let mut crowd = Crowd::open(control.port(), self.connections)?;
        let all = self.requests + WARM_UP * self.connections;
        let mut due = moments(seed, self.per_second).zip(numbers).take(all as usize).peekable();
        let before = control.moment()?;
        let start = Instant::now();
        let (mut sent, mut warm) = (0, Duration::ZERO);
        while crowd.answered < all {
            let now = start.elapsed();
            while let Some((moment, number)) = due.next_if(|(moment, _)| *moment <= now) {
                if sent == WARM_UP * self.connections {
                    warm = moment;
                }
                crowd.ask(sent % self.connections, start + moment, template, number)?;
                sent += 1;
            }
            crowd.take_replies(start + warm)?;
            if now > DEADLINE {
                return Err(format!("{} of {all} were answered in {DEADLINE:?}", crowd.answered));
            }
        }
        let took = start.elapsed();
        let server_seconds = control.worked_since(before)?;
        Ok(Latencies { all_ms: crowd.all_ms, server_seconds, took, requests: all })
    }
}

/// A connection, with what waits for its turn there; the first is under way.
struct Lane {
    stream: TcpStream,
    waiting: VecDeque<(Instant, Vec<u8>)>,
}

struct Crowd {
    lanes: Vec<Lane>,
    poll: Poll,
    events: Events,
    all_ms: Vec<f64>,
    answered: u64,
}

impl Crowd {
    fn open(port: u16, connections: u64) -> Result<Crowd, String> {
        let poll = Poll::new().map_err(said)?;
        let mut lanes = Vec::new();
        for at in 0..connections {
            let stream = std::net::TcpStream::connect((Ipv4Addr::LOCALHOST, port)).map_err(said)?;
            stream.set_nodelay(true).map_err(said)?;
            stream.set_nonblocking(true).map_err(said)?;
            let mut stream = TcpStream::from_std(stream);
            let registered =
                poll.registry().register(&mut stream, Token(at as usize), Interest::READABLE);
            registered.map_err(said)?;
            lanes.push(Lane { stream, waiting: VecDeque::new() });
        }
        let events = Events::with_capacity(EVENTS);
        Ok(Crowd { lanes, poll, events, all_ms: Vec::new(), answered: 0 })
    }

    /// Sends a request, or lets it wait for the one before it.
    fn ask(
        &mut self,
        lane: u64,
        due: Instant,
        template: &Template,
        number: u64,
    ) -> Result<(), String> {
        let lane = &mut self.lanes[lane as usize];
        let mut bytes = Vec::new();
        template.write(number, &mut bytes);
        lane.waiting.push_back((due, bytes));
        match lane.waiting.len() {
            1 => lane.send(),
            _ => Ok(()),
        }
    }

    /// Reads what has come; latencies of what was due since `from` are kept.
    fn take_replies(&mut self, from: Instant) -> Result<(), String> {
        // Never asleep: to be woken takes longer than what is measured.
        self.poll.poll(&mut self.events, Some(Duration::ZERO)).map_err(said)?;
        for event in &self.events {
            let lane = &mut self.lanes[event.token().0];
            if !lane.read()? {
                continue;
            }
            if let Some((due, _)) = lane.waiting.pop_front() {
                self.answered += 1;
                if due >= from {
                    self.all_ms.push(due.elapsed().as_secs_f64() * 1e3);
                }
            }
            lane.send()?;
        }
        Ok(())
    }
}

impl Lane {
    /// Sends what is next, if anything is.
    fn send(&mut self) -> Result<(), String> {
        match self.waiting.front() {
            Some((_, bytes)) => self.stream.write_all(bytes).map_err(said),
            None => Ok(()),
        }
    }

    /// Whether a reply has come. The server writes one in one piece, so it comes in one.
    fn read(&mut self) -> Result<bool, String> {
        let mut seen = [0; READ_BYTES];
        let count = match self.stream.read(&mut seen) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            other => other.map_err(said)?,
        };
        match &seen[..count] {
            [b'-', ..] => {
                Err(format!("An error reply: {}", String::from_utf8_lossy(&seen[..count])))
            }
            seen if seen.ends_with(b"\r\n") => Ok(true),
            _ => Err("The server closed a connection, or a reply came in pieces.".into()),
        }
    }
}

fn said(error: std::io::Error) -> String {
    format!("The load can't be sent: {error}")
}
