//! The draft of a sale: the sale as it would stand after the changes drafted so far, and their
//! events. A request is decided on a draft, a plan is made from it, and changes decided elsewhere
//! are checked on it. A draft knows neither effects nor requests.

mod holdings;
mod numbers;
mod waitlist;

use std::collections::BTreeMap;

use crate::draw::{Draw, PlannedAmounts};
use crate::ledger::{Holding, Ledger, Lookup};
use crate::model::balances::{Balances, Escrow};
use crate::model::event::{Event, EventKind, Events, Numbers};
use crate::model::outcome::{check, state_at, GrantView, Refused, State};
use crate::request::Terms;
use crate::Sale;
use holdings::Gained;
pub(crate) use numbers::without;
use numbers::NumbersDraft;
use waitlist::ListDraft;

/// A sale as it would stand.
#[derive(Clone)]
pub(crate) struct Draft<'s> {
    /// The sale without the draft's changes.
    pub(crate) sale: &'s Sale,
    /// The numbers of the current round.
    pub(crate) balances: Balances,
    /// Whether the sale writes entries, so that revs are counted.
    pub(crate) has_outbox: bool,
    /// Events so far, in order.
    pub(crate) events: Events,
    /// The grant that was changed last.
    pub(crate) about: Option<GrantView>,
    /// Everything else. Few changes touch it: a plain grant is drafted without the heap.
    pub(crate) touched: Option<Box<Touched>>,
}

/// State that few changes touch, beside the numbers of the current round.
#[derive(Clone, Debug, Default)]
pub(crate) struct Touched {
    /// Changed grants as they would stand.
    moved: BTreeMap<u64, GrantView>,
    /// Numbers of older rounds, by index.
    pub(crate) older: BTreeMap<usize, Balances>,
    /// Units available after each restock and the rest of its step; the reply to its repeats.
    pub(crate) restocked: Vec<u64>,
    /// Whether all changes since the last restock belong to its step: expiries on behalf of
    /// waiters, and offers to them.
    is_restocking: bool,
    /// The new escrow of a part of a split, if it changes.
    pub(crate) escrow: Option<Escrow>,
    /// The amounts of DRAW LIST as they would stand.
    amounts: Option<Box<PlannedAmounts>>,
    /// The waiting list as it would stand.
    list: Option<Box<ListDraft>>,
    /// Changes of users' live units and grants; computed when first asked for.
    gained: Option<Box<Gained>>,
    /// The numbers of the units as they would stand.
    numbers: Option<Box<NumbersDraft>>,
}

