//! The held grants of a repeating sale, of all rounds.
//!
//! Each round has a ledger of its own, and very many rounds may be kept while each has a held
//! grant. This index answers questions about all rounds without a search in each: the next
//! deadline, a user's due holds, the grant of a request id.

use std::collections::BTreeSet;
use std::ops::Bound;

use crate::ledger::Holds;
use crate::memory::tree_bytes;

/// Bytes of one node of a tree of users' deadlines, and of one of hashes: eleven entries and a
/// head.
const NODE_BYTES: [usize; 2] = [320, 192];

/// A held grant and its keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hold {
    pub seq: u32,
    /// Deadline, Unix ms.
    pub deadline: u64,
    /// Hash of its user.
    pub user: u64,
    /// Hash of its request id, if it has one.
    pub req: Option<u64>,
}

/// See the module's comment. The hashes are those of [`Ledger::hash_of`]; the caller compares the
/// found grants' users and request ids.
///
/// [`Ledger::hash_of`]: crate::ledger::Ledger::hash_of
#[derive(Clone, Debug, Default)]
pub(crate) struct Held {
    /// All holds, by deadline.
    all: Holds,
    /// User's hash, deadline and seq of each hold.
    by_deadline: BTreeSet<(u64, u64, u32)>,
    /// User's hash and seq of each hold, and request id's hash and seq.
    by_hash: BTreeSet<(u64, u32)>,
}

/// Progress of a recount; entries may come and go meanwhile.
#[derive(Clone, Debug, Default)]
pub(crate) struct HeldRecount {
    /// The last checked entries.
    by_deadline: Option<(u64, u64, u32)>,
    by_hash: Option<(u64, u32)>,
    /// Entries that belong to no held grant, or lack an entry in another tree.
    wrong: u64,
}

impl Held {
    /// Number of holds.
    pub(crate) fn len(&self) -> usize {
        self.by_deadline.len()
    }

    /// Checks at most `most` further entries. `hold_of` finds the grant of a seq, if it is held.
    /// Returns the number of wrong entries at the end.
    pub(crate) fn recount_some(
        &self,
        walk: &mut HeldRecount,
        most: u64,
        hold_of: impl Fn(u32) -> Option<Hold>,
    ) -> Option<u64> {
        let mut left = most;
        let behind = walk.by_deadline.map_or(Bound::Unbounded, Bound::Excluded);
        for entry in self.by_deadline.range((behind, Bound::Unbounded)) {
            left = left.checked_sub(1)?;
            let (user, deadline, seq) = *entry;
            let has = |hash| self.by_hash.contains(&(hash, seq));
            let is_right = |hold: Hold| {
                (hold.user, hold.deadline) == (user, deadline)
                    && self.all.has(deadline, seq)
                    && has(user)
                    && hold.req.is_none_or(has)
            };
            walk.wrong += u64::from(!hold_of(seq).is_some_and(is_right));
            walk.by_deadline = Some(*entry);
        }
        let behind = walk.by_hash.map_or(Bound::Unbounded, Bound::Excluded);
        for entry in self.by_hash.range((behind, Bound::Unbounded)) {
            left = left.checked_sub(1)?;
            let (hash, seq) = *entry;
            let is_right = |hold: Hold| hash == hold.user || Some(hash) == hold.req;
            walk.wrong += u64::from(!hold_of(seq).is_some_and(is_right));
            walk.by_hash = Some(*entry);
        }
        Some(walk.wrong + self.all.len().abs_diff(self.by_deadline.len()) as u64)
    }

    /// All holds, by deadline.
    pub(crate) fn all(&self) -> &Holds {
        &self.all
    }

    /// Adds a grant that is now held.
    pub(crate) fn insert(&mut self, hold: &Hold) {
        self.all.insert(hold.deadline, hold.seq);
        self.by_deadline.insert((hold.user, hold.deadline, hold.seq));
        self.by_hash.insert((hold.user, hold.seq));
        self.by_hash.extend(hold.req.map(|hash| (hash, hold.seq)));
    }

    /// Removes a grant that is no longer held, or that gets another deadline.
    pub(crate) fn remove(&mut self, hold: &Hold) {
        self.all.remove(hold.deadline, hold.seq);
        self.by_deadline.remove(&(hold.user, hold.deadline, hold.seq));
        self.by_hash.remove(&(hold.user, hold.seq));
        if let Some(hash) = hold.req {
            self.by_hash.remove(&(hash, hold.seq));
        }
    }

    /// Deadlines and seqs of holds due at `t` of users with this hash, earliest first.
    pub(crate) fn due_of(&self, user: u64, t: u64) -> impl Iterator<Item = (u64, u32)> + '_ {
        let due = self.by_deadline.range((user, 0, 0)..=(user, t, u32::MAX));
        due.map(|(_, deadline, seq)| (*deadline, *seq))
    }

    /// At most `most` seqs of holds with this hash of a user or of a request id, newest first.
    pub(crate) fn seqs_of(&self, hash: u64, most: u32) -> impl Iterator<Item = u64> + '_ {
        let seqs = self.by_hash.range((hash, 0)..=(hash, most)).rev();
        seqs.map(|(_, seq)| u64::from(*seq))
    }

    /// Approximate bytes of heap in use.
    pub(crate) fn heap_bytes(&self) -> usize {
        let trees = [self.by_deadline.len(), self.by_hash.len()].into_iter().zip(NODE_BYTES);
        let trees = trees.map(|(len, node_bytes)| tree_bytes(len, node_bytes));
        self.all.heap_bytes() + trees.sum::<usize>()
    }
}
