//! A list while changes are tried.

use std::collections::VecDeque;

use smallvec::SmallVec;

use super::returned::{take_last, Returned};
use super::Amounts;

/// What changes that are tried would do to a list, without copying it: a grab takes from its
/// front, what comes back goes to its end. Only a reclaim, which is rare, looks into it.
#[derive(Clone, Debug, Default)]
pub struct AmountsTrial {
    taken: u64,
    back: SmallVec<[u64; 2]>,
    /// All that came back, from the first reclaim on.
    whole: Option<VecDeque<u64>>,
}

impl AmountsTrial {
    /// Takes the first amount.
    pub fn take_first(&mut self, list: &Amounts) -> Option<u64> {
        let first = match (self.taken.checked_sub(list.undrawn()), &mut self.whole) {
            (None, _) => list.front.at(self.taken, &list.told)?,
            (Some(_), Some(whole)) => return whole.pop_front(),
            (Some(place), None) => {
                let place = place as usize;
                let from_back = |place: usize| self.back.get(place).copied();
                let listed = list.back.get(place).copied();
                listed.or_else(|| from_back(place.checked_sub(list.back.len())?))?
            }
        };
        self.taken += 1;
        Some(first)
    }

    /// Puts an amount at the end.
    pub fn push(&mut self, amount: u64) {
        match &mut self.whole {
            Some(whole) => whole.push_back(amount),
            None => self.back.push(amount),
        }
    }

    /// Takes that very amount. False when it is not there.
    pub fn take(&mut self, list: &Amounts, amount: u64) -> bool {
        let taken = self.taken.saturating_sub(list.undrawn());
        self.take_of(&list.back, taken as usize, amount)
    }

    /// The same in a round that is over.
    pub fn take_old(&mut self, list: &Returned, amount: u64) -> bool {
        self.take_of(list.amounts(), 0, amount)
    }

    fn take_of(&mut self, list: &VecDeque<u64>, taken: usize, amount: u64) -> bool {
        let tried = &self.back;
        let whole = self
            .whole
            .get_or_insert_with(|| list.iter().chain(tried.iter()).skip(taken).copied().collect());
        take_last(whole, amount)
    }
}
