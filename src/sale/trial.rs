//! Trying changes on a copy of the numbers: what is refused here has touched nothing.

use std::collections::BTreeMap;

use super::admission::List;
use super::amounts::AmountsTrial;
use super::core::Core;
use super::draw::Draw;
use super::effect::{Change, Effect, Granting, Importing, Start, UsersChange};
use super::event::Event;
use super::limits::{
    AMOUNTS_PER_PIECE, GRANTS_MAX, HOLD_MS_MAX, INTEGER_MAX, REQ_BYTES_MAX, TIME_MS_MAX,
    USER_BYTES_MAX,
};
use super::lists;
use super::outcome::{Refused, State};
use super::rows;
use super::snapshot;
use super::terms::Terms;
use super::Sale;

/// Where a sale would stand after the changes tried so far.
#[derive(Clone, Debug)]
pub struct Trial {
    pub core: Core,
    /// Whether entries are written, so that revs are counted.
    has_outbox: bool,
    draw: Option<Draw>,
    /// What most trials don't need: a plain grant is tried without the heap.
    more: Option<Box<More>>,
}

/// What the changes tried so far have done beside moving the numbers.
#[derive(Clone, Debug, Default)]
pub struct More {
    /// Grants that they have moved: state and deadline.
    moved: BTreeMap<u64, (State, u64)>,
    /// Numbers of older rounds that they have touched, by their place.
    pub older: BTreeMap<usize, Core>,
    /// What becomes of the amounts of DRAW LIST.
    amounts: AmountsTrial,
    /// The same in older rounds, by their place.
    older_amounts: BTreeMap<usize, AmountsTrial>,
    /// What was available after each restock: its repeat is told so.
    pub restocked: Vec<u64>,
}

/// A grant that an event is about, as it stands after it.
#[derive(Clone, Copy, Debug)]
pub struct Moved {
    pub seq: u64,
    pub state: State,
    /// Unix ms, 0 unless HELD.
    pub deadline: u64,
}

/// Is told every event with the numbers after it.
pub trait Witness {
    /// `core`: the numbers after `event`, which `change` made; `moved`: the grant it is about.
    fn see(&mut self, core: &Core, event: Event, change: &Change<'_>, moved: Option<Moved>);
}

impl Trial {
    /// Starts where the sale stands.
    pub fn of(sale: &Sale) -> Trial {
        Trial::with(sale.core, &sale.terms)
    }

    /// Starts a sale with its first change.
    pub fn of_new(change: &Change<'_>, seen: &mut impl Witness) -> Result<Trial, Refused> {
        let Effect::Init(start) = &change.effect else {
            return Err(Refused::Place);
        };
        let Start { supply, terms, amounts, .. } = &**start;
        terms.check().map_err(|_| Refused::Law)?;
        if let Some(draw) = &terms.draw {
            draw.check(*supply, amounts).map_err(|_| Refused::Law)?;
        }
        let is_list = terms.draw.as_ref().is_some_and(Draw::is_list);
        check(terms.draw == is_list.then(|| Draw::list(amounts)).or(terms.draw))?;
        check(is_list || amounts.is_empty())?;
        let packets = terms.draw.as_ref().and_then(Draw::packets);
        let core = Core { supply: *supply, available: *supply, packets, ..Core::default() };
        let mut trial = Trial::with(core, terms);
        trial.core.begin(change)?;
        trial.core.round = terms.schedule.map_or(0, |schedule| schedule.round_at(trial.core.t));
        // A list counts a version for each of its pieces, which a rewritten log counts too.
        trial.core.version += amounts.len().div_ceil(AMOUNTS_PER_PIECE) as u64;
        // In rounds what is left of it is a piece of its own. All further ones have their grants.
        trial.core.version += u64::from(is_list && terms.schedule.is_some());
        check(trial.is_lawful())?;
        trial.tell(Event::Init, change, None, seen);
        Ok(trial)
    }

