//! One shard of the index: a table of words that are sorted by fragment.

use super::slots::{homes_in, is_full, next_slots, slots_for_half};
use super::word::{fragment_in, value_in, Value, FRAGMENT_BITS};

/// One sorted open-addressing table. An empty word is 0.
#[derive(Clone, Debug)]
pub(super) struct Shard {
    pub(super) words: Box<[u64]>,
    pub(super) used: u32,
    /// Leading fragment bits that all keys of this shard share.
    pub(super) depth: u32,
}

impl Shard {
    pub(super) fn new(slots: usize, depth: u32) -> Shard {
        Shard { words: vec![0; slots].into_boxed_slice(), used: 0, depth }
    }

    fn homes(&self) -> usize {
        homes_in(self.words.len())
    }

    /// Where a search for this fragment begins.
    #[inline]
    pub(super) fn home(&self, fragment: u32) -> usize {
        home_of(fragment, self.depth, self.homes())
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

    /// Whether the order wants a key of this fragment, which is not there, at `place`: between
    /// what is not larger, up to its home position, and what is.
    #[inline]
    pub(super) fn is_gap(&self, place: usize, fragment: u32) -> bool {
        let is_before = |word: &u64| *word != 0 && fragment_in(*word) <= fragment;
        let home = self.home(fragment);
        self.words.get(place).is_some_and(|word| !is_before(word))
            && (place == home || place > home && is_before(&self.words[place - 1]))
    }

    /// Puts `word` at `place`, where the order wants it. False when there is no room behind it.
    #[inline]
    pub(super) fn insert(&mut self, place: usize, word: u64) -> bool {
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

    pub(super) fn is_full(&self) -> bool {
        is_full(self.used as usize, self.homes())
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
            self.used += 1;
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
        let mut shard = Shard::new(slots, depth);
        if shard.fill(words.clone()) {
            return shard;
        }
        slots = next_slots(slots);
    }
}
