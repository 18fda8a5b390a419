//! Counts of events in all runs.

use std::collections::BTreeMap;

use super::node::Txn;
use super::sometimes::{self, Seen, LOSSES, SITUATIONS};
pub use super::swarm::{FIRST_FAULT, KINDS};

#[derive(Clone, Debug)]
pub struct Tally {
    pub runs: u64,
    pub steps: u64,
    /// Steps by kind, and how many of them changed the sale.
    pub kinds: [(u64, u64); KINDS.len()],
    /// Replies of commands by their first word.
    pub replies: BTreeMap<String, u64>,
    /// Changes that replicas applied and that were compared with the primary's sale.
    pub compared: u64,
    /// Entries that readers of the outbox have read.
    pub entries: u64,
    /// Transactions that a failover or restart has lost.
    pub lost: u64,
    /// Commands whose reply the oracle predicted.
    pub foretold: u64,
    /// How often each situation of `sometimes` was reached.
    pub met: BTreeMap<&'static str, u64>,
}

impl Default for Tally {
    fn default() -> Tally {
        let (kinds, replies) = ([(0, 0); KINDS.len()], BTreeMap::new());
        let (runs, steps, compared, entries, lost, foretold) = (0, 0, 0, 0, 0, 0);
        let met = sometimes::names().map(|name| (name, 0)).collect();
        Tally { runs, steps, kinds, replies, compared, entries, lost, foretold, met }
    }
}

impl Tally {
    pub fn step(&mut self, kind: usize, changed: bool) {
        self.steps += 1;
        self.kinds[kind].0 += 1;
        self.kinds[kind].1 += u64::from(changed);
    }

    pub fn note(&mut self, seen: &Seen<'_>) {
        for (name, is_met) in &SITUATIONS {
            *self.met.entry(name).or_default() += u64::from(is_met(seen));
        }
    }

    pub fn note_loss(&mut self, txn: &Txn) {
        for (name, is_met) in &LOSSES {
            *self.met.entry(name).or_default() += u64::from(is_met(txn));
        }
    }

    pub fn unmet(&self) -> Vec<&'static str> {
        self.met.iter().filter(|(_, times)| **times == 0).map(|(name, _)| *name).collect()
    }

    pub fn reply(&mut self, reply: &str) {
        let word = reply.split(' ').next().unwrap_or_default();
        let word = if word.parse::<i64>().is_ok() { "a number" } else { word };
        match self.replies.get_mut(word) {
            Some(count) => *count += 1,
            None => drop(self.replies.insert(word.to_owned(), 1)),
        }
    }
}
