//! Rows of a snapshot whose users are numbered, in a few bytes each.
//!
//! The ids of most shops are one prefix and a number. Rows of such users that differ in nothing but
//! number and time, which is what a sale without holds is made of, are written as two columns of
//! bit fields, each as wide as its largest value needs ("frame of reference", Goldstein et al.,
//! 1998):
//!
//! ```text
//! 0  first  count  base  state  prefix  digits  least number  width  numbers  width  times
//! ```
//! The 0 tells it from other rows, whose first seq it would be. `digits` is how many digits every
//! number has, 0 when none has a leading zero. A server compresses what it saves, which takes far
//! longer than writing it: so many bytes fewer are so much time less.

use super::bytes::{put_bytes, put_varint, Reader};
use super::limits::USER_BYTES_MAX;
use super::outcome::State;
use super::record::{self, state_code, state_of, Record, RECORD_BYTES_MAX, USER_START};

/// What stands where other rows have their first seq.
pub const MARK: u64 = 0;

/// Digits of a number that are read as one; more are part of the prefix.
const DIGITS_MAX: usize = 18;
/// Bits of the widest field: what 18 digits need.
const WIDTH_MAX: u32 = 60;
/// Bytes of a record's head that are copied together.
const HEAD_CHUNK: usize = 16;
/// Digits that are handled together.
const CHUNK: usize = 8;
const PER_CHUNK: u64 = 100_000_000;
const ZEROS: u64 = 0x3030_3030_3030_3030;

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
    pub fn read(reader: &mut Reader<'a>, count: usize) -> Option<Rows<'a>> {
        let state = state_of(reader.byte()?)?;
        let prefix = reader.bytes()?;
        let digits = usize::try_from(reader.varint()?).ok()?;
        let least = reader.varint()?;
        let (numbers, times) = (Fields::read(reader, count)?, Fields::read(reader, count)?);
        let rows = Rows { state, prefix, digits, least, count, numbers, times };
        // Mostly no number of that width would be too long, and none has to be looked at.
        let mut most = least.checked_add(numbers.mask())?;
        let longest = if digits == 0 { DIGITS_MAX } else { digits };
        if digits_of(most) > longest || digits == 0 {
            most = least + numbers.iter(count).max()?;
        }
        let longest = if digits == 0 { digits_of(most) } else { digits };
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

    fn digits_in(&self, number: u64) -> usize {
        if self.digits == 0 {
            digits_of(number)
        } else {
            self.digits
        }
    }

    /// Appends the user who has `number`.
    #[inline]
    pub fn put_user(&self, out: &mut Vec<u8>, number: u64) {
        let (mut text, digits) = ([0; 3 * CHUNK], self.digits_in(number));
        put_digits(&mut text, number, digits);
        out.extend_from_slice(self.prefix);
        out.extend_from_slice(&text[..digits]);
    }

    /// About how long their records are: none is longer unless its time takes more than two bytes.
    pub fn record_bytes(&self) -> usize {
        let digits = if self.digits == 0 { DIGITS_MAX } else { self.digits };
        USER_START + self.prefix.len() + digits + 2
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

/// Bit fields of one width, the lowest bits first.
#[derive(Clone, Copy, Debug)]
struct Fields<'a> {
    width: u32,
    bytes: &'a [u8],
}

fn field_bytes(width: u32, count: usize) -> usize {
    (width as usize * count).div_ceil(8)
}

fn put_fields(out: &mut Vec<u8>, fields: impl ExactSizeIterator<Item = u64> + Clone) {
    let width = u64::BITS - fields.clone().fold(0, |all, field| all | field).leading_zeros();
    out.push(width as u8);
    out.reserve(field_bytes(width, fields.len()) + 8);
    let (mut pending, mut bits) = (0u64, 0);
    for field in fields {
        pending |= field << bits;
        bits += width;
        if bits >= u64::BITS {
            out.extend_from_slice(&pending.to_le_bytes());
            bits -= u64::BITS;
            // What of the field did not fit: its upper `bits` bits.
            pending = field.unbounded_shr(width - bits);
        }
    }
    out.extend_from_slice(&pending.to_le_bytes()[..bits.div_ceil(8) as usize]);
}

impl<'a> Fields<'a> {
    fn read(reader: &mut Reader<'a>, count: usize) -> Option<Fields<'a>> {
        let width = u32::from(reader.byte()?);
        let bytes = (width <= WIDTH_MAX).then(|| reader.take(field_bytes(width, count)))??;
        Some(Fields { width, bytes })
    }

    /// The largest number that fits.
    fn mask(&self) -> u64 {
        (1 << self.width) - 1
    }

    /// The first `count` fields, which are there.
    #[inline]
    fn iter(self, count: usize) -> impl ExactSizeIterator<Item = u64> + 'a {
        (0..count).map(move |place| self.at(place))
    }

    /// The field at `place`, which is there.
    #[inline]
    fn at(&self, place: usize) -> u64 {
        let bit = place * self.width as usize;
        let (bytes, bit) = (self.bytes.get(bit / 8..).unwrap_or_default(), bit as u32 % 8);
        let word = match bytes.first_chunk() {
            Some(word) => u64::from_le_bytes(*word),
            None => word_of(bytes),
        };
        let mut field = word >> bit;
        if bit + self.width > u64::BITS {
            field |= u64::from(bytes[8]) << (u64::BITS - bit);
        }
        field & self.mask()
    }
}

/// Up to eight bytes as a number.
fn word_of(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

/// How many decimal digits a number has.
fn digits_of(number: u64) -> usize {
    number.checked_ilog10().unwrap_or(0) as usize + 1
}

/// The number that the last `digits` bytes of a user are, `None` when they are none.
#[inline]
fn number_in(user: &[u8], digits: usize) -> Option<u64> {
    let text = &user[user.len() - digits..];
    // Eight bytes at a time; what of them is of the prefix is made zeros, or shifted out.
    let last = user.last_chunk().map(|last| u64::from_le_bytes(*last) ^ ZEROS);
    match (digits, last) {
        (1..=8, Some(last)) => eight_digits(last & u64::MAX << (8 * (8 - digits))),
        (9..=16, Some(last)) => {
            let first = word_of(&text[..CHUNK]) ^ ZEROS;
            let top = eight_digits(first << (8 * (16 - digits)))?;
            Some(top * PER_CHUNK + eight_digits(last)?)
        }
        _ => number_of(text),
    }
}

/// The number that 1 to `DIGITS_MAX` digits are, `None` when there are others or none.
fn number_of(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > DIGITS_MAX {
        return None;
    }
    let mut number = 0;
    let (head, chunks) = text.split_at(text.len() % CHUNK);
    for byte in head {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number * 10 + u64::from(digit);
    }
    for chunk in chunks.chunks_exact(CHUNK) {
        number = number * PER_CHUNK + eight_digits(word_of(chunk) ^ ZEROS)?;
    }
    Some(number)
}

/// The number that eight digits 0 to 9 are, the first one in the lowest byte. Neighbours are
/// joined: eight digits to four numbers of two, to two of four, to one.
#[inline]
fn eight_digits(digits: u64) -> Option<u64> {
    // A byte above 9 has a high bit, or gets one when 6 is added.
    let above = digits.wrapping_add(0x0606_0606_0606_0606) | digits;
    if above & 0xf0f0_f0f0_f0f0_f0f0 != 0 {
        return None;
    }
    let twos = digits.wrapping_mul(10).wrapping_add(digits >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = twos.wrapping_mul(100).wrapping_add(twos >> 16) & 0x0000_ffff_0000_ffff;
    Some(fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xffff_ffff)
}

/// Writes the last `digits` digits of a number, 1 to `DIGITS_MAX`; perhaps also some bytes behind.
#[inline]
fn put_digits(out: &mut [u8], number: u64, digits: usize) {
    let mut put = |place: usize, text: u64| {
        if let Some(place) = out.get_mut(place..).and_then(<[u8]>::first_chunk_mut) {
            *place = text.to_le_bytes();
        }
    };
    let (top, low) = (number / PER_CHUNK, number % PER_CHUNK);
    match digits {
        ..=8 => put(0, digits_in(low) >> (8 * (8 - digits))),
        9..=16 => {
            put(0, digits_in(top) >> (8 * (16 - digits)));
            put(digits - 8, digits_in(low));
        }
        _ => {
            put(0, digits_in(top / PER_CHUNK) >> (8 * (24 - digits)));
            put(digits - 16, digits_in(top % PER_CHUNK));
            put(digits - 8, digits_in(low));
        }
    }
}

/// Inverse of [`eight_digits`]: divides four, then two digits at a time by multiplying.
#[inline]
fn digits_in(number: u64) -> u64 {
    let fours = (number / 10_000) | ((number % 10_000) << 32);
    let hundreds = (fours.wrapping_mul(10_486) >> 20) & 0x0000_007f_0000_007f;
    let twos = hundreds | fours.wrapping_sub(hundreds * 100) << 16;
    let tens = (twos.wrapping_mul(103) >> 10) & 0x000f_000f_000f_000f;
    (tens | twos.wrapping_sub(tens * 10) << 8) + ZEROS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(user: &[u8], at: u64) -> Record<'_> {
        Record { user, req: None, qty: 1, state: State::Sold, at, deadline: 0, prev: 0 }
    }

    /// Users and times as rows, their times counted from 5; `None` when they can't be.
    fn numbered(users: &[(Vec<u8>, u64)]) -> Option<Numbered<'_>> {
        let mut numbered = Numbered::like(&row(&users[0].0, 5), 5, users.len());
        let records = users.iter().map(|(user, at)| {
            let mut record = Vec::new();
            record::write(&mut record, &row(user, *at), 4);
            record
        });
        let records: Vec<Vec<u8>> = records.collect();
        let (some, others) = records.split_at(records.len() / 2);
        numbered.push_all(some.iter().map(Vec::as_slice), 4)?;
        numbered.push_all(others.iter().map(Vec::as_slice), 4)?;
        Some(numbered)
    }

    /// Users and times, written and read again; `None` when they can't be written so.
    fn again(users: &[(Vec<u8>, u64)]) -> Option<Vec<(Vec<u8>, u64)>> {
        let numbered = numbered(users)?;
        let mut piece = Vec::new();
        numbered.write(&mut piece);
        for len in 0..piece.len() {
            assert!(Rows::read(&mut Reader::new(&piece[..len]), users.len()).is_none(), "{len}");
        }
        let rows = Rows::read(&mut Reader::new(&piece), users.len()).unwrap();
        let latest = users.iter().map(|(_, at)| at - 5).max().unwrap();
        assert!(rows.are_within(latest) && (latest == 0 || !rows.are_within(latest - 1)));
        let pairs = rows.iter().map(|(number, time)| {
            let mut user = Vec::new();
            rows.put_user(&mut user, number);
            (user, 5 + time)
        });
        Some(pairs.collect())
    }

    fn users(texts: &[&str]) -> Vec<(Vec<u8>, u64)> {
        texts.iter().zip(5..).map(|(text, at)| (text.as_bytes().to_vec(), at)).collect()
    }

    #[test]
    fn numbers_of_any_length_come_back() {
        let long = "x".repeat(USER_BYTES_MAX - 2);
        let (nine, ten) = (format!("{long}9"), format!("{long}10"));
        for texts in [
            &["user:000012345678", "user:000000000000", "user:999999999999"][..],
            &["7", "10", "999999999999999999", "0"],
            &["a07", "a99"],
            &["0"],
            &["999999999999999999", "000000000000000000"],
            &["12345678901234567890", "12000000000000000000"],
            &["u-1", "u-12345678", "u-123456789", "u-1234567890123456"],
            &[nine.as_str(), ten.as_str()],
            &["customer1", "customer1000000", "customer12345678"],
            &["customer:12345678", "customer:123456789", "customer:1"],
        ] {
            let users = users(texts);
            assert_eq!(again(&users), Some(users), "{texts:?}");
        }
        let mut far = users(&["1", "2", "3"]);
        far[1].1 = 1 << 47;
        assert_eq!(again(&far), Some(far));
    }

    #[test]
    fn other_users_are_not_written_so() {
        for texts in [
            &["a7", "b7"][..],
            &["a7", "a"],
            &["a", "a7"],
            &["a07", "a7"],
            &["a7", "a07"],
            &["a7", "a1234567890123456789"],
            &["a7", "a7x"],
            &["a7", "a12345/78"],
            &["a7", "a1234:678"],
            &["12345678901234567890", "13000000000000000000"],
            &["customer7", "customes7"],
            &["customer:7", "customer;7"],
            &["user:7", "users7"],
        ] {
            assert_eq!(again(&users(texts)), None, "{texts:?}");
        }
        let mut early = users(&["1", "2"]);
        early[1].1 = 4;
        assert_eq!(again(&early), None);
    }

    #[test]
    fn digits_and_numbers_are_inverse() {
        let mut number = 1u64;
        for step in 0..2000u64 {
            number = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(step);
            let number = number % 10u64.pow(1 + (step % 18) as u32);
            for digits in digits_of(number)..=DIGITS_MAX {
                let mut text = [b'x'; 3 * CHUNK];
                put_digits(&mut text[3..], number, digits);
                let user = &text[..3 + digits];
                assert_eq!(std::str::from_utf8(&user[3..]).unwrap().parse(), Ok(number));
                assert_eq!(number_of(&user[3..]), Some(number));
                assert_eq!(number_in(user, digits), Some(number));
                assert_eq!(number_in(&user[3..], digits), Some(number));
                assert_eq!(number_in(user, digits + 1), None);
            }
        }
        for number in (0..100_000_000).step_by(9973) {
            assert_eq!(eight_digits(digits_in(number) ^ ZEROS), Some(number));
        }
    }

    #[test]
    fn altered_rows_are_refused_or_users_of_lawful_length() {
        let all = users(&["user:0008", "user:0009", "user:1234"]);
        let numbered = numbered(&all).unwrap();
        let mut piece = Vec::new();
        numbered.write(&mut piece);
        for place in 0..piece.len() {
            for byte in 0..=u8::MAX {
                let mut altered = piece.clone();
                altered[place] = byte;
                let Some(rows) = Rows::read(&mut Reader::new(&altered), 3) else { continue };
                assert_eq!(rows.iter().count(), 3);
                for (number, _) in rows.iter() {
                    let mut user = Vec::new();
                    rows.put_user(&mut user, number);
                    assert!((1..=USER_BYTES_MAX).contains(&user.len()));
                }
            }
        }
    }
}
