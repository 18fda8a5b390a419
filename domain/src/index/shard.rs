//! One shard of the index: a table of words sorted by fragment. First the layout of a word, then
//! the number of slots, then the table.

/// Bits of a hash that a slot keeps.
pub(super) const FRAGMENT_BITS: u32 = 31;

/// A value of the index: 32 bits and a mark that tells two kinds of value apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    pub number: u32,
    pub marked: bool,
}

/// The fragment of a hash, or of a word in a slot.
#[inline]
pub(super) fn fragment_in(hash_or_word: u64) -> u32 {
    (hash_or_word >> (64 - FRAGMENT_BITS)) as u32
}

#[inline]
pub(super) fn value_in(word: u64) -> Value {
    Value { number: word as u32, marked: word >> 32 & 1 == 1 }
}

/// The word of a key: the fragment of its hash, then the mark, then the number.
#[inline]
pub fn word_of(hash: u64, value: Value) -> u64 {
    hash >> 33 << 33 | u64::from(value.marked) << 32 | u64::from(value.number)
}

/// Words of the smallest shard.
pub(super) const SLOTS_MIN: usize = 16;
/// Words after the last home position, for keys displaced past it.
const SLACK_SLOTS_MAX: usize = 32;

/// Home positions among the slots; the other slots are slack.
pub(super) fn homes_in(slots: usize) -> usize {
    slots - (slots / 8).min(SLACK_SLOTS_MAX)
}

/// Keys that fill a shard of `homes` home positions.
pub(super) fn keys_max(homes: usize) -> usize {
    // 3/4 of the home positions: with more keys, runs grow past one cache line.
    (homes * 3).div_ceil(4)
}

/// The next larger size. Two steps double a shard, and both are size classes of jemalloc, so that
/// no allocated byte is unused. Smaller steps would move each key more often as the index grows,
/// larger ones would leave more slots empty.
pub(super) fn next_slots(slots: usize) -> usize {
    match slots.is_power_of_two() {
        true => slots + slots / 2,
        false => slots.next_power_of_two(),
    }
}

/// Slots of the smallest shard with enough home positions.
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

/// Slots of the smallest shard that `keys` keys fill to at most 3/5: the size of a new half.
pub(super) fn slots_for_half(keys: usize) -> usize {
    least_slots(|homes| homes * 3 >= keys * 5)
}

/// One sorted open-addressing table. An empty word is 0.
#[derive(Clone, Debug)]
pub(super) struct Shard {
    pub(super) words: Box<[u64]>,
    /// Keys that fit until it is full.
    pub(super) room: i32,
    /// Leading fragment bits that all keys of this shard share.
    pub(super) depth: u32,
}

impl Shard {
    /// An empty shard of these words, all 0.
    pub(super) fn of(words: Box<[u64]>, depth: u32) -> Shard {
        let room = keys_max(homes_in(words.len())) as i32;
        Shard { words, room, depth }
    }

    /// Whether it has no key.
    pub(super) fn is_empty(&self) -> bool {
        self.room == keys_max(homes_in(self.words.len())) as i32
    }

    /// First position of a search for this fragment.
    #[inline]
    pub(super) fn home(&self, fragment: u32) -> usize {
        home_of(fragment, self.depth, homes_in(self.words.len()))
    }

    /// The position of the key, or the position at which it would be inserted.
    #[inline]
    pub(super) fn find(
        &self,
        fragment: u32,
        mut is_key: impl FnMut(Value) -> bool,
    ) -> Result<usize, usize> {
        let mut slot = self.home(fragment);
        while let Some(&word) = self.words.get(slot) {
            if word == 0 || fragment_in(word) > fragment {
                break;
            }
            if fragment_in(word) == fragment && is_key(value_in(word)) {
                return Ok(slot);
            }
            slot += 1;
        }
        Err(slot)
    }

    /// Puts `word` at `slot`. False if there is no room after it, or if `slot` breaks the order. In
    /// order, the words from its home position up to `slot` are not larger, and the word at `slot`
    /// is.
    #[inline]
    pub(super) fn insert(&mut self, slot: usize, word: u64) -> bool {
        let fragment = fragment_in(word);
        let is_before = |other: &u64| *other != 0 && fragment_in(*other) <= fragment;
        let home = self.home(fragment);
        let is_right =
            slot == home || slot > home && self.words.get(slot - 1).is_some_and(is_before);
        // Nearly always the last slot is empty. Then every position has an empty slot after it.
        let is_last_free = self.words.last() == Some(&0);
        let Some(run) = self.words.get_mut(slot..).filter(|_| is_right) else { return false };
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

    /// Removes the word at `slot`. Words that it displaced move back, up to the first word at its
    /// home.
    pub(super) fn remove(&mut self, slot: usize) {
        let mut gap = slot;
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

    /// This shard with the next larger number of slots.
    pub(super) fn grown(&self) -> Shard {
        built(next_slots(self.words.len()), self.depth, occupied(&self.words))
    }

    /// The shard split by the next bit of the fragment. Its words are sorted, so the halves are
    /// sorted, too. `fragment` is one of this shard's.
    pub(super) fn halves(&self, fragment: u32) -> (Shard, Shard) {
        let depth = self.depth + 1;
        let (lower, upper) = self.words.split_at(self.middle(fragment));
        (of_half(lower, depth), of_half(upper, depth))
    }

    /// Fills an empty shard from sorted words. False when the slack overflows.
    fn fill(&mut self, words: impl Iterator<Item = u64>) -> bool {
        let mut next = 0;
        for word in words {
            let slot = self.home(fragment_in(word)).max(next);
            if slot >= self.words.len() {
                return false;
            }
            self.words[slot] = word;
            self.room -= 1;
            next = slot + 1;
        }
        true
    }

    /// Position of the first key whose next fragment bit is set; all keys after it have it set,
    /// too.
    fn middle(&self, fragment: u32) -> usize {
        let bit = FRAGMENT_BITS - self.depth - 1;
        let least = (fragment >> bit | 1) << bit;
        let is_before = |word: &u64| *word != 0 && fragment_in(*word) < least;
        let home = self.home(least);
        // Words of the lower half that were displaced past this home follow it without a gap.
        home + self.words[home..].iter().take_while(|word| is_before(word)).count()
    }
}

/// The words that are not empty.
pub(super) fn occupied(words: &[u64]) -> impl Iterator<Item = u64> + Clone + '_ {
    words.iter().copied().filter(|&word| word != 0)
}

/// A shard of `depth` with the non-empty words of `words`, and room for more.
fn of_half(words: &[u64], depth: u32) -> Shard {
    built(slots_for_half(occupied(words).count()), depth, occupied(words))
}

/// Home position, which is monotone in the fragment, so that the words stay sorted.
#[inline]
pub(super) fn home_of(fragment: u32, depth: u32, homes: usize) -> usize {
    let within = (fragment << (32 - FRAGMENT_BITS)) << depth;
    ((u64::from(within) * homes as u64) >> 32) as usize
}

/// A shard of `depth` with `words`, of the smallest size from `slots` up that fits them.
fn built(mut slots: usize, depth: u32, words: impl Iterator<Item = u64> + Clone) -> Shard {
    loop {
        let mut shard = Shard::of(vec![0; slots].into_boxed_slice(), depth);
        if shard.fill(words.clone()) {
            return shard;
        }
        slots = next_slots(slots);
    }
}
