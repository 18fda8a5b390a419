//! The ledger: all grants, in seq order.
//!
//! Grants are appended as compact records to pages of fixed size; a chunk of 4,096 grants keeps the
//! offsets of its records. Pages and chunks are never moved or copied when the sale grows. A fork
//! copies only the pages written last, and freeing is a few large frees. Two indexes map a user and
//! a request id to a seq. A user with one grant, the common case, costs one index slot; only the
//! second grant opens an account with their sums.

mod accounts;
mod find;
pub mod record;
mod recount;
mod tests;
mod trims;

use crate::index::{BulkLoad, Index};
use crate::memory::Reader;
use crate::model::outcome::{GrantView, State};
use accounts::{Account, Accounts};
use record::{Asked, Record, Records, ReqTag};
use trims::Trims;

pub use accounts::Holds;
pub use find::{Holding, Lookup, Slots};
pub use recount::{Recount, Recounting};

/// Key of the indexes' hash: drawn for each sale that is created or loaded, never replicated or
/// stored.
pub type HashKey = [u64; 2];

/// A grant in its current state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant<'a> {
    /// The seq, counted from 1.
    pub seq: u64,
    /// The user's id, 1 to 256 bytes.
    pub user: &'a [u8],
    /// Units.
    pub qty: u64,
    /// The state.
    pub state: State,
    /// Unix ms of the grant.
    pub at: u64,
    /// Present or past deadline, Unix ms; 0 if it was never held.
    pub deadline: u64,
    /// The request id, if it has one.
    pub req: Option<ReqTag<'a>>,
    /// The epoch of the primary that granted it.
    pub epoch: u64,
    /// The round in which it was granted, 0 in a sale without rounds.
    pub round: u64,
}

impl<'a> Grant<'a> {
    /// This grant's request id.
    pub fn req_id(&self) -> Option<&'a [u8]> {
        self.req.map(|req| req.id)
    }

    /// Whether this is an offer that is still held.
    pub fn is_offer(&self) -> bool {
        self.state == State::Held && self.req.is_some_and(|req| req.asked == Asked::Offered)
    }

    /// Whether this is a hold past its deadline at `t`.
    pub fn is_due(&self, t: u64) -> bool {
        self.state == State::Held && self.deadline <= t
    }

    /// The grant for replies, after the holds due at `t` have expired.
    pub fn view_at(&self, t: u64) -> GrantView {
        match self.is_due(t) {
            true => GrantView { state: State::Expired, deadline: 0, ..self.view() },
            false => self.view(),
        }
    }

    /// The grant for replies.
    pub fn view(&self) -> GrantView {
        let deadline = if self.state == State::Held { self.deadline } else { 0 };
        GrantView { seq: self.seq, qty: self.qty, state: self.state, deadline }
    }
}

/// A grant to append.
#[derive(Clone, Copy, Debug)]
pub struct NewGrant<'a> {
    /// The user's id, 1 to 256 bytes.
    pub user: &'a [u8],
    /// The request id, if it has one.
    pub req: Option<ReqTag<'a>>,
    /// Units.
    pub qty: u64,
    /// The state.
    pub state: State,
    /// Unix ms of the grant.
    pub at: u64,
    /// Deadline, Unix ms; 0 for a grant that was never held.
    pub deadline: u64,
    /// The epoch of the grant.
    pub epoch: u64,
}

/// The grant log and its indexes.
#[derive(Clone, Debug)]
pub struct Ledger {
    key: HashKey,
    /// Number of its round; 0 in a sale without rounds.
    round: u64,
    records: Records,
    users: Index,
    reqs: Index,
    accounts: Accounts,
    holds: Holds,
    /// First seq of each epoch with grants, ascending.
    epochs: Vec<(u32, u64)>,
    trims: Trims,
    winners: u64,
    /// Users not in the index yet, while a sale is loading.
    bulk_load: Option<Box<BulkLoad>>,
    /// The recount under way, which follows changes.
    recounting: Option<Box<Recounting>>,
}

impl Ledger {
    /// An empty ledger of a sale without rounds.
    pub fn new(key: HashKey) -> Ledger {
        Ledger::starting(key, 0, 0)
    }

