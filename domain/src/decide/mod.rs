//! The contract's answer to each request, one file a request. Nothing here changes a sale: the
//! result is an outcome and, if something changes, a plan. Due holds expire first, as far as the
//! request needs it.

pub mod admission;
mod expire;
mod grab;
mod import;
mod init;
mod list;
pub mod mgrab;
mod parts;
mod pick;
mod restock;
mod settle;
mod tests;
pub(crate) mod waitlist;

use core::slice::from_ref;

use crate::effect::{self, Change};
use crate::model::limits::UNITS_PER_CALL_MAX;
use crate::model::outcome::{Misuse, Outcome, Place};
use crate::numbers::UnitList;
use crate::plan::{Plan, Planning};
use crate::request::{Now, Request};
use crate::Sale;

use admission::Admittance;
use grab::Manner;
pub use init::decide_new;

/// The result of a request.
#[derive(Debug)]
pub struct Decision<'a> {
    /// What it came to, as it is counted.
    pub outcome: Outcome,
    /// `None` if nothing changes: then nothing is replicated, signalled or notified.
    pub plan: Option<Plan<'a>>,
}

impl<'a> Decision<'a> {
    /// The changes of the plan.
    pub fn changes(&self) -> &[Change<'a>] {
        self.plan.as_ref().map_or(&[], |plan| &plan.changes)
    }

    fn misuse(misuse: Misuse) -> Self {
        Decision { outcome: Outcome::Misuse(misuse), plan: None }
    }

    /// The decision of `plan`, with offers to waiters that it allows. After a mistake nothing
    /// changes.
    #[inline(always)]
    fn of(mut plan: Planning<'_, 'a>, judged: Result<Outcome, Misuse>) -> Self {
        let outcome = match judged {
            Ok(outcome) => outcome,
            Err(misuse) => return Self::misuse(misuse),
        };
        match plan.complete() {
            Err(misuse) => Self::misuse(misuse),
            Ok(_) if plan.changes().is_empty() => Decision { outcome, plan: None },
            Ok(_) => Decision { outcome, plan: Some(plan.finish()) },
        }
    }
}

impl Sale {
    /// The numbers of the grant that a decision on this sale answers with; empty if it answers with
    /// none. `None` if units have no numbers.
    pub fn units_told(&self, decision: &Decision<'_>) -> Option<UnitList> {
        let seq = match decision.outcome {
            Outcome::Granted { grant, .. } => grant.seq,
            Outcome::Already(grant) | Outcome::Replay(grant) | Outcome::Stands(grant) => grant.seq,
            _ => 0,
        };
        self.units_after(decision.plan.as_ref(), seq)
    }

    /// Admission of this user if they called GRAB now; never masked.
    pub fn admittance(&self, user: &[u8]) -> Admittance {
        admission::admittance(self, user)
    }

