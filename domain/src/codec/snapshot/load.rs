//! A dump put together.

use super::base::{read_base, Stated};
use super::{take_all, take_number, Kind};
use crate::admission::LISTS;
use crate::codec::effect::{Change, Effect};
use crate::draw::amounts::Amounts;
use crate::ledger::HashKey;
use crate::model::outcome::Refused;
use crate::state::status::Refusals;
use crate::Sale;

/// Puts a dump together, piece by piece, and checks at the end that it is the sale it said.
pub struct Loader {
    sale: Sale,
    stated: Stated,
}

impl Loader {
    /// Starts with the base, marked with its letter as every piece of a dump is.
    pub fn start(marked: &[u8], key: HashKey) -> Result<Loader, Refused> {
        let (Kind::Base, piece) = unmarked(marked)? else { return Err(Refused::Unknown) };
        let (mut sale, stated) = read_base(piece, key)?;
        // Every grant is of another winner, or that is found out.
        if sale.rounds().is_none() && stated.winners == stated.balances.grants {
            sale.ledger.begin_bulk_load(stated.winners);
        }
        Ok(Loader { sale, stated })
    }

    /// Adds one further piece.
    pub fn add(&mut self, marked: &[u8]) -> Result<(), Refused> {
        match unmarked(marked)? {
            (Kind::Base, _) => Err(Refused::Unknown),
            (Kind::Refusals, piece) => self.refusals(piece),
            (kind, piece) => self.piece(kind.effect(piece).ok_or(Refused::Unknown)?),
        }
    }

    fn refusals(&mut self, piece: &[u8]) -> Result<(), Refused> {
        let read = take_all(piece, |reader| Refusals::from_numbers(&mut || take_number(reader)));
        self.sale.refusals = read.ok_or(Refused::Unknown)?;
        Ok(())
    }

    fn piece(&mut self, effect: Effect<'_>) -> Result<(), Refused> {
        let version = self.sale.balances.version;
        self.sale.apply(version, [Change::piece(effect)]).map(|_| ())
    }

    /// The sale, if it is the one that the base announced. `arrived_at` is when it was loaded,
    /// Unix ms: its next epoch is not before it.
    pub fn finish(self, arrived_at: u64) -> Result<Sale, Refused> {
        let Loader { mut sale, mut stated } = self;
        if !sale.ledger.end_bulk_load() {
            return Err(Refused::Law);
        }
        stated.balances.version = stated.balances.version.saturating_sub(sale.awaits);
        let restocks = sale.restocks.len() as u64;
        let complete = sale.balances == stated.balances
            && sale.ledger.winners() == stated.winners
            && restocks == stated.restocks
            && sale.fences.len() as u64 == stated.fences
            && sale.amounts().map_or(0, Amounts::len) == stated.amounts
            && LISTS.map(|list| sale.list_size(list)) == stated.lists
            && sale.ledger.has_only_epochs_that_granted();
        sale.arrived_at = arrived_at;
        complete.then_some(sale).ok_or(Refused::Law)
    }
}

/// What is behind the letter that marks a piece of a dump.
fn unmarked(marked: &[u8]) -> Result<(Kind, &[u8]), Refused> {
    let (letter, piece) = marked.split_first().ok_or(Refused::Unknown)?;
    Ok((Kind::of(*letter).ok_or(Refused::Unknown)?, piece))
}
