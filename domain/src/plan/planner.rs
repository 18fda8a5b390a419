//! Working out what changes come to, one after the other: numbers, states and events.

use crate::codec::effect::{state_at, Changes, Effect, Granting, Importing};
use crate::draw::Draw;
use crate::ledger::Places;
use crate::model::balances::{Balances, Escrow};
use crate::model::event::{Event, EventKind, Events, Numbers};
use crate::model::outcome::{GrantView, Refused, State};
use crate::plan::{More, Plan};
use crate::request::Terms;
use crate::Sale;

/// Where a sale would stand after the changes planned so far.
pub(crate) struct Planner<'s> {
    pub(crate) sale: &'s Sale,
    pub(crate) balances: Balances,
    /// Whether entries are written, so that revs are counted.
    has_outbox: bool,
    events: Events,
    pub(super) more: Option<Box<More>>,
}

impl<'s> Planner<'s> {
    /// Starts where the sale stands.
    #[inline]
    pub(crate) fn of(sale: &'s Sale) -> Planner<'s> {
        let has_outbox = sale.terms.outbox.is_some();
        let (balances, events) = (sale.balances, Events::new());
        Planner { sale, balances, has_outbox, events, more: None }
    }

    /// Plans what the change does that the numbers have begun.
    pub(crate) fn effect(&mut self, effect: &Effect<'_>) -> Result<(), Refused> {
        match effect {
            Effect::Grant(Granting { qty, hold_ms, .. }) => {
                self.grant(EventKind::Grant, *qty, *hold_ms)
            }
            Effect::Import(import) => self.import(import),
            Effect::Reimport { seq } => self.reimport(*seq),
            Effect::Restock { delta, applied, .. } => {
                if self.sale.escrow.is_some() {
                    self.escrow_mut()?.restock(*applied)?;
                }
                self.happen(EventKind::Restock, None, |it| it.restock(*delta, *applied))?;
                let available = self.balances.available;
                self.more_mut().restocked.push(available);
                Ok(())
            }
            Effect::Pause => self.happen(EventKind::Pause, None, |_| Ok(())),
            Effect::Resume => self.happen(EventKind::Resume, None, |_| Ok(())),
            Effect::Alter(terms) => {
                self.has_outbox |= terms.outbox.is_some();
                self.happen(EventKind::Alter, None, |_| Ok(()))
            }
            Effect::Expire(seqs) => {
                seqs.iter().try_for_each(|seq| self.settle(*seq, State::Expired))
            }
            Effect::Settle { seq, to } => self.settle(*seq, *to),
            Effect::Reclaim { seq } => self.reclaim(*seq),
            Effect::Extend { seq, ms } => self.extend(*seq, *ms),
            Effect::Round { round, supply } => self.round(*round, *supply),
            Effect::Send { to, total, owed } => self.send(*to, *total, *owed),
            Effect::Receive { from, total } => {
                let before = self.sale.pairs.get(*from).received;
                let units = total.checked_sub(before).filter(|units| *units > 0);
                let units = units.ok_or(Refused::Law)?;
                self.escrow_mut()?.receive(units)?;
                self.happen(EventKind::Receive, None, |it| it.add(units))
            }
            Effect::Elsewhere { units, pass } => self.learn(*units, *pass),
            Effect::Wait(_) => self.wait(),
            Effect::Leave { ticket } => self.leave(*ticket, EventKind::Leave),
            Effect::Drop { ticket, .. } => self.leave(*ticket, EventKind::Dropped),
            Effect::Offer { ticket, hold_ms, .. } => {
                self.offer(*ticket, *hold_ms)?;
                self.note_offer_after_restock();
                Ok(())
            }
            // These emit nothing, and no number moves.
            Effect::Fence { .. } | Effect::Users(_) | Effect::Admit { .. } => Ok(()),
            Effect::Pass { .. } => Ok(()),
            // A sale begins with these, and a log is rewritten as them: neither is planned here.
            Effect::Init(_) | Effect::Piece(_) => Err(Refused::Place),
        }
    }

    /// The plan of all `changes`.
    #[inline(always)]
    pub(crate) fn finish<'a>(
        mut self,
        changes: Changes<'a>,
        new_grant: Option<&Places>,
        run: Option<u64>,
    ) -> Plan<'a> {
        // With a list the stock is told once for all of the step.
        if !self.sale.is_plain() {
            self.emit_stock();
        }
        let edition = self.sale.edition();
        let Planner { balances, events, more, .. } = self;
        Plan { edition, changes, balances, events, new_grant: new_grant.copied(), more, run }
    }

    #[cold]
    fn emit_stock(&mut self) {
        let (before, after) = (self.sale.stock(), self.stock());
        // Without a list it was told with each change, and pieces of a rewritten sale tell nothing.
        let is_emitted_here = self.sale.waitlist().is_some() && self.sale.is_whole();
        if before != after && is_emitted_here {
            self.emit(EventKind::into_stock(after), None, None);
        }
    }

    /// An offer of a restock's own step: nothing but offers and drops came in between. It is told
    /// from the changes alone, however many of them one command carries.
    fn note_offer_after_restock(&mut self) {
        let of_list = [EventKind::Offer, EventKind::Dropped];
        let before = self.events.iter().rev().find(|event| !of_list.contains(&event.kind));
        if before.is_some_and(|event| event.kind == EventKind::Restock) {
            let available = self.balances.available;
            if let Some(last) = self.more_mut().restocked.last_mut() {
                *last = available;
            }
        }
    }

    pub(super) fn more_mut(&mut self) -> &mut More {
        self.more.get_or_insert_with(Box::default)
    }

    /// Moves the sale's numbers and emits the event, if it is one, then the transition of the stock
    /// if there was one.
    #[inline]
    pub(super) fn happen(
        &mut self,
        kind: impl Into<Option<EventKind>>,
        grant: Option<GrantView>,
        work: impl FnOnce(&mut Balances) -> Result<(), Refused>,
    ) -> Result<(), Refused> {
        let before = self.balances.stock();
        work(&mut self.balances)?;
        let moved = self.more.as_ref().and_then(|more| more.escrow.as_ref());
        let escrow = moved.or(self.sale.escrow.as_ref());
        check_law(&self.sale.terms, &self.balances, escrow)?;
        if let Some(kind) = kind.into() {
            self.emit(kind, grant, None);
        }
        let after = self.balances.stock();
        // With a list the stock is told once, at the end of the step.
        if before != after && self.sale.waitlist().is_none() {
            self.emit(EventKind::into_stock(after), None, None);
        }
        Ok(())
    }

    /// Like [`Planner::happen`] for a grant that may be of an older round: then it moves that
    /// round's numbers, and the stock is not that round's.
    fn happen_to(
        &mut self,
        kind: EventKind,
        grant: GrantView,
        work: impl FnOnce(&mut Balances) -> Result<(), Refused>,
    ) -> Result<(), Refused> {
        let Some(place) = self.sale.old_place_of(grant.seq) else {
            return self.happen(kind, Some(grant), work);
        };
        let stored = self.sale.rounds().and_then(|rounds| rounds.older.get(place));
        let stored = stored.ok_or(Refused::Law)?.balances;
        let touched = self.more.as_ref().and_then(|more| more.older.get(&place));
        let mut older = touched.copied().unwrap_or(stored);
        work(&mut older)?;
        check_law(&self.sale.terms, &older, None)?;
        self.more_mut().older.insert(place, older);
        self.emit(kind, Some(grant), Some(&older));
        Ok(())
    }

    /// Emits an event. `older` are the numbers of its round if that is over.
    #[inline]
    fn emit(&mut self, kind: EventKind, grant: Option<GrantView>, older: Option<&Balances>) {
        self.balances.rev += u64::from(self.has_outbox);
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

    /// State and quantity of a grant after what was planned so far.
    pub(crate) fn look(&self, seq: u64) -> Result<(State, u64), Refused> {
        let grant = self.sale.stored_grant(seq).ok_or(Refused::Law)?;
        let moved = self.more.as_ref().and_then(|more| more.moved.get(&seq));
        Ok((moved.copied().unwrap_or(grant.state), grant.qty))
    }
}

