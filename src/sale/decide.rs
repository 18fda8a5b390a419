//! Judging a request. Nothing here changes a sale: the answer is an outcome and, when something is
//! to happen, the changes that make it so.

use smallvec::SmallVec;

use super::effect::{Change, Effect, Granting};
use super::ledger::Holding;
use super::limits::{GRANTS_MAX, INTEGER_MAX, TIME_MS_MAX};
use super::outcome::{Misuse, Outcome, Standing, State};
use super::record::{Asked, ReqTag};
use super::request::{Amount, Grab, Init, Now, Request, Restock};
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
    fn refuse(outcome: Outcome) -> Self {
        Decision { outcome, changes: SmallVec::new() }
    }

    fn misuse(misuse: Misuse) -> Self {
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
        }
    }

    /// The T that a request is judged by: never before the last change.
    pub fn time(&self, now: &Now) -> u64 {
        now.clock_ms.max(self.core.t)
    }

    fn change<'a>(&self, outcome: Outcome, effect: Effect<'a>, now: &Now) -> Decision<'a> {
        let (t, epoch) = (self.time(now), self.next_epoch(now));
        // Applying would refuse these, after the outcome was told.
        if t > TIME_MS_MAX || self.core.version >= INTEGER_MAX || epoch > Some(INTEGER_MAX) {
            return Decision::misuse(Misuse::Exhausted);
        }
        let change = Change { elapsed_ms: t - self.core.t, epoch, effect };
        Decision { outcome, changes: SmallVec::from_iter([change]) }
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

    /// What LIMIT and GRABS still leave a user; `None` when neither limits him.
    pub fn allowance(&self, holding: &Holding) -> Option<u64> {
        let terms = &self.terms;
        if terms.grabs != 0 && u64::from(holding.live_grants) >= terms.grabs {
            return Some(0);
        }
        (terms.limit != 0).then(|| terms.limit.saturating_sub(holding.live_units))
    }

    /// The window, as `outcome` would refuse it at `t`.
    fn window(&self, t: u64) -> Option<Outcome> {
        if t < self.terms.open_at {
            return Some(Outcome::NotOpen { in_ms: self.terms.open_at - t });
        }
        (self.terms.close_at != 0 && t >= self.terms.close_at).then_some(Outcome::Closed)
    }

    fn decide_grab<'a>(&self, grab: &Grab<'a>, now: &Now) -> Decision<'a> {
        if let Some(decision) = grab.req.and_then(|req| self.decide_replay(grab, req)) {
            return decision;
        }
        let found = self.ledger.find(grab.user);
        let holding = self.ledger.holding(&found);
        let allowance = self.allowance(&holding);
        if allowance == Some(0) {
            if let Some(newest) = self.ledger.grant(holding.newest_live.into()) {
                return Decision::refuse(Outcome::Already(newest.standing()));
            }
        }
        if let Some(outcome) = self.window(self.time(now)) {
            return Decision::refuse(outcome);
        }
        if self.paused {
            return Decision::refuse(Outcome::Paused);
        }
        let qty = match self.fit(grab.amount, allowance) {
            Ok(qty) => qty,
            Err(outcome) => return Decision::refuse(outcome),
        };
        if self.core.grants >= GRANTS_MAX {
            return Decision::misuse(Misuse::GrantsFull);
        }
        let asked = match grab.amount {
            Amount::Exactly(_) => Asked::Exactly,
            Amount::UpTo(_) => Asked::UpTo,
        };
        let req = grab.req.map(|id| ReqTag { id, asked });
        let granting = Granting { user: grab.user, req, qty, found: Some(found) };
        let available = self.core.available - qty;
        let grant = Standing { seq: self.core.grants + 1, qty, state: State::Sold, deadline: 0 };
        self.change(Outcome::Granted { grant, available }, Effect::Grant(granting), now)
    }

    fn decide_replay<'a>(&self, grab: &Grab<'a>, req: &[u8]) -> Option<Decision<'a>> {
        let seq = self.ledger.by_req(grab.user, req)?;
        let grant = self.ledger.grant(seq)?;
        let same = match (grab.amount, grant.req?.asked) {
            (Amount::Exactly(qty), Asked::Exactly) => qty == grant.qty,
            (Amount::UpTo(_), Asked::UpTo) => true,
            _ => false,
        };
        Some(match same {
            true => Decision::refuse(Outcome::Replay(grant.standing())),
            false => Decision::misuse(Misuse::ReqMismatch),
        })
    }

    /// How many units this amount comes to under the allowance and the stock.
    fn fit(&self, amount: Amount, allowance: Option<u64>) -> Result<u64, Outcome> {
        let allowance = allowance.unwrap_or(u64::MAX);
        let (available, held) = (self.core.available, self.core.held);
        match amount {
            Amount::Exactly(qty) if qty > allowance => Err(Outcome::OverLimit { allowance }),
            _ if available == 0 => Err(Outcome::SoldOut { held }),
            Amount::Exactly(qty) if qty > available => Err(Outcome::Short { available }),
            Amount::Exactly(qty) => Ok(qty),
            Amount::UpTo(qty) => Ok(qty.min(allowance).min(available)),
        }
    }
}
