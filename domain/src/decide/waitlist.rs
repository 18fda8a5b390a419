//! Who on the waiting list is served, and who drops off.
//!
//! Lowest ticket first. A head that asks for more than there is may be passed so often; then units
//! collect for it. One that asks for more than could come back on its own is no head: it blocks
//! nobody. What is decided here is made by effects that name tickets, so no replica judges any of
//! it again.

use std::vec;

use crate::admission::List;
use crate::codec::effect::{Effect, Seqs};
use crate::draft::Draft;
use crate::model::balances::Balances;
use crate::model::limits::{EXPIRIES_PER_CALL_MAX, GRANTS_MAX, OFFERS_PER_STEP_MAX};
use crate::model::outcome::Misuse;
use crate::plan::Planning;
use crate::request::Now;
use crate::waitlist::{Reason, Waiter, Waitlist};
use crate::Sale;

/// So many entries that are over stand in nobody's way, though nothing has dropped them yet.
const GONE_AT_ONCE: u64 = OFFERS_PER_STEP_MAX as u64 + 1;

/// Makes for those who wait what a step makes possible.
pub(super) struct Service<'p, 's, 'a> {
    plan: &'p mut Planning<'s, 'a>,
    list: &'s Waitlist,
    /// Changes of the plan that were there before.
    begun: usize,
    /// Due holds that are not over by this step; looked up when they are needed.
    due: Option<vec::IntoIter<u64>>,
    expiries: usize,
    /// Offers and drops so far.
    made: usize,
}

/// Who is served next.
struct Candidate<'s> {
    waiter: Waiter<'s>,
    /// Ticket of the head that is passed by it, 0 for none.
    passed: u64,
}

/// What became of a candidate.
enum Served {
    Yes,
    /// It must be looked at again.
    Again,
    /// Nobody is, until the sweeper has gone on.
    Stuck,
}

impl Sale {
    /// Whether an entry is judged as gone at `t`.
    pub(crate) fn drop_reason(&self, waiter: &Waiter<'_>, t: u64) -> Option<Reason> {
        match (self.is_closed(t), waiter.until != 0 && waiter.until <= t) {
            (true, _) => Some(Reason::Closed),
            (_, true) => Some(Reason::Until),
            _ => None,
        }
    }

    /// The entry of this user, unless it is judged as gone at `t`.
    pub(crate) fn waiting_at(&self, user: &[u8], t: u64) -> Option<Waiter<'_>> {
        let waiter = self.waiters()?.find(user)?;
        self.drop_reason(&waiter, t).is_none().then_some(waiter)
    }

    /// The entry of this user that is judged as gone at `t`, and why.
    pub(crate) fn gone_at(&self, user: &[u8], t: u64) -> Option<(Waiter<'_>, Reason)> {
        let waiter = self.waiters()?.find(user)?;
        let reason = self.drop_reason(&waiter, t)?;
        Some((waiter, reason))
    }

    /// Whether anybody waits whose entry is not judged as gone at `t`.
    pub(crate) fn does_anybody_wait(&self, t: u64) -> bool {
        self.waiters().is_some_and(|list| !self.is_closed(t) && !list.are_all_over(t))
    }

    /// The waiting list as a GRAB meets it while the sale is open, if anybody on it is in its way.
    /// Entries whose time is over are not, as far as one step could drop them.
    pub(crate) fn in_the_way(&self, t: u64) -> Option<&Waitlist> {
        self.waiters().filter(|list| !list.are_all_over(t) || list.len() > GONE_AT_ONCE)
    }

    /// Whether the list takes no more entries at `t`. The entry of this user makes room if it is
    /// gone, and so do others that are, as far as one step could drop them.
    pub(super) fn is_full(&self, list: &Waitlist, gone: Option<&Waiter<'_>>, t: u64) -> bool {
        let max = self.terms.waitlist.map_or(0, |terms| terms.max);
        let over = list.count_over(t, GONE_AT_ONCE);
        let over = over.max(u64::from(gone.is_some()));
        list.len() - over >= max || !list.has_room()
    }

    /// Whether offers are made at `t`.
    fn offers_at(&self, t: u64) -> bool {
        !self.paused && t >= self.terms.open_at
    }

    fn is_closed(&self, t: u64) -> bool {
        self.terms.close_at != 0 && self.terms.close_at <= t
    }

    /// Whether somebody could be served or dropped by now.
    #[inline]
    pub fn serves_at(&self, now: &Now) -> bool {
        self.extras.is_some() && self.next_service().is_some_and(|at| at <= self.time(now))
    }

    /// Offers made so far, and entries dropped.
    #[inline]
    pub fn list_totals(&self) -> (u64, u64) {
        self.waitlist().map_or((0, 0), |list| (list.totals.offers, list.totals.dropped))
    }

    /// The next moment at which something is to be done for those who wait.
    pub(crate) fn next_service(&self) -> Option<u64> {
        let (list, terms, t) = (self.waiters()?, &self.terms, self.balances.t);
        let closes = Some(terms.close_at).filter(|at| *at != 0);
        let ends = list.next_end().into_iter().chain(closes).min();
        let opens = t.max(terms.open_at);
        let is_open = self.offers_at(opens);
        let is_due = is_open && candidate(&Draft::of(self), list, opens).is_some();
        ends.into_iter().chain(is_due.then_some(opens)).min()
    }
}