    /// An empty ledger of `round`, after `base` grants of earlier rounds.
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
            trims: Trims::default(),
            winners: 0,
            bulk_load: None,
            recounting: None,
        }
    }

    /// Grants of earlier rounds.
    pub fn base(&self) -> u64 {
        self.records.base().into()
    }

    /// Whether this ledger has grant `seq`.
    pub fn has(&self, seq: u64) -> bool {
        (self.base() + 1..=self.len()).contains(&seq)
    }

    /// The key of the indexes' hash.
    pub fn key(&self) -> HashKey {
        self.key
    }

    /// Grants ever, earlier rounds included: the newest seq.
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

    /// Pairs of a user and a request id.
    pub fn requests(&self) -> u64 {
        self.reqs.len()
    }

    /// Held grants of this round.
    pub fn holds(&self) -> &Holds {
        &self.holds
    }

    /// Distance in bytes between the records of two grants, including the ids of those between.
    pub fn bytes_between(&self, seq: u64, later: u64) -> Option<u64> {
        let offset = |seq: u64| self.records.offset(u32::try_from(seq).ok()?);
        offset(later)?.checked_sub(offset(seq)?)
    }

    fn record(&self, seq: u32) -> Option<Record<'_>> {
        let (bytes, base_at) = self.records.get(seq)?;
        record::read(&mut Reader::new(bytes), base_at)
    }

    /// The records from grant `first` on.
    pub fn records(&self, first: u64) -> impl Iterator<Item = Record<'_>> {
        let read = |(bytes, base_at)| record::read(&mut Reader::new(bytes), base_at);
        self.records.iter_from(first).map_while(read)
    }

    /// Lengths of the ids of the grants from `first` on, user and request id together.
    pub fn ids_lens(&self, first: u64) -> impl Iterator<Item = usize> + '_ {
        self.records.iter_from(first).map(|(bytes, _)| record::ids_len(bytes))
    }

    /// The grant of this seq.
    pub fn grant(&self, seq: u64) -> Option<Grant<'_>> {
        let number = u32::try_from(seq).ok()?;
        Some(self.granted(number, self.record(number)?))
    }

    /// The grant of this seq, from its record.
    fn granted<'a>(&self, seq: u32, record: Record<'a>) -> Grant<'a> {
        Grant {
            seq: seq.into(),
            user: record.user,
            qty: record.qty,
            state: record.state,
            at: record.at,
            deadline: record.deadline,
            req: record.req,
            epoch: self.epoch_of(seq.into()),
            round: self.round,
        }
    }
}

/// Epochs of grants.
impl Ledger {
    /// First seq and epoch of every epoch with grants here; merely announced epochs are left out.
    pub fn epochs(&self) -> &[(u32, u64)] {
        let granted = self.epochs.partition_point(|(first, _)| *first <= self.records.len());
        &self.epochs[..granted]
    }

    /// Announces, before grants are loaded, that `epoch` begins at seq `first`. False if the
    /// announced epochs are not ascending.
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

    /// Whether every epoch has a grant once there are `grants` grants; required at the end of
    /// loading.
    pub fn all_epochs_granted(&self, grants: u64) -> bool {
        self.epochs.last().is_none_or(|(first, _)| u64::from(*first) <= grants)
    }

    /// The epoch of grant `seq`, made or announced.
    pub fn epoch_of(&self, seq: u64) -> u64 {
        let after = self.epochs.partition_point(|(first, _)| u64::from(*first) <= seq);
        after.checked_sub(1).map_or(0, |last| self.epochs[last].1)
    }
}

/// Loading grants of distinct users.
impl Ledger {
    /// Begins to add grants that are announced to be of distinct users: users are not looked up
    /// until [`Ledger::end_bulk_load`].
    pub fn begin_bulk_load(&mut self, users: u64) {
        self.bulk_load = Some(Box::new(BulkLoad::new(users)));
    }

    /// Indexes the users that were kept back, if any. False if one came twice.
    pub fn end_bulk_load(&mut self) -> bool {
        let Some(bulk_load) = self.bulk_load.take() else { return true };
        let user_of = |seq| self.records.get(seq).map(|(bytes, _)| record::user(bytes));
        let index = bulk_load.into_index(|one, other| user_of(one) == user_of(other));
        let all_differ = index.is_some();
        self.users = index.unwrap_or_default();
        all_differ
    }

    /// Whether users are kept back, to be indexed together.
    pub fn is_bulk_loading(&self) -> bool {
        self.bulk_load.is_some()
    }
}

/// A large block of the heap, lent to a defragmenter that moves it.
#[derive(Debug)]
pub enum Block<'a> {
    /// Records of grants.
    Page(&'a mut Vec<u8>),
    /// Offsets of records.
    Offsets(&'a mut Vec<u32>),
    /// Sums of users with several grants.
    Accounts(&'a mut Vec<Account>),
    /// Words of an index.
    Slots(&'a mut Box<[u64]>),
}

impl Ledger {
    /// Bytes of heap in use.
    pub fn heap_bytes(&self) -> usize {
        self.records.heap_bytes()
            + self.accounts.heap_bytes()
            + self.epochs.capacity() * size_of::<(u32, u64)>()
            + self.holds.heap_bytes()
            + self.trims.heap_bytes()
            + self.users.heap_bytes()
            + self.reqs.heap_bytes()
            + self.recounting.as_ref().map_or(0, |counting| counting.heap_bytes())
    }

    /// Number of heap blocks: the cost of freeing them.
    pub fn heap_blocks(&self) -> usize {
        self.records.heap_blocks()
            + self.accounts.heap_blocks()
            + self.users.heap_blocks()
            + self.reqs.heap_blocks()
    }

    /// The large blocks of memory, for a defragmenter that moves them.
    pub fn blocks_mut(&mut self) -> impl Iterator<Item = Block<'_>> {
        let slots = self.users.blocks_mut().chain(self.reqs.blocks_mut()).map(Block::Slots);
        self.records.blocks_mut().chain(self.accounts.blocks_mut()).chain(slots)
    }

    /// Frees up to `blocks` blocks of each kind of a ledger that is no longer used. False when none
    /// is left.
    pub fn free_some(&mut self, blocks: usize) -> bool {
        let indexes = self.users.free_some(blocks) | self.reqs.free_some(blocks);
        let trims = self.trims.free_some(blocks);
        self.records.free_some(blocks) | self.accounts.free_some() | indexes | trims
    }
}
