//! Numbers as they would stand after changes that are not made yet.

use std::collections::{BTreeMap, BTreeSet};

use super::{Free, Runs, Units, BLOCK, WORD, WORDS_PER_BLOCK};

/// Changes of [`Units`], kept apart from them: only blocks and nodes that differ.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overlay {
    blocks: BTreeMap<usize, [u64; WORDS_PER_BLOCK]>,
    nodes: BTreeMap<usize, Runs>,
    /// Changed blocks whose nodes are not up to date.
    stale: BTreeSet<usize>,
    /// Numbers taken, and numbers freed.
    taken: u32,
    freed: u32,
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
            Some(words) => words,
            None => self.units.block(block),
        }
    }
}

impl Overlay {
    /// Numbers freed so far.
    pub(crate) fn freed(&self) -> u32 {
        self.freed
    }

    /// How many of `units` are free under these changes.
    pub(crate) fn free(&self, units: &Units) -> u32 {
        units.free() + self.freed - self.taken
    }

    /// Frees or takes these numbers, no two of which are equal.
    ///
    /// # Errors
    ///
    /// The first that is so already, or that is no number. The changes must not be used then.
    pub(crate) fn set(&mut self, units: &Units, these: &[u32], free: bool) -> Result<(), u32> {
        for unit in these {
            let is_free = Overlaid { units, overlay: Some(self) }.is_free(*unit);
            if is_free == free || !(1..=units.len()).contains(unit) {
                return Err(*unit);
            }
            let bit = unit - 1;
            let block = (bit / BLOCK) as usize;
            let words = self.blocks.entry(block).or_insert_with(|| {
                let mut words = [0; WORDS_PER_BLOCK];
                words.copy_from_slice(units.block(block));
                words
            });
            words[(bit % BLOCK / WORD) as usize] ^= 1 << (bit % WORD);
            self.stale.insert(block);
            *(if free { &mut self.freed } else { &mut self.taken }) += 1;
        }
        Ok(())
    }

    /// Whether nothing was changed.
    pub(crate) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Brings the tree up to date, before runs are looked for.
    pub(crate) fn refresh(&mut self, units: &Units) {
        for block in core::mem::take(&mut self.stale) {
            let Some(words) = self.blocks.get(&block) else { continue };
            let mut node = units.leaves() + block;
            let mut runs = Runs::of_block(words);
            let mut length = BLOCK;
            // A node above depends on the changed nodes below it.
            while (Overlaid { units, overlay: Some(self) }).runs(node) != runs {
                self.nodes.insert(node, runs);
                if node == 1 {
                    break;
                }
                node /= 2;
                runs = Overlaid { units, overlay: Some(self) }.joined(node, length);
                length *= 2;
            }
        }
    }
}
