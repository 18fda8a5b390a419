//! Judging a request. Nothing here changes a sale: the answer is an outcome and, when something is
//! to happen, the plan of it. Holds whose time is over go first, as far as the request needs it.

use std::borrow::Cow;

use crate::codec::effect::{Change, Changes, Effect, Seqs};
use crate::ledger::{Grant, Holding, Ledger, Lookup, Places};
use crate::model::balances::Balances;
use crate::model::limits::{EFFECTS_PER_APPLY_MAX, EXPIRIES_PER_CALL_MAX};
use crate::model::outcome::{Misuse, Outcome, State};
use crate::plan::{Plan, Planner};
use crate::request::{Now, Request};
use crate::rules::waitlist::frees;
use crate::state::rounds::RoundView;
use crate::waitlist::Waitlist;
use crate::Sale;

pub use super::operator::decide_new;

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

    pub(crate) fn refuse(outcome: Outcome) -> Self {
        Decision { outcome, plan: None }
    }

    pub(crate) fn misuse(misuse: Misuse) -> Self {
        Self::refuse(Outcome::Misuse(misuse))
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
        match request {
            Request::Grab(grab) => self.decide_grab(grab, Manner::Alone, now),
            Request::Wait(wait) => {
                self.decide_grab(&wait.grab, Manner::OrWait { until: wait.until }, now)
            }
            Request::Init(init) => self.decide_again(init),
            Request::Restock(restock) => self.decide_restock(restock, now),
            Request::Pause if self.paused => Decision::refuse(Outcome::Done),
            Request::Pause => self.change(Outcome::Done, Effect::Pause, now),
            Request::Resume if !self.paused => Decision::refuse(Outcome::Done),
            Request::Resume => self.change(Outcome::Done, Effect::Resume, now),
            Request::Alter(change) => self.decide_alter(change, now),
            Request::Settle(settle) => self.decide_settle(settle, now),
            Request::Import(import) => self.decide_import(import, now),
            Request::List(change) => self.decide_list(change, now),
            Request::Send(send) => self.decide_send(send, now),
            Request::Receive(receive) => self.decide_receive(receive, now),
            Request::Elsewhere(elsewhere) => self.decide_elsewhere(elsewhere, now),
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

    /// The changes with what they make possible for those who wait. `sweeps`: and with entries
    /// dropped that are over.
    #[cold]
    pub(super) fn served<'a>(
        &self,
        list: &Waitlist,
        changes: Changes<'a>,
        sweeps: bool,
        now: &Now,
    ) -> Changes<'a> {
        let plan = self.planned(Outcome::Done, changes.clone(), None, now).plan;
        self.with_offers(list, changes, plan.as_ref(), self.time(now), sweeps)
    }

    /// A decision that does `effect` alone.
    #[inline]
    pub(super) fn change<'a>(
        &self,
        outcome: Outcome,
        effect: Effect<'a>,
        now: &Now,
    ) -> Decision<'a> {
        self.change_after(&self.none_due(), outcome, Some(effect), None, now)
    }

    /// No holds that expire before.
    #[inline]
    pub(super) fn none_due<'a>(&self) -> DueHolds<'_, 'a> {
        let (seqs, balances) = (Seqs::new(), Cow::Borrowed(&self.balances));
        DueHolds { seqs, balances, own_to: (0, 0), own_left: false, admits: None }
    }

    /// A decision that lets `due` holds expire and then does `effects`, and what all of it makes
    /// possible for those who wait. A new grant belongs to `places`.
    #[inline(always)]
    pub(super) fn change_after<'a>(
        &self,
        due: &DueHolds<'_, 'a>,
        outcome: Outcome,
        effects: impl IntoIterator<Item = Effect<'a>>,
        places: Option<&Places>,
        now: &Now,
    ) -> Decision<'a> {
        let mut effects = effects.into_iter().map(Change::untimed);
        let mut changes = match effects.next() {
            // Nearly always: nothing is to be put together.
            Some(first) if due.is_empty() => Changes::from_buf([first]),
            None if due.is_empty() => return Decision::refuse(outcome),
            first => due.changes().into_iter().chain(first).collect(),
        };
        changes.extend(effects);
        // In a plain sale nobody waits.
        if self.extras.is_some() {
            self.serve(&mut changes, now);
        }
        self.planned(outcome, changes, places, now)
    }

    /// Adds what the changes make possible for those who wait.
    #[cold]
    fn serve(&self, changes: &mut Changes<'_>, now: &Now) {
        let list = self.waiters().filter(|_| changes.iter().any(|change| frees(&change.effect)));
        if let Some(list) = list {
            *changes = self.served(list, core::mem::take(changes), false, now);
        }
    }

    /// A decision that makes these changes alone. The first of them is given the time and the
    /// epoch.
    #[inline]
    pub(super) fn planned<'a>(
        &self,
        mut outcome: Outcome,
        mut changes: Changes<'a>,
        places: Option<&Places>,
        now: &Now,
    ) -> Decision<'a> {
        let Some(first) = changes.first_mut() else { return Decision::refuse(outcome) };
        // A run writes its epoch once.
        let is_new_run = self.run != now.run;
        first.epoch = is_new_run.then(|| self.next_epoch(now.run));
        first.elapsed_ms = now.clock_ms.saturating_sub(self.balances.t);
        let mut planner = Planner::of(self);
        let planned = changes.iter().try_for_each(|change| {
            planner.balances.begin(change.elapsed_ms, change.epoch)?;
            planner.effect(&change.effect)
        });
        match planned {
            Ok(()) => {
                outcome.set_available(planner.balances.available);
                let plan = Some(planner.finish(changes, places, Some(now.run)));
                Decision { outcome, plan }
            }
            // Some number would leave its bounds.
            Err(_) => Decision::misuse(Misuse::Exhausted),
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

/// What comes before a decision's own effect: due holds that it lets expire, and a first admission.
pub(crate) struct DueHolds<'s, 'a> {
    pub seqs: Seqs,
    /// The numbers once those of the stored round have expired. Mostly none is due: then they are
    /// the sale's own.
    pub balances: Cow<'s, Balances>,
    /// Deadline and seq of the last of the user's own holds among them.
    own_to: (u64, u32),
    /// Whether more of the user's own holds are due.
    pub own_left: bool,
    /// The user whom ADMIT lets in by this call.
    pub admits: Option<&'a [u8]>,
}

impl<'s, 'a> DueHolds<'s, 'a> {
    /// Whether this hold of the user's own is not among them.
    pub(crate) fn leaves(&self, grant: &Grant<'_>) -> bool {
        (grant.held_until, grant.seq as u32) > self.own_to
    }

    /// Whether nothing comes before.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.seqs.is_empty() && self.admits.is_none()
    }

    /// All of it as changes.
    #[cold]
    pub(crate) fn changes(&self) -> Changes<'a> {
        let expiries = self.seqs.chunks(EFFECTS_PER_APPLY_MAX);
        let expiries = expiries.map(|seqs| Effect::Expire(Seqs::from_slice(seqs)));
        let admission = self.admits.map(|user| Effect::Admit { user });
        expiries.chain(admission).map(Change::untimed).collect()
    }

    /// Adds a hold of the round whose numbers these are.
    fn add(&mut self, ledger: &Ledger, seq: u32) {
        if let Some(grant) = ledger.grant(seq.into()) {
            let moved = self.balances.to_mut().transfer(grant.qty, State::Held, State::Expired);
            debug_assert_eq!(moved, Ok(()), "held units are counted as held");
            self.seqs.push(seq.into());
        }
    }

    /// What is left of the holding that a user has in `ledger`.
    pub(crate) fn left_of(&self, mut holding: Holding, ledger: &Ledger) -> Holding {
        for grant in self.seqs.iter().filter_map(|seq| ledger.grant(*seq)) {
            holding.live_units = holding.live_units.saturating_sub(grant.qty);
            holding.live_grants = holding.live_grants.saturating_sub(1);
        }
        holding
    }

    /// The same holds with the numbers of `round` instead, once those of them that are of that
    /// round have expired.
    pub(crate) fn switch_to(&mut self, round: &RoundView<'s>) {
        self.balances = Cow::Borrowed(round.balances);
        for grant in self.seqs.iter().filter_map(|seq| round.ledger.grant(*seq)) {
            let moved = self.balances.to_mut().transfer(grant.qty, State::Held, State::Expired);
            debug_assert_eq!(moved, Ok(()), "held units are counted as held");
        }
    }
}

