//! Positions: the version that a replicated command follows, and the stream id of its first entry.

use crate::fields::EntryVersion;
use crate::memory::put_number;

/// The id of a stream's entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StreamId {
    /// Milliseconds: the part before the dash.
    pub ms: u64,
    /// The part after the dash, which counts within the millisecond.
    pub seq: u64,
}

impl StreamId {
    /// The id `count` ids later; none after the largest id.
    pub fn after(self, count: u64) -> Option<StreamId> {
        match self.seq.checked_add(count) {
            Some(seq) => Some(StreamId { seq, ..self }),
            None => {
                Some(StreamId { ms: self.ms.checked_add(1)?, seq: self.seq.wrapping_add(count) })
            }
        }
    }
}

/// The first entry's id and the version of the entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntriesAt {
    /// Version of the entries.
    pub version: EntryVersion,
    /// Id of the first entry.
    pub id: StreamId,
}

/// The position of one replicated command's changes in their sale, and of its entries in the
/// outbox.
///
/// The position as text: the version before the first change in base 36. If the changes have
/// entries, the version of the entries and the stream id of the first one follow after colons: `1z`
/// or `1z:1:1763805600000-0`. Further entries take the following ids, so that every node appends
/// equal entries under equal ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The version before the first change.
    pub version: u64,
    /// The first entry's id and version, if there are entries.
    pub entries: Option<EntriesAt>,
}

impl Position {
    /// Appends the text.
    pub fn encode(&self, out: &mut Vec<u8>) {
        const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
        let (mut text, mut start, mut rest) = ([0; DIGITS_MAX], DIGITS_MAX, self.version);
        loop {
            start -= 1;
            text[start] = DIGITS[(rest % 36) as usize];
            rest /= 36;
            if rest == 0 {
                break;
            }
        }
        out.extend_from_slice(&text[start..]);
        if let Some(EntriesAt { version, id }) = self.entries {
            put_number(out, ":", version.number());
            put_number(out, ":", id.ms);
            put_number(out, "-", id.seq);
        }
    }

    /// Parses the output of [`Position::encode`]; none for other text.
    pub fn decode(text: &[u8]) -> Option<Position> {
        let mut parts = text.split(|byte| *byte == b':');
        let version = number(parts.next()?, 36)?;
        let entries = match (parts.next(), parts.next(), parts.next()) {
            (None, ..) => None,
            (Some(b"1"), Some(id), None) => {
                Some(EntriesAt { version: EntryVersion::V1, id: stream_id(id)? })
            }
            _ => return None,
        };
        Some(Position { version, entries })
    }
}

/// Digits of the largest number in base 36.
const DIGITS_MAX: usize = 13;

fn stream_id(text: &[u8]) -> Option<StreamId> {
    let dash = text.iter().position(|byte| *byte == b'-')?;
    let (ms, seq) = (number(&text[..dash], 10)?, number(&text[dash + 1..], 10)?);
    // No entry can have the id 0-0.
    (ms > 0 || seq > 0).then_some(StreamId { ms, seq })
}

/// A number without a sign, an upper-case digit or a leading zero.
fn number(text: &[u8], base: u32) -> Option<u64> {
    if text.is_empty() || (text.len() > 1 && text[0] == b'0') {
        return None;
    }
    text.iter().try_fold(0u64, |number, &byte| {
        let digit = char::from(byte).to_digit(base).filter(|_| !byte.is_ascii_uppercase())?;
        number.checked_mul(base.into())?.checked_add(digit.into())
    })
}
