//! A hash index from keys that live elsewhere to 32-bit values.
//!
//! Winners are found by user and by request id. The index stores no key: a slot is one 64-bit word
//! of hash fragment, mark and value, and the caller compares the key that the value leads to. The
//! words of a shard are kept sorted by fragment ("ordered hash tables", Amble and Knuth, 1974), so
//! a miss ends at the first larger fragment, and growing is one pass from left to right that
//! fetches no key. The shards are addressed by the leading bits of the fragment through a directory
//! ("extendible hashing", Fagin et al., 1979): one shard grows or splits at a time, so no insert
//! pays for the whole table.

pub(super) mod bulk;
mod shard;
mod tests;

use crate::model::limits::SLOTS_PER_SHARD_MAX;
use shard::{fragment_of, pack, value_in, Shard, FRAGMENT_BITS, SLOTS_MIN};

pub use shard::Value;

/// Directory bits at the most; beyond it shards just grow.
const DEPTH_MAX: u32 = 20;

/// What a look for a key comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// The key is there, with this value.
    Occupied(Value),
    /// It is not, and belongs here.
    Vacant(Vacant),
}

/// Where a key that is not there belongs. It is checked when used: the index may have changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Vacant {
    shard: u32,
    place: u32,
}

impl Entry {
    /// The value of a key that is there.
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
    /// Shard number by the leading `depth` bits of the fragment.
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

    /// The word that a search for this hash begins with.
    #[inline]
    pub fn first_look(&self, hash: u64) -> Option<&u64> {
        let fragment = fragment_of(hash);
        let shard = self.shards.get(self.shard_of(fragment)?)?;
        shard.words.get(shard.home(fragment))
    }

    /// The value whose key `is_key` recognises, among those with this hash.
    #[inline]
    pub fn find(&self, hash: u64, is_key: impl FnMut(Value) -> bool) -> Option<Value> {
        self.entry(hash, is_key).value()
    }

    /// The same, or else where the key belongs.
    #[inline]
    pub fn entry(&self, hash: u64, is_key: impl FnMut(Value) -> bool) -> Entry {
        let fragment = fragment_of(hash);
        let Some(number) = self.shard_of(fragment) else {
            return Entry::Vacant(Vacant::default());
        };
        let shard = &self.shards[number];
        match shard.find(fragment, is_key) {
            Ok(place) => Entry::Occupied(value_in(shard.words[place])),
            Err(place) => Entry::Vacant(Vacant { shard: number as u32, place: place as u32 }),
        }
    }

    /// Adds a key that is not there yet.
    pub fn insert(&mut self, hash: u64, value: Value) {
        let fragment = fragment_of(hash);
        let word = pack(fragment, value);
        debug_assert_ne!(word, 0, "0 marks an empty slot");
        if self.shards.is_empty() {
            self.shards.push(Shard::new(SLOTS_MIN, 0));
            self.directory.push(0);
        }
        while let Some(number) = self.shard_of(fragment) {
            let shard = &mut self.shards[number];
            let place = shard.find(fragment, |_| false).unwrap_or_else(|place| place);
            if !shard.is_full() && shard.insert(place, word) {
                self.len += 1;
                return;
            }
            self.make_room(number, fragment);
        }
    }

    /// Adds a key that is not there yet and that belongs into `vacant`, if nothing has changed
    /// since.
    #[inline]
    pub fn insert_into(&mut self, vacant: Vacant, hash: u64, value: Value) {
        let (fragment, place) = (fragment_of(hash), vacant.place as usize);
        let number = self.shard_of(fragment).filter(|number| *number == vacant.shard as usize);
        let shard = number.and_then(|number| self.shards.get_mut(number));
        let fitting = shard.filter(|shard| !shard.is_full() && shard.is_gap(place, fragment));
        if fitting.is_some_and(|shard| shard.insert(place, pack(fragment, value))) {
            self.len += 1;
            return;
        }
        self.insert(hash, value);
    }

    /// Replaces the value of a key that is there.
    pub fn replace(&mut self, hash: u64, old: Value, new: Value) {
        let fragment = fragment_of(hash);
        let Some(number) = self.shard_of(fragment) else {
            return;
        };
        let shard = &mut self.shards[number];
        let place = shard.find(fragment, |value| value == old);
        debug_assert!(place.is_ok(), "only a key that is there is replaced");
        if let Ok(place) = place {
            shard.words[place] = pack(fragment, new);
        }
    }

    /// Removes a key that is there, with its value.
    pub fn remove(&mut self, hash: u64, value: Value) {
        let fragment = fragment_of(hash);
        let Some(number) = self.shard_of(fragment) else { return };
        let shard = &mut self.shards[number];
        let place = shard.find(fragment, |other| other == value);
        debug_assert!(place.is_ok(), "only a key that is there is removed");
        if let Ok(place) = place {
            shard.remove(place);
            self.len -= 1;
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

    /// Puts two halves in the place of a shard, in which `fragment` belongs.
    fn split(&mut self, number: usize, fragment: u32) {
        let (lower, upper) = self.shards[number].halves(fragment);
        let depth = lower.depth;
        if depth > self.depth {
            self.directory = self.directory.iter().flat_map(|&shard| [shard, shard]).collect();
            self.depth += 1;
        }
        let upper_number = self.shards.len() as u32;
        // A shard's directory entries stand side by side; the upper half of them moves.
        let entries = 1usize << (self.depth - depth);
        let prefix = (fragment >> (FRAGMENT_BITS - depth)) as usize | 1;
        self.directory[prefix * entries..(prefix + 1) * entries].fill(upper_number);
        self.shards[number] = lower;
        self.shards.push(upper);
    }

    /// Gives back up to `blocks` shards of an index that nobody looks into any more. False when
    /// none is left.
    pub fn shed(&mut self, blocks: usize) -> bool {
        self.shards.truncate(self.shards.len().saturating_sub(blocks));
        !self.shards.is_empty()
    }

    /// Bytes of heap in use.
    pub fn heap_bytes(&self) -> usize {
        let words: usize = self.shards.iter().map(|shard| shard.words.len() * 8).sum();
        words + self.shards.capacity() * size_of::<Shard>() + self.directory.capacity() * 4
    }

    /// Blocks of heap in use: what freeing costs.
    pub fn heap_blocks(&self) -> usize {
        self.shards.len() + 2
    }

    /// The slot arrays, for a defragmenter that moves them.
    pub fn blocks_mut(&mut self) -> impl Iterator<Item = &mut Box<[u64]>> {
        self.shards.iter_mut().map(|shard| &mut shard.words)
    }
}
