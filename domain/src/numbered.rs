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

mod digits;
mod fields;
mod read;
mod tests;
mod write;

pub use read::Rows;
pub use write::Numbered;

/// What stands where other rows have their first seq.
pub const MARK: u64 = 0;

/// Up to eight bytes as a number.
fn word_of(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}
