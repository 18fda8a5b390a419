//! What came back to a list, and what is kept of it when the round is over.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::core::Core;

/// What a round that is over keeps of its list: the amounts that came back. Those before them
/// can't be drawn any more; the numbers of the round count them.
#[derive(Clone, Debug, Default)]
pub struct Returned {
    begun: u64,
    /// Shared with the round that it was carried to, until either changes.
    amounts: Arc<VecDeque<u64>>,
}

impl Returned {
    pub(super) fn new(begun: u64, amounts: Arc<VecDeque<u64>>) -> Returned {
        Returned { begun, amounts }
    }

    /// How many amounts the round began with.
    pub fn begun(&self) -> u64 {
        self.begun
    }

    /// What came back.
    pub fn amounts(&self) -> &VecDeque<u64> {
        &self.amounts
    }

    /// Whether these are all that came back in the round, which stands at `core` after so many
    /// grants of its own.
    pub fn is_all_of(&self, core: &Core, grants: u64) -> bool {
        let sum = self.amounts.iter().fold(0u64, |sum, amount| sum.saturating_add(*amount));
        agrees(core, self.begun.saturating_sub(grants), self.amounts.len() as u64, sum)
    }

    /// Adds an amount at the end.
    pub fn push(&mut self, amount: u64) {
        Arc::make_mut(&mut self.amounts).push_back(amount);
    }

    /// Takes out the last amount that is `amount`. False when there is none.
    pub fn take(&mut self, amount: u64) -> bool {
        take_last(Arc::make_mut(&mut self.amounts), amount)
    }

    /// Bytes of heap in use; what is shared is counted where it is still to be drawn.
    pub fn heap_bytes(&self) -> usize {
        match Arc::strong_count(&self.amounts) {
            1 => bytes_of(&self.amounts),
            _ => 0,
        }
    }
}

/// Whether a round has as many packets and units as are undrawn and as came back, those with
/// their sum. Grants take first what the round began with, so their number says what is undrawn.
pub(super) fn agrees(core: &Core, undrawn: u64, returned: u64, sum: u64) -> bool {
    let units = core.available.checked_sub(sum);
    core.packets == returned.checked_add(undrawn)
        && units.is_some_and(|units| undrawn <= units && (undrawn == 0) == (units == 0))
}

/// Bytes of heap that a shared list has.
pub(super) fn bytes_of(amounts: &VecDeque<u64>) -> usize {
    size_of::<VecDeque<u64>>() + amounts.capacity() * size_of::<u64>()
}

/// Takes out the last amount that is `amount`. False when there is none.
pub(super) fn take_last(list: &mut VecDeque<u64>, amount: u64) -> bool {
    let place = list.iter().rposition(|other| *other == amount);
    place.and_then(|place| list.remove(place)).is_some()
}
