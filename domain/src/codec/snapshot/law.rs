//! What must hold of a sale that is put together piece by piece.

use crate::model::balances::Balances;
use crate::Sale;

/// Whether the version counts at least the INIT and every grant, restock and fence that is kept:
/// each was a change. So it has room for the pieces of the sale, however they are cut.
pub fn counts_all(balances: &Balances, restocks: u64, fences: u64) -> bool {
    balances.version > balances.grants.saturating_add(restocks).saturating_add(fences)
}

/// Whether the packets left share what is available, in a sale that counts them.
pub fn can_be_drawn(sale: &Sale, balances: &Balances) -> bool {
    sale.terms.draw.is_none_or(|draw| draw.is_lawful(balances))
}
