//! What happens on the waiting list: planned, checked and made.

use std::collections::BTreeMap;

use super::check::{check, Checker};
use super::Planner;
use crate::codec::effect::{Effect, Granting, Joining};
use crate::ledger::record::{Asked, ReqTag};
use crate::model::balances::{count, Stock};
use crate::model::event::EventKind;
use crate::model::outcome::Refused;
use crate::waitlist::Waiter;
use crate::Sale;

/// What changes of a plan do to the waiting list.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListPlan {
    /// Entries that are off it, and whether their units were offered.
    pub(crate) off: BTreeMap<u64, bool>,
    /// Entries that have joined.
    joined: u64,
}

impl Planner<'_> {
    fn list_mut(&mut self) -> &mut ListPlan {
        &mut self.more_mut().list
    }

    /// The entry of this ticket, if it is still on the list after what was planned so far.
    fn waiter(&self, ticket: u64) -> Result<Waiter<'_>, Refused> {
        let is_off = self.more.as_ref().is_some_and(|more| more.list.off.contains_key(&ticket));
        let waiter = self.sale.waitlist().and_then(|list| list.get(ticket));
        waiter.filter(|_| !is_off).ok_or(Refused::Law)
    }

    /// Where the units are after what was planned so far.
    pub(super) fn stock(&self) -> Stock {
        let (off, joined) = self
            .more
            .as_ref()
            .map_or((0, 0), |more| (more.list.off.len() as u64, more.list.joined));
        let waiting = self.sale.waitlist().map_or(0, |list| list.len());
        match (waiting + joined).saturating_sub(off) {
            0 => self.balances.stock(),
            _ => Stock::AllHeld,
        }
    }

    pub(super) fn wait(&mut self) -> Result<(), Refused> {
        self.list_mut().joined += 1;
        self.happen(EventKind::Wait, None, |_| Ok(()))
    }

    /// An entry leaves the list, and nothing is granted.
    pub(super) fn leave(&mut self, ticket: u64, kind: EventKind) -> Result<(), Refused> {
        self.waiter(ticket)?;
        self.list_mut().off.insert(ticket, false);
        self.happen(kind, None, |_| Ok(()))
    }

    pub(super) fn offer(&mut self, ticket: u64, hold_ms: u64) -> Result<(), Refused> {
        let qty = self.waiter(ticket)?.qty;
        self.list_mut().off.insert(ticket, true);
        self.grant(EventKind::Offer, qty, hold_ms)
    }

    /// What was paid for is off the list, if it was on it.
    pub(super) fn import_waiter(&mut self, user: &[u8], req: &[u8]) -> Result<(), Refused> {
        let Some(ticket) = self.sale.waiter_of(user, req).map(|waiter| waiter.ticket) else {
            return Ok(());
        };
        match self.waiter(ticket) {
            Ok(_) => self.leave(ticket, EventKind::Leave),
            Err(_) => Ok(()),
        }
    }
}

impl Checker<'_> {
    /// Checks what a change does to the waiting list.
    pub(super) fn list_effect(&mut self, effect: &Effect<'_>) -> Result<(), Refused> {
        match effect {
            Effect::Wait(joining) => self.wait(joining),
            Effect::Leave { ticket } | Effect::Drop { ticket, .. } | Effect::Pass { ticket } => {
                self.planner.waiter(*ticket).map(|_| ())
            }
            Effect::Offer { ticket, hold_ms, passed } => {
                check(*hold_ms > 0 && (*passed == 0 || passed != ticket))?;
                if *passed != 0 {
                    self.planner.waiter(*passed)?;
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
        // Offers to those who wait end, for as long as they wait.
        check(self.sale().terms.offer_ms() > 0)?;
        if let Some(waiter) = list.find(user) {
            // Only one that was dropped in the same step makes room for another.
            check(self.is_dropped(waiter.ticket))?;
        }
        self.new_request(user, Some(req))
    }

    /// Whether an entry is off the list by what comes before, and was not offered its units.
    fn is_dropped(&self, ticket: u64) -> bool {
        let more = self.planner.more.as_ref();
        more.and_then(|more| more.list.off.get(&ticket)) == Some(&false)
    }

    /// Whether nobody waits who would get a second grant for this request.
    pub(super) fn request_waits_not(&self, user: &[u8], req: &[u8]) -> Result<(), Refused> {
        let waiter = self.sale().waiter_of(user, req);
        check(waiter.is_none_or(|waiter| self.is_dropped(waiter.ticket)))
    }

    /// The same for an IMPORT, which takes the entry off the list itself.
    pub(super) fn request_was_not_offered(&self, user: &[u8], req: &[u8]) -> Result<(), Refused> {
        let Some(waiter) = self.sale().waiter_of(user, req) else { return Ok(()) };
        let more = self.planner.more.as_ref();
        check(more.and_then(|more| more.list.off.get(&waiter.ticket)) != Some(&true))
    }
}

impl Sale {
    /// The entry of this user and request, if they wait with it.
    pub(crate) fn waiter_of(&self, user: &[u8], req: &[u8]) -> Option<Waiter<'_>> {
        let waiter = self.waiters()?.find(user);
        waiter.filter(|waiter| waiter.req == req)
    }

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

    /// What an entry asks for is granted to its user.
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

    /// A grant is about to be held no more: perhaps it was an offer.
    pub(super) fn end_offer(&mut self, seq: u64) {
        if self.waitlist().is_some() && self.ledger.grant(seq).is_some_and(|it| it.is_offer()) {
            if let Some(list) = self.waitlist_mut() {
                list.offered -= 1;
            }
        }
    }
}
