//! Append-only memory, and reading and writing bytes in it.

use core::ops::Range;

use crate::model::limits::PAGE_BYTES;

/// Append-only pages of many small records.
///
/// Records follow each other in pages of fixed size. Records are never moved or copied when more
/// come, so growing is cheap. A fork copies only the pages written last, and freeing is a few large
/// frees.
#[derive(Clone, Debug, Default)]
pub struct Pages {
    pages: Vec<Vec<u8>>,
}

impl Pages {
    /// The position of the next record and the page to append it to, which has `room` bytes left.
    /// `room` is at most a page.
    pub fn open(&mut self, room: usize) -> (u64, &mut Vec<u8>) {
        let is_open = |page: &Vec<u8>| page.len() + room <= PAGE_BYTES;
        if !self.pages.last().is_some_and(is_open) {
            // Only the first page grows step by step, so that a small sale stays small.
            let bytes = if self.pages.is_empty() { PAGE_BYTES / 128 } else { PAGE_BYTES };
            self.pages.push(Vec::with_capacity(bytes));
        }
        let number = self.pages.len() - 1;
        let page = &mut self.pages[number];
        ((number * PAGE_BYTES + page.len()) as u64, page)
    }

    /// The bytes from `offset` to the end of its page.
    #[inline]
    pub fn get(&self, offset: u64) -> Option<&[u8]> {
        let page = self.pages.get((offset / PAGE_BYTES as u64) as usize)?;
        page.get((offset % PAGE_BYTES as u64) as usize..)
    }

    /// Like [`Pages::get`], for changing a record in place.
    pub fn get_mut(&mut self, offset: u64) -> Option<&mut [u8]> {
        let page = self.pages.get_mut((offset / PAGE_BYTES as u64) as usize)?;
        page.get_mut((offset % PAGE_BYTES as u64) as usize..)
    }

    /// The pages, for a defragmenter that moves them.
    pub fn blocks_mut(&mut self) -> impl Iterator<Item = &mut Vec<u8>> {
        self.pages.iter_mut()
    }

    /// Frees up to `blocks` pages. False when none is left.
    pub fn free_some(&mut self, blocks: usize) -> bool {
        self.pages.truncate(self.pages.len().saturating_sub(blocks));
        !self.pages.is_empty()
    }

    /// Bytes of heap in use.
    pub fn heap_bytes(&self) -> usize {
        let pages: usize = self.pages.iter().map(Vec::capacity).sum();
        pages + self.pages.capacity() * size_of::<Vec<u8>>()
    }

    /// Number of heap blocks: the cost of freeing the pages.
    pub fn heap_blocks(&self) -> usize {
        self.pages.len()
    }
}

/// Appends `value` in LEB128: seven bits a byte, low bits first.
pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends `before` and then a number as decimal text. Returns the range of its digits.
#[inline]
pub fn put_number(
    out: &mut Vec<u8>,
    before: &'static str,
    number: impl itoa::Integer,
) -> Range<usize> {
    out.extend_from_slice(before.as_bytes());
    let start = out.len();
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
    start..out.len()
}

/// A bounded reader: every step returns `None` instead of reading past the end.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Reads `bytes` from their beginning.
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader { rest: bytes }
    }

    /// Bytes not yet read.
    pub fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// Whether everything was read.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next byte.
    #[inline]
    pub fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    /// The next `len` bytes.
    #[inline]
    pub fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        if len > self.rest.len() {
            return None;
        }
        let (head, rest) = self.rest.split_at(len);
        self.rest = rest;
        Some(head)
    }

    /// The next `N` bytes as an array.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    /// The next LEB128 integer; `None` also if it needs more than 64 bits.
    #[inline]
    pub fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return None;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }
}