/// Whether what this does may free units, or let somebody else be served.
pub(crate) fn frees(effect: &Effect<'_>) -> bool {
    matches!(
        effect,
        Effect::Expire(_)
            | Effect::Settle { .. }
            | Effect::Reclaim { .. }
            | Effect::Import(_)
            | Effect::Reimport { .. }
            | Effect::Restock { .. }
            | Effect::Receive { .. }
            | Effect::Elsewhere { .. }
            | Effect::Leave { .. }
            | Effect::Drop { .. }
    )
}

/// The head: the lowest ticket whose units are there or may come back by themselves.
fn head<'s>(draft: &Draft<'s>, list: &'s Waitlist) -> Option<Waiter<'s>> {
    let pool = draft.balances.available + draft.balances.may_come_back();
    draft.first_within(list, pool, 0)
}

/// Whether the head may be passed once more.
fn may_pass(draft: &Draft<'_>, list: &Waitlist, head: &Waiter<'_>) -> bool {
    let overtake = draft.sale.terms.waitlist.map_or(0, |list| list.overtake);
    draft.passed(list, head.ticket) < overtake
}

/// Who is served next, if anybody can be at `t`.
fn candidate<'s>(draft: &Draft<'s>, list: &'s Waitlist, t: u64) -> Option<Candidate<'s>> {
    if draft.balances.grants >= GRANTS_MAX {
        return None;
    }
    let head = head(draft, list)?;
    let available = draft.balances.available;
    if head.qty <= available || draft.sale.drop_reason(&head, t).is_some() {
        return Some(Candidate { waiter: head, passed: 0 });
    }
    if available == 0 || !may_pass(draft, list, &head) {
        return None;
    }
    let waiter = draft.first_within(list, available, head.ticket)?;
    Some(Candidate { waiter, passed: head.ticket })
}

impl Planning<'_, '_> {
    /// Adds what the changes so far make possible for those who wait.
    #[cold]
    pub(super) fn serve(&mut self) -> Result<(), Misuse> {
        let list = self.sale().waiters().filter(|_| !self.is_served);
        match list.filter(|_| self.changes().iter().any(|change| frees(&change.effect))) {
            Some(list) => Service::new(self, list).run(true).map(|_| ()),
            None => Ok(()),
        }
    }

    /// The same whatever has changed, and drops entries that are over.
    pub(super) fn sweep_list(&mut self) -> Result<(), Misuse> {
        self.is_served = true;
        let Some(list) = self.sale().waiters() else { return Ok(()) };
        let mut service = Service::new(self, list);
        service.run(true)?;
        service.drop_over()
    }
}