    fn with(core: Core, terms: &Terms) -> Trial {
        let has_outbox = terms.outbox.is_some();
        Trial { core, has_outbox, draw: terms.draw, more: None }
    }

    /// What was done beside moving the numbers, if anything.
    pub fn more(&self) -> Option<&More> {
        self.more.as_deref()
    }

    fn more_mut(&mut self) -> &mut More {
        self.more.get_or_insert_with(Box::default)
    }

    fn is_lawful(&self) -> bool {
        self.holds_for(&self.core)
    }

    /// Whether the law holds for the numbers of a round.
    fn holds_for(&self, core: &Core) -> bool {
        let shared = match &self.draw {
            Some(draw) => draw.is_lawful(core),
            None => core.packets.is_none(),
        };
        shared && core.is_lawful()
    }

    /// Like [`Trial::happen`] for a grant that may be of an older round: then it moves that
    /// round's numbers, and the stock is not that round's.
    fn happen_to(
        &mut self,
        sale: &Sale,
        event: Event,
        change: &Change<'_>,
        moved: Moved,
        seen: &mut impl Witness,
        step: impl FnOnce(&mut Core) -> Result<(), Refused>,
    ) -> Result<(), Refused> {
        let Some(place) = sale.old_place_of(moved.seq) else {
            return self.happen(event, change, Some(moved), seen, step);
        };
        let stored = sale.rounds().and_then(|rounds| rounds.older.get(place));
        let stored = stored.ok_or(Refused::Law)?.core;
        let touched = self.more().and_then(|more| more.older.get(&place));
        let mut core = touched.copied().unwrap_or(stored);
        step(&mut core)?;
        check(self.holds_for(&core))?;
        self.more_mut().older.insert(place, core);
        self.core.rev += u64::from(self.has_outbox);
        let Core { version, rev, t, epoch, .. } = self.core;
        seen.see(&Core { version, rev, t, epoch, ..core }, event, change, Some(moved));
        Ok(())
    }

    /// A new round, with all its units available.
    fn round(
        &mut self,
        sale: &Sale,
        change: &Change<'_>,
        (round, supply, lists): (u64, u64, u64),
        seen: &mut impl Witness,
    ) -> Result<(), Refused> {
        let schedule = sale.terms.schedule.as_ref().ok_or(Refused::Law)?;
        check(round > self.core.round && round <= schedule.round_at(self.core.t))?;
        let packets = self.packets_of_round(sale, supply, lists)?;
        self.happen(Event::Round, change, None, seen, |core| {
            let (available, held, sold) = (supply, 0, 0);
            *core = Core { round, supply, available, held, sold, packets, ..*core };
            Ok(())
        })
    }

    /// Packets that a new round begins with.
    fn packets_of_round(
        &self,
        sale: &Sale,
        supply: u64,
        lists: u64,
    ) -> Result<Option<u64>, Refused> {
        let Some(list) = sale.repeated() else {
            check(lists == 0)?;
            return Ok(self.draw.as_ref().and_then(Draw::packets));
        };
        let keeps = sale.keeps_list(supply, lists).ok_or(Refused::Law)?;
        let packets = list.told_len().checked_mul(lists).ok_or(Refused::Law)?;
        let packets = packets.saturating_add(if keeps { list.len() } else { 0 });
        check(packets <= GRANTS_MAX)?;
        Ok(Some(packets))
    }

