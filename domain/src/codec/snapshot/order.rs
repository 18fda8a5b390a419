//! The order of the pieces, and what must hold once the last one has come.

use super::Piece;
use crate::admission::{List, LISTS};
use crate::model::balances::Balances;
use crate::Sale;

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