impl<'s> Draft<'s> {
    /// A draft without changes.
    #[inline]
    pub(crate) fn of(sale: &'s Sale) -> Draft<'s> {
        let has_outbox = sale.terms.outbox.is_some();
        let (balances, events) = (sale.balances, Events::new());
        Draft { sale, balances, has_outbox, events, about: None, touched: None }
    }

    /// Begins a change: its time, its epoch, its version.
    #[inline]
    pub(crate) fn begin(&mut self, elapsed_ms: u64, epoch: Option<u64>) -> Result<(), Refused> {
        self.balances.begin(elapsed_ms, epoch)
    }

    /// Ends the step. With a waiting list it emits the stock's transition once for the whole step.
    #[inline]
    pub(crate) fn end(&mut self) {
        if !self.sale.is_plain() {
            self.emit_stock();
        }
    }

    #[cold]
    fn emit_stock(&mut self) {
        let (before, after) = (self.sale.stock(), self.stock());
        // Without a waiting list each change has emitted its transition; pieces of a rewritten sale
        // emit none.
        let is_emitted_here = self.sale.waitlist().is_some() && self.sale.is_whole();
        if before != after && is_emitted_here {
            self.emit(EventKind::into_stock(after), None, None);
        }
    }

    fn touched_mut(&mut self) -> &mut Touched {
        self.touched.get_or_insert_with(Box::default)
    }

    /// Changes the sale's numbers, then emits the event, if any, and the stock's transition, if
    /// any.
    #[inline]
    pub(crate) fn change(
        &mut self,
        kind: impl Into<Option<EventKind>>,
        grant: Option<GrantView>,
        work: impl FnOnce(&mut Balances) -> Result<(), Refused>,
    ) -> Result<(), Refused> {
        let before = self.balances.stock();
        work(&mut self.balances)?;
        if grant.is_some() {
            self.about = grant;
        }
        let moved = self.touched.as_ref().and_then(|touched| touched.escrow.as_ref());
        let escrow = moved.or(self.sale.escrow.as_ref());
        check_law(&self.sale.terms, &self.balances, escrow)?;
        if let Some(kind) = kind.into() {
            self.emit(kind, grant, None);
        }
        let after = self.balances.stock();
        // With a waiting list the transition is emitted once, at the end of the step.
        if before != after && self.sale.waitlist().is_none() {
            self.emit(EventKind::into_stock(after), None, None);
        }
        Ok(())
    }

    /// Like [`Draft::change`] for a grant that may be of an older round: changes that round's
    /// numbers and emits no transition of the stock.
    pub(crate) fn change_round_of(
        &mut self,
        kind: EventKind,
        grant: GrantView,
        work: impl FnOnce(&mut Balances) -> Result<(), Refused>,
    ) -> Result<(), Refused> {
        let Some(index) = self.sale.older_index_of(grant.seq) else {
            return self.change(kind, Some(grant), work);
        };
        let mut older = *self.numbers_at(index).ok_or(Refused::Law)?;
        work(&mut older)?;
        check_law(&self.sale.terms, &older, None)?;
        self.touched_mut().older.insert(index, older);
        self.about = Some(grant);
        self.emit(kind, Some(grant), Some(&older));
        Ok(())
    }

    /// Emits an event. `older` are the numbers of its round if that round is over.
    #[inline]
    fn emit(&mut self, kind: EventKind, grant: Option<GrantView>, older: Option<&Balances>) {
        self.balances.rev += u64::from(self.has_outbox);
        if let Some(touched) = &mut self.touched {
            let goes_on = [EventKind::Expire, EventKind::Offer, EventKind::Dropped];
            touched.is_restocking &= goes_on.contains(&kind);
        }
        if self.has_outbox || self.events.last().is_none_or(|last| last.kind != kind) {
            let Balances { epoch, rev, t, .. } = self.balances;
            let of_round = older.unwrap_or(&self.balances);
            let Balances { supply, available, held, sold, round, .. } = *of_round;
            let numbers = Numbers { epoch, rev, t, supply, available, held, sold, round };
            // Each change that began has a version of its own.
            let change = (self.balances.version - self.sale.balances.version - 1) as usize;
            self.events.push(Event { kind, change, numbers, grant });
        }
    }
}

/// Questions to the draft.
impl<'s> Draft<'s> {
    /// A grant as it would stand.
    pub(crate) fn look(&self, seq: u64) -> Result<GrantView, Refused> {
        let moved = self.touched.as_ref().and_then(|touched| touched.moved.get(&seq));
        match moved {
            Some(moved) => Ok(*moved),
            None => Ok(self.sale.stored_grant(seq).ok_or(Refused::Law)?.view()),
        }
    }

    /// Whether the draft changes this grant.
    pub(crate) fn has_moved(&self, seq: u64) -> bool {
        self.touched.as_ref().is_some_and(|touched| touched.moved.contains_key(&seq))
    }

    /// Grants that the draft changes.
    pub(crate) fn moved_len(&self) -> usize {
        self.touched.as_ref().map_or(0, |touched| touched.moved.len())
    }

    fn numbers_at(&self, index: usize) -> Option<&Balances> {
        let touched = self.touched.as_ref().and_then(|touched| touched.older.get(&index));
        touched.or_else(|| Some(&self.sale.rounds()?.older.get(index)?.balances))
    }

