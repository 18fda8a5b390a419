//! A hash index from keys stored elsewhere to 32-bit values.
//!
//! Winners are found by user and by request id. The index stores no key. A slot is one 64-bit word
//! of hash fragment, mark and value, and the caller compares the key behind the value. The words of
//! a shard are sorted by fragment ("ordered hash tables", Amble and Knuth, 1974). So a miss ends at
//! the first larger fragment, and growing is one pass from left to right that reads no key. A
//! directory finds the shard by the leading bits of the fragment ("extendible hashing", Fagin et
//! al., 1979). One shard grows or splits at a time, so no insert pays for the whole table.
//!
//! The keys of a loading sale come all at once. Inserted one by one, each would miss the cache,
//! because its slot is far from the last one. So they are first dealt into buckets by the leading
//! bits of their hash, and then sorted bucket by bucket. One bucket fits in the cache ("radix
//! partitioning", Manegold, Boncz and Kersten, 2002).

mod shard;
mod tests;

use crate::model::limits::{BULK_LOAD_SLOTS_MAX, GRANTS_MAX, SLOTS_PER_SHARD_MAX};
use shard::{fragment_in, home_of, homes_in, next_slots, slots_for, value_in, word_of};
use shard::{Shard, FRAGMENT_BITS, SLOTS_MIN};

pub use shard::Value;

/// Most directory bits; beyond them shards only grow.
const DEPTH_MAX: u32 = 20;
/// Most slots of a shard of this depth: 2^32 keys are 4,096 in each on average.
const SLOTS_AT_DEPTH_MAX: usize = 16 * SLOTS_PER_SHARD_MAX;

/// The result of a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// The key exists and has this value.
    Occupied(Value),
    /// The key is missing and would be inserted here.
    Vacant(Vacant),
}

/// Slot for a missing key. The slot is checked when it is used, because the index may have changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Vacant {
    shard: u32,
    slot: u32,
}

impl Entry {
    /// The value of a key that was found.
    #[inline]
    pub fn value(self) -> Option<Value> {
        match self {
            Entry::Occupied(value) => Some(value),
            Entry::Vacant(_) => None,
        }
    }
}

/// The index. See the module's comment.
#[derive(Clone, Debug, Default)]
pub struct Index {
    shards: Vec<Shard>,
    /// Shard numbers, by the leading `depth` bits of the fragment.
    directory: Vec<u32>,
    depth: u32,
    len: u64,
}