/// Bytes of a B-tree of `len` entries with nodes of `node_bytes`: up to eleven entries take one
/// node, more entries fill nodes to about two thirds.
pub(crate) fn tree_bytes(len: usize, node_bytes: usize) -> usize {
    match len {
        0 => 0,
        1..=11 => node_bytes,
        _ => len * node_bytes / 7,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_round_trip_at_every_edge() {
        for shift in 0..64 {
            for value in [(1u64 << shift) - 1, 1 << shift, u64::MAX >> shift] {
                let mut out = Vec::new();
                put_varint(&mut out, value);
                let mut reader = Reader::new(&out);
                assert_eq!(reader.varint(), Some(value));
                assert!(reader.is_empty());
                assert_eq!(Reader::new(&out[..out.len() - 1]).varint(), None);
            }
        }
    }

    #[test]
    fn a_varint_has_64_bits_at_the_most() {
        for (first, last, value) in [
            (0xff, 1, Some(u64::MAX)),
            (0x80, 0, Some(0)),
            (0x80, 1, Some(1 << 63)),
            (0x80, 2, None),
            (0xff, 0x7f, None),
            (0x80, 0x81, None),
        ] {
            let bytes = [[first; 9].as_slice(), &[last, 0]].concat();
            assert_eq!(Reader::new(&bytes).varint(), value, "{first} {last}");
        }
    }

    /// Pages are filled to the last byte; only the first page grows step by step.
    #[test]
    fn pages_are_filled_to_the_end() {
        let mut pages = Pages::default();
        assert_eq!((pages.heap_bytes(), pages.heap_blocks()), (0, 0));
        for (length, expected) in [(4, 0), (PAGE_BYTES - 5, 4), (1, PAGE_BYTES - 1)] {
            let (offset, page) = pages.open(length);
            assert_eq!(offset, expected as u64);
            page.resize(page.len() + length, length as u8);
        }
        let (offset, page) = pages.open(1);
        assert_eq!((offset, page.capacity()), (PAGE_BYTES as u64, PAGE_BYTES));
        page.push(9);
        let last = PAGE_BYTES as u64 - 1;
        for (offset, expected) in [(3, Some(4)), (last, Some(1)), (last + 1, Some(9))] {
            let length = if offset == 3 { PAGE_BYTES - 3 } else { 1 };
            assert_eq!(
                pages.get(offset).map(|it| (it[0], it.len())),
                expected.map(|it| (it, length))
            );
            assert_eq!(pages.get_mut(offset).map(|it| it.len()), Some(length));
        }
        assert!(pages.get(last + 3).is_none() && pages.get_mut(last + 3).is_none());
        let bytes: usize = pages.blocks_mut().map(|page| page.capacity()).sum();
        assert!(bytes >= 2 * PAGE_BYTES);
        let headers = pages.pages.capacity() * size_of::<Vec<u8>>();
        assert_eq!(pages.heap_bytes(), bytes + headers);
        assert_eq!(pages.heap_blocks(), 2);
        let mut free_some = |blocks| (pages.free_some(blocks), pages.heap_blocks());
        assert_eq!([free_some(1), free_some(2), free_some(1)], [(true, 1), (false, 0), (false, 0)]);
        let small = Pages::default().open(1).1.capacity();
        assert_eq!(small, PAGE_BYTES / 128);
    }

    #[test]
    fn a_tree_is_one_node_or_nodes_that_are_two_thirds_full() {
        let bytes = [0, 1, 11, 12, 700].map(|len| tree_bytes(len, 100));
        assert_eq!(bytes, [0, 100, 100, 171, 10_000]);
    }

    #[test]
    fn a_reader_takes_no_more_than_there_is() {
        let mut reader = Reader::new(&[1, 2, 3]);
        assert_eq!((reader.take(4), reader.remaining(), reader.is_empty()), (None, 3, false));
        assert_eq!(reader.take(2), Some(&[1, 2][..]));
        assert_eq!((reader.array::<2>(), reader.array::<1>()), (None, Some([3])));
        assert_eq!((reader.byte(), reader.take(0), reader.is_empty()), (None, Some(&[][..]), true));
    }

    #[test]
    fn an_overlong_varint_is_refused() {
        assert_eq!(Reader::new(&[0xff; 10]).varint(), None);
        assert_eq!(Reader::new(&[0x80; 11]).varint(), None);
    }
}
