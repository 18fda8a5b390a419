//! Numbers as decimal text, eight digits at a time.

/// Numbers below this have at most eight digits.
pub const EIGHT_DIGITS: u64 = 100_000_000;

/// Eight times the digit 0 as text.
pub const ZEROS: u64 = u64::from_le_bytes([b'0'; 8]);

/// The digits of a number below [`EIGHT_DIGITS`] as text, zeros in front included, the first in the
/// lowest byte. All parts of a word are divided at once by multiplying with a rounded inverse ("How
/// to print integers really fast", Khuong, 2017).
#[inline]
pub fn eight_digits(number: u64) -> u64 {
    digits_of(number) | ZEROS
}

/// The digits of a number below [`EIGHT_DIGITS`], a byte each.
#[inline]
fn digits_of(number: u64) -> u64 {
    // Two numbers of four digits, each in 32 bits.
    let fours = (number / 10_000) | ((number % 10_000) << 32);
    // Four numbers of two digits: 10,486 / 2^20 is one hundredth, exact enough for four digits.
    let hundreds = (fours.wrapping_mul(10_486) >> 20) & 0x7f_0000_007f;
    let twos = hundreds | (fours.wrapping_sub(hundreds.wrapping_mul(100)) << 16);
    // Eight digits: 103 / 2^10 is one tenth, exact enough for two digits.
    let tens = (twos.wrapping_mul(103) >> 10) & 0x000f_000f_000f_000f;
    tens | (twos.wrapping_sub(tens.wrapping_mul(10)) << 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_written_as_it_is() {
        let edges = (0..20).map(|power| 10u64.pow(power));
        let around = edges.flat_map(|edge| [edge - 1, edge, edge + 1, edge.wrapping_mul(9) / 2]);
        let halves = (0..10_000).flat_map(|half| [half, half * 10_000, 50_005_000 + half]);
        for number in around.chain(halves).chain([u64::MAX, (1 << 53) - 1]) {
            let eight = eight_digits(number % EIGHT_DIGITS).to_le_bytes();
            assert_eq!(eight, format!("{:08}", number % EIGHT_DIGITS).as_bytes());
        }
    }
}
