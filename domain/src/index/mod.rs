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

#[cfg(test)]
mod tests {
    use super::bulk::shape_of;
    use super::shard::{fragment_in, occupied, word_of};
    use super::*;

    /// A good 64-bit mixer (the finaliser of SplitMix64).
    fn mix(key: u64) -> u64 {
        let z = key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn value(number: u32) -> Value {
        Value { number, marked: false }
    }

    fn assert_sorted(index: &Index) {
        for shard in &index.shards {
            let words: Vec<u64> = occupied(&shard.words).collect();
            assert!(words.windows(2).all(|w| fragment_in(w[0]) <= fragment_in(w[1])));
            assert_eq!(words.len(), shard.used as usize);
        }
    }

    #[test]
    fn finds_every_key_and_no_other_while_it_grows() {
        let mut index = Index::default();
        let keys = 200_000u32;
        for key in 1..=keys {
            assert_eq!(index.find(mix(key.into()), |v| v.number == key), None);
            index.insert(mix(key.into()), value(key));
        }
        assert_eq!(index.len(), u64::from(keys));
        assert!(index.shards.len() > 1, "the test reaches splitting");
        assert_sorted(&index);
        for key in 1..=keys {
            let found = index.find(mix(key.into()), |v| v.number == key);
            assert_eq!(found, Some(value(key)));
        }
        let bytes = index.heap_bytes() as f64 / f64::from(keys);
        assert!(bytes < 16.0, "{bytes} bytes a key");
    }

    /// The words of keys 1 to `keys`, dealt out by their leading `depth` bits.
    fn buckets(keys: u32, depth: u32, room: usize) -> Vec<Vec<u64>> {
        let mut buckets = vec![Vec::with_capacity(room); 1 << depth];
        for key in 1..=keys {
            let word = word_of(mix(key.into()), value(key));
            buckets[word.unbounded_shr(u64::BITS - depth) as usize].push(word);
        }
        buckets
    }

    #[test]
    fn an_index_is_built_at_once_as_it_would_have_grown() {
        for keys in [1u32, 12, 13, 6000, 6200, 100_000, 1_000_000] {
            let (fitting, slots) = shape_of(keys as usize);
            let mut grown = Index::default();
            (1..=keys).for_each(|key| grown.insert(mix(key.into()), value(key)));
            // Fewer buckets than shards are split, more make small shards.
            for depth in [fitting, 0, 3, 12] {
                let buckets = buckets(keys, depth, if depth == fitting { slots } else { 0 });
                let mut built = Index::of_buckets(buckets, |_, _| false).unwrap();
                assert_sorted(&built);
                assert_eq!(built.len(), u64::from(keys));
                for key in (1..=keys).step_by(7) {
                    let found = built.find(mix(key.into()), |v| v.number == key);
                    assert_eq!(found, Some(value(key)), "{keys} {depth}");
                }
                if depth == fitting || depth == 0 {
                    let most = grown.heap_bytes() * 5 / 4 + 512;
                    assert!(built.heap_bytes() <= most, "{keys}: {}", built.heap_bytes());
                }
                let blocks = built.heap_blocks();
                for key in keys + 1..=keys + 1000 {
                    assert_eq!(built.find(mix(key.into()), |_| true), None);
                    built.insert(mix(key.into()), value(key));
                }
                let more = built.heap_blocks() - blocks;
                assert!(more <= 1 || keys < 100_000, "{more} shards were full");
                for key in keys - keys / 2..=keys + 1000 {
                    let found = built.find(mix(key.into()), |v| v.number == key);
                    assert_eq!(found, Some(value(key)), "{keys} {depth}");
                }
            }
        }
    }

    #[test]
    fn keys_that_come_twice_are_seen_while_building() {
        for again in [1u32, 999, 40_000] {
            let mut buckets = buckets(50_000, 4, 0);
            let word = word_of(mix(again.into()), value(50_001));
            buckets[(word >> 60) as usize].push(word);
            let seen = std::cell::RefCell::new(Vec::new());
            let is_same = |one: u32, other: u32| {
                seen.borrow_mut().push((one, other));
                (one, other) == (again, 50_001)
            };
            assert!(Index::of_buckets(buckets, is_same).is_none());
            assert_eq!(seen.borrow().last(), Some(&(again, 50_001)));
        }
        // Equal fragments of different keys: each is compared with all before it.
        let words: Vec<u64> = (1..=40).map(|key| word_of(u64::MAX, value(key))).collect();
        let index = Index::of_buckets(vec![words.clone()], |one, other| one >= other).unwrap();
        for key in 1..=40 {
            assert_eq!(index.find(u64::MAX, |v| v.number == key), Some(value(key)));
        }
        assert!(Index::of_buckets(vec![words], |one, other| (one, other) == (3, 40)).is_none());
        assert!(Index::of_buckets(vec![vec![]], |_, _| true).is_some_and(|index| index.is_empty()));
    }

    #[test]
    fn a_gap_of_another_time_or_key_does_no_harm() {
        let (mut index, mut gaps) = (Index::default(), Vec::new());
        for key in 1..=60_000u32 {
            let hash = mix(key.into());
            let Entry::Vacant(vacant) = index.entry(hash, |v| v.number == key) else {
                panic!("{key}")
            };
            gaps.push(vacant);
            // Its own gap, one that was right long ago, or that of a key elsewhere.
            let gap = match key % 4 {
                0 => gaps[key as usize / 2],
                1 => gaps[key as usize - 1],
                2 => Vacant { shard: key % 64, place: key % 9_000 },
                _ => Vacant { place: gaps[key as usize - 1].place + 1, ..gaps[key as usize - 1] },
            };
            index.insert_into(gap, hash, value(key));
        }
        assert_eq!(index.len(), 60_000);
        assert_sorted(&index);
        for key in 1..=60_000u32 {
            assert_eq!(index.find(mix(key.into()), |v| v.number == key), Some(value(key)));
        }
    }

    #[test]
    fn equal_fragments_live_side_by_side() {
        let mut index = Index::default();
        for number in 1..=3000 {
            index.insert(u64::MAX, value(number));
            index.insert(0, value(number + 10_000));
        }
        for number in 1..=3000 {
            assert_eq!(index.find(u64::MAX, |v| v.number == number), Some(value(number)));
            let low = number + 10_000;
            assert_eq!(index.find(0, |v| v.number == low), Some(value(low)));
        }
        assert_eq!(index.find(1 << 40, |_| true), None);
    }

    #[test]
    fn a_value_is_replaced_in_place() {
        let mut index = Index::default();
        index.insert(mix(1), value(1));
        index.insert(mix(2), value(2));
        index.replace(mix(1), value(1), Value { number: 1, marked: true });
        assert_eq!(index.find(mix(1), |_| true), Some(Value { number: 1, marked: true }));
        assert_eq!(index.find(mix(2), |_| true), Some(value(2)));
    }
}
