//! Decides which waiters are served, and which are dropped.
//!
//! The lowest ticket comes first. Smaller requests may pass the head OVERTAKE times; then units are
//! reserved for the head. A waiter who asks for more than available + held + elsewhere is skipped
//! and blocks nobody. The decisions become effects that name tickets, so no replica decides again.

use std::vec;

use crate::admission::List;
use crate::draft::Draft;
use crate::effect::{self, Effect, Seqs};
use crate::model::balances::Balances;
use crate::model::limits::{EXPIRIES_PER_CALL_MAX, GRANTS_MAX, OFFERS_PER_STEP_MAX};
use crate::model::outcome::{Misuse, Place};
use crate::plan::Planning;
use crate::request::Grab;
use crate::waitlist::{Reason, Waiter, Waitlist};
use crate::Sale;

/// Entries that are over but not dropped yet block nobody, up to this number.
const GONE_AT_ONCE: u64 = OFFERS_PER_STEP_MAX as u64 + 1;

/// Serves waiters with the units that a step has freed.
pub(super) struct Service<'p, 's, 'a> {
    plan: &'p mut Planning<'s, 'a>,
    list: &'s Waitlist,
    /// Changes in the plan before this service.
    begun: usize,
    /// Due holds that this step has not expired; looked up when needed.
    due: Option<vec::IntoIter<u64>>,
    /// Offers and drops made so far.
    made: usize,
}

/// The waiter to be served next.
struct Candidate<'s> {
    waiter: Waiter<'s>,
    /// Ticket of the head that this waiter passes; 0 for none.
    passed: u64,
}

/// The result for a candidate.
enum Served {
    Yes,
    /// Expiries have changed the list: the candidate must be chosen again.
    Again,
    /// No waiter can be served until a later step expires more holds.
    Stuck,
}

/// The reason to drop a waiter at `t`, if there is one.
pub(super) fn drop_reason(sale: &Sale, waiter: &Waiter<'_>, t: u64) -> Option<Reason> {
    match (is_closed(sale, t), waiter.until != 0 && waiter.until <= t) {
        (true, _) => Some(Reason::Closed),
        (_, true) => Some(Reason::Until),
        _ => None,
    }
}

/// The entry of this user, unless it counts as gone at `t`.
pub(super) fn waiting_at<'s>(sale: &'s Sale, user: &[u8], t: u64) -> Option<Waiter<'s>> {
    let waiter = sale.waiters()?.find(user)?;
    drop_reason(sale, &waiter, t).is_none().then_some(waiter)
}

/// The entry of this user that counts as gone at `t`, and the reason.
pub(super) fn gone_at<'s>(sale: &'s Sale, user: &[u8], t: u64) -> Option<(Waiter<'s>, Reason)> {
    let waiter = sale.waiters()?.find(user)?;
    let reason = drop_reason(sale, &waiter, t)?;
    Some((waiter, reason))
}

/// Whether GRAB's WAIT has an effect: the sale takes waiters.
pub(super) fn takes_waiters(sale: &Sale) -> bool {
    sale.terms.waitlist.is_some_and(|list| list.max > 0)
}

pub(super) fn place_of(sale: &Sale, ticket: u64) -> Place {
    let nowhere = Place { ticket, ahead: 0, units_ahead: 0 };
    sale.waitlist().map_or(nowhere, |list| list.place(ticket, None))
}

/// Whether anybody waits, not counting entries that are over at `t`.
pub(super) fn does_anybody_wait(sale: &Sale, t: u64) -> bool {
    sale.waiters().is_some_and(|list| !is_closed(sale, t) && !list.are_all_over(t))
}

/// The waiting list for a GRAB while the sale is open, if anybody on it comes first. Ended entries
/// don't block a GRAB, up to the number that one step can drop.
pub(super) fn in_the_way(sale: &Sale, t: u64) -> Option<&Waitlist> {
    sale.waiters().filter(|list| !list.are_all_over(t) || list.len() > GONE_AT_ONCE)
}

