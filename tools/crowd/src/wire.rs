//! The little of RESP2 that the crowd needs: one command out, one short reply in.

use std::io::Write;

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
    /// An outcome that no sale here can have, an error, or not a reply to GRAB at all.
    Unexpected(String),
}

/// The name of a user as the server sees it.
pub fn user_name(user: u32) -> String {
    format!("user-{user:06}")
}

/// Appends `SECKILL.GRAB key user REQ id` to `out`.
pub fn write_grab(out: &mut Vec<u8>, key: &str, click: Click) {
    let request = format!("order-{}-{}", click.user, click.order);
    let words = ["SECKILL.GRAB", key, &user_name(click.user), "REQ", &request];
    write_command(out, &words);
}

/// Appends one command to `out`.
pub fn write_command(out: &mut Vec<u8>, words: &[&str]) {
    // Writing to a vector can't fail.
    let _ = write!(out, "*{}\r\n", words.len());
    for word in words {
        let _ = write!(out, "${}\r\n{word}\r\n", word.len());
    }
}

/// Reads one whole reply: its meaning and its length in bytes. `None` while bytes are missing.
pub fn read_reply(bytes: &[u8]) -> Option<(Reply, usize)> {
    let (head, mut at) = line(bytes, 0)?;
    let Some(count) = head.strip_prefix('*') else {
        return Some((Reply::Unexpected(head), at));
    };
    let mut words = Vec::with_capacity(6);
    for _ in 0..count.parse::<usize>().unwrap_or(0) {
        let (word, next) = element(bytes, at)?;
        words.push(word);
        at = next;
    }
    Some((meaning(&words).unwrap_or_else(|| Reply::Unexpected(words.join(" "))), at))
}

fn meaning(words: &[String]) -> Option<Reply> {
    let number = |i: usize| words.get(i)?.parse::<u64>().ok();
    let state = || words.get(3).cloned();
    Some(match words.first()?.as_str() {
        "GRANTED" => Reply::Granted {
            seq: number(1)?,
            qty: number(2)?,
            state: state()?,
            available: number(5)?,
        },
        "ALREADY" => Reply::Already { seq: number(1)?, qty: number(2)?, state: state()? },
        "REPLAY" => Reply::Replay { seq: number(1)?, qty: number(2)?, state: state()? },
        "SOLDOUT" => Reply::SoldOut { held: number(1)? },
        "NOTOPEN" => Reply::NotOpen { in_ms: number(1)? },
        _ => return None,
    })
}

/// One bulk string or integer as text.
fn element(bytes: &[u8], at: usize) -> Option<(String, usize)> {
    let (head, at) = line(bytes, at)?;
    match head.strip_prefix('$').and_then(|length| length.parse::<usize>().ok()) {
        Some(length) => {
            let body = bytes.get(at..at + length)?;
            bytes.get(at + length..at + length + 2)?;
            Some((String::from_utf8_lossy(body).into_owned(), at + length + 2))
        }
        None => Some((head.get(1..).unwrap_or_default().to_owned(), at)),
    }
}

/// The line that starts at `at`, without its end, and where the next one starts.
fn line(bytes: &[u8], at: usize) -> Option<(String, usize)> {
    let rest = bytes.get(at..)?;
    let length = rest.windows(2).position(|pair| pair == b"\r\n")?;
    Some((String::from_utf8_lossy(&rest[..length]).into_owned(), at + length + 2))
}
