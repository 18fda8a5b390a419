//! What the contract says of each request, one file a request. Nothing here changes a sale: the
//! answer is an outcome and, when something is to happen, the plan of it. Holds whose time is over
//! go first, as far as the request needs it.

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

/// What a request comes to.
#[derive(Debug)]
pub struct Decision<'a> {
    /// What the caller is answered.
    pub outcome: Outcome,
    /// `None` when nothing happens: then nothing is replicated, signalled or notified.
    pub plan: Option<Plan<'a>>,
}

impl<'a> Decision<'a> {
    /// What changes.
    pub fn changes(&self) -> &[Change<'a>] {
        self.plan.as_ref().map_or(&[], |plan| &plan.changes)
    }

    pub(crate) fn misuse(misuse: Misuse) -> Self {
        Decision { outcome: Outcome::Misuse(misuse), plan: None }
    }

    /// The decision that `plan` came to, with what it makes possible for those who wait. After a
    /// mistake nothing happens.
    #[inline(always)]
    pub(super) fn of(mut plan: Planning<'_, 'a>, judged: Result<Outcome, Misuse>) -> Self {
        let mut outcome = match judged {
            Ok(Outcome::Misuse(misuse)) | Err(misuse) => return Self::misuse(misuse),
            Ok(outcome) => outcome,
        };
        // In a plain sale nobody waits.
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
    /// Judges a request. Reads only; `now` is the one moment it is judged by.
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

    /// What a request comes to; what is to happen is added to the plan.
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

    /// Whether a request names a user of another part.
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

/// In what way a GRAB is asked for.
#[derive(Clone, Copy)]
pub(crate) enum Manner {
    /// By itself.
    Alone,
    /// With WAIT: who comes too late joins the waiting list until this moment, 0 for none.
    OrWait {
        /// Unix ms.
        until: u64,
    },
    /// As one of many by an MGRAB, which may still write so many expiries.
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

/// How many due holds a call may write as expired.
#[derive(Clone, Copy)]
pub(crate) struct Expiries {
    /// Of the user's own.
    pub own: u32,
    /// Of others.
    pub others: u32,
}

impl Expiries {
    pub(crate) const OF_A_CALL: Expiries =
        Expiries { own: EXPIRIES_PER_CALL_MAX as u32, others: EXPIRIES_PER_CALL_MAX as u32 };
}
