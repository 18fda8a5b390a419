//! Did the sale do what it promised? The replies are held against each other and against what the
//! server itself says.

use std::collections::HashMap;

use serde_json::Value;

use crate::plan::Click;
use crate::wire::{user_name, Reply};

/// One row of the server's own list of winners.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Winner {
    pub seq: u64,
    pub user: String,
    pub qty: u64,
    pub state: String,
}

/// What the server says after the rush.
pub struct ServerSide {
    pub winners: Vec<Winner>,
    pub status: Value,
    pub audit_ok: bool,
    pub audit: String,
}

/// How often each kind of answer was heard.
#[derive(Clone, Copy, Debug, Default)]
pub struct Heard {
    pub granted: u64,
    pub already: u64,
    pub replayed: u64,
    pub soldout: u64,
    pub unexpected: u64,
}

impl Heard {
    /// Counts all answers.
    pub fn count(answers: &[(Click, Reply)]) -> Heard {
        let mut heard = Heard::default();
        for (_, reply) in answers {
            *match reply {
                Reply::Granted { .. } => &mut heard.granted,
                Reply::Already { .. } => &mut heard.already,
                Reply::Replay { .. } => &mut heard.replayed,
                Reply::SoldOut { .. } => &mut heard.soldout,
                Reply::Unexpected(_) => &mut heard.unexpected,
            } += 1;
        }
        heard
    }
}

/// Holds everything against everything.
///
/// # Errors
/// The first thing that is wrong, as a sentence.
pub fn check(
    answers: &[(Click, Reply)],
    server: &ServerSide,
    stock: u64,
    users: u64,
) -> Result<(), String> {
    let heard = Heard::count(answers);
    unexpected(answers)?;
    let owners = owners(answers, stock, stock.min(users))?;
    repeats(answers, &owners)?;
    winners(&server.winners, &owners)?;
    status(&server.status, &heard, stock)?;
    if server.audit_ok {
        Ok(())
    } else {
        Err(format!("AUDIT found a difference: {}", server.audit))
    }
}

fn unexpected(answers: &[(Click, Reply)]) -> Result<(), String> {
    let strange = answers.iter().find_map(|(_, reply)| match reply {
        Reply::Unexpected(text) => Some(text),
        _ => None,
    });
    strange.map_or(Ok(()), |text| Err(format!("The server gave an unexpected answer: {text}")))
}

/// Who was told GRANTED: each user once, with one unit, and every seq from 1 on exactly once.
fn owners(
    answers: &[(Click, Reply)],
    stock: u64,
    expected: u64,
) -> Result<HashMap<u32, u64>, String> {
    let mut owners = HashMap::new();
    let mut seqs = Vec::new();
    for (click, reply) in answers {
        let Reply::Granted { seq, qty, state, available } = reply else { continue };
        let name = user_name(click.user);
        if *qty != 1 || state != "SOLD" {
            return Err(format!("{name} was granted {qty} units, {state}, instead of 1, SOLD."));
        }
        if *available != stock.saturating_sub(*seq) {
            return Err(format!("After grant {seq} of {stock} there were {available} left."));
        }
        if owners.insert(click.user, *seq).is_some() {
            return Err(format!("{name} was granted twice."));
        }
        seqs.push(*seq);
    }
    seqs.sort_unstable();
    if seqs.len() as u64 != expected {
        return Err(format!("{} users were granted a unit instead of {expected}.", seqs.len()));
    }
    if seqs.iter().zip(1..).any(|(seq, wanted)| *seq != wanted) {
        return Err(format!("The grants are not numbered 1 to {expected}."));
    }
    Ok(owners)
}

/// A winner who asks again learns that he won, and which grant is his; nobody else is told so.
fn repeats(answers: &[(Click, Reply)], owners: &HashMap<u32, u64>) -> Result<(), String> {
    for (click, reply) in answers {
        let owned = owners.get(&click.user);
        let name = user_name(click.user);
        match reply {
            Reply::Already { seq, qty: 1, state } | Reply::Replay { seq, qty: 1, state }
                if state == "SOLD" && owned == Some(seq) => {}
            Reply::Already { .. } | Reply::Replay { .. } => {
                return Err(format!("{name} was told of a grant that is not his: {reply:?}."));
            }
            Reply::SoldOut { .. } if owned.is_some() => {
                return Err(format!("{name} holds a unit and was told SOLDOUT."));
            }
            Reply::SoldOut { held } if *held != 0 => {
                return Err(format!("{name} was told that {held} units are held."));
            }
            _ => {}
        }
    }
    Ok(())
}

/// The server's list names the same users with the same seqs, and nobody else.
fn winners(listed: &[Winner], owners: &HashMap<u32, u64>) -> Result<(), String> {
    if listed.len() != owners.len() {
        let (rows, heard) = (listed.len(), owners.len());
        return Err(format!("WINNERS lists {rows} grants, the replies said {heard}."));
    }
    let mut rows: Vec<(u64, String)> =
        owners.iter().map(|(user, seq)| (*seq, user_name(*user))).collect();
    rows.sort_unstable();
    for (row, (seq, user)) in listed.iter().zip(rows) {
        let told = Winner { seq, user, qty: 1, state: "SOLD".into() };
        if *row != told {
            return Err(format!("WINNERS says {row:?}, the reply said {told:?}."));
        }
    }
    Ok(())
}

/// The counters tell every click, and the stock is where the grants say.
fn status(status: &Value, heard: &Heard, stock: u64) -> Result<(), String> {
    let clicks = heard.granted + heard.already + heard.replayed + heard.soldout + heard.unexpected;
    let expected = [
        ("/supply", stock),
        ("/available", stock - heard.granted),
        ("/held", 0),
        ("/sold", heard.granted),
        ("/winners", heard.granted),
        ("/grants", heard.granted),
        ("/counters/attempts", clicks),
        ("/counters/granted", heard.granted),
        ("/counters/already", heard.already),
        ("/counters/replayed", heard.replayed),
        ("/counters/soldout", heard.soldout),
    ];
    for (path, wanted) in expected {
        if status.pointer(path).and_then(Value::as_u64) != Some(wanted) {
            let shown = status.pointer(path).map_or("nothing".into(), Value::to_string);
            return Err(format!("STATUS says {shown} for {path}, the replies say {wanted}."));
        }
    }
    Ok(())
}
