//! Checks that a round paid exactly what it promised. Compares all answers with each other, with
//! the requested amounts, and with the server's data.

use std::collections::HashMap;

use crate::round::{Grant, Played, Round, Terms};
use seckill_crowd::heard::Heard;
use seckill_crowd::sale::{compare, Row, Winner};
use seckill_crowd::wire::{user_name, Reply};

/// Sums of the earlier rounds, because the sale's seqs and counters continue.
#[derive(Default)]
pub struct Past {
    grants: u64,
    heard: Vec<Heard>,
    /// Grants of the last round: the users' newest ones until the next round begins.
    newest: HashMap<u32, (u64, u64)>,
    /// Totals in the order of ROUNDS, the newest first.
    totals: Vec<[u64; 4]>,
}

impl Past {
    /// Adds a checked round.
    pub fn add(&mut self, round: &Round, played: &Played, budget: u64) {
        let winners = played.grants.len() as u64;
        self.grants += winners;
        let newest = played.grants.iter().map(|grant| (grant.user, (grant.seq, grant.qty)));
        self.newest = newest.collect();
        self.heard.push(Heard::count(&round.answers));
        self.totals.insert(0, [round.number, budget, played.paid(), winners]);
    }
}

/// Compares all data. Returns the grants in the order of seq.
///
/// # Errors
/// The first thing that is wrong, as a message.
pub fn check(round: &Round, terms: &Terms, past: &Past) -> Result<Vec<Grant>, String> {
    let mut grants = grants(round, terms)?;
    in_order(&grants, terms, past)?;
    repeats(round, past, &grants)?;
    listed(round, terms, &mut grants)?;
    server(round, terms, past, &grants)?;
    round.audit.check()?;
    Ok(grants)
}

/// Checks the users with GRANTED: each once, with the requested amount, or with less if less was
/// left.
fn grants(round: &Round, terms: &Terms) -> Result<Vec<Grant>, String> {
    let mut grants = HashMap::new();
    for (click, reply) in &round.answers {
        let (seq, qty, available) = match reply {
            Reply::Granted { seq, qty, state, available } if state == "SOLD" => {
                (*seq, *qty, *available)
            }
            Reply::Granted { .. } | Reply::Unexpected(_) => {
                return Err(format!("The server gave an unexpected answer: {reply:?}"));
            }
            _ => continue,
        };
        let name = user_name(click.user);
        let asked = terms.amounts.asked(round.number, *click);
        if qty != asked && (qty == 0 || qty > asked || available > 0) {
            let left = format!("{available} were left");
            return Err(format!("{name} was to get {asked} coins and got {qty}, and {left}."));
        }
        let grant = Grant { seq, user: click.user, asked, qty, available, after_ms: 0 };
        if grants.insert(click.user, grant).is_some() {
            return Err(format!("{name} was granted twice in round {}.", round.number));
        }
    }
    let mut grants: Vec<Grant> = grants.into_values().collect();
    grants.sort_unstable_by_key(|grant| grant.seq);
    Ok(grants)
}

/// Checks that every seq occurs once, and that each reply has the coins left by earlier grants.
fn in_order(grants: &[Grant], terms: &Terms, past: &Past) -> Result<(), String> {
    let mut left = terms.budget;
    for (grant, seq) in grants.iter().zip(past.grants + 1..) {
        if grant.seq != seq {
            return Err(format!("There is a grant {} where {seq} should be.", grant.seq));
        }
        left = left.checked_sub(grant.qty).ok_or_else(|| {
            let budget = terms.budget;
            format!("Grant {seq} of {} coins goes over the budget of {budget}.", grant.qty)
        })?;
        if grant.available != left {
            let said = grant.available;
            return Err(format!("After grant {seq} {left} coins are left, the reply said {said}."));
        }
    }
    Ok(())
}

