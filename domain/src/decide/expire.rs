//! Changes that are due: expired holds and the next round, and the time of the next one.

use crate::effect::{self, Effect};
use crate::ledger::{Ledger, Lookup};
use crate::model::limits::INTEGER_MAX;
use crate::model::outcome::Misuse;
use crate::plan::Planning;
use crate::request::Now;
use crate::rounds::Schedule;
use crate::Sale;

/// Expiry of due holds, as far as a request needs it.
impl Planning<'_, '_> {
    /// Expires the user's own due holds before the decision: as many as a call may, earliest first.
    /// Returns whether more of them are due.
    #[inline(always)]
    pub(super) fn expire_own(&mut self, user: &[u8], found: &Lookup) -> Result<bool, Misuse> {
        let sale = self.sale();
        let may_have = !found.is_vacant() && sale.ledger.holds().are_due(self.t());
        match may_have || sale.extras.is_some() {
            true => self.expire_own_due(user, found),
            false => Ok(false),
        }
    }

    #[cold]
    fn expire_own_due(&mut self, user: &[u8], found: &Lookup) -> Result<bool, Misuse> {
        let (sale, t, most) = (self.sale(), self.t(), self.left.own as usize);
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
        for (_, seq) in own.iter().take(most) {
            if self.frees_too_many((*seq).into()) {
                return Ok(true);
            }
            self.expire((*seq).into())?;
        }
        Ok(own.len() > most)
    }

    /// Expires due holds of any user in the round of `ledger`, earliest first, until `enough`
    /// returns true. `enough` gets the seq of the hold that expired last. Returns true if the limit
    /// of a call was reached and more holds are due.
    #[inline]
    pub(super) fn expire_until(
        &mut self,
        ledger: &Ledger,
        mut enough: impl FnMut(&mut Self, Option<u64>) -> bool,
    ) -> Result<bool, Misuse> {
        let t = self.t();
        if !ledger.holds().are_due(t) {
            return Ok(false);
        }
        let mut last = None;
        for (_, seq) in ledger.holds().due(t) {
            if enough(self, last) {
                break;
            }
            if !self.draft.has_moved(seq.into()) {
                if !self.may_expire(seq.into()) {
                    return Ok(true);
                }
                self.expire(seq.into())?;
                last = Some(seq.into());
            }
        }
        Ok(false)
    }

    /// Expires the due holds that have one of these numbers, earliest first. Returns whether the
    /// limit of a call was reached.
    pub(super) fn expire_holders(&mut self, units: &[u32]) -> Result<bool, Misuse> {
        let (sale, t) = (self.sale(), self.t());
        let Some(numbers) = sale.numbers() else { return Ok(false) };
        let owners = units.iter().filter_map(|unit| numbers.owner(*unit));
        let grants = owners.filter_map(|seq| sale.stored_grant(seq));
        let due = grants.filter(|grant| grant.is_due(t) && !self.draft.has_moved(grant.seq));
        let mut due: Vec<(u64, u64)> = due.map(|grant| (grant.deadline, grant.seq)).collect();
        due.sort_unstable();
        due.dedup();
        for (_, seq) in due {
            if !self.may_expire(seq) {
                return Ok(true);
            }
            self.expire(seq)?;
        }
        Ok(false)
    }
}

/// The round that must begin first; `None` if the current round goes on or the series is over.
pub(super) fn next_round<'a>(sale: &Sale, now: &Now) -> Option<Effect<'a>> {
    let schedule = sale.terms.schedule.as_ref()?;
    let t = sale.time(now);
    let last = match sale.terms.close_at {
        0 => t,
        close_at => t.min(close_at - 1),
    };
    let round = schedule.round_at(last);
    (round > sale.balances.round).then(|| {
        let supply = supply_of(sale, schedule, round);
        Effect::Round(effect::Round { round, supply })
    })
}

/// The supply of a new round. With CARRY every round leaves its available units to the next, even a
/// round that passed while the server was down. So the result doesn't depend on when the server
/// ran. A round before the sale existed leaves nothing.
fn supply_of(sale: &Sale, schedule: &Schedule, round: u64) -> u64 {
    let base = sale.rounds().map_or(0, |rounds| rounds.base_supply);
    if !schedule.carry {
        return base;
    }
    let first = schedule.first_open_after(sale.terms.open_at.max(sale.created_at));
    let leaves = sale.balances.round >= first;
    let skipped = round.saturating_sub(first.max(sale.balances.round + 1));
    let left = if leaves { sale.balances.available } else { 0 };
    let carried = u128::from(left) + u128::from(base) * u128::from(skipped);
    (u128::from(base) + carried).min(INTEGER_MAX.into()) as u64
}
