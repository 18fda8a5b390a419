//! A piece of a rewritten sale: the base first, which begins it.

use super::*;
use crate::snapshot::{self, pieces, Piece};

/// A piece stands for many changes. A piece is the only change of its command, and its check also
/// updates the sale's numbers. The base is the first change of a sale, and never made on one that
/// exists.
impl Act for Piece<'_> {
    fn check(&self, checker: &mut Checker<'_>) -> Result<(), Refused> {
        check(checker.alone)?;
        if let Piece::NumberedGrants(rows) = self {
            rows.check(&mut checker.draft)?;
        }
        let (sale, balances) = (checker.sale(), &mut checker.draft.balances);
        match self {
            Piece::NumberedGrants(_) => {}
            Piece::RestockIds(kept) => pieces::check_restock_ids(sale, kept, balances)?,
            Piece::Fences(added) => pieces::check_fences(sale, added, balances)?,
            Piece::Listed(users) => pieces::check_listed(sale, users)?,
            Piece::Amounts(added) => pieces::check_amounts(sale, added)?,
            Piece::Grants(rows) => rows.check(sale, balances)?,
            Piece::Round(next) => next.check(sale, balances)?,
            Piece::Pairs(pairs) => pieces::check_pairs(sale, pairs, balances)?,
            Piece::Waiters(waiters) => pieces::check_waiters(sale, waiters, balances)?,
            Piece::Trims(trims) => pieces::check_trims(sale, trims, balances)?,
            Piece::Base(_) => return Err(Refused::Key),
            Piece::Refusals(_) => return Err(Refused::Law),
        }
        check(snapshot::is_in_order(sale, self))?;
        check(sale.awaits > 1 || snapshot::completes(sale, Some(self), balances))
    }

    fn make(&self, sale: &mut Sale, _: &mut Planned<'_>) {
        sale.awaits -= 1;
        match self {
            Piece::RestockIds(kept) => pieces::add_restock_ids(sale, kept),
            Piece::Fences(added) => added.iter().for_each(|fence| sale.fences.load(fence)),
            Piece::Listed(users) => pieces::add_listed(sale, users),
            Piece::Amounts(added) => pieces::add_amounts(sale, added),
            Piece::Grants(rows) => rows.make(sale),
            Piece::NumberedGrants(rows) => rows.make(sale),
            Piece::Round(next) => next.make(sale),
            Piece::Pairs(pairs) => pairs.iter().for_each(|pair| sale.pairs.set(*pair)),
            Piece::Waiters(waiters) => pieces::add_waiters(sale, waiters),
            Piece::Trims(trims) => pieces::add_trims(sale, trims),
            Piece::Base(_) | Piece::Refusals(_) => {}
        }
    }
}
