//! Users join or leave the waiting list, and nothing is granted.

use super::*;
use crate::entry::{put_some, put_word};
use crate::fields;
use crate::waitlist::{Reason, Waiter};

/// A user joins the waiting list and becomes a `Waiter`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Join<'a> {
    /// The waiter's new ticket.
    #[serde(deserialize_with = "wire::integer")]
    pub ticket: u64,
    /// The user's id, 1 to 256 bytes.
    #[serde(with = "wire::user")]
    pub user: &'a [u8],
    /// The request id, 1 to 128 bytes.
    #[serde(with = "wire::req")]
    pub req: &'a [u8],
    /// Units.
    #[serde(deserialize_with = "wire::quantity")]
    pub qty: u64,
    /// Time at which the user stops waiting, Unix ms; 0 for none.
    #[serde(deserialize_with = "wire::moment")]
    pub until: u64,
}

impl Join<'_> {
    /// The waiter who joins at this moment.
    fn waiter(&self, at: u64) -> Waiter<'_> {
        let Join { ticket, user, req, qty, until } = *self;
        Waiter { ticket, user, req, qty, at, until }
    }
}

impl Act for Join<'_> {
    fn is_apart<'e>(&'e self, others: &mut Others<'e>) -> bool {
        let is_first = !core::mem::replace(&mut others.waits, true);
        is_first && !others.alters && others.requests.insert((self.user, self.req))
    }

    fn check(&self, checker: &mut Checker<'_>) -> Result<(), Refused> {
        let sale = checker.sale();
        let list = sale.waitlist().ok_or(Refused::Law)?;
        check(list.has_room() && self.ticket == list.totals.last_ticket + 1)?;
        // An offer needs a time limit, and numbers for all units of one grant.
        check(sale.terms.offer_ms() > 0 && sale.may_grant(self.qty))?;
        if let Some(waiter) = list.find(self.user) {
            // Only an entry dropped in this step makes room for another.
            check(checker.is_dropped(waiter.ticket))?;
        }
        checker.new_request(self.user, Some(self.req))
    }

    fn plan(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        draft.join();
        draft.event(EventKind::Wait)
    }

    fn make(&self, sale: &mut Sale, _: &mut Planned<'_>) {
        let waiter = self.waiter(sale.balances.t);
        if let Some(list) = sale.waitlist_mut() {
            list.join(&waiter);
        }
    }

    fn put<'e>(&'e self, _: &'e Sale, _: EventKind, data: &mut Vec<u8>) -> Raw<'e> {
        put_waiter(data, Some(self.waiter(0)), None)
    }
}

/// A waiter leaves the waiting list.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Leave {
    /// The waiter's ticket.
    #[serde(deserialize_with = "wire::integer")]
    pub ticket: u64,
}

impl Act for Leave {
    const FREES: bool = true;

    fn plan(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        draft.leave(self.ticket, EventKind::Leave)
    }

    fn make(&self, sale: &mut Sale, _: &mut Planned<'_>) {
        if let Some(list) = sale.waitlist_mut() {
            list.remove(self.ticket);
        }
    }

    fn put<'e>(&'e self, sale: &'e Sale, _: EventKind, data: &mut Vec<u8>) -> Raw<'e> {
        let waiter = sale.waiter_at(self.ticket);
        put_waiter(data, waiter, Some("cancelled"))
    }
}

/// A waiter is dropped from the waiting list.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Drop {
    /// The waiter's ticket.
    #[serde(deserialize_with = "wire::integer")]
    pub ticket: u64,
    /// The reason.
    pub reason: Reason,
}

impl Act for Drop {
    const FREES: bool = true;

    fn plan(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        draft.leave(self.ticket, EventKind::Dropped)
    }

    fn make(&self, sale: &mut Sale, _: &mut Planned<'_>) {
        if let Some(list) = sale.waitlist_mut() {
            list.remove(self.ticket);
            count(&mut list.totals.dropped);
        }
    }

    fn put<'e>(&'e self, sale: &'e Sale, _: EventKind, data: &mut Vec<u8>) -> Raw<'e> {
        let waiter = sale.waiter_at(self.ticket);
        put_waiter(data, waiter, Some(self.reason.name()))
    }
}

/// Puts the waiter's fields into an entry, and the reason why they no longer wait.
pub(super) fn put_waiter<'e>(
    data: &mut Vec<u8>,
    waiter: Option<Waiter<'e>>,
    reason: Option<&'static str>,
) -> Raw<'e> {
    let Some(waiter) = waiter else { return Raw::default() };
    put_number(data, fields::TICKET.number, waiter.ticket);
    put_number(data, fields::WAITS_FOR.number, waiter.qty);
    put_some(data, fields::UNTIL, waiter.until);
    if let Some(reason) = reason {
        put_word(data, fields::REASON.word, reason.as_bytes());
    }
    Raw { user: Some(waiter.user), req: Some(waiter.req), ..Raw::default() }
}
