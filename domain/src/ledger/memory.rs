//! The memory of a ledger: how much it is, where it lies, and giving it back.

use super::accounts::Account;
use super::Ledger;

/// A large block of the heap, lent to a defragmenter that moves it.
#[derive(Debug)]
pub enum Block<'a> {
    Page(&'a mut Vec<u8>),
    Places(&'a mut Vec<u32>),
    Accounts(&'a mut Vec<Account>),
    Slots(&'a mut Box<[u64]>),
}

impl Ledger {
    /// Bytes of heap in use.
    pub fn heap_bytes(&self) -> usize {
        self.records.heap_bytes()
            + self.accounts.heap_bytes()
            + self.epochs.capacity() * size_of::<(u32, u64)>()
            + self.holds.heap_bytes()
            + self.users.heap_bytes()
            + self.reqs.heap_bytes()
    }

    /// Blocks of heap in use: what freeing costs.
    pub fn heap_blocks(&self) -> usize {
        self.records.heap_blocks()
            + self.accounts.heap_blocks()
            + self.users.heap_blocks()
            + self.reqs.heap_blocks()
    }

    /// The blocks that hold the bulk of the memory, for a defragmenter that moves them.
    pub fn blocks_mut(&mut self) -> impl Iterator<Item = Block<'_>> {
        let slots = self.users.blocks_mut().chain(self.reqs.blocks_mut()).map(Block::Slots);
        self.records.blocks_mut().chain(self.accounts.blocks_mut()).chain(slots)
    }

    /// The words of the indexes, which writing the grants down does not look at.
    pub fn slots_mut(&mut self) -> impl Iterator<Item = &mut [u64]> {
        self.users.blocks_mut().chain(self.reqs.blocks_mut()).map(|slots| &mut **slots)
    }

    /// Gives back up to `blocks` blocks of each kind of a ledger that nobody looks into any more.
    /// False when none is left.
    pub fn shed(&mut self, blocks: usize) -> bool {
        let indexes = self.users.shed(blocks) | self.reqs.shed(blocks);
        self.records.shed(blocks) | self.accounts.shed() | indexes
    }
}
