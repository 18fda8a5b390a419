//! What must hold of a sale that is put together piece by piece.

use super::base::Stated;
use crate::codec::effect::Effect;
use crate::codec::lists;
use crate::model::balances::Balances;
use crate::Sale;

/// Whether nothing is amiss between the pieces once the last one has come: there are as many
/// amounts to draw as packets, no total is of a round to come, and nothing is available while
/// units are owed. `balances` is where the sale stands after it.
pub fn completes(sale: &Sale, last: Option<&Effect<'_>>, balances: &Balances) -> bool {
    let is_in_order = last.is_none_or(|last| lists::is_in_order(sale, last));
    let amounts = lists::amounts_with(sale, last);
    let totals = sale.rounds().and_then(|rounds| rounds.totals.back());
    amounts.is_none_or(|(len, sum)| Some(len) == balances.packets && sum == balances.available)
        && totals.is_none_or(|total| total.round < balances.round)
        && (balances.deficit == 0 || balances.available == 0)
        && is_in_order
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
pub fn draw_holds(sale: &Sale, stated: &Stated) -> bool {
    let Some(draw) = &sale.terms.draw else {
        return stated.balances.packets.is_none() && stated.amounts == 0;
    };
    let list = if draw.is_list() { stated.balances.packets.unwrap_or(0) } else { 0 };
    sale.told_terms.draw == sale.terms.draw
        && draw.check_numbers(sale.told_supply).is_ok()
        && draw.is_lawful(&stated.balances)
        && draw.is_lawful(&sale.balances)
        // Fewer only in a sale that itself awaited pieces: its last piece finds that out.
        && stated.amounts <= list
}
