//! Offers to waiters, and heads of the waiting list that are passed.

use super::*;
use crate::entry::put_some;
use crate::fields;
use crate::ledger::record::{Asked, ReqTag};

/// A waiter's units are granted to their user, held for `hold_ms`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Offer {
    /// The waiter's ticket.
    #[serde(deserialize_with = "wire::integer")]
    pub ticket: u64,
    /// Milliseconds after T.
    #[serde(deserialize_with = "wire::span")]
    pub hold_ms: u64,
    /// Ticket of the head that this offer passes; 0 for none.
    #[serde(deserialize_with = "wire::integer")]
    pub passed: u64,
}

impl Act for Offer {
    fn check(&self, checker: &mut Checker<'_>) -> Result<(), Refused> {
        let Offer { ticket, hold_ms, passed } = *self;
        check(hold_ms > 0 && (passed == 0 || passed != ticket))?;
        if passed != 0 {
            checker.draft.waiter(passed)?;
        }
        let waiter = checker.sale().waiter_at(ticket).ok_or(Refused::Law)?;
        checker.new_request(waiter.user, Some(waiter.req))
    }

    fn plan(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        let qty = draft.take_off(self.ticket, true)?;
        if self.passed != 0 {
            draft.pass(self.passed);
        }
        draft.grant(EventKind::Offer, qty, self.hold_ms)?;
        draft.note_restocked();
        Ok(())
    }

    fn make(&self, sale: &mut Sale, _: &mut Planned<'_>) {
        let Some(waiter) = sale.waiter_at(self.ticket) else { return };
        let (user, req, qty) = (waiter.user.to_vec(), waiter.req.to_vec(), waiter.qty);
        let req = Some(ReqTag { id: &req, asked: Asked::Offered });
        let grant = Grant { user: &user, req, qty, hold_ms: self.hold_ms };
        grant.record(sale, sale.balances.t, None);
        if let Some(list) = sale.waitlist_mut() {
            list.remove(self.ticket);
            list.pass(self.passed, u64::from(self.passed != 0));
            list.offered += 1;
            count(&mut list.totals.offers);
        }
    }

    fn subject<'e>(&'e self, sale: &'e Sale, _: u64, numbers: &Numbers) -> Option<Subject<'e>> {
        let waiter = sale.waiter_at(self.ticket)?;
        let Numbers { t: at, epoch: born, .. } = *numbers;
        Some(Subject { user: waiter.user, req: Some(waiter.req), at, born })
    }

    fn put<'e>(&'e self, sale: &'e Sale, _: EventKind, data: &mut Vec<u8>) -> Raw<'e> {
        put_number(data, fields::TICKET.number, self.ticket);
        let waiter = sale.waiter_at(self.ticket);
        put_some(data, fields::UNTIL, waiter.map_or(0, |waiter| waiter.until));
        Raw::default()
    }
}

/// A grant passes the head of the waiting list.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Pass {
    /// The head's ticket.
    #[serde(deserialize_with = "wire::integer")]
    pub ticket: u64,
}

impl Act for Pass {
    fn plan(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        draft.waiter(self.ticket)?;
        draft.pass(self.ticket);
        Ok(())
    }

    fn make(&self, sale: &mut Sale, _: &mut Planned<'_>) {
        if let Some(list) = sale.waitlist_mut() {
            list.pass(self.ticket, u64::from(self.ticket != 0));
        }
    }
}
