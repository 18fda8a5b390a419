//! Who on the waiting list is served, and who drops off.
//!
//! Lowest ticket first. A head that asks for more than there is may be passed so often; then units
//! collect for it. One that asks for more than could come back on its own is no head: it blocks
//! nobody. What is decided here is made by effects that name tickets, so no replica judges any of
//! it again.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::vec;

use crate::admission::List;
use crate::codec::effect::{Changes, Effect, Importing, Seqs};
use crate::ledger::Grant;
use crate::model::balances::Balances;
use crate::model::limits::{EXPIRIES_PER_CALL_MAX, GRANTS_MAX, OFFERS_PER_STEP_MAX};
use crate::model::outcome::State;
use crate::plan::Plan;
use crate::request::Now;
use crate::waitlist::{Reason, Waiter, Waitlist};
use crate::Sale;

/// So many entries that are over stand in nobody's way, though nothing has dropped them yet.
const GONE_AT_ONCE: u64 = OFFERS_PER_STEP_MAX as u64 + 1;

/// What a step makes for those who wait, worked out one by one on a copy of the numbers.
pub(crate) struct Service<'s> {
    sale: &'s Sale,
    list: &'s Waitlist,
    t: u64,
    /// The numbers after what was decided so far.
    pub(crate) balances: Balances,
    /// Whether offers are made now.
    is_open: bool,
    /// Tickets that are off the list by what was decided so far.
    pub(crate) off: BTreeSet<u64>,
    /// How often heads are passed in this step.
    passed: BTreeMap<u64, u64>,
    /// Grants that the step has moved.
    moved: BTreeMap<u64, State>,
    /// Units and grants that users have more in this step, or fewer.
    gained: HashMap<Vec<u8>, (i64, i64)>,
    /// Due holds that are not over by this step; looked up when they are needed.
    due: Option<vec::IntoIter<u64>>,
    expiries: usize,
    /// Offers and drops so far.
    made: usize,
    /// What was decided so far, in order.
    pub(crate) effects: Vec<Effect<'static>>,
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

    fn is_closed(&self, t: u64) -> bool {
        self.terms.close_at != 0 && self.terms.close_at <= t
    }

    /// The changes with what they make possible for those who wait, made last in the step.
    pub(crate) fn with_offers<'a>(
        &self,
        list: &Waitlist,
        mut changes: Changes<'a>,
        plan: Option<&Plan<'_>>,
        t: u64,
        sweeps: bool,
    ) -> Changes<'a> {
        let mut service = Service::new(self, list, t, self.balances);
        if let Some(plan) = plan {
            service.follow(plan);
        }
        service.run(true);
        if sweeps {
            service.drop_over();
        }
        changes.extend(service.effects.into_iter().map(crate::effect::Change::untimed));
        changes
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
        let mut service = Service::new(self, list, opens, self.balances);
        let is_due = service.is_open && service.candidate().is_some();
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

