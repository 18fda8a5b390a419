//! Asking the server, and reading what it says.

use std::time::Duration;

use redis::{Client, Cmd, Connection, Value};

use crate::history::{Answer, State};

/// Errors that pass: the server loads, is a replica now, has none near, or can't write to its disk.
const PASSING: [&str; 6] =
    ["LOADING", "READONLY", "NOREPLICAS", "MASTERDOWN", "MISCONF", "UNBLOCKED"];

/// How a call gets to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// A client asks.
    Direct,
    /// Another module in the server calls it in a command of its own.
    Module,
    /// Another module calls it from a thread of its own.
    Thread,
}

impl Way {
    /// What stands before the call.
    pub fn word(self) -> &'static str {
        match self {
            Way::Direct => "",
            Way::Module => "OTHER.CALL ",
            Way::Thread => "OTHER.THREAD ",
        }
    }
}

/// What became of a call.
pub enum Reply {
    /// One for each sale that was asked.
    Answers(Vec<Answer>),
    /// The server can't do it now, and has not.
    NotNow,
    /// Nobody knows: the connection broke or the reply did not come in time.
    Silence,
}

/// Connects to a port of this machine. Neither connecting nor a call takes longer than `patience`.
pub fn connect(port: u16, patience: Duration) -> Option<Connection> {
    let client = Client::open(format!("redis://127.0.0.1:{port}/")).ok()?;
    let connection = client.get_connection_with_timeout(patience).ok()?;
    connection.set_read_timeout(Some(patience)).ok()?;
    connection.set_write_timeout(Some(patience)).ok()?;
    Some(connection)
}

/// A command from its words.
pub fn command<'a>(words: impl IntoIterator<Item = &'a str>) -> Cmd {
    let mut command = Cmd::new();
    for word in words {
        command.arg(word);
    }
    command
}

/// Sends a client's call of so many sales and waits for the reply.
pub fn ask(connection: &mut Connection, way: Way, line: &str, sales: usize) -> Reply {
    let strange = |text: String| Reply::Answers(vec![Answer::Strange(text); sales]);
    let line = format!("{}{line}", way.word());
    match command(line.split(' ')).query::<Value>(connection) {
        Ok(value) => {
            let answers = match sales {
                1 => read(&value).map(|answer| vec![answer]),
                _ => read_several(&value, sales),
            };
            answers.map_or_else(|| strange(format!("{value:?}")), Reply::Answers)
        }
        Err(error) => match error.code() {
            // The client was sent away from the thread, which may have made the call.
            Some("UNBLOCKED") if way == Way::Thread => Reply::Silence,
            // While writes are paused clients wait, and other modules are refused.
            Some("TRYAGAIN") if way != Way::Direct => Reply::NotNow,
            Some(code) if PASSING.contains(&code) => Reply::NotNow,
            Some(_) => strange(error.to_string()),
            // A reply that broke off, or none in time.
            None => Reply::Silence,
        },
    }
}

/// What MGRAB says: a row for each sale, or which of them refuses and what it says.
fn read_several(value: &Value, sales: usize) -> Option<Vec<Answer>> {
    let Value::Array(items) = value else { return None };
    let (outcome, rows) = items.split_first()?;
    if let (true, [Value::Int(index), refusal]) = (is_word(outcome, "REFUSED"), rows) {
        let mut answers = vec![Answer::Elsewhere; sales];
        *answers.get_mut(usize::try_from(*index).ok()?)? = read(refusal)?;
        return Some(answers);
    }
    // Each row is what GRAB would say behind the word.
    let with_word = |row: &Value| match row {
        Value::Array(cells) => read(&Value::Array([&[outcome.clone()][..], cells].concat())),
        _ => None,
    };
    rows.iter().map(with_word).collect::<Option<Vec<_>>>().filter(|rows| rows.len() == sales)
}

fn is_word(value: &Value, word: &str) -> bool {
    matches!(value, Value::BulkString(bytes) if bytes == word.as_bytes())
}

fn read(value: &Value) -> Option<Answer> {
    let Value::Array(items) = value else {
        return matches!(value, Value::Okay).then_some(Answer::Done);
    };
    let number = |at: usize| match items.get(at) {
        Some(Value::Int(number)) => u64::try_from(*number).ok(),
        _ => None,
    };
    let word = |at: usize| match items.get(at) {
        Some(Value::BulkString(bytes)) => String::from_utf8(bytes.clone()).ok(),
        _ => None,
    };
    if let Some(Value::Int(applied)) = items.first() {
        return Some(Answer::Restocked { applied: *applied, available: number(1)? });
    }
    let state = |at| State::read(&word(at)?);
    Some(match word(0)?.as_str() {
        "GRANTED" => Answer::Granted {
            seq: number(1)?,
            qty: number(2)?,
            state: state(3)?,
            deadline: number(4)?,
            available: number(5)?,
        },
        "REPLAY" => Answer::Replay { seq: number(1)?, state: state(3)?, deadline: number(4)? },
        "ALREADY" => Answer::Already { seq: number(1)?, state: state(3)?, deadline: number(4)? },
        "SOLDOUT" => Answer::SoldOut { held: number(1)? },
        "SHORT" => Answer::Short { available: number(1)? },
        "OVERLIMIT" => Answer::OverLimit,
        "WAITING" => Answer::Waiting { ticket: number(1)?, ahead: number(2)? },
        "NONE" => Answer::Nowhere,
        "BUSY" => Answer::Busy,
        "PAUSED" => Answer::Paused,
        "NOTOPEN" => Answer::NotOpen,
        _ => Answer::Stands { seq: number(1)?, state: state(0)?, deadline: number(3)? },
    })
}
