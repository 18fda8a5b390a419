//! Checking an effect that was decided elsewhere.

use std::collections::HashSet;

use crate::draft::Draft;
use crate::draw::Amounts;
use crate::ledger::{Lookup, Slots};
use crate::model::balances::Balances;
use crate::model::outcome::{check, Refused};
use crate::Sale;

/// Changes that have been checked, and the draft after them.
pub(crate) struct Checker<'s> {
    pub draft: Draft<'s>,
    /// The index slots of the last checked grant.
    pub new_grant: Option<Slots>,
    /// Whether the change is the only one of its command.
    pub alone: bool,
}

impl<'s> Checker<'s> {
    pub(super) fn sale(&self) -> &'s Sale {
        self.draft.sale
    }

    /// Checks that the user has no grant for this request id, if there is one.
    pub(super) fn new_request(&mut self, user: &[u8], req: Option<&[u8]>) -> Result<(), Refused> {
        check(self.sale().is_home(user))?;
        let ledger = &self.sale().ledger;
        let found = ledger.find(user);
        let req = req.map(|req| ledger.find_req(user, &found, req));
        check(req.as_ref().is_none_or(Lookup::is_vacant))?;
        self.new_grant = Some(Slots { user: found, req });
        Ok(())
    }

    /// Whether an earlier change has taken this entry off the list without an offer.
    pub(super) fn is_dropped(&self, ticket: u64) -> bool {
        self.draft.is_off(ticket) && !self.draft.is_offered(ticket)
    }
}

/// Checks that the amounts of DRAW LIST add up to the available units.
pub(super) fn list_agrees(sale: &Sale) -> Result<(), Refused> {
    let Balances { packets, available, .. } = sale.balances;
    let agrees = |list: &Amounts| Some(list.len()) == packets && list.sum() == available;
    check(sale.amounts().is_none_or(agrees))
}

/// The other changes of a command, to find conflicts. Two changes conflict if both bring one new
/// request id, change the terms, move units between parts, or join the list. A change that joins
/// the list also conflicts with one that changes the terms.
#[derive(Default)]
pub(crate) struct Others<'e> {
    /// Users and request ids of new grants and waiters.
    pub requests: HashSet<(&'e [u8], &'e [u8])>,
    /// Request ids of restocks.
    pub restocks: HashSet<&'e [u8]>,
    /// Whether the terms change.
    pub alters: bool,
    /// Whether units move between parts.
    pub moves: bool,
    /// Whether a user joins the list, under terms that are known.
    pub waits: bool,
}
