//! The waiting list in a draft.

use std::collections::BTreeMap;

use super::Draft;
use crate::model::balances::Stock;
use crate::model::event::EventKind;
use crate::model::outcome::Refused;
use crate::waitlist::{Waiter, Waitlist};

/// Changes of the waiting list.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListDraft {
    /// Tickets that left the list, and whether their units were offered.
    off: BTreeMap<u64, bool>,
    /// Number of users who joined.
    joined: u64,
    /// Times that each head was passed, by ticket.
    passed: BTreeMap<u64, u64>,
}

impl<'s> Draft<'s> {
    fn list(&self) -> Option<&ListDraft> {
        self.touched.as_ref()?.list.as_deref()
    }

    fn list_mut(&mut self) -> &mut ListDraft {
        self.touched_mut().list.get_or_insert_with(Box::default)
    }

    /// Whether a waiter has left the list.
    pub(crate) fn is_off(&self, ticket: u64) -> bool {
        self.list().is_some_and(|list| list.off.contains_key(&ticket))
    }

    /// Whether a waiter left the list because their units were offered.
    pub(crate) fn is_offered(&self, ticket: u64) -> bool {
        self.list().and_then(|list| list.off.get(&ticket)) == Some(&true)
    }

    /// The waiter with this ticket, if still on the list.
    pub(crate) fn waiter(&self, ticket: u64) -> Result<Waiter<'s>, Refused> {
        let waiter = self.sale.waitlist().and_then(|list| list.get(ticket));
        waiter.filter(|_| !self.is_off(ticket)).ok_or(Refused::Law)
    }

    /// The lowest ticket from `from` on whose waiter asks for at most this many units.
    pub(crate) fn first_within(
        &self,
        list: &'s Waitlist,
        most: u64,
        mut from: u64,
    ) -> Option<Waiter<'s>> {
        loop {
            let waiter = list.first_within(most, from)?;
            if !self.is_off(waiter.ticket) {
                return Some(waiter);
            }
            from = waiter.ticket + 1;
        }
    }

    /// Times that the head of this ticket was passed.
    pub(crate) fn passed(&self, list: &Waitlist, ticket: u64) -> u64 {
        let here = self.list().and_then(|list| list.passed.get(&ticket));
        list.passed(ticket).saturating_add(here.copied().unwrap_or(0))
    }

    /// The stock after this draft.
    pub(super) fn stock(&self) -> Stock {
        let (off, joined) = self.list().map_or((0, 0), |list| (list.off.len() as u64, list.joined));
        let waiting = self.sale.waitlist().map_or(0, |list| list.len());
        match (waiting + joined).saturating_sub(off) {
            0 => self.balances.stock(),
            _ => Stock::AllHeld,
        }
    }

    /// A user joins the list.
    pub(crate) fn join(&mut self) {
        self.list_mut().joined += 1;
    }

    /// Takes a waiter off the list; returns the units that they asked for.
    pub(crate) fn take_off(&mut self, ticket: u64, is_offered: bool) -> Result<u64, Refused> {
        let qty = self.waiter(ticket)?.qty;
        self.list_mut().off.insert(ticket, is_offered);
        Ok(qty)
    }

    /// Removes a waiter without a grant.
    pub(crate) fn leave(&mut self, ticket: u64, kind: EventKind) -> Result<(), Refused> {
        self.take_off(ticket, false)?;
        self.event(kind)
    }

    /// Counts a pass of the head.
    pub(crate) fn pass(&mut self, ticket: u64) {
        *self.list_mut().passed.entry(ticket).or_default() += 1;
    }
}