    /// Decides a request. Reads only; `now` is the one time used for all checks.
    #[inline]
    pub fn decide<'a>(&self, request: &Request<'a>, now: &Now) -> Decision<'a> {
        if self.terms.split.is_some() && !users_of(request).iter().all(|user| self.is_home(user)) {
            return Decision::misuse(Misuse::WrongPart);
        }
        if self.awaits > 0 {
            return Decision::misuse(Misuse::Incomplete);
        }
        // Most sales have no rounds.
        if self.terms.schedule.is_some() {
            if let Some(decision) = self.decide_round(now) {
                return decision;
            }
        }
        let mut plan = Planning::of(self, now);
        let judged = judge(&mut plan, request);
        Decision::of(plan, judged)
    }

    /// The change that begins the next round, if the stored round is over. It comes alone, before
    /// any other decision.
    pub fn decide_round<'a>(&self, now: &Now) -> Option<Decision<'a>> {
        let next = expire::next_round(self, now).filter(|_| self.awaits == 0)?;
        let mut plan = Planning::of(self, now);
        let judged = plan.push(next).map(|()| Outcome::NextRound);
        Some(Decision::of(plan, judged))
    }

    /// For the sweeper: expires at most `most` due holds. With a waiting list it also makes offers,
    /// drops waiters, and expires further holds for them.
    pub fn decide_expiry<'a>(&self, most: usize, now: &Now) -> Decision<'a> {
        let mut plan = Planning::of(self, now);
        if self.awaits > 0 {
            return Decision::of(plan, Ok(Outcome::Done));
        }
        let mut due = self.holds().due(plan.t()).take(most).map(|(_, seq)| u64::from(seq));
        let expired = due.try_for_each(|seq| match plan.frees_too_many(seq, UNITS_PER_CALL_MAX) {
            true => Ok(()),
            false => plan.expire(seq),
        });
        let swept = expired.and_then(|()| plan.sweep_list());
        Decision::of(plan, swept.map(|()| Outcome::Done))
    }

    /// The place of a user on the list; none if their entry counts as gone.
    pub fn place(&self, user: &[u8], now: &Now) -> Option<Place> {
        let (waiter, place) = self.waiters()?.place_of(user)?;
        waitlist::drop_reason(self, &waiter, self.time(now)).is_none().then_some(place)
    }

    /// Whether a waiter could be served or dropped now.
    #[inline]
    pub fn has_due_waiter(&self, now: &Now) -> bool {
        self.extras.is_some() && waitlist::next_service(self).is_some_and(|at| at <= self.time(now))
    }

    /// The time of the next due change: a hold expires, a round begins, or a waiter can be served
    /// or dropped.
    pub fn next_due(&self) -> Option<u64> {
        let next_round =
            self.terms.schedule.map(|schedule| schedule.start(self.balances.round + 1));
        let next_round =
            next_round.filter(|at| self.terms.close_at == 0 || *at < self.terms.close_at);
        let next = self.next_deadline().into_iter().chain(next_round);
        next.chain(waitlist::next_service(self)).min()
    }

    /// The next time at which the sweeper must look at this sale, by the server's clock (now
    /// `clock_ms`); `None` if it was asked for an earlier time already.
    #[inline]
    pub fn next_look(&mut self, clock_ms: u64) -> Option<u64> {
        // A sale that awaits pieces has no due changes; the last piece asks again.
        if self.awaits > 0 {
            return None;
        }
        let deadline = match self.extras.is_some() {
            // A change due by T is due now, even if this clock stepped back or is behind the former
            // primary's.
            true => match self.next_due()? {
                due if due <= self.balances.t => due.min(clock_ms),
                due => due,
            },
            false => self.ledger.holds().next_deadline()?,
        };
        if self.look_at.is_some_and(|look_at| look_at <= deadline) {
            return None;
        }
        self.look_at = Some(deadline);
        Some(deadline)
    }
}

/// The users whom a request names.
fn users_of<'r, 'a>(request: &'r Request<'a>) -> &'r [&'a [u8]] {
    match request {
        Request::Grab(grab) => from_ref(&grab.user),
        Request::Wait(wait) => from_ref(&wait.grab.user),
        Request::Pick(pick) => from_ref(&pick.grab.user),
        Request::Settle(settle) => from_ref(&settle.user),
        Request::Import(import) => from_ref(&import.user),
        Request::List(change) => change.users,
        Request::Init(_) | Request::Restock(_) | Request::Alter(_) => &[],
        Request::Pause | Request::Resume => &[],
        Request::Send(_) | Request::Receive(_) | Request::Elsewhere(_) => &[],
    }
}

/// The outcome of a request; its changes are added to the plan.
#[inline]
fn judge<'a>(plan: &mut Planning<'_, 'a>, request: &Request<'a>) -> Result<Outcome, Misuse> {
    match request {
        Request::Grab(grab) => grab::grab(plan, grab, Manner::Alone),
        Request::Wait(wait) => grab::grab(plan, &wait.grab, Manner::OrWait { until: wait.until }),
        Request::Pick(it) => {
            pick::check_pick(plan.sale(), it)?;
            grab::grab(plan, &it.grab, Manner::Picking(&it.wish))
        }
        Request::Settle(settle) => settle::settle(plan, settle),
        Request::Init(init) => init::again(plan.sale(), init),
        Request::Alter(change) => init::alter(plan, change),
        Request::Pause if plan.sale().paused => Ok(Outcome::Done),
        Request::Pause => plan.push(effect::Pause).map(|()| Outcome::Done),
        Request::Resume if !plan.sale().paused => Ok(Outcome::Done),
        Request::Resume => plan.push(effect::Resume).map(|()| Outcome::Done),
        Request::Restock(restock) => restock::restock(plan, restock),
        Request::Import(import) => import::import(plan, import),
        Request::List(change) => list::list(plan, change),
        Request::Send(send) => parts::send(plan, send),
        Request::Receive(receive) => parts::receive(plan, receive),
        Request::Elsewhere(elsewhere) => parts::elsewhere(plan, elsewhere),
    }
}
