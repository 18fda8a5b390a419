//! Uniform numbers that nobody can guess.

use crate::model::keyed::{keyed, Purpose};
use crate::model::limits::INTEGER_MAX;

/// The draws of one grant.
#[derive(Clone, Copy, Debug)]
pub struct Dice<'s> {
    secret: &'s [u8; 16],
    seq: u64,
}

impl<'s> Dice<'s> {
    /// The draws of the grant `seq` in the sale with this secret.
    pub fn new(secret: &'s [u8; 16], seq: u64) -> Self {
        Dice { secret, seq }
    }

    /// 64 uniform bits, others for every attempt.
    fn bits(&self, attempt: u64) -> u64 {
        let numbers = [&self.seq.to_le_bytes()[..], &attempt.to_le_bytes()];
        keyed(self.secret, Purpose::Draw, &numbers)
    }

    /// A uniform number in `low..=high`, at most 2^53 of them. What lies beyond the last whole
    /// multiple of the range is drawn again, so that no number is favoured.
    pub fn range(&self, low: u64, high: u64) -> u64 {
        let size = high.saturating_sub(low).min(INTEGER_MAX) + 1;
        let whole = u64::MAX - u64::MAX % size;
        let mut attempt = 0;
        loop {
            let bits = self.bits(attempt);
            if bits < whole {
                return low + bits % size;
            }
            attempt += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::SECRET;

    #[test]
    fn the_range_is_uniform() {
        let mut counts = [0u32; 7];
        for seq in 0..70_000 {
            counts[Dice::new(&SECRET, seq).range(10, 16) as usize - 10] += 1;
        }
        let chi: f64 = counts.iter().map(|n| (f64::from(*n) - 1e4).powi(2) / 1e4).sum();
        assert!(chi < 22.46, "chi-square with 6 degrees of freedom at 0.001: {chi}");
        assert_eq!(Dice::new(&SECRET, 5).range(9, 9), 9);
        assert!(Dice::new(&SECRET, 5).range(0, INTEGER_MAX) <= INTEGER_MAX);
    }
}
