//! A hash index from keys that live elsewhere to 32-bit values.
//!
//! Winners are found by user and by request id. The index stores no key: a slot is one 64-bit word
//! of hash fragment, mark and value, and the caller compares the key that the value leads to. The
//! words of a shard are kept sorted by fragment ("ordered hash tables", Amble and Knuth, 1974), so
//! a miss ends at the first larger fragment, and growing is one pass from left to right that
//! fetches no key. The shards are addressed by the leading bits of the fragment through a directory
//! ("extendible hashing", Fagin et al., 1979): one shard grows or splits at a time, so no insert
//! pays for the whole table.

use super::limits::SLOTS_PER_SHARD_MAX;

/// Bits of a hash that a slot keeps.
const FRAGMENT_BITS: u32 = 31;
/// Words behind the last home position, for keys displaced past it.
const SLACK_SLOTS_MAX: usize = 32;
/// Words of the smallest shard.
const SLOTS_MIN: usize = 16;
/// Directory bits at the most; beyond it shards just grow.
const DEPTH_MAX: u32 = 20;

/// A value of the index: 32 bits and a mark that tells two kinds of value apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    pub number: u32,
    pub marked: bool,
}

/// Where a key that is not there belongs. It is checked when used: the index may have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    shard: u32,
    place: u32,
}

/// One sorted open-addressing table. An empty word is 0.
#[derive(Clone, Debug)]
struct Shard {
    words: Box<[u64]>,
    used: u32,
    /// Leading fragment bits that all keys of this shard share.
    depth: u32,
}

/// Where the words of a shard are: what tells the first place of a search apart from those of other
/// shards, so that the memory can be fetched without looking into the index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lane {
    /// Address of its first word.
    words: usize,
    homes: u32,
    depth: u32,
}