impl Planner<'_> {
    /// A new grant, which a buyer asked for or is offered.
    #[inline]
    pub(super) fn grant(&mut self, kind: EventKind, qty: u64, hold_ms: u64) -> Result<(), Refused> {
        let (state, deadline) = state_at(hold_ms, self.balances.t);
        let view = GrantView { seq: self.balances.grants + 1, qty, state, deadline };
        self.happen(kind, Some(view), |it| {
            it.place(qty, state)?;
            it.last_grant_at = it.t;
            Ok(())
        })
    }

    fn import(&mut self, import: &Importing<'_>) -> Result<(), Refused> {
        let (seq, state, qty) = (self.balances.grants + 1, State::Sold, import.qty);
        let view = GrantView { seq, qty, state, deadline: 0 };
        self.happen(EventKind::Import, Some(view), |it| {
            it.cover(qty)?;
            it.place(qty, state)
        })?;
        self.import_waiter(import.user, import.req)
    }

    /// An IMPORT of a grant that is known: whatever it came to, it is sold from now on.
    fn reimport(&mut self, seq: u64) -> Result<(), Refused> {
        let (from, qty) = self.look(seq)?;
        let view = self.moved(GrantView { seq, qty, state: State::Sold, deadline: 0 });
        self.happen(EventKind::Import, Some(view), |it| {
            if from != State::Held {
                it.cover(qty)?;
            }
            it.transfer(qty, from, State::Sold)
        })
    }

    /// Moves a grant and its units as an action of a buyer, the shop or the clock.
    fn settle(&mut self, seq: u64, to: State) -> Result<(), Refused> {
        let (from, qty) = self.look(seq)?;
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

    /// An expired grant is sold after all.
    fn reclaim(&mut self, seq: u64) -> Result<(), Refused> {
        let (from, qty) = self.look(seq)?;
        let view = GrantView { seq, qty, state: State::Sold, deadline: 0 };
        self.transfer(EventKind::Reclaim, from, view)
    }

    fn transfer(&mut self, kind: EventKind, from: State, view: GrantView) -> Result<(), Refused> {
        let view = self.moved(view);
        self.happen_to(kind, view, |it| match view.state {
            // Its units have come back when it expired.
            State::Forfeited => Ok(()),
            to => it.transfer(view.qty, from, to),
        })
    }

    fn extend(&mut self, seq: u64, ms: u64) -> Result<(), Refused> {
        let (_, qty) = self.look(seq)?;
        let deadline = self.balances.t + ms;
        let view = self.moved(GrantView { seq, qty, state: State::Held, deadline });
        self.happen_to(EventKind::Extend, view, |_| Ok(()))
    }

    /// Remembers where a grant stands now.
    fn moved(&mut self, view: GrantView) -> GrantView {
        self.more_mut().moved.insert(view.seq, view.state);
        view
    }

    /// Units go to another part. Nothing happens when they have gone before.
    fn send(&mut self, to: u16, total: u64, owed: u64) -> Result<(), Refused> {
        let units = total.checked_sub(self.sale.pairs.get(to).sent).ok_or(Refused::Law)?;
        match (units, owed) {
            (0, 0) => Ok(()),
            _ => {
                self.escrow_mut()?.send(units)?;
                self.happen(EventKind::Send, None, |it| it.send(units, owed))
            }
        }
    }

    /// A pass over all parts tells what the others may still have.
    fn learn(&mut self, elsewhere: u64, pass: u64) -> Result<(), Refused> {
        let known = self.balances.elsewhere;
        let escrow = self.escrow_mut()?;
        if (pass, elsewhere) <= (escrow.pass, known) {
            return Err(Refused::Law);
        }
        escrow.pass = pass;
        self.happen(None, None, |it| {
            it.elsewhere = elsewhere;
            Ok(())
        })
    }

    /// What a part was given and has moved after what was planned so far, to be changed. Refused in
    /// a sale that is no part.
    fn escrow_mut(&mut self) -> Result<&mut Escrow, Refused> {
        let stored = self.sale.escrow.ok_or(Refused::Law)?;
        Ok(self.more_mut().escrow.get_or_insert(stored))
    }

    /// A new round, with all its units available.
    fn round(&mut self, round: u64, supply: u64) -> Result<(), Refused> {
        let packets = self.sale.packets_begun();
        self.happen(EventKind::Round, None, |it| {
            let (available, held, sold) = (supply, 0, 0);
            *it = Balances { round, supply, available, held, sold, packets, ..*it };
            Ok(())
        })
    }
}

/// The law over the numbers of a round.
#[inline]
pub(crate) fn check_law(
    terms: &Terms,
    balances: &Balances,
    escrow: Option<&Escrow>,
) -> Result<(), Refused> {
    let is_shared = match &terms.draw {
        Some(draw) => Draw::is_lawful(draw, balances),
        None => balances.packets.is_none(),
    };
    let is_split = terms.split.is_some() == escrow.is_some();
    match is_shared && is_split && balances.is_lawful(escrow) {
        true => Ok(()),
        false => Err(Refused::Law),
    }
}
