//! Checks changes decided elsewhere: by a primary, an AOF, a dump or a caller of APPLY. A local
//! decision needs no check, because it can't produce a change that is refused here. Decoding has
//! checked that numbers and ids are within their limits, see [`Change::decode`].

use crate::effect::{Act, Change, Checker, Others};
use crate::ledger::HashKey;
use crate::model::outcome::Refused;
use crate::snapshot::{Base, Piece};
use crate::Sale;

/// Builds a sale from a dump, piece by piece, and at the end compares it with the dump's base.
pub struct Loader {
    sale: Sale,
    base: Box<Base>,
}

impl Loader {
    /// Starts with the bytes of the base.
    pub fn start(bytes: &[u8], key: HashKey) -> Result<Loader, Refused> {
        let Piece::Base(base) = Piece::decode(bytes)? else { return Err(Refused::Unknown) };
        let mut sale = base.begin(key)?;
        // Each grant is announced to be of another winner; loading finds out if not.
        if let Some(winners) = base.single_grants().filter(|_| sale.rounds().is_none()) {
            sale.ledger.begin_bulk_load(winners);
        }
        Ok(Loader { sale, base })
    }

    /// Adds the bytes of the next piece.
    pub fn add(&mut self, bytes: &[u8]) -> Result<(), Refused> {
        match Piece::decode(bytes)? {
            Piece::Base(_) => Err(Refused::Unknown),
            Piece::Refusals(refusals) => {
                self.sale.refusals = *refusals;
                Ok(())
            }
            piece => {
                let version = self.sale.balances.version;
                self.sale.apply(version, [Change::untimed(piece)]).map(|_| ())
            }
        }
    }

    /// The sale, if it agrees with the base.
    pub fn finish(mut self) -> Result<Sale, Refused> {
        let is_whole = self.sale.ledger.end_bulk_load() && self.base.announces(&self.sale);
        is_whole.then_some(self.sale).ok_or(Refused::Law)
    }
}

impl Checker<'_> {
    /// Checks one change and plans it.
    pub(super) fn change(&mut self, change: &Change<'_>) -> Result<(), Refused> {
        // Awaited pieces must come before any other change, and a complete sale takes none.
        if change.effect.is_awaited() != (self.draft.sale.awaits > 0) {
            return Err(Refused::Gap);
        }
        self.draft.begin(change.elapsed_ms, change.epoch)?;
        change.effect.check(self)?;
        change.effect.plan(&mut self.draft)
    }
}

/// Whether changes of one command depend on each other. A command of dependent changes is refused,
/// because each change is checked against the sale before the command.
pub(super) fn are_entangled(changes: &[Change<'_>]) -> bool {
    let mut others = Others::default();
    changes.len() > 1 && !changes.iter().all(|change| change.effect.is_apart(&mut others))
}
