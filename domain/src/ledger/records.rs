//! The grants as they lie in memory, found by seq.
//!
//! Records are appended to pages. A chunk of 4,096 grants keeps the places of its records and the
//! time that theirs count from.

use super::Block;
use crate::ledger::record::{self, Record, RECORD_BYTES_MAX};
use crate::memory::Pages;
use crate::model::limits::GRANTS_PER_CHUNK;

#[derive(Clone, Debug)]
struct Chunk {
    /// T of its first grant; the others count from it.
    base_at: u64,
    /// Place of its first record.
    base_place: u64,
    /// Places of its records, counted from `base_place`.
    places: Vec<u32>,
}

impl Chunk {
    /// The place in the pages that a place of its own stands for.
    #[inline]
    fn in_pages(&self, place: u32) -> u64 {
        self.base_place + u64::from(place)
    }
}

/// The chunk of the grant that comes after so many others, and which one in it it is.
#[inline]
fn position(grants: usize) -> (usize, usize) {
    (grants / GRANTS_PER_CHUNK, grants % GRANTS_PER_CHUNK)
}

/// Begins a chunk with a grant of `base_at` whose record is at `base_place`.
fn begin_chunk(chunks: &mut Vec<Chunk>, base_at: u64, base_place: u64) {
    let places = if chunks.is_empty() { 16 } else { GRANTS_PER_CHUNK };
    chunks.push(Chunk { base_at, base_place, places: Vec::with_capacity(places) });
}

/// The records of a ledger. See the module's comment.
#[derive(Clone, Debug)]
pub(super) struct Records {
    /// Grants before the first one: those of earlier rounds.
    base: u32,
    /// Seq of the last one, or `base`.
    len: u32,
    pages: Pages,
    chunks: Vec<Chunk>,
}

impl Records {
    /// No records yet: the first one comes after `base` earlier grants.
    pub(super) fn starting(base: u32) -> Records {
        Records { base, len: base, pages: Pages::default(), chunks: Vec::new() }
    }

    /// Grants before the first one.
    pub(super) fn base(&self) -> u32 {
        self.base
    }

    /// Seq of the last one, or the base.
    pub(super) fn len(&self) -> u32 {
        self.len
    }

    /// The chunk of a grant, and where in the pages its record begins.
    #[inline]
    fn find(&self, seq: u32) -> Option<(&Chunk, u64)> {
        let (number, within) = position((seq.checked_sub(self.base)? as usize).checked_sub(1)?);
        let chunk = self.chunks.get(number)?;
        Some((chunk, chunk.in_pages(*chunk.places.get(within)?)))
    }

    /// Where in the pages a grant's record begins.
    pub(super) fn place(&self, seq: u32) -> Option<u64> {
        self.find(seq).map(|(_, place)| place)
    }

    /// A grant's record, and what follows it in its page; and the base of its time.
    #[inline]
    pub(super) fn get(&self, seq: u32) -> Option<(&[u8], u64)> {
        let (chunk, place) = self.find(seq)?;
        Some((self.pages.get(place)?, chunk.base_at))
    }

    /// The same, to change the record in place.
    pub(super) fn get_mut(&mut self, seq: u32) -> Option<&mut [u8]> {
        let place = self.place(seq)?;
        self.pages.get_mut(place)
    }

    /// The records from the grant `first` on, each with the base of its time.
    pub(super) fn iter_from(&self, first: u64) -> impl Iterator<Item = (&[u8], u64)> {
        let skipped = first.saturating_sub(u64::from(self.base) + 1) as usize;
        let (number, mut within) = position(skipped);
        let chunks = self.chunks.get(number..).unwrap_or_default();
        chunks.iter().flat_map(move |chunk| {
            let places = chunk.places.get(core::mem::take(&mut within)..).unwrap_or_default();
            let bytes_at = |place: u64| Some((self.pages.get(place)?, chunk.base_at));
            places.iter().map_while(move |place| bytes_at(chunk.in_pages(*place)))
        })
    }

    /// Appends a record and returns its seq.
    #[inline(always)]
    pub(super) fn append(&mut self, record: &Record<'_>) -> u32 {
        let (place, page) = self.pages.open(RECORD_BYTES_MAX);
        if self.chunks.last().is_none_or(|chunk| chunk.places.len() == GRANTS_PER_CHUNK) {
            begin_chunk(&mut self.chunks, record.at, place);
        }
        let last = self.chunks.len() - 1;
        let chunk = &mut self.chunks[last];
        chunk.places.push((place - chunk.base_place) as u32);
        record::write(page, record, chunk.base_at);
        self.len += 1;
        self.len
    }

    /// Bytes of heap in use.
    pub(super) fn heap_bytes(&self) -> usize {
        let places: usize = self.chunks.iter().map(|chunk| chunk.places.capacity() * 4).sum();
        self.pages.heap_bytes() + places + self.chunks.capacity() * size_of::<Chunk>()
    }

    /// Blocks of heap in use: what freeing costs.
    pub(super) fn heap_blocks(&self) -> usize {
        self.pages.heap_blocks() + self.chunks.len()
    }

    /// The pages and the places in them, for a defragmenter that moves them.
    pub(super) fn blocks_mut(&mut self) -> impl Iterator<Item = Block<'_>> {
        let places = self.chunks.iter_mut().map(|chunk| Block::Places(&mut chunk.places));
        self.pages.blocks_mut().map(Block::Page).chain(places)
    }

    /// Gives back up to `blocks` blocks of each kind. False when none is left.
    pub(super) fn shed(&mut self, blocks: usize) -> bool {
        self.chunks.truncate(self.chunks.len().saturating_sub(blocks));
        self.pages.shed(blocks) | !self.chunks.is_empty()
    }
}