impl Sale {
    /// The user's own due holds: they expire before anything is judged, the earliest first. Of very
    /// many a call writes a part.
    #[inline(always)]
    pub(crate) fn own_due<'a>(
        &self,
        user: &[u8],
        found: &Lookup,
        manner: Manner,
        t: u64,
    ) -> DueHolds<'_, 'a> {
        let mut due = self.none_due();
        let may_have = !found.is_vacant() && self.ledger.holds().are_due(t);
        if may_have || self.extras.is_some() {
            self.add_own_due(&mut due, user, found, manner.expiries().own, t);
        }
        due
    }

    #[cold]
    fn add_own_due(
        &self,
        due: &mut DueHolds<'_, '_>,
        user: &[u8],
        found: &Lookup,
        most: u32,
        t: u64,
    ) {
        let most = most as usize;
        let mut own = match self.rounds() {
            None => self.ledger.due_of(found, t, most + 1),
            Some(rounds) => {
                let is_theirs = |(_, seq): &(u64, u32)| {
                    self.stored_grant((*seq).into()).is_some_and(|grant| grant.user == user)
                };
                let due = rounds.held.due_of(found.hash(), t);
                due.filter(is_theirs).take(most + 1).collect()
            }
        };
        due.own_left = own.len() > most;
        own.truncate(most);
        due.own_to = own.last().copied().unwrap_or_default();
        for (_, seq) in own {
            match self.ledger.has(seq.into()) {
                true => due.add(&self.ledger, seq),
                // Those of an older round move that round's numbers.
                false => due.seqs.push(seq.into()),
            }
        }
    }

    /// Lets further due holds expire, the earliest first, until there is `enough`, at most `most`:
    /// those of others than `user`, whose own have gone before, and those of their own that were
    /// too many. Answers whether that bound stopped it: it is not enough, and more are due.
    #[inline]
    pub(crate) fn expire_until(
        &self,
        ledger: &Ledger,
        due: &mut DueHolds<'_, '_>,
        user: &[u8],
        most: u32,
        t: u64,
        mut enough: impl FnMut(&DueHolds<'_, '_>) -> bool,
    ) -> bool {
        if !ledger.holds().are_due(t) {
            return false;
        }
        let bound = due.seqs.len() + most as usize;
        for (_, seq) in ledger.holds().due(t) {
            if enough(due) {
                break;
            }
            let is_new = |grant: Grant<'_>| grant.user != user || due.leaves(&grant);
            if ledger.grant(seq.into()).is_some_and(is_new) {
                if due.seqs.len() == bound {
                    return true;
                }
                due.add(ledger, seq);
            }
        }
        false
    }
}
