//! The free numbers among 1 to N.
//!
//! One bit for each number, and a tree over blocks of bits with their longest runs: no question
//! walks all numbers. The caller knows the meaning and the owner of a number.

use core::ops::RangeInclusive;

mod overlay;
#[cfg(test)]
mod tests;

pub(crate) use overlay::{Overlaid, Overlay};

/// Numbers in a word of the bitmap.
const WORD: u32 = u64::BITS;
/// Numbers in a block, a leaf of the tree: one cache line of bits.
const BLOCK: u32 = 512;
const WORDS_PER_BLOCK: usize = (BLOCK / WORD) as usize;

/// The numbers 1 to `len`, each free or taken.
///
/// Lookups and changes of one number take O(log N) steps. Memory: 1 to 2 bits a number, but at
/// least one or two cache lines. N is at most 2^31; callers have much lower limits.
#[derive(Clone, Debug, Default)]
pub struct Units {
    /// Number `u` is bit `u - 1`: 1 is free. Bits behind the last number are 0.
    words: Vec<u64>,
    /// A binary tree: node 1 is the root, `2i` and `2i + 1` are below `i`, the second half of the
    /// vector are the blocks. Nodes behind the last block have no free number.
    runs: Vec<Runs>,
    len: u32,
    free: u32,
}

/// The free runs of a stretch of numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Runs {
    /// The run at its beginning.
    head: u32,
    /// The run at its end.
    tail: u32,
    longest: u32,
}

impl Runs {
    /// The runs of the bits of one word.
    fn of_word(word: u64) -> Self {
        if word == u64::MAX {
            return Self { head: WORD, tail: WORD, longest: WORD };
        }
        let mut longest = 0;
        let mut rest = word;
        // Each step takes one bit off each run.
        while rest != 0 {
            rest &= rest << 1;
            longest += 1;
        }
        Self { head: word.trailing_ones(), tail: word.leading_ones(), longest }
    }

    /// The runs of a block.
    fn of_block(words: &[u64]) -> Self {
        let mut runs = Self::default();
        for (i, word) in words.iter().enumerate() {
            runs = runs.join(i as u32 * WORD, Self::of_word(*word), WORD);
        }
        runs
    }

    /// The runs of this stretch of `length` numbers joined with the `next` one of `next_length`
    /// numbers.
    fn join(self, length: u32, next: Self, next_length: u32) -> Self {
        let whole = self.head == length;
        let next_whole = next.tail == next_length;
        Self {
            head: if whole { length + next.head } else { self.head },
            tail: if next_whole { self.tail + next_length } else { next.tail },
            longest: self.longest.max(next.longest).max(self.tail + next.head),
        }
    }
}

/// Questions about numbers, each of which is free or taken.
pub trait Free {
    /// The count of numbers.
    fn len(&self) -> u32;

    /// Blocks that the tree has room for: a power of two, or 0.
    fn leaves(&self) -> usize;

    /// The runs below a node of the tree, see [`Units`].
    fn runs(&self, node: usize) -> Runs;

    /// The words of a block.
    fn block(&self, block: usize) -> &[u64];

    /// True before the first number.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The length of the longest run of free numbers.
    fn longest_run(&self) -> u32 {
        self.runs(1).longest
    }

    /// Whether `unit` is a number and free.
    fn is_free(&self, unit: u32) -> bool {
        let Some(bit) = unit.checked_sub(1).filter(|_| unit <= self.len()) else { return false };
        let word = self.block((bit / BLOCK) as usize)[(bit % BLOCK / WORD) as usize];
        word >> (bit % WORD) & 1 == 1
    }

    /// Whether `unit` is free and in a run of `n` free numbers or more, in O(n / 512) blocks. A run
    /// that exists only since numbers were freed contains one of them.
    fn is_in_run(&self, unit: u32, n: u32) -> bool {
        let Some(bit) = unit.checked_sub(1).filter(|bit| *bit < self.len()) else { return false };
        let (block, at) = ((bit / BLOCK) as usize, bit % BLOCK);
        let [below, above] = [run_below(self.block(block), at), run_from(self.block(block), at)];
        let mut run = if above > 0 { below + above } else { return false };
        // The run may go on in the blocks beside it.
        let (mut goes_on, mut next) = (at + above == BLOCK, block + 1);
        while goes_on && run < n && next * (BLOCK as usize) < self.len() as usize {
            let more = run_from(self.block(next), 0);
            run += more;
            (goes_on, next) = (more == BLOCK, next + 1);
        }
        let (mut goes_on, mut first) = (below == at, block);
        while goes_on && run < n && first > 0 {
            first -= 1;
            let more = run_below(self.block(first), BLOCK);
            run += more;
            goes_on = more == BLOCK;
        }
        run >= n
    }

