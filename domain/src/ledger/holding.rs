//! What a user has.

use smallvec::SmallVec;

use super::{Grant, Ledger, Lookup};
use crate::ledger::record::Record;
use crate::model::outcome::State;

/// What one user has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holding {
    /// Units in live grants.
    pub live_units: u64,
    pub live_grants: u32,
    /// Seq of his newest grant, 0 when none.
    pub newest: u32,
    /// Seq of his newest live grant, 0 when none.
    pub newest_live: u32,
}

impl Ledger {
    /// What the user found has.
    #[inline]
    pub fn holding(&self, found: &Lookup) -> Holding {
        match found.value() {
            None => Holding::default(),
            Some(entry) if entry.marked => self.accounts.get(entry.number).holding(),
            Some(entry) => self.holding_of_only(entry.number),
        }
    }

    /// What a user has whose only grant is `seq`.
    fn holding_of_only(&self, seq: u32) -> Holding {
        match self.record(seq) {
            Some(record) if record.state.is_live() => {
                Holding { live_units: record.qty, live_grants: 1, newest: seq, newest_live: seq }
            }
            _ => Holding { newest: seq, ..Holding::default() },
        }
    }

    /// Seq of the user's newest grant, 0 when none.
    #[inline]
    pub(super) fn newest(&self, found: &Lookup) -> u32 {
        found.value().map_or(0, |entry| self.newest_of(entry))
    }

    /// The user's grants, newest first.
    pub fn grants_of(&self, user: &[u8]) -> impl Iterator<Item = Grant<'_>> {
        let mut next = self.newest(&self.find(user));
        core::iter::from_fn(move || {
            let record = self.record(next)?;
            let grant = self.granted(next, record);
            next = record.prev;
            Some(grant)
        })
    }

    /// The user's newest live grant that is not due at `t`.
    pub fn newest_live(&self, found: &Lookup, t: u64) -> Option<Grant<'_>> {
        let stays = |grant: &Grant<'_>| grant.state.is_live() && !grant.is_due(t);
        match found.value()? {
            entry if entry.marked => {
                let live = self.accounts.get(entry.number).live().iter().rev();
                live.filter_map(|seq| self.grant((*seq).into())).find(stays)
            }
            entry => self.grant(entry.number.into()).filter(stays),
        }
    }

    /// The user's own holds that are due at `t`, earliest deadline first, `most` at the most: their
    /// deadlines and seqs.
    pub fn due_of(&self, found: &Lookup, t: u64, most: usize) -> SmallVec<[(u64, u32); 4]> {
        match found.value() {
            None => SmallVec::new(),
            Some(entry) if entry.marked => {
                self.accounts.get(entry.number).holds().due(t).take(most).collect()
            }
            Some(entry) => {
                let held = |r: &Record<'_>| r.state == State::Held && r.deadline <= t;
                let due = self.record(entry.number).filter(held);
                due.map(|record| (record.deadline, entry.number)).into_iter().collect()
            }
        }
    }
}
