//! Changing a sale. Changes are tried on a copy of the numbers first, then made; on a primary the
//! trial can't fail, on a replica or in a log it guards against what is broken or hostile.

use std::collections::HashSet;

use smallvec::SmallVec;

use super::admission::List;
use super::amounts::Amounts;
use super::balances::Balances;
use super::effect::{Change, Effect, Granting, Importing, UsersChange};
use super::event::Event;
use super::ledger::{HashKey, Ledger, NewGrant};
use super::limits::EFFECTS_PER_APPLY_MAX;
use super::lists;
use super::outcome::{Refused, State};
use super::record::{Asked, ReqTag};
use super::restocks::Restocked;
use super::rows;
use super::snapshot;
use super::status::count;
use super::trial::{Moved, Trial, Witness};
use super::Sale;

/// What happened, in order; the same event several times in a row is told once.
pub type Told = SmallVec<[Event; 4]>;

impl Witness for Told {
    #[inline]
    fn see(&mut self, _: &Balances, event: Event, _: &Change<'_>, _: Option<Moved>) {
        if self.last() != Some(&event) {
            self.push(event);
        }
    }
}

impl Sale {
    /// Makes a sale from the change that begins it: an INIT, or the base of a rewritten log.
    /// `key` keys the index's hash. Refused when the change is another one or breaks the law.
    pub fn create(change: &Change<'_>, key: HashKey) -> Result<(Sale, Told), Refused> {
        let mut told = Told::new();
        let Effect::Init(start) = &change.effect else {
            let Effect::Base(piece) = &change.effect else { return Err(Refused::Place) };
            return snapshot::read_base(piece, key).map(|(sale, _)| (sale, told));
        };
        let trial = Trial::of_new(change, &mut told)?;
        let mut sale = Sale::blank(start.id, start.secret, start.terms.clone(), key);
        sale.told_supply = start.supply;
        if let Some(amounts) = sale.amounts_mut() {
            *amounts = start.amounts.iter().copied().collect();
        }
        sale.created_at = trial.balances.t;
        if let Some(rounds) = sale.rounds_mut() {
            rounds.base_supply = start.supply;
            sale.ledger = Ledger::starting(key, 0, trial.balances.round);
        }
        sale.balances = trial.balances;
        Ok((sale, told))
    }

