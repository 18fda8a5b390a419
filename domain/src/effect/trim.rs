//! A part of a grant is given back (KEEP).

use super::numbered::rising;
use super::settle::{end_offer, ledger_of, set_state};
use super::*;
use crate::draft::without;
use crate::entry::put_some;
use crate::fields;
use crate::numbers::UnitList;
use crate::request::UnitKind;
use serde::de::Error;
use serde::Deserializer;

/// Units of a live grant are given back; the rest stays as it is, or a hold is paid.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Trim {
    /// The grant's seq.
    #[serde(deserialize_with = "wire::integer")]
    pub seq: u64,
    /// Units given back, fewer than the grant has.
    #[serde(deserialize_with = "wire::integer")]
    pub returned: u64,
    /// The state of the rest.
    #[serde(deserialize_with = "live")]
    pub to: State,
}

fn live<'de, D: Deserializer<'de>>(from: D) -> Result<State, D::Error> {
    let to = State::deserialize(from)?;
    to.is_live().then_some(to).ok_or_else(|| D::Error::custom("what is kept is live"))
}

impl Act for Trim {
    const FREES: bool = true;

    fn check(&self, checker: &mut Checker<'_>) -> Result<(), Refused> {
        // A packet can't be split, and numbered units are trimmed by `TrimNumbered`.
        check(checker.sale().terms.kind == UnitKind::Counted)
    }

    fn plan(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        draft.trim(self.seq, self.returned, self.to)
    }

    fn make(&self, sale: &mut Sale, _: &mut Planned<'_>) {
        let Trim { seq, returned, to } = *self;
        let Some(before) = sale.stored_grant(seq).map(|grant| grant.view()) else { return };
        ledger_of(sale, seq).set_qty(seq, before.qty - returned);
        count(&mut sale.tallies.trimmed);
        if before.state != to {
            end_offer(sale, seq);
            set_state(sale, seq, to, 0);
            count(&mut sale.tallies.confirmed);
        }
    }

    fn put<'e>(&'e self, _: &'e Sale, _: EventKind, data: &mut Vec<u8>) -> Raw<'e> {
        put_some(data, fields::RETURNED, self.returned);
        Raw::default()
    }
}

/// Some of a live grant's numbers are given back.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TrimNumbered {
    /// The numbers that are left, rising.
    #[serde(with = "rising")]
    pub units: UnitList,
    /// The trim itself: grant, units given back, state of the rest.
    pub of: Trim,
}

impl Act for TrimNumbered {
    const FREES: bool = true;

    fn plan(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        let had = draft.units_of(self.of.seq);
        let returned = had.len().saturating_sub(self.units.len()) as u64;
        check(without(&self.units, &had).is_empty() && returned == self.of.returned)?;
        self.of.plan(draft)?;
        draft.renumber(self.of.seq, &had, &self.units)
    }

    fn make(&self, sale: &mut Sale, planned: &mut Planned<'_>) {
        self.of.make(sale, planned);
        if let Some(numbers) = sale.numbers_mut() {
            numbers.renumber(self.of.seq, &self.units, true);
        }
    }

    fn put<'e>(&'e self, sale: &'e Sale, kind: EventKind, data: &mut Vec<u8>) -> Raw<'e> {
        self.of.put(sale, kind, data)
    }
}