impl<'p, 's, 'a> Service<'p, 's, 'a> {
    /// Goes on where a plan is.
    pub(super) fn new(plan: &'p mut Planning<'s, 'a>, list: &'s Waitlist) -> Service<'p, 's, 'a> {
        let begun = plan.changes().len();
        Service { plan, list, begun, due: None, expiries: 0, made: 0 }
    }

    fn sale(&self) -> &'s Sale {
        self.plan.sale()
    }

    /// The numbers as they would stand.
    pub(super) fn balances(&self) -> &Balances {
        &self.plan.draft.balances
    }

    /// The head of the list.
    pub(super) fn head(&self) -> Option<Waiter<'s>> {
        head(&self.plan.draft, self.list)
    }

    /// Whether the head may be passed once more.
    pub(super) fn may_pass(&self, head: &Waiter<'_>) -> bool {
        may_pass(&self.plan.draft, self.list, head)
    }

    /// Serves whoever can be served, up to the bound of a step; if `expires`, due holds of anybody
    /// end for it. Whether nobody is left who can be served.
    pub(super) fn run(&mut self, expires: bool) -> Result<bool, Misuse> {
        let t = self.plan.t();
        if !self.sale().offers_at(t) {
            return Ok(true);
        }
        loop {
            match candidate(&self.plan.draft, self.list, t) {
                Some(_) if self.made == OFFERS_PER_STEP_MAX => return Ok(false),
                Some(candidate) => match self.serve(&candidate, expires)? {
                    Served::Yes => self.made += 1,
                    Served::Again => {}
                    Served::Stuck => return Ok(false),
                },
                None if expires && self.expire_next()? => {}
                None => return Ok(true),
            }
        }
    }

    fn serve(&mut self, candidate: &Candidate<'s>, expires: bool) -> Result<Served, Misuse> {
        let (sale, t) = (self.sale(), self.plan.t());
        let Waiter { ticket, user, qty, .. } = candidate.waiter;
        if let Some(reason) = refusal(sale, &candidate.waiter, t) {
            return self.drop(ticket, reason);
        }
        let found = sale.ledger.find(user);
        if sale.terms.limits_users() && !found.is_vacant() {
            let most = EXPIRIES_PER_CALL_MAX + self.plan.draft.moved_len() + 1;
            let due = sale.ledger.due_of(&found, t, most);
            let mut due = due.into_iter().map(|(_, seq)| u64::from(seq));
            if let Some(own) = due.find(|seq| !self.plan.draft.has_moved(*seq)) {
                // Their own due holds are over at once.
                return Ok(match expires && self.expire(own)? {
                    true => Served::Again,
                    false => Served::Stuck,
                });
            }
        }
        let holding = self.plan.draft.holding(&sale.ledger, user, &found);
        if sale.allowance(&holding).is_some_and(|allowance| qty > allowance) {
            return self.drop(ticket, Reason::Limit);
        }
        let (passed, hold_ms) = (candidate.passed, sale.terms.offer_ms());
        self.plan.push(Effect::Offer { ticket, hold_ms, passed })?;
        Ok(Served::Yes)
    }

    fn drop(&mut self, ticket: u64, reason: Reason) -> Result<Served, Misuse> {
        self.plan.push(Effect::Drop { ticket, reason })?;
        Ok(Served::Yes)
    }

    /// Drops entries that are over, up to the bound of a step.
    fn drop_over(&mut self) -> Result<(), Misuse> {
        let t = self.plan.t();
        let is_closed = self.sale().is_closed(t);
        let mut from = 0;
        while self.made < OFFERS_PER_STEP_MAX {
            let next = match is_closed {
                true => self.list.iter_from(from).next(),
                false => self.list.first_over(t, from),
            };
            let Some(waiter) = next else { break };
            from = waiter.ticket + 1;
            if !self.plan.draft.is_off(waiter.ticket) {
                let reason = if is_closed { Reason::Closed } else { Reason::Until };
                self.drop(waiter.ticket, reason)?;
                self.made += 1;
            }
        }
        Ok(())
    }

    /// Lets the earliest due hold expire, where that may help somebody. False when there is none.
    fn expire_next(&mut self) -> Result<bool, Misuse> {
        if self.head().is_none() || self.balances().grants >= GRANTS_MAX {
            return Ok(false);
        }
        if self.due.is_none() {
            let due = self.sale().ledger.holds().due(self.plan.t());
            let due = due.map(|(_, seq)| u64::from(seq));
            let due = due.filter(|seq| !self.plan.draft.has_moved(*seq));
            self.due = Some(due.take(EXPIRIES_PER_CALL_MAX).collect::<Vec<_>>().into_iter());
        }
        while let Some(seq) = self.due.as_mut().and_then(Iterator::next) {
            if !self.plan.draft.has_moved(seq) {
                return self.expire(seq);
            }
        }
        Ok(false)
    }

    /// Lets a due hold expire. False when the step has done so often enough.
    fn expire(&mut self, seq: u64) -> Result<bool, Misuse> {
        if self.expiries == EXPIRIES_PER_CALL_MAX {
            return Ok(false);
        }
        self.expiries += 1;
        // What expires for those who wait is a change of its own.
        match self.plan.changes().len() > self.begun {
            true => self.plan.expire(seq)?,
            false => self.plan.push(Effect::Expire(Seqs::from_slice(&[seq])))?,
        }
        Ok(true)
    }
}

/// Why an entry gets no offer at `t`, whatever its user has.
fn refusal(sale: &Sale, waiter: &Waiter<'_>, t: u64) -> Option<Reason> {
    let over = sale.drop_reason(waiter, t);
    if over.is_some() {
        return over;
    }
    let is_on = |list| {
        let extras = sale.extras.as_deref();
        extras.is_some_and(|extras| extras.list(list).contains(waiter.user))
    };
    let is_missing = sale.terms.admission.allowlist && !is_on(List::Allow);
    (is_missing || is_on(List::Deny)).then_some(Reason::Denied)
}