impl<'s> Service<'s> {
    /// Begins where the sale would stand with these numbers at `t`.
    pub(crate) fn new(
        sale: &'s Sale,
        list: &'s Waitlist,
        t: u64,
        balances: Balances,
    ) -> Service<'s> {
        Service {
            sale,
            list,
            t,
            balances,
            is_open: !sale.paused && t >= sale.terms.open_at,
            off: BTreeSet::new(),
            passed: BTreeMap::new(),
            moved: BTreeMap::new(),
            gained: HashMap::new(),
            due: None,
            expiries: 0,
            made: 0,
            effects: Vec::new(),
        }
    }

    /// Goes on where a plan ends.
    fn follow(&mut self, plan: &Plan<'_>) {
        self.balances = plan.balances;
        if let Some(more) = &plan.more {
            self.off.extend(more.list.off.keys());
            more.moved.iter().for_each(|(seq, state)| self.note_moved(*seq, *state));
        }
        for change in &plan.changes {
            if let Effect::Import(Importing { user, qty, .. }) = change.effect {
                self.note_gained(user, qty as i64, 1);
            }
        }
    }

    /// Notes the state that a grant has come to in this step.
    fn note_moved(&mut self, seq: u64, to: State) {
        self.moved.insert(seq, to);
        let Some(grant) = self.sale.ledger.grant(seq) else { return };
        match (grant.state.is_live(), to.is_live()) {
            (true, false) => self.note_gained(grant.user, -(grant.qty as i64), -1),
            (false, true) => self.note_gained(grant.user, grant.qty as i64, 1),
            _ => {}
        }
    }

    fn note_gained(&mut self, user: &[u8], units: i64, grants: i64) {
        let gained = self.gained.entry(user.to_vec()).or_default();
        gained.0 += units;
        gained.1 += grants;
    }

    /// Serves whoever can be served, up to the bound of a step; if `expires`, due holds of anybody
    /// end for it. Whether nobody is left who can be served.
    pub(crate) fn run(&mut self, expires: bool) -> bool {
        while self.is_open {
            match self.candidate() {
                Some(_) if self.made == OFFERS_PER_STEP_MAX => return false,
                Some(candidate) => match self.serve(&candidate, expires) {
                    Served::Yes => self.made += 1,
                    Served::Again => {}
                    Served::Stuck => return false,
                },
                None if expires && self.expire_next() => {}
                None => return true,
            }
        }
        true
    }

    /// The lowest ticket from `from` on that asks for at most so much.
    fn first_within(&self, most: u64, from: u64) -> Option<Waiter<'s>> {
        let mut from = from;
        loop {
            let waiter = self.list.first_within(most, from)?;
            if !self.off.contains(&waiter.ticket) {
                return Some(waiter);
            }
            from = waiter.ticket + 1;
        }
    }

    /// The head: the lowest ticket whose units are there or may come back by themselves.
    pub(crate) fn head(&self) -> Option<Waiter<'s>> {
        let pool = self.balances.available + self.balances.may_come_back();
        self.first_within(pool, 0)
    }

    /// Whether the head may be passed once more.
    pub(crate) fn may_pass(&self, head: &Waiter<'_>) -> bool {
        let in_step = self.passed.get(&head.ticket).copied().unwrap_or(0);
        let overtake = self.sale.terms.waitlist.map_or(0, |list| list.overtake);
        self.list.passed(head.ticket).saturating_add(in_step) < overtake
    }

    fn candidate(&mut self) -> Option<Candidate<'s>> {
        if self.balances.grants >= GRANTS_MAX {
            return None;
        }
        let head = self.head()?;
        let available = self.balances.available;
        if head.qty <= available || self.sale.drop_reason(&head, self.t).is_some() {
            return Some(Candidate { waiter: head, passed: 0 });
        }
        if available == 0 || !self.may_pass(&head) {
            return None;
        }
        let waiter = self.first_within(available, head.ticket)?;
        Some(Candidate { waiter, passed: head.ticket })
    }

    fn serve(&mut self, candidate: &Candidate<'s>, expires: bool) -> Served {
        let Waiter { ticket, user, qty, .. } = candidate.waiter;
        if let Some(reason) = self.refusal(&candidate.waiter) {
            return self.drop(ticket, reason);
        }
        let found = self.sale.ledger.find(user);
        if self.sale.terms.limits_users() && !found.is_vacant() {
            let most = EXPIRIES_PER_CALL_MAX + self.moved.len() + 1;
            let due = self.sale.ledger.due_of(&found, self.t, most);
            let mut due = due.into_iter().map(|(_, seq)| u64::from(seq));
            if let Some(own) = due.find(|seq| !self.moved.contains_key(seq)) {
                // Their own due holds are over at once.
                return match expires && self.expire(own) {
                    true => Served::Again,
                    false => Served::Stuck,
                };
            }
        }
        let mut holding = self.sale.ledger.holding(&found);
        let (units, grants) = self.gained.get(user).copied().unwrap_or_default();
        holding.live_units = holding.live_units.saturating_add_signed(units);
        holding.live_grants = holding.live_grants.saturating_add_signed(grants as i32);
        if self.sale.allowance(&holding).is_some_and(|allowance| qty > allowance) {
            return self.drop(ticket, Reason::Limit);
        }
        let placed = self.balances.place(qty, State::Held);
        debug_assert_eq!(placed, Ok(()), "only what can be served is a candidate");
        let (passed, hold_ms) = (candidate.passed, self.sale.terms.offer_ms());
        if passed != 0 {
            *self.passed.entry(passed).or_default() += 1;
        }
        self.off.insert(ticket);
        self.effects.push(Effect::Offer { ticket, hold_ms, passed });
        Served::Yes
    }

    /// Why an entry gets no offer, whatever its user has.
    fn refusal(&self, waiter: &Waiter<'_>) -> Option<Reason> {
        let over = self.sale.drop_reason(waiter, self.t);
        if over.is_some() {
            return over;
        }
        let is_on = |list| {
            let extras = self.sale.extras.as_deref();
            extras.is_some_and(|extras| extras.list(list).contains(waiter.user))
        };
        let is_missing = self.sale.terms.admission.allowlist && !is_on(List::Allow);
        (is_missing || is_on(List::Deny)).then_some(Reason::Denied)
    }

    fn drop(&mut self, ticket: u64, reason: Reason) -> Served {
        self.off.insert(ticket);
        self.effects.push(Effect::Drop { ticket, reason });
        Served::Yes
    }

    /// Drops entries that are over, up to the bound of a step.
    fn drop_over(&mut self) {
        let is_closed = self.sale.is_closed(self.t);
        let mut from = 0;
        while self.made < OFFERS_PER_STEP_MAX {
            let next = match is_closed {
                true => self.list.iter_from(from).next(),
                false => self.list.first_over(self.t, from),
            };
            let Some(waiter) = next else { return };
            from = waiter.ticket + 1;
            if !self.off.contains(&waiter.ticket) {
                let reason = if is_closed { Reason::Closed } else { Reason::Until };
                self.drop(waiter.ticket, reason);
                self.made += 1;
            }
        }
    }

    /// Lets the earliest due hold expire, where that may help somebody. False when there is none.
    fn expire_next(&mut self) -> bool {
        if self.head().is_none() || self.balances.grants >= GRANTS_MAX {
            return false;
        }
        if self.due.is_none() {
            let due = self.sale.ledger.holds().due(self.t).map(|(_, seq)| u64::from(seq));
            let due = due.filter(|seq| !self.moved.contains_key(seq));
            self.due = Some(due.take(EXPIRIES_PER_CALL_MAX).collect::<Vec<_>>().into_iter());
        }
        while let Some(seq) = self.due.as_mut().and_then(Iterator::next) {
            if !self.moved.contains_key(&seq) {
                return self.expire(seq);
            }
        }
        false
    }

    /// Lets a due hold expire. False when the step has done so often enough.
    fn expire(&mut self, seq: u64) -> bool {
        if self.expiries == EXPIRIES_PER_CALL_MAX {
            return false;
        }
        self.expiries += 1;
        let qty = self.sale.ledger.grant(seq).map_or(0, |grant: Grant<'_>| grant.qty);
        let moved = self.balances.transfer(qty, State::Held, State::Expired);
        debug_assert_eq!(moved, Ok(()), "held units are counted as held");
        self.note_moved(seq, State::Expired);
        match self.effects.last_mut() {
            Some(Effect::Expire(seqs)) => seqs.push(seq),
            _ => self.effects.push(Effect::Expire(Seqs::from_slice(&[seq]))),
        }
        true
    }
}
