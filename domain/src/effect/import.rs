//! IMPORT: grants that the shop's database has and Redis lost.

use super::numbered::rising;
use super::settle::end_offer;
use super::wait::put_waiter;
use super::*;
use crate::draft::without;
use crate::ledger::record::{Asked, ReqTag};
use crate::numbers::UnitList;

/// A grant that Redis lost is entered again.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Import<'a> {
    /// The user's id, 1 to 256 bytes.
    #[serde(with = "wire::user")]
    pub user: &'a [u8],
    /// The request id, 1 to 128 bytes.
    #[serde(with = "wire::req")]
    pub req: &'a [u8],
    /// Units.
    #[serde(deserialize_with = "wire::integer")]
    pub qty: u64,
    /// Time of the grant, Unix ms.
    #[serde(deserialize_with = "wire::moment")]
    pub at: u64,
}

impl Act for Import<'_> {
    const FREES: bool = true;

    fn is_apart<'e>(&'e self, others: &mut Others<'e>) -> bool {
        others.requests.insert((self.user, self.req))
    }

    fn check(&self, checker: &mut Checker<'_>) -> Result<(), Refused> {
        checker.new_request(self.user, Some(self.req))?;
        // IMPORT itself takes the entry off the list.
        let waiter = checker.sale().waiter_of(self.user, self.req);
        check(waiter.is_none_or(|waiter| !checker.draft.is_offered(waiter.ticket)))?;
        takes_imports(checker)
    }

    fn plan(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        let (seq, qty, state) = (draft.balances.grants + 1, self.qty, State::Sold);
        let view = GrantView { seq, qty, state, deadline: 0 };
        draft.change(EventKind::Import, Some(view), |it| {
            it.cover(qty)?;
            it.add_grant(qty, state)
        })?;
        draft.gain(self.user, qty);
        match draft.sale.waiter_of(self.user, self.req) {
            Some(waiter) if !draft.is_off(waiter.ticket) => {
                draft.leave(waiter.ticket, EventKind::Leave)
            }
            _ => Ok(()),
        }
    }

    fn make(&self, sale: &mut Sale, planned: &mut Planned<'_>) {
        let Import { user, req: id, qty, at } = *self;
        let req = Some(ReqTag { id, asked: Asked::Either });
        Grant { user, req, qty, hold_ms: 0 }.record(sale, at, planned.new_grant);
        let ticket = sale.waiter_of(user, id).map(|it| it.ticket);
        if let Some((list, ticket)) = sale.waitlist_mut().zip(ticket) {
            list.remove(ticket);
        }
        count(&mut sale.tallies.imported);
    }

    fn subject<'e>(&'e self, _: &'e Sale, _: u64, numbers: &Numbers) -> Option<Subject<'e>> {
        let Import { user, req, at, .. } = *self;
        Some(Subject { user, req: Some(req), at, born: numbers.epoch })
    }

    fn put<'e>(&'e self, sale: &'e Sale, kind: EventKind, data: &mut Vec<u8>) -> Raw<'e> {
        let waiter = sale.waiter_of(self.user, self.req).filter(|_| kind == EventKind::Leave);
        put_waiter(data, waiter, Some("imported"))
    }
}

/// IMPORT of a known request id: its grant is SOLD now.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Reimport {
    /// The grant's seq.
    #[serde(deserialize_with = "wire::integer")]
    pub seq: u64,
}

impl Act for Reimport {
    const FREES: bool = true;

    fn check(&self, checker: &mut Checker<'_>) -> Result<(), Refused> {
        check(!checker.sale().terms.is_numbered())?;
        check_again(checker, self.seq)
    }

    fn plan(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        plan_again(draft, self.seq, draft.sale.first_qty(self.seq).ok_or(Refused::Law)?)
    }

    fn make(&self, sale: &mut Sale, _: &mut Planned<'_>) {
        let first = sale.first_qty(self.seq).unwrap_or_default();
        make_again(sale, self.seq, first);
    }
}

/// IMPORT of a known request id in a sale whose units have numbers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReimportNumbered {
    /// The grant's numbers after the import, ascending: some of its first numbers.
    #[serde(with = "rising")]
    pub units: UnitList,
    /// The grant's seq.
    #[serde(deserialize_with = "wire::integer")]
    pub seq: u64,
}

impl Act for ReimportNumbered {
    const FREES: bool = true;

    fn check(&self, checker: &mut Checker<'_>) -> Result<(), Refused> {
        check_again(checker, self.seq)
    }

    fn plan(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        let first = draft.sale.numbers().ok_or(Refused::Law)?.first_of(self.seq);
        let had = match draft.look(self.seq)?.state.is_live() {
            true => draft.units_of(self.seq),
            false => UnitList::new(),
        };
        check(without(&self.units, &first).is_empty() && without(&had, &self.units).is_empty())?;
        plan_again(draft, self.seq, self.units.len() as u64)?;
        draft.renumber(self.seq, &had, &self.units)
    }

    fn make(&self, sale: &mut Sale, _: &mut Planned<'_>) {
        let was_live = sale.ledger.grant(self.seq).is_some_and(|grant| grant.state.is_live());
        if let Some(numbers) = sale.numbers_mut() {
            numbers.renumber(self.seq, &self.units, was_live);
        }
        make_again(sale, self.seq, self.units.len() as u64);
    }
}

fn check_again(checker: &mut Checker<'_>, seq: u64) -> Result<(), Refused> {
    let from = checker.draft.look(seq)?;
    check(!matches!(from.state, State::Sold | State::Refunded))?;
    // IMPORT finds a grant by its request id.
    check(checker.sale().stored_grant(seq).is_some_and(|grant| grant.req_id().is_some()))?;
    takes_imports(checker)
}

/// Makes the grant SOLD with `qty` units in all, the units that it holds included.
fn plan_again(draft: &mut Draft<'_>, seq: u64, qty: u64) -> Result<(), Refused> {
    let from = draft.look(seq)?;
    let held = if from.state == State::Held { from.qty } else { 0 };
    let view = draft.moved(GrantView { seq, qty, state: State::Sold, deadline: 0 });
    draft.change(EventKind::Import, Some(view), |it| {
        it.cover(qty - held)?;
        it.transfer(held, State::Held, State::Sold)?;
        it.transfer(qty - held, State::Expired, State::Sold)
    })
}

fn make_again(sale: &mut Sale, seq: u64, qty: u64) {
    end_offer(sale, seq);
    if sale.ledger.grant(seq).is_some_and(|grant| grant.qty != qty) {
        sale.ledger.set_qty(seq, qty);
    }
    sale.ledger.set_state(seq, State::Sold, 0);
    count(&mut sale.tallies.imported);
}

/// A sale with packets or rounds has a fixed supply and takes no imports.
fn takes_imports(checker: &Checker<'_>) -> Result<(), Refused> {
    let is_fixed = checker.draft.balances.packets.is_some();
    check(!is_fixed && checker.sale().terms.schedule.is_none())
}
