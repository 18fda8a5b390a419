//! Trying changes on a copy of the numbers: what is refused here has touched nothing.

use std::collections::BTreeMap;

use smallvec::SmallVec;

use super::core::Core;
use super::effect::{Change, Effect, Granting, Importing};
use super::event::Event;
use super::limits::{HOLD_MS_MAX, INTEGER_MAX, REQ_BYTES_MAX, TIME_MS_MAX, USER_BYTES_MAX};
use super::outcome::{Refused, State};
use super::snapshot;
use super::Sale;

/// Where a sale would stand after the changes tried so far.
#[derive(Clone, Debug)]
pub struct Trial {
    pub core: Core,
    /// Whether entries are written, so that revs are counted.
    has_outbox: bool,
    /// Grants that the changes tried so far have moved: state and deadline.
    moved: BTreeMap<u64, (State, u64)>,
    /// What was available after each restock: its repeat is told so.
    pub restocked: SmallVec<[u64; 1]>,
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
    fn see(&mut self, core: &Core, event: Event, change: &Change<'_>, moved: Option<Moved>);
}

impl Trial {
    /// Starts where the sale stands.
    pub fn of(sale: &Sale) -> Trial {
        let has_outbox = sale.terms.outbox.is_some();
        let (moved, restocked) = (BTreeMap::new(), SmallVec::new());
        Trial { core: sale.core, has_outbox, moved, restocked }
    }

    /// Starts a sale with its first change.
    pub fn of_new(change: &Change<'_>, seen: &mut impl Witness) -> Result<Trial, Refused> {
        let Effect::Init { supply, terms, .. } = &change.effect else {
            return Err(Refused::Place);
        };
        terms.check().map_err(|_| Refused::Law)?;
        let core = Core { supply: *supply, available: *supply, ..Core::default() };
        let has_outbox = terms.outbox.is_some();
        let (moved, restocked) = (BTreeMap::new(), SmallVec::new());
        let mut trial = Trial { core, has_outbox, moved, restocked };
        trial.core.begin(change)?;
        if !trial.core.is_lawful() {
            return Err(Refused::Law);
        }
        trial.tell(Event::Init, change, None, seen);
        Ok(trial)
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
        if !self.core.is_lawful() {
            return Err(Refused::Law);
        }
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
        self.core.begin(change)?;
        match &change.effect {
            Effect::Grant(grant) => self.grant(sale, change, grant, seen),
            Effect::Import(import) => self.import(sale, change, import, seen),
            Effect::Restock { req, delta, applied } => {
                if !is_req(req) || sale.restocks.find(req).is_some() {
                    return Err(Refused::Law);
                }
                let (delta, applied) = (*delta, *applied);
                self.happen(Event::Restock, change, None, seen, |core| {
                    core.restock(delta, applied)
                })?;
                self.restocked.push(self.core.available);
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
            Effect::Expire(seqs) => seqs
                .iter()
                .try_for_each(|seq| self.settle(sale, change, *seq, State::Expired, seen)),
            Effect::Settle { seq, to } => self.settle(sale, change, *seq, *to, seen),
            Effect::Reclaim { seq } => self.reclaim(sale, change, *seq, seen),
            Effect::Extend { seq, ms } => self.extend(sale, change, *seq, *ms, seen),
            Effect::Reimport { seq } => self.reimport(sale, change, *seq, seen),
            // A piece is many rows at once: it comes alone and is checked as it is read.
            Effect::RestockIds(piece) if alone => snapshot::check_restocks(sale, piece, &self.core),
            Effect::Fences(piece) if alone => snapshot::check_fences(sale, piece, &self.core),
            Effect::Rows(piece) if alone => snapshot::check_rows(sale, piece, &mut self.core),
            Effect::RestockIds(_) | Effect::Fences(_) | Effect::Rows(_) => Err(Refused::Law),
            Effect::Init { .. } | Effect::Base(_) => Err(Refused::Place),
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
        let (state, deadline) = grant.state_at(self.core.t);
        let moved = Moved { seq: self.core.grants + 1, state, deadline };
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
        check(import.at <= TIME_MS_MAX)?;
        let moved = Moved { seq: self.core.grants + 1, state: State::Sold, deadline: 0 };
        self.happen(Event::Import, change, Some(moved), seen, |core| {
            core.cover(import.qty)?;
            core.place(import.qty, State::Sold)
        })
    }

    /// State, quantity and deadline of a grant after what was tried so far.
    fn look(&self, sale: &Sale, seq: u64) -> Result<(State, u64, u64), Refused> {
        let grant = sale.ledger.grant(seq).ok_or(Refused::Law)?;
        let stored = (grant.state, grant.held_until);
        let (state, deadline) = self.moved.get(&seq).copied().unwrap_or(stored);
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
        self.moved.insert(seq, (to, 0));
        let moved = Moved { seq, state: to, deadline: 0 };
        self.happen(event, change, Some(moved), seen, |core| match from {
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
        self.moved.insert(seq, (State::Sold, 0));
        let moved = Moved { seq, state: State::Sold, deadline: 0 };
        self.happen(Event::Reclaim, change, Some(moved), seen, |core| {
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
        self.moved.insert(seq, (State::Held, deadline));
        let moved = Moved { seq, state: State::Held, deadline };
        self.happen(Event::Extend, change, Some(moved), seen, |_| Ok(()))
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
        check(!matches!(from, State::Sold | State::Refunded))?;
        self.moved.insert(seq, (State::Sold, 0));
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

fn is_user(user: &[u8]) -> bool {
    (1..=USER_BYTES_MAX).contains(&user.len())
}

fn is_req(id: &[u8]) -> bool {
    (1..=REQ_BYTES_MAX).contains(&id.len())
}
