//! A dump put together.

use super::base::Base;
use super::Piece;
use crate::admission::LISTS;
use crate::codec::effect::{Change, Effect};
use crate::draw::amounts::Amounts;
use crate::ledger::HashKey;
use crate::model::outcome::Refused;
use crate::Sale;

/// Puts a dump together, piece by piece, and checks at the end that it is the sale it said.
pub struct Loader {
    sale: Sale,
    base: Box<Base>,
}

impl Loader {
    /// Starts with the bytes of the base.
    pub fn start(bytes: &[u8], key: HashKey) -> Result<Loader, Refused> {
        let Piece::Base(base) = Piece::decode(bytes)? else { return Err(Refused::Unknown) };
        let mut sale = base.begin(key)?;
        // Every grant is of another winner, or that is found out.
        if sale.rounds().is_none() && base.winners == base.balances.grants {
            sale.ledger.begin_bulk_load(base.winners);
        }
        Ok(Loader { sale, base })
    }

    /// Adds the bytes of one further piece.
    pub fn add(&mut self, bytes: &[u8]) -> Result<(), Refused> {
        match Piece::decode(bytes)? {
            Piece::Base(_) => Err(Refused::Unknown),
            Piece::Refusals(refusals) => {
                self.sale.refusals = *refusals;
                Ok(())
            }
            piece => {
                let version = self.sale.balances.version;
                self.sale.apply(version, [Change::untimed(Effect::Piece(piece))]).map(|_| ())
            }
        }
    }

    /// The sale, if it is the one that the base announced. `arrived_at` is when it was loaded,
    /// Unix ms: its next epoch is not before it.
    pub fn finish(self, arrived_at: u64) -> Result<Sale, Refused> {
        let Loader { mut sale, mut base } = self;
        if !sale.ledger.end_bulk_load() {
            return Err(Refused::Law);
        }
        base.balances.version = base.balances.version.saturating_sub(sale.awaits);
        let complete = sale.balances == base.balances
            && sale.escrow == base.escrow
            && sale.ledger.winners() == base.winners
            && sale.restocks.len() as u64 == base.restocks
            && sale.fences.len() as u64 == base.fences
            && sale.amounts().map_or(0, Amounts::len) == base.amounts
            && sale.pairs.as_slice().len() as u64 == base.pairs
            && LISTS.map(|list| sale.list_size(list)) == base.lists
            && sale.waitlist().map(|list| list.len()) == base.waitlist.map(|list| list.waiting)
            && sale.ledger.has_only_epochs_that_granted();
        sale.arrived_at = arrived_at;
        complete.then_some(sale).ok_or(Refused::Law)
    }
}
