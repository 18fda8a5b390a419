//! The numbers of a sale's units: the free ones, those that each grant has or had last, and the
//! owner of each.
//!
//! This file knows nothing of states and rules: callers say which grants are live.

use core::mem::replace;

use smallvec::SmallVec;

use crate::ledger::Block;
use crate::memory::Pages;
use crate::model::limits::{UNITS_MAX, UNITS_PER_GRANT_MAX};
use crate::units::{Free, Units};

mod tests;

/// Numbers of a grant, rising.
pub type UnitList = SmallVec<[u32; 4]>;

/// The index keeps the position of one grant of this many; the others are found by reading on.
const GRANTS_PER_OFFSET: u64 = 16;

/// Numbers whose owners are kept in one block. A block is made when its first number is granted.
const OWNERS_PER_BLOCK: u32 = 4096;

/// Marks the last number of a grant.
const LAST: u32 = 1 << 31;

/// Marks a number that its grant no longer has, while the grant keeps others.
const GIVEN_BACK: u32 = 1 << 30;

const _: () = assert!(UNITS_MAX < GIVEN_BACK as u64);

const NUMBER_BYTES: usize = size_of::<u32>();

/// The numbers of a sale's units and grants.
///
/// Memory: 2 bits a number, 4 bytes for each of a block of numbers with a grant, and 4 bytes for
/// each number that was ever granted. A question about one number or grant takes O(log N) steps.
#[derive(Clone, Debug, Default)]
pub struct Numbers {
    units: Units,
    /// The numbers that grants had at first, in seq order, 4 bytes each, little-endian, with their
    /// marks.
    pages: Pages,
    /// Position in the pages of each grant whose seq minus 1 is a multiple of
    /// [`GRANTS_PER_OFFSET`]. The grants up to the next one are in the same page.
    offsets: Vec<u64>,
    /// Grants so far.
    grants: u64,
    /// Seq of the live grant that has a number, 0 if it is free. Number 1 comes first.
    owners: Vec<Vec<u32>>,
}

impl Numbers {
    /// The numbers 1 to `len`, all free, and no grant.
    pub fn new(len: u32) -> Numbers {
        let mut numbers = Numbers::default();
        numbers.grow(len);
        numbers
    }

    /// The free and the taken numbers.
    pub fn units(&self) -> &Units {
        &self.units
    }

    /// Adds `more` free numbers behind the last.
    pub fn grow(&mut self, more: u32) {
        self.units.grow(more);
        let blocks = self.units.len().div_ceil(OWNERS_PER_BLOCK) as usize;
        self.owners.resize_with(blocks, Vec::new);
    }

    /// Seq of the live grant that has a number; none if the number is free or does not exist.
    pub fn owner(&self, unit: u32) -> Option<u64> {
        let (block, at) = owner_at(unit)?;
        let seq = self.owners.get(block)?.get(at).copied()?;
        (seq != 0).then_some(seq.into())
    }

    /// The numbers that a grant has or had last; none of a grant that is not there.
    pub fn of(&self, seq: u64) -> UnitList {
        self.marked(seq).filter(|number| number & GIVEN_BACK == 0).map(unit_in).collect()
    }

    /// The numbers that a grant had at first.
    pub fn first_of(&self, seq: u64) -> UnitList {
        self.marked(seq).map(unit_in).collect()
    }

