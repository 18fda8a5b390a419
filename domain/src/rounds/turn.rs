//! How the next round of a sale that repeats begins: when, and with what.

use crate::codec::effect::Effect;
use crate::ledger::{HashKey, Ledger};
use crate::model::limits::INTEGER_MAX;
use crate::request::Now;
use crate::rounds::schedule::Schedule;
use crate::rounds::OldRound;
use crate::Sale;

impl Sale {
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

    /// Puts the stored round aside and starts the next with an empty ledger. The numbers follow.
    pub(crate) fn turn(&mut self, round: u64, first_seq: u64) {
        let key: HashKey = self.ledger.key();
        let next = Ledger::starting(key, first_seq.saturating_sub(1) as u32, round);
        let ledger = core::mem::replace(&mut self.ledger, next);
        let balances = self.balances;
        if let Some(rounds) = self.rounds_mut() {
            rounds.put_aside(OldRound { balances, ledger });
        }
    }
}