    /// The first number of the lowest run of `n` free ones that are next to each other.
    fn lowest_run(&self, n: u32) -> Option<u32> {
        if n == 0 || self.longest_run() < n {
            return None;
        }
        let leaves = self.leaves();
        let mut node = 1;
        let mut start = 0;
        let mut length = BLOCK * leaves as u32;
        while node < leaves {
            length /= 2;
            let [left, right] = [self.runs(2 * node), self.runs(2 * node + 1)];
            node *= 2;
            if left.longest >= n {
                continue;
            }
            if left.tail + right.head >= n {
                return Some(start + length - left.tail + 1);
            }
            node += 1;
            start += length;
        }
        lowest_run_in(self.block(node - leaves), n).map(|bit| start + bit + 1)
    }

    /// The lowest free number that is `from` or above it.
    fn next_free(&self, from: u32) -> Option<u32> {
        let bit = from.max(1) - 1;
        if bit >= self.len() {
            return None;
        }
        let block = (bit / BLOCK) as usize;
        if let Some(found) = first_free_in(self.block(block), bit % BLOCK) {
            return Some(block as u32 * BLOCK + found + 1);
        }
        let leaves = self.leaves();
        let mut node = leaves + block;
        // Climbs to the first node whose right neighbour has a free number, then descends along
        // that neighbour's left side.
        while node & 1 == 1 || self.runs(node + 1).longest == 0 {
            node /= 2;
            if node <= 1 {
                return None;
            }
        }
        node += 1;
        while node < leaves {
            node *= 2;
            node += usize::from(self.runs(node).longest == 0);
        }
        let block = node - leaves;
        first_free_in(self.block(block), 0).map(|found| block as u32 * BLOCK + found + 1)
    }

    /// The free numbers, rising.
    fn iter_free(&self) -> impl Iterator<Item = u32> {
        core::iter::successors(self.next_free(1), |unit| self.next_free(unit + 1))
    }

    /// The runs of an inner node, from the two below it, each of which stands for `length` numbers.
    fn joined(&self, node: usize, length: u32) -> Runs {
        self.runs(2 * node).join(length, self.runs(2 * node + 1), length)
    }
}

impl Free for Units {
    fn len(&self) -> u32 {
        self.len
    }

    fn leaves(&self) -> usize {
        self.runs.len() / 2
    }

    #[inline]
    fn runs(&self, node: usize) -> Runs {
        self.runs.get(node).copied().unwrap_or_default()
    }

    #[inline]
    fn block(&self, block: usize) -> &[u64] {
        &self.words[block * WORDS_PER_BLOCK..(block + 1) * WORDS_PER_BLOCK]
    }
}

impl Units {
    /// The numbers 1 to `len`, all free.
    pub fn new(len: u32) -> Self {
        let mut units = Self::default();
        units.grow(len);
        units
    }

    /// The count of free numbers.
    pub fn free(&self) -> u32 {
        self.free
    }

    /// Takes numbers.
    ///
    /// # Errors
    ///
    /// The first number, in the order given, that is not free or does not exist. Nothing is taken
    /// then.
    pub fn take(&mut self, units: &[u32]) -> Result<(), u32> {
        match units.iter().find(|unit| !self.is_free(**unit)) {
            Some(unit) => Err(*unit),
            None => {
                self.mark(units, false);
                Ok(())
            }
        }
    }

    /// Frees these numbers.
    ///
    /// # Errors
    ///
    /// The first number, in the order given, that is free already or does not exist. Nothing is
    /// freed then.
    pub fn give_back(&mut self, units: &[u32]) -> Result<(), u32> {
        let is_taken = |unit: u32| unit >= 1 && unit <= self.len && !self.is_free(unit);
        match units.iter().find(|unit| !is_taken(**unit)) {
            Some(unit) => Err(*unit),
            None => {
                self.mark(units, true);
                Ok(())
            }
        }
    }

    /// Adds `more` free numbers behind the last.
    pub fn grow(&mut self, more: u32) {
        if more == 0 {
            return;
        }
        let old = self.len;
        self.len += more;
        self.free += more;
        let blocks = self.len.div_ceil(BLOCK) as usize;
        self.words.resize(blocks * WORDS_PER_BLOCK, 0);
        let [first, last] = [old / WORD, (self.len - 1) / WORD].map(|word| word as usize);
        fill_with_ones(&mut self.words[first..=last], old % WORD, (self.len - 1) % WORD);
        let mut changed = (old / BLOCK) as usize;
        let leaves = blocks.next_power_of_two();
        if self.runs.len() < 2 * leaves {
            self.runs = vec![Runs::default(); 2 * leaves];
            changed = 0;
        }
        self.refresh(changed..=blocks - 1);
    }

