//! What only some sales keep: a plain sale has none of it and pays one check for that.

use super::draw::Amounts;

/// The state of a sale that does more than count units.
#[derive(Clone, Debug, Default)]
pub struct Extras {
    /// Amounts of DRAW LIST that are still to be drawn.
    pub amounts: Amounts,
}

impl Extras {
    /// Bytes of heap in use.
    pub fn heap_bytes(&self) -> usize {
        self.amounts.heap_bytes()
    }
}
