//! A plan in the making: the changes decided so far, and the draft after them.

use crate::draft::Draft;
use crate::effect::{Act, Change, Changes, Effect, Expire, Numbered, Seqs};
use crate::ledger::Slots;
use crate::model::limits::{EFFECTS_PER_APPLY_MAX, EXPIRIES_PER_CALL_MAX, UNITS_PER_CALL_MAX};
use crate::model::outcome::{GrantView, Misuse, State};
use crate::numbers::UnitList;
use crate::request::Now;
use crate::Sale;

/// Numbers of due holds that a call may still expire.
#[derive(Clone, Copy)]
pub(crate) struct Expiries {
    /// The user's own holds.
    pub(crate) own: u32,
    /// Holds of others, for the call itself and for waiters.
    pub(crate) others: u32,
    /// Unit numbers that the expiries may free, in a sale whose units have numbers.
    pub(crate) units: u32,
}

impl Expiries {
    pub(crate) const OF_A_CALL: Expiries = Expiries {
        own: EXPIRIES_PER_CALL_MAX as u32,
        others: EXPIRIES_PER_CALL_MAX as u32,
        units: UNITS_PER_CALL_MAX,
    };
}

/// The changes of a sale decided at one time, step by step. Each change is drafted when it is
/// added, so that the next decision sees the sale after it.
#[derive(Clone)]
pub(crate) struct Planning<'s, 'a> {
    /// The sale as it would stand.
    pub(crate) draft: Draft<'s>,
    /// The changes so far, in order.
    pub(crate) changes: Changes<'a>,
    /// The slots of the only new grant, if it was looked up.
    pub(crate) new_grant: Option<Slots>,
    /// Whether waiters were served already.
    pub(crate) is_served: bool,
    /// Due holds that the call may still expire. The plan's own numbers are not yet subtracted from
    /// `own` and `units`.
    pub(crate) left: Expiries,
    now: Now,
}

impl<'s, 'a> Planning<'s, 'a> {
    /// A plan without changes.
    #[inline]
    pub(crate) fn of(sale: &'s Sale, now: &Now) -> Planning<'s, 'a> {
        let (draft, changes, left) = (Draft::of(sale), Changes::new(), Expiries::OF_A_CALL);
        Planning { draft, changes, new_grant: None, is_served: false, left, now: *now }
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

    /// The offers and drops among the effects from index `from` on.
    pub(crate) fn of_list(&self, from: usize) -> impl Iterator<Item = Effect<'static>> + '_ {
        self.changes().iter().skip(from).filter_map(|change| match change.effect {
            Effect::Offer(offer) => Some(offer.into()),
            // The unit numbers are chosen again later, because a grant that comes first may take
            // some.
            Effect::OfferNumbered(ref offer) => Some(offer.of.into()),
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
            change.epoch =
                (sale.node_epoch != now.node_epoch).then(|| sale.next_epoch(now.node_epoch));
        }
        let begun = self.draft.begin(change.elapsed_ms, change.epoch);
        let drafted = begun.and_then(|()| change.effect.plan(&mut self.draft));
        drafted.map_err(|_| Misuse::Exhausted)?;
        self.changes.push(change);
        Ok(())
    }

    /// Adds a grant of `qty` units, which belongs to `slots`; see [`Planning::push_units`].
    /// Returns the grant as it would stand.
    #[inline(always)]
    pub(crate) fn push_new<E>(
        &mut self,
        effect: E,
        qty: u64,
        these: Option<UnitList>,
        slots: Slots,
    ) -> Result<GrantView, Misuse>
    where
        Effect<'a>: From<E> + From<Box<Numbered<E>>>,
    {
        self.new_grant = Some(slots);
        self.push_units(effect, qty, these)?;
        self.draft.about.ok_or(Misuse::Exhausted)
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

    /// Adds an offer or a drop that a look ahead has decided.
    pub(crate) fn push_ahead(&mut self, effect: Effect<'a>) -> Result<(), Misuse> {
        let Effect::Offer(offer) = effect else { return self.push(effect) };
        let qty = self.draft.waiter(offer.ticket).map_or(0, |waiter| waiter.qty);
        self.push_units(offer, qty, None)
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

    /// Adds an effect that makes a grant of `qty` units. If units have numbers, the grant gets
    /// `these` numbers, or the lowest ones.
    #[inline]
    pub(crate) fn push_units<E>(
        &mut self,
        effect: E,
        qty: u64,
        these: Option<UnitList>,
    ) -> Result<(), Misuse>
    where
        Effect<'a>: From<E> + From<Box<Numbered<E>>>,
    {
        if self.sale().numbers().is_none() {
            return self.push(effect);
        }
        let units = these.unwrap_or_else(|| self.draft.lowest_units(qty));
        self.push(Box::new(Numbered { units, of: effect }))
    }

    /// Whether the next due hold, `seq`, would give back more numbers than the call may, together
    /// with those of the plan.
    pub(crate) fn frees_too_many(&self, seq: u64) -> bool {
        let is_numbered = self.sale().numbers().is_some();
        let freed = || self.draft.freed_units() + self.draft.units_of(seq).len() as u32;
        is_numbered && freed() > self.left.units
    }

    /// Whether the call may expire this due hold of another user, which then counts.
    pub(crate) fn may_expire(&mut self, seq: u64) -> bool {
        let may = self.left.others > 0 && !self.frees_too_many(seq);
        self.left.others -= u32::from(may);
        may
    }
}
