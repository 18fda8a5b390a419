//! Who was granted what, and when.
//!
//! Grants are appended, in seq order, as compact records to pages of fixed size; a chunk of 4,096
//! grants keeps the offsets of its records. Neither is ever moved or copied when the sale grows, a
//! fork copies only the pages written last, and freeing is a few large frees. Two indexes lead from
//! a user and from a request id to a seq. A user with one grant, the common case, costs one index
//! slot; only the second grant opens an account that keeps their sums.

mod accounts;
mod find;
mod inspect;
pub mod record;
mod records;

use crate::index::bulk::BulkLoad;
use crate::index::{Entry, Index, Value};
use crate::memory::Reader;
use crate::model::outcome::State;
use accounts::{Account, Accounts, Holds};
use record::Record;
use records::Records;

pub use find::{Holding, Lookup, Places};
pub use inspect::Block;
pub use record::{Grant, NewGrant};

/// Key of the index's hash: drawn for each sale that is made or loaded, never replicated or stored.
pub type HashKey = [u64; 2];

/// The grant log and its indexes.
#[derive(Clone, Debug)]
pub struct Ledger {
    key: HashKey,
    /// The round it is of, 0 in a sale without rounds.
    round: u64,
    records: Records,
    users: Index,
    reqs: Index,
    accounts: Accounts,
    holds: Holds,
    /// First seq of each epoch that granted, ascending.
    epochs: Vec<(u32, u64)>,
    winners: u64,
    /// Users who are not in the index yet, while a sale is loaded.
    bulk_load: Option<Box<BulkLoad>>,
}

impl Ledger {
    /// An empty ledger.
    pub fn new(key: HashKey) -> Ledger {
        Ledger::starting(key, 0, 0)
    }

    /// An empty ledger of `round`, whose first grant comes after `base` earlier ones.
    pub fn starting(key: HashKey, base: u32, round: u64) -> Ledger {
        Ledger {
            key,
            round,
            records: Records::starting(base),
            users: Index::default(),
            reqs: Index::default(),
            accounts: Accounts::default(),
            holds: Holds::default(),
            epochs: Vec::new(),
            winners: 0,
            bulk_load: None,
        }
    }

    /// Grants before its first one.
    pub fn base(&self) -> u64 {
        self.records.base().into()
    }

    /// Whether the grant `seq` is in it.
    pub fn has(&self, seq: u64) -> bool {
        (self.base() + 1..=self.len()).contains(&seq)
    }

    /// The key of the indexes' hash.
    pub fn key(&self) -> HashKey {
        self.key
    }

    /// Grants ever, those of earlier rounds included: the newest seq.
    pub fn len(&self) -> u64 {
        self.records.len().into()
    }

    /// Whether nothing was granted yet.
    pub fn is_empty(&self) -> bool {
        self.records.len() == self.records.base()
    }

    /// Distinct users with a live grant.
    pub fn winners(&self) -> u64 {
        self.winners
    }

    /// Distinct users.
    pub fn users(&self) -> u64 {
        self.users.len()
    }

    /// Distinct request ids.
    pub fn requests(&self) -> u64 {
        self.reqs.len()
    }

    /// Held grants of this round.
    pub fn holds(&self) -> &Holds {
        &self.holds
    }

    /// How far apart the records of two grants lie, the ids of all between them included.
    pub fn bytes_between(&self, seq: u64, later: u64) -> Option<u64> {
        let place = |seq: u64| self.records.place(u32::try_from(seq).ok()?);
        place(later)?.checked_sub(place(seq)?)
    }

