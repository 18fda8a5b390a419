//! The contract's answer to each request, one file a request. Nothing here changes a sale: the
//! result is an outcome and, if something changes, a plan. Due holds expire first, as far as the
//! request needs it.

pub mod admission;
mod due;
pub(crate) mod grab;
pub mod mgrab;
mod operator;
mod settle;
mod tests;
pub(crate) mod waitlist;

use crate::codec::effect::{Change, Effect};
use crate::model::limits::EXPIRIES_PER_CALL_MAX;
use crate::model::outcome::{Misuse, Outcome};
use crate::plan::{Plan, Planning};
use crate::request::{Now, Request};
use crate::Sale;

pub use operator::decide_new;

/// The result of a request.
#[derive(Debug)]
pub struct Decision<'a> {
    /// The outcome for the caller.
    pub outcome: Outcome,
    /// `None` if nothing changes: then nothing is replicated, signalled or notified.
    pub plan: Option<Plan<'a>>,
}

impl<'a> Decision<'a> {
    /// The changes of the plan.
    pub fn changes(&self) -> &[Change<'a>] {
        self.plan.as_ref().map_or(&[], |plan| &plan.changes)
    }

    pub(crate) fn misuse(misuse: Misuse) -> Self {
        Decision { outcome: Outcome::Misuse(misuse), plan: None }
    }

    /// The decision of `plan`, with offers to waiters that it allows. After a mistake nothing
    /// changes.
    #[inline(always)]
    pub(super) fn of(mut plan: Planning<'_, 'a>, judged: Result<Outcome, Misuse>) -> Self {
        let mut outcome = match judged {
            Ok(Outcome::Misuse(misuse)) | Err(misuse) => return Self::misuse(misuse),
            Ok(outcome) => outcome,
        };
        // A plain sale has no waiters.
        if !plan.sale().is_plain() {
            if let Err(misuse) = plan.serve() {
                return Self::misuse(misuse);
            }
        }
        if plan.changes().is_empty() {
            return Decision { outcome, plan: None };
        }
        outcome.set_available(plan.draft.balances.available);
        Decision { outcome, plan: Some(plan.finish()) }
    }
}

impl Sale {
    /// Decides a request. Reads only; `now` is the one time used for all checks.
    #[inline]
    pub fn decide<'a>(&self, request: &Request<'a>, now: &Now) -> Decision<'a> {
        if self.terms.split.is_some() && self.is_of_other_part(request) {
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
        let judged = self.judge_request(request, &mut plan);
        Decision::of(plan, judged)
    }

    /// The outcome of a request; its changes are added to the plan.
    #[inline]
    fn judge_request<'a>(
        &self,
        request: &Request<'a>,
        plan: &mut Planning<'_, 'a>,
    ) -> Result<Outcome, Misuse> {
        match request {
            Request::Grab(grab) => self.judge_grab(grab, Manner::Alone, plan),
            Request::Wait(wait) => {
                self.judge_grab(&wait.grab, Manner::OrWait { until: wait.until }, plan)
            }
            Request::Init(init) => self.judge_again(init),
            Request::Restock(restock) => self.judge_restock(restock, plan),
            Request::Pause | Request::Resume => {
                let pauses = matches!(request, Request::Pause);
                if pauses != self.paused {
                    plan.push(if pauses { Effect::Pause } else { Effect::Resume })?;
                }
                Ok(Outcome::Done)
            }
            Request::Alter(change) => self.judge_alter(change, plan),
            Request::Settle(settle) => self.judge_settle(settle, plan),
            Request::Import(import) => self.judge_import(import, plan),
            Request::List(change) => self.judge_list(change, plan),
            Request::Send(send) => self.judge_send(send, plan),
            Request::Receive(receive) => self.judge_receive(receive, plan),
            Request::Elsewhere(elsewhere) => self.judge_elsewhere(elsewhere, plan),
        }
    }

    /// Whether the request names a user of another part of a split.
    #[inline]
    fn is_of_other_part(&self, request: &Request<'_>) -> bool {
        match request {
            Request::Grab(grab) => !self.is_home(grab.user),
            Request::Wait(wait) => !self.is_home(wait.grab.user),
            Request::Settle(settle) => !self.is_home(settle.user),
            Request::Import(import) => !self.is_home(import.user),
            Request::List(change) => !change.users.iter().all(|user| self.is_home(user)),
            Request::Init(_) | Request::Restock(_) | Request::Alter(_) => false,
            Request::Pause | Request::Resume => false,
            Request::Send(_) | Request::Receive(_) | Request::Elsewhere(_) => false,
        }
    }
}

/// The kind of GRAB.
#[derive(Clone, Copy)]
pub(crate) enum Manner {
    /// A plain GRAB.
    Alone,
    /// GRAB with WAIT: if the units are gone the user waits until this time; 0 for no end.
    OrWait {
        /// Unix ms.
        until: u64,
    },
    /// One of several GRABs of an MGRAB, which may still expire this many holds.
    AmongMany(Expiries),
}

impl Manner {
    pub(crate) fn expiries(self) -> Expiries {
        match self {
            Manner::AmongMany(left) => left,
            Manner::Alone | Manner::OrWait { .. } => Expiries::OF_A_CALL,
        }
    }
}

/// Numbers of due holds that a call may still expire.
#[derive(Clone, Copy)]
pub(crate) struct Expiries {
    /// The user's own holds.
    pub own: u32,
    /// Holds of others.
    pub others: u32,
}

impl Expiries {
    pub(crate) const OF_A_CALL: Expiries =
        Expiries { own: EXPIRIES_PER_CALL_MAX as u32, others: EXPIRIES_PER_CALL_MAX as u32 };
}
