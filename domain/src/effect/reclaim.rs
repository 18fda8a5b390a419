//! An expired grant is sold after all.

use super::settle::{qty_of, set_state};
use super::*;

/// Sells an expired grant after all (RECLAIM).
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Reclaim {
    /// The grant's seq.
    #[serde(deserialize_with = "wire::integer")]
    pub seq: u64,
}

impl Act for Reclaim {
    const FREES: bool = true;

    fn check(&self, checker: &mut Checker<'_>) -> Result<(), Refused> {
        check(checker.draft.look(self.seq)?.state == State::Expired)?;
        list_agrees(checker.sale())
    }

    fn plan(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        let expired = draft.look(self.seq)?;
        let view = GrantView { state: State::Sold, ..expired };
        draft.transfer(EventKind::Reclaim, expired.state, view)
    }

    fn make(&self, sale: &mut Sale, _: &mut Planned<'_>) {
        set_state(sale, self.seq, State::Sold, 0);
        let qty = qty_of(sale, self.seq);
        if let Some(amounts) = sale.amounts_mut() {
            amounts.remove(qty);
        }
        if let Some(numbers) = sale.numbers_mut() {
            numbers.set_live(self.seq, true);
        }
        count(&mut sale.tallies.reclaimed);
    }
}