/// Checks that a repeated call gets the user's own grant, and that no user is refused while coins
/// are left.
///
/// Before the opening the sale still replies with the previous round.
fn repeats(round: &Round, past: &Past, grants: &[Grant]) -> Result<(), String> {
    let left = grants.last().map(|grant| grant.available);
    let owned: HashMap<u32, (u64, u64)> =
        grants.iter().map(|grant| (grant.user, (grant.seq, grant.qty))).collect();
    for (place, (click, reply)) in round.answers.iter().enumerate() {
        let own = owned.get(&click.user);
        let before = past.newest.get(&click.user).filter(|_| place < round.early);
        let name = user_name(click.user);
        match reply {
            Reply::Already { seq, qty, state } | Reply::Replay { seq, qty, state } => {
                let told = Some(&(*seq, *qty));
                if state != "SOLD" || told != own && told != before {
                    return Err(format!(
                        "{name} was told of a grant that is not theirs: {reply:?}."
                    ));
                }
            }
            Reply::SoldOut { .. } if own.is_some() => {
                return Err(format!("{name} has coins and was told SOLDOUT."));
            }
            Reply::SoldOut { held } if *held != 0 || left != Some(0) => {
                return Err(format!(
                    "{name} was told SOLDOUT {held}, and {left:?} coins are left."
                ));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Checks that WINNERS of this round has exactly these users and amounts, all granted while the
/// round was open.
fn listed(round: &Round, terms: &Terms, grants: &mut [Grant]) -> Result<(), String> {
    if round.rows.len() != grants.len() {
        let (rows, heard) = (round.rows.len(), grants.len());
        return Err(format!("WINNERS lists {rows} grants, the replies said {heard}."));
    }
    for (row, grant) in round.rows.iter().zip(grants) {
        let (seq, user, qty) = (grant.seq, user_name(grant.user), grant.qty);
        let winner = Winner { seq, user, qty, state: "SOLD".into() };
        let told = Row { winner, at: row.at, round: round.number };
        if *row != told {
            return Err(format!("WINNERS says {row:?}, the reply said {told:?}."));
        }
        grant.after_ms = match row.at.checked_sub(round.opened_at) {
            Some(after_ms) if after_ms < terms.lasts_ms => after_ms,
            _ => return Err(format!("Grant {seq} was made while the round was not open.")),
        };
    }
    Ok(())
}

/// Checks STATUS and ROUNDS; the counters have every click of all rounds.
fn server(round: &Round, terms: &Terms, past: &Past, grants: &[Grant]) -> Result<(), String> {
    let paid: u64 = grants.iter().map(|grant| grant.qty).sum();
    let winners = grants.len() as u64;
    let this = Heard::count(&round.answers);
    let all = |kind: fn(&Heard) -> u64| past.heard.iter().chain([&this]).map(kind).sum::<u64>();
    compare(
        &round.status,
        &[
            ("/round", round.number),
            ("/supply", terms.budget),
            ("/available", terms.budget - paid),
            ("/held", 0),
            ("/sold", paid),
            ("/winners", winners),
            ("/grants", past.grants + winners),
            ("/counters/attempts", all(Heard::all)),
            ("/counters/granted", all(|heard| heard.granted)),
            ("/counters/already", all(|heard| heard.already)),
            ("/counters/replayed", all(|heard| heard.replayed)),
            ("/counters/soldout", all(|heard| heard.soldout)),
            ("/counters/notopen", all(|heard| heard.notopen)),
        ],
    )?;
    let mut expected = vec![[round.number, terms.budget, paid, winners]];
    expected.extend(&past.totals);
    // Round 0 was the current one when the sale was created; no user asked in it.
    let listed: Vec<[u64; 4]> =
        round.totals.iter().copied().filter(|[number, ..]| *number > 0).collect();
    if listed != expected {
        return Err(format!("ROUNDS says {listed:?}, the replies add up to {expected:?}."));
    }
    Ok(())
}
