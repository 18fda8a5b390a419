//! Records of grants in memory, found by seq.
//!
//! Records are appended to pages. A chunk of 4,096 grants keeps their positions and a base time. A
//! record is a head of a few bytes, then optional parts:
//!
//! ```text
//! flags  user length - 1  [deadline 6]  [prev 4]  user  [req length - 1  req  asked]  [qty]  at
//! ```
//! `flags` holds the state and marks the optional parts. Numbers of fixed width are little-endian
//! and can be changed in place; `qty` and `at` are varints. `at` is relative to the chunk's base
//! time, or an absolute varint if it is earlier. Only this process reads records: snapshots have
//! their own encoding.

use serde::{Deserialize, Serialize};

use super::Block;
use crate::memory::{put_varint, Pages, Reader};
use crate::model::limits::{GRANTS_PER_CHUNK, REQ_BYTES_MAX, USER_BYTES_MAX};
use crate::model::outcome::State;
use crate::model::wire;

const STATE_BITS: u8 = 0b0000_0111;
const HAS_QTY: u8 = 0b0000_1000;
const HAS_REQ: u8 = 0b0001_0000;
const HAS_DEADLINE: u8 = 0b0010_0000;
const HAS_PREV: u8 = 0b0100_0000;
const AT_IS_ABSOLUTE: u8 = 0b1000_0000;

/// States by their number in memory.
pub(super) const STATES: [State; 6] =
    [State::Held, State::Sold, State::Cancelled, State::Expired, State::Forfeited, State::Refunded];

/// Ways to ask by their number in memory.
pub(super) const ASKED: [Asked; 4] = [Asked::Exactly, Asked::UpTo, Asked::Either, Asked::Offered];

/// Longest record: head, deadline, prev, user, req and two varints.
pub const RECORD_BYTES_MAX: usize = 2 + 6 + 4 + USER_BYTES_MAX + 2 + REQ_BYTES_MAX + 10 + 10;

/// The form in which a request named its amount; a repeated request must match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Asked {
    /// QTY: the repeat must name an equal number.
    Exactly,
    /// UPTO: the number is not compared.
    UpTo,
    /// IMPORT: a GRAB's repeat may have asked either way.
    Either,
    /// QTY by a waiter: the grant was offered.
    Offered,
}

/// A request id and the form of the request's amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReqTag<'a> {
    /// The request id, 1 to 128 bytes.
    #[serde(with = "wire::req")]
    pub id: &'a [u8],
    /// The kind of amount that the GRAB asked for.
    pub asked: Asked,
}

/// A grant as stored in its record.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// The user's id, 1 to 256 bytes.
    pub user: &'a [u8],
    /// The request id, if it has one.
    pub req: Option<ReqTag<'a>>,
    /// Units.
    pub qty: u64,
    /// The state.
    pub state: State,
    /// Unix ms of the grant.
    pub at: u64,
    /// Deadline, Unix ms; 0 for a grant that was never held.
    pub deadline: u64,
    /// Seq of this user's previous grant; 0 if this is their first.
    pub prev: u32,
}

/// The user of the record at the start of `bytes`. A lookup compares it without reading the rest.
#[inline]
pub fn user(bytes: &[u8]) -> &[u8] {
    let (flags, len) = (bytes[0], usize::from(bytes[1]) + 1);
    let start = 2
        + if flags & HAS_DEADLINE != 0 { 6 } else { 0 }
        + if flags & HAS_PREV != 0 { 4 } else { 0 };
    &bytes[start..start + len]
}

/// Length of the ids, user and request id, of the record at the start of `bytes`.
#[inline]
pub fn ids_len(bytes: &[u8]) -> usize {
    let user = user(bytes);
    let len = match bytes[0] & HAS_REQ {
        0 => 0,
        _ => {
            let end = user.as_ptr() as usize - bytes.as_ptr() as usize + user.len();
            usize::from(bytes[end]) + 1
        }
    };
    user.len() + len
}

/// Changes the state of the record at the start of `bytes`, and its deadline if it is held.
pub(super) fn set_state(bytes: &mut [u8], state: State, deadline: u64) {
    bytes[0] = bytes[0] & !STATE_BITS | state as u8;
    if state == State::Held && bytes[0] & HAS_DEADLINE != 0 {
        bytes[2..8].copy_from_slice(&deadline.to_le_bytes()[..6]);
    }
}

