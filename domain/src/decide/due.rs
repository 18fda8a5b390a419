//! What happens by itself: holds whose time is over expire, the next round begins; and when.

use crate::codec::effect::Effect;
use crate::decide::Decision;
use crate::ledger::{Ledger, Lookup};
use crate::model::limits::INTEGER_MAX;
use crate::model::outcome::{Misuse, Outcome};
use crate::plan::Planning;
use crate::request::Now;
use crate::rounds::Schedule;
use crate::Sale;

impl Sale {
    /// Judges nothing but the clock: lets at most `most` holds expire that are due. Where somebody
    /// waits, also makes offers, drops entries, and lets further holds expire for them.
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

/// Holds that are due expire, as far as a request needs it.
impl Planning<'_, '_> {
    /// Lets the user's own due holds expire, before anything is judged: the earliest first, at most
    /// so many. Answers whether more of them are due.
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

    /// Lets further due holds of the round expire that `ledger` has, the earliest first, until
    /// there is `enough`, at most `most`: of whomever. Answers whether that bound stopped it: it is
    /// not enough, and more are due.
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

/// How the next round of a sale that repeats begins: when, and with what.
impl Sale {
    /// Judges nothing but the clock: the round that begins, when the stored one is over. Its
    /// change comes alone, before anything else is judged.
    pub fn decide_round<'a>(&self, now: &Now) -> Option<Decision<'a>> {
        let next = self.next_round(now).filter(|_| self.awaits == 0)?;
        let mut plan = Planning::of(self, now);
        let judged = plan.push(next).map(|()| Outcome::NextRound);
        Some(Decision::of(plan, judged))
    }

    /// The round that begins before anything else is judged; `None` when the stored one goes on,
    /// or when the series is over.
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

    /// What the round begins with. With CARRY every round leaves what it has to the next, also
    /// one that passed while the server was down: the outcome does not depend on who was awake.
    /// A round that nobody could ever ask in, because the sale was not there, leaves nothing.
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

/// When something happens by itself.
impl Sale {
    /// The next moment at which something happens by itself: a hold runs out, a round begins, or
    /// something is to be done for those who wait.
    pub fn next_due(&self) -> Option<u64> {
        let next_round =
            self.terms.schedule.map(|schedule| schedule.start(self.balances.round + 1));
        let next_round =
            next_round.filter(|at| self.terms.close_at == 0 || *at < self.terms.close_at);
        let next = self.next_deadline().into_iter().chain(next_round);
        next.chain(self.next_service()).min()
    }

    /// When the sweeper must look at this sale by the server's clock, which is `clock_ms` now, if
    /// that is sooner than it was asked to before.
    #[inline]
    pub fn next_look(&mut self, clock_ms: u64) -> Option<u64> {
        // Of a sale that awaits pieces nothing happens; the last piece asks again.
        if self.awaits > 0 {
            return None;
        }
        let deadline = match self.extras.is_some() {
            // What is due by T is due now, also by a clock that has stepped back, or that is slower
            // than the clock of the primary before.
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