impl Index {
    /// Keys in the index.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether the index has no key.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    fn shard_of(&self, fragment: u32) -> Option<usize> {
        let leading = u64::from(fragment) >> (FRAGMENT_BITS - self.depth);
        self.directory.get(leading as usize).map(|&shard| shard as usize)
    }

    /// The first word that a search for this hash reads; callers prefetch it.
    #[inline]
    pub fn first_look(&self, hash: u64) -> Option<&u64> {
        let fragment = fragment_in(hash);
        let shard = self.shards.get(self.shard_of(fragment)?)?;
        shard.words.get(shard.home(fragment))
    }

    /// The value whose key `is_key` recognises, among the keys with this hash.
    #[inline]
    pub fn find(&self, hash: u64, is_key: impl FnMut(Value) -> bool) -> Option<Value> {
        self.entry(hash, is_key).value()
    }

    /// Like [`Index::find`], but returns the slot for a missing key.
    #[inline]
    pub fn entry(&self, hash: u64, is_key: impl FnMut(Value) -> bool) -> Entry {
        let fragment = fragment_in(hash);
        let Some(number) = self.shard_of(fragment) else {
            return Entry::Vacant(Vacant::default());
        };
        let shard = &self.shards[number];
        match shard.find(fragment, is_key) {
            Ok(slot) => Entry::Occupied(value_in(shard.words[slot])),
            Err(slot) => Entry::Vacant(Vacant { shard: number as u32, slot: slot as u32 }),
        }
    }

    /// Adds a missing key.
    pub fn insert(&mut self, hash: u64, value: Value) {
        let fragment = fragment_in(hash);
        let word = word_of(hash, value);
        debug_assert_ne!(word, 0, "0 marks an empty slot");
        if self.shards.is_empty() {
            self.shards.push(Shard::of(vec![0; SLOTS_MIN].into_boxed_slice(), 0));
            self.directory.push(0);
        }
        while let Some(number) = self.shard_of(fragment) {
            let shard = &mut self.shards[number];
            let slot = shard.find(fragment, |_| false).unwrap_or_else(|slot| slot);
            if shard.room > 0 && shard.insert(slot, word) {
                self.len += 1;
                return;
            }
            self.make_room(number, fragment);
        }
    }

    /// Adds a missing key at `vacant`, if the index has not changed since the lookup.
    #[inline]
    pub fn insert_into(&mut self, vacant: Vacant, hash: u64, value: Value) {
        let (fragment, slot) = (fragment_in(hash), vacant.slot as usize);
        let number = self.shard_of(fragment).filter(|number| *number == vacant.shard as usize);
        let shard = number.and_then(|number| self.shards.get_mut(number));
        let fitting = shard.filter(|shard| shard.room > 0);
        if fitting.is_some_and(|shard| shard.insert(slot, word_of(hash, value))) {
            self.len += 1;
            return;
        }
        self.insert(hash, value);
    }

    /// Replaces the value of an existing key.
    pub fn replace(&mut self, hash: u64, old: Value, new: Value) {
        let fragment = fragment_in(hash);
        let Some(number) = self.shard_of(fragment) else {
            return;
        };
        let shard = &mut self.shards[number];
        let slot = shard.find(fragment, |value| value == old);
        debug_assert!(slot.is_ok(), "only a key that is there is replaced");
        if let Ok(slot) = slot {
            shard.words[slot] = word_of(hash, new);
        }
    }

    /// Removes an existing key.
    pub fn remove(&mut self, hash: u64, value: Value) {
        let fragment = fragment_in(hash);
        let Some(number) = self.shard_of(fragment) else { return };
        let shard = &mut self.shards[number];
        let slot = shard.find(fragment, |other| other == value);
        debug_assert!(slot.is_ok(), "only a key that is there is removed");
        if let Ok(slot) = slot {
            shard.remove(slot);
            self.len -= 1;
        }
        // The memory of a large index is freed shard by shard, not at once with its last key.
        if shard.is_empty() {
            *shard = Shard::of(vec![0; SLOTS_MIN].into_boxed_slice(), shard.depth);
        }
        if self.is_empty() {
            *self = Index::default();
        }
    }

    fn make_room(&mut self, number: usize, fragment: u32) {
        let shard = &self.shards[number];
        if shard.words.len() < SLOTS_PER_SHARD_MAX || shard.depth >= DEPTH_MAX {
            self.shards[number] = shard.grown();
        } else {
            self.split(number, fragment);
        }
    }

    /// Replaces a shard by its two halves. `fragment` is one of the shard's.
    fn split(&mut self, number: usize, fragment: u32) {
        let (lower, upper) = self.shards[number].halves(fragment);
        let depth = lower.depth;
        if depth > self.depth {
            self.directory = self.directory.iter().flat_map(|&shard| [shard, shard]).collect();
            self.depth += 1;
        }
        let upper_number = self.shards.len() as u32;
        // A shard's directory entries are adjacent; the upper half of them moves to the new shard.
        let entries = 1usize << (self.depth - depth);
        let prefix = (fragment >> (FRAGMENT_BITS - depth)) as usize | 1;
        self.directory[prefix * entries..(prefix + 1) * entries].fill(upper_number);
        self.shards[number] = lower;
        self.shards.push(upper);
    }

    /// Frees up to `blocks` shards of an index that is no longer used. False when none is left.
    pub fn free_some(&mut self, blocks: usize) -> bool {
        self.shards.truncate(self.shards.len().saturating_sub(blocks));
        !self.shards.is_empty()
    }

    /// Bytes of heap in use.
    pub fn heap_bytes(&self) -> usize {
        let words: usize = self.shards.iter().map(|shard| shard.words.len() * 8).sum();
        words + self.shards.capacity() * size_of::<Shard>() + self.directory.capacity() * 4
    }

    /// Number of heap blocks: the cost of freeing them.
    pub fn heap_blocks(&self) -> usize {
        self.shards.len() + 2
    }

    /// The slot arrays, for a defragmenter that moves them.
    pub fn blocks_mut(&mut self) -> impl Iterator<Item = &mut Box<[u64]>> {
        self.shards.iter_mut().map(|shard| &mut shard.words)
    }
}

/// Most leading bits that select a bucket: each bucket is appended to separately.
const BUCKET_BITS_MAX: u32 = 12;

/// Keys still to be inserted. The memory of a bucket becomes that of its shard.
#[derive(Clone, Debug)]
pub struct BulkLoad {
    buckets: Vec<Vec<u64>>,
    bits: u32,
}

impl BulkLoad {
    /// An empty load. About `keys` keys are announced; if they are many, memory for a part is
    /// allocated.
    pub fn new(keys: u64) -> BulkLoad {
        let (bits, slots) = shape_of(keys.min(GRANTS_MAX) as usize);
        let bits = bits.min(BUCKET_BITS_MAX);
        let room = slots.min(BULK_LOAD_SLOTS_MAX >> bits);
        let buckets = (0..1 << bits).map(|_| Vec::with_capacity(room)).collect();
        BulkLoad { buckets, bits }
    }

