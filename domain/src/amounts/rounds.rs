//! A list from round to round, in a sale that repeats.

use std::collections::VecDeque;
use std::sync::Arc;

use super::returned::{agrees, Returned};
use super::Amounts;
use crate::core::Core;

impl Amounts {
    /// The list of a sale that repeats: every round begins with these.
    pub fn repeated(told: &[u64]) -> Amounts {
        let mut list = Amounts::default();
        list.tell(told);
        list.begin(told.len() as u64);
        list.append_told(told.len() as u64);
        list
    }

    /// How many the stored round began with.
    pub fn begun(&self) -> u64 {
        self.begun
    }

    /// Says how many the stored round begins with; they follow.
    pub fn begin(&mut self, amounts: u64) {
        self.begun = amounts;
    }

    /// The told list.
    pub fn told(&self) -> &[u64] {
        self.told.amounts()
    }

    /// Amounts of the told list, 0 in a sale that does not repeat.
    pub fn told_len(&self) -> u64 {
        self.told.len()
    }

    /// The sum of the told list.
    pub fn told_sum(&self) -> u64 {
        self.told.sum()
    }

    /// Sum of the last so many of the told list; `None` when it is beyond 64 bits.
    pub fn sum_of_told(&self, len: u64) -> Option<u64> {
        self.told.sum_of_last(len)
    }

    /// Adds to the told list.
    pub fn tell(&mut self, amounts: &[u64]) {
        self.told.append(amounts);
    }

    /// Adds the last so many of the told list at the end.
    pub fn append_told(&mut self, len: u64) {
        self.carry();
        self.front.append_told(len);
        self.sum = self.sum.saturating_add(self.sum_of_told(len).unwrap_or(u64::MAX));
    }

    /// The stored round is over: the next begins with the told list `lists` times, behind what is
    /// left if that is kept. The result is what the round that is over needs of its list.
    pub fn turn(&mut self, lists: u64, keep: bool) -> Returned {
        let returned = Returned::new(self.begun, self.carry());
        if !keep {
            self.front.clear();
            self.sum = 0;
        }
        let told = self.told_len().saturating_mul(lists);
        if told > 0 {
            self.append_told(told);
        }
        self.begun = self.front.len();
        returned
    }

    /// What came back will be drawn before what follows. Shared with whoever keeps the result.
    fn carry(&mut self) -> Arc<VecDeque<u64>> {
        let amounts = Arc::new(std::mem::take(&mut self.back));
        self.front.append(Arc::clone(&amounts));
        amounts
    }

    /// Whether these are all that came back in a round that stands at `core`, after so many grants
    /// of its own, and is over. `exact`: it began with the told list and nothing else.
    pub fn leaves(&self, core: &Core, grants: u64, exact: bool) -> bool {
        let undrawn = self.begun.saturating_sub(grants);
        let units = core.available.checked_sub(self.sum);
        self.front.is_empty()
            && agrees(core, undrawn, self.len(), self.sum)
            && (!exact || self.sum_of_told(undrawn) == units)
    }
}