    /// Follows an amount of DRAW LIST as the grant `seq` goes from one state to another. A new
    /// grant comes from no state.
    fn follow_amount(
        &mut self,
        sale: &Sale,
        (seq, qty): (u64, u64),
        from: Option<State>,
        to: State,
    ) -> Result<(), Refused> {
        let Some(list) = sale.amounts() else { return Ok(()) };
        if let Some(place) = sale.old_place_of(seq) {
            return self.follow_old_amount(sale, (place, qty), from, to);
        }
        // While a rewritten sale is not complete its list is not what is available.
        let agrees = Some(list.len()) == sale.core.packets && list.sum() == sale.core.available;
        check(agrees)?;
        let amounts = &mut self.more_mut().amounts;
        match (from, from.is_some_and(State::is_live), to.is_live()) {
            (None, _, true) => check(amounts.take_first(list) == Some(qty)),
            (Some(_), false, true) => check(amounts.take(list, qty)),
            (_, true, false) => {
                amounts.push(qty);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The same in the older round at a place: of that nothing is drawn any more.
    fn follow_old_amount(
        &mut self,
        sale: &Sale,
        (place, qty): (usize, u64),
        from: Option<State>,
        to: State,
    ) -> Result<(), Refused> {
        let old = sale.rounds().and_then(|rounds| rounds.older.get(place));
        let list = old.and_then(|old| old.returned.as_ref()).ok_or(Refused::Law)?;
        let amounts = self.more_mut().older_amounts.entry(place).or_default();
        match (from.is_some_and(State::is_live), to.is_live()) {
            (false, true) => check(amounts.take_old(list, qty)),
            (true, false) => {
                amounts.push(qty);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn tell(
        &mut self,
        event: Event,
        change: &Change<'_>,
        moved: Option<Moved>,
        seen: &mut impl Witness,
    ) {
        self.core.rev += u64::from(self.has_outbox);
        seen.see(&self.core, event, change, moved);
    }

    /// Does `step` and tells its event, then the transition of the stock if there was one.
    fn happen(
        &mut self,
        event: Event,
        change: &Change<'_>,
        moved: Option<Moved>,
        seen: &mut impl Witness,
        step: impl FnOnce(&mut Core) -> Result<(), Refused>,
    ) -> Result<(), Refused> {
        let before = self.core.stock();
        step(&mut self.core)?;
        check(self.is_lawful())?;
        self.tell(event, change, moved, seen);
        let after = self.core.stock();
        if before != after {
            self.tell(Event::into_stock(after), change, None, seen);
        }
        Ok(())
    }

    /// Tries one change. `alone`: it is the only one of its command.
    pub fn step(
        &mut self,
        sale: &Sale,
        change: &Change<'_>,
        alone: bool,
        seen: &mut impl Witness,
    ) -> Result<(), Refused> {
        // What a sale still awaits must come before anything else, and comes to no other one.
        if change.effect.is_piece() != (sale.awaits > 0) {
            return Err(Refused::Gap);
        }
        self.core.begin(change)?;
        self.try_effect(sale, change, alone, seen)?;
        match sale.awaits {
            0 => Ok(()),
            1 => check(snapshot::completes(sale, Some(&change.effect), &self.core)),
            _ => check(lists::is_in_order(sale, &change.effect)),
        }
    }

    fn try_effect(
        &mut self,
        sale: &Sale,
        change: &Change<'_>,
        alone: bool,
        seen: &mut impl Witness,
    ) -> Result<(), Refused> {
        match &change.effect {
            Effect::Grant(grant) => self.grant(sale, change, grant, seen),
            Effect::Import(import) => self.import(sale, change, import, seen),
            Effect::Restock { req, delta, applied } => {
                check(is_req(req) && sale.restocks.find(req).is_none())?;
                check(self.core.packets.is_none())?;
                let (delta, applied) = (*delta, *applied);
                self.happen(Event::Restock, change, None, seen, |core| {
                    core.restock(delta, applied)
                })?;
                let available = self.core.available;
                self.more_mut().restocked.push(available);
                Ok(())
            }
            Effect::Pause => self.happen(Event::Pause, change, None, seen, |_| Ok(())),
            Effect::Resume => self.happen(Event::Resume, change, None, seen, |_| Ok(())),
            Effect::Alter(terms) => {
                sale.terms.altered(terms).check().map_err(|_| Refused::Law)?;
                self.has_outbox |= terms.outbox.is_some();
                self.happen(Event::Alter, change, None, seen, |_| Ok(()))
            }
            Effect::Fence { user, req } => check(is_user(user) && is_req(req)),
            Effect::Users(users) => check_users(sale, users),
            Effect::Admit { user } => {
                let admitted = sale.extras.as_deref().map(|extras| extras.list(List::Admitted));
                check(is_user(user) && admitted.is_none_or(|users| users.has_room_for(1)))
            }
            Effect::Expire(seqs) => seqs
                .iter()
                .try_for_each(|seq| self.settle(sale, change, *seq, State::Expired, seen)),
            Effect::Settle { seq, to } => self.settle(sale, change, *seq, *to, seen),
            Effect::Reclaim { seq } => self.reclaim(sale, change, *seq, seen),
            Effect::Extend { seq, ms } => self.extend(sale, change, *seq, *ms, seen),
            Effect::Reimport { seq } => self.reimport(sale, change, *seq, seen),
            // A piece is many rows at once: it comes alone and is checked as it is read.
            Effect::RestockIds(piece) if alone => lists::check_restocks(sale, piece, &self.core),
            Effect::Fences(piece) if alone => lists::check_fences(sale, piece, &self.core),
            Effect::Round { round, supply, lists } if alone => {
                self.round(sale, change, (*round, *supply, *lists), seen)
            }
            Effect::Turn(piece) if alone => snapshot::check_turn(sale, piece, &mut self.core),
            Effect::Listed(piece) if alone => lists::check_listed(sale, piece),
            Effect::Amounts(piece) if alone => lists::check_amounts(sale, piece),
            Effect::Left(piece) if alone => lists::check_left(sale, piece, &self.core),
            Effect::Rows(piece) if alone => rows::check(sale, piece, &mut self.core),
            piece if piece.is_piece() => Err(Refused::Law),
            Effect::Round { .. } => Err(Refused::Law),
            _ => Err(Refused::Place),
        }
    }

    fn grant(
        &mut self,
        sale: &Sale,
        change: &Change<'_>,
        grant: &Granting<'_>,
        seen: &mut impl Witness,
    ) -> Result<(), Refused> {
        let is_new = grant
            .req
            .is_none_or(|req| is_req(req.id) && sale.ledger.by_req(grant.user, req.id).is_none());
        check(is_new && is_user(grant.user) && grant.qty <= INTEGER_MAX)?;
        check(grant.hold_ms <= HOLD_MS_MAX)?;
        check(self.draw.is_none_or(|draw| draw.can_draw(grant.qty, self.core.supply)))?;
        let (state, deadline) = grant.state_at(self.core.t);
        let seq = self.core.grants + 1;
        self.follow_amount(sale, (seq, grant.qty), None, state)?;
        let moved = Moved { seq, state, deadline };
        self.happen(Event::Grant, change, Some(moved), seen, |core| {
            core.place(grant.qty, state)?;
            core.last_grant_at = core.t;
            Ok(())
        })
    }

    fn import(
        &mut self,
        sale: &Sale,
        change: &Change<'_>,
        import: &Importing<'_>,
        seen: &mut impl Witness,
    ) -> Result<(), Refused> {
        let is_new = is_req(import.req) && sale.ledger.by_req(import.user, import.req).is_none();
        check(is_new && is_user(import.user) && import.qty <= INTEGER_MAX)?;
        check(import.at <= TIME_MS_MAX && self.core.packets.is_none())?;
        check(sale.terms.schedule.is_none())?;
        let moved = Moved { seq: self.core.grants + 1, state: State::Sold, deadline: 0 };
        self.happen(Event::Import, change, Some(moved), seen, |core| {
            core.cover(import.qty)?;
            core.place(import.qty, State::Sold)
        })
    }

    /// State, quantity and deadline of a grant after what was tried so far.
    fn look(&self, sale: &Sale, seq: u64) -> Result<(State, u64, u64), Refused> {
        let grant = sale.stored_grant(seq).ok_or(Refused::Law)?;
        let stored = (grant.state, grant.held_until);
        let moved = self.more().and_then(|more| more.moved.get(&seq));
        let (state, deadline) = moved.copied().unwrap_or(stored);
        Ok((state, grant.qty, deadline))
    }

    /// Moves a grant and its units as a deed of a buyer, the shop or the clock.
    fn settle(
        &mut self,
        sale: &Sale,
        change: &Change<'_>,
        seq: u64,
        to: State,
        seen: &mut impl Witness,
    ) -> Result<(), Refused> {
        let (from, qty, _) = self.look(sale, seq)?;
        let event = match (from, to) {
            (State::Held, State::Sold) => Event::Confirm,
            (State::Held, State::Cancelled) => Event::Cancel,
            (State::Held, State::Expired) => Event::Expire,
            (State::Sold, State::Refunded) => Event::Refund,
            (State::Expired, State::Forfeited) => Event::ReclaimRefused,
            _ => return Err(Refused::Law),
        };
        self.more_mut().moved.insert(seq, (to, 0));
        self.follow_amount(sale, (seq, qty), Some(from), to)?;
        let moved = Moved { seq, state: to, deadline: 0 };
        self.happen_to(sale, event, change, moved, seen, |core| match from {
            State::Expired => Ok(()),
            _ => core.transfer(qty, from, to),
        })
    }

    fn reclaim(
        &mut self,
        sale: &Sale,
        change: &Change<'_>,
        seq: u64,
        seen: &mut impl Witness,
    ) -> Result<(), Refused> {
        let (from, qty, _) = self.look(sale, seq)?;
        check(from == State::Expired)?;
        self.more_mut().moved.insert(seq, (State::Sold, 0));
        self.follow_amount(sale, (seq, qty), Some(from), State::Sold)?;
        let moved = Moved { seq, state: State::Sold, deadline: 0 };
        self.happen_to(sale, Event::Reclaim, change, moved, seen, |core| {
            core.transfer(qty, from, State::Sold)
        })
    }

    fn extend(
        &mut self,
        sale: &Sale,
        change: &Change<'_>,
        seq: u64,
        ms: u64,
        seen: &mut impl Witness,
    ) -> Result<(), Refused> {
        let (state, _, _) = self.look(sale, seq)?;
        check(state == State::Held && ms <= HOLD_MS_MAX)?;
        let deadline = self.core.t + ms;
        self.more_mut().moved.insert(seq, (State::Held, deadline));
        let moved = Moved { seq, state: State::Held, deadline };
        self.happen_to(sale, Event::Extend, change, moved, seen, |_| Ok(()))
    }

    /// An IMPORT of a grant that is known: whatever it came to, it is sold from now on.
    fn reimport(
        &mut self,
        sale: &Sale,
        change: &Change<'_>,
        seq: u64,
        seen: &mut impl Witness,
    ) -> Result<(), Refused> {
        let (from, qty, _) = self.look(sale, seq)?;
        check(!matches!(from, State::Sold | State::Refunded) && self.core.packets.is_none())?;
        check(sale.terms.schedule.is_none())?;
        self.more_mut().moved.insert(seq, (State::Sold, 0));
        let moved = Moved { seq, state: State::Sold, deadline: 0 };
        self.happen(Event::Import, change, Some(moved), seen, |core| {
            if from != State::Held {
                core.cover(qty)?;
            }
            core.transfer(qty, from, State::Sold)
        })
    }
}

fn check(holds: bool) -> Result<(), Refused> {
    if holds {
        Ok(())
    } else {
        Err(Refused::Law)
    }
}

fn check_users(sale: &Sale, change: &UsersChange<'_>) -> Result<(), Refused> {
    let known = sale.extras.as_deref().map(|extras| extras.list(change.list));
    check(!change.users.is_empty() && change.users.iter().all(|user| is_user(user)))?;
    check(!change.add || known.is_none_or(|users| users.has_room_for(change.users.len())))
}

fn is_user(user: &[u8]) -> bool {
    (1..=USER_BYTES_MAX).contains(&user.len())
}

fn is_req(id: &[u8]) -> bool {
    (1..=REQ_BYTES_MAX).contains(&id.len())
}