    /// Adds a key. Its number is above all earlier ones.
    #[inline]
    pub fn add(&mut self, hash: u64, number: u32) {
        let word = word_of(hash, Value { number, marked: false });
        self.buckets[word.unbounded_shr(u64::BITS - self.bits) as usize].push(word);
    }

    /// The index of all keys. `None` if two keys are equal by `is_same`.
    pub fn into_index(self, is_same: impl Fn(u32, u32) -> bool) -> Option<Index> {
        let depth = self.bits;
        let len = self.buckets.iter().map(Vec::len).sum::<usize>() as u64;
        if len == 0 {
            return Some(Index::default());
        }
        let shards = Vec::with_capacity(self.buckets.len());
        let mut builder = Builder { shards, is_same, words: Vec::new(), starts: Vec::new() };
        self.buckets.into_iter().try_for_each(|bucket| builder.add(bucket, depth))?;
        let shards = builder.shards;
        let depth = shards.iter().map(|shard| shard.depth).max().unwrap_or(0);
        // Shards are in the order of their leading bits, as is the directory.
        let entries = |(number, shard): (u32, &Shard)| {
            core::iter::repeat_n(number, 1 << (depth - shard.depth))
        };
        let directory = (0..).zip(&shards).flat_map(entries).collect();
        Some(Index { shards, directory, depth, len })
    }
}

/// The shape of an index of `keys` keys: leading bits that select a shard, and slots enough for
/// each shard.
pub fn shape_of(keys: usize) -> (u32, usize) {
    let slots_at = |depth: u32| {
        let mean = keys >> depth;
        // Shards vary in size: four standard deviations are added.
        slots_for(mean + 4 * mean.isqrt() + 1)
    };
    let shapes = (0..DEPTH_MAX).map(|depth| (depth, slots_at(depth)));
    let fitting = shapes.into_iter().find(|(_, slots)| *slots <= SLOTS_PER_SHARD_MAX);
    fitting.unwrap_or((DEPTH_MAX, SLOTS_PER_SHARD_MAX))
}

/// Builds shards from unsorted words, from the lowest leading bits to the highest.
struct Builder<F> {
    shards: Vec<Shard>,
    is_same: F,
    /// Buffers that are reused for each shard: its words, and the start of each home's words.
    words: Vec<u64>,
    starts: Vec<u32>,
}

impl<F: Fn(u32, u32) -> bool> Builder<F> {
    /// Adds the words of a `bucket`, which share their leading `depth` bits.
    fn add(&mut self, bucket: Vec<u64>, depth: u32) -> Option<()> {
        let least = slots_for(bucket.len());
        // The bucket's memory becomes the shard's if its size is about right.
        let fits = (least..=next_slots(least)).contains(&bucket.capacity());
        let mut slots = if fits { bucket.capacity() } else { least };
        let is_deep = depth >= DEPTH_MAX;
        let most = if is_deep { SLOTS_AT_DEPTH_MAX } else { SLOTS_PER_SHARD_MAX };
        while slots <= most && !lay_out(&bucket, slots, depth, &mut self.starts) {
            slots = next_slots(slots);
        }
        if slots > most {
            // Keys that differ are never so many here: a dump names one key again and again.
            if is_deep {
                return None;
            }
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
        let mut shard = Shard::of(blank.into_boxed_slice(), depth);
        shard.deal(&self.words, &mut self.starts, &self.is_same)?;
        self.shards.push(shard);
        Some(())
    }
}

impl Shard {
    /// Fills an empty shard from the laid-out words, words of one fragment by ascending number.
    /// `None` if two keys are equal.
    fn deal(
        &mut self,
        words: &[u64],
        starts: &mut [u32],
        is_same: &impl Fn(u32, u32) -> bool,
    ) -> Option<()> {
        for &word in words {
            let start = &mut starts[self.home(fragment_in(word))];
            let mut slot = *start as usize;
            *start += 1;
            while slot > 0 && self.words[slot - 1] > word {
                self.words[slot] = self.words[slot - 1];
                slot -= 1;
            }
            self.words[slot] = word;
            let before = self.words[..slot].iter().rev();
            let mut equal = before.take_while(|other| fragment_in(**other) == fragment_in(word));
            if equal.any(|other| is_same(*other as u32, word as u32)) {
                return None;
            }
        }
        self.room -= words.len() as i32;
        Some(())
    }
}

/// Computes the start of each home position's words in a shard that holds `words` sorted ("counting
/// sort", Seward, 1954). False if the slack overflows.
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