/// Whether the list is full at `t`. The user's own ended entry makes room, and so do other ended
/// entries, up to the number that one step can drop.
pub(super) fn is_full(sale: &Sale, list: &Waitlist, gone: Option<&Waiter<'_>>, t: u64) -> bool {
    let max = sale.terms.waitlist.map_or(0, |terms| terms.max);
    let over = list.count_over(t, GONE_AT_ONCE);
    let over = over.max(u64::from(gone.is_some()));
    list.len() - over >= max || !list.has_room()
}

/// Whether offers may be made at `t`.
fn offers_at(sale: &Sale, t: u64) -> bool {
    !sale.paused && t >= sale.terms.open_at
}

fn is_closed(sale: &Sale, t: u64) -> bool {
    sale.terms.close_at != 0 && sale.terms.close_at <= t
}

/// The next time at which waiters must be served or dropped.
pub(super) fn next_service(sale: &Sale) -> Option<u64> {
    let (list, terms, t) = (sale.waiters()?, &sale.terms, sale.balances.t);
    let closes = Some(terms.close_at).filter(|at| *at != 0);
    let ends = list.next_end().into_iter().chain(closes).min();
    let opens = t.max(terms.open_at);
    let is_open = offers_at(sale, opens);
    let is_due = is_open && candidate(&Draft::of(sale), list, opens).is_some();
    ends.into_iter().chain(is_due.then_some(opens)).min()
}

/// The head: the lowest ticket whose units are available or may come back.
fn head<'s>(draft: &Draft<'s>, list: &'s Waitlist) -> Option<Waiter<'s>> {
    let pool = draft.balances.available + draft.balances.may_come_back();
    draft.first_within(list, pool, 0)
}

/// Whether the head may be passed once more.
fn may_pass(draft: &Draft<'_>, list: &Waitlist, head: &Waiter<'_>) -> bool {
    let overtake = draft.sale.terms.waitlist.map_or(0, |list| list.overtake);
    draft.passed(list, head.ticket) < overtake
}

/// The waiter to be served next at `t`, if any.
fn candidate<'s>(draft: &Draft<'s>, list: &'s Waitlist, t: u64) -> Option<Candidate<'s>> {
    if draft.balances.grants >= GRANTS_MAX {
        return None;
    }
    let head = head(draft, list)?;
    let available = draft.balances.available;
    if head.qty <= available || drop_reason(draft.sale, &head, t).is_some() {
        return Some(Candidate { waiter: head, passed: 0 });
    }
    if available == 0 || !may_pass(draft, list, &head) {
        return None;
    }
    let waiter = draft.first_within(list, available, head.ticket)?;
    Some(Candidate { waiter, passed: head.ticket })
}

/// A grab that is granted its units while others wait.
pub(super) struct Turn {
    /// Units.
    pub(super) qty: u64,
    /// Ticket of the head that this waiter passes.
    pub(super) passed: Option<u64>,
    /// Offers and drops of waiters served before this one.
    pub(super) served: Vec<Effect<'static>>,
}

/// Judges a GRAB of `wanted` units like an entry at the end of the list. The GRAB is granted only
/// if that entry would be offered its units now.
#[cold]
pub(super) fn turn_behind(
    plan: &Planning<'_, '_>,
    list: &Waitlist,
    grab: &Grab<'_>,
    wanted: u64,
) -> Result<Option<Turn>, Misuse> {
    // The offers and drops that would follow if nothing was granted.
    let mut ahead = plan.clone();
    ahead.drop_gone(grab.user)?;
    let done = ahead.changes().len();
    let mut service = Service::new(&mut ahead, list);
    let is_done = service.run(false)?;
    let available = service.balances().available;
    let qty = if grab.amount.is_exact() { wanted } else { wanted.min(available) };
    if !is_done || qty == 0 || qty > available {
        return Ok(None);
    }
    let head = service.head();
    if let Some(head) = &head {
        // The head may be waiting for due holds.
        let others = plan.sale().ledger.holds().due(plan.t()).nth(plan.draft.moved_len());
        if others.is_some() || !service.may_pass(head) {
            return Ok(None);
        }
    }
    let passed = head.map(|head| head.ticket);
    Ok(Some(Turn { qty, passed, served: ahead.of_list(done).collect() }))
}

