//! Changes that are due: expired holds and the next round, and the time of the next one.

use super::Decision;
use crate::codec::effect::Effect;
use crate::ledger::{Ledger, Lookup};
use crate::model::limits::{EXPIRIES_PER_CALL_MAX, INTEGER_MAX};
use crate::model::outcome::{Misuse, Outcome};
use crate::plan::Planning;
use crate::request::Now;
use crate::rounds::Schedule;
use crate::Sale;

/// Numbers of due holds that a call may still expire.
#[derive(Clone, Copy)]
pub(super) struct Expiries {
    /// The user's own holds.
    pub(super) own: u32,
    /// Holds of others.
    pub(super) others: u32,
}

impl Expiries {
    pub(super) const OF_A_CALL: Expiries =
        Expiries { own: EXPIRIES_PER_CALL_MAX as u32, others: EXPIRIES_PER_CALL_MAX as u32 };
}

impl Sale {
    /// For the sweeper: expires at most `most` due holds. With a waiting list it also makes offers,
    /// drops waiters, and expires further holds for them.
    pub fn decide_expiry<'a>(&self, most: usize, now: &Now) -> Decision<'a> {
        let mut plan = Planning::of(self, now);
        if self.awaits > 0 {
            return Decision::of(plan, Ok(Outcome::Done));
        }
        let mut due = self.holds().due(plan.t()).take(most);
        let expired = due.try_for_each(|(_, seq)| plan.expire(seq.into()));
        let swept = expired.and_then(|()| plan.sweep_list());
        Decision::of(plan, swept.map(|()| Outcome::Done))
    }
}

/// Expiry of due holds, as far as a request needs it.
impl Planning<'_, '_> {
    /// Expires the user's own due holds before the decision: at most `most`, earliest first.
    /// Returns whether more of them are due.
    #[inline(always)]
    pub(super) fn expire_own(
        &mut self,
        user: &[u8],
        found: &Lookup,
        most: u32,
    ) -> Result<bool, Misuse> {
        let sale = self.sale();
        let may_have = !found.is_vacant() && sale.ledger.holds().are_due(self.t());
        match may_have || sale.extras.is_some() {
            true => self.expire_own_due(user, found, most as usize),
            false => Ok(false),
        }
    }

    #[cold]
    fn expire_own_due(&mut self, user: &[u8], found: &Lookup, most: usize) -> Result<bool, Misuse> {
        let (sale, t) = (self.sale(), self.t());
        let own = match sale.rounds() {
            None => sale.ledger.due_of(found, t, most + 1),
            Some(rounds) => {
                let is_theirs = |(_, seq): &(u64, u32)| {
                    sale.stored_grant((*seq).into()).is_some_and(|grant| grant.user == user)
                };
                let due = rounds.held.due_of(found.hash(), t);
                due.filter(is_theirs).take(most + 1).collect()
            }
        };
        own.iter().take(most).try_for_each(|(_, seq)| self.expire((*seq).into()))?;
        Ok(own.len() > most)
    }

    /// Expires further due holds in the round of `ledger`, of any user, earliest first, until
    /// `enough` holds, at most `most`. Returns true if it stopped at `most` with more holds due.
    #[inline]
    pub(super) fn expire_until(
        &mut self,
        ledger: &Ledger,
        most: u32,
        mut enough: impl FnMut(&Self) -> bool,
    ) -> Result<bool, Misuse> {
        let t = self.t();
        if !ledger.holds().are_due(t) {
            return Ok(false);
        }
        let mut left = most;
        for (_, seq) in ledger.holds().due(t) {
            if enough(self) {
                break;
            }
            if !self.draft.has_moved(seq.into()) {
                if left == 0 {
                    return Ok(true);
                }
                left -= 1;
                self.expire(seq.into())?;
            }
        }
        Ok(false)
    }
}

/// The next round of a repeating sale: when it begins, and its supply.
impl Sale {
    /// The change that begins the next round, if the stored round is over. It comes alone, before
    /// any other decision.
    pub fn decide_round<'a>(&self, now: &Now) -> Option<Decision<'a>> {
        let next = self.next_round(now).filter(|_| self.awaits == 0)?;
        let mut plan = Planning::of(self, now);
        let judged = plan.push(next).map(|()| Outcome::NextRound);
        Some(Decision::of(plan, judged))
    }

    /// The round that must begin first; `None` if the stored round goes on or the series is over.
    pub(crate) fn next_round<'a>(&self, now: &Now) -> Option<Effect<'a>> {
        let schedule = self.terms.schedule.as_ref()?;
        let t = self.time(now);
        let last = match self.terms.close_at {
            0 => t,
            close_at => t.min(close_at - 1),
        };
        let round = schedule.round_at(last);
        (round > self.balances.round).then(|| {
            let supply = self.supply_of(schedule, round);
            Effect::Round { round, supply }
        })
    }

    /// The supply of a new round. With CARRY every round leaves its available units to the next,
    /// even a round that passed while the server was down: the result doesn't depend on who was
    /// awake. A round before the sale existed leaves nothing.
    fn supply_of(&self, schedule: &Schedule, round: u64) -> u64 {
        let base = self.rounds().map_or(0, |rounds| rounds.base_supply);
        if !schedule.carry {
            return base;
        }
        let first = schedule.first_open_after(self.terms.open_at.max(self.created_at));
        let leaves = self.balances.round >= first;
        let skipped = round.saturating_sub(first.max(self.balances.round + 1));
        let left = if leaves { self.balances.available } else { 0 };
        let carried = u128::from(left) + u128::from(base) * u128::from(skipped);
        (u128::from(base) + carried).min(INTEGER_MAX.into()) as u64
    }
}

/// The time of the next due change.
impl Sale {
    /// The time of the next due change: a hold expires, a round begins, or a waiter can be served
    /// or dropped.
    pub fn next_due(&self) -> Option<u64> {
        let next_round =
            self.terms.schedule.map(|schedule| schedule.start(self.balances.round + 1));
        let next_round =
            next_round.filter(|at| self.terms.close_at == 0 || *at < self.terms.close_at);
        let next = self.next_deadline().into_iter().chain(next_round);
        next.chain(self.next_service()).min()
    }

    /// The next time at which the sweeper must look at this sale, by the server's clock (now
    /// `clock_ms`); `None` if it was asked for an earlier time already.
    #[inline]
    pub fn next_look(&mut self, clock_ms: u64) -> Option<u64> {
        // A sale that awaits pieces has no due changes; the last piece asks again.
        if self.awaits > 0 {
            return None;
        }
        let deadline = match self.extras.is_some() {
            // A change due by T is due now, even if this clock stepped back or is behind the former
            // primary's.
            true => match self.next_due()? {
                due if due <= self.balances.t => due.min(clock_ms),
                due => due,
            },
            false => self.ledger.holds().next_deadline()?,
        };
        if self.look_at.is_some_and(|look_at| look_at <= deadline) {
            return None;
        }
        self.look_at = Some(deadline);
        Some(deadline)
    }
}
