//! What the shop does to a sale: its supply, its terms, its lists of users.

use super::ids::{is_req, is_user};
use super::{check, Step, Trial, Witness};
use crate::sale::admission::List;
use crate::sale::effect::UsersChange;
use crate::sale::event::Event;
use crate::sale::outcome::Refused;
use crate::sale::terms::TermsChange;
use crate::sale::Sale;

impl Trial {
    /// Units come or go: `delta` were asked for, `applied` are.
    pub(super) fn restock(
        &mut self,
        step: &mut Step<'_, '_, impl Witness>,
        req: &[u8],
        (delta, applied): (i64, i64),
    ) -> Result<(), Refused> {
        check(is_req(req) && step.sale.restocks.find(req).is_none())?;
        check(self.balances.packets.is_none())?;
        self.happen(step, Event::Restock, None, |balances| balances.restock(delta, applied))?;
        let available = self.balances.available;
        self.more_mut().restocked.push(available);
        Ok(())
    }

    pub(super) fn alter(
        &mut self,
        step: &mut Step<'_, '_, impl Witness>,
        terms: &TermsChange,
    ) -> Result<(), Refused> {
        step.sale.terms.altered(terms).check().map_err(|_| Refused::Law)?;
        self.has_outbox |= terms.outbox.is_some();
        self.happen(step, Event::Alter, None, |_| Ok(()))
    }
}

/// Whether users can be added to a list or removed.
pub(super) fn check_users(sale: &Sale, change: &UsersChange<'_>) -> Result<(), Refused> {
    check(!change.users.is_empty() && change.users.iter().all(|user| is_user(user)))?;
    check(!change.add || has_room_for(sale, change.list, change.users.len()))
}

/// Whether ADMIT can let a user in.
pub(super) fn check_admit(sale: &Sale, user: &[u8]) -> Result<(), Refused> {
    check(is_user(user) && has_room_for(sale, List::Admitted, 1))
}

fn has_room_for(sale: &Sale, list: List, users: usize) -> bool {
    let known = sale.extras.as_deref().map(|extras| extras.list(list));
    known.is_none_or(|known| known.has_room_for(users))
}
