//! What happened in all runs, counted.

use std::collections::BTreeMap;

pub use super::step::{FIRST_FAULT, KINDS};

/// Counts of what was done and what it came to.
#[derive(Clone, Debug)]
pub struct Tally {
    pub runs: u64,
    pub steps: u64,
    /// Steps by kind, and those of them that changed something.
    pub kinds: [(u64, u64); KINDS.len()],
    /// Replies of commands by their first word.
    pub replies: BTreeMap<String, u64>,
    /// Changes that replicas applied and that were compared with the primary's sale.
    pub compared: u64,
    /// Entries that the outbox's readers took.
    pub entries: u64,
    /// Transactions that were lost with the tail of a history.
    pub lost: u64,
    /// Commands whose reply the oracle foretold.
    pub foretold: u64,
}

impl Default for Tally {
    /// Nothing yet. Arrays of more than 32 have no default of their own.
    fn default() -> Tally {
        let kinds = [(0, 0); KINDS.len()];
        let (replies, [runs, steps, compared, entries, lost, foretold]) = (BTreeMap::new(), [0; 6]);
        Tally { runs, steps, kinds, replies, compared, entries, lost, foretold }
    }
}

impl Tally {
    /// Counts a step.
    pub fn step(&mut self, kind: usize, changed: bool) {
        self.steps += 1;
        self.kinds[kind].0 += 1;
        self.kinds[kind].1 += u64::from(changed);
    }

    /// Counts a reply.
    pub fn reply(&mut self, reply: &str) {
        let word = reply.split(' ').next().unwrap_or_default();
        let word = if word.parse::<i64>().is_ok() { "a number" } else { word };
        match self.replies.get_mut(word) {
            Some(count) => *count += 1,
            None => drop(self.replies.insert(word.to_owned(), 1)),
        }
    }
}
