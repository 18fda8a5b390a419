//! The numbers of a sale, and the law over them.

mod tests;

use serde::{Deserialize, Serialize};

use crate::model::limits::{GRANTS_MAX, INTEGER_MAX, REV_LAST, TIME_MS_MAX};
use crate::model::outcome::{Refused, State};
use crate::model::wire;

/// The numbers that every change moves. The struct is small and copied freely: a change is first
/// tried on a copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Balances {
    /// Number of changes of the sale.
    pub version: u64,
    /// Number of its outbox entries.
    pub rev: u64,
    /// T of the last change, Unix ms.
    pub t: u64,
    /// Epoch of the last change.
    pub epoch: u64,
    pub supply: u64,
    pub available: u64,
    pub held: u64,
    pub sold: u64,
    /// Units promised beyond the supply.
    pub deficit: u64,
    /// Packets left to draw; `None` if the sale has no fixed number.
    pub packets: Option<u64>,
    /// Number of the current round; 0 in a sale without rounds.
    #[serde(deserialize_with = "wire::integer")]
    pub round: u64,
    /// Number of grants ever made.
    pub grants: u64,
    /// T of the last grant; 0 if there is none.
    pub last_grant_at: u64,
    /// Units that the other parts of its split may still have, as far as this part knows; 0 if the
    /// sale is not a part.
    pub elsewhere: u64,
}

/// A part's own account of a split: the units it was given and the units it exchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Escrow {
    /// The share and the restocks applied to it; negative if more was withdrawn than that.
    pub put_in: i64,
    /// Units ever sent to all other parts.
    pub sent: u64,
    /// Units ever received from all other parts.
    pub received: u64,
    /// Number of the balancer's pass that set `elsewhere`.
    pub pass: u64,
}

impl Escrow {
    /// The escrow of a part that begins with `supply` units.
    pub fn of(supply: u64) -> Escrow {
        Escrow { put_in: supply as i64, ..Escrow::default() }
    }

    /// The law of a part: its units are those put in, minus those sent, plus those received.
    fn is_lawful(&self, supply: u64, deficit: u64) -> bool {
        let Escrow { put_in, sent, received, pass } = *self;
        let fit = [sent, received, pass, put_in.unsigned_abs(), supply, deficit];
        // Within their bounds no sum overflows.
        fit.into_iter().all(|number| number <= INTEGER_MAX)
            && supply as i64 - deficit as i64 == put_in - sent as i64 + received as i64
    }

    /// Adds or withdraws units by a restock.
    pub fn restock(&mut self, applied: i64) -> Result<(), Refused> {
        self.put_in = self.put_in.checked_add(applied).ok_or(Refused::Law)?;
        Ok(())
    }

    /// Sends units to another part.
    pub fn send(&mut self, units: u64) -> Result<(), Refused> {
        self.sent = self.sent.checked_add(units).ok_or(Refused::Law)?;
        Ok(())
    }

    /// Receives units from another part.
    pub fn receive(&mut self, units: u64) -> Result<(), Refused> {
        self.received = self.received.checked_add(units).ok_or(Refused::Law)?;
        Ok(())
    }
}

/// Availability of units, as buyers see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stock {
    /// Some units are available.
    Available,
    /// No unit is available; some are held or at other parts and may come back.
    AllHeld,
    /// No unit is available, none is held, none is elsewhere.
    SoldOut,
}

impl Balances {
    /// Whether the law holds: `supply = available + held + sold`, all within bounds, and for a part
    /// also the part's law.
    #[inline]
    pub fn is_lawful(&self, escrow: Option<&Escrow>) -> bool {
        let parts = [self.held, self.sold];
        let sum = parts.iter().try_fold(self.available, |sum, part| sum.checked_add(*part));
        sum == Some(self.supply)
            && self.supply <= INTEGER_MAX
            && match escrow {
                None => self.deficit <= self.supply && self.elsewhere == 0,
                Some(escrow) => escrow.is_lawful(self.supply, self.deficit),
            }
            && self.elsewhere <= INTEGER_MAX
            && self.grants <= GRANTS_MAX
            && self.t <= TIME_MS_MAX
            && self.last_grant_at <= self.t
            && self.version <= INTEGER_MAX
            && self.rev <= INTEGER_MAX
            && self.epoch <= INTEGER_MAX
    }

    /// Units that may become available without a restock or a refund.
    #[inline]
    pub fn may_come_back(&self) -> u64 {
        INTEGER_MAX.min(self.held + self.elsewhere)
    }

    /// The state of the stock.
    #[inline]
    pub fn stock(&self) -> Stock {
        match self.available {
            0 if self.may_come_back() == 0 => Stock::SoldOut,
            0 => Stock::AllHeld,
            _ => Stock::Available,
        }
    }

