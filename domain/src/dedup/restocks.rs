//! The last restocks of a sale, by request id: what makes a repeated RESTOCK a replay.

use std::collections::VecDeque;

use crate::model::limits::RESTOCKS_KEPT_MAX;
use crate::model::outcome::Outcome;

/// A restock that was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restocked {
    pub req: Box<[u8]>,
    pub delta: i64,
    pub applied: i64,
    /// What was available after it.
    pub available: u64,
}

impl Restocked {
    /// The reply it got, and gets again.
    pub fn outcome(&self) -> Outcome {
        Outcome::Restocked { applied: self.applied, available: self.available }
    }
}

/// The last restocks, oldest first. Restocks are rare and few are kept, so finding one is a scan.
#[derive(Clone, Debug, Default)]
pub struct Restocks {
    kept: VecDeque<Restocked>,
}

impl Restocks {
    /// The restock with this request id, while it is kept.
    pub fn find(&self, req: &[u8]) -> Option<&Restocked> {
        self.kept.iter().rev().find(|restock| &*restock.req == req)
    }

    /// Remembers a restock; the oldest beyond the bound is forgotten.
    pub fn push(&mut self, restock: Restocked) {
        if self.kept.len() == RESTOCKS_KEPT_MAX {
            self.kept.pop_front();
        }
        self.kept.push_back(restock);
    }

    /// How many are kept.
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    /// Whether none is kept.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Restocked> {
        self.kept.iter()
    }

    /// Bytes of heap in use.
    pub fn heap_bytes(&self) -> usize {
        let ids: usize = self.kept.iter().map(|restock| restock.req.len()).sum();
        self.kept.capacity() * size_of::<Restocked>() + ids
    }
}