    /// The numbers of the round that has grant `seq`; of the current round if no round has it.
    pub(crate) fn numbers_of(&self, seq: u64) -> &Balances {
        let index = self.sale.older_index_of(seq);
        index.and_then(|index| self.numbers_at(index)).unwrap_or(&self.balances)
    }

    /// A user's live units and grants in the round of this ledger; `found` is the ledger's own
    /// count.
    #[inline]
    pub(crate) fn holding(&mut self, ledger: &Ledger, user: &[u8], found: &Lookup) -> Holding {
        let holding = ledger.holding(found);
        match &mut self.touched {
            None => holding,
            Some(touched) => touched.holding(self.sale, holding, ledger, user),
        }
    }

    fn amounts(&self) -> Option<&PlannedAmounts> {
        self.touched.as_ref()?.amounts.as_deref()
    }

    fn amounts_mut(&mut self) -> &mut PlannedAmounts {
        self.touched_mut().amounts.get_or_insert_with(Box::default)
    }

    /// The first amount of DRAW LIST; `None` without a list or when the list is used up.
    pub(crate) fn first_amount(&self) -> Option<u64> {
        let list = self.sale.amounts()?;
        match self.amounts() {
            None => list.first(),
            Some(amounts) => amounts.first(list),
        }
    }

    /// Whether an expired grant's units can be taken again in its round. In a sale that draws this
    /// also takes a packet, and every packet left must still get its share.
    pub(crate) fn can_retake(&self, seq: u64, qty: u64) -> bool {
        let mut after = *self.numbers_of(seq);
        if self.sale.numbers().is_some() {
            return self.are_free(&self.units_of(seq));
        }
        let Some(draw) = self.sale.terms.draw() else { return after.available >= qty };
        let is_listed = self.sale.amounts().is_none_or(|list| match self.amounts() {
            None => list.contains(qty),
            Some(amounts) => amounts.contains(list, qty),
        });
        let moved = after.transfer(qty, State::Expired, State::Sold);
        is_listed && moved.is_ok() && draw.is_lawful(&after)
    }
}

/// Changes to grants.
impl Draft<'_> {
    /// Adds a new grant: granted to a buyer, or offered to a waiter.
    #[inline]
    pub(crate) fn grant(&mut self, kind: EventKind, qty: u64, hold_ms: u64) -> Result<(), Refused> {
        let (state, deadline) = state_at(hold_ms, self.balances.t);
        let view = GrantView { seq: self.balances.grants + 1, qty, state, deadline };
        self.change(kind, Some(view), |it| {
            it.add_grant(qty, state)?;
            it.last_grant_at = it.t;
            Ok(())
        })?;
        if let Some(list) = self.sale.amounts() {
            self.amounts_mut().take_first(list);
        }
        Ok(())
    }

    /// Moves a grant and its units to another state, for a buyer, the shop or the clock.
    pub(crate) fn settle(&mut self, seq: u64, to: State) -> Result<(), Refused> {
        let GrantView { state: from, qty, .. } = self.look(seq)?;
        let kind = match (from, to) {
            (State::Held, State::Sold) => EventKind::Confirm,
            (State::Held, State::Cancelled) => EventKind::Cancel,
            (State::Held, State::Expired) => EventKind::Expire,
            (State::Sold, State::Refunded) => EventKind::Refund,
            (State::Expired, State::Forfeited) => EventKind::ReclaimRefused,
            _ => return Err(Refused::Law),
        };
        self.transfer(kind, from, GrantView { seq, qty, state: to, deadline: 0 })
    }

