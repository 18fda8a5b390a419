//! A load generator of our own, for what redis-benchmark can't send: transactions, users that each
//! come once, and a steady pace. It does not take replies apart, so it is faster than the server.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::{Duration, Instant};

use crate::control::Control;
use crate::load::Rate;

/// Ends every block, so that its replies need not be taken apart.
const MARK: &[u8] = b"*1\r\n$4\r\nPING\r\n";
const MARK_REPLY: &[u8] = b"+PONG\r\n";
const READ_BYTES: usize = 256 * 1024;
const TIME_OUT: Duration = Duration::from_secs(120);

/// Appends one command as it goes over the wire.
pub fn encode(words: &[&str], out: &mut Vec<u8>) {
    out.extend_from_slice(format!("*{}\r\n", words.len()).as_bytes());
    for word in words {
        out.extend_from_slice(format!("${}\r\n{word}\r\n", word.len()).as_bytes());
    }
}

/// Commands with one number in them, twelve digits wide: written once, the number again and again.
pub struct Template {
    bytes: Vec<u8>,
    places: Vec<usize>,
}

/// What stands for the number, as in redis-benchmark.
pub const NUMBER: &str = "__rand_int__";

impl Template {
    pub fn new(commands: &[&[&str]]) -> Template {
        let mut bytes = Vec::new();
        commands.iter().for_each(|words| encode(words, &mut bytes));
        let starts = 0..bytes.len().saturating_sub(NUMBER.len() - 1);
        let places = starts.filter(|at| bytes[*at..].starts_with(NUMBER.as_bytes())).collect();
        Template { bytes, places }
    }

    /// Appends the commands for one number.
    pub fn write(&self, number: u64, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.bytes);
        for place in &self.places {
            let digits = &mut out[start + place..start + place + NUMBER.len()];
            let mut rest = number;
            for digit in digits.iter_mut().rev() {
                *digit = b'0' + (rest % 10) as u8;
                rest /= 10;
            }
        }
    }
}

/// How it is sent.
#[derive(Clone, Copy)]
pub struct Manner {
    pub connections: usize,
    pub pipeline: usize,
    /// Requests a second, as fast as it goes when `None`.
    pub pace: Option<f64>,
}

/// As the bars have it.
pub const PIPELINED: Manner = Manner { connections: 50, pipeline: 32, pace: None };

/// Sends the template for each number and waits for all replies.
///
/// # Errors
/// When a reply is an error, or the connection breaks.
pub fn send(
    port: u16,
    template: &Template,
    numbers: impl Iterator<Item = u64>,
    manner: Manner,
) -> Result<Duration, String> {
    let mut numbers = numbers.peekable();
    let mut lanes = (0..manner.connections).map(|_| Lane::open(port));
    let mut lanes = lanes.by_ref().collect::<Result<Vec<Lane>, String>>()?;
    let start = Instant::now();
    let mut sent = 0;
    while numbers.peek().is_some() {
        for lane in &mut lanes {
            lane.finish()?;
            let block = numbers.by_ref().take(manner.pipeline);
            sent += lane.start(template, block)?;
            let due = manner.pace.map(|pace| start + Duration::from_secs_f64(sent as f64 / pace));
            if let Some(wait) = due.and_then(|due| due.checked_duration_since(Instant::now())) {
                std::thread::sleep(wait);
            }
        }
    }
    lanes.iter_mut().try_for_each(Lane::finish)?;
    Ok(start.elapsed())
}

/// Sends, and says what it came to.
///
/// # Errors
/// As [`send`].
pub fn measure(
    control: &mut Control,
    template: &Template,
    numbers: impl Iterator<Item = u64>,
    manner: Manner,
) -> Result<Rate, String> {
    let before = control.moment()?;
    let mut requests = 0.0;
    let numbers = numbers.inspect(|_| requests += 1.0);
    let took = send(control.port(), template, numbers, manner)?;
    let worked = control.worked_since(before)?;
    let per_second = requests / took.as_secs_f64();
    Ok(Rate { per_second, p99_ms: None, server_seconds: worked / requests, load_seconds: None })
}

/// One connection with at most one block under way.
struct Lane {
    stream: TcpStream,
    out: Vec<u8>,
    seen: Vec<u8>,
    waits: bool,
}

impl Lane {
    fn open(port: u16) -> Result<Lane, String> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).map_err(said)?;
        stream.set_nodelay(true).map_err(said)?;
        stream.set_read_timeout(Some(TIME_OUT)).map_err(said)?;
        Ok(Lane { stream, out: Vec::new(), seen: vec![0; READ_BYTES], waits: false })
    }

    /// Sends a block, if there is one; returns how many requests it has.
    fn start(
        &mut self,
        template: &Template,
        numbers: impl Iterator<Item = u64>,
    ) -> Result<usize, String> {
        self.out.clear();
        let count = numbers.map(|number| template.write(number, &mut self.out)).count();
        if count > 0 {
            self.out.extend_from_slice(MARK);
            self.stream.write_all(&self.out).map_err(said)?;
            self.waits = true;
        }
        Ok(count)
    }

    /// Reads the replies of the block under way.
    fn finish(&mut self) -> Result<(), String> {
        let mut length = 0;
        while self.waits {
            let room = &mut self.seen[length..];
            length += match self.stream.read(room).map_err(said)? {
                0 => return Err("The server closed a connection, or a reply is too long.".into()),
                count => count,
            };
            self.waits = !self.seen[..length].ends_with(MARK_REPLY);
        }
        let seen = &self.seen[..length];
        match seen.first() == Some(&b'-') || seen.windows(3).any(|three| three == b"\r\n-") {
            true => Err(format!("An error reply: {}", String::from_utf8_lossy(first(seen)))),
            false => Ok(()),
        }
    }
}

fn first(seen: &[u8]) -> &[u8] {
    let start = seen.windows(2).position(|two| two == b"\n-").map_or(0, |at| at + 1);
    &seen[start..seen.len().min(start + 80)]
}

fn said(error: std::io::Error) -> String {
    format!("The load can't be sent: {error}")
}

/// All numbers below `count`, each once, far from their neighbours.
pub fn shuffled(count: u64) -> impl Iterator<Item = u64> {
    spread(count, count)
}

/// So many numbers below `below`, no two alike and far from their neighbours.
pub fn spread(count: u64, below: u64) -> impl Iterator<Item = u64> {
    (0..count).map(move |at| spread_at(at, below))
}

/// The number at place `at` of [`spread`].
pub fn spread_at(at: u64, below: u64) -> u64 {
    // A prime larger than any `below` in use shares no factor with it.
    const STEP: u64 = 2_654_435_761;
    at * STEP % below
}

/// Numbers below `below`, drawn with SplitMix64.
pub fn random(seed: u64, below: u64) -> impl Iterator<Item = u64> {
    let mut state = seed;
    std::iter::repeat_with(move || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % below
    })
}
