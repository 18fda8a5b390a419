//! What must hold of a sale that is put together piece by piece.

use super::base::Base;
use super::Piece;
use crate::admission::{List, LISTS};
use crate::codec::lists;
use crate::model::balances::Balances;
use crate::Sale;

/// Whether a piece comes before those that are written behind it. Pieces count as versions, and
/// only in the order in which they are written is there room for all of them.
pub fn is_in_order(sale: &Sale, piece: &Piece<'_>) -> bool {
    let has_rows = !sale.ledger.is_empty() || sale.older().next().is_some();
    let has_amounts = has_rows || sale.amounts().is_some_and(|list| !list.is_empty());
    let is_filled = |list: &List| sale.extras.iter().any(|it| it.list(*list).places() > 0);
    let has_users = has_amounts || LISTS.iter().any(is_filled);
    match piece {
        Piece::RestockIds(_) => sale.fences.is_empty() && !has_users,
        Piece::Fences(_) => !has_users,
        Piece::Listed(_) => !has_amounts,
        Piece::Amounts(_) => !has_rows,
        _ => true,
    }
}

/// Whether nothing is amiss between the pieces once the last one has come: there are as many
/// amounts to draw as packets, no total is of a round to come, and nothing is available while
/// units are owed. `balances` is where the sale stands after it.
pub fn completes(sale: &Sale, last: Option<&Piece<'_>>, balances: &Balances) -> bool {
    let amounts = lists::amounts_with(sale, last);
    let totals = sale.rounds().and_then(|rounds| rounds.totals.back());
    amounts.is_none_or(|(len, sum)| Some(len) == balances.packets && sum == balances.available)
        && totals.is_none_or(|total| total.round < balances.round)
        && (balances.deficit == 0 || balances.available == 0)
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

/// Whether the packets that a base states are those of its terms.
pub fn draw_holds(sale: &Sale, base: &Base) -> bool {
    let Some(draw) = &sale.terms.draw else {
        return base.balances.packets.is_none() && base.amounts == 0;
    };
    let list = if draw.is_list() { base.balances.packets.unwrap_or(0) } else { 0 };
    sale.told_terms.draw == sale.terms.draw
        && draw.check_numbers(base.told_supply).is_ok()
        && draw.is_lawful(&base.balances)
        && draw.is_lawful(&sale.balances)
        // Fewer only in a sale that itself awaited pieces: its last piece finds that out.
        && base.amounts <= list
}
