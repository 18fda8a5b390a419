//! What a slot keeps of a key: a fragment of its hash, the mark and the value.

/// Bits of a hash that a slot keeps.
pub(super) const FRAGMENT_BITS: u32 = 31;

/// A value of the index: 32 bits and a mark that tells two kinds of value apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    pub number: u32,
    pub marked: bool,
}

pub(super) fn fragment_of(hash: u64) -> u32 {
    (hash >> (64 - FRAGMENT_BITS)) as u32
}

pub(super) fn pack(fragment: u32, value: Value) -> u64 {
    u64::from(fragment) << 33 | u64::from(value.marked) << 32 | u64::from(value.number)
}

pub(super) fn fragment_in(word: u64) -> u32 {
    (word >> 33) as u32
}

pub(super) fn value_in(word: u64) -> Value {
    Value { number: word as u32, marked: word >> 32 & 1 == 1 }
}

/// What a slot keeps of a key.
#[inline]
pub fn word_of(hash: u64, value: Value) -> u64 {
    pack(fragment_of(hash), value)
}
