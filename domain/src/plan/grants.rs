//! New grants, and what becomes of grants.

use super::Planner;
use crate::codec::effect::{Granting, Importing};
use crate::model::event::EventKind;
use crate::model::outcome::{GrantView, Refused, State};

impl Planner<'_> {
    #[inline]
    pub(super) fn grant(&mut self, grant: &Granting<'_>) -> Result<(), Refused> {
        let (state, deadline) = grant.state_at(self.balances.t);
        let view = GrantView { seq: self.balances.grants + 1, qty: grant.qty, state, deadline };
        self.happen(EventKind::Grant, Some(view), |it| {
            it.place(grant.qty, state)?;
            it.last_grant_at = it.t;
            Ok(())
        })
    }

    pub(super) fn import(&mut self, import: &Importing<'_>) -> Result<(), Refused> {
        let (seq, state, qty) = (self.balances.grants + 1, State::Sold, import.qty);
        let view = GrantView { seq, qty, state, deadline: 0 };
        self.happen(EventKind::Import, Some(view), |it| {
            it.cover(qty)?;
            it.place(qty, state)
        })
    }

    /// An IMPORT of a grant that is known: whatever it came to, it is sold from now on.
    pub(super) fn reimport(&mut self, seq: u64) -> Result<(), Refused> {
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
    pub(super) fn settle(&mut self, seq: u64, to: State) -> Result<(), Refused> {
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
    pub(super) fn reclaim(&mut self, seq: u64) -> Result<(), Refused> {
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

    pub(super) fn extend(&mut self, seq: u64, ms: u64) -> Result<(), Refused> {
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
}
