//! Committing a plan. Nothing here is refused or decided.

use core::slice;

use crate::admission::List;
use crate::codec::effect::{Effect, Granting, Importing, UsersChange};
use crate::codec::snapshot::Piece;
use crate::dedup::Restocked;
use crate::draw::Amounts;
use crate::ledger::record::{Asked, ReqTag};
use crate::ledger::{Ledger, NewGrant, Places};
use crate::model::balances::count;
use crate::model::outcome::{state_at, State};
use crate::parts::Pair;
use crate::plan::Plan;
use crate::Sale;

impl Sale {
    /// Applies a plan to its sale, which must be unchanged since. Primaries, replicas and the
    /// loading of an AOF all come here: a sale changes nowhere else.
    pub fn commit(&mut self, plan: &Plan<'_>) {
        debug_assert!(plan.is_for(self), "the sale has changed since this was planned");
        let mut restocked =
            plan.touched.as_ref().map_or(&[][..], |touched| &touched.restocked).iter();
        for change in &plan.changes {
            // Planning has checked both; the other numbers are set right below.
            debug_assert_eq!(
                { self.balances }.begin(change.elapsed_ms, change.epoch),
                Ok(()),
                "planning has begun it too"
            );
            self.balances.t += change.elapsed_ms;
            self.balances.epoch = change.epoch.unwrap_or(self.balances.epoch);
            self.make(&change.effect, plan.new_grant.as_ref(), &mut restocked);
        }
        self.balances = plan.balances;
        if let Some(escrow) = plan.touched.as_ref().and_then(|touched| touched.escrow) {
            self.escrow = Some(escrow);
        }
        if let Some(run) = plan.run {
            self.run = run;
            // The entries were appended before the commit.
            self.outbox_failed &= plan.events.is_empty();
        }
        if self.extras.is_some() {
            self.update_rounds(plan);
        }
        debug_assert!(self.is_lawful(), "{:?}", self.balances);
        debug_assert_eq!(self.balances.grants, self.ledger.len());
        debug_assert!(
            self.escrow.is_none() || !self.is_whole() || self.pairs_agree(),
            "{:?}",
            self.pairs
        );
    }

    /// Applies an effect. `new_grant`: the slots of its grant, if known. `restocked`: the units
    /// available after each restock still to come.
    #[inline]
    fn make(
        &mut self,
        effect: &Effect<'_>,
        new_grant: Option<&Places>,
        restocked: &mut slice::Iter<'_, u64>,
    ) {
        match effect {
            Effect::Grant(grant) => {
                self.record(grant, self.balances.t, new_grant);
                count(&mut self.tallies.granted);
                if self.extras.is_some() {
                    self.amounts_mut().and_then(Amounts::take_first);
                    self.enter_holds(self.ledger.len());
                }
            }
            Effect::Import(import) => self.import(import, new_grant),
            Effect::Restock { req, delta, applied } => {
                let (delta, applied) = (*delta, *applied);
                let available = restocked.next().copied().unwrap_or_default();
                self.restocks.push(Restocked { req: (*req).into(), delta, applied, available });
                if let Some(rounds) = self.rounds_mut() {
                    rounds.base_supply = rounds.base_supply.saturating_add_signed(applied);
                }
            }
            Effect::Pause => self.paused = true,
            Effect::Resume => self.paused = false,
            Effect::Alter(terms) => {
                self.terms = self.terms.altered(terms);
                self.make_extras();
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
                self.set_state(*seq, State::Held, deadline);
            }
            Effect::Reimport { seq } => {
                self.end_offer(*seq);
                self.ledger.set_state(*seq, State::Sold, 0);
                count(&mut self.tallies.imported);
            }
            Effect::Piece(piece) => self.add(piece),
            Effect::Round { round, .. } => self.begin_round(*round),
            Effect::Send { to, total, .. } => {
                self.pairs.set(Pair { sent: *total, ..self.pairs.get(*to) });
            }
            Effect::Receive { from, total } => {
                self.pairs.set(Pair { received: *total, ..self.pairs.get(*from) });
            }
            // Its numbers are in the balances.
            Effect::Elsewhere { .. } => {}
            Effect::Wait(joining) => self.join_list(joining),
            Effect::Leave { ticket } => self.leave_list(*ticket),
            Effect::Drop { ticket, .. } => self.drop_waiter(*ticket),
            Effect::Offer { ticket, hold_ms, passed } => self.offer(*ticket, *hold_ms, *passed),
            Effect::Pass { ticket } => self.pass_waiter(*ticket),
            // No plan has this on an existing sale.
            Effect::Init(_) => {}
        }
    }

