//! The held grants of a sale that repeats, whatever round they are of.
//!
//! Each round has a ledger of its own, and very many are kept while each has a held grant. What is
//! asked of all of them at once is answered here, without a look into each: what is due next, what
//! a user has, which grant a request id led to.

use std::collections::BTreeSet;
use std::ops::Bound;

use crate::ledger::Holds;
use crate::memory::tree_bytes;

/// Bytes of one node of a tree of users' deadlines, and of one of hashes: eleven entries and a
/// head.
const NODE_BYTES: [usize; 2] = [320, 192];

/// A held grant, and what it is found by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hold {
    pub seq: u32,
    /// Unix ms.
    pub deadline: u64,
    /// Hash of its user.
    pub user: u64,
    /// Hash of its request id, if it has one.
    pub req: Option<u64>,
}

/// See the module's comment. The hashes are those of [`Ledger::hash_of`]; the caller compares who
/// was found.
///
/// [`Ledger::hash_of`]: crate::ledger::Ledger::hash_of
#[derive(Clone, Debug, Default)]
pub(crate) struct Held {
    /// All of them, by deadline.
    all: Holds,
    /// Hash of the user, deadline and seq of each.
    by_deadline: BTreeSet<(u64, u64, u32)>,
    /// Hash of the user and seq of each, and hash of the request id and seq.
    by_hash: BTreeSet<(u64, u32)>,
}

/// How far a recount has come; entries may come and go meanwhile.
#[derive(Clone, Debug, Default)]
pub(crate) struct HeldRecount {
    /// The last entries that were looked at.
    by_deadline: Option<(u64, u64, u32)>,
    by_hash: Option<(u64, u32)>,
    /// Entries that are not those of a held grant, or don't lead to it in all ways.
    wrong: u64,
}

impl Held {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.by_deadline.len()
    }

    /// Looks at `most` entries further. `hold_of` finds the grant of a seq, if it is held. Answers
    /// how many entries are wrong, once it has looked at all.
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

    /// All of them, by deadline.
    pub(crate) fn all(&self) -> &Holds {
        &self.all
    }

    /// Adds a grant that is held from now on.
    pub(crate) fn insert(&mut self, hold: &Hold) {
        self.all.insert(hold.deadline, hold.seq);
        self.by_deadline.insert((hold.user, hold.deadline, hold.seq));
        self.by_hash.insert((hold.user, hold.seq));
        self.by_hash.extend(hold.req.map(|hash| (hash, hold.seq)));
    }

    /// Takes out a grant that is held no more, or until another moment.
    pub(crate) fn remove(&mut self, hold: &Hold) {
        self.all.remove(hold.deadline, hold.seq);
        self.by_deadline.remove(&(hold.user, hold.deadline, hold.seq));
        self.by_hash.remove(&(hold.user, hold.seq));
        if let Some(hash) = hold.req {
            self.by_hash.remove(&(hash, hold.seq));
        }
    }

    /// Deadlines and seqs of what is due at `t` of users with this hash, the earliest first.
    pub(crate) fn due_of(&self, user: u64, t: u64) -> impl Iterator<Item = (u64, u32)> + '_ {
        let due = self.by_deadline.range((user, 0, 0)..=(user, t, u32::MAX));
        due.map(|(_, deadline, seq)| (*deadline, *seq))
    }

    /// Seqs, up to `most`, of what is held under this hash of a user or of a request id, the newest
    /// first.
    pub(crate) fn seqs_of(&self, hash: u64, most: u32) -> impl Iterator<Item = u64> + '_ {
        let seqs = self.by_hash.range((hash, 0)..=(hash, most)).rev();
        seqs.map(|(_, seq)| u64::from(*seq))
    }

    /// Bytes of heap in use, about.
    pub(crate) fn heap_bytes(&self) -> usize {
        let trees = [self.by_deadline.len(), self.by_hash.len()].into_iter().zip(NODE_BYTES);
        let trees = trees.map(|(len, node_bytes)| tree_bytes(len, node_bytes));
        self.all.heap_bytes() + trees.sum::<usize>()
    }
}
