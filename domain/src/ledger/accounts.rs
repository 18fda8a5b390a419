//! The sums of the users with more than one grant, and the deadlines of what is held.

use core::cmp::Reverse;
use std::collections::BTreeSet;

use super::{Block, Holding};
use crate::memory::tree_bytes;
use crate::model::outcome::State;

/// Bytes of one node of the tree of holds: eleven entries and a head.
const NODE_BYTES: usize = 192;

/// The held grants of a sale or of a user, by deadline, the earliest first.
///
/// An ordered set of (deadline, seq): adding, moving and removing are O(log n) and exact, so
/// EXTEND and CONFIRM leave nothing behind that would have to be skipped or swept up later. The
/// latest deadline lies first: a node is searched from there, and a new hold mostly is the latest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holds {
    latest_first: BTreeSet<Reverse<(u64, u32)>>,
}

impl Holds {
    /// Adds a hold.
    pub fn insert(&mut self, deadline: u64, seq: u32) {
        self.latest_first.insert(Reverse((deadline, seq)));
    }

    /// Removes a hold that was confirmed, given back or moved.
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
        // Most sales hold nothing, and asking a tree for its first entry is a search.
        !self.is_empty() && self.next_deadline().is_some_and(|at| at <= t)
    }

    /// Deadlines and seqs of the holds that are due at `t`, earliest deadline first. A hold lives
    /// while T < deadline.
    pub fn due(&self, t: u64) -> impl Iterator<Item = (u64, u32)> + '_ {
        let due = self.latest_first.range(Reverse((t, u32::MAX))..);
        due.rev().map(|Reverse(hold)| *hold)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.latest_first.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.latest_first.is_empty()
    }

    /// Bytes of heap in use, about.
    pub fn heap_bytes(&self) -> usize {
        tree_bytes(self.len(), NODE_BYTES)
    }
}

/// Accounts in one block.
const ACCOUNTS_PER_BLOCK: usize = 1024;

/// Bytes of one node of an account's set of seqs.
const LIVE_NODE_BYTES: usize = 56;

/// The sums of a user with more than one grant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    live_units: u64,
    newest: u32,
    /// Seqs of their live grants.
    live: BTreeSet<u32>,
    /// Those of them that are held.
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

    /// Their held grants.
    pub(super) fn holds(&self) -> &Holds {
        &self.holds
    }

    /// Takes in a grant as it stands.
    pub(super) fn add(&mut self, seq: u32, qty: u64, state: State, held_until: u64) {
        self.newest = self.newest.max(seq);
        if state.is_live() && self.live.insert(seq) {
            self.live_units = self.live_units.saturating_add(qty);
        }
        if state == State::Held {
            self.holds.insert(held_until, seq);
        }
    }

    /// Lets go of a grant as it stood.
    pub(super) fn remove(&mut self, seq: u32, qty: u64, state: State, held_until: u64) {
        if state == State::Held {
            self.holds.remove(held_until, seq);
        }
        if self.live.remove(&seq) {
            self.live_units = self.live_units.saturating_sub(qty);
        }
    }

    /// Bytes of heap in use, about.
    fn heap_bytes(&self) -> usize {
        tree_bytes(self.live.len(), LIVE_NODE_BYTES) + self.holds.heap_bytes()
    }
}

/// Accounts by number, in blocks that are never moved.
#[derive(Clone, Debug, Default)]
pub(super) struct Accounts {
    blocks: Vec<Vec<Account>>,
    /// Bytes that the accounts have on the heap.
    inner_bytes: usize,
}

/// The block of an account, and which one in it it is.
fn position(number: u32) -> (usize, usize) {
    (number as usize / ACCOUNTS_PER_BLOCK, number as usize % ACCOUNTS_PER_BLOCK)
}

impl Accounts {
    /// The account of this number, which has been opened.
    pub(super) fn get(&self, number: u32) -> &Account {
        let (block, within) = position(number);
        &self.blocks[block][within]
    }

    /// Changes an account that has been opened.
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

    /// Blocks of heap in use, those of single accounts aside: what freeing costs.
    pub(super) fn heap_blocks(&self) -> usize {
        self.blocks.len()
    }

    /// The blocks, for a defragmenter that moves them.
    pub(super) fn blocks_mut(&mut self) -> impl Iterator<Item = Block<'_>> {
        self.blocks.iter_mut().map(Block::Accounts)
    }

    /// Gives back a block: many small frees. False when none is left.
    pub(super) fn shed(&mut self) -> bool {
        self.blocks.truncate(self.blocks.len().saturating_sub(1));
        !self.blocks.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_numbered_and_counted() {
        let mut accounts = Accounts::default();
        let bytes = accounts.heap_bytes();
        for number in 0..2 * ACCOUNTS_PER_BLOCK as u32 + 5 {
            let mut account = Account::default();
            account.add(number + 1, 3, State::Held, 9);
            assert_eq!(accounts.open(account), number);
        }
        for number in [0, 1, 1023, 1024, 1025, 2047, 2048, 2052] {
            assert_eq!(accounts.get(number).newest(), number + 1);
        }
        let rooms: usize = accounts.blocks.iter().map(Vec::capacity).sum();
        assert!((2053..=3 * ACCOUNTS_PER_BLOCK).contains(&rooms));
        let inner = 2053 * (LIVE_NODE_BYTES + NODE_BYTES);
        let lists = rooms * size_of::<Account>() + accounts.blocks.capacity() * 24;
        assert_eq!((bytes, accounts.heap_bytes()), (0, lists + inner));
        // What an account lets go of is not counted any more.
        accounts.change(1024, |account| account.remove(1025, 3, State::Held, 9));
        assert_eq!(accounts.heap_bytes(), lists + inner - LIVE_NODE_BYTES - NODE_BYTES);
        assert_eq!(accounts.get(1024).holding().live_units, 0);
        assert_eq!((accounts.heap_blocks(), accounts.blocks_mut().count()), (3, 3));
    }

    /// A hold lives while T < deadline.
    #[test]
    fn holds_are_due_from_their_deadline_on() {
        let mut holds = Holds::default();
        assert!(!holds.are_due(u64::MAX) && holds.is_empty());
        [(9, 2), (7, 5), (9, 1)].into_iter().for_each(|(at, seq)| holds.insert(at, seq));
        assert_eq!((holds.next_deadline(), holds.len()), (Some(7), 3));
        let due = |t| holds.due(t).collect::<Vec<_>>();
        assert_eq!((due(6), due(7), due(8)), (vec![], vec![(7, 5)], vec![(7, 5)]));
        assert_eq!((due(9), due(u64::MAX).len()), (vec![(7, 5), (9, 1), (9, 2)], 3));
        assert_eq!([6, 7, 8].map(|t| holds.are_due(t)), [false, true, true]);
        assert_eq!(holds.heap_bytes(), NODE_BYTES);
    }

    /// An account is many small frees: a ledger that nobody needs any more lets a block go at a
    /// time.
    #[test]
    fn blocks_are_given_back_one_by_one() {
        let mut accounts = Accounts::default();
        for _ in 0..=2 * ACCOUNTS_PER_BLOCK {
            accounts.open(Account::default());
        }
        let mut shed = || (accounts.shed(), accounts.heap_blocks());
        assert_eq!(
            [shed(), shed(), shed(), shed()],
            [(true, 2), (true, 1), (false, 0), (false, 0)]
        );
    }
}