/// Sets the quantity of the record at the start of `bytes`. `qty` must take no more bytes than the
/// quantity first written, whose width is kept.
pub(super) fn set_qty(bytes: &mut [u8], qty: u64) {
    debug_assert!(bytes[0] & HAS_QTY != 0, "who can be trimmed has more than one unit");
    let user = user(bytes);
    let end = user.as_ptr() as usize - bytes.as_ptr() as usize + user.len();
    let start = match bytes[0] & HAS_REQ {
        0 => end,
        _ => end + 1 + usize::from(bytes[end]) + 1 + 1,
    };
    let mut left = qty;
    for byte in &mut bytes[start..] {
        let goes_on = *byte & 0x80;
        *byte = left as u8 & 0x7f | goes_on;
        left >>= 7;
        if goes_on == 0 {
            break;
        }
    }
    debug_assert_eq!(left, 0, "a quantity is never more than it was at first");
}

/// The next record; `None` if the bytes are invalid.
pub fn read<'a>(reader: &mut Reader<'a>, base_at: u64) -> Option<Record<'a>> {
    let flags = reader.byte()?;
    let user_len = usize::from(reader.byte()?) + 1;
    let mut deadline = [0; 8];
    if flags & HAS_DEADLINE != 0 {
        deadline[..6].copy_from_slice(reader.take(6)?);
    }
    let prev = match flags & HAS_PREV {
        0 => 0,
        _ => u32::from_le_bytes(reader.array()?),
    };
    let user = reader.take(user_len)?;
    let req = match flags & HAS_REQ {
        0 => None,
        _ => {
            let len = usize::from(reader.byte()?) + 1;
            Some(ReqTag { id: reader.take(len)?, asked: *ASKED.get(usize::from(reader.byte()?))? })
        }
    };
    let qty = if flags & HAS_QTY != 0 { reader.varint()? } else { 1 };
    let at = reader.varint()?;
    Some(Record {
        user,
        req,
        qty,
        state: *STATES.get(usize::from(flags & STATE_BITS))?,
        at: if flags & AT_IS_ABSOLUTE != 0 { at } else { base_at.checked_add(at)? },
        deadline: u64::from_le_bytes(deadline),
        prev,
    })
}

#[derive(Clone, Debug)]
struct Chunk {
    /// T of its first grant; the times of the others are relative to it.
    base_at: u64,
    /// Position of its first record.
    base_offset: u64,
    /// Positions of its records, relative to `base_offset`.
    offsets: Vec<u32>,
}

impl Chunk {
    /// The position in the pages of a relative position.
    #[inline]
    fn in_pages(&self, offset: u32) -> u64 {
        self.base_offset + u64::from(offset)
    }
}

/// The chunk of the grant after `grants` others, and its index in the chunk.
#[inline]
fn position(grants: usize) -> (usize, usize) {
    (grants / GRANTS_PER_CHUNK, grants % GRANTS_PER_CHUNK)
}

/// The records of a ledger.
#[derive(Clone, Debug)]
pub(super) struct Records {
    /// Grants of earlier rounds.
    base: u32,
    /// Seq of the last grant, or `base`.
    len: u32,
    pages: Pages,
    chunks: Vec<Chunk>,
}

impl Records {
    /// No records yet; the first one follows `base` earlier grants.
    pub(super) fn starting(base: u32) -> Records {
        Records { base, len: base, pages: Pages::default(), chunks: Vec::new() }
    }

    /// Grants of earlier rounds.
    pub(super) fn base(&self) -> u32 {
        self.base
    }

    /// Seq of the last grant, or the base.
    pub(super) fn len(&self) -> u32 {
        self.len
    }

    /// The chunk of a grant, and its record's position in the pages.
    #[inline]
    fn find(&self, seq: u32) -> Option<(&Chunk, u64)> {
        let (number, within) = position((seq.checked_sub(self.base)? as usize).checked_sub(1)?);
        let chunk = self.chunks.get(number)?;
        Some((chunk, chunk.in_pages(*chunk.offsets.get(within)?)))
    }

    /// Position of a grant's record in the pages.
    pub(super) fn offset(&self, seq: u32) -> Option<u64> {
        self.find(seq).map(|(_, offset)| offset)
    }

