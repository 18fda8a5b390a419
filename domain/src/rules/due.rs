//! What happens by itself: holds whose time is over expire, the next round begins; and when.

use crate::codec::effect::Effect;
use crate::model::limits::INTEGER_MAX;
use crate::model::outcome::Outcome;
use crate::request::Now;
use crate::rounds::Schedule;
use crate::rules::decide::Decision;
use crate::Sale;

/// Holds that are due.
impl Sale {
    /// Judges nothing but the clock: lets at most `most` holds expire that are due. Where somebody
    /// waits, also makes offers, drops entries, and lets further holds expire for them.
    pub fn decide_expiry<'a>(&self, most: usize, now: &Now) -> Decision<'a> {
        let t = self.time(now);
        let most = if self.awaits == 0 { most } else { 0 };
        let holds = self.holds().due(t).take(most);
        let mut due = self.none_due();
        due.seqs = holds.map(|(_, seq)| seq.into()).collect();
        match self.waiters() {
            Some(list) if self.awaits == 0 => {
                let changes = self.served(list, due.changes(), true, now);
                self.planned(Outcome::Done, changes, None, now)
            }
            _ => self.change_after(&due, Outcome::Done, [], None, now),
        }
    }
}

/// How the next round of a sale that repeats begins: when, and with what.
impl Sale {
    /// Judges nothing but the clock: the round that begins, when the stored one is over. Its
    /// change comes alone, before anything else is judged.
    pub fn decide_round<'a>(&self, now: &Now) -> Option<Decision<'a>> {
        let next = self.next_round(now).filter(|_| self.awaits == 0)?;
        Some(self.change(Outcome::NextRound, next, now))
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