    /// Bytes of heap in use.
    pub fn heap_bytes(&self) -> usize {
        self.words.capacity() * size_of::<u64>() + self.runs.capacity() * size_of::<Runs>()
    }

    /// Marks numbers as free or taken; a number named twice counts once.
    fn mark(&mut self, units: &[u32], free: bool) {
        let block_of = |unit: &u32| ((unit - 1) / BLOCK) as usize;
        for together in units.chunk_by(|a, b| block_of(a) == block_of(b)) {
            for unit in together {
                let bit = unit - 1;
                let word = &mut self.words[(bit / WORD) as usize];
                let mask = 1 << (bit % WORD);
                if (*word & mask != 0) != free {
                    *word ^= mask;
                    self.free = if free { self.free + 1 } else { self.free - 1 };
                }
            }
            let block = block_of(&together[0]);
            self.refresh(block..=block);
        }
    }

    /// Brings the tree over these blocks up to date.
    fn refresh(&mut self, blocks: RangeInclusive<usize>) {
        let leaves = self.leaves();
        let [mut first, mut last] = [leaves + blocks.start(), leaves + blocks.end()];
        for block in blocks {
            self.runs[leaves + block] = Runs::of_block(self.block(block));
        }
        let mut length = BLOCK;
        while first > 1 {
            first /= 2;
            last /= 2;
            let mut changed = false;
            for node in first..=last {
                let runs = self.joined(node, length);
                changed |= core::mem::replace(&mut self.runs[node], runs) != runs;
            }
            // The levels above depend on these bits alone.
            if !changed {
                break;
            }
            length *= 2;
        }
    }
}

/// Sets the bits from `first` of the first word to `last` of the last.
fn fill_with_ones(words: &mut [u64], first: u32, last: u32) {
    let end = words.len().saturating_sub(1);
    for (i, word) in words.iter_mut().enumerate() {
        let low = if i == 0 { u64::MAX << first } else { u64::MAX };
        let high = if i == end { u64::MAX >> (WORD - 1 - last) } else { u64::MAX };
        *word |= low & high;
    }
}

/// The first free bit of a block that is `from` or behind it.
fn first_free_in(words: &[u64], from: u32) -> Option<u32> {
    let begin = (from / WORD) as usize;
    let mut seen = u64::MAX << (from % WORD);
    for (i, word) in words.iter().enumerate().skip(begin) {
        let rest = word & seen;
        if rest != 0 {
            return Some(i as u32 * WORD + rest.trailing_zeros());
        }
        seen = u64::MAX;
    }
    None
}

/// The free numbers of a block from bit `from` on without a gap.
fn run_from(words: &[u64], from: u32) -> u32 {
    let mut bit = from;
    while bit < BLOCK {
        let rest = WORD - bit % WORD;
        let ones = (words[(bit / WORD) as usize] >> (bit % WORD)).trailing_ones();
        bit += ones;
        if ones < rest {
            break;
        }
    }
    bit - from
}

/// The free numbers of a block right below bit `to` without a gap.
fn run_below(words: &[u64], to: u32) -> u32 {
    let mut bit = to;
    while bit > 0 {
        let rest = (bit - 1) % WORD + 1;
        let ones = (words[((bit - 1) / WORD) as usize] << (WORD - rest)).leading_ones();
        bit -= ones;
        if ones < rest {
            break;
        }
    }
    to - bit
}

/// The first bit of a block's lowest run of `n` free ones.
fn lowest_run_in(words: &[u64], n: u32) -> Option<u32> {
    // The length of the run that ends at the start of the word.
    let mut open = 0;
    for (i, word) in words.iter().enumerate() {
        let start = i as u32 * WORD;
        if open + word.trailing_ones() >= n {
            return Some(start - open);
        }
        let starts = if n <= WORD { run_starts(*word, n) } else { 0 };
        if starts != 0 {
            return Some(start + starts.trailing_zeros());
        }
        open = if *word == u64::MAX { open + WORD } else { word.leading_ones() };
    }
    None
}

/// The bits of a word at which a run of `n` ones begins; `n` is 1 to 64.
fn run_starts(word: u64, n: u32) -> u64 {
    let mut starts = word;
    let mut known = 1;
    while known < n {
        let step = known.min(n - known);
        starts &= starts >> step;
        known += step;
    }
    starts
}
