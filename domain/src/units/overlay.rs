//! Numbers as they would stand after changes that are not made yet.

use std::collections::BTreeMap;

use super::{Free, Runs, Units, BLOCK, WORD, WORDS_PER_BLOCK};

/// Changes of [`Units`], kept apart from them: only blocks and nodes that differ.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overlay {
    blocks: BTreeMap<usize, Block>,
    nodes: BTreeMap<usize, Runs>,
    /// Changed blocks whose nodes are not up to date.
    stale: Vec<usize>,
    /// Numbers taken, and numbers freed.
    taken: u32,
    freed: u32,
}

#[derive(Clone, Debug)]
struct Block {
    words: [u64; WORDS_PER_BLOCK],
    is_stale: bool,
}

/// Numbers under their changes.
#[derive(Clone, Copy)]
pub(crate) struct Overlaid<'u> {
    /// The numbers.
    pub units: &'u Units,
    /// Changes to the tree, if there are any.
    pub overlay: Option<&'u Overlay>,
}

impl Free for Overlaid<'_> {
    fn len(&self) -> u32 {
        self.units.len()
    }

    fn leaves(&self) -> usize {
        self.units.leaves()
    }

    fn runs(&self, node: usize) -> Runs {
        debug_assert!(self.overlay.is_none_or(|it| it.stale.is_empty()), "not refreshed");
        let changed = self.overlay.and_then(|it| it.nodes.get(&node));
        changed.copied().unwrap_or_else(|| self.units.runs(node))
    }

    fn block(&self, block: usize) -> &[u64] {
        let changed = self.overlay.and_then(|it| it.blocks.get(&block));
        match changed {
            Some(changed) => &changed.words,
            None => self.units.block(block),
        }
    }
}

impl Overlay {
    /// Numbers freed so far.
    pub(crate) fn freed(&self) -> u32 {
        self.freed
    }

    /// The count of `units` that are free under these changes.
    pub(crate) fn free(&self, units: &Units) -> u32 {
        units.free() + self.freed - self.taken
    }

    /// Frees or takes these numbers, no two of which are equal.
    ///
    /// # Errors
    ///
    /// The first number that is in this state already, or does not exist. The caller then drops
    /// the changes.
    pub(crate) fn set(&mut self, units: &Units, these: &[u32], free: bool) -> Result<(), u32> {
        for unit in these {
            if !(1..=units.len()).contains(unit) {
                return Err(*unit);
            }
            let bit = unit - 1;
            let number = (bit / BLOCK) as usize;
            let block = self.blocks.entry(number).or_insert_with(|| {
                let mut words = [0; WORDS_PER_BLOCK];
                words.copy_from_slice(units.block(number));
                Block { words, is_stale: false }
            });
            let (word, mask) = (&mut block.words[(bit % BLOCK / WORD) as usize], 1 << (bit % WORD));
            if (*word & mask != 0) == free {
                return Err(*unit);
            }
            *word ^= mask;
            if !core::mem::replace(&mut block.is_stale, true) {
                self.stale.push(number);
            }
            *(if free { &mut self.freed } else { &mut self.taken }) += 1;
        }
        Ok(())
    }

    /// Whether nothing was changed.
    pub(crate) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Updates the tree before a search for runs, level by level, so that a node above several
    /// changes is computed once.
    pub(crate) fn refresh(&mut self, units: &Units) {
        let mut stale = core::mem::take(&mut self.stale);
        stale.sort_unstable();
        let mut level = Vec::with_capacity(stale.len());
        for number in stale {
            let Some(block) = self.blocks.get_mut(&number) else { continue };
            block.is_stale = false;
            level.push((units.leaves() + number, Runs::of_block(&block.words)));
        }
        let mut length = BLOCK;
        while !level.is_empty() {
            // A node above depends on the changed nodes below it.
            level.retain(|(node, runs)| {
                (Overlaid { units, overlay: Some(self) }).runs(*node) != *runs
            });
            self.nodes.extend(level.iter().copied());
            let mut above: Vec<usize> = level.iter().map(|(node, _)| node / 2).collect();
            above.dedup();
            let tree = Overlaid { units, overlay: Some(self) };
            let above = above.into_iter().filter(|node| *node > 0);
            level = above.map(|node| (node, tree.joined(node, length))).collect();
            length *= 2;
        }
    }
}
