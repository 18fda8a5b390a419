//! How the next round of a sale that repeats begins: when, and with what.

use super::amounts::Amounts;
use super::draw::Draw;
use super::effect::Effect;
use super::ledger::{HashKey, Ledger};
use super::limits::{GRANTS_MAX, INTEGER_MAX};
use super::request::Now;
use super::rounds::OldRound;
use super::schedule::Schedule;
use super::Sale;

impl Sale {
    /// The round that begins before anything else is judged; `None` when the stored one goes on,
    /// or when the series is over.
    pub(super) fn next_round<'a>(&self, now: &Now) -> Option<Effect<'a>> {
        let schedule = self.terms.schedule.as_ref()?;
        let t = self.time(now);
        let last = match self.terms.close_at {
            0 => t,
            close_at => t.min(close_at - 1),
        };
        let round = schedule.round_at(last);
        (round > self.core.round).then(|| {
            let (supply, lists) = self.supply_of(schedule, round);
            Effect::Round { round, supply, lists }
        })
    }

    /// What the round begins with. With CARRY every round leaves what it has to the next, also
    /// one that passed while the server was down: the outcome does not depend on who was awake.
    /// A round that nobody could ever ask in, because the sale was not there, leaves nothing.
    /// Also tells how often the list of DRAW LIST is in it; 0 in other sales.
    fn supply_of(&self, schedule: &Schedule, round: u64) -> (u64, u64) {
        let base = self.rounds().map_or(0, |rounds| rounds.base_supply);
        if !schedule.carry {
            return (base, self.repeated().is_some().into());
        }
        let first = schedule.first_open_after(self.terms.open_at.max(self.created_at));
        let leaves = self.core.round >= first;
        let skipped = round.saturating_sub(first.max(self.core.round + 1));
        if let Some(list) = self.repeated() {
            return listed_supply(list, leaves, skipped);
        }
        let left = if leaves { self.core.available } else { 0 };
        let carried = u128::from(left) + u128::from(base) * u128::from(skipped);
        let supply = (u128::from(base) + carried).min(INTEGER_MAX.into());
        (supply as u64, 0)
    }

    /// Whether what is left of the list is kept by a round that begins with `lists` further ones
    /// and so much supply; `None` when no round can.
    pub(super) fn keeps_list(&self, supply: u64, lists: u64) -> Option<bool> {
        let list = self.repeated()?;
        let fresh = list.told_sum().checked_mul(lists).filter(|fresh| *fresh > 0)?;
        let carries = self.terms.schedule.is_some_and(|schedule| schedule.carry);
        match (carries, supply == fresh) {
            (false, _) => (lists == 1 && supply == fresh).then_some(false),
            (true, true) => Some(false),
            (true, false) => (Some(supply) == fresh.checked_add(list.sum())).then_some(true),
        }
    }

    /// Whether a round can begin with so much supply in so many amounts of a list; other sales
    /// say nothing of the kind.
    pub(super) fn can_begin(&self, supply: u64, begun: u64) -> bool {
        if self.repeated().is_none() {
            return begun == 0;
        }
        let told = self.terms.draw.as_ref().and_then(Draw::packets).unwrap_or(0);
        let base = self.rounds().map_or(0, |rounds| rounds.base_supply);
        match self.terms.schedule.is_some_and(|schedule| schedule.carry) {
            true => supply >= base && (told..=GRANTS_MAX).contains(&begun),
            false => supply == base && begun == told,
        }
    }

    /// Puts the stored round aside and starts the next with an empty ledger. The numbers follow.
    /// With DRAW LIST its list has `lists` more, behind what is left if that is kept.
    pub(super) fn turn(&mut self, round: u64, first_seq: u64, (lists, keep): (u64, bool)) {
        let key: HashKey = self.ledger.key();
        let next = Ledger::starting(key, first_seq.saturating_sub(1) as u32, round);
        let ledger = core::mem::replace(&mut self.ledger, next);
        let core = self.core;
        let returned = self.amounts_mut().map(|list| list.turn(lists, keep));
        if let Some(rounds) = self.rounds_mut() {
            rounds.put_aside(OldRound { core, ledger, returned });
        }
    }
}

/// The supply of a round that begins with what `list` has left, if it leaves that, then with the
/// told list for each round that was skipped and once for itself; and how often it begins with the
/// told list. As many as are within bounds, but one at least: it goes before what is left.
fn listed_supply(list: &Amounts, leaves: bool, skipped: u64) -> (u64, u64) {
    let fit = |left: u64, amounts: u64| {
        let units = INTEGER_MAX.saturating_sub(left) / list.told_sum().max(1);
        units.min(GRANTS_MAX.saturating_sub(amounts) / list.told_len().max(1))
    };
    let (left, fit) = match fit(list.sum(), list.len()) {
        further @ 1.. if leaves => (list.sum(), further),
        _ => (0, fit(0, 0)),
    };
    let lists = skipped.saturating_add(1).min(fit);
    (left + lists * list.told_sum(), lists)
}