    /// Applies changes that were decided here, on this primary, in the run `run`. Refused, with
    /// nothing changed, only when the clock is beyond what a sale can store.
    pub fn commit(&mut self, changes: &[Change<'_>], run: u64) -> Result<Told, Refused> {
        let told = self.apply(changes)?;
        if !changes.is_empty() {
            // Its first change in a run brought the epoch; without one there is none yet.
            self.run = run;
        }
        Ok(told)
    }

    /// Marks a sale that was just created by an INIT decided here.
    pub fn created_in(mut self, run: u64) -> Sale {
        self.run = run;
        self
    }

    /// Applies what a primary or a log decided: all of it, or nothing when any part is refused.
    /// `version` is the one that the first change follows.
    pub fn apply_replicated(
        &mut self,
        version: u64,
        changes: &[Change<'_>],
    ) -> Result<Told, Refused> {
        if version != self.balances.version {
            return Err(Refused::Gap);
        }
        if changes.len() > EFFECTS_PER_APPLY_MAX || are_entangled(changes) {
            return Err(Refused::Law);
        }
        self.apply(changes)
    }

    /// Applies changes in order: all of them, or nothing when one is refused.
    pub fn apply(&mut self, changes: &[Change<'_>]) -> Result<Told, Refused> {
        let mut told = Told::new();
        let mut trial = Trial::of(self);
        let alone = changes.len() == 1;
        for change in changes {
            trial.step(self, change, alone, &mut told)?;
        }
        let restocked = trial.more().map_or(&[][..], |more| &more.restocked);
        let mut restocked = restocked.iter().copied();
        for change in changes {
            let begun = self.balances.begin(change);
            debug_assert_eq!(begun, Ok(()), "the trial has begun it too");
            self.make(change, &mut restocked);
        }
        self.balances = trial.balances;
        if self.extras.is_some() {
            self.tidy_rounds(&trial);
        }
        debug_assert!(self.balances.is_lawful(), "{:?}", self.balances);
        debug_assert_eq!(self.balances.grants, self.ledger.len());
        Ok(told)
    }

    /// Makes a change that was tried. `restocked`: what is available after each restock to come.
    fn make(&mut self, change: &Change<'_>, restocked: &mut impl Iterator<Item = u64>) {
        self.awaits -= u64::from(change.effect.is_piece());
        match &change.effect {
            Effect::Grant(grant) => {
                self.record(grant);
                if self.extras.is_some() {
                    self.amounts_mut().and_then(Amounts::take_first);
                }
            }
            Effect::Import(import) => self.import(import),
            Effect::Restock { req, delta, applied } => {
                let (delta, applied) = (*delta, *applied);
                let available = restocked.next().unwrap_or_default();
                self.restocks.push(Restocked { req: (*req).into(), delta, applied, available });
                if let Some(rounds) = self.rounds_mut() {
                    rounds.base_supply = rounds.base_supply.saturating_add_signed(applied);
                }
            }
            Effect::Pause => self.paused = true,
            Effect::Resume => self.paused = false,
            Effect::Alter(terms) => {
                self.terms = self.terms.altered(terms);
                if self.terms.has_extras() {
                    self.extras_mut();
                }
            }
            Effect::Users(change) => self.change_list(change),
            Effect::Admit { user } => {
                self.extras_mut().list_mut(List::Admitted).insert(user);
            }
            Effect::Fence { user, req } => self.fences.insert(user, req, self.balances.t),
            Effect::Expire(seqs) => seqs.iter().for_each(|seq| self.settle(*seq, State::Expired)),
            Effect::Settle { seq, to } => self.settle(*seq, *to),
            Effect::Reclaim { seq } => self.retake(*seq),
            Effect::Extend { seq, ms } => {
                let deadline = self.balances.t + ms;
                self.ledger_of(*seq).set_state(*seq, State::Held, deadline);
            }
            Effect::Reimport { seq } => {
                self.ledger.set_state(*seq, State::Sold, 0);
                count(&mut self.tallies.imported);
            }
            Effect::RestockIds(piece) => lists::take_restocks(self, piece),
            Effect::Fences(piece) => lists::take_fences(self, piece),
            Effect::Listed(piece) => lists::take_listed(self, piece),
            Effect::Amounts(piece) => lists::take_amounts(self, piece),
            Effect::Rows(piece) => rows::take(self, piece),
            Effect::Turn(piece) => snapshot::take_turn(self, piece),
            Effect::Round { round, .. } => self.begin_round(*round),
            // The trial refuses these on a sale that exists.
            Effect::Init(_) | Effect::Base(_) => {}
        }
    }

    /// Records a grant that begins now. Compiled into the caller, who knows more of the grant.
    #[inline(always)]
    pub(super) fn record(&mut self, grant: &Granting<'_>) {
        let (state, held_until) = grant.state_at(self.balances.t);
        let new = NewGrant {
            user: grant.user,
            req: grant.req,
            qty: grant.qty,
            state,
            at: self.balances.t,
            held_until,
            epoch: self.balances.epoch,
        };
        self.ledger.forget_announced_epochs();
        let found = grant.found.unwrap_or_else(|| self.ledger.find(grant.user));
        self.ledger.push_here(&new, found);
        count(&mut self.tallies.granted);
    }

    fn begin_round(&mut self, round: u64) {
        self.turn(round, self.balances.grants + 1);
        if let Some(rounds) = self.rounds_mut() {
            rounds.note_total();
        }
    }

    fn import(&mut self, import: &Importing<'_>) {
        let new = NewGrant {
            user: import.user,
            req: Some(ReqTag { id: import.req, asked: Asked::Either }),
            qty: import.qty,
            state: State::Sold,
            at: import.at,
            held_until: 0,
            epoch: self.balances.epoch,
        };
        self.ledger.forget_announced_epochs();
        self.ledger.push(&new, None);
        count(&mut self.tallies.imported);
    }

    fn change_list(&mut self, change: &UsersChange<'_>) {
        let list = self.extras_mut().list_mut(change.list);
        for user in &change.users {
            match change.add {
                true => list.insert(user),
                false => list.remove(user),
            };
        }
    }

    /// The ledger of the round that has `seq`.
    fn ledger_of(&mut self, seq: u64) -> &mut Ledger {
        let place = self.old_place_of(seq);
        let rounds = self.extras.as_deref_mut().and_then(|extras| extras.rounds.as_deref_mut());
        let old = place.zip(rounds).and_then(|(place, rounds)| rounds.older.get_mut(place));
        old.map_or(&mut self.ledger, |old| &mut old.ledger)
    }

    /// Takes over the numbers of older rounds and lets go of those that are not kept.
    fn tidy_rounds(&mut self, trial: &Trial) {
        let Some(rounds) = self.rounds_mut() else { return };
        let touched = trial.more().into_iter().flat_map(|more| &more.older);
        touched.for_each(|(place, balances)| rounds.set_balances(*place, *balances));
        rounds.prune();
        rounds.shed();
    }

    fn retake(&mut self, seq: u64) {
        self.ledger_of(seq).set_state(seq, State::Sold, 0);
        let qty = self.qty_of(seq);
        if let Some(amounts) = self.amounts_mut() {
            amounts.take(qty);
        }
        count(&mut self.tallies.reclaimed);
    }

    fn qty_of(&self, seq: u64) -> u64 {
        self.stored_grant(seq).map_or(0, |grant| grant.qty)
    }

    /// In a sale with DRAW LIST an amount comes back to the end of the list.
    fn return_amount(&mut self, seq: u64) {
        if self.amounts().is_none() {
            return;
        }
        let qty = self.qty_of(seq);
        if let Some(amounts) = self.amounts_mut() {
            amounts.push(qty);
        }
    }

    fn settle(&mut self, seq: u64, to: State) {
        self.ledger_of(seq).set_state(seq, to, 0);
        if matches!(to, State::Cancelled | State::Expired | State::Refunded) {
            self.return_amount(seq);
        }
        let tallies = &mut self.tallies;
        match to {
            State::Sold => count(&mut tallies.confirmed),
            State::Cancelled => count(&mut tallies.cancelled),
            State::Expired => count(&mut tallies.expired),
            State::Refunded => count(&mut tallies.refunded),
            State::Held | State::Forfeited => {}
        }
    }
}

/// Whether one of several changes can't be checked before the others are made: two bring the same
/// new request id, or two change the terms.
fn are_entangled(changes: &[Change<'_>]) -> bool {
    if changes.len() < 2 {
        return false;
    }
    let (mut grants, mut restocks, mut alters) = (HashSet::new(), HashSet::new(), 0);
    !changes.iter().all(|change| match change.effect {
        Effect::Grant(Granting { user, req: Some(req), .. }) => grants.insert((user, req.id)),
        Effect::Import(Importing { user, req, .. }) => grants.insert((user, req)),
        Effect::Restock { req, .. } => restocks.insert(req),
        Effect::Alter(_) => {
            alters += 1;
            alters == 1
        }
        _ => true,
    })
}