    /// Begins a change: its time, its epoch, its version.
    #[inline]
    pub fn begin(&mut self, elapsed_ms: u64, epoch: Option<u64>) -> Result<(), Refused> {
        let t = self.t.checked_add(elapsed_ms).ok_or(Refused::Law)?;
        if t > TIME_MS_MAX || self.version >= INTEGER_MAX || self.rev > REV_LAST {
            return Err(Refused::Law);
        }
        if let Some(epoch) = epoch {
            if epoch <= self.epoch || epoch > INTEGER_MAX {
                return Err(Refused::Law);
            }
            self.epoch = epoch;
        }
        self.t = t;
        self.version += 1;
        Ok(())
    }

    /// Moves the units of a grant from one state to another.
    pub fn transfer(&mut self, qty: u64, from: State, to: State) -> Result<(), Refused> {
        match from {
            State::Held => self.held = self.held.checked_sub(qty).ok_or(Refused::Law)?,
            State::Sold => self.sold = self.sold.checked_sub(qty).ok_or(Refused::Law)?,
            _ => self.available = self.available.checked_sub(qty).ok_or(Refused::Law)?,
        }
        match to {
            State::Held => self.held += qty,
            State::Sold => self.sold += qty,
            _ => self.give_back(qty),
        }
        match (from.is_live(), to.is_live()) {
            (false, true) => self.take_packet(),
            (true, false) => {
                self.packets = self.packets.map(|packets| packets + 1);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn take_packet(&mut self) -> Result<(), Refused> {
        if let Some(packets) = &mut self.packets {
            *packets = packets.checked_sub(1).ok_or(Refused::Law)?;
        }
        Ok(())
    }

    /// Returns units. They pay off the deficit before any becomes available.
    fn give_back(&mut self, qty: u64) {
        let paid = self.deficit.min(qty);
        self.deficit -= paid;
        self.supply -= paid;
        self.available += qty - paid;
    }

    /// Makes at least `qty` units available, beyond the supply if necessary (a deficit).
    pub fn cover(&mut self, qty: u64) -> Result<(), Refused> {
        let missing = qty.saturating_sub(self.available);
        let supply = self.supply.checked_add(missing).filter(|supply| *supply <= INTEGER_MAX);
        self.supply = supply.ok_or(Refused::Law)?;
        self.available += missing;
        self.deficit += missing;
        Ok(())
    }

    /// Takes the units of one new grant from the available ones.
    #[inline]
    pub fn add_grant(&mut self, qty: u64, state: State) -> Result<(), Refused> {
        if qty == 0 || self.grants >= GRANTS_MAX {
            return Err(Refused::Law);
        }
        self.grants += 1;
        let to = match state {
            State::Held => &mut self.held,
            State::Sold => &mut self.sold,
            _ => return Ok(()),
        };
        self.available = self.available.checked_sub(qty).ok_or(Refused::Law)?;
        *to += qty;
        self.take_packet()
    }

    /// Adds or withdraws units.
    pub fn restock(&mut self, delta: i64, applied: i64) -> Result<(), Refused> {
        if delta > 0 && applied == delta {
            return self.add(delta as u64);
        }
        if delta >= 0 || applied > 0 || applied < delta {
            return Err(Refused::Law);
        }
        let withdrawn = applied.unsigned_abs();
        self.available = self.available.checked_sub(withdrawn).ok_or(Refused::Law)?;
        self.supply -= withdrawn;
        Ok(())
    }

    /// Adds units, put in or from another part. They pay off the deficit before any becomes
    /// available.
    pub fn add(&mut self, units: u64) -> Result<(), Refused> {
        let paid = self.deficit.min(units);
        let supply = self.supply.checked_add(units - paid).filter(|supply| *supply <= INTEGER_MAX);
        self.supply = supply.ok_or(Refused::Law)?;
        self.deficit -= paid;
        self.available += units - paid;
        Ok(())
    }

    /// Sends units to another part. `owed` of them are only promised; that is possible only while
    /// no unit is available.
    pub fn send(&mut self, units: u64, owed: u64) -> Result<(), Refused> {
        let taken = units.checked_sub(owed).ok_or(Refused::Law)?;
        let available = self.available.checked_sub(taken).ok_or(Refused::Law)?;
        if owed > 0 && available > 0 {
            return Err(Refused::Law);
        }
        self.elsewhere = INTEGER_MAX.min(self.elsewhere.saturating_add(units));
        self.available = available;
        self.supply -= taken;
        self.deficit = self.deficit.checked_add(owed).ok_or(Refused::Law)?;
        Ok(())
    }
}

/// Adds one. A counter that a corrupt dump has set to the largest integer stays there, so that the
/// sale can still be saved and loaded.
pub(crate) fn count(counter: &mut u64) {
    *counter = INTEGER_MAX.min(*counter + 1);
}
