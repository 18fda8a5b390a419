//! Keys of an index that come all at once, when a sale is loaded.
//!
//! Entered as they come, each key would miss the cache, because its place has nothing to do with
//! the place before. So they are first dealt out by the leading bits of their hash, and put into
//! their order bucket by bucket: those of one bucket lie so near each other that the cache holds
//! all of them ("radix partitioning", Manegold, Boncz and Kersten, 2002).

use crate::index::{self, Index, Value};
use crate::model::limits::{GATHERED_SLOTS_MAX, GRANTS_MAX};

/// Leading bits that tell the buckets apart, at the most: each is written to at its own end.
const BUCKET_BITS_MAX: u32 = 12;

/// Keys that are still to be entered. The bucket of a key is the memory that becomes its shard.
#[derive(Clone, Debug)]
pub struct Gathered {
    buckets: Vec<Vec<u64>>,
    bits: u32,
}

impl Gathered {
    /// No keys yet. About `keys` are said to come; room is made for a part if they are many.
    pub fn new(keys: u64) -> Gathered {
        let (bits, slots) = index::shape_of(keys.min(GRANTS_MAX) as usize);
        let bits = bits.min(BUCKET_BITS_MAX);
        let room = slots.min(GATHERED_SLOTS_MAX >> bits);
        let buckets = (0..1 << bits).map(|_| Vec::with_capacity(room)).collect();
        Gathered { buckets, bits }
    }

    /// Adds a key, whose number is above those before.
    #[inline]
    pub fn add(&mut self, hash: u64, number: u32) {
        let word = index::word_of(hash, Value { number, marked: false });
        self.buckets[word.unbounded_shr(u64::BITS - self.bits) as usize].push(word);
    }

    /// The index of all keys. `None` when two are the same by `is_same`.
    pub fn into_index(self, is_same: impl Fn(u32, u32) -> bool) -> Option<Index> {
        Index::of_buckets(self.buckets, is_same)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_found_and_doubles_are_seen() {
        let hash = |number: u32| u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // What is said to come may be wrong.
        for said in [0, 1, 40_000, 50_000, 1 << 53] {
            let mut gathered = Gathered::new(said);
            (1..=50_000).for_each(|number| gathered.add(hash(number), number));
            let mut all = gathered.clone();
            let index = gathered.into_index(|one, other| one == other).unwrap();
            assert_eq!(index.len(), 50_000);
            for number in 1..=50_000 {
                let found = index.find(hash(number), |value| value.number == number);
                assert_eq!(found, Some(Value { number, marked: false }));
            }
            all.add(hash(700), 50_001);
            assert!(all.into_index(|one, other| (one, other) == (700, 50_001)).is_none());
        }
    }

    #[test]
    fn the_word_of_a_snapshot_takes_little_memory() {
        for said in [1 << 20, 1 << 30, u64::MAX] {
            let gathered = Gathered::new(said);
            let slots: usize = gathered.buckets.iter().map(Vec::capacity).sum();
            assert!(slots <= GATHERED_SLOTS_MAX && gathered.buckets.len() <= 1 << 12);
        }
    }
}
