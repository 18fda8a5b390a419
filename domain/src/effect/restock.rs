//! Units are added or withdrawn.

use super::*;
use crate::dedup::Restocked;
use crate::fields;
use crate::model::limits::UNITS_MAX;

/// Units are added or withdrawn.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Restock<'a> {
    /// The request id, 1 to 128 bytes.
    #[serde(with = "wire::req")]
    pub req: &'a [u8],
    /// Units asked for; negative: to withdraw.
    #[serde(deserialize_with = "wire::signed")]
    pub delta: i64,
    /// Units added, or withdrawn if negative.
    #[serde(deserialize_with = "wire::signed")]
    pub applied: i64,
}

impl Act for Restock<'_> {
    const FREES: bool = true;

    fn is_apart<'e>(&'e self, others: &mut Others<'e>) -> bool {
        others.restocks.insert(self.req)
    }

    fn check(&self, checker: &mut Checker<'_>) -> Result<(), Refused> {
        let is_new = checker.sale().restocks.find(self.req).is_none();
        let most = UNITS_MAX.saturating_sub(checker.draft.balances.supply);
        let fits = !checker.sale().terms.is_numbered()
            || self.applied >= 0 && self.applied.unsigned_abs() <= most;
        check(is_new && fits && checker.draft.balances.packets.is_none())
    }

    fn plan(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        if draft.sale.escrow.is_some() {
            draft.escrow_mut()?.restock(self.applied)?;
        }
        draft.change(EventKind::Restock, None, |it| it.restock(self.delta, self.applied))?;
        draft.add_units(self.applied)?;
        draft.begin_restock();
        Ok(())
    }

    fn make(&self, sale: &mut Sale, planned: &mut Planned<'_>) {
        let Restock { req, delta, applied } = *self;
        let available = planned.restocked.next().copied().unwrap_or_default();
        sale.restocks.push(Restocked { req: req.into(), delta, applied, available });
        if let Some(numbers) = sale.numbers_mut() {
            numbers.grow(applied as u32);
        }
        if let Some(rounds) = sale.rounds_mut() {
            rounds.base_supply = rounds.base_supply.saturating_add_signed(applied);
        }
    }

    fn put<'e>(&'e self, _: &'e Sale, _: EventKind, data: &mut Vec<u8>) -> Raw<'e> {
        put_number(data, fields::DELTA.number, self.delta);
        put_number(data, fields::APPLIED.number, self.applied);
        Raw { req: Some(self.req), ..Raw::default() }
    }
}
