//! Following the amounts of DRAW LIST.

use super::{check, Trial};
use crate::outcome::{Refused, State};
use crate::Sale;

impl Trial {
    /// Follows an amount of DRAW LIST as the grant `seq` goes from one state to another. A new
    /// grant comes from no state.
    pub(super) fn follow_amount(
        &mut self,
        sale: &Sale,
        (seq, qty): (u64, u64),
        from: Option<State>,
        to: State,
    ) -> Result<(), Refused> {
        let Some(list) = sale.amounts() else { return Ok(()) };
        if let Some(place) = sale.old_place_of(seq) {
            return self.follow_old_amount(sale, (place, qty), from, to);
        }
        // While a rewritten sale is not complete its list is not what is available.
        let agrees = Some(list.len()) == sale.core.packets && list.sum() == sale.core.available;
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

    /// The same in the older round at a place: of that nothing is drawn any more.
    fn follow_old_amount(
        &mut self,
        sale: &Sale,
        (place, qty): (usize, u64),
        from: Option<State>,
        to: State,
    ) -> Result<(), Refused> {
        let old = sale.rounds().and_then(|rounds| rounds.older.get(place));
        let list = old.and_then(|old| old.returned.as_ref()).ok_or(Refused::Law)?;
        let amounts = self.more_mut().older_amounts.entry(place).or_default();
        match (from.is_some_and(State::is_live), to.is_live()) {
            (false, true) => check(amounts.take_old(list, qty)),
            (true, false) => {
                amounts.push(qty);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
