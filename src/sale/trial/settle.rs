//! What becomes of a grant.

use super::{check, Moved, Step, Trial, Witness};
use crate::sale::event::Event;
use crate::sale::limits::HOLD_MS_MAX;
use crate::sale::outcome::{Refused, State};
use crate::sale::Sale;

impl Trial {
    /// State and quantity of a grant after what was tried so far.
    pub(super) fn look(&self, sale: &Sale, seq: u64) -> Result<(State, u64), Refused> {
        let grant = sale.stored_grant(seq).ok_or(Refused::Law)?;
        let moved = self.more().and_then(|more| more.moved.get(&seq));
        Ok((moved.copied().unwrap_or(grant.state), grant.qty))
    }

    /// Remembers where a grant stands now.
    pub(super) fn mark(&mut self, seq: u64, state: State, deadline: u64) -> Moved {
        self.more_mut().moved.insert(seq, state);
        Moved { seq, state, deadline }
    }

    /// Moves a grant and its units as a deed of a buyer, the shop or the clock.
    pub(super) fn settle(
        &mut self,
        step: &mut Step<'_, '_, impl Witness>,
        seq: u64,
        to: State,
    ) -> Result<(), Refused> {
        let (from, qty) = self.look(step.sale, seq)?;
        let event = match (from, to) {
            (State::Held, State::Sold) => Event::Confirm,
            (State::Held, State::Cancelled) => Event::Cancel,
            (State::Held, State::Expired) => Event::Expire,
            (State::Sold, State::Refunded) => Event::Refund,
            (State::Expired, State::Forfeited) => Event::ReclaimRefused,
            _ => return Err(Refused::Law),
        };
        self.transfer(step, event, (seq, qty), (from, to))
    }

    /// An expired grant is sold after all.
    pub(super) fn reclaim(
        &mut self,
        step: &mut Step<'_, '_, impl Witness>,
        seq: u64,
    ) -> Result<(), Refused> {
        let (from, qty) = self.look(step.sale, seq)?;
        check(from == State::Expired)?;
        self.transfer(step, Event::Reclaim, (seq, qty), (from, State::Sold))
    }

    fn transfer(
        &mut self,
        step: &mut Step<'_, '_, impl Witness>,
        event: Event,
        (seq, qty): (u64, u64),
        (from, to): (State, State),
    ) -> Result<(), Refused> {
        let moved = self.mark(seq, to, 0);
        self.follow_amount(step.sale, qty, Some(from), to)?;
        self.happen_to(step, event, moved, |balances| match to {
            // Its units have come back when it expired.
            State::Forfeited => Ok(()),
            _ => balances.transfer(qty, from, to),
        })
    }

    pub(super) fn extend(
        &mut self,
        step: &mut Step<'_, '_, impl Witness>,
        seq: u64,
        ms: u64,
    ) -> Result<(), Refused> {
        let (state, _) = self.look(step.sale, seq)?;
        check(state == State::Held && ms <= HOLD_MS_MAX)?;
        let moved = self.mark(seq, State::Held, self.balances.t + ms);
        self.happen_to(step, Event::Extend, moved, |_| Ok(()))
    }
}
