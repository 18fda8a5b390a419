//! The crowd's protocol: writes GRAB and reads its reply.

use seckill_client::{Answer, Outcome};

use super::plan::Click;

/// Answer to one click.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    Granted {
        seq: u64,
        qty: u64,
        state: String,
        available: u64,
    },
    Already {
        seq: u64,
        qty: u64,
        state: String,
    },
    Replay {
        seq: u64,
        qty: u64,
        state: String,
    },
    SoldOut {
        held: u64,
    },
    NotOpen {
        in_ms: u64,
    },
    /// An outcome that these sales can't have, an error, or no reply to GRAB.
    Unexpected(String),
}

/// The user id that the server gets.
pub fn user_name(user: u32) -> String {
    format!("user-{user:06}")
}

/// Appends `SECKILL.GRAB key user REQ id` to `out`.
pub fn write_grab(out: &mut Vec<u8>, key: &str, click: Click) {
    let request = format!("order-{}-{}", click.user, click.order);
    let words = ["SECKILL.GRAB", key, &user_name(click.user), "REQ", &request];
    write_command(out, &words);
}

pub fn write_command(out: &mut Vec<u8>, words: &[impl AsRef<str>]) {
    let mut command = redis::Cmd::new();
    for word in words {
        command.arg(word.as_ref());
    }
    command.write_packed_command(out);
}

/// Reads one complete reply. Returns its meaning and its length in bytes, or `None` while bytes are
/// missing.
pub fn read_reply(bytes: &[u8]) -> Option<(Reply, usize)> {
    let end = reply_end(bytes)?;
    let value = redis::parse_redis_value(&bytes[..end]).ok();
    let answer = value.as_ref().and_then(Answer::read).and_then(meaning);
    let strange = || Reply::Unexpected(String::from_utf8_lossy(&bytes[..end]).trim().to_owned());
    Some((answer.unwrap_or_else(strange), end))
}

/// The end of the first reply in `bytes`; `None` while it is incomplete.
pub fn reply_end(bytes: &[u8]) -> Option<usize> {
    let line = bytes.iter().position(|byte| *byte == b'\n')? + 1;
    let number = || std::str::from_utf8(bytes.get(1..line - 2)?).ok()?.parse::<i64>().ok();
    match bytes[0] {
        b'$' => match usize::try_from(number()?) {
            Ok(len) => Some(line + len + 2).filter(|end| *end <= bytes.len()),
            Err(_) => Some(line),
        },
        b'*' => (0..number()?).try_fold(line, |at, _| Some(at + reply_end(&bytes[at..])?)),
        _ => Some(line),
    }
}

fn meaning(answer: Answer) -> Option<Reply> {
    let Answer { outcome, seq, qty, state, available, held, opens_in_ms, .. } = answer;
    let state = || state.map(|state| state.to_string());
    Some(match outcome {
        Outcome::Granted => {
            Reply::Granted { seq: seq?, qty: qty?, state: state()?, available: available? }
        }
        Outcome::Already => Reply::Already { seq: seq?, qty: qty?, state: state()? },
        Outcome::Replay => Reply::Replay { seq: seq?, qty: qty?, state: state()? },
        Outcome::SoldOut => Reply::SoldOut { held: held? },
        Outcome::NotOpen => Reply::NotOpen { in_ms: opens_in_ms? },
        _ => return None,
    })
}
