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
use crate::model::outcome::{Misuse, Outcome, Place};
use crate::numbers::UnitList;
use crate::plan::{Plan, Planning};
use crate::request::{Now, Request, Wait};
use crate::Sale;

use admission::Admittance;
use grab::Manner;
pub use init::decide_new;

/// The result of a request.
#[derive(Debug)]
pub struct Decision<'a> {
    /// The outcome, as it is counted.
    pub outcome: Outcome,
    /// `None` if nothing changes: then nothing is replicated, signalled or notified.
    pub plan: Option<Plan<'a>>,
}

/// A plan to commit before a request is decided: the current round is over, and the plan begins the
/// next one. The request is then decided again with an unchanged time.
#[derive(Debug)]
pub struct NextRound<'a>(pub Box<Plan<'a>>);

impl<'a> Decision<'a> {
    /// The changes of the plan.
    pub fn changes(&self) -> &[Change<'a>] {
        self.plan.as_ref().map_or(&[], |plan| &plan.changes)
    }
}

/// A decision, or the plan of a new round that must be committed before it.
pub type Decided<'a> = Result<Decision<'a>, NextRound<'a>>;

/// A mistake: nothing changes.
fn misused<'a>(misuse: Misuse) -> Decided<'a> {
    Ok(Decision { outcome: Outcome::Misuse(misuse), plan: None })
}

/// The decision of `judge`, which adds its changes to a plan. Offers to waiters that the changes
/// allow are added after them.
#[inline(always)]
fn decided<'a>(
    sale: &Sale,
    now: &Now,
    judge: impl FnOnce(&mut Planning<'_, 'a>) -> Result<Outcome, Misuse>,
) -> Decided<'a> {
    let mut plan = Planning::of(sale, now);
    match judge(&mut plan) {
        Err(misuse) => misused(misuse),
        Ok(outcome) if plan.changes.is_empty() => Ok(Decision { outcome, plan: None }),
        Ok(outcome) => match plan.complete() {
            Err(misuse) => misused(misuse),
            Ok(_) => {
                let (draft, changes) = (&mut plan.draft, plan.changes);
                let made = Plan::of(draft, changes, plan.new_grant, Some(now.node_epoch));
                Ok(Decision { outcome, plan: Some(made) })
            }
        },
    }
}

impl Sale {
    /// The unit numbers of the grant in an outcome's reply; empty if the reply has no grant. `None`
    /// if units have no numbers.
    pub fn units_replied(&self, outcome: &Outcome, plan: Option<&Plan<'_>>) -> Option<UnitList> {
        let seq = match *outcome {
            Outcome::Granted { grant, .. } => grant.seq,
            Outcome::Already(grant) | Outcome::Replay(grant) | Outcome::Stands(grant) => grant.seq,
            _ => 0,
        };
        self.units_after(plan, seq)
    }

    /// Admission of this user if they called GRAB now; never masked.
    pub fn admittance(&self, user: &[u8]) -> Admittance {
        admission::admittance(self, user)
    }

    /// Decides a request. Reads only; `now` is the one time used for all checks.
    #[inline]
    pub fn decide<'a>(&self, request: &Request<'a>, now: &Now) -> Decided<'a> {
        if self.terms.split.is_some() && !users_of(request).iter().all(|user| self.is_home(user)) {
            return misused(Misuse::WrongPart);
        }
        if self.awaits > 0 {
            return misused(Misuse::Incomplete);
        }
        // Most sales have no rounds.
        if self.terms.schedule.is_some() {
            if let Some(begun) = self.decide_round(now) {
                return begun;
            }
        }
        decided(self, now, |plan| judge(plan, request))
    }

    /// The step before any other decision if the current round is over: the next round, or the
    /// error that prevents it.
    pub fn decide_round<'a>(&self, now: &Now) -> Option<Decided<'a>> {
        let next = expire::next_round(self, now).filter(|_| self.awaits == 0)?;
        let begun = decided(self, now, |plan| plan.push(next).map(|()| Outcome::Done));
        Some(begun.and_then(|begun| match begun.plan {
            Some(plan) => Err(NextRound(Box::new(plan))),
            None => Ok(begun),
        }))
    }

    /// For the sweeper, while the current round goes on: expires at most `most` due holds. With a
    /// waiting list it also makes offers, drops waiters, and expires further holds for them.
    pub fn decide_expiry<'a>(&self, most: usize, now: &Now) -> Decided<'a> {
        if self.awaits > 0 {
            return Ok(Decision { outcome: Outcome::Done, plan: None });
        }
        decided(self, now, |plan| {
            let mut due = self.holds().due(plan.t()).take(most).map(|(_, seq)| u64::from(seq));
            due.try_for_each(|seq| match plan.frees_too_many(seq) {
                true => Ok(()),
                false => plan.expire(seq),
            })?;
            plan.sweep_list().map(|()| Outcome::Done)
        })
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
    /// `clock_ms`). `None` if an earlier call returned an earlier time.
    #[inline]
    pub fn next_look(&mut self, clock_ms: u64) -> Option<u64> {
        // A sale that awaits pieces has no due changes; the last piece asks again.
        if self.awaits > 0 {
            return None;
        }
        let due = match self.extras.is_some() {
            true => self.next_due()?,
            false => self.ledger.holds().next_deadline()?,
        };
        // A change due by T is due now, even if this clock stepped back or is behind the former
        // primary's.
        let deadline = if due <= self.balances.t { due.min(clock_ms) } else { due };
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
        Request::Grab(grab) => grab::grab(plan, grab, &Manner::ALONE),
        Request::Wait(Wait { grab, until }) => {
            // An UNTIL that has passed: as if WAIT were absent.
            let until = Some(*until).filter(|until| *until == 0 || *until > plan.t());
            grab::grab(plan, grab, &Manner { until, ..Manner::ALONE })
        }
        Request::Pick(it) => {
            pick::check_pick(plan.sale(), it)?;
            grab::grab(plan, &it.grab, &Manner { wish: Some(&it.wish), ..Manner::ALONE })
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