    /// The first numbers of a grant, with their marks.
    fn marked(&self, seq: u64) -> impl Iterator<Item = u32> + '_ {
        let bytes = self.offset(seq).and_then(|offset| self.pages.get(offset)).unwrap_or_default();
        let mut is_over = false;
        let numbers = bytes.chunks_exact(NUMBER_BYTES).map(number_in);
        numbers.take_while(move |number| !replace(&mut is_over, number & LAST != 0))
    }

    /// Position of a grant's first number in the pages.
    fn offset(&self, seq: u64) -> Option<u64> {
        let before = seq.checked_sub(1).filter(|_| seq <= self.grants)?;
        let offset = *self.offsets.get((before / GRANTS_PER_OFFSET) as usize)?;
        let Some(others) = (before % GRANTS_PER_OFFSET).checked_sub(1) else { return Some(offset) };
        let numbers = self.pages.get(offset)?.chunks_exact(NUMBER_BYTES).map(number_in);
        let mut ends = numbers.zip(1..).filter(|(number, _)| number & LAST != 0);
        let (_, read) = ends.nth(others as usize)?;
        Some(offset + read * NUMBER_BYTES as u64)
    }

    /// Adds the next grant. The numbers of a live grant must be free.
    pub fn grant(&mut self, units: &[u32], is_live: bool) {
        let room = match self.grants % GRANTS_PER_OFFSET {
            // Grants of one offset are in one page.
            0 => GRANTS_PER_OFFSET as usize * UNITS_PER_GRANT_MAX * NUMBER_BYTES,
            _ => 0,
        };
        let (offset, page) = self.pages.open(room);
        if room > 0 {
            self.offsets.push(offset);
        }
        let last = units.len().saturating_sub(1);
        for (i, unit) in units.iter().enumerate() {
            let number = if i == last { unit | LAST } else { *unit };
            page.extend_from_slice(&number.to_le_bytes());
        }
        self.grants += 1;
        if is_live {
            self.own(units, self.grants as u32);
        }
    }

    /// Makes a grant live again, which takes its numbers, or ends it, which frees them.
    pub fn set_live(&mut self, seq: u64, is_live: bool) {
        let owner = if is_live { seq as u32 } else { 0 };
        self.own(&self.of(seq), owner);
    }

    /// Leaves a grant that is not live with `units`, some of its first numbers.
    pub fn keep(&mut self, seq: u64, units: &[u32]) {
        let first = self.marked(seq).count() * NUMBER_BYTES;
        let offset = self.offset(seq);
        let bytes = offset.and_then(|offset| self.pages.get_mut(offset)?.get_mut(..first));
        for bytes in bytes.unwrap_or_default().chunks_exact_mut(NUMBER_BYTES) {
            let number = number_in(bytes) & !GIVEN_BACK;
            let is_kept = units.contains(&unit_in(number));
            let number = if is_kept { number } else { number | GIVEN_BACK };
            bytes.copy_from_slice(&number.to_le_bytes());
        }
    }

    /// Makes a grant live with `units`, some of its first numbers, and frees its other numbers.
    pub fn renumber(&mut self, seq: u64, units: &[u32], was_live: bool) {
        if was_live {
            self.set_live(seq, false);
        }
        self.keep(seq, units);
        self.set_live(seq, true);
    }

    /// Gives numbers to a grant, or frees them if `owner` is 0.
    fn own(&mut self, units: &[u32], owner: u32) {
        let done = match owner {
            0 => self.units.give_back(units),
            _ => self.units.take(units),
        };
        debug_assert_eq!(done, Ok(()), "planning has looked");
        for unit in units {
            let Some((block, at)) = owner_at(*unit) else { continue };
            let Some(block) = self.owners.get_mut(block) else { continue };
            if block.is_empty() {
                block.resize(OWNERS_PER_BLOCK as usize, 0);
            }
            block[at] = owner;
        }
    }

    /// Bytes of heap in use.
    pub fn heap_bytes(&self) -> usize {
        let owners: usize = self.owners.iter().map(|block| block.capacity() * NUMBER_BYTES).sum();
        self.units.heap_bytes()
            + self.pages.heap_bytes()
            + self.offsets.capacity() * size_of::<u64>()
            + self.owners.capacity() * size_of::<Vec<u32>>()
            + owners
    }

    /// Number of heap blocks: the cost of freeing them.
    pub fn heap_blocks(&self) -> usize {
        self.pages.heap_blocks() + self.owners.len()
    }

    /// The large blocks of memory, for a defragmenter that moves them.
    pub fn blocks_mut(&mut self) -> impl Iterator<Item = Block<'_>> {
        let owners = self.owners.iter_mut().filter(|block| !block.is_empty());
        self.pages.blocks_mut().map(Block::Page).chain(owners.map(Block::Offsets))
    }
}

/// A number with its marks.
fn number_in(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

/// A number without its marks.
fn unit_in(number: u32) -> u32 {
    number & !(LAST | GIVEN_BACK)
}

/// Block and index of a number's owner.
fn owner_at(unit: u32) -> Option<(usize, usize)> {
    let at = unit.checked_sub(1)?;
    Some(((at / OWNERS_PER_BLOCK) as usize, (at % OWNERS_PER_BLOCK) as usize))
}