    /// Adds a piece of a rewritten sale.
    fn add(&mut self, piece: &Piece<'_>) {
        self.awaits -= 1;
        match piece {
            Piece::RestockIds(kept) => self.add_restock_ids(kept),
            Piece::Fences(added) => added.iter().for_each(|fence| self.fences.load(fence)),
            Piece::Listed(users) => self.add_listed(users),
            Piece::Amounts(added) => self.add_amounts(added),
            Piece::Grants(rows) => self.add_grants(rows),
            Piece::Round(next) => self.follow_round(next),
            Piece::Pairs(pairs) => pairs.iter().for_each(|pair| self.pairs.set(*pair)),
            Piece::Waiters(waiters) => self.add_waiters(waiters),
            // No plan has these on an existing sale.
            Piece::Base(_) | Piece::Refusals(_) => {}
        }
    }

    /// Records a grant made at `at`, at `places` if it was looked up.
    #[inline]
    pub(super) fn record(&mut self, grant: &Granting<'_>, at: u64, places: Option<&Places>) {
        let Granting { user, req, qty, hold_ms } = *grant;
        let (state, held_until) = state_at(hold_ms, at);
        let epoch = self.balances.epoch;
        self.ledger.push(&NewGrant { user, req, qty, state, at, held_until, epoch }, places);
    }

    fn begin_round(&mut self, round: u64) {
        let next = Ledger::starting(self.ledger.key(), self.balances.grants as u32, round);
        self.start_round(next);
        if let Some(rounds) = self.rounds_mut() {
            rounds.note_total();
        }
    }

    fn import(&mut self, import: &Importing<'_>, places: Option<&Places>) {
        let Importing { user, req: id, qty, at } = *import;
        let req = Some(ReqTag { id, asked: Asked::Either });
        self.record(&Granting { user, req, qty, hold_ms: 0 }, at, places);
        if let Some(ticket) = self.waiter_of(user, id).map(|it| it.ticket) {
            self.leave_list(ticket);
        }
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

    /// Stores the numbers of older rounds, and drops rounds that need not be kept.
    fn update_rounds(&mut self, plan: &Plan<'_>) {
        let Some(rounds) = self.rounds_mut() else { return };
        let touched = plan.touched.iter().flat_map(|touched| &touched.older);
        touched.clone().for_each(|(place, balances)| rounds.set_balances(*place, *balances));
        // From the last to the first, so that indexes stay valid.
        touched.rev().for_each(|(place, _)| rounds.prune(*place));
        rounds.before_previous().into_iter().for_each(|place| rounds.prune(place));
        rounds.shed();
    }

    /// Sets a grant's state in its round, with its deadline if it is held.
    fn set_state(&mut self, seq: u64, state: State, held_until: u64) {
        if self.extras.is_none() {
            return self.ledger.set_state(seq, state, held_until);
        }
        let hold_at = |sale: &Sale| {
            let grant = sale.stored_grant(seq).filter(|_| sale.rounds().is_some());
            grant.filter(|it| it.state == State::Held).map(|grant| sale.hold_of(&grant))
        };
        if let Some(hold) = hold_at(self) {
            self.follow_hold(&hold, false);
        }
        self.ledger_of(seq).set_state(seq, state, held_until);
        if let Some(hold) = hold_at(self) {
            self.follow_hold(&hold, true);
        }
    }

    fn retake(&mut self, seq: u64) {
        self.set_state(seq, State::Sold, 0);
        let qty = self.qty_of(seq);
        if let Some(amounts) = self.amounts_mut() {
            amounts.remove(qty);
        }
        count(&mut self.tallies.reclaimed);
    }

    fn qty_of(&self, seq: u64) -> u64 {
        self.stored_grant(seq).map_or(0, |grant| grant.qty)
    }

    /// In a sale with DRAW LIST, puts a grant's amount at the list's end.
    fn return_amount(&mut self, seq: u64) {
        if self.amounts().is_none() {
            return;
        }
        let qty = self.qty_of(seq);
        if let Some(amounts) = self.amounts_mut() {
            amounts.push(qty);
        }
    }

    /// Sets a grant's final state: confirmed, cancelled, expired, refunded.
    fn settle(&mut self, seq: u64, to: State) {
        if self.extras.is_some() {
            self.end_offer(seq);
        }
        self.set_state(seq, to, 0);
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
