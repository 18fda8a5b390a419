//! Changing a sale. A change is checked on a copy of the numbers first, then made; on a primary the
//! check can't fail, on a replica or in a log it guards against what is broken or hostile.

use super::core::Core;
use super::effect::{Change, Effect, Granting};
use super::ledger::{HashKey, NewGrant};
use super::limits::{EFFECTS_PER_APPLY_MAX, INTEGER_MAX, REQ_BYTES_MAX, USER_BYTES_MAX};
use super::outcome::{Refused, State};
use super::restocks::Restocked;
use super::snapshot;
use super::Sale;

impl Sale {
    /// Makes a sale from the change that begins it: an INIT, or the base of a rewritten log.
    /// `key` keys the index's hash. Refused when the change is another one or breaks the law.
    pub fn create(change: &Change<'_>, key: HashKey) -> Result<Sale, Refused> {
        match &change.effect {
            Effect::Init { id, secret, supply, terms } => {
                let mut core = Core { supply: *supply, available: *supply, ..Core::default() };
                terms.check().map_err(|_| Refused::Law)?;
                core.advance(change)?;
                if !core.is_lawful() {
                    return Err(Refused::Law);
                }
                let mut sale = Sale::blank(*id, *secret, terms.clone(), key);
                sale.told_supply = *supply;
                sale.created_at = core.t;
                sale.core = core;
                Ok(sale)
            }
            Effect::Base(piece) => snapshot::read_base(piece, key).map(|(sale, _)| sale),
            _ => Err(Refused::Place),
        }
    }

    /// Applies changes that were decided here, on this primary, in the run `run`.
    pub fn commit(&mut self, changes: &[Change<'_>], run: u64) {
        for change in changes {
            let applied = self.apply(change);
            debug_assert_eq!(applied, Ok(()), "a decided change applies: {change:?}");
            // Its first change in a run brought the epoch; without one there is none yet.
            self.run = run;
        }
    }

    /// Marks a sale that was just created by an INIT decided here.
    pub fn created_in(mut self, run: u64) -> Sale {
        self.run = run;
        self
    }

    /// Applies what a primary or a log decided: all of it, or nothing when any part is refused.
    /// `version` is the one that the first change follows.
    pub fn apply_replicated(
        &mut self,
        version: u64,
        changes: &[Change<'_>],
    ) -> Result<(), Refused> {
        if version != self.core.version {
            return Err(Refused::Gap);
        }
        if changes.len() > EFFECTS_PER_APPLY_MAX {
            return Err(Refused::Law);
        }
        // One change is checked by applying it; more are tried on a copy of the numbers first.
        if let [change] = changes {
            return self.apply(change);
        }
        let mut trial = self.core;
        for (place, change) in changes.iter().enumerate() {
            self.check(change, &trial)?;
            if is_entangled(&changes[..place], change) {
                return Err(Refused::Law);
            }
            trial.advance(change)?;
        }
        changes.iter().try_for_each(|change| self.apply(change))
    }

    /// Applies one change, or refuses it and changes nothing.
    pub fn apply(&mut self, change: &Change<'_>) -> Result<(), Refused> {
        self.check(change, &self.core)?;
        let mut core = self.core;
        core.advance(change)?;
        match &change.effect {
            Effect::Grant(grant) => self.record_grant(grant, &core),
            Effect::Restock { req, delta, applied } => {
                let (delta, applied, available) = (*delta, *applied, core.available);
                self.restocks.push(Restocked { req: (*req).into(), delta, applied, available });
            }
            Effect::Pause => self.paused = true,
            Effect::Resume => self.paused = false,
            Effect::Alter(terms) => self.terms = self.terms.altered(terms),
            Effect::RestockIds(piece) => snapshot::read_restocks(self, piece, &core)?,
            Effect::Rows(piece) => snapshot::read_rows(self, piece, &mut core)?,
            Effect::Init { .. } | Effect::Base(_) => return Err(Refused::Place),
        }
        self.core = core;
        debug_assert!(self.core.is_lawful());
        debug_assert_eq!(self.core.grants, self.ledger.len());
        Ok(())
    }

    /// What the numbers alone can't tell of a change. `core` is where the sale stands before it.
    fn check(&self, change: &Change<'_>, core: &Core) -> Result<(), Refused> {
        let lawful = match &change.effect {
            Effect::Grant(grant) => {
                (1..=USER_BYTES_MAX).contains(&grant.user.len())
                    && grant.qty <= INTEGER_MAX
                    && grant.req.is_none_or(|req| {
                        is_req(req.id) && self.ledger.by_req(grant.user, req.id).is_none()
                    })
            }
            Effect::Restock { req, .. } => is_req(req) && self.restocks.find(req).is_none(),
            Effect::Alter(terms) => self.terms.altered(terms).check().is_ok(),
            // A piece moves many rows at once: it comes alone, so that it is checked as it is read.
            Effect::RestockIds(_) | Effect::Rows(_) => core.version == self.core.version,
            Effect::Init { .. } | Effect::Base(_) => return Err(Refused::Place),
            Effect::Pause | Effect::Resume => true,
        };
        if lawful {
            Ok(())
        } else {
            Err(Refused::Law)
        }
    }

    fn record_grant(&mut self, grant: &Granting<'_>, core: &Core) {
        let new = NewGrant {
            user: grant.user,
            req: grant.req,
            qty: grant.qty,
            state: State::Sold,
            at: core.t,
            held_until: 0,
            epoch: core.epoch,
        };
        self.ledger.forget_announced_epochs();
        self.ledger.push(&new, grant.found);
        self.tallies.granted += 1;
    }
}

fn is_req(id: &[u8]) -> bool {
    (1..=REQ_BYTES_MAX).contains(&id.len())
}

/// Whether `change` can't be checked before `earlier` are made: one uses its request id, or both
/// change the terms, or one is a piece.
fn is_entangled(earlier: &[Change<'_>], change: &Change<'_>) -> bool {
    earlier.iter().any(|before| match (&before.effect, &change.effect) {
        (Effect::Grant(one), Effect::Grant(two)) => {
            one.user == two.user
                && one.req.is_some_and(|req| two.req.is_some_and(|other| req.id == other.id))
        }
        (Effect::Restock { req, .. }, Effect::Restock { req: other, .. }) => req == other,
        // Terms are checked against those in force, which an earlier ALTER would change.
        (Effect::Alter(_), Effect::Alter(_)) => true,
        (_, Effect::RestockIds(_) | Effect::Rows(_)) => true,
        (Effect::RestockIds(_) | Effect::Rows(_), _) => true,
        _ => false,
    })
}
