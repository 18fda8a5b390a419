//! Sums of users with more than one grant, and deadlines of holds.

use core::cmp::Reverse;
use std::collections::BTreeSet;

use super::{Block, Holding};
use crate::memory::tree_bytes;
use crate::model::outcome::State;

/// Bytes of one node of the tree of holds: eleven entries and a head.
pub(super) const NODE_BYTES: usize = 192;

/// The held grants of a sale or of a user, by deadline, earliest first.
///
/// An ordered set of (deadline, seq). Adding, moving and removing are O(log n) and exact, so EXTEND
/// and CONFIRM leave no entry behind. Entries are stored with the latest deadline first: a node is
/// searched from its start, and a new hold usually is the latest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holds {
    latest_first: BTreeSet<Reverse<(u64, u32)>>,
}

impl Holds {
    /// Adds a hold.
    pub fn insert(&mut self, deadline: u64, seq: u32) {
        self.latest_first.insert(Reverse((deadline, seq)));
    }

    /// Removes a hold that was confirmed, cancelled or extended.
    pub fn remove(&mut self, deadline: u64, seq: u32) {
        let was_there = self.latest_first.remove(&Reverse((deadline, seq)));
        debug_assert!(was_there, "a held grant has its deadline here");
    }

    /// The earliest deadline, Unix ms.
    pub fn next_deadline(&self) -> Option<u64> {
        self.latest_first.last().map(|Reverse((deadline, _))| *deadline)
    }

    /// Whether any hold is due at `t`.
    #[inline]
    pub fn are_due(&self, t: u64) -> bool {
        // Emptiness is checked first: most sales have no hold, and a tree's first entry takes a
        // search.
        !self.is_empty() && self.next_deadline().is_some_and(|at| at <= t)
    }

    /// Deadlines and seqs of the holds that are due at `t`, earliest deadline first. A hold lives
    /// while T < deadline.
    pub fn due(&self, t: u64) -> impl Iterator<Item = (u64, u32)> + '_ {
        let due = self.latest_first.range(Reverse((t, u32::MAX))..);
        due.rev().map(|Reverse(hold)| *hold)
    }

    /// Whether this hold is in the set.
    pub(crate) fn has(&self, deadline: u64, seq: u32) -> bool {
        self.latest_first.contains(&Reverse((deadline, seq)))
    }

    /// Number of holds.
    pub fn len(&self) -> usize {
        self.latest_first.len()
    }

    /// Whether there is no hold.
    pub fn is_empty(&self) -> bool {
        self.latest_first.is_empty()
    }

    /// Approximate bytes of heap in use.
    pub fn heap_bytes(&self) -> usize {
        tree_bytes(self.len(), NODE_BYTES)
    }
}

/// Accounts in one block.
pub(super) const ACCOUNTS_PER_BLOCK: usize = 1024;

/// Bytes of one node of an account's set of seqs.
pub(super) const LIVE_NODE_BYTES: usize = 56;

/// Most seqs in such a node.
const SEQS_PER_NODE: usize = 11;

/// The sums of a user with more than one grant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    live_units: u64,
    newest: u32,
    /// Seqs of their live grants.
    live: BTreeSet<u32>,
    /// Seqs of these that are held, by deadline.
    holds: Holds,
}

impl Account {
    pub(super) fn holding(&self) -> Holding {
        Holding {
            live_units: self.live_units,
            live_grants: self.live.len() as u32,
            newest: self.newest,
            newest_live: self.live.last().copied().unwrap_or(0),
        }
    }

    /// Seq of their newest grant.
    pub(super) fn newest(&self) -> u32 {
        self.newest
    }

    /// Seqs of their live grants.
    pub(super) fn live(&self) -> &BTreeSet<u32> {
        &self.live
    }

    /// The user's held grants.
    pub(super) fn holds(&self) -> &Holds {
        &self.holds
    }

    /// Adds a grant in its current state.
    pub(super) fn add(&mut self, seq: u32, qty: u64, state: State, deadline: u64) {
        self.newest = self.newest.max(seq);
        if state.is_live() && self.live.insert(seq) {
            self.live_units = self.live_units.saturating_add(qty);
        }
        if state == State::Held {
            self.holds.insert(deadline, seq);
        }
    }

