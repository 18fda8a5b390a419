//! The amounts of DRAW LIST: what a sale has still to give, in order.
//!
//! A list is drawn from its front; what comes back goes to its end. A late payment takes that very
//! amount, the last equal one. It looks among those that came back alone, and that is enough: while
//! anything before them is left none of them was drawn, so the amount of every grant that is no
//! longer live is there. They are kept by place and by amount, so each step is O(log n).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::memory::tree_bytes;

/// Bytes of one node of a tree of pairs of numbers: eleven entries and a head.
const NODE_BYTES: usize = 192;

/// The amounts of a list that are still to be drawn.
#[derive(Clone, Debug, Default)]
pub struct Amounts {
    /// Those of INIT that nobody has drawn: before all others.
    initial: VecDeque<u64>,
    /// What came back, and all of a list that was loaded, each by its place.
    returned: BTreeMap<u64, u64>,
    /// The same, each amount with its place.
    by_amount: BTreeSet<(u64, u64)>,
    /// The place of the next that comes back.
    next_place: u64,
    sum: u64,
}

impl Amounts {
    /// The next amount.
    pub fn first(&self) -> Option<u64> {
        let returned = || self.returned.first_key_value().map(|(_, amount)| amount);
        self.initial.front().or_else(returned).copied()
    }

    /// How many are left.
    pub fn len(&self) -> u64 {
        (self.initial.len() + self.returned.len()) as u64
    }

    /// Whether none is left.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Their sum.
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// Whether `amount` came back.
    pub fn contains(&self, amount: u64) -> bool {
        self.places_of(amount).next().is_some()
    }

    /// All that are left, in order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.initial.iter().chain(self.returned.values()).copied()
    }

    /// Places of the amounts that came back and are `amount`, in order.
    fn places_of(&self, amount: u64) -> impl DoubleEndedIterator<Item = u64> + '_ {
        self.by_amount.range((amount, 0)..=(amount, u64::MAX)).map(|(_, place)| *place)
    }

    /// Adds an amount at the end.
    pub fn push(&mut self, amount: u64) {
        self.returned.insert(self.next_place, amount);
        self.by_amount.insert((amount, self.next_place));
        self.next_place += 1;
        self.sum = self.sum.saturating_add(amount);
    }

    /// Takes the first amount out.
    pub fn take_first(&mut self) -> Option<u64> {
        let returned = || {
            let (place, amount) = self.returned.pop_first()?;
            self.by_amount.remove(&(amount, place));
            Some(amount)
        };
        let amount = self.initial.pop_front().or_else(returned)?;
        self.sum = self.sum.saturating_sub(amount);
        Some(amount)
    }

    /// Takes out the last amount that is `amount`. False when none came back that is.
    pub fn take(&mut self, amount: u64) -> bool {
        let Some(place) = self.places_of(amount).next_back() else { return false };
        self.returned.remove(&place);
        self.by_amount.remove(&(amount, place));
        self.sum = self.sum.saturating_sub(amount);
        true
    }

    /// Bytes of heap in use, about.
    pub fn heap_bytes(&self) -> usize {
        let initial = self.initial.capacity() * size_of::<u64>();
        initial + 2 * tree_bytes(self.returned.len(), NODE_BYTES)
    }

    /// Blocks of heap in use, about: what freeing costs.
    pub fn heap_blocks(&self) -> usize {
        1 + 2 * tree_bytes(self.returned.len(), NODE_BYTES) / NODE_BYTES
    }
}

impl FromIterator<u64> for Amounts {
    fn from_iter<I: IntoIterator<Item = u64>>(amounts: I) -> Self {
        let initial: VecDeque<u64> = amounts.into_iter().collect();
        let sum = initial.iter().fold(0u64, |sum, amount| sum.saturating_add(*amount));
        Amounts { initial, sum, ..Amounts::default() }
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_drawn_and_the_last_equal_one_is_taken() {
        let mut list: Amounts = [5].into_iter().collect();
        [1, 9, 1, 5].into_iter().for_each(|amount| list.push(amount));
        assert_eq!((list.len(), list.sum(), list.first()), (5, 21, Some(5)));
        assert!(list.contains(5) && list.contains(9) && !list.contains(7));
        assert!(list.take(5) && !list.contains(5) && !list.take(5) && !list.take(7));
        list.push(5);
        assert!(list.take(1));
        assert_eq!(list.iter().collect::<Vec<_>>(), [5, 1, 9, 5]);
        assert_eq!((list.take_first(), list.take_first()), (Some(5), Some(1)));
        assert!(!list.contains(1) && list.take(5) && !list.take(5));
        assert_eq!((list.take_first(), list.take_first()), (Some(9), None));
        assert_eq!((list.len(), list.sum(), list.is_empty()), (0, 0, true));
    }

    /// What is planned of a list is what then becomes of it.
    #[test]
    fn a_plan_does_what_the_list_does() {
        const STEPS: u64 = 400;
        for seed in 0..50u64 {
            let mut list: Amounts = (0..seed % 9).map(|place| 1 + place % 3).collect();
            // Some came back before, at places that do not begin with 0.
            (0..seed % 7).for_each(|place| list.push(1 + place % 4));
            (0..seed % 3).for_each(|_| assert!(list.take_first() != Some(0)));
            let (before, mut planned) = (list.clone(), PlannedAmounts::default());
            for step in 0..STEPS {
                let chance = (seed * STEPS + step).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
                let amount = 1 + chance / 8 % 4;
                match chance % 4 {
                    0 | 1 => {
                        planned.push(amount);
                        list.push(amount);
                    }
                    2 => {
                        assert_eq!(planned.take_first(&before), list.take_first(), "{seed} {step}")
                    }
                    _ => {
                        assert_eq!(
                            planned.take(&before, amount),
                            list.take(amount),
                            "{seed} {step}"
                        )
                    }
                }
            }
        }
    }
}
