//! A list while changes are planned.

use std::collections::BTreeSet;

use super::Amounts;

/// What changes that are planned would do to a list, without copying it.
#[derive(Clone, Debug, Default)]
pub struct PlannedAmounts {
    /// How many of those of INIT were drawn.
    initial: usize,
    /// All places of what came back before this one were drawn or taken.
    drawn_to: u64,
    /// Places, not before that one, whose amounts were taken.
    taken: BTreeSet<u64>,
    /// What came back meanwhile, and is still there.
    back: Amounts,
}

impl PlannedAmounts {
    /// Takes the first amount.
    pub fn take_first(&mut self, list: &Amounts) -> Option<u64> {
        if let Some(amount) = list.initial.get(self.initial) {
            self.initial += 1;
            return Some(*amount);
        }
        let left = list.returned.range(self.drawn_to..);
        for (place, amount) in left {
            self.drawn_to = place + 1;
            if !self.taken.remove(place) {
                return Some(*amount);
            }
        }
        self.back.take_first()
    }

    /// Puts an amount at the end.
    pub fn push(&mut self, amount: u64) {
        self.back.push(amount);
    }

    /// Takes the last amount that is `amount`. False when none came back that is.
    pub fn take(&mut self, list: &Amounts, amount: u64) -> bool {
        if self.back.take(amount) {
            return true;
        }
        let left = list.places_of(amount).rev().take_while(|place| *place >= self.drawn_to);
        let place = left.into_iter().find(|place| !self.taken.contains(place));
        place.is_some_and(|place| self.taken.insert(place))
    }
}
