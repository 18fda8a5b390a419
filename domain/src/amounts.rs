//! The amounts of DRAW LIST: what a sale has still to give, in order.
//!
//! A list is drawn from its front; what comes back goes to its end. In a sale that repeats every
//! round begins with the list that INIT was told, with CARRY behind what the round before has left.
//! Such a list is not written out: the amounts of the told list that are still to be drawn are
//! counted, because they are always the last ones of so many copies of it, and what came back in
//! earlier rounds is shared with those. So a round begins at once, however long the list is.
//!
//! A reclaim looks for its amount only among those that came back. That is the whole list: while
//! anything before them is left none of them was drawn, so the amount of every grant that is no
//! longer live is there.

mod front;
mod returned;
mod rounds;
mod tests;
mod told;
mod trial;

use std::collections::VecDeque;

use super::ledger::Block;
use front::Front;
use returned::take_last;
use told::Told;

pub use returned::Returned;
pub use trial::AmountsTrial;

/// A part of a list as a snapshot writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// The last so many of the told list.
    Told(u64),
    One(u64),
}

/// The amounts of a list that are still to be drawn.
#[derive(Clone, Debug, Default)]
pub struct Amounts {
    /// What every round begins with.
    told: Told,
    /// How many the stored round began with.
    begun: u64,
    /// Drawn first. Ends with amounts of the told list, so that what came back stays apart.
    front: Front,
    /// What came back, and in a sale that does not repeat all the others, too.
    back: VecDeque<u64>,
    sum: u64,
}

impl Amounts {
    /// The next amount.
    pub fn first(&self) -> Option<u64> {
        if self.front.is_empty() {
            return self.back.front().copied();
        }
        self.front.at(0, &self.told)
    }

    /// How many are left.
    pub fn len(&self) -> u64 {
        self.front.len() + self.back.len() as u64
    }

    /// Whether none is left.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Their sum.
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// What came back.
    pub fn returned(&self) -> &VecDeque<u64> {
        &self.back
    }

    /// How many of those that the round began with are left.
    pub fn undrawn(&self) -> u64 {
        self.front.len()
    }

    /// Whether it ends with amounts of the told list.
    pub fn ends_with_told(&self) -> bool {
        self.back.is_empty() && self.front.ends_with_told()
    }

    /// All that are left, in order.
    pub fn items(&self) -> impl Iterator<Item = Item> + '_ {
        self.front.items().chain(self.back.iter().copied().map(Item::One))
    }

    /// Adds an amount at the end.
    pub fn push(&mut self, amount: u64) {
        self.back.push_back(amount);
        self.sum = self.sum.saturating_add(amount);
    }

    /// Takes the first amount out.
    pub fn take_first(&mut self) -> Option<u64> {
        let first = match self.front.is_empty() {
            true => self.back.pop_front()?,
            false => self.front.take_first(&self.told)?,
        };
        self.sum = self.sum.saturating_sub(first);
        Some(first)
    }

    /// Takes out the last amount that is `amount`. False when none came back that is.
    pub fn take(&mut self, amount: u64) -> bool {
        let taken = take_last(&mut self.back, amount);
        self.sum = self.sum.saturating_sub(if taken { amount } else { 0 });
        taken
    }

    /// The block of the told list, for a defragmenter that moves it.
    pub fn block_mut(&mut self) -> Option<Block<'_>> {
        self.told.block_mut()
    }

    /// Bytes of heap in use.
    pub fn heap_bytes(&self) -> usize {
        let back = self.back.capacity() * size_of::<u64>();
        self.told.heap_bytes() + self.front.heap_bytes() + back
    }

    /// Blocks of heap in use: what freeing costs.
    pub fn heap_blocks(&self) -> usize {
        3 + self.front.heap_blocks()
    }
}

impl FromIterator<u64> for Amounts {
    fn from_iter<I: IntoIterator<Item = u64>>(amounts: I) -> Self {
        let mut list = Amounts::default();
        amounts.into_iter().for_each(|amount| list.push(amount));
        list
    }
}
