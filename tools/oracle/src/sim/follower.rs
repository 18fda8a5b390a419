//! A shop's database that follows a sale by outbox entries alone.

use std::collections::BTreeMap;

use seckill_domain::ledger::Grant;
use seckill_domain::outbox::Field;
use seckill_domain::Sale;

use super::turns;
use crate::compare::{same, Check};
use crate::stored_entry::StoredEntry;
use crate::turns::Turns;

/// A grant, rebuilt from entries.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    user: Vec<u8>,
    qty: u64,
    state: Vec<u8>,
    at: u64,
    deadline: u64,
    req: Vec<u8>,
    born: u64,
    round: u64,
}

impl Line {
    fn of(grant: &Grant<'_>) -> Line {
        Line {
            user: grant.user.to_vec(),
            qty: grant.qty,
            state: grant.state.name().into(),
            at: grant.at,
            deadline: grant.view().deadline,
            req: grant.req_id().unwrap_or_default().to_vec(),
            born: grant.epoch,
            round: grant.round,
        }
    }

    /// The grant in words.
    fn shown(&self) -> String {
        let text = |bytes: &[u8]| bytes.escape_ascii().to_string();
        let Line { qty, at, deadline, born, round, .. } = self;
        let (user, state, req) = (text(&self.user), text(&self.state), text(&self.req));
        format!("{user} {qty} {state} at {at} until {deadline} req {req} born {born} round {round}")
    }

    /// Whether this equals the grant. Compares without copying.
    fn is(&self, grant: &Grant<'_>) -> bool {
        self.user == grant.user
            && self.qty == grant.qty
            && self.state == grant.state.name().as_bytes()
            && self.at == grant.at
            && self.deadline == grant.view().deadline
            && self.req == grant.req_id().unwrap_or_default()
            && self.born == grant.epoch
            && self.round == grant.round
    }
}

/// The entries read so far.
#[derive(Clone, Debug, Default)]
pub struct Follower {
    /// False until the sale has an outbox. Then the shop exports the grants once and reads entries.
    is_on: bool,
    lines: BTreeMap<u64, Line>,
    rev: u64,
    epoch: u64,
    t: u64,
    /// Supply, available, held and sold units in the round of the last entry.
    numbers: [u64; 4],
    round: u64,
    /// The current round of the sale.
    stored_round: u64,
    /// The largest seq in any entry.
    grants: u64,
    /// Waiters; unknown in a part, because entries lack the units of other parts.
    turns: Option<Turns>,
}

impl Follower {
    /// Exports the current sale, as a shop does before it reads entries.
    pub fn export(sale: &Sale) -> Follower {
        let balances = sale.balances();
        let mut lines = BTreeMap::new();
        let mut seq = 0;
        while let Some(next) = sale.next_seq(seq) {
            seq = next;
            if let Some(grant) = sale.grant(seq) {
                lines.insert(seq, Line::of(&grant));
            }
        }
        Follower {
            is_on: sale.terms().outbox.is_some(),
            lines,
            rev: balances.rev,
            epoch: balances.epoch,
            t: balances.t,
            numbers: [balances.supply, balances.available, balances.held, balances.sold],
            round: balances.round,
            stored_round: balances.round,
            grants: balances.grants,
            turns: turns::begun(sale),
        }
    }

    /// Reads the next entry of the stream.
    pub fn read(&mut self, entry: &StoredEntry) -> Check {
        entry.fits_the_rows()?;
        let (rev, epoch, t) = (entry.number("rev")?, entry.number("epoch")?, entry.number("t")?);
        if self.is_on {
            same("rev of an entry", &rev, &(self.rev + 1))?;
        }
        if epoch < self.epoch || t < self.t {
            return Err(format!("epoch or t of an entry steps back: {entry:?}"));
        }
        (self.rev, self.epoch, self.t) = (rev, epoch, t);
        let names = ["supply", "available", "held", "sold"];
        let mut numbers = [0; 4];
        for (slot, name) in numbers.iter_mut().zip(names) {
            *slot = entry.number(name)?;
        }
        same("law of an entry", &numbers[0], &numbers[1..].iter().sum())?;
        self.numbers = numbers;
        if let Some(turns) = &mut self.turns {
            turns::read(turns, entry)?;
        }
        if entry.has("seq") {
            self.round = entry.number_or_0("round")?;
            let line = Line {
                user: entry.raw(Field::User).to_vec(),
                qty: entry.number("qty")?,
                state: entry.word("state").into(),
                at: entry.number("at")?,
                deadline: entry.number_or_0("deadline")?,
                req: entry.raw(Field::Req).to_vec(),
                born: entry.number("born")?,
                round: self.round,
            };
            let seq = entry.number("seq")?;
            self.grants = self.grants.max(seq);
            self.lines.insert(seq, line);
            return Ok(());
        }
        if entry.raw(Field::Event) == b"ROUND" {
            self.stored_round = entry.number("round")?;
        }
        self.round = self.stored_round;
        Ok(())
    }

    /// Compares the database with the sale. The database has more of ended rounds.
    pub fn check(&self, sale: &Sale) -> Check {
        let balances = sale.balances();
        if !self.is_on {
            return same("rev without an outbox", &balances.rev, &0);
        }
        same("rev of the sale", &balances.rev, &self.rev)?;
        same(
            "epoch of the last entry is not above the sale's",
            &(self.epoch > balances.epoch),
            &false,
        )?;
        let mut seq = 0;
        while let Some(next) = sale.next_seq(seq) {
            seq = next;
            let Some(grant) = sale.grant(seq) else { continue };
            let line = self.lines.get(&seq);
            if !line.is_some_and(|line| line.is(&grant)) {
                let (told, is) = (line.map(Line::shown), Line::of(&grant).shown());
                return Err(format!(
                    "a reader of the outbox has {told:?} as {seq}, the sale {is:?}"
                ));
            }
        }
        same("grants that the outbox told", &self.grants, &balances.grants)?;
        same("round that the outbox told", &self.stored_round, &balances.round)?;
        let numbers = [balances.supply, balances.available, balances.held, balances.sold];
        if self.round == balances.round {
            same("numbers of the last entry", &self.numbers, &numbers)?;
        }
        self.turns.as_ref().map_or(Ok(()), |told| turns::check(told, sale))
    }

    /// Whether the shop already follows.
    pub fn is_on(&self) -> bool {
        self.is_on
    }
}
