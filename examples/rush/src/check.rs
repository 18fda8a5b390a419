//! Checks that the sale kept its promises: compares the replies with each other and with the
//! server's data.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use seckill_crowd::heard::Heard;
use seckill_crowd::plan::Click;
use seckill_crowd::sale::{compare, Audit, Winner};
use seckill_crowd::wire::{user_name, Reply};

/// The server's numbers after the rush.
pub struct ServerSide {
    pub winners: Vec<Winner>,
    pub status: Value,
    pub audit: Audit,
}

/// Compares all data.
///
/// # Errors
/// A message about the first difference.
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
    server.audit.check()
}

fn unexpected(answers: &[(Click, Reply)]) -> Result<(), String> {
    let strange = answers.iter().find_map(|(_, reply)| match reply {
        Reply::Unexpected(text) => Some(text.clone()),
        Reply::NotOpen { in_ms } => Some(format!("NOTOPEN {in_ms}")),
        _ => None,
    });
    strange.map_or(Ok(()), |text| Err(format!("The server gave an unexpected answer: {text}")))
}

/// Checks the users with GRANTED: each once, with one unit, and every seq from 1 on exactly once.
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

/// Checks that repeated calls of winners get their own grant, and other users none.
fn repeats(answers: &[(Click, Reply)], owners: &HashMap<u32, u64>) -> Result<(), String> {
    let granted = answers.iter().filter(|(_, reply)| matches!(reply, Reply::Granted { .. }));
    let orders: HashSet<_> = granted.map(|(click, _)| (click.user, click.order)).collect();
    for (click, reply) in answers {
        let owned = owners.get(&click.user);
        let name = user_name(click.user);
        match reply {
            Reply::Already { .. } if orders.contains(&(click.user, click.order)) => {
                return Err(format!("{name} sent a granted order again and was told ALREADY."));
            }
            Reply::Already { seq, qty: 1, state } | Reply::Replay { seq, qty: 1, state }
                if state == "SOLD" && owned == Some(seq) => {}
            Reply::Already { .. } | Reply::Replay { .. } => {
                return Err(format!("{name} was told of a grant that is not theirs: {reply:?}."));
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

/// Checks that WINNERS has exactly these users with these seqs.
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

/// Compares STATUS with the replies: one counted answer for each click, and the units of the grants
/// in each state.
fn status(status: &Value, heard: &Heard, stock: u64) -> Result<(), String> {
    let expected = [
        ("/supply", stock),
        ("/available", stock - heard.granted),
        ("/held", 0),
        ("/sold", heard.granted),
        ("/winners", heard.granted),
        ("/grants", heard.granted),
        ("/counters/attempts", heard.all()),
        ("/counters/granted", heard.granted),
        ("/counters/already", heard.already),
        ("/counters/replayed", heard.replayed),
        ("/counters/soldout", heard.soldout),
    ];
    compare(status, &expected)
}
