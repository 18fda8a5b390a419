//! Rows that are written as numbered ones, if all of them can be.

use super::digits::{number_in, CHUNK, DIGITS_MAX};
use super::fields::put_fields;
use super::word_of;
use crate::bytes::{put_bytes, put_varint, Reader};
use crate::outcome::State;
use crate::record::{self, state_code, Record};

/// Rows to be written, as long as all of them can be.
pub struct Numbered<'a> {
    base_at: u64,
    state: State,
    prefix: &'a [u8],
    /// The first eight bytes of a user, and which of them are of the prefix.
    begins: u64,
    begins_mask: u64,
    /// Digits of every number, `None` when they differ.
    digits: Option<usize>,
    has_leading_zero: bool,
    numbers: Vec<u64>,
    times: Vec<u64>,
}

impl<'a> Numbered<'a> {
    /// Rows like `first`, whose times count from `base_at`.
    pub fn like(first: &Record<'a>, base_at: u64, room: usize) -> Numbered<'a> {
        let digits = first.user.iter().rev().take(DIGITS_MAX).take_while(|b| b.is_ascii_digit());
        let digits = digits.count();
        let prefix = &first.user[..first.user.len() - digits];
        let begins = &prefix[..prefix.len().min(CHUNK)];
        Numbered {
            base_at,
            state: first.state,
            prefix,
            begins: word_of(begins),
            begins_mask: !u64::MAX.unbounded_shl(8 * begins.len() as u32),
            digits: Some(digits),
            has_leading_zero: false,
            numbers: Vec::with_capacity(room),
            times: Vec::with_capacity(room),
        }
    }

    /// Adds the rows that are stored so, their times counted from `base_at`. `None` when one is not
    /// like the others.
    pub fn push_all<'b>(
        &mut self,
        stored: impl Iterator<Item = &'b [u8]>,
        base_at: u64,
    ) -> Option<()> {
        for bytes in stored {
            let (user, at) = match record::read_plain(bytes, self.state, base_at) {
                Some(plain) => plain,
                None => self.plain_in(bytes, base_at)?,
            };
            self.push(user, at)?;
        }
        let fits = self.digits.is_some() || !self.has_leading_zero;
        fits.then_some(())
    }

    /// User and time of a record that has more in memory than it has to be written with.
    #[cold]
    fn plain_in<'b>(&self, bytes: &'b [u8], base_at: u64) -> Option<(&'b [u8], u64)> {
        let row = record::read(&mut Reader::new(bytes), base_at)?;
        let is_plain =
            row.qty == 1 && row.req.is_none() && row.deadline == 0 && row.state == self.state;
        is_plain.then_some((row.user, row.at))
    }

    #[inline]
    fn push(&mut self, user: &[u8], at: u64) -> Option<()> {
        let begins = match user.first_chunk() {
            Some(first) if self.prefix.len() <= CHUNK => {
                (u64::from_le_bytes(*first) ^ self.begins) & self.begins_mask == 0
            }
            _ => user.starts_with(self.prefix),
        };
        let time = at.checked_sub(self.base_at).filter(|_| begins)?;
        let digits = user.len() - self.prefix.len();
        let number = number_in(user, digits)?;
        self.has_leading_zero |= user[self.prefix.len()] == b'0' && digits > 1;
        if self.digits != Some(digits) {
            self.digits = None;
        }
        self.numbers.push(number);
        self.times.push(time);
        Some(())
    }

    /// Appends everything behind the number of rows and the base of their times.
    pub fn write(&self, out: &mut Vec<u8>) {
        let least = self.numbers.iter().copied().min().unwrap_or(0);
        out.push(state_code(self.state));
        put_bytes(out, self.prefix);
        put_varint(out, self.digits.unwrap_or(0) as u64);
        put_varint(out, least);
        put_fields(out, self.numbers.iter().map(|number| number - least));
        put_fields(out, self.times.iter().copied());
    }
}
