//! Decides CONFIRM, CANCEL, EXTEND and REFUND.

use crate::codec::effect::Effect;
use crate::decide::Expiries;
use crate::ledger::{Grant, Lookup};
use crate::model::outcome::{GrantView, Misuse, Outcome, State};
use crate::plan::Planning;
use crate::request::{Deed, Settle, Which};
use crate::Sale;

impl Sale {
    pub(super) fn judge_settle<'a>(
        &self,
        settle: &Settle<'a>,
        plan: &mut Planning<'_, 'a>,
    ) -> Result<Outcome, Misuse> {
        let t = plan.t();
        let found = self.ledger.find(settle.user);
        let own_left = plan.expire_own(settle.user, &found, Expiries::OF_A_CALL.own)?;
        let Some(grant) = self.which(settle, &found)? else {
            return self.judge_unknown(settle, plan);
        };
        let stands = grant.view_at(t);
        let settled = |state| GrantView { state, deadline: 0, ..stands };
        let stands = match (settle.deed, stands.state) {
            (Deed::Confirm { reclaim: true }, State::Expired) => {
                return self.judge_reclaim(&grant, own_left, plan)
            }
            (Deed::Confirm { .. }, State::Held) => settled(State::Sold),
            (Deed::Cancel, State::Held) => settled(State::Cancelled),
            (Deed::Refund, State::Sold) => settled(State::Refunded),
            (Deed::Extend { ms }, State::Held) if t + ms > stands.deadline => {
                plan.push(Effect::Extend { seq: stands.seq, ms })?;
                return Ok(Outcome::Stands(GrantView { deadline: t + ms, ..stands }));
            }
            _ => return Ok(Outcome::Stands(stands)),
        };
        plan.push(Effect::Settle { seq: stands.seq, to: stands.state })?;
        Ok(Outcome::Stands(stands))
    }

    /// Seq of the requested grant; `None` if this user has no such grant.
    fn which(&self, settle: &Settle<'_>, found: &Lookup) -> Result<Option<Grant<'_>>, Misuse> {
        let seq = match settle.which {
            Which::Seq(seq) => Some(seq),
            Which::Req(req) => self.by_req_of(settle.user, found, req),
            Which::Only => self.only_grant(settle.user)?,
        };
        let grant = seq.and_then(|seq| self.grant(seq));
        Ok(grant.filter(|grant| grant.user == settle.user))
    }

    /// Seq of the user's only kept grant, in any round.
    fn only_grant(&self, user: &[u8]) -> Result<Option<u64>, Misuse> {
        let mut grants = self.grants_of(user);
        match (grants.next(), grants.next()) {
            (Some(_), Some(_)) => Err(Misuse::Ambiguous),
            (only, _) => Ok(only.map(|grant| grant.seq)),
        }
    }

    /// The grant is unknown. A CANCEL that arrives before its GRAB leaves a fence.
    fn judge_unknown<'a>(
        &self,
        settle: &Settle<'a>,
        plan: &mut Planning<'_, 'a>,
    ) -> Result<Outcome, Misuse> {
        let (Deed::Cancel, Which::Req(req)) = (settle.deed, settle.which) else {
            return Ok(Outcome::NoGrant);
        };
        let t = plan.t();
        let waiter = self.waiting_at(settle.user, t).filter(|waiter| waiter.req == req);
        if let Some(waiter) = waiter {
            plan.push(Effect::Leave { ticket: waiter.ticket })?;
        }
        if !self.fences.stands(settle.user, req, t) {
            plan.push(Effect::Fence { user: settle.user, req })?;
        }
        Ok(Outcome::Fenced)
    }

    /// A late payment. The units are taken again if they are available and the user's limit allows
    /// it; otherwise the grant is forfeited, so that the refund is certain. `own_left`: more of the
    /// user's own holds are due.
    fn judge_reclaim(
        &self,
        grant: &Grant<'_>,
        own_left: bool,
        plan: &mut Planning<'_, '_>,
    ) -> Result<Outcome, Misuse> {
        let (seq, qty) = (grant.seq, grant.qty);
        let is_left = grant.is_due(plan.t()) && !plan.draft.has_moved(seq);
        if own_left && (is_left || self.terms.limits_users()) {
            return Ok(Outcome::ManyOwnEnding);
        }
        // An older round has its own numbers and limits.
        let ledger = self.ledger_with(seq);
        let holding = plan.draft.holding(ledger, grant.user, &ledger.find(grant.user));
        let balances = plan.draft.numbers_of(seq);
        // More units than can become available are refused at once.
        let permitted = self.allowance(&holding).is_none_or(|allowance| qty <= allowance)
            && qty <= balances.available + balances.held;
        let most = Expiries::OF_A_CALL.others;
        let is_free = |plan: &Planning<'_, '_>| plan.draft.can_retake(seq, qty);
        if permitted && plan.expire_until(ledger, most, is_free)? {
            return Ok(Outcome::ManyEnding);
        }
        let (effect, state) = match permitted && is_free(plan) {
            true => (Effect::Reclaim { seq }, State::Sold),
            false => (Effect::Settle { seq, to: State::Forfeited }, State::Expired),
        };
        plan.push(effect)?;
        Ok(Outcome::Stands(GrantView { seq, qty, state, deadline: 0 }))
    }
}
