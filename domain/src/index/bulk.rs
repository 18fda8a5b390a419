//! Keys of an index that come all at once, when a sale is loaded.
//!
//! Entered as they come, each key would miss the cache, because its place has nothing to do with
//! the place before. So they are first dealt out by the leading bits of their hash, and put into
//! their order bucket by bucket: those of one bucket lie so near each other that the cache holds
//! all of them ("radix partitioning", Manegold, Boncz and Kersten, 2002).

use super::shard::{fragment_in, home_of, homes_in, next_slots, slots_for, word_of};
use super::shard::{Shard, Value, FRAGMENT_BITS};
use super::{Index, DEPTH_MAX};
use crate::model::limits::{BULK_LOAD_SLOTS_MAX, GRANTS_MAX, SLOTS_PER_SHARD_MAX};

/// Leading bits that tell the buckets apart, at the most: each is written to at its own end.
const BUCKET_BITS_MAX: u32 = 12;

/// Keys that are still to be entered. The bucket of a key is the memory that becomes its shard.
#[derive(Clone, Debug)]
pub struct BulkLoad {
    buckets: Vec<Vec<u64>>,
    bits: u32,
}

impl BulkLoad {
    /// No keys yet. About `keys` are said to come; room is made for a part if they are many.
    pub fn new(keys: u64) -> BulkLoad {
        let (bits, slots) = shape_of(keys.min(GRANTS_MAX) as usize);
        let bits = bits.min(BUCKET_BITS_MAX);
        let room = slots.min(BULK_LOAD_SLOTS_MAX >> bits);
        let buckets = (0..1 << bits).map(|_| Vec::with_capacity(room)).collect();
        BulkLoad { buckets, bits }
    }

    /// Adds a key, whose number is above those before.
    #[inline]
    pub fn add(&mut self, hash: u64, number: u32) {
        let word = word_of(hash, Value { number, marked: false });
        self.buckets[word.unbounded_shr(u64::BITS - self.bits) as usize].push(word);
    }

    /// The index of all keys. `None` when two are the same by `is_same`.
    pub fn into_index(self, is_same: impl Fn(u32, u32) -> bool) -> Option<Index> {
        Index::of_buckets(self.buckets, is_same)
    }
}

/// How an index of `keys` keys is divided: leading bits that tell its shards apart, and slots that
/// are enough for each of them.
pub fn shape_of(keys: usize) -> (u32, usize) {
    let slots_at = |depth: u32| {
        let mean = keys >> depth;
        // Shards differ: four standard deviations more.
        slots_for(mean + 4 * mean.isqrt() + 1)
    };
    let shapes = (0..DEPTH_MAX).map(|depth| (depth, slots_at(depth)));
    let fitting = shapes.into_iter().find(|(_, slots)| *slots <= SLOTS_PER_SHARD_MAX);
    fitting.unwrap_or((DEPTH_MAX, SLOTS_PER_SHARD_MAX))
}

/// Builds shards from words that come in no order, from the lowest leading bits to the highest.
struct Builder<F> {
    shards: Vec<Shard>,
    is_same: F,
    /// Used for one shard after the other: its words, and where those of each home begin.
    words: Vec<u64>,
    starts: Vec<u32>,
}

impl<F: Fn(u32, u32) -> bool> Builder<F> {
    /// Adds the words of a `bucket`, which share their leading `depth` bits.
    fn add(&mut self, bucket: Vec<u64>, depth: u32) -> Option<()> {
        let least = slots_for(bucket.len());
        // The memory that they came in becomes the shard's if it is about what that needs.
        let fits = (least..=next_slots(least)).contains(&bucket.capacity());
        let mut slots = if fits { bucket.capacity() } else { least };
        let is_too_large = |slots| slots > SLOTS_PER_SHARD_MAX && depth < DEPTH_MAX;
        while !is_too_large(slots) && !lay_out(&bucket, slots, depth, &mut self.starts) {
            slots = next_slots(slots);
        }
        if is_too_large(slots) {
            let bit = FRAGMENT_BITS - depth - 1;
            let is_upper = |word: &u64| fragment_in(*word) >> bit & 1 == 1;
            let (upper, lower) = bucket.into_iter().partition(is_upper);
            self.add(lower, depth + 1)?;
            return self.add(upper, depth + 1);
        }
        self.words.clear();
        self.words.extend_from_slice(&bucket);
        let mut blank = if slots == bucket.capacity() { bucket } else { Vec::new() };
        blank.clear();
        blank.resize(slots, 0);
        let mut shard = Shard { words: blank.into_boxed_slice(), used: 0, depth };
        shard.deal(&self.words, &mut self.starts, &self.is_same)?;
        self.shards.push(shard);
        Some(())
    }
}

