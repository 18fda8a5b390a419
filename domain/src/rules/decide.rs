//! Judging a request. Nothing here changes a sale: the answer is an outcome and, when something is
//! to happen, the plan of it.

use crate::codec::effect::{Change, Changes, Effect, Seqs, Start};
use crate::model::limits::{EFFECTS_PER_APPLY_MAX, INTEGER_MAX, REV_LAST, TIME_MS_MAX};
use crate::model::outcome::{Misuse, Outcome};
use crate::plan::{Places, Plan};
use crate::request::terms::TermsChange;
use crate::request::{Init, Now, Request, Restock};
use crate::rules::grab::DueHolds;
use crate::Sale;

/// What a request comes to.
#[derive(Debug)]
pub struct Decision<'a> {
    pub outcome: Outcome,
    /// `None` when nothing happens: then nothing is replicated, signalled or told.
    pub plan: Option<Plan<'a>>,
}

impl<'a> Decision<'a> {
    /// What changes.
    pub fn changes(&self) -> &[Change<'a>] {
        self.plan.as_ref().map_or(&[], |plan| &plan.changes)
    }

    pub(crate) fn refuse(outcome: Outcome) -> Self {
        Decision { outcome, plan: None }
    }

    pub(crate) fn misuse(misuse: Misuse) -> Self {
        Self::refuse(Outcome::Misuse(misuse))
    }
}

/// Judges an INIT on a key that holds no sale.
pub fn decide_new(init: &Init, now: &Now) -> Decision<'static> {
    if let Err(misuse) = check_init(init) {
        return Decision::misuse(misuse);
    }
    let effect = Effect::Init(Box::new(Start {
        id: init.id,
        secret: init.secret,
        supply: init.supply,
        terms: init.terms.clone(),
        amounts: init.amounts.clone(),
    }));
    let change = Change { elapsed_ms: now.clock_ms, epoch: Some(now.run), effect };
    match Plan::first(change, Some(now.run)) {
        Ok(plan) => Decision { outcome: Outcome::Done, plan: Some(plan) },
        // What it promises was checked: only the clock can be beyond its bound.
        Err(_) => Decision::misuse(Misuse::Exhausted),
    }
}

/// Whether a sale can keep what this INIT promises.
fn check_init(init: &Init) -> Result<(), Misuse> {
    init.terms.check()?;
    match &init.terms.draw {
        Some(draw) => draw.check(init.supply, &init.amounts),
        None => Ok(()),
    }
}

