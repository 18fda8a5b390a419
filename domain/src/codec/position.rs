//! Where the changes of one replicated command belong: in their sale, and in its outbox.
//!
//! The text is the version that the first change follows, in base 36, and where the changes have
//! entries, behind colons, the form of these and the stream id of the first: `1z` or
//! `1z:1:1763805600000-0`. Further entries take the next ids, so that every node appends the same
//! ones under the same ids.

use crate::memory::put_decimal;

/// The version of the fields that outbox entries have. A command that names one which this module
/// does not know is refused; there is one so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Event, sale, data; user, req, outbox and split where there is one.
    V1,
}

impl Form {
    /// The newest form that modules of this version of the effects know; 0 stands for this
    /// module's.
    pub fn known_to(_effects_version: u64) -> Form {
        Form::V1
    }

    fn number(self) -> u64 {
        match self {
            Form::V1 => 1,
        }
    }
}

/// The id of a stream's entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StreamId {
    /// Milliseconds: the part before the dash.
    pub ms: u64,
    /// The part behind it, which counts within the millisecond.
    pub seq: u64,
}

impl StreamId {
    /// The id `count` ids further on; none beyond the last of all.
    pub fn after(self, count: u64) -> Option<StreamId> {
        match self.seq.checked_add(count) {
            Some(seq) => Some(StreamId { seq, ..self }),
            None => {
                Some(StreamId { ms: self.ms.checked_add(1)?, seq: self.seq.wrapping_add(count) })
            }
        }
    }
}

/// Where entries belong, and how they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntriesAt {
    /// How they are written.
    pub form: Form,
    /// Of the first one.
    pub id: StreamId,
}

/// Where changes belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The version that the first change follows.
    pub version: u64,
    /// Where their entries belong, if they have any.
    pub entries: Option<EntriesAt>,
}

impl Position {
    /// Appends the text.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_base_36(out, self.version);
        if let Some(EntriesAt { form, id }) = self.entries {
            out.push(b':');
            put_decimal(out, form.number());
            out.push(b':');
            put_decimal(out, id.ms);
            out.push(b'-');
            put_decimal(out, id.seq);
        }
    }

    /// Reads what [`Position::encode`] wrote; none if it is anything else.
    pub fn decode(text: &[u8]) -> Option<Position> {
        let mut parts = text.split(|byte| *byte == b':');
        let version = number(parts.next()?, 36)?;
        let entries = match (parts.next(), parts.next(), parts.next()) {
            (None, ..) => None,
            (Some(b"1"), Some(id), None) => Some(EntriesAt { form: Form::V1, id: stream_id(id)? }),
            _ => return None,
        };
        Some(Position { version, entries })
    }
}

/// Digits of the largest number in base 36.
const DIGITS_MAX: usize = 13;

/// Appends a number in base 36: every grant carries one.
fn put_base_36(out: &mut Vec<u8>, number: u64) {
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let (mut text, mut start, mut rest) = ([0; DIGITS_MAX], DIGITS_MAX, number);
    loop {
        start -= 1;
        text[start] = DIGITS[(rest % 36) as usize];
        rest /= 36;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&text[start..]);
}

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

#[cfg(test)]
mod tests {
    use super::*;

    const LAST: u64 = u64::MAX;

    #[test]
    fn what_is_written_is_read() {
        let id = |ms, seq| Some(EntriesAt { form: Form::V1, id: StreamId { ms, seq } });
        let cases = [
            (0, None, "0"),
            (71, None, "1z"),
            (LAST, None, "3w5e11264sgsf"),
            (35, id(1_763_805_600_000, 0), "z:1:1763805600000-0"),
            (36, id(0, 1), "10:1:0-1"),
            (1, id(LAST, LAST), "1:1:18446744073709551615-18446744073709551615"),
        ];
        for (version, entries, text) in cases {
            let position = Position { version, entries };
            let mut out = Vec::new();
            position.encode(&mut out);
            assert_eq!(std::str::from_utf8(&out), Ok(text));
            assert_eq!(Position::decode(&out), Some(position));
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "01",
            "-1",
            "Z",
            "1 ",
            "3w5e11264sgsg",
            ":1:1-1",
            "1:",
            "1:1",
            "1:1:",
            "1:1:1",
            "1:1:-1",
            "1:1:1-",
            "1:1:01-1",
            "1:1:1-01",
            "1:1:0-0",
            "1:0:1-1",
            "1:2:1-1",
            "1::1-1",
            "1:01:1-1",
            "1:1:1-1:",
            "1:1:1-1-1",
            "1:1:18446744073709551616-1",
            "1:1:a-1",
        ] {
            assert_eq!(Position::decode(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn ids_go_on_in_the_next_millisecond_and_end() {
        let id = |ms, seq| StreamId { ms, seq };
        assert_eq!(id(5, 0).after(0), Some(id(5, 0)));
        assert_eq!(id(5, 7).after(3), Some(id(5, 10)));
        assert_eq!(id(5, LAST - 1).after(1), Some(id(5, LAST)));
        assert_eq!(id(5, LAST - 1).after(2), Some(id(6, 0)));
        assert_eq!(id(LAST, LAST - 1).after(1), Some(id(LAST, LAST)));
        assert_eq!(id(LAST, LAST - 1).after(2), None);
    }

    #[test]
    fn the_only_form_is_written_for_every_version_of_the_effects() {
        for version in [0, 1] {
            assert_eq!(Form::known_to(version), Form::V1);
        }
    }
}