impl Shard {
    /// Fills an empty shard from words that were laid out, those of one fragment by ascending
    /// number. `None` when two of them are the same.
    fn deal(
        &mut self,
        words: &[u64],
        starts: &mut [u32],
        is_same: &impl Fn(u32, u32) -> bool,
    ) -> Option<()> {
        for &word in words {
            let start = &mut starts[self.home(fragment_in(word))];
            let mut place = *start as usize;
            *start += 1;
            while place > 0 && self.words[place - 1] > word {
                self.words[place] = self.words[place - 1];
                place -= 1;
            }
            self.words[place] = word;
            let before = self.words[..place].iter().rev();
            let mut equal = before.take_while(|other| fragment_in(**other) == fragment_in(word));
            if equal.any(|other| is_same(*other as u32, word as u32)) {
                return None;
            }
        }
        self.used = words.len() as u32;
        Some(())
    }
}

/// Where the words of each home position begin in a shard that has `words` in their order
/// ("counting sort", Seward, 1954). False when the slack overflows.
fn lay_out(words: &[u64], slots: usize, depth: u32, starts: &mut Vec<u32>) -> bool {
    let homes = homes_in(slots);
    starts.clear();
    starts.resize(homes, 0);
    for word in words {
        starts[home_of(fragment_in(*word), depth, homes)] += 1;
    }
    let mut next = 0;
    for (home, start) in (0u32..).zip(starts) {
        let count = core::mem::replace(start, home.max(next));
        next = *start + count;
    }
    next as usize <= slots
}

impl Index {
    /// An index of all keys at once. Each of the `buckets`, a power of two, has the words of one
    /// pattern of leading bits in the order of their numbers, which are not marked. `None` when
    /// two keys are the same by `is_same`.
    pub fn of_buckets(buckets: Vec<Vec<u64>>, is_same: impl Fn(u32, u32) -> bool) -> Option<Index> {
        let depth = buckets.len().checked_ilog2().unwrap_or(0);
        let len = buckets.iter().map(Vec::len).sum::<usize>() as u64;
        if len == 0 {
            return Some(Index::default());
        }
        let shards = Vec::with_capacity(buckets.len());
        let mut builder = Builder { shards, is_same, words: Vec::new(), starts: Vec::new() };
        buckets.into_iter().try_for_each(|bucket| builder.add(bucket, depth))?;
        let shards = builder.shards;
        let depth = shards.iter().map(|shard| shard.depth).max().unwrap_or(0);
        // The shards are in the order of their leading bits, and so is the directory.
        let entries = |(number, shard): (u32, &Shard)| {
            core::iter::repeat_n(number, 1 << (depth - shard.depth))
        };
        let directory = (0..).zip(&shards).flat_map(entries).collect();
        Some(Index { shards, directory, depth, len })
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
            let mut load = BulkLoad::new(said);
            (1..=50_000).for_each(|number| load.add(hash(number), number));
            let mut all = load.clone();
            let index = load.into_index(|one, other| one == other).unwrap();
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
            let load = BulkLoad::new(said);
            let slots: usize = load.buckets.iter().map(Vec::capacity).sum();
            assert!(slots <= BULK_LOAD_SLOTS_MAX && load.buckets.len() <= 1 << 12);
        }
    }
}
