//! Which epoch granted which seqs.

use super::Ledger;

impl Ledger {
    /// First seq here and epoch of every epoch that granted; not of those only announced.
    pub fn epochs(&self) -> &[(u32, u64)] {
        let granted = self.epochs.partition_point(|(first, _)| *first <= self.records.len());
        &self.epochs[..granted]
    }

    /// Forgets epochs that were announced but did not grant: no rows came to a base, so the next
    /// grant is of a new epoch.
    pub fn forget_announced_epochs(&mut self) {
        while !self.has_only_epochs_that_granted() {
            self.epochs.pop();
        }
    }

    /// Announces, before any grant is loaded, that `epoch` granted from seq `first` on. False when
    /// the epochs announced are not ascending.
    pub fn expect_epoch(&mut self, first: u32, epoch: u64) -> bool {
        let ascending = match self.epochs.last() {
            None => u64::from(first) == self.base() + 1,
            Some((last_first, last_epoch)) => first > *last_first && epoch > *last_epoch,
        };
        if ascending {
            self.epochs.push((first, epoch));
        }
        ascending
    }

    /// Whether every epoch has granted something: what loading must end with.
    pub fn has_only_epochs_that_granted(&self) -> bool {
        self.epochs.last().is_none_or(|(first, _)| *first <= self.records.len())
    }

    /// The epoch that granted `seq`, or would by what was announced.
    pub fn epoch_of(&self, seq: u64) -> u64 {
        let after = self.epochs.partition_point(|(first, _)| u64::from(*first) <= seq);
        after.checked_sub(1).map_or(0, |last| self.epochs[last].1)
    }

    /// While loading, the epochs were announced; else a new one begins with its first grant, which
    /// is `first`.
    pub(super) fn begin_epoch(&mut self, first: u32, epoch: u64) {
        if self.epochs.last().is_none_or(|(_, last)| *last < epoch) {
            self.epochs.push((first, epoch));
        }
    }
}