    /// Moves the units of a grant to its new state, in its own round.
    pub(crate) fn transfer(
        &mut self,
        kind: EventKind,
        from: State,
        view: GrantView,
    ) -> Result<(), Refused> {
        let view = self.moved(view);
        self.change_round_of(kind, view, |it| match view.state {
            // The units came back when the grant expired.
            State::Forfeited => Ok(()),
            to => it.transfer(view.qty, from, to),
        })?;
        self.note_restocked();
        if self.sale.is_plain() {
            return Ok(());
        }
        self.move_units(view.seq, from, view.state)?;
        let Some(list) = self.sale.amounts() else { return Ok(()) };
        let amounts = self.amounts_mut();
        match (from.is_live(), view.state.is_live()) {
            (false, true) if !amounts.remove(list, view.qty) => Err(Refused::Law),
            (true, false) => {
                amounts.push(view.qty);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Gives `returned` units of a live grant back, in its own round. The rest stays as it is, or
    /// is sold.
    pub(crate) fn trim(&mut self, seq: u64, returned: u64, to: State) -> Result<(), Refused> {
        let before = self.look(seq)?;
        let from = before.state;
        let (kind, deadline) = match (from, to) {
            (State::Held, State::Sold) => (EventKind::Confirm, 0),
            (State::Held, State::Held) | (State::Sold, State::Sold) => {
                (EventKind::Trim, before.deadline)
            }
            _ => return Err(Refused::Law),
        };
        let qty = before.qty.checked_sub(returned).ok_or(Refused::Law)?;
        check(qty > 0 && returned > 0)?;
        let view = self.moved(GrantView { seq, qty, state: to, deadline });
        self.change_round_of(kind, view, |it| {
            it.transfer(returned, from, State::Cancelled)?;
            match from == to {
                true => Ok(()),
                false => it.transfer(qty, from, to),
            }
        })
    }

    /// Remembers a changed grant.
    pub(crate) fn moved(&mut self, view: GrantView) -> GrantView {
        let sale = self.sale;
        self.touched_mut().move_to(sale, view);
        view
    }
}

/// Changes to the sale as a whole.
impl Draft<'_> {
    /// Emits an event that changes no number.
    pub(crate) fn event(&mut self, kind: EventKind) -> Result<(), Refused> {
        self.change(kind, None, |_| Ok(()))
    }

    /// Notes a RESTOCK: the reply to its repeats counts the rest of its step.
    pub(crate) fn begin_restock(&mut self) {
        let available = self.balances.available;
        let touched = self.touched_mut();
        touched.restocked.push(available);
        touched.is_restocking = true;
    }

    /// Updates the last restock's count after units moved within its step. The count depends on the
    /// changes only, not on how many of them share a command.
    pub(crate) fn note_restocked(&mut self) {
        let available = self.balances.available;
        if let Some(touched) = self.touched.as_mut().filter(|touched| touched.is_restocking) {
            if let Some(last) = touched.restocked.last_mut() {
                *last = available;
            }
        }
    }

    /// The part's escrow, to be changed. Refused if the sale is not a part.
    pub(crate) fn escrow_mut(&mut self) -> Result<&mut Escrow, Refused> {
        let stored = self.sale.escrow.ok_or(Refused::Law)?;
        Ok(self.touched_mut().escrow.get_or_insert(stored))
    }

    /// Adds an imported grant to the holdings of its user. Only the waiting list reads them
    /// afterwards.
    pub(crate) fn gain(&mut self, user: &[u8], qty: u64) {
        let sale = self.sale;
        if sale.waiters().is_some() {
            self.touched_mut().gain(sale, user, qty);
        }
    }
}

/// Checks the law over the numbers of a round.
#[inline]
pub(crate) fn check_law(
    terms: &Terms,
    balances: &Balances,
    escrow: Option<&Escrow>,
) -> Result<(), Refused> {
    let is_shared = match terms.draw() {
        Some(draw) => Draw::is_lawful(draw, balances),
        None => balances.packets.is_none(),
    };
    let is_split = terms.split.is_some() == escrow.is_some();
    match is_shared && is_split && balances.is_lawful(escrow) {
        true => Ok(()),
        false => Err(Refused::Law),
    }
}
