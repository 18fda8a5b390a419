//! Grants of users who are all different, when a sale is loaded.

use super::find::user_hasher;
use super::Ledger;
use crate::gathered::Gathered;
use crate::outcome::State;
use crate::record::{self, RECORD_BYTES_MAX};

impl Ledger {
    /// Begins to take grants of which each is said to be of another user: nobody is looked up
    /// until [`Ledger::end_gathering`].
    pub fn begin_gathering(&mut self, users: u64) {
        self.gathered = Some(Box::new(Gathered::new(users)));
    }

    /// Enters the users gathered, if any were. False when one came twice.
    pub fn end_gathering(&mut self) -> bool {
        let Some(gathered) = self.gathered.take() else { return true };
        let user_of = |seq| self.records.get(seq).map(|(bytes, _)| record::user(bytes));
        let index = gathered.into_index(|one, other| user_of(one) == user_of(other));
        let all_differ = index.is_some();
        self.users = index.unwrap_or_default();
        all_differ
    }

    /// Whether users are gathered.
    pub fn is_gathering(&self) -> bool {
        self.gathered.is_some()
    }

    /// Appends grants of users that are gathered, as many as `next` gives and as fit into the page
    /// and the chunk that are open: one at least.
    ///
    /// `next`, which must have one, writes a record, whose time counts from the base that it is
    /// told, and returns its length and its state. Each is of one unit, never was held and has no
    /// request id. The first was granted at `at`; the records have about `bytes` bytes.
    pub fn push_strangers(
        &mut self,
        at: u64,
        bytes: usize,
        mut next: impl FnMut(&mut [u8; RECORD_BYTES_MAX], u64) -> Option<(usize, State)>,
    ) {
        let first = self.records.len() + 1;
        self.begin_epoch(first, self.epoch_of(first.into()));
        let Some(gathered) = &mut self.gathered else { return };
        let records = self.records.append_many(at, bytes, |out, base_at| {
            let (len, state) = next(out, base_at)?;
            self.winners += u64::from(state.is_live());
            Some(len)
        });
        // Only now: to read what was written a moment ago would be to wait for it.
        let hasher = user_hasher(self.key);
        for (seq, bytes) in records {
            gathered.add(hasher.hash(record::user(bytes)), seq);
        }
    }
}
