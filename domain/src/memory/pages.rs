//! Append-only memory for many small records.
//!
//! Records lie one behind the other in pages of fixed size. They are never moved or copied when
//! more come, so growing is cheap, a fork copies only the pages written last and freeing is a few
//! large frees.

use crate::model::limits::PAGE_BYTES;

/// Pages of records.
#[derive(Clone, Debug, Default)]
pub struct Pages {
    pages: Vec<Vec<u8>>,
}

impl Pages {
    /// The place of the next record, and the page to append it to, which has `room` bytes left.
    /// `room` is at most a page.
    pub fn open(&mut self, room: usize) -> (u64, &mut Vec<u8>) {
        let is_open = |page: &Vec<u8>| page.len() + room <= PAGE_BYTES;
        if !self.pages.last().is_some_and(is_open) {
            // Only the first page grows step by step: a small sale stays small.
            let bytes = if self.pages.is_empty() { PAGE_BYTES / 128 } else { PAGE_BYTES };
            self.pages.push(Vec::with_capacity(bytes));
        }
        let number = self.pages.len() - 1;
        let page = &mut self.pages[number];
        ((number * PAGE_BYTES + page.len()) as u64, page)
    }

    /// The bytes from `place` on to the end of its page.
    #[inline]
    pub fn get(&self, place: u64) -> Option<&[u8]> {
        let page = self.pages.get((place / PAGE_BYTES as u64) as usize)?;
        page.get((place % PAGE_BYTES as u64) as usize..)
    }

    /// Like [`Pages::get`], to change a record in place.
    pub fn get_mut(&mut self, place: u64) -> Option<&mut [u8]> {
        let page = self.pages.get_mut((place / PAGE_BYTES as u64) as usize)?;
        page.get_mut((place % PAGE_BYTES as u64) as usize..)
    }

    /// The pages themselves, for a defragmenter that moves them.
    pub fn blocks_mut(&mut self) -> impl Iterator<Item = &mut Vec<u8>> {
        self.pages.iter_mut()
    }

    /// Gives back up to `blocks` pages. False when none is left.
    pub fn shed(&mut self, blocks: usize) -> bool {
        self.pages.truncate(self.pages.len().saturating_sub(blocks));
        !self.pages.is_empty()
    }

    /// Bytes of heap in use.
    pub fn heap_bytes(&self) -> usize {
        let pages: usize = self.pages.iter().map(Vec::capacity).sum();
        pages + self.pages.capacity() * size_of::<Vec<u8>>()
    }

    /// Blocks of heap in use: what freeing costs.
    pub fn heap_blocks(&self) -> usize {
        self.pages.len()
    }
}
