//! A shop's database that follows a sale by outbox entries alone.

use std::collections::BTreeMap;

use seckill_domain::ledger::Grant;
use seckill_domain::outbox::Field;
use seckill_domain::Sale;

use crate::compare::{same, Check};
use crate::stored_entry::StoredEntry;
use crate::turns::{Terms, Told, Turns, Waiter};

/// A grant, rebuilt from entries.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    user: Vec<u8>,
    req: Vec<u8>,
    state: Vec<u8>,
    qty: u64,
    at: u64,
    deadline: u64,
    epoch: u64,
    round: u64,
}

impl Line {
    fn of(grant: &Grant<'_>) -> Line {
        Line {
            user: grant.user.to_vec(),
            req: grant.req_id().unwrap_or_default().to_vec(),
            state: grant.state.name().into(),
            qty: grant.qty,
            at: grant.at,
            deadline: grant.view().deadline,
            epoch: grant.epoch,
            round: grant.round,
        }
    }

    /// Whether this equals the grant. Compares without copying.
    fn is(&self, grant: &Grant<'_>) -> bool {
        self.user == grant.user
            && self.req == grant.req_id().unwrap_or_default()
            && self.state == grant.state.name().as_bytes()
            && self.qty == grant.qty
            && self.at == grant.at
            && self.deadline == grant.view().deadline
            && self.epoch == grant.epoch
            && self.round == grant.round
    }
}

/// The entries read so far.
#[derive(Clone, Debug, Default)]
pub struct Follower {
    /// False until the sale has an outbox. Then the shop exports the grants once and reads entries.
    pub is_on: bool,
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
        let grants = sale.grants_after(0).filter_map(|(seq, grant)| Some((seq, grant?)));
        Follower {
            is_on: sale.terms().outbox.is_some(),
            lines: grants.map(|(seq, grant)| (seq, Line::of(&grant))).collect(),
            rev: balances.rev,
            epoch: balances.epoch,
            t: balances.t,
            numbers: [balances.supply, balances.available, balances.held, balances.sold],
            round: balances.round,
            stored_round: balances.round,
            grants: balances.grants,
            turns: begun_turns(sale),
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
        let [supply, available, held, sold] = names.map(|name| entry.number(name));
        self.numbers = [supply?, available?, held?, sold?];
        same("law of an entry", &self.numbers[0], &self.numbers[1..].iter().sum())?;
        if let Some(turns) = &mut self.turns {
            read_turns(turns, entry)?;
        }
        if entry.has("seq") {
            self.round = entry.number_or_0("round")?;
            let line = Line {
                user: entry.raw(Field::User).to_vec(),
                req: entry.raw(Field::Req).to_vec(),
                state: entry.word("state").into(),
                qty: entry.number("qty")?,
                at: entry.number("at")?,
                deadline: entry.number_or_0("deadline")?,
                epoch: entry.number("born")?,
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
        same("last entry has a later epoch", &(self.epoch > balances.epoch), &false)?;
        for (seq, grant) in sale.grants_after(0) {
            let Some(grant) = grant else { continue };
            let line = self.lines.get(&seq);
            if !line.is_some_and(|line| line.is(&grant)) {
                return Err(format!("a reader of the outbox has {line:?}, the sale {grant:?}"));
            }
        }
        same("grants that the outbox told", &self.grants, &balances.grants)?;
        same("round that the outbox told", &self.stored_round, &balances.round)?;
        let numbers = [balances.supply, balances.available, balances.held, balances.sold];
        if self.round == balances.round {
            same("numbers of the last entry", &self.numbers, &numbers)?;
        }
        self.turns.as_ref().map_or(Ok(()), |told| check_turns(told, sale))
    }
}

/// The waiters of the current sale; `None` for a part.
fn begun_turns(sale: &Sale) -> Option<Turns> {
    let (terms, balances) = (sale.terms(), sale.balances());
    if terms.split.is_some() {
        return None;
    }
    let list = sale.waitlist();
    let waiter = |it: seckill_domain::waitlist::Waiter<'_>| Waiter {
        user: it.user.to_vec(),
        req: it.req.to_vec(),
        qty: it.qty,
        until: it.until,
        ..Waiter::default()
    };
    let waiting = list.into_iter().flat_map(|list| list.iter_from(0));
    let in_force = terms.waitlist.map_or_else(Terms::default, |list| Terms {
        offer_ms: if list.offer_ms == 0 { terms.hold_ms } else { list.offer_ms },
        overtake: list.overtake,
        close_at: terms.close_at,
    });
    let numbers = [balances.available, balances.held];
    Some(Turns::begun(in_force, numbers, waiting.map(|it| (it.ticket, waiter(it)))))
}

/// Reads the next entry's part about waiters.
fn read_turns(turns: &mut Turns, entry: &StoredEntry) -> Check {
    let event = std::str::from_utf8(entry.raw(Field::Event)).unwrap_or_default();
    let numbers = ["ticket", "qty", "until", "deadline"].map(|name| entry.number_or_0(name));
    let [ticket, qty, until, deadline] = numbers;
    let terms = match event {
        "INIT" | "ALTER" => {
            let offer_ms = entry.number_or_0("offer_ms")?;
            let offer_ms = if offer_ms == 0 { entry.number_or_0("hold_ms")? } else { offer_ms };
            let overtake = entry.number_or_0("overtake")?;
            Some(Terms { offer_ms, overtake, close_at: entry.number_or_0("close_at")? })
        }
        _ => None,
    };
    turns.read(&Told {
        event,
        t: entry.number("t")?,
        available: entry.number("available")?,
        held: entry.number("held")?,
        terms,
        ticket: ticket?,
        user: entry.raw(Field::User),
        req: entry.raw(Field::Req),
        qty: qty?,
        until: until?,
        deadline: deadline?,
        reason: entry.word("reason"),
    })
}

/// Compares the sale's waiters with those in the outbox.
fn check_turns(turns: &Turns, sale: &Sale) -> Check {
    let waiting = sale.waitlist().into_iter().flat_map(|list| list.iter_from(0));
    let waiting: Vec<_> = waiting.map(|it| (it.ticket, it.user, it.req, it.qty)).collect();
    let told = turns.waiting.iter();
    let told = told.map(|(ticket, it)| (*ticket, &it.user[..], &it.req[..], it.qty));
    same("who waits, by the outbox", &told.collect::<Vec<_>>(), &waiting)
}
