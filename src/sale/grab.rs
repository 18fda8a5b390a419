//! Judging a GRAB, in the order that the contract gives.

use super::core::{Core, Stock};
use super::decide::Decision;
use super::effect::{Effect, Granting, Seqs};
use super::ledger::{Found, Holding};
use super::limits::GRANTS_MAX;
use super::outcome::{Misuse, Outcome, Standing, State};
use super::record::{Asked, ReqTag};
use super::request::{Amount, Grab, Now};
use super::Sale;

/// A fence, as a late GRAB is told of it: cancelled before it was granted.
const FENCED: Standing = Standing { seq: 0, qty: 0, state: State::Cancelled, deadline: 0 };

/// Holds that a decision lets expire, and the numbers after it.
pub(super) struct Lapse {
    pub seqs: Seqs,
    pub core: Core,
}

impl Lapse {
    fn add(&mut self, sale: &Sale, seq: u32) {
        if let Some(grant) = sale.ledger.grant(seq.into()) {
            let moved = self.core.transfer(grant.qty, State::Held, State::Expired);
            debug_assert_eq!(moved, Ok(()), "held units are counted as held");
            self.seqs.push(seq.into());
        }
    }
}

impl Sale {
    /// The user's own holds that are due: they go before anything is judged.
    pub(super) fn lapse_of(&self, found: &Found, t: u64) -> Lapse {
        let mut lapse = Lapse { seqs: Seqs::new(), core: self.core };
        if self.ledger.holds().next_deadline().is_some_and(|deadline| deadline <= t) {
            self.ledger.due_of(found, t).into_iter().for_each(|seq| lapse.add(self, seq));
        }
        lapse
    }

    /// Lets due holds of others than `user` expire, the earliest first, until `units` are
    /// available. His own have lapsed before.
    pub(super) fn lapse_until(&self, lapse: &mut Lapse, units: u64, user: &[u8], t: u64) {
        for seq in self.ledger.holds().due(t) {
            if lapse.core.available >= units {
                break;
            }
            if self.ledger.grant(seq.into()).is_some_and(|grant| grant.user != user) {
                lapse.add(self, seq);
            }
        }
    }

    /// What the user has once `lapsed` are gone.
    pub(super) fn holding_after(&self, found: &Found, lapsed: &[u64]) -> Holding {
        let mut holding = self.ledger.holding(found);
        for grant in lapsed.iter().filter_map(|seq| self.ledger.grant(*seq)) {
            holding.live_units = holding.live_units.saturating_sub(grant.qty);
            holding.live_grants = holding.live_grants.saturating_sub(1);
        }
        holding
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

    /// Whether the clock makes no difference to a GRAB: nothing is left, nothing can come back by
    /// itself, and nothing opens, closes or lapses. Sold-out sales get the most calls, and reading
    /// the clock would be a twentieth of the cost of one.
    pub fn is_timeless(&self) -> bool {
        self.core.stock() == Stock::SoldOut
            && self.terms.open_at == 0
            && self.terms.close_at == 0
            && self.fences.is_empty()
    }

    pub(super) fn decide_grab<'a>(&self, grab: &Grab<'a>, now: &Now) -> Decision<'a> {
        let t = self.time(now);
        let found = self.ledger.find(grab.user);
        let mut lapse = self.lapse_of(&found, t);
        let judged = match grab.req.and_then(|req| self.judge_replay(grab, req, t)) {
            Some(outcome) => Err(outcome),
            None => self.judge_grab(grab, &found, &mut lapse, t),
        };
        let qty = match judged {
            Ok(qty) => qty,
            Err(Outcome::Misuse(misuse)) => return Decision::misuse(misuse),
            Err(outcome) => return self.change_after(&lapse.seqs, outcome, None, now),
        };
        let asked = match grab.amount {
            Amount::Exactly(_) => Asked::Exactly,
            Amount::UpTo(_) => Asked::UpTo,
        };
        let req = grab.req.map(|id| ReqTag { id, asked });
        let hold_ms = self.terms.hold_ms;
        let granting = Granting { user: grab.user, req, qty, hold_ms, found: Some(found) };
        let (state, deadline) = granting.state_at(t);
        let available = lapse.core.available - qty;
        let grant = Standing { seq: self.core.grants + 1, qty, state, deadline };
        let outcome = Outcome::Granted { grant, available };
        self.change_after(&lapse.seqs, outcome, Some(Effect::Grant(granting)), now)
    }

    /// How many units the user gets, or what he is told instead.
    fn judge_grab(
        &self,
        grab: &Grab<'_>,
        found: &Found,
        lapse: &mut Lapse,
        t: u64,
    ) -> Result<u64, Outcome> {
        let allowance = self.allowance(&self.holding_after(found, &lapse.seqs));
        if allowance == Some(0) {
            if let Some(newest) = self.ledger.newest_live(found, t) {
                return Err(Outcome::Already(newest.standing()));
            }
        }
        if let Some(outcome) = self.window(t) {
            return Err(outcome);
        }
        if self.paused {
            return Err(Outcome::Paused);
        }
        let wanted = self.wanted(grab.amount, allowance)?;
        self.lapse_until(lapse, wanted, grab.user, t);
        let qty = fit(grab.amount, wanted, &lapse.core)?;
        if self.core.grants >= GRANTS_MAX {
            return Err(Outcome::Misuse(Misuse::GrantsFull));
        }
        Ok(qty)
    }

    /// What a request id that is known is told: its grant as it stands at `t`.
    fn judge_replay(&self, grab: &Grab<'_>, req: &[u8], t: u64) -> Option<Outcome> {
        let Some(grant) = self.ledger.by_req(grab.user, req).and_then(|seq| self.ledger.grant(seq))
        else {
            let fenced = self.fences.stands(grab.user, req, t);
            return fenced.then_some(Outcome::Replay(FENCED));
        };
        let same = match (grab.amount, grant.req?.asked) {
            (Amount::Exactly(qty), Asked::Exactly | Asked::Either) => qty == grant.qty,
            (Amount::UpTo(_), Asked::UpTo | Asked::Either) => true,
            (Amount::Exactly(_), Asked::UpTo) | (Amount::UpTo(_), Asked::Exactly) => false,
        };
        if !same {
            return Some(Outcome::Misuse(Misuse::ReqMismatch));
        }
        Some(Outcome::Replay(grant.standing_at(t)))
    }

    /// How many units this amount asks for under the allowance.
    fn wanted(&self, amount: Amount, allowance: Option<u64>) -> Result<u64, Outcome> {
        let allowance = allowance.unwrap_or(u64::MAX);
        match amount {
            Amount::Exactly(qty) if qty > allowance => Err(Outcome::OverLimit { allowance }),
            Amount::Exactly(qty) => Ok(qty),
            Amount::UpTo(qty) => Ok(qty.min(allowance)),
        }
    }
}

/// How many of the units `wanted` the stock allows.
fn fit(amount: Amount, wanted: u64, core: &Core) -> Result<u64, Outcome> {
    let (available, held) = (core.available, core.held);
    match amount {
        _ if available == 0 => Err(Outcome::SoldOut { held }),
        Amount::Exactly(_) if wanted > available => Err(Outcome::Short { available }),
        Amount::Exactly(_) => Ok(wanted),
        Amount::UpTo(_) => Ok(wanted.min(available)),
    }
}
