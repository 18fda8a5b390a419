//! New grants: those of buyers, and those that another system gave.

use super::ids::{is_new_req, is_user};
use super::{check, Moved, Step, Trial, Witness};
use crate::sale::effect::{Granting, Importing};
use crate::sale::event::Event;
use crate::sale::limits::{HOLD_MS_MAX, INTEGER_MAX, TIME_MS_MAX};
use crate::sale::outcome::{Refused, State};
use crate::sale::Sale;

impl Trial {
    pub(super) fn grant(
        &mut self,
        step: &mut Step<'_, '_, impl Witness>,
        grant: &Granting<'_>,
    ) -> Result<(), Refused> {
        let is_new = grant.req.is_none_or(|req| is_new_req(step.sale, grant.user, req.id));
        check(is_new && is_user(grant.user) && grant.qty <= INTEGER_MAX)?;
        check(grant.hold_ms <= HOLD_MS_MAX)?;
        check(self.draw.is_none_or(|draw| draw.can_draw(grant.qty, self.balances.supply)))?;
        let (state, deadline) = grant.state_at(self.balances.t);
        let seq = self.balances.grants + 1;
        self.follow_amount(step.sale, grant.qty, None, state)?;
        let moved = Moved { seq, state, deadline };
        self.happen(step, Event::Grant, Some(moved), |balances| {
            balances.place(grant.qty, state)?;
            balances.last_grant_at = balances.t;
            Ok(())
        })
    }

    pub(super) fn import(
        &mut self,
        step: &mut Step<'_, '_, impl Witness>,
        import: &Importing<'_>,
    ) -> Result<(), Refused> {
        check(is_new_req(step.sale, import.user, import.req))?;
        check(is_user(import.user) && import.qty <= INTEGER_MAX)?;
        check(import.at <= TIME_MS_MAX && self.takes_imports(step.sale))?;
        let moved = Moved { seq: self.balances.grants + 1, state: State::Sold, deadline: 0 };
        self.happen(step, Event::Import, Some(moved), |balances| {
            balances.cover(import.qty)?;
            balances.place(import.qty, State::Sold)
        })
    }

    /// An IMPORT of a grant that is known: whatever it came to, it is sold from now on.
    pub(super) fn reimport(
        &mut self,
        step: &mut Step<'_, '_, impl Witness>,
        seq: u64,
    ) -> Result<(), Refused> {
        let (from, qty) = self.look(step.sale, seq)?;
        check(!matches!(from, State::Sold | State::Refunded) && self.takes_imports(step.sale))?;
        let moved = self.mark(seq, State::Sold, 0);
        self.happen(step, Event::Import, Some(moved), |balances| {
            if from != State::Held {
                balances.cover(qty)?;
            }
            balances.transfer(qty, from, State::Sold)
        })
    }

    /// Packets and rounds have a supply that is fixed.
    fn takes_imports(&self, sale: &Sale) -> bool {
        self.balances.packets.is_none() && sale.terms.schedule.is_none()
    }
}
