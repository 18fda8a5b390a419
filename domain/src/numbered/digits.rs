//! Decimal digits and the numbers that they are, eight at a time.

use super::word_of;
use crate::decimal::{self, EIGHT_DIGITS as PER_CHUNK, ZEROS};

/// Digits of a number that are read as one; more are part of the prefix.
pub const DIGITS_MAX: usize = 18;
/// Digits that are handled together.
pub const CHUNK: usize = 8;
/// Room for the digits of any number.
pub const TEXT_BYTES: usize = DIGITS_MAX.next_multiple_of(CHUNK);

/// How many decimal digits a number has.
pub fn digits_of(number: u64) -> usize {
    number.checked_ilog10().unwrap_or(0) as usize + 1
}

/// The number that the last `digits` bytes of a user are, `None` when they are none.
#[inline]
pub fn number_in(user: &[u8], digits: usize) -> Option<u64> {
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
pub fn put_digits(out: &mut [u8], number: u64, digits: usize) {
    let mut put = |place: usize, text: u64| {
        if let Some(place) = out.get_mut(place..).and_then(<[u8]>::first_chunk_mut) {
            *place = text.to_le_bytes();
        }
    };
    let (top, low) = (number / PER_CHUNK, number % PER_CHUNK);
    match digits {
        ..=8 => put(0, decimal::eight_digits(low) >> (8 * (8 - digits))),
        9..=16 => {
            put(0, decimal::eight_digits(top) >> (8 * (16 - digits)));
            put(digits - 8, decimal::eight_digits(low));
        }
        _ => {
            put(0, decimal::eight_digits(top / PER_CHUNK) >> (8 * (24 - digits)));
            put(digits - 16, decimal::eight_digits(top % PER_CHUNK));
            put(digits - 8, decimal::eight_digits(low));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_and_numbers_are_inverse() {
        let mut number = 1u64;
        for step in 0..2000u64 {
            number = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(step);
            let number = number % 10u64.pow(1 + (step % 18) as u32);
            for digits in digits_of(number)..=DIGITS_MAX {
                let mut text = [b'x'; TEXT_BYTES];
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
            assert_eq!(eight_digits(decimal::eight_digits(number) ^ ZEROS), Some(number));
        }
    }
}