    /// Removes a grant by its former state.
    pub(super) fn remove(&mut self, seq: u32, qty: u64, state: State, deadline: u64) {
        if state == State::Held {
            self.holds.remove(deadline, seq);
        }
        if self.live.remove(&seq) {
            self.live_units = self.live_units.saturating_sub(qty);
        }
        // An emptied tree keeps a node; a new tree has none.
        if self.live.is_empty() {
            self.live = BTreeSet::new();
        }
        if self.holds.is_empty() {
            self.holds = Holds::default();
        }
    }

    /// Approximate bytes of heap in use.
    fn heap_bytes(&self) -> usize {
        tree_bytes(self.live.len(), LIVE_NODE_BYTES) + self.holds.heap_bytes()
    }
}

/// Accounts by number, in blocks that are never moved.
#[derive(Clone, Debug, Default)]
pub(super) struct Accounts {
    pub(super) blocks: Vec<Vec<Account>>,
    /// Bytes that the accounts have on the heap.
    inner_bytes: usize,
}

/// The block of an account, and its index in the block.
fn position(number: u32) -> (usize, usize) {
    (number as usize / ACCOUNTS_PER_BLOCK, number as usize % ACCOUNTS_PER_BLOCK)
}

impl Accounts {
    /// The account of this number, which exists.
    pub(super) fn get(&self, number: u32) -> &Account {
        let (block, within) = position(number);
        &self.blocks[block][within]
    }

    /// The account of this number, if it exists.
    pub(super) fn find(&self, number: u32) -> Option<&Account> {
        let (block, within) = position(number);
        self.blocks.get(block)?.get(within)
    }

    /// Changes an existing account.
    pub(super) fn change(&mut self, number: u32, change: impl FnOnce(&mut Account)) {
        let (block, within) = position(number);
        let account = &mut self.blocks[block][within];
        self.inner_bytes -= account.heap_bytes();
        change(account);
        self.inner_bytes += account.heap_bytes();
    }

    /// Opens an account and returns its number.
    pub(super) fn open(&mut self, account: Account) -> u32 {
        if self.blocks.last().is_none_or(|block| block.len() == ACCOUNTS_PER_BLOCK) {
            let room = if self.blocks.is_empty() { 4 } else { ACCOUNTS_PER_BLOCK };
            self.blocks.push(Vec::with_capacity(room));
        }
        let last = self.blocks.len() - 1;
        let block = &mut self.blocks[last];
        self.inner_bytes += account.heap_bytes();
        block.push(account);
        (last * ACCOUNTS_PER_BLOCK + block.len() - 1) as u32
    }

    /// Bytes of heap in use.
    pub(super) fn heap_bytes(&self) -> usize {
        let accounts: usize = self.blocks.iter().map(Vec::capacity).sum();
        accounts * size_of::<Account>()
            + self.blocks.capacity() * size_of::<Vec<Account>>()
            + self.inner_bytes
    }

    /// Number of heap blocks, without those of single accounts: the cost of freeing them.
    pub(super) fn heap_blocks(&self) -> usize {
        self.blocks.len()
    }

    /// The blocks, for a defragmenter that moves them.
    pub(super) fn blocks_mut(&mut self) -> impl Iterator<Item = Block<'_>> {
        self.blocks.iter_mut().map(Block::Accounts)
    }

    /// Frees as many accounts as a block has: many small frees. False when none is left.
    pub(super) fn free_some(&mut self) -> bool {
        for _ in 0..ACCOUNTS_PER_BLOCK {
            let Some(block) = self.blocks.last_mut() else { return false };
            match block.last_mut() {
                // A user may have any number of live grants: about one node at a time.
                Some(Account { live, .. }) if live.len() > SEQS_PER_NODE => {
                    (0..SEQS_PER_NODE).for_each(|_| _ = live.pop_last());
                }
                _ => drop(block.pop()),
            }
            if block.is_empty() {
                self.blocks.pop();
            }
        }
        !self.blocks.is_empty()
    }
}
