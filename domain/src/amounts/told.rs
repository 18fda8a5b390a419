//! The list that every round of a sale that repeats begins with.

use crate::ledger::Block;

/// The list that INIT was told; empty in a sale that does not repeat.
#[derive(Clone, Debug, Default)]
pub(super) struct Told {
    amounts: Box<[u64]>,
    sum: u64,
}

impl Told {
    /// Adds amounts at the end.
    pub(super) fn append(&mut self, amounts: &[u64]) {
        let mut told = std::mem::take(&mut self.amounts).into_vec();
        told.extend_from_slice(amounts);
        self.amounts = told.into();
        self.sum = self.amounts.iter().fold(0, |sum, amount| amount.saturating_add(sum));
    }

    pub(super) fn amounts(&self) -> &[u64] {
        &self.amounts
    }

    pub(super) fn len(&self) -> u64 {
        self.amounts.len() as u64
    }

    pub(super) fn sum(&self) -> u64 {
        self.sum
    }

    /// The first of the last so many amounts, the list written one behind the other as often as
    /// needed.
    pub(super) fn first_of_last(&self, len: u64) -> Option<u64> {
        let from_end = (len - 1) % self.len().max(1);
        self.amounts.iter().rev().nth(from_end as usize).copied()
    }

    /// Sum of the last so many amounts; `None` when it is beyond 64 bits.
    pub(super) fn sum_of_last(&self, len: u64) -> Option<u64> {
        let whole = len.checked_div(self.len())?;
        let rest = (len % self.len()) as usize;
        let rest = self.amounts.iter().rev().take(rest).sum::<u64>();
        self.sum.checked_mul(whole)?.checked_add(rest)
    }

    /// Its block of memory, for a defragmenter that moves it.
    pub(super) fn block_mut(&mut self) -> Option<Block<'_>> {
        (!self.amounts.is_empty()).then_some(Block::Slots(&mut self.amounts))
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.amounts.len() * size_of::<u64>()
    }
}
