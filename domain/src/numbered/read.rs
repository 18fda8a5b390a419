//! Numbered rows that are read: anything may come.

use super::digits::{digits_of, put_digits, DIGITS_MAX, TEXT_BYTES};
use super::fields::Fields;
use crate::bytes::Reader;
use crate::limits::USER_BYTES_MAX;
use crate::outcome::State;
use crate::record::{self, state_code, state_of, RECORD_BYTES_MAX, USER_START};

/// Bytes of a record's head that are copied together.
const HEAD_CHUNK: usize = 16;

/// Rows that are read.
#[derive(Clone, Debug)]
pub struct Rows<'a> {
    pub state: State,
    prefix: &'a [u8],
    digits: usize,
    least: u64,
    count: usize,
    numbers: Fields<'a>,
    times: Fields<'a>,
}

impl<'a> Rows<'a> {
    /// Reads what [`Numbered::write`] wrote for `count` rows, to the end. `None` when it was not
    /// written so, or a user would be longer than users are.
    ///
    /// [`Numbered::write`]: super::Numbered::write
    pub fn read(reader: &mut Reader<'a>, count: usize) -> Option<Rows<'a>> {
        let state = state_of(reader.byte()?)?;
        let prefix = reader.bytes()?;
        let digits = usize::try_from(reader.varint()?).ok()?;
        let least = reader.varint()?;
        let (numbers, times) = (Fields::read(reader, count)?, Fields::read(reader, count)?);
        let rows = Rows { state, prefix, digits, least, count, numbers, times };
        // Mostly no number of that width would be too long, and none has to be looked at.
        let mut most = least.checked_add(numbers.mask())?;
        if digits_of(most) > rows.digits_max() || digits == 0 {
            most = least + numbers.iter(count).max()?;
        }
        let longest = rows.digits_in(most);
        let fits = longest <= DIGITS_MAX
            && digits_of(most) <= longest
            && rows.prefix.len() + longest <= USER_BYTES_MAX;
        (fits && reader.is_empty()).then_some(rows)
    }

    /// Whether no time, from the base, is later than `bound`.
    pub fn are_within(&self, bound: u64) -> bool {
        // Mostly no time of that width would be, and none has to be looked at.
        self.times.mask() <= bound || self.times.iter(self.count).all(|time| time <= bound)
    }

    /// The numbers of the users, each with its time from the base.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (u64, u64)> + '_ {
        (0..self.count).map(|place| (self.least + self.numbers.at(place), self.times.at(place)))
    }

    /// How many digits a number of theirs has at the most.
    fn digits_max(&self) -> usize {
        match self.digits {
            0 => DIGITS_MAX,
            digits => digits,
        }
    }

    /// How many digits `number` is written with.
    fn digits_in(&self, number: u64) -> usize {
        match self.digits {
            0 => digits_of(number),
            digits => digits,
        }
    }

    /// Appends the user who has `number`.
    #[inline]
    pub fn put_user(&self, out: &mut Vec<u8>, number: u64) {
        let (mut text, digits) = ([0; TEXT_BYTES], self.digits_in(number));
        put_digits(&mut text, number, digits);
        out.extend_from_slice(self.prefix);
        out.extend_from_slice(&text[..digits]);
    }

    /// About how long their records are: none is longer unless its time takes more than two bytes.
    pub fn record_bytes(&self) -> usize {
        USER_START + self.prefix.len() + self.digits_max() + 2
    }

    /// What the records of all these users begin with, and some bytes more.
    pub fn head(&self) -> Vec<u8> {
        let mut head = vec![state_code(self.state), 0];
        head.extend_from_slice(self.prefix);
        head.resize(head.len().next_multiple_of(HEAD_CHUNK), 0);
        head
    }

    /// Writes the record of a grant at `at` to the user who has `number` and returns its length.
    /// `head` is what [`Rows::head`] gives.
    #[inline]
    pub fn put_record(
        &self,
        out: &mut [u8; RECORD_BYTES_MAX],
        head: &[u8],
        number: u64,
        (at, base_at): (u64, u64),
    ) -> usize {
        // In parts of a fixed length: cheaper than a call that copies a few bytes.
        let parts = out.chunks_exact_mut(HEAD_CHUNK).zip(head.chunks_exact(HEAD_CHUNK));
        parts.for_each(|(place, part)| place.copy_from_slice(part));
        let digits = self.digits_in(number);
        put_digits(&mut out[USER_START + self.prefix.len()..], number, digits);
        record::complete(out, self.prefix.len() + digits, at, base_at)
    }
}