impl Sale {
    /// Judges a request. Reads only; `now` is the one moment it is judged by.
    #[inline]
    pub fn decide<'a>(&self, request: &Request<'a>, now: &Now) -> Decision<'a> {
        if self.awaits > 0 {
            return Decision::misuse(Misuse::Incomplete);
        }
        if let Some(decision) = self.decide_round(now) {
            return decision;
        }
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
            Request::List(change) => self.decide_list(change, now),
        }
    }

    /// Judges nothing but the clock: the round that begins, when the stored one is over. Its
    /// change comes alone, before anything else is judged.
    #[inline]
    pub fn decide_round<'a>(&self, now: &Now) -> Option<Decision<'a>> {
        // Most sales have no rounds.
        self.terms.schedule.as_ref()?;
        self.decide_next_round(now)
    }

    fn decide_next_round<'a>(&self, now: &Now) -> Option<Decision<'a>> {
        let next = self.next_round(now).filter(|_| self.awaits == 0)?;
        Some(self.change(Outcome::NextRound, next, now))
    }

    /// The T that a request is judged by: never before the last change.
    pub fn time(&self, now: &Now) -> u64 {
        now.clock_ms.max(self.balances.t)
    }

    /// A decision that does `effect` alone.
    #[inline]
    pub(crate) fn change<'a>(
        &self,
        outcome: Outcome,
        effect: Effect<'a>,
        now: &Now,
    ) -> Decision<'a> {
        self.change_at(outcome, effect, None, now)
    }

    /// The same for a new grant that belongs to `places`.
    #[inline]
    pub(crate) fn change_at<'a>(
        &self,
        outcome: Outcome,
        effect: Effect<'a>,
        places: Option<Places>,
        now: &Now,
    ) -> Decision<'a> {
        let Some((elapsed_ms, epoch)) = self.stamp(now) else {
            return Decision::misuse(Misuse::Exhausted);
        };
        let changes = Changes::from_buf([Change { elapsed_ms, epoch, effect }]);
        self.decided(outcome, changes, places, now)
    }

    /// A decision that makes these changes.
    #[inline]
    fn decided<'a>(
        &self,
        outcome: Outcome,
        changes: Changes<'a>,
        places: Option<Places>,
        now: &Now,
    ) -> Decision<'a> {
        match self.plan_changes(changes, places, now.run) {
            Ok(plan) => Decision { outcome, plan: Some(plan) },
            // Some number would leave its bounds.
            Err(_) => Decision::misuse(Misuse::Exhausted),
        }
    }

    /// The time and the epoch of a command's first change; `None` when they or the versions after
    /// it are beyond their bounds.
    #[inline]
    fn stamp(&self, now: &Now) -> Option<(u64, Option<u64>)> {
        let (t, epoch) = (self.time(now), self.next_epoch(now));
        let last_version = INTEGER_MAX - EFFECTS_PER_APPLY_MAX as u64;
        let is_full = self.balances.version >= last_version || self.balances.rev > REV_LAST;
        let is_over = t > TIME_MS_MAX || is_full || epoch > Some(INTEGER_MAX);
        (!is_over).then(|| (t - self.balances.t, epoch))
    }

    /// A decision that lets `due` holds expire and then does `effect`, if any. A new grant belongs
    /// to `places`.
    #[inline]
    pub(crate) fn change_after<'a>(
        &self,
        due: &DueHolds<'a>,
        outcome: Outcome,
        effect: Option<Effect<'a>>,
        places: Option<Places>,
        now: &Now,
    ) -> Decision<'a> {
        if !due.is_empty() {
            return self.changes_after(due, outcome, effect, places, now);
        }
        // Nearly always: nothing is to be put together.
        match effect {
            Some(effect) => self.change_at(outcome, effect, places, now),
            None => Decision::refuse(outcome),
        }
    }

    #[cold]
    fn changes_after<'a>(
        &self,
        due: &DueHolds<'a>,
        outcome: Outcome,
        effect: Option<Effect<'a>>,
        places: Option<Places>,
        now: &Now,
    ) -> Decision<'a> {
        let expiries = due.seqs.chunks(EFFECTS_PER_APPLY_MAX);
        let expiries = expiries.map(|seqs| Effect::Expire(Seqs::from_slice(seqs)));
        let admission = due.admits.map(|user| Effect::Admit { user });
        self.changes(outcome, expiries.chain(admission).chain(effect), places, now)
    }

    /// A decision that does `effects`. The first change brings the time and the epoch.
    pub(crate) fn changes<'a>(
        &self,
        outcome: Outcome,
        effects: impl IntoIterator<Item = Effect<'a>>,
        places: Option<Places>,
        now: &Now,
    ) -> Decision<'a> {
        let mut changes: Changes<'a> = effects.into_iter().map(Change::piece).collect();
        let Some(first) = changes.first_mut() else { return Decision::refuse(outcome) };
        let Some((elapsed_ms, epoch)) = self.stamp(now) else {
            return Decision::misuse(Misuse::Exhausted);
        };
        (first.elapsed_ms, first.epoch) = (elapsed_ms, epoch);
        self.decided(outcome, changes, places, now)
    }

    /// Judges nothing but the clock: lets at most `most` holds expire that are due.
    pub fn decide_expiry<'a>(&self, most: usize, now: &Now) -> Decision<'a> {
        let t = self.time(now);
        let most = if self.awaits == 0 { most } else { 0 };
        let older = self.older().flat_map(|old| old.ledger.holds().due(t));
        let due = older.chain(self.ledger.holds().due(t)).take(most);
        let seqs: Seqs = due.map(|(_, seq)| seq.into()).collect();
        let due = DueHolds::of(seqs, self.balances);
        self.change_after(&due, Outcome::Done, None, None, now)
    }

    /// The epoch to write into a change: none when this run has written one already.
    fn next_epoch(&self, now: &Now) -> Option<u64> {
        (self.run != now.run).then(|| now.run.max(self.arrived_at).max(self.balances.epoch + 1))
    }

    /// INIT never resets a sale: told the same as the first time it is a retry.
    fn decide_again<'a>(&self, init: &Init) -> Decision<'a> {
        if let Err(misuse) = check_init(init) {
            return Decision::misuse(misuse);
        }
        if init.supply == self.told_supply && init.terms == *self.told_terms {
            Decision::refuse(Outcome::Done)
        } else {
            Decision::misuse(Misuse::SaleExists)
        }
    }

    fn decide_alter<'a>(&self, change: &TermsChange, now: &Now) -> Decision<'a> {
        let (wanted, set) = (&change.outbox, &self.terms.outbox);
        if wanted.is_some() && set.is_some() && wanted != set {
            return Decision::misuse(Misuse::OutboxSet);
        }
        let terms = self.terms.altered(change);
        if let Err(misuse) = terms.check() {
            return Decision::misuse(misuse);
        }
        if terms == self.terms {
            return Decision::refuse(Outcome::Done);
        }
        self.change(Outcome::Done, Effect::Alter(Box::new(change.clone())), now)
    }

    fn decide_restock<'a>(&self, restock: &Restock<'a>, now: &Now) -> Decision<'a> {
        let Restock { delta, req } = *restock;
        if self.balances.packets.is_some() {
            return Decision::misuse(Misuse::DrawFixesSupply);
        }
        if let Some(known) = self.restocks.find(req) {
            return match known.delta == delta {
                true => Decision::refuse(known.outcome()),
                false => Decision::misuse(Misuse::ReqMismatch),
            };
        }
        let balances = &self.balances;
        let (applied, available) = if delta > 0 {
            let added = delta.unsigned_abs() - balances.deficit.min(delta.unsigned_abs());
            if balances.supply + added > INTEGER_MAX {
                return Decision::misuse(Misuse::SupplyTooLarge);
            }
            (delta, balances.available + added)
        } else {
            let withdrawn = delta.unsigned_abs().min(balances.available);
            (-(withdrawn as i64), balances.available - withdrawn)
        };
        let outcome = Outcome::Restocked { applied, available };
        self.change(outcome, Effect::Restock { req, delta, applied }, now)
    }
}