    fn record(&self, seq: u32) -> Option<Record<'_>> {
        let (bytes, base_at) = self.records.get(seq)?;
        record::read(&mut Reader::new(bytes), base_at)
    }

    /// The records from the grant `first` on.
    pub fn records(&self, first: u64) -> impl Iterator<Item = Record<'_>> {
        let read = |(bytes, base_at)| record::read(&mut Reader::new(bytes), base_at);
        self.records.iter_from(first).map_while(read)
    }

    /// How long the ids of the grants from `first` on are, user and request together.
    pub fn ids_lens(&self, first: u64) -> impl Iterator<Item = usize> + '_ {
        self.records.iter_from(first).map(|(bytes, _)| record::ids_len(bytes))
    }

    /// The grant numbered `seq`.
    pub fn grant(&self, seq: u64) -> Option<Grant<'_>> {
        let number = u32::try_from(seq).ok()?;
        Some(self.granted(number, self.record(number)?))
    }

    /// The grant numbered `seq`, whose record this is.
    fn granted<'a>(&self, seq: u32, record: Record<'a>) -> Grant<'a> {
        Grant {
            seq: seq.into(),
            user: record.user,
            qty: record.qty,
            state: record.state,
            at: record.at,
            held_until: record.deadline,
            req: record.req,
            epoch: self.epoch_of(seq.into()),
            round: self.round,
        }
    }

    /// Appends a grant and returns its seq. The caller has checked the bounds of what it appends
    /// and that the request id is new for this user. `places` are where they belong if they were
    /// looked up. Compiled into the caller, who knows more of the grant.
    #[inline(always)]
    pub fn push(&mut self, new: &NewGrant<'_>, places: Option<&Places>) -> u64 {
        let looked_up;
        let Places { user: found, req } = match places {
            Some(places) => places,
            None => {
                looked_up = Places { user: self.find(new.user), req: None };
                &looked_up
            }
        };
        let prev = self.newest(found);
        let seq = self.records.append(&Record {
            user: new.user,
            req: new.req,
            qty: new.qty,
            state: new.state,
            at: new.at,
            deadline: new.held_until,
            prev,
        });
        self.begin_epoch(seq, new.epoch);
        self.enter_user(seq, new, found);
        if let Some(new_req) = new.req {
            let value = Value { number: seq, marked: false };
            match req {
                Some(Lookup { hash, entry: Entry::Vacant(vacant) }) => {
                    self.reqs.insert_into(*vacant, *hash, value);
                }
                _ => self.reqs.insert(self.req_hash(found.hash, new_req.id), value),
            }
        }
        seq.into()
    }

    #[inline(always)]
    fn enter_user(&mut self, seq: u32, new: &NewGrant<'_>, found: &Lookup) {
        if new.state == State::Held {
            self.holds.insert(new.held_until, seq);
        }
        if let Some(bulk_load) = &mut self.bulk_load {
            self.winners += u64::from(new.state.is_live());
            return bulk_load.add(found.hash, seq);
        }
        let had_live = self.holding(found).live_grants > 0;
        self.winners += u64::from(new.state.is_live() && !had_live);
        let number = match found.entry {
            Entry::Vacant(vacant) => {
                let value = Value { number: seq, marked: false };
                return self.users.insert_into(vacant, found.hash, value);
            }
            Entry::Occupied(entry) if entry.marked => entry.number,
            Entry::Occupied(entry) => {
                let number = self.open_account(entry.number);
                self.users.replace(found.hash, entry, Value { number, marked: true });
                number
            }
        };
        self.accounts.change(number, |account| {
            account.add(seq, new.qty, new.state, new.held_until);
        });
    }

    /// Opens an account for a user whose only grant so far is `seq`.
    fn open_account(&mut self, seq: u32) -> u32 {
        let mut account = Account::default();
        if let Some(first) = self.record(seq) {
            account.add(seq, first.qty, first.state, first.deadline);
        }
        self.accounts.open(account)
    }

    /// Moves a grant to another state. `held_until` is its deadline from now on, if it is held.
    /// False when there is no such grant.
    pub fn set_state(&mut self, seq: u64, state: State, held_until: u64) -> bool {
        let Some(before) = self.grant(seq) else { return false };
        let (qty, was, old_deadline) = (before.qty, before.state, before.held_until);
        let found = self.find(before.user);
        let number = seq as u32;
        if was == State::Held {
            self.holds.remove(old_deadline, number);
        }
        if state == State::Held {
            self.holds.insert(held_until, number);
        }
        let (had_live, has_live) = match found.entry.value().filter(|entry| entry.marked) {
            Some(entry) => {
                let had_live = self.holding(&found).live_grants > 0;
                self.accounts.change(entry.number, |account| {
                    account.remove(number, qty, was, old_deadline);
                    account.add(number, qty, state, held_until);
                });
                (had_live, self.holding(&found).live_grants > 0)
            }
            // It is their only grant.
            None => (was.is_live(), state.is_live()),
        };
        if let Some(bytes) = self.records.get_mut(number) {
            record::set_state(bytes, state);
            if state == State::Held {
                record::set_deadline(bytes, held_until);
            }
        }
        self.winners += u64::from(has_live && !had_live);
        self.winners -= u64::from(had_live && !has_live);
        true
    }
}

/// Which epoch granted which seqs.
impl Ledger {
    /// First seq here and epoch of every epoch that granted; not of those only announced.
    pub fn epochs(&self) -> &[(u32, u64)] {
        let granted = self.epochs.partition_point(|(first, _)| *first <= self.records.len());
        &self.epochs[..granted]
    }

    /// Forgets epochs that were announced but did not grant: no rows came to a base, so the next
    /// grant is of a new epoch.
    pub fn forget_announced_epochs(&mut self) {
        let len = self.records.len();
        while self.epochs.pop_if(|(first, _)| *first > len).is_some() {}
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

/// Grants of users who are all different, when a sale is loaded.
impl Ledger {
    /// Begins to take grants of which each is said to be of another user: nobody is looked up
    /// until [`Ledger::end_bulk_load`].
    pub fn begin_bulk_load(&mut self, users: u64) {
        self.bulk_load = Some(Box::new(BulkLoad::new(users)));
    }

    /// Enters the users, if they were kept back. False when one came twice.
    pub fn end_bulk_load(&mut self) -> bool {
        let Some(bulk_load) = self.bulk_load.take() else { return true };
        let user_of = |seq| self.records.get(seq).map(|(bytes, _)| record::user(bytes));
        let index = bulk_load.into_index(|one, other| user_of(one) == user_of(other));
        let all_differ = index.is_some();
        self.users = index.unwrap_or_default();
        all_differ
    }

    /// Whether users are kept back, to be entered all at once.
    pub fn is_bulk_loading(&self) -> bool {
        self.bulk_load.is_some()
    }
}
