//! A sale put together piece by piece: from a dump, and what must hold of one from a rewritten log,
//! too.

use super::base::Base;
use super::Piece;
use crate::admission::{List, LISTS};
use crate::codec::effect::{Change, Effect};
use crate::draw::amounts::Amounts;
use crate::ledger::HashKey;
use crate::model::balances::Balances;
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

/// Whether the version counts at least the INIT and every grant, restock and fence that is kept:
/// each was a change. So it has room for the pieces of the sale, however they are cut.
pub fn counts_all(balances: &Balances, restocks: u64, fences: u64) -> bool {
    balances.version > balances.grants.saturating_add(restocks).saturating_add(fences)
}

/// Whether the packets left share what is available, in a sale that counts them.
pub fn can_be_drawn(sale: &Sale, balances: &Balances) -> bool {
    sale.terms.draw.is_none_or(|draw| draw.is_lawful(balances))
}

/// Whether a piece comes before those that are written behind it. Pieces count as versions, and
/// only in the order in which they are written is there room for all of them.
pub(crate) fn is_in_order(sale: &Sale, piece: &Piece<'_>) -> bool {
    if sale.waiters().is_some() {
        return matches!(piece, Piece::Waiters(_) | Piece::Refusals(_));
    }
    let has_grants = !sale.ledger.is_empty() || sale.older().next().is_some();
    let has_amounts = has_grants || sale.amounts().is_some_and(|list| !list.is_empty());
    let is_filled = |list: &List| sale.extras.iter().any(|it| it.list(*list).places() > 0);
    let has_users = has_amounts || LISTS.iter().any(is_filled);
    match piece {
        Piece::Pairs(_) => sale.restocks.is_empty() && sale.fences.is_empty() && !has_users,
        Piece::RestockIds(_) => sale.fences.is_empty() && !has_users,
        Piece::Fences(_) => !has_users,
        Piece::Listed(_) => !has_amounts,
        Piece::Amounts(_) => !has_grants,
        Piece::Base(_) | Piece::Grants(_) | Piece::Round(_) | Piece::Refusals(_) => true,
        Piece::Waiters(_) => true,
    }
}

/// Whether nothing is amiss between the pieces once the last one has come: there are as many
/// amounts to draw as packets, no total is of a round to come, nothing is available while
/// units are owed, and what a part sent and received is as its numbers say. `balances` is where the
/// sale stands after it.
pub(crate) fn completes(sale: &Sale, last: Option<&Piece<'_>>, balances: &Balances) -> bool {
    let amounts = amounts_with(sale, last);
    let totals = sale.rounds().and_then(|rounds| rounds.totals.back());
    amounts.is_none_or(|(len, sum)| Some(len) == balances.packets && sum == balances.available)
        && totals.is_none_or(|total| total.round < balances.round)
        && (balances.deficit == 0 || balances.available == 0)
        // A piece of pairs was compared with the numbers before.
        && (matches!(last, Some(Piece::Pairs(_))) || sale.pairs_agree())
}

/// What is listed once the last piece has come, which was checked: how many amounts, and their sum.
fn amounts_with(sale: &Sale, last: Option<&Piece<'_>>) -> Option<(u64, u64)> {
    let list = sale.amounts()?;
    let last: &[u64] = match last {
        Some(Piece::Amounts(amounts)) => amounts,
        _ => &[],
    };
    let sum = list.sum().saturating_add(last.iter().sum());
    Some((list.len() + last.len() as u64, sum))
}
