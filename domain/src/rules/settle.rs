//! Judging what happens to a grant after it was grabbed: CONFIRM, CANCEL, EXTEND, REFUND.

use crate::codec::effect::Effect;
use crate::ledger::{Grant, Ledger, Lookup};
use crate::model::outcome::{GrantView, Misuse, Outcome, State};
use crate::request::{Deed, Now, Settle, Which};
use crate::rules::decide::{Decision, DueHolds, Expiries, Manner};
use crate::Sale;

impl Sale {
    pub(crate) fn decide_settle<'a>(&self, settle: &Settle<'a>, now: &Now) -> Decision<'a> {
        let t = self.time(now);
        let found = self.ledger.find(settle.user);
        let mut due = self.own_due(settle.user, &found, Manner::Alone, t);
        let grant = match self.which(settle, &found) {
            Ok(Some(grant)) => grant,
            Ok(None) => return self.decide_unknown(settle, &due, now),
            Err(misuse) => return Decision::misuse(misuse),
        };
        let stands = grant.view_at(t);
        let reclaims = settle.deed == Deed::Confirm { reclaim: true };
        if reclaims && stands.state == State::Expired {
            return self.decide_reclaim(&grant, &mut due, now);
        }
        let (effect, stands) = match (settle.deed, stands.state) {
            (Deed::Confirm { .. }, State::Held) => settled(stands, State::Sold),
            (Deed::Cancel, State::Held) => settled(stands, State::Cancelled),
            (Deed::Refund, State::Sold) => settled(stands, State::Refunded),
            (Deed::Extend { ms }, State::Held) if t + ms > stands.deadline => {
                let effect = Effect::Extend { seq: stands.seq, ms };
                (Some(effect), GrantView { deadline: t + ms, ..stands })
            }
            _ => (None, stands),
        };
        self.change_after(&due, Outcome::Stands(stands), effect, None, now)
    }

    /// The grant that is meant: `None` when this user has no such grant.
    fn which(&self, settle: &Settle<'_>, found: &Lookup) -> Result<Option<Grant<'_>>, Misuse> {
        let seq = match settle.which {
            Which::Seq(seq) => Some(seq),
            Which::Req(req) => self.by_req_of(settle.user, found, req),
            Which::Only => self.only_grant(settle.user)?,
        };
        let grant = seq.and_then(|seq| self.grant(seq));
        Ok(grant.filter(|grant| grant.user == settle.user))
    }

    /// The user's only grant that is kept, in whatever round.
    fn only_grant(&self, user: &[u8]) -> Result<Option<u64>, Misuse> {
        let mut grants = self.grants_of(user);
        match (grants.next(), grants.next()) {
            (Some(_), Some(_)) => Err(Misuse::Ambiguous),
            (only, _) => Ok(only.map(|grant| grant.seq)),
        }
    }

    /// No such grant. A CANCEL that overtook its GRAB leaves a fence.
    fn decide_unknown<'a>(
        &self,
        settle: &Settle<'a>,
        due: &DueHolds<'_, 'a>,
        now: &Now,
    ) -> Decision<'a> {
        let (Deed::Cancel, Which::Req(req)) = (settle.deed, settle.which) else {
            return self.change_after(due, Outcome::NoGrant, [], None, now);
        };
        let t = self.time(now);
        let stands = self.fences.stands(settle.user, req, t);
        let fence = (!stands).then_some(Effect::Fence { user: settle.user, req });
        let waiter = self.waiting_at(settle.user, t).filter(|waiter| waiter.req == req);
        let leaves = waiter.map(|waiter| Effect::Leave { ticket: waiter.ticket });
        self.change_after(due, Outcome::Fenced, leaves.into_iter().chain(fence), None, now)
    }

    /// A payment came late. The units are re-taken if they are there and the allowance permits;
    /// else the grant is forfeited, so that nobody has to wonder later whether to pay it back.
    fn decide_reclaim<'s, 'a>(
        &'s self,
        grant: &Grant<'_>,
        due: &mut DueHolds<'s, 'a>,
        now: &Now,
    ) -> Decision<'a> {
        let (seq, qty, t) = (grant.seq, grant.qty, self.time(now));
        let is_left = grant.is_due(t) && due.leaves(grant);
        if due.own_left && (is_left || self.terms.limits_users()) {
            return self.change_after(due, Outcome::ManyOwnEnding, [], None, now);
        }
        // An older round has its own numbers and its own allowances.
        let round = self.round_of(seq);
        due.switch_to(&round);
        let found = round.ledger.find(grant.user);
        let holding = due.left_of(round.ledger.holding(&found), round.ledger);
        let allowance = self.allowance(&holding);
        let mut free = Free::new(self, round.ledger, qty);
        // More than there can be is refused at once.
        let permitted = allowance.is_none_or(|allowance| qty <= allowance)
            && qty <= due.balances.available + due.balances.held;
        let most = Expiries::OF_A_CALL.others;
        let is_free = |due: &DueHolds<'_, '_>| free.is_free(due);
        if permitted && self.expire_until(round.ledger, due, grant.user, most, t, is_free) {
            return self.change_after(due, Outcome::ManyEnding, [], None, now);
        }
        let stands = GrantView { seq, qty, state: State::Expired, deadline: 0 };
        let (effect, state) = match permitted && free.is_free(due) {
            true => (Effect::Reclaim { seq }, State::Sold),
            false => (Effect::Settle { seq, to: State::Forfeited }, State::Expired),
        };
        let outcome = Outcome::Stands(GrantView { state, ..stands });
        self.change_after(due, outcome, Some(effect), None, now)
    }
}

/// The effect that moves a grant to `to`, and the grant after it.
fn settled<'a>(stands: GrantView, to: State) -> (Option<Effect<'a>>, GrantView) {
    let after = GrantView { state: to, deadline: 0, ..stands };
    (Some(Effect::Settle { seq: stands.seq, to }), after)
}

/// Whether the units of an expired grant can be taken anew: in a sale that draws, also a packet,
/// and every packet left still gets its share. Asked again and again as holds expire, it looks at
/// each of them once.
struct Free<'s> {
    sale: &'s Sale,
    ledger: &'s Ledger,
    qty: u64,
    /// Holds that were looked at.
    seen: usize,
    /// Whether a list has the amount; true without a list.
    is_listed: bool,
}

impl Free<'_> {
    fn new<'s>(sale: &'s Sale, ledger: &'s Ledger, qty: u64) -> Free<'s> {
        let is_listed = sale.amounts().is_none_or(|amounts| amounts.contains(qty));
        Free { sale, ledger, qty, seen: 0, is_listed }
    }

    fn is_free(&mut self, due: &DueHolds<'_, '_>) -> bool {
        let is_it = |seq: &u64| self.ledger.grant(*seq).is_some_and(|grant| grant.qty == self.qty);
        let fresh = due.seqs.get(self.seen..).unwrap_or_default();
        self.is_listed = self.is_listed || fresh.iter().any(is_it);
        self.seen = due.seqs.len();
        let mut after = *due.balances;
        let Some(draw) = &self.sale.terms.draw else { return after.available >= self.qty };
        let moved = after.transfer(self.qty, State::Expired, State::Sold);
        self.is_listed && moved.is_ok() && draw.is_lawful(&after)
    }
}
