//! Holds whose time is over: which of them a request lets expire before it is judged.

use std::borrow::Cow;

use crate::codec::effect::{Change, Changes, Effect, Seqs};
use crate::ledger::{Grant, Holding, Ledger, Lookup};
use crate::model::balances::Balances;
use crate::model::limits::{EFFECTS_PER_APPLY_MAX, EXPIRIES_PER_CALL_MAX};
use crate::model::outcome::State;
use crate::state::rounds::RoundView;
use crate::Sale;

/// What comes before a decision's own effect: due holds that it lets expire, and a first admission.
pub(crate) struct DueHolds<'s, 'a> {
    pub seqs: Seqs,
    /// The numbers once the holds have expired. Mostly none is due: then they are the sale's own.
    pub balances: Cow<'s, Balances>,
    /// Deadline and seq of the last of the user's own holds among them.
    own_to: (u64, u32),
    /// Whether more of the user's own holds are due.
    pub own_left: bool,
    /// The user whom ADMIT lets in by this call.
    pub admits: Option<&'a [u8]>,
}

impl<'s, 'a> DueHolds<'s, 'a> {
    /// No holds yet, in a sale that stands at `balances`.
    #[inline]
    pub(crate) fn none(balances: &'s Balances) -> Self {
        Self::of(Seqs::new(), balances)
    }

    /// These holds, in a sale that stands at `balances`.
    #[inline]
    pub(crate) fn of(seqs: Seqs, balances: &'s Balances) -> Self {
        let balances = Cow::Borrowed(balances);
        DueHolds { seqs, balances, own_to: (0, 0), own_left: false, admits: None }
    }

    /// Whether this hold of the user's own is not among them.
    pub(crate) fn leaves(&self, grant: &Grant<'_>) -> bool {
        (grant.held_until, grant.seq as u32) > self.own_to
    }

    /// Whether nothing comes before.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.seqs.is_empty() && self.admits.is_none()
    }

    /// All of it as changes, and then `effect`.
    #[cold]
    pub(crate) fn changes(&self, effect: Option<Effect<'a>>) -> Changes<'a> {
        let expiries = self.seqs.chunks(EFFECTS_PER_APPLY_MAX);
        let expiries = expiries.map(|seqs| Effect::Expire(Seqs::from_slice(seqs)));
        let admission = self.admits.map(|user| Effect::Admit { user });
        expiries.chain(admission).chain(effect).map(Change::untimed).collect()
    }

    /// Adds a hold of the round whose numbers these are.
    fn add(&mut self, ledger: &Ledger, seq: u32) {
        if let Some(grant) = ledger.grant(seq.into()) {
            let moved = self.balances.to_mut().transfer(grant.qty, State::Held, State::Expired);
            debug_assert_eq!(moved, Ok(()), "held units are counted as held");
            self.seqs.push(seq.into());
        }
    }

    /// The same holds with the numbers of `round` instead, once those of them that are of that
    /// round have expired.
    pub(crate) fn switch_to(&mut self, round: &RoundView<'s>) {
        self.balances = Cow::Borrowed(round.balances);
        for grant in self.seqs.iter().filter_map(|seq| round.ledger.grant(*seq)) {
            let moved = self.balances.to_mut().transfer(grant.qty, State::Held, State::Expired);
            debug_assert_eq!(moved, Ok(()), "held units are counted as held");
        }
    }
}

impl Sale {
    /// Lets the user's own due holds expire: they go before anything is judged, the earliest first.
    /// Of very many a call writes a part.
    #[inline]
    pub(crate) fn expire_own(
        &self,
        due: &mut DueHolds<'_, '_>,
        user: &[u8],
        found: &Lookup,
        t: u64,
    ) {
        let may_have = !found.is_vacant() && self.ledger.holds().are_due(t);
        if may_have || self.extras.is_some() {
            self.add_own_due(due, user, found, t);
        }
    }

    #[cold]
    fn add_own_due(&self, due: &mut DueHolds<'_, '_>, user: &[u8], found: &Lookup, t: u64) {
        let ledgers = self.older().map(|old| &old.ledger).filter(|its| its.holds().are_due(t));
        let older = ledgers.map(|ledger| {
            ledger.due_of(&ledger.find_at(user, found.hash()), t, EXPIRIES_PER_CALL_MAX + 1)
        });
        let mut own = self.ledger.due_of(found, t, EXPIRIES_PER_CALL_MAX + 1);
        older.for_each(|its| own.extend(its));
        own.sort_unstable();
        due.own_left = own.len() > EXPIRIES_PER_CALL_MAX;
        own.truncate(EXPIRIES_PER_CALL_MAX);
        due.own_to = own.last().copied().unwrap_or_default();
        for (_, seq) in own {
            match self.ledger.has(seq.into()) {
                true => due.add(&self.ledger, seq),
                // Those of an older round move that round's numbers.
                false => due.seqs.push(seq.into()),
            }
        }
    }

    /// Lets due holds of others than `user` expire, the earliest first, until there is `enough`.
    /// Their own have expired before, or most of them.
    #[inline]
    pub(crate) fn expire_until(
        &self,
        ledger: &Ledger,
        due: &mut DueHolds<'_, '_>,
        user: &[u8],
        t: u64,
        mut enough: impl FnMut(&DueHolds<'_, '_>) -> bool,
    ) {
        if enough(due) || !ledger.holds().are_due(t) {
            return;
        }
        for (_, seq) in ledger.holds().due(t) {
            if enough(due) {
                break;
            }
            let is_new = |grant: Grant<'_>| grant.user != user || due.leaves(&grant);
            if ledger.grant(seq.into()).is_some_and(is_new) {
                due.add(ledger, seq);
            }
        }
    }

    /// What the user has once `expired` are gone.
    #[inline]
    pub(crate) fn holding_after(
        &self,
        ledger: &Ledger,
        found: &Lookup,
        expired: &[u64],
    ) -> Holding {
        let mut holding = ledger.holding(found);
        for grant in expired.iter().filter_map(|seq| ledger.grant(*seq)) {
            holding.live_units = holding.live_units.saturating_sub(grant.qty);
            holding.live_grants = holding.live_grants.saturating_sub(1);
        }
        holding
    }
}
