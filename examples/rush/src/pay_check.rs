//! Checks that every unit is paid in the end, and that the server's data agree with the answers.

#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::check::ServerSide;
use crate::pay::{Habit, Paid};
use seckill_crowd::sale::{compare, Winner};
use seckill_crowd::wire::user_name;

/// Compares the buyers' answers with the server's data.
///
/// # Errors
/// The first thing that is wrong, as a message.
pub fn check(paid: &Paid, server: &ServerSide, stock: u64, users: u64) -> Result<(), String> {
    let asked = paid.endings.len() as u64 + paid.too_late;
    if asked != users {
        return Err(format!("{asked} users were answered instead of {users}."));
    }
    habits(paid)?;
    let sold = count(paid, "SOLD");
    if sold != stock {
        return Err(format!("{sold} of {stock} units were paid for in the end."));
    }
    rows(paid, &server.winners)?;
    status(paid, &server.status, stock)?;
    server.audit.check()
}

fn count(paid: &Paid, state: &str) -> u64 {
    paid.endings.iter().filter(|end| end.state == state).count() as u64
}

/// Checks that each answer follows from the buyer's calls. On a slow machine any hold may expire
/// early.
fn habits(paid: &Paid) -> Result<(), String> {
    for end in &paid.endings {
        let possible = match Habit::of(end.user) {
            Habit::Pays | Habit::PaysLate => ["SOLD", "EXPIRED"],
            Habit::Cancels => ["CANCELLED", "EXPIRED"],
            Habit::Forgets => ["EXPIRED", "EXPIRED"],
        };
        if !possible.contains(&end.state.as_str()) {
            let (who, habit) = (user_name(end.user), Habit::of(end.user));
            return Err(format!("{who}, who {habit:?}, was told {}.", end.state));
        }
    }
    Ok(())
}

/// Checks that WINNERS has exactly these grants, each in the state of its buyer's last answer.
fn rows(paid: &Paid, listed: &[Winner]) -> Result<(), String> {
    let mut told: Vec<Winner> = paid
        .endings
        .iter()
        .map(|end| Winner {
            seq: end.seq,
            user: user_name(end.user),
            qty: 1,
            state: end.state.clone(),
        })
        .collect();
    told.sort_unstable_by_key(|row| row.seq);
    if told.len() != listed.len() {
        let (rows, heard) = (listed.len(), told.len());
        return Err(format!("WINNERS lists {rows} grants, the buyers were told of {heard}."));
    }
    match told.iter().zip(listed).find(|(told, row)| told != row) {
        Some((told, row)) => Err(format!("WINNERS says {row:?}, the buyer was told {told:?}.")),
        None => Ok(()),
    }
}

fn status(paid: &Paid, status: &Value, stock: u64) -> Result<(), String> {
    let reclaimed = paid.count(Habit::PaysLate, "SOLD");
    let expected = [
        ("/supply", stock),
        ("/available", 0),
        ("/held", 0),
        ("/sold", stock),
        ("/winners", stock),
        ("/grants", paid.endings.len() as u64),
        ("/counters/granted", paid.endings.len() as u64),
        ("/counters/soldout", paid.waits + paid.too_late),
        ("/counters/cancelled", count(paid, "CANCELLED")),
        // The hold of a late payer was EXPIRED before, also if they got a unit in the end.
        ("/counters/expired", count(paid, "EXPIRED") + reclaimed),
        ("/counters/reclaimed", reclaimed),
    ];
    compare(status, &expected)
}
