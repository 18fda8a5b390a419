//! The sale begins.

use super::*;
use crate::entry::put_terms;
use crate::model::limits::DRAW_AMOUNTS_MAX;
use crate::request::Terms;
use serde::Deserializer;

/// The beginning of a sale.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Init {
    /// The sale's id, drawn at random by the primary.
    pub id: u64,
    /// The key of its draws, drawn at random by the primary.
    pub secret: [u8; 16],
    /// Units to sell.
    #[serde(deserialize_with = "wire::integer")]
    pub supply: u64,
    /// The terms of INIT.
    pub terms: Terms,
    /// The amounts of DRAW LIST; else empty.
    #[serde(deserialize_with = "amounts")]
    pub amounts: Vec<u64>,
}

fn amounts<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u64>, D::Error> {
    wire::sequence(from, DRAW_AMOUNTS_MAX as usize, |wire::Integer(amount)| Some(amount))
}

/// INIT is planned as the first change of a sale, see `Plan::first`, never on a sale that exists.
impl Act for Init {
    fn plan(&self, _: &mut Draft<'_>) -> Result<(), Refused> {
        Err(Refused::Key)
    }

    fn make(&self, _: &mut Sale, _: &mut Planned<'_>) {}

    fn put<'e>(&'e self, _: &'e Sale, _: EventKind, data: &mut Vec<u8>) -> Raw<'e> {
        put_terms(data, &self.terms);
        let (outbox, split) = (self.terms.outbox.as_deref(), self.terms.split_id());
        Raw { outbox, split, ..Raw::default() }
    }
}