    /// The bytes from a grant's record to the end of its page, and the base of its time.
    #[inline]
    pub(super) fn get(&self, seq: u32) -> Option<(&[u8], u64)> {
        let (chunk, offset) = self.find(seq)?;
        Some((self.pages.get(offset)?, chunk.base_at))
    }

    /// The bytes of a grant's record, to change it in place.
    pub(super) fn get_mut(&mut self, seq: u32) -> Option<&mut [u8]> {
        let offset = self.offset(seq)?;
        self.pages.get_mut(offset)
    }

    /// The records from grant `first` on, each with the base of its time.
    pub(super) fn iter_from(&self, first: u64) -> impl Iterator<Item = (&[u8], u64)> {
        let skipped = first.saturating_sub(u64::from(self.base) + 1) as usize;
        let (number, mut within) = position(skipped);
        let chunks = self.chunks.get(number..).unwrap_or_default();
        chunks.iter().flat_map(move |chunk| {
            let offsets = chunk.offsets.get(core::mem::take(&mut within)..).unwrap_or_default();
            let bytes_at = |offset: u64| Some((self.pages.get(offset)?, chunk.base_at));
            offsets.iter().map_while(move |offset| bytes_at(chunk.in_pages(*offset)))
        })
    }

    /// Appends a record and returns its seq.
    #[inline(always)]
    pub(super) fn append(&mut self, record: &Record<'_>) -> u32 {
        let (offset, page) = self.pages.open(RECORD_BYTES_MAX);
        if self.chunks.last().is_none_or(|chunk| chunk.offsets.len() == GRANTS_PER_CHUNK) {
            let offsets = if self.chunks.is_empty() { 16 } else { GRANTS_PER_CHUNK };
            let offsets = Vec::with_capacity(offsets);
            self.chunks.push(Chunk { base_at: record.at, base_offset: offset, offsets });
        }
        let last = self.chunks.len() - 1;
        let chunk = &mut self.chunks[last];
        chunk.offsets.push((offset - chunk.base_offset) as u32);
        let is_absolute = record.at < chunk.base_at;
        let flag = |there: bool, flag: u8| if there { flag } else { 0 };
        let flags = flag(record.qty != 1, HAS_QTY)
            | flag(record.req.is_some(), HAS_REQ)
            | flag(record.deadline != 0, HAS_DEADLINE)
            | flag(record.prev != 0, HAS_PREV)
            | flag(is_absolute, AT_IS_ABSOLUTE);
        page.push(record.state as u8 | flags);
        page.push((record.user.len() - 1) as u8);
        if record.deadline != 0 {
            page.extend_from_slice(&record.deadline.to_le_bytes()[..6]);
        }
        if record.prev != 0 {
            page.extend_from_slice(&record.prev.to_le_bytes());
        }
        page.extend_from_slice(record.user);
        if let Some(req) = record.req {
            page.push((req.id.len() - 1) as u8);
            page.extend_from_slice(req.id);
            page.push(req.asked as u8);
        }
        if record.qty != 1 {
            put_varint(page, record.qty);
        }
        put_varint(page, if is_absolute { record.at } else { record.at - chunk.base_at });
        self.len += 1;
        self.len
    }

    /// Bytes of heap in use.
    pub(super) fn heap_bytes(&self) -> usize {
        let offsets: usize = self.chunks.iter().map(|chunk| chunk.offsets.capacity() * 4).sum();
        self.pages.heap_bytes() + offsets + self.chunks.capacity() * size_of::<Chunk>()
    }

    /// Number of heap blocks: the cost of freeing them.
    pub(super) fn heap_blocks(&self) -> usize {
        self.pages.heap_blocks() + self.chunks.len()
    }

    /// Pages and offsets, for a defragmenter that moves them.
    pub(super) fn blocks_mut(&mut self) -> impl Iterator<Item = Block<'_>> {
        let offsets = self.chunks.iter_mut().map(|chunk| Block::Offsets(&mut chunk.offsets));
        self.pages.blocks_mut().map(Block::Page).chain(offsets)
    }

    /// Frees up to `blocks` blocks of each kind. False when none is left.
    pub(super) fn free_some(&mut self, blocks: usize) -> bool {
        self.chunks.truncate(self.chunks.len().saturating_sub(blocks));
        self.pages.free_some(blocks) | !self.chunks.is_empty()
    }
}
