//! A sale with a waiting list: its terms, its requests, and the check of its outbox. `make sim`
//! uses the same checker.

use seckill_harness::wait::unix_ms;
use seckill_model::turns::{self, Told, Turns};
use seckill_random::Random;

use crate::history::{Deed, Entry, Evidence, Kind, List};

/// Further options of a GRAB: mostly WAIT, with or without a time limit.
pub fn words(kind: &Kind, amount: &str, random: &mut Random) -> String {
    let waits = matches!(kind, Kind::Listed(_)) && !amount.contains("UPTO");
    match random.below(6) {
        _ if !waits => String::new(),
        0 => String::new(),
        1 => format!(" WAIT UNTIL {}", unix_ms() + random.below(1_500)),
        _ => " WAIT".to_owned(),
    }
}

/// Further operations on an order. A paid order is imported, whatever was lost.
pub fn deeds(kind: &Kind, amount: &str, random: &mut Random) -> Vec<Deed> {
    match kind {
        Kind::Listed(_) if !amount.contains("UPTO") && random.below(3) == 0 => {
            vec![Deed::Place, Deed::Import]
        }
        Kind::Listed(_) => vec![Deed::Place, Deed::Place, Deed::Grab],
        _ => Vec::new(),
    }
}

/// Reads the next entry.
pub fn read(turns: &mut Turns, entry: &Entry, list: &List) -> Result<(), String> {
    let terms = entry.limits.map(|limits| turns::Terms {
        offer_ms: list.offer_ms,
        overtake: list.overtake,
        close_at: limits.close_at,
    });
    let (stock, mut told) =
        (entry.stock, Told { event: &entry.event, t: entry.t, ..Told::default() });
    (told.available, told.held, told.terms) = (stock.available, stock.held, terms);
    if let Some(row) = &entry.grant {
        (told.user, told.req) = (row.user.as_bytes(), row.req.as_bytes());
        (told.qty, told.deadline) = (row.qty, row.deadline);
    }
    if let Some(wait) = &entry.wait {
        (told.user, told.req) = (wait.user.as_bytes(), wait.req.as_bytes());
        (told.ticket, told.qty, told.until) = (wait.ticket, wait.qty, wait.until);
        told.reason = &wait.reason;
    }
    turns.read(&told)
}

/// Compares the waiters of WAITERS with those of the outbox.
pub fn ends_as(turns: &mut Turns, evidence: &Evidence) -> Result<(), String> {
    turns.end()?;
    let told: Vec<u64> = turns.waiting.keys().copied().collect();
    match told == evidence.waiting {
        true => Ok(()),
        false => Err(format!("WAITERS lists {:?}, the outbox {told:?}.", evidence.waiting)),
    }
}
