//! Effects on the waiting list: checking and planning them.

use super::check::{check, Checker};
use crate::codec::effect::{Effect, Granting, Joining};
use crate::ledger::record::{Asked, ReqTag};
use crate::model::balances::count;
use crate::model::outcome::Refused;
use crate::waitlist::Waiter;
use crate::Sale;

impl Checker<'_> {
    /// Checks an effect on the waiting list.
    pub(super) fn list_effect(&mut self, effect: &Effect<'_>) -> Result<(), Refused> {
        match effect {
            Effect::Wait(joining) => self.wait(joining),
            Effect::Leave { ticket } | Effect::Drop { ticket, .. } | Effect::Pass { ticket } => {
                self.draft.waiter(*ticket).map(|_| ())
            }
            Effect::Offer { ticket, hold_ms, passed } => {
                check(*hold_ms > 0 && (*passed == 0 || passed != ticket))?;
                if *passed != 0 {
                    self.draft.waiter(*passed)?;
                }
                let sale = self.sale();
                let waiter = sale.waitlist().and_then(|list| list.get(*ticket));
                let Waiter { user, req, .. } = waiter.ok_or(Refused::Law)?;
                self.new_request(user, Some(req))
            }
            _ => Ok(()),
        }
    }

    fn wait(&mut self, joining: &Joining<'_>) -> Result<(), Refused> {
        let Joining { ticket, user, req, .. } = *joining;
        let list = self.sale().waitlist().ok_or(Refused::Law)?;
        check(list.has_room() && ticket == list.totals.last_ticket + 1)?;
        // An offer needs an end, as long as anybody waits.
        check(self.sale().terms.offer_ms() > 0)?;
        if let Some(waiter) = list.find(user) {
            // Only an entry dropped in this step makes room for another.
            check(self.is_dropped(waiter.ticket))?;
        }
        self.new_request(user, Some(req))
    }

    /// Whether an earlier change has taken this entry off the list without an offer.
    fn is_dropped(&self, ticket: u64) -> bool {
        self.draft.is_off(ticket) && !self.draft.is_offered(ticket)
    }

    /// Checks that no waiter has this request, which would get a second grant.
    pub(super) fn request_waits_not(&self, user: &[u8], req: &[u8]) -> Result<(), Refused> {
        let waiter = self.sale().waiter_of(user, req);
        check(waiter.is_none_or(|waiter| self.is_dropped(waiter.ticket)))
    }

    /// Checks that this request was not offered. IMPORT takes its entry off the list itself.
    pub(super) fn request_was_not_offered(&self, user: &[u8], req: &[u8]) -> Result<(), Refused> {
        let waiter = self.sale().waiter_of(user, req);
        check(waiter.is_none_or(|waiter| !self.draft.is_offered(waiter.ticket)))
    }
}

impl Sale {
    pub(super) fn join_list(&mut self, joining: &Joining<'_>) {
        let Joining { ticket, user, req, qty, until } = *joining;
        let at = self.balances.t;
        if let Some(list) = self.waitlist_mut() {
            list.join(&Waiter { ticket, user, req, qty, at, until });
        }
    }

    pub(super) fn leave_list(&mut self, ticket: u64) {
        if let Some(list) = self.waitlist_mut() {
            list.remove(ticket);
        }
    }

    pub(super) fn drop_waiter(&mut self, ticket: u64) {
        self.leave_list(ticket);
        if let Some(list) = self.waitlist_mut() {
            count(&mut list.totals.dropped);
        }
    }

    pub(super) fn pass_waiter(&mut self, ticket: u64) {
        if let Some(list) = self.waitlist_mut() {
            list.pass(ticket, u64::from(ticket != 0));
        }
    }

    /// Grants a waiter's units to their user.
    pub(super) fn offer(&mut self, ticket: u64, hold_ms: u64, passed: u64) {
        let Some(waiter) = self.waitlist().and_then(|list| list.get(ticket)) else { return };
        let (user, req, qty) = (waiter.user.to_vec(), waiter.req.to_vec(), waiter.qty);
        self.leave_list(ticket);
        self.pass_waiter(passed);
        let req = Some(ReqTag { id: &req, asked: Asked::Offered });
        self.record(&Granting { user: &user, req, qty, hold_ms }, self.balances.t, None);
        if let Some(list) = self.waitlist_mut() {
            list.offered += 1;
            count(&mut list.totals.offers);
        }
    }

    /// Called before a grant leaves HELD: if it is an offer, one offer less is outstanding.
    pub(super) fn end_offer(&mut self, seq: u64) {
        if self.waitlist().is_some() && self.ledger.grant(seq).is_some_and(|it| it.is_offer()) {
            if let Some(list) = self.waitlist_mut() {
                list.offered -= 1;
            }
        }
    }
}
