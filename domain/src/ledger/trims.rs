//! Grants of which a part was given back. A record has the quantity that is left. The quantity
//! first granted is kept here, because a repeated request is compared with it. A grant that was
//! never trimmed has no entry.

use std::collections::BTreeMap;

use super::record;
use super::{Grant, Ledger};
use crate::memory::tree_bytes;

/// Bytes of one node: eleven entries and a head.
const NODE_BYTES: usize = 144;

/// Entries that are freed as one block.
const SHED_TOGETHER: usize = 64;

/// The quantities first granted, by seq, of trimmed grants that have a request id. Most sales have
/// none, and one word says so.
#[derive(Clone, Debug, Default)]
pub(super) struct Trims(Option<Box<First>>);

/// The first quantities, by seq.
#[derive(Clone, Debug, Default)]
struct First(BTreeMap<u32, u64>);

impl Trims {
    /// Approximate bytes of heap in use.
    pub(super) fn heap_bytes(&self) -> usize {
        let bytes = |first: &First| tree_bytes(first.0.len(), NODE_BYTES) + size_of::<First>();
        self.0.as_deref().map_or(0, bytes)
    }

    /// Frees some entries. False when none is left.
    pub(super) fn free_some(&mut self, blocks: usize) -> bool {
        let Some(first) = &mut self.0 else { return false };
        (0..blocks * SHED_TOGETHER).all(|_| first.0.pop_last().is_some())
    }

    fn iter_from(&self, seq: u32) -> impl DoubleEndedIterator<Item = (u64, u64)> + '_ {
        let all = self.0.iter().flat_map(move |first| first.0.range(seq..));
        all.map(|(seq, first)| (u64::from(*seq), *first))
    }

    fn insert(&mut self, seq: u32, first: u64) {
        self.0.get_or_insert_default().0.insert(seq, first);
    }

    fn remove(&mut self, seq: u32) {
        let Some(first) = &mut self.0 else { return };
        first.0.remove(&seq);
        if first.0.is_empty() {
            self.0 = None;
        }
    }
}

impl Ledger {
    /// The number of trimmed grants whose first quantity is kept.
    pub fn trims_len(&self) -> u64 {
        self.trims.0.as_ref().map_or(0, |first| first.0.len() as u64)
    }

    /// Seq and first quantity of trimmed grants, from this seq on.
    pub fn trims_from(&self, seq: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.trims.iter_from(seq as u32)
    }

    /// Seq of the last grant with a first quantity, kept or announced.
    pub fn last_trim(&self) -> u64 {
        self.trims.iter_from(0).next_back().map_or(0, |(seq, _)| seq)
    }

    /// The units that a grant had at first, if some were given back since.
    pub fn trimmed_from(&self, seq: u64) -> Option<u64> {
        self.trims.0.as_deref()?.0.get(&u32::try_from(seq).ok()?).copied()
    }

    /// The units that a grant with a request id had at first.
    pub fn first_qty(&self, grant: &Grant<'_>) -> u64 {
        self.trimmed_from(grant.seq).unwrap_or(grant.qty)
    }

    /// Announces, before its grant is loaded, that `seq` had this many units at first.
    pub fn expect_trim(&mut self, seq: u64, first: u64) {
        if let Ok(seq) = u32::try_from(seq) {
            self.trims.insert(seq, first);
        }
    }

    /// Sets the units of a grant, at most those that it had at first.
    pub fn set_qty(&mut self, seq: u64, qty: u64) {
        let Some(before) = self.grant(seq) else { return };
        let counted = self.recounting.is_some().then(|| before.counted());
        let (first, has_req) = (self.first_qty(&before), before.req.is_some());
        let (was, state, deadline) = (before.qty, before.state, before.deadline);
        let account = self.find(before.user).entry.value().filter(|entry| entry.marked);
        let number = seq as u32;
        if let Some(entry) = account {
            self.accounts.change(entry.number, |account| {
                account.remove(number, was, state, deadline);
                account.add(number, qty, state, deadline);
            });
        }
        if let Some(bytes) = self.records.get_mut(number) {
            record::set_qty(bytes, qty);
        }
        match has_req && qty < first {
            true => self.trims.insert(number, first),
            false => self.trims.remove(number),
        }
        if let Some(before) = counted {
            self.tell_of_move(before, account);
        }
    }
}
