//! Short replies as text: the protocol's own lines, put together without the heap.

use seckill_domain::decimal::{eight_digits, up_to_eight, EIGHT_DIGITS};

/// Bytes of the longest fixed part.
const FIXED_LEN_MAX: usize = 24;

/// Where the parts of a text may begin. What is longer begins anew, so that no part has to look
/// whether there is room for it; the length tells.
const ROOM: usize = 128;

/// Elements of a reply that never change, as they are sent.
#[derive(Debug)]
pub struct Fixed {
    bytes: [u8; FIXED_LEN_MAX],
    len: usize,
}

impl Fixed {
    /// Nothing yet.
    pub const EMPTY: Fixed = Fixed { bytes: [0; FIXED_LEN_MAX], len: 0 };

    /// The header of an array of 1 to 9 `elements`, and its first one, `word`.
    pub const fn first(elements: u8, word: &'static str) -> Fixed {
        Fixed::EMPTY.line(b'*', elements).word(word)
    }

    /// The header of an array of 1 to 9 `elements`.
    pub const fn array(elements: u8) -> Fixed {
        Fixed::EMPTY.line(b'*', elements)
    }

    /// And `word` as a bulk string: 1 to 9 letters. A longer one does not compile.
    pub const fn word(self, word: &'static str) -> Fixed {
        let letters = word.as_bytes();
        let mut fixed = self.line(b'$', letters.len() as u8);
        let mut at = 0;
        while at < letters.len() {
            fixed = fixed.with(letters[at]);
            at += 1;
        }
        fixed.with(b'\r').with(b'\n')
    }

    /// And a `digit`.
    pub const fn digit(self, digit: u8) -> Fixed {
        self.line(b':', digit)
    }

    const fn line(self, kind: u8, digit: u8) -> Fixed {
        assert!(digit < 10, "there is one digit");
        self.with(kind).with(b'0' + digit).with(b'\r').with(b'\n')
    }

    const fn with(mut self, byte: u8) -> Fixed {
        self.bytes[self.len] = byte;
        self.len += 1;
        self
    }
}

/// A reply, being written.
#[derive(Debug)]
pub struct Text {
    bytes: [u8; ROOM + FIXED_LEN_MAX],
    len: usize,
}

impl Text {
    /// An empty text.
    #[inline]
    pub(super) fn new() -> Text {
        Text { bytes: [0; ROOM + FIXED_LEN_MAX], len: 0 }
    }

    /// What was written. None when it did not fit.
    #[inline]
    pub(super) fn written(&self) -> Option<&[u8]> {
        self.bytes.get(..self.len).filter(|bytes| bytes.len() <= ROOM)
    }

    /// Adds fixed elements.
    #[inline]
    pub fn fixed(&mut self, fixed: &Fixed) {
        // All the room that it has is copied.
        self.put(fixed.bytes, fixed.len);
    }

    /// Adds an integer.
    #[inline]
    pub fn number(&mut self, number: u64) {
        if number < 10 {
            return self.put([b':', b'0' + number as u8, b'\r', b'\n'], 4);
        }
        self.put([b':'], 1);
        self.digits(number);
        self.put(*b"\r\n", 2);
    }

    /// Writes `part` where the next one begins; `len` bytes of it are text.
    #[inline]
    fn put<const N: usize>(&mut self, part: [u8; N], len: usize) {
        const { assert!(N <= FIXED_LEN_MAX) };
        if let Some(room) = self.bytes[self.len % ROOM..].first_chunk_mut() {
            *room = part;
        }
        self.len += len;
    }

    #[inline]
    fn digits(&mut self, number: u64) {
        if number >= EIGHT_DIGITS {
            return self.more_than_eight(number);
        }
        let (text, len) = up_to_eight(number);
        self.put(text.to_le_bytes(), len);
    }

    fn more_than_eight(&mut self, number: u64) {
        self.digits(number / EIGHT_DIGITS);
        self.put(eight_digits(number % EIGHT_DIGITS).to_le_bytes(), 8);
    }
}

/// The elements of a text, header by header, for a reply that is written element by element.
pub(super) fn elements(mut text: &[u8]) -> impl Iterator<Item = Element<'_>> {
    core::iter::from_fn(move || {
        let (line, rest) = line_of(text)?;
        let (&kind, digits) = line.split_first()?;
        let number: i64 = core::str::from_utf8(digits).ok()?.parse().ok()?;
        text = rest;
        Some(match kind {
            b'*' => Element::Array(usize::try_from(number).ok()?),
            b'$' => {
                let (word, rest) = line_of(text)?;
                text = rest;
                Element::Word(word)
            }
            _ => Element::Int(number),
        })
    })
}

/// An element of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element<'a> {
    /// The header of an array of so many elements.
    Array(usize),
    Word(&'a [u8]),
    Int(i64),
}

/// The first line, and what follows.
fn line_of(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = text.windows(2).position(|two| two == b"\r\n")?;
    Some((&text[..end], &text[end + 2..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl Fn(&mut Text)) -> String {
        let mut text = Text::new();
        write(&mut text);
        std::str::from_utf8(text.written().unwrap()).unwrap().to_owned()
    }

    #[test]
    fn elements_are_written_as_the_protocol_has_them() {
        static GRANTED: Fixed = Fixed::first(6, "GRANTED");
        static ONE: Fixed = Fixed::EMPTY.digit(1).word("SOLD").digit(0);
        let told = text(|text| {
            text.fixed(&GRANTED);
            text.number(40);
            text.fixed(&ONE);
            text.number((1 << 53) - 1);
        });
        let expected =
            "*6\r\n$7\r\nGRANTED\r\n:40\r\n:1\r\n$4\r\nSOLD\r\n:0\r\n:9007199254740991\r\n";
        assert_eq!(told, expected);
        let found: Vec<Element<'_>> = elements(told.as_bytes()).collect();
        use Element::{Array, Int, Word};
        let most = Int((1 << 53) - 1);
        let elements = [Array(6), Word(b"GRANTED"), Int(40), Int(1), Word(b"SOLD"), Int(0), most];
        assert_eq!(found, elements);
    }

    #[test]
    fn numbers_of_all_lengths_are_written_as_they_are() {
        for number in [0, 9, 10, 99_999_999, 100_000_000, (1 << 53) - 1, u64::MAX] {
            assert_eq!(text(|text| text.number(number)), format!(":{number}\r\n"));
        }
    }

    #[test]
    fn a_text_that_is_too_long_harms_nothing() {
        for parts in 0..200 {
            let mut text = Text::new();
            (0..parts).for_each(|_| text.number(u64::MAX));
            let fits = text.written().is_some();
            assert_eq!(fits, parts * 23 <= ROOM, "{parts}");
        }
    }
}