impl Planning<'_, '_> {
    /// Takes the entry of this user off the list if it is judged as gone.
    #[inline]
    pub(super) fn drop_gone(&mut self, user: &[u8]) -> Result<(), Misuse> {
        match gone_at(self.sale(), user, self.t()) {
            Some((Waiter { ticket, .. }, reason)) => self.push(effect::Drop { ticket, reason }),
            None => Ok(()),
        }
    }

    /// Ends a plan with the offers that it allows. Returns the units available after the plan, for
    /// the reply.
    #[inline(always)]
    pub(super) fn complete(&mut self) -> Result<u64, Misuse> {
        // A plain sale has no waiters.
        if !self.sale().is_plain() {
            self.serve()?;
        }
        Ok(self.draft.balances.available)
    }

    /// Appends offers if the plan frees units, once.
    #[cold]
    fn serve(&mut self) -> Result<(), Misuse> {
        let Some(list) = self.sale().waiters().filter(|_| !self.is_served) else { return Ok(()) };
        if self.changes().iter().any(|change| change.effect.frees()) {
            self.is_served = true;
            Service::new(self, list).run(true)?;
        }
        Ok(())
    }

    /// Appends offers even if no change freed units, and drops ended entries.
    pub(super) fn sweep_list(&mut self) -> Result<(), Misuse> {
        self.is_served = true;
        let Some(list) = self.sale().waiters() else { return Ok(()) };
        let mut service = Service::new(self, list);
        service.run(true)?;
        service.drop_over()
    }
}

impl<'p, 's, 'a> Service<'p, 's, 'a> {
    /// Starts a service after the plan's changes so far.
    pub(super) fn new(plan: &'p mut Planning<'s, 'a>, list: &'s Waitlist) -> Service<'p, 's, 'a> {
        let begun = plan.changes().len();
        Service { plan, list, begun, due: None, made: 0 }
    }

    fn sale(&self) -> &'s Sale {
        self.plan.sale()
    }

    /// The numbers of the draft.
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

    /// Serves waiters up to the limit of a step; with `expires` it expires due holds of any user
    /// for them. Returns true if no waiter is left who can be served.
    pub(super) fn run(&mut self, expires: bool) -> Result<bool, Misuse> {
        let t = self.plan.t();
        if !offers_at(self.sale(), t) {
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
                // The candidate's own due holds expire at once.
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
        self.plan.push_units(effect::Offer { ticket, hold_ms, passed }, qty, None)?;
        Ok(Served::Yes)
    }

    fn drop(&mut self, ticket: u64, reason: Reason) -> Result<Served, Misuse> {
        self.plan.push(effect::Drop { ticket, reason })?;
        Ok(Served::Yes)
    }

    /// Drops entries that are over, up to the limit of a step.
    fn drop_over(&mut self) -> Result<(), Misuse> {
        let t = self.plan.t();
        let is_closed = is_closed(self.sale(), t);
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

    /// Expires the earliest due hold if its units may help a waiter. False if no hold is due.
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

    /// Expires a due hold. False if the call has reached its limit.
    fn expire(&mut self, seq: u64) -> Result<bool, Misuse> {
        if !self.plan.may_expire(seq) {
            return Ok(false);
        }
        // Expiries for waiters don't join the changes of the decision before.
        match self.plan.changes().len() > self.begun {
            true => self.plan.expire(seq)?,
            false => self.plan.push(effect::Expire(Seqs::from_slice(&[seq])))?,
        }
        Ok(true)
    }
}

/// The reason why an entry gets no offer at `t`. The limits of its user are checked elsewhere.
fn refusal(sale: &Sale, waiter: &Waiter<'_>, t: u64) -> Option<Reason> {
    let over = drop_reason(sale, waiter, t);
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
