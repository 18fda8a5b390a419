//! Sends commands to a server and reads their replies.

use std::time::Duration;

use redis::{Client, Cmd, Connection, RedisResult, Value};
use seckill_client::{MultiAnswer, Outcome};

use crate::history::{Answer, Grant};

/// Temporary errors: the server loads, is a replica now, has no replica in sync, or can't write to
/// its disk.
const PASSING: [&str; 6] =
    ["LOADING", "READONLY", "NOREPLICAS", "MASTERDOWN", "MISCONF", "UNBLOCKED"];

/// Calls that a server with full memory refuses, because they would need more memory permanently.
/// All other calls still work.
const TAKES_MEMORY: [&str; 4] =
    ["SECKILL.GRAB", "SECKILL.MGRAB", "SECKILL.IMPORT", "SECKILL.RESTOCK"];

/// How long an answer may wait for a replica to have its change.
pub const WAIT_MS: u64 = 400;

/// The way of a call to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// A client sends it.
    Direct,
    /// Another module in the server calls it in one of its commands.
    Module,
    /// Another module calls it from its own thread.
    Thread,
}

pub enum Reply {
    /// One answer for each sale in the call.
    Answers(Vec<Answer>),
    /// The server refused the call for now and did nothing.
    NotNow,
    /// The outcome is unknown: the connection broke, or no reply came in time.
    Silence,
}

/// Connects to a loopback port. `patience` is the timeout for connecting and for each call.
pub fn connect(port: u16, patience: Duration) -> RedisResult<Connection> {
    let client = Client::open(format!("redis://127.0.0.1:{port}/"))?;
    let connection = client.get_connection_with_timeout(patience)?;
    connection.set_read_timeout(Some(patience))?;
    connection.set_write_timeout(Some(patience))?;
    Ok(connection)
}

pub fn command<'a>(words: impl IntoIterator<Item = &'a str>) -> Cmd {
    let mut command = Cmd::new();
    for word in words {
        command.arg(word);
    }
    command
}

/// Sends a client's call for this many sales and waits for the reply.
pub fn ask(connection: &mut Connection, way: Way, line: &str, sales: usize) -> Reply {
    let strange = |text: String| Reply::Answers(vec![Answer::Strange(text); sales]);
    let before = match way {
        Way::Direct => "",
        Way::Module => "OTHER.CALL ",
        Way::Thread => "OTHER.THREAD ",
    };
    match command(before.split_terminator(' ').chain(line.split(' '))).query::<Value>(connection) {
        Ok(value) => {
            let answers = match sales {
                1 => read(&value).map(|answer| vec![answer]),
                _ => read_several(&value, sales),
            };
            answers.map_or_else(|| strange(format!("{value:?}")), Reply::Answers)
        }
        Err(error) => match error.code() {
            // The client was unblocked, but the thread may still make the call.
            Some("UNBLOCKED") if way == Way::Thread => Reply::Silence,
            // While writes are paused, clients wait and other modules are refused.
            Some("TRYAGAIN") if way != Way::Direct => Reply::NotNow,
            Some(code) if PASSING.contains(&code) => Reply::NotNow,
            Some("OOM") if TAKES_MEMORY.iter().any(|name| line.contains(name)) => Reply::NotNow,
            Some(_) => strange(error.to_string()),
            // The reply was incomplete or did not come in time.
            None => Reply::Silence,
        },
    }
}

/// The reply of MGRAB: a grant for each sale, or the refusing sale and its refusal.
fn read_several(value: &Value, sales: usize) -> Option<Vec<Answer>> {
    let told = MultiAnswer::read(value)?;
    if let Some((index, refusal)) = told.refusal {
        let mut answers = vec![Answer::Elsewhere; sales];
        *answers.get_mut(index)? = heard(refusal)?;
        return Some(answers);
    }
    let grants = told.grants.into_iter().map(heard).collect::<Option<Vec<_>>>();
    grants.filter(|grants| grants.len() == sales)
}

pub fn read(value: &Value) -> Option<Answer> {
    match value {
        Value::Okay => Some(Answer::Done),
        Value::Array(items) => match items.as_slice() {
            [Value::Int(applied), Value::Int(available), ..] => Some(Answer::Restocked {
                applied: *applied,
                available: u64::try_from(*available).ok()?,
            }),
            [Value::BulkString(word), ..] if word == b"NONE" => Some(Answer::Nowhere),
            _ => heard(seckill_client::Answer::read(value)?),
        },
        _ => None,
    }
}

fn heard(told: seckill_client::Answer) -> Option<Answer> {
    let grant = || {
        let (seq, qty, state, deadline) = (told.seq?, told.qty?, told.state?, told.deadline_ms?);
        Some(Grant { seq, qty, state, deadline })
    };
    Some(match told.outcome {
        Outcome::Granted => {
            let (grant, available) = (grant()?, told.available?);
            Answer::Granted { grant, available, units: told.units.unwrap_or_default() }
        }
        Outcome::Replay => Answer::Replay(grant()?),
        Outcome::Already => Answer::Already(grant()?),
        Outcome::SoldOut => Answer::SoldOut { held: told.held? },
        Outcome::Short => Answer::Short { available: told.available? },
        Outcome::OverLimit => Answer::OverLimit,
        Outcome::Waiting => Answer::Waiting { ticket: told.ticket?, ahead: told.ahead? },
        Outcome::Taken => Answer::Taken { unit: told.unit? },
        Outcome::Busy => Answer::Busy,
        Outcome::Paused => Answer::Paused,
        Outcome::NotOpen => Answer::NotOpen,
        // No sale of these tests closes for good or denies users.
        Outcome::Closed | Outcome::Denied => return None,
        _ => Answer::Stands(grant()?),
    })
}
