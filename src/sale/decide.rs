//! Judging a request. Nothing here changes a sale: the answer is an outcome and, when something is
//! to happen, the changes that make it so.

use smallvec::SmallVec;

use super::effect::{Change, Effect, Seqs};
use super::limits::{EFFECTS_PER_APPLY_MAX, INTEGER_MAX, REV_LAST, TIME_MS_MAX};
use super::outcome::{Misuse, Outcome};
use super::request::{Init, Now, Request, Restock};
use super::terms::TermsChange;
use super::Sale;

/// What a request comes to.
#[derive(Debug)]
pub struct Decision<'a> {
    pub outcome: Outcome,
    /// Empty when nothing happens: then nothing is replicated, signalled or told.
    pub changes: SmallVec<[Change<'a>; 1]>,
}

impl Decision<'_> {
    pub(super) fn refuse(outcome: Outcome) -> Self {
        Decision { outcome, changes: SmallVec::new() }
    }

    pub(super) fn misuse(misuse: Misuse) -> Self {
        Self::refuse(Outcome::Misuse(misuse))
    }
}

/// Judges an INIT on a key that holds no sale.
pub fn decide_new(init: &Init, now: &Now) -> Decision<'static> {
    if let Err(misuse) = init.terms.check() {
        return Decision::misuse(misuse);
    }
    let effect = Effect::Init {
        id: init.id,
        secret: init.secret,
        supply: init.supply,
        terms: init.terms.clone(),
    };
    let change = Change { elapsed_ms: now.clock_ms, epoch: Some(now.run), effect };
    Decision { outcome: Outcome::Done, changes: SmallVec::from_iter([change]) }
}

impl Sale {
    /// Judges a request. Reads only; `now` is the one moment it is judged by.
    pub fn decide<'a>(&self, request: &Request<'a>, now: &Now) -> Decision<'a> {
        match request {
            Request::Grab(grab) => self.decide_grab(grab, now),
            Request::Init(init) => self.decide_again(init),
            Request::Restock(restock) => self.decide_restock(restock, now),
            Request::Pause if self.paused => Decision::refuse(Outcome::Done),
            Request::Pause => self.change(Outcome::Done, Effect::Pause, now),
            Request::Resume if !self.paused => Decision::refuse(Outcome::Done),
            Request::Resume => self.change(Outcome::Done, Effect::Resume, now),
            Request::Alter(change) => self.decide_alter(change, now),
            Request::Settle(settle) => self.decide_settle(settle, now),
            Request::Import(import) => self.decide_import(import, now),
        }
    }

    /// The T that a request is judged by: never before the last change.
    pub fn time(&self, now: &Now) -> u64 {
        now.clock_ms.max(self.core.t)
    }

    pub(super) fn change<'a>(
        &self,
        outcome: Outcome,
        effect: Effect<'a>,
        now: &Now,
    ) -> Decision<'a> {
        self.change_after(&Seqs::new(), outcome, Some(effect), now)
    }

    /// A decision that lets `lapsed` expire and then does `effect`, if any. The first change brings
    /// the time and the epoch.
    pub(super) fn change_after<'a>(
        &self,
        lapsed: &Seqs,
        outcome: Outcome,
        effect: Option<Effect<'a>>,
        now: &Now,
    ) -> Decision<'a> {
        if lapsed.is_empty() && effect.is_none() {
            return Decision::refuse(outcome);
        }
        let expiries = lapsed.chunks(EFFECTS_PER_APPLY_MAX);
        let expiries = expiries.map(|seqs| Effect::Expire(Seqs::from_slice(seqs)));
        let mut changes: SmallVec<[Change<'a>; 1]> =
            expiries.chain(effect).map(Change::piece).collect();
        if let Some(first) = changes.first_mut() {
            let (t, epoch) = (self.time(now), self.next_epoch(now));
            // Applying would refuse these, after the outcome was told.
            let last_version = INTEGER_MAX - EFFECTS_PER_APPLY_MAX as u64;
            let is_full = self.core.version >= last_version || self.core.rev > REV_LAST;
            if t > TIME_MS_MAX || is_full || epoch > Some(INTEGER_MAX) {
                return Decision::misuse(Misuse::Exhausted);
            }
            first.elapsed_ms = t - self.core.t;
            first.epoch = epoch;
        }
        Decision { outcome, changes }
    }

    /// Judges nothing but the clock: lets at most `most` holds expire that are due.
    pub fn decide_expiry(&self, most: usize, now: &Now) -> Decision<'static> {
        let due = self.ledger.holds().due(self.time(now)).take(most);
        let lapsed: Seqs = due.map(u64::from).collect();
        self.change_after(&lapsed, Outcome::Done, None, now)
    }

    /// The epoch to write into a change: none when this run has written one already.
    fn next_epoch(&self, now: &Now) -> Option<u64> {
        (self.run != now.run).then(|| now.run.max(self.arrived_at).max(self.core.epoch + 1))
    }

    /// INIT never resets a sale: told the same as the first time it is a retry.
    fn decide_again<'a>(&self, init: &Init) -> Decision<'a> {
        if let Err(misuse) = init.terms.check() {
            return Decision::misuse(misuse);
        }
        if init.supply == self.told_supply && init.terms == self.told_terms {
            Decision::refuse(Outcome::Done)
        } else {
            Decision::misuse(Misuse::SaleExists)
        }
    }

    fn decide_alter<'a>(&self, change: &TermsChange, now: &Now) -> Decision<'a> {
        let has_outbox = self.terms.outbox.is_some();
        if has_outbox && change.outbox.is_some() && change.outbox != self.terms.outbox {
            return Decision::misuse(Misuse::OutboxSet);
        }
        let terms = self.terms.altered(change);
        if let Err(misuse) = terms.check() {
            return Decision::misuse(misuse);
        }
        if terms == self.terms {
            return Decision::refuse(Outcome::Done);
        }
        self.change(Outcome::Done, Effect::Alter(change.clone()), now)
    }

    fn decide_restock<'a>(&self, restock: &Restock<'a>, now: &Now) -> Decision<'a> {
        let Restock { delta, req } = *restock;
        if let Some(known) = self.restocks.find(req) {
            return match known.delta == delta {
                true => Decision::refuse(known.outcome()),
                false => Decision::misuse(Misuse::ReqMismatch),
            };
        }
        let core = &self.core;
        let (applied, available) = if delta > 0 {
            let added = delta.unsigned_abs() - core.deficit.min(delta.unsigned_abs());
            if core.supply + added > INTEGER_MAX {
                return Decision::misuse(Misuse::SupplyTooLarge);
            }
            (delta, core.available + added)
        } else {
            let withdrawn = delta.unsigned_abs().min(core.available);
            (-(withdrawn as i64), core.available - withdrawn)
        };
        let outcome = Outcome::Restocked { applied, available };
        self.change(outcome, Effect::Restock { req, delta, applied }, now)
    }
}
