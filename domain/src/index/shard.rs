//! One shard of the index: a table of words that are sorted by fragment. First what a word keeps of
//! a key, then how many slots there are, then the table.

/// Bits of a hash that a slot keeps.
pub(super) const FRAGMENT_BITS: u32 = 31;

/// A value of the index: 32 bits and a mark that tells two kinds of value apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    pub number: u32,
    pub marked: bool,
}

/// The fragment that a hash begins with, and the word of it in a slot.
#[inline]
pub(super) fn fragment_in(hash_or_word: u64) -> u32 {
    (hash_or_word >> (64 - FRAGMENT_BITS)) as u32
}

#[inline]
pub(super) fn value_in(word: u64) -> Value {
    Value { number: word as u32, marked: word >> 32 & 1 == 1 }
}

/// What a slot keeps of a key: the fragment of its hash, then the mark, then the number.
#[inline]
pub fn word_of(hash: u64, value: Value) -> u64 {
    hash >> 33 << 33 | u64::from(value.marked) << 32 | u64::from(value.number)
}

/// Words of the smallest shard.
pub(super) const SLOTS_MIN: usize = 16;
/// Words behind the last home position, for keys displaced past it.
const SLACK_SLOTS_MAX: usize = 32;

/// Slots that are somebody's home position; the rest is slack.
pub(super) fn homes_in(slots: usize) -> usize {
    slots - (slots / 8).min(SLACK_SLOTS_MAX)
}

/// Keys with which a shard of so many home positions is full.
pub(super) fn keys_max(homes: usize) -> usize {
    // 3/4 of the home positions: beyond it runs grow past the cache line they begin in.
    (homes * 3).div_ceil(4)
}

/// The next larger size: two steps to a doubling, both size classes of jemalloc, so that nothing is
/// lost between what is asked for and what is given. With smaller steps each key is moved more
/// often as the index grows, with larger ones more slots are empty.
pub(super) fn next_slots(slots: usize) -> usize {
    match slots.is_power_of_two() {
        true => slots + slots / 2,
        false => slots.next_power_of_two(),
    }
}

/// Slots of the smallest shard whose home positions are enough.
fn least_slots(is_enough: impl Fn(usize) -> bool) -> usize {
    let mut slots = SLOTS_MIN;
    while !is_enough(homes_in(slots)) {
        slots = next_slots(slots);
    }
    slots
}

/// Slots of the smallest shard that is not full with `keys` keys.
pub(super) fn slots_for(keys: usize) -> usize {
    least_slots(|homes| keys < keys_max(homes))
}

/// Slots of the smallest shard that `keys` keys fill to 3/5 at the most: what a half begins with.
pub(super) fn slots_for_half(keys: usize) -> usize {
    least_slots(|homes| homes * 3 >= keys * 5)
}

/// One sorted open-addressing table. An empty word is 0.
#[derive(Clone, Debug)]
pub(super) struct Shard {
    pub(super) words: Box<[u64]>,
    /// Keys that it takes until it is full.
    pub(super) room: i32,
    /// Leading fragment bits that all keys of this shard share.
    pub(super) depth: u32,
}

impl Shard {
    /// An empty shard of these words, each of which is 0.
    pub(super) fn of(words: Box<[u64]>, depth: u32) -> Shard {
        let room = keys_max(homes_in(words.len())) as i32;
        Shard { words, room, depth }
    }

    /// Where a search for this fragment begins.
    #[inline]
    pub(super) fn home(&self, fragment: u32) -> usize {
        home_of(fragment, self.depth, homes_in(self.words.len()))
    }

    /// Where the key is, or else where the order wants it.
    #[inline]
    pub(super) fn find(
        &self,
        fragment: u32,
        mut is_key: impl FnMut(Value) -> bool,
    ) -> Result<usize, usize> {
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

    /// Puts `word` at `place`. False when there is no room behind it, or the order wants it
    /// elsewhere: what is not larger, up to its home position, comes before it, and nothing else.
    #[inline]
    pub(super) fn insert(&mut self, place: usize, word: u64) -> bool {
        let fragment = fragment_in(word);
        let is_before = |other: &u64| *other != 0 && fragment_in(*other) <= fragment;
        let home = self.home(fragment);
        let is_right =
            place == home || place > home && self.words.get(place - 1).is_some_and(is_before);
        // Nearly always: then there is an empty slot behind every place.
        let is_last_free = self.words.last() == Some(&0);
        let Some(run) = self.words.get_mut(place..).filter(|_| is_right) else { return false };
        if run.first().is_none_or(is_before) || !is_last_free && !run.contains(&0) {
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
        self.room -= 1;
        true
    }

    /// Takes the word at `place` out. What was displaced by it moves back, up to the first word
    /// that is at home.
    pub(super) fn remove(&mut self, place: usize) {
        let mut gap = place;
        while let Some(&word) = self.words.get(gap + 1) {
            if word == 0 || self.home(fragment_in(word)) > gap {
                break;
            }
            self.words[gap] = word;
            gap += 1;
        }
        self.words[gap] = 0;
        self.room += 1;
    }

    /// The same with the next larger number of slots.
    pub(super) fn grown(&self) -> Shard {
        built(next_slots(self.words.len()), self.depth, occupied(&self.words))
    }

    /// The shard divided by the next bit of the fragment. Its words are sorted, so the halves are
    /// too. `fragment` is one that belongs here.
    pub(super) fn halves(&self, fragment: u32) -> (Shard, Shard) {
        let depth = self.depth + 1;
        let (lower, upper) = self.words.split_at(self.middle(fragment));
        (of_half(lower, depth), of_half(upper, depth))
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
            self.room -= 1;
            next = place + 1;
        }
        true
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

/// Those of the words that are not empty.
pub(super) fn occupied(words: &[u64]) -> impl Iterator<Item = u64> + Clone + '_ {
    words.iter().copied().filter(|&word| word != 0)
}

/// A shard of `depth` that holds those of `words` which are not empty, with room for more.
fn of_half(words: &[u64], depth: u32) -> Shard {
    built(slots_for_half(occupied(words).count()), depth, occupied(words))
}

/// Home position: monotone in the fragment, which is what keeps the words sorted.
#[inline]
pub(super) fn home_of(fragment: u32, depth: u32, homes: usize) -> usize {
    let within = (fragment << (32 - FRAGMENT_BITS)) << depth;
    ((u64::from(within) * homes as u64) >> 32) as usize
}

/// A shard of `depth` that holds `words`, of the smallest size from `slots` up that takes them.
fn built(mut slots: usize, depth: u32, words: impl Iterator<Item = u64> + Clone) -> Shard {
    loop {
        let mut shard = Shard::of(vec![0; slots].into_boxed_slice(), depth);
        if shard.fill(words.clone()) {
            return shard;
        }
        slots = next_slots(slots);
    }
}
