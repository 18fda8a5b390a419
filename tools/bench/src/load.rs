//! The load: commands that contain a number, over several connections, with a pipeline. Each number
//! is used once. Each reply is checked, so that only the intended outcome is measured.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::ops::Range;
use std::time::{Duration, Instant};

use seckill_crowd::wire::{reply_end, write_command};
use seckill_random::Random;

/// Largest number of users; numbers of a load are smaller.
pub const USERS: u64 = 100_000_000;
/// The placeholder for the number, which has twelve digits.
pub const NUMBER: &str = "000number000";
/// The placeholder for a number without a leading zero, such as a unit's number: a 1 and five
/// digits.
pub const UNIT: &str = "1unit0";
/// Bound of numbers in a load with a [`UNIT`]; unit numbers are below twice this bound.
pub const UNITS: u64 = 100_000;
const READ_BYTES: usize = 64 * 1024;
const TIME_OUT: Duration = Duration::from_secs(120);

/// A request of one or several commands, encoded once. Each use inserts another number.
pub struct Request {
    bytes: Vec<u8>,
    /// Positions of the digits.
    places: Vec<Range<usize>>,
    /// Number of replies, and the first bytes of the last reply.
    replies: usize,
    expected: &'static str,
}

impl Request {
    /// One command; its reply must begin with `expected`.
    pub fn new<W: AsRef<str>>(words: &[W], expected: &'static str) -> Request {
        Request::of(&[words], expected)
    }

    /// Several commands in one write.
    pub fn of<W: AsRef<str>>(commands: &[&[W]], expected: &'static str) -> Request {
        let mut bytes = Vec::new();
        for words in commands {
            write_command(&mut bytes, words);
        }
        let place = |at: usize| {
            let is_here = |word: &str| bytes[at..].starts_with(word.as_bytes());
            let number = is_here(NUMBER).then(|| at..at + NUMBER.len());
            number.or_else(|| is_here(UNIT).then(|| at + 1..at + UNIT.len()))
        };
        let places = (0..bytes.len()).filter_map(place).collect();
        Request { bytes, places, replies: commands.len(), expected }
    }

    /// Appends the request with this number.
    fn write(&self, number: u64, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.bytes);
        for place in &self.places {
            let digits = &mut out[start..][place.clone()];
            let mut rest = number;
            for digit in digits.iter_mut().rev() {
                *digit = b'0' + (rest % 10) as u8;
                rest /= 10;
            }
        }
    }
}

#[derive(Clone, Copy)]
pub struct Manner {
    pub connections: usize,
    pub pipeline: usize,
}

/// The manner of most cases.
pub const PIPELINED: Manner = Manner { connections: 50, pipeline: 32 };

/// Sends the request with each number and waits for all replies.
pub fn send(
    port: u16,
    request: &Request,
    numbers: impl Iterator<Item = u64>,
    manner: Manner,
) -> Result<Duration, String> {
    let mut numbers = numbers.peekable();
    let lanes = (0..manner.connections).map(|_| Lane::open(port));
    let mut lanes = lanes.collect::<Result<Vec<Lane>, String>>()?;
    let start = Instant::now();
    while numbers.peek().is_some() {
        for lane in &mut lanes {
            lane.finish(request)?;
            lane.start(request, numbers.by_ref().take(manner.pipeline))?;
        }
    }
    lanes.iter_mut().try_for_each(|lane| lane.finish(request))?;
    Ok(start.elapsed())
}

/// One connection with at most one block in flight.
struct Lane {
    stream: TcpStream,
    out: Vec<u8>,
    seen: Vec<u8>,
    /// Replies of the block that are still missing.
    waits_for: usize,
}

impl Lane {
    fn open(port: u16) -> Result<Lane, String> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).map_err(said)?;
        stream.set_nodelay(true).map_err(said)?;
        stream.set_read_timeout(Some(TIME_OUT)).map_err(said)?;
        Ok(Lane { stream, out: Vec::new(), seen: Vec::new(), waits_for: 0 })
    }

    /// Sends the next block, if any.
    fn start(
        &mut self,
        request: &Request,
        numbers: impl Iterator<Item = u64>,
    ) -> Result<(), String> {
        self.out.clear();
        self.waits_for = numbers.map(|number| request.write(number, &mut self.out)).count();
        if self.waits_for > 0 {
            self.stream.write_all(&self.out).map_err(said)?;
        }
        Ok(())
    }

    /// Reads the replies of the block in flight.
    fn finish(&mut self, request: &Request) -> Result<(), String> {
        let (mut length, mut place, mut replies) = (0, 0, 0);
        while replies < self.waits_for * request.replies {
            self.seen.resize(length + READ_BYTES, 0);
            length += match self.stream.read(&mut self.seen[length..]).map_err(said)? {
                0 => return Err("The server closed a connection.".into()),
                count => count,
            };
            while let Some(end) = reply_end(&self.seen[place..length]) {
                let reply = &self.seen[place..place + end];
                place += end;
                replies += 1;
                let is_last = replies % request.replies == 0;
                if reply[0] == b'-' || (is_last && !reply.starts_with(request.expected.as_bytes()))
                {
                    let reply = String::from_utf8_lossy(&reply[..reply.len().min(80)]);
                    return Err(format!("Not {:?} but {reply:?}", request.expected));
                }
            }
        }
        self.waits_for = 0;
        Ok(())
    }
}

fn said(error: std::io::Error) -> String {
    format!("The load can't be sent: {error}")
}

/// A template such as `user:000number000`, with this number.
pub fn numbered(template: &str, number: u64) -> String {
    template.replace(NUMBER, &format!("{number:012}"))
}

/// `count` different numbers below `below`; neighbours are far apart.
pub fn spread(count: u64, below: u64) -> impl Iterator<Item = u64> {
    // A prime larger than any `below` in use, so it shares no factor with `below`.
    const STEP: u64 = 2_654_435_761;
    (0..count).map(move |at| at * STEP % below)
}

/// Pseudo-random numbers below `below`.
pub fn random(seed: u64, below: u64) -> impl Iterator<Item = u64> {
    let mut random = Random(seed);
    std::iter::repeat_with(move || random.below(below))
}
