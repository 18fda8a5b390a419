//! Deadlines of held grants, the earliest first.
//!
//! An ordered set of (deadline, seq): adding, moving and removing are O(log n) and exact, so
//! EXTEND and CONFIRM leave nothing behind that would have to be skipped or swept up later.

use std::collections::BTreeSet;

/// Bytes of one node of the tree: eleven entries and a head.
const NODE_BYTES: usize = 192;

/// The held grants of a sale or of a user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holds {
    by_deadline: BTreeSet<(u64, u32)>,
}

impl Holds {
    /// Adds a hold.
    pub fn insert(&mut self, deadline: u64, seq: u32) {
        self.by_deadline.insert((deadline, seq));
    }

    /// Removes a hold that was confirmed, given back or moved.
    pub fn remove(&mut self, deadline: u64, seq: u32) {
        let was_there = self.by_deadline.remove(&(deadline, seq));
        debug_assert!(was_there, "a held grant has its deadline here");
    }

    /// The earliest deadline, Unix ms.
    pub fn next_deadline(&self) -> Option<u64> {
        self.by_deadline.first().map(|(deadline, _)| *deadline)
    }

    /// Whether any hold is due at `t`.
    #[inline]
    pub fn are_due(&self, t: u64) -> bool {
        // Most sales hold nothing, and asking a tree for its first entry is a search.
        !self.is_empty() && self.next_deadline().is_some_and(|at| at <= t)
    }

    /// Deadlines and seqs of the holds that are due at `t`, earliest deadline first. A hold lives
    /// while T < deadline.
    pub fn due(&self, t: u64) -> impl Iterator<Item = (u64, u32)> + '_ {
        self.by_deadline.range(..(t.saturating_add(1), 0)).copied()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.by_deadline.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.by_deadline.is_empty()
    }

    /// Bytes of heap in use, about.
    pub fn heap_bytes(&self) -> usize {
        tree_bytes(self.len(), NODE_BYTES)
    }
}

/// Bytes of a B-tree of `len` entries whose nodes take `node_bytes`: one node up to eleven entries,
/// beyond that nodes are about two thirds full.
pub(crate) fn tree_bytes(len: usize, node_bytes: usize) -> usize {
    match len {
        0 => 0,
        1..=11 => node_bytes,
        _ => len * node_bytes / 7,
    }
}
