//! A plan in the making: the changes decided so far, and the draft after them.

use crate::draft::Draft;
use crate::effect::{Act, Change, Changes, Effect, Expire, Seqs};
use crate::ledger::Places;
use crate::model::limits::EFFECTS_PER_APPLY_MAX;
use crate::model::outcome::{GrantView, Misuse, State};
use crate::plan::Plan;
use crate::request::Now;
use crate::Sale;

/// The changes of a sale decided at one time, step by step. Each change is drafted when it is
/// added, so that the next decision sees the sale after it.
#[derive(Clone)]
pub(crate) struct Planning<'s, 'a> {
    /// The sale as it would stand.
    pub(crate) draft: Draft<'s>,
    /// The changes so far, in order.
    changes: Changes<'a>,
    /// The slots of the only new grant, if it was looked up.
    new_grant: Option<Places>,
    /// Whether waiters were served already.
    pub(crate) is_served: bool,
    now: Now,
}

impl<'s, 'a> Planning<'s, 'a> {
    /// A plan without changes.
    #[inline]
    pub(crate) fn of(sale: &'s Sale, now: &Now) -> Planning<'s, 'a> {
        let (draft, changes) = (Draft::of(sale), Changes::new());
        Planning { draft, changes, new_grant: None, is_served: false, now: *now }
    }

    /// The sale before the plan.
    #[inline]
    pub(crate) fn sale(&self) -> &'s Sale {
        self.draft.sale
    }

    /// The T of all checks.
    #[inline]
    pub(crate) fn t(&self) -> u64 {
        self.sale().time(&self.now)
    }

    /// The changes so far.
    #[inline]
    pub(crate) fn changes(&self) -> &[Change<'a>] {
        &self.changes
    }

    /// The offers and drops among the effects from that index on.
    pub(crate) fn of_list(&self, from: usize) -> impl Iterator<Item = Effect<'static>> + '_ {
        self.changes().iter().skip(from).filter_map(|change| match change.effect {
            Effect::Offer(offer) => Some(offer.into()),
            Effect::Drop(drop) => Some(drop.into()),
            _ => None,
        })
    }

    /// Adds an effect. The first one gets the time and the epoch. Refused if a number would leave
    /// its limits.
    #[inline]
    pub(crate) fn push(&mut self, effect: impl Into<Effect<'a>>) -> Result<(), Misuse> {
        let mut change = Change::untimed(effect);
        if self.changes.is_empty() {
            let (sale, now) = (self.sale(), &self.now);
            change.elapsed_ms = now.clock_ms.saturating_sub(sale.balances.t);
            // A node writes its epoch once into a sale.
            change.epoch = (sale.run != now.run).then(|| sale.next_epoch(now.run));
        }
        let begun = self.draft.begin(change.elapsed_ms, change.epoch);
        let drafted = begun.and_then(|()| change.effect.plan(&mut self.draft));
        drafted.map_err(|_| Misuse::Exhausted)?;
        self.changes.push(change);
        Ok(())
    }

    /// Adds a grant, which belongs to `places`: as it would stand.
    #[inline(always)]
    pub(crate) fn push_new(
        &mut self,
        effect: impl Into<Effect<'a>>,
        places: Places,
    ) -> Result<GrantView, Misuse> {
        self.new_grant = Some(places);
        self.push_about(effect)
    }

    /// Adds an effect on a grant; returns the grant as it would stand.
    #[inline(always)]
    pub(crate) fn push_about(
        &mut self,
        effect: impl Into<Effect<'a>>,
    ) -> Result<GrantView, Misuse> {
        self.push(effect)?;
        self.draft.about.ok_or(Misuse::Exhausted)
    }

    /// Expires a due hold.
    pub(crate) fn expire(&mut self, seq: u64) -> Result<(), Misuse> {
        if let Some(Change { effect: Effect::Expire(Expire(seqs)), .. }) = self.changes.last_mut() {
            if seqs.len() < EFFECTS_PER_APPLY_MAX {
                seqs.push(seq);
                let drafted = self.draft.settle(seq, State::Expired);
                return drafted.map_err(|_| Misuse::Exhausted);
            }
        }
        self.push(Expire(Seqs::from_slice(&[seq])))
    }

    /// The finished plan.
    #[inline(always)]
    pub(crate) fn finish(self) -> Plan<'a> {
        Plan::of(self.draft, self.changes, self.new_grant, Some(self.now.run))
    }
}
