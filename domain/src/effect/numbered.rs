//! A grant in a sale whose units have numbers: the grant's effect, and its numbers.

use super::*;
use crate::model::limits::{UNITS_MAX, UNITS_PER_GRANT_MAX};
use crate::numbers::UnitList;
use serde::de::Error;
use serde::{Deserializer, Serializer};

/// An effect that makes a grant of numbered units.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Numbered<E> {
    /// The numbers, rising.
    #[serde(with = "rising")]
    pub units: UnitList,
    /// The grant.
    pub of: E,
}

/// Ascending numbers, encoded as the gaps between them: adjacent numbers take one byte each.
pub(crate) mod rising {
    use super::*;

    pub fn serialize<S: Serializer>(units: &[u32], to: S) -> Result<S::Ok, S::Error> {
        let before = [0].iter().chain(units);
        to.collect_seq(units.iter().zip(before).map(|(unit, before)| unit - before - 1))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<UnitList, D::Error> {
        let mut units: UnitList = wire::sequence(from, UNITS_PER_GRANT_MAX, Some::<u32>)?;
        let mut last = 0;
        for unit in &mut units {
            last += u64::from(*unit) + 1;
            if last > UNITS_MAX {
                return Err(D::Error::custom("a number that no unit has"));
            }
            *unit = last as u32;
        }
        match units.is_empty() {
            true => Err(D::Error::custom("a grant of no numbers")),
            false => Ok(units),
        }
    }
}

impl<E: Act> Act for Numbered<E> {
    const FREES: bool = E::FREES;

    fn is_apart<'e>(&'e self, others: &mut Others<'e>) -> bool {
        self.of.is_apart(others)
    }

    fn check(&self, checker: &mut Checker<'_>) -> Result<(), Refused> {
        self.of.check(checker)
    }

    fn plan(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        draft.take_units(&self.units, true)?;
        self.of.plan(draft)?;
        let grant = draft.about.filter(|grant| grant.qty == self.units.len() as u64);
        draft.note_units(grant.ok_or(Refused::Law)?.seq, &self.units);
        Ok(())
    }

    fn make(&self, sale: &mut Sale, planned: &mut Planned<'_>) {
        self.of.make(sale, planned);
        if let Some(numbers) = sale.numbers_mut() {
            numbers.grant(&self.units, true);
        }
    }

    fn subject<'e>(&'e self, sale: &'e Sale, seq: u64, numbers: &Numbers) -> Option<Subject<'e>> {
        self.of.subject(sale, seq, numbers)
    }

    fn put<'e>(&'e self, sale: &'e Sale, kind: EventKind, data: &mut Vec<u8>) -> Raw<'e> {
        self.of.put(sale, kind, data)
    }
}
