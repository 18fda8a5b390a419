//! Random numbers for runs.

use seckill_domain::limits::INTEGER_MAX;

use crate::random::Random;

/// A number from `low` to `high`.
pub fn between(random: &mut Random, low: u64, high: u64) -> u64 {
    low + random.below(high - low + 1)
}

/// True with probability 1/`times`.
pub fn once_in(random: &mut Random, times: u64) -> bool {
    random.below(times) == 0
}

/// A random element of `from`.
pub fn pick<'a, T>(random: &mut Random, from: &'a [T]) -> &'a T {
    &from[random.below(from.len() as u64) as usize]
}

/// A number within the limits, often the smallest or largest.
pub fn any_number(random: &mut Random) -> u64 {
    match random.below(8) {
        0..=4 => random.below(6),
        5 | 6 => *pick(random, &[0, 1, 2, 3, 10, INTEGER_MAX / 2, INTEGER_MAX - 1, INTEGER_MAX]),
        _ => random.below(INTEGER_MAX),
    }
}
