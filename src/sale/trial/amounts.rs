//! Following the amounts of DRAW LIST.

use super::{check, Trial};
use crate::sale::outcome::{Refused, State};
use crate::sale::Sale;

impl Trial {
    /// Follows an amount of DRAW LIST as a grant goes from one state to another. A new grant
    /// comes from no state.
    pub(super) fn follow_amount(
        &mut self,
        sale: &Sale,
        qty: u64,
        from: Option<State>,
        to: State,
    ) -> Result<(), Refused> {
        let Some(list) = sale.amounts() else { return Ok(()) };
        // While a rewritten sale is not complete its list is not what is available.
        let agrees =
            Some(list.len()) == sale.balances.packets && list.sum() == sale.balances.available;
        check(agrees)?;
        let amounts = &mut self.more_mut().amounts;
        match (from, from.is_some_and(State::is_live), to.is_live()) {
            (None, _, true) => check(amounts.take_first(list) == Some(qty)),
            (Some(_), false, true) => check(amounts.take(list, qty)),
            (_, true, false) => {
                amounts.push(qty);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
