//! Units are granted to a user who asked for them.

use super::*;
use crate::draw::Amounts;
use crate::ledger::record::{Asked, ReqTag};
use crate::ledger::{NewGrant, Slots};
use crate::model::outcome::state_at;
use serde::de::Error;
use serde::Deserializer;

/// A new grant.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Grant<'a> {
    /// The user's id, 1 to 256 bytes.
    #[serde(with = "wire::user")]
    pub user: &'a [u8],
    /// The request id, 1 to 128 bytes.
    #[serde(borrow, deserialize_with = "asked_by_grab")]
    pub req: Option<ReqTag<'a>>,
    /// Units.
    #[serde(deserialize_with = "wire::integer")]
    pub qty: u64,
    /// Time of the hold, in ms; 0 if the grant is sold at once.
    #[serde(deserialize_with = "wire::span")]
    pub hold_ms: u64,
}

fn asked_by_grab<'de, D: Deserializer<'de>>(from: D) -> Result<Option<ReqTag<'de>>, D::Error> {
    match Option::deserialize(from)? {
        Some(ReqTag { asked: Asked::Either | Asked::Offered, .. }) => {
            Err(D::Error::custom("no GRAB asks so"))
        }
        req => Ok(req),
    }
}

impl Act for Grant<'_> {
    fn is_apart<'e>(&'e self, others: &mut Others<'e>) -> bool {
        self.req.is_none_or(|req| others.requests.insert((self.user, req.id)))
    }

    fn check(&self, checker: &mut Checker<'_>) -> Result<(), Refused> {
        let (sale, supply) = (checker.sale(), checker.draft.balances.supply);
        check(sale.terms.draw().is_none_or(|draw| draw.can_draw(self.qty, supply)))?;
        checker.new_request(self.user, self.req.map(|req| req.id))?;
        if let Some(req) = self.req {
            // A waiter with this request id would get a second grant.
            let waiter = sale.waiter_of(self.user, req.id);
            check(waiter.is_none_or(|waiter| checker.is_dropped(waiter.ticket)))?;
        }
        list_agrees(sale)?;
        check(sale.amounts().is_none() || checker.draft.first_amount() == Some(self.qty))
    }

    #[inline]
    fn plan(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        draft.grant(EventKind::Grant, self.qty, self.hold_ms)
    }

    #[inline]
    fn make(&self, sale: &mut Sale, planned: &mut Planned<'_>) {
        self.record(sale, sale.balances.t, planned.new_grant);
        count(&mut sale.tallies.granted);
        if sale.extras.is_some() {
            sale.amounts_mut().and_then(Amounts::take_first);
            sale.enter_holds(sale.ledger.len());
        }
    }

    #[inline]
    fn subject<'e>(&'e self, _: &'e Sale, _: u64, numbers: &Numbers) -> Option<Subject<'e>> {
        let req = self.req.map(|req| req.id);
        Some(Subject { user: self.user, req, at: numbers.t, born: numbers.epoch })
    }
}

impl Grant<'_> {
    /// Enters the grant with time `at`, at its index `slots` if they were looked up.
    #[inline]
    pub(super) fn record(&self, sale: &mut Sale, at: u64, slots: Option<&Slots>) {
        let Grant { user, req, qty, hold_ms } = *self;
        let (state, deadline) = state_at(hold_ms, at);
        let epoch = sale.balances.epoch;
        sale.ledger.push(&NewGrant { user, req, qty, state, at, deadline, epoch }, slots);
    }
}