impl Lane {
    /// The address of the word that a search for this hash begins with.
    #[inline]
    pub fn address(&self, hash: u64) -> usize {
        let place = home_of(fragment_of(hash), self.depth, self.homes as usize);
        self.words + place * size_of::<u64>()
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

fn fragment_of(hash: u64) -> u32 {
    (hash >> (64 - FRAGMENT_BITS)) as u32
}

fn pack(fragment: u32, value: Value) -> u64 {
    u64::from(fragment) << 33 | u64::from(value.marked) << 32 | u64::from(value.number)
}

fn fragment_in(word: u64) -> u32 {
    (word >> 33) as u32
}

fn value_in(word: u64) -> Value {
    Value { number: word as u32, marked: word >> 32 & 1 == 1 }
}

impl Shard {
    fn new(slots: usize, depth: u32) -> Shard {
        Shard { words: vec![0; slots].into_boxed_slice(), used: 0, depth }
    }

    /// Slots that are somebody's home position; the rest is slack.
    fn homes(&self) -> usize {
        self.words.len() - slack_of(self.words.len())
    }

    #[inline]
    fn home(&self, fragment: u32) -> usize {
        home_of(fragment, self.depth, self.homes())
    }

    /// Where the key is, or else where the order wants it.
    #[inline]
    fn find(&self, fragment: u32, mut is_key: impl FnMut(Value) -> bool) -> Result<usize, usize> {
        let mut place = self.home(fragment);
        while let Some(&word) = self.words.get(place) {
            if word == 0 || fragment_in(word) > fragment {
                break;
            }
            if fragment_in(word) == fragment && is_key(value_in(word)) {
                return Ok(place);
            }
            place += 1;
        }
        Err(place)
    }

    /// Whether the order wants a key of this fragment, which is not there, at `place`: between
    /// what is not larger, up to its home position, and what is.
    #[inline]
    fn is_gap(&self, place: usize, fragment: u32) -> bool {
        let is_before = |word: &u64| *word != 0 && fragment_in(*word) <= fragment;
        let home = self.home(fragment);
        self.words.get(place).is_some_and(|word| !is_before(word))
            && (place == home || place > home && is_before(&self.words[place - 1]))
    }

    /// Puts `word` at `place`, where the order wants it. False when there is no room behind it.
    #[inline]
    fn insert(&mut self, place: usize, word: u64) -> bool {
        // Nearly always: then there is an empty slot behind every place.
        let is_last_free = self.words.last() == Some(&0);
        let Some(run) = self.words.get_mut(place..) else { return false };
        if !is_last_free && !run.contains(&0) {
            return false;
        }
        // Runs are short: moving word by word is faster than a call that moves bytes.
        let mut carried = word;
        for slot in run {
            carried = core::mem::replace(slot, carried);
            if carried == 0 {
                break;
            }
        }
        self.used += 1;
        true
    }

    fn is_full(&self) -> bool {
        // 3/4 of the home positions: beyond it runs grow past the cache line they begin in.
        self.used as usize * 4 >= self.homes() * 3
    }

    /// Fills an empty shard from sorted words. False when the slack overflows.
    fn fill(&mut self, words: impl Iterator<Item = u64>) -> bool {
        let mut next = 0;
        for word in words {
            let place = self.home(fragment_in(word)).max(next);
            if place >= self.words.len() {
                return false;
            }
            self.words[place] = word;
            self.used += 1;
            next = place + 1;
        }
        true
    }

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

    /// Where the keys begin whose next bit of the fragment is set: no other lies behind.
    fn middle(&self, fragment: u32) -> usize {
        let bit = FRAGMENT_BITS - self.depth - 1;
        let least = (fragment >> bit | 1) << bit;
        let is_before = |word: &u64| *word != 0 && fragment_in(*word) < least;
        let home = self.home(least);
        // What is before it and has been displaced past its home lies there without a gap.
        home + self.words[home..].iter().take_while(|word| is_before(word)).count()
    }
}

fn occupied(words: &[u64]) -> impl Iterator<Item = u64> + Clone + '_ {
    words.iter().copied().filter(|&word| word != 0)
}

/// A shard of `depth` that holds those of `words` which are not empty, with room for more.
fn of_half(words: &[u64], depth: u32) -> Shard {
    built(size_for(occupied(words).count()), depth, occupied(words))
}

/// Home position: monotone in the fragment, which is what keeps the words sorted.
#[inline]
fn home_of(fragment: u32, depth: u32, homes: usize) -> usize {
    let within = (fragment << (32 - FRAGMENT_BITS)) << depth;
    ((u64::from(within) * homes as u64) >> 32) as usize
}

/// Where the words of each home position begin in a shard that has `words` in their order
/// ("counting sort", Seward, 1954). False when the slack overflows.
fn lay_out(words: &[u64], slots: usize, depth: u32, starts: &mut Vec<u32>) -> bool {
    let homes = slots - slack_of(slots);
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

fn slack_of(slots: usize) -> usize {
    (slots / 8).min(SLACK_SLOTS_MAX)
}

/// The next larger size: two steps to a doubling, both size classes of jemalloc, so that nothing is
/// lost between what is asked for and what is given. With smaller steps each key is moved more
/// often as the index grows, with larger ones more slots are empty.
fn next_slots(slots: usize) -> usize {
    match slots.is_power_of_two() {
        true => slots + slots / 2,
        false => slots.next_power_of_two(),
    }
}

fn size_for(count: usize) -> usize {
    let mut slots = SLOTS_MIN;
    while (slots - slack_of(slots)) * 3 < count * 5 {
        slots = next_slots(slots);
    }
    slots
}

/// A shard of `depth` that holds `words`, of the smallest size from `slots` up that takes them.
fn built(mut slots: usize, depth: u32, words: impl Iterator<Item = u64> + Clone) -> Shard {
    loop {
        let mut shard = Shard::new(slots, depth);
        if shard.fill(words.clone()) {
            return shard;
        }
        slots = next_slots(slots);
    }
}

/// Slots of the smallest shard that is not full with `count` keys.
fn slots_for(count: usize) -> usize {
    let mut slots = SLOTS_MIN;
    while (slots - slack_of(slots)) * 3 <= count * 4 {
        slots = next_slots(slots);
    }
    slots
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

/// What a slot keeps of a key.
#[inline]
pub fn word_of(hash: u64, value: Value) -> u64 {
    pack(fragment_of(hash), value)
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

    /// Leading bits of a hash that tell the shards apart.
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// Where a search for this hash begins.
    #[inline]
    pub fn lane(&self, hash: u64) -> Option<Lane> {
        let shard = self.shards.get(self.shard_of(fragment_of(hash))?)?;
        let words = shard.words.as_ptr() as usize;
        Some(Lane { words, homes: shard.homes() as u32, depth: shard.depth })
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
        self.look(hash, is_key).ok()
    }

    /// The same, or else where the key belongs.
    #[inline]
    pub fn look(&self, hash: u64, is_key: impl FnMut(Value) -> bool) -> Result<Value, Gap> {
        let fragment = fragment_of(hash);
        let Some(number) = self.shard_of(fragment) else { return Err(Gap { shard: 0, place: 0 }) };
        let shard = &self.shards[number];
        match shard.find(fragment, is_key) {
            Ok(place) => Ok(value_in(shard.words[place])),
            Err(place) => Err(Gap { shard: number as u32, place: place as u32 }),
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

    /// Adds a key that is not there yet and that belongs into `gap`, if nothing has changed since.
    #[inline]
    pub fn insert_into(&mut self, gap: Gap, hash: u64, value: Value) {
        let (fragment, place) = (fragment_of(hash), gap.place as usize);
        let number = self.shard_of(fragment).filter(|number| *number == gap.shard as usize);
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

    fn make_room(&mut self, number: usize, fragment: u32) {
        let shard = &self.shards[number];
        if shard.words.len() < SLOTS_PER_SHARD_MAX || shard.depth >= DEPTH_MAX {
            let slots = next_slots(shard.words.len());
            self.shards[number] = built(slots, shard.depth, occupied(&shard.words));
        } else {
            self.split(number, fragment);
        }
    }

    /// Splits a shard by the next bit of the fragment. Its words are sorted, so the halves are too.
    fn split(&mut self, number: usize, fragment: u32) {
        let old = &self.shards[number];
        let depth = old.depth + 1;
        let (lower, upper) = old.words.split_at(old.middle(fragment));
        let (lower, upper) = (of_half(lower, depth), of_half(upper, depth));
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
                let further = built.heap_blocks() - blocks;
                assert!(further <= 1 || keys < 100_000, "{further} shards were full");
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
            gaps.push(index.look(hash, |v| v.number == key).unwrap_err());
            // Its own gap, one that was right long ago, or that of a key elsewhere.
            let gap = match key % 4 {
                0 => gaps[key as usize / 2],
                1 => gaps[key as usize - 1],
                2 => Gap { shard: key % 64, place: key % 9_000 },
                _ => Gap { place: gaps[key as usize - 1].place + 1, ..gaps[key as usize - 1] },
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

    #[test]
    fn sizes_are_the_size_classes_of_the_allocator() {
        let mut slots = SLOTS_MIN;
        let mut seen = vec![];
        while slots <= 64 {
            seen.push(slots * 8);
            slots = next_slots(slots);
        }
        assert_eq!(seen, [128, 192, 256, 384, 512]);
    }
}
