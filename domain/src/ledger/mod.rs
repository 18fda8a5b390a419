//! Who was granted what, and when.
//!
//! Grants are appended, in seq order, as compact records to pages of fixed size; a chunk of 4,096
//! grants keeps the offsets of its records. Neither is ever moved or copied when the sale grows, a
//! fork copies only the pages written last, and freeing is a few large frees. Two indexes lead from
//! a user and from a request id to a seq. A user with one grant, the common case, costs one index
//! slot; only the second grant opens an account that keeps their sums.

mod accounts;
mod find;
pub mod record;
mod recount;
mod tests;

use crate::index::{BulkLoad, Index};
use crate::memory::Reader;
use crate::model::outcome::{GrantView, State};
use accounts::{Account, Accounts};
use record::{Asked, Record, Records, ReqTag};

pub use accounts::Holds;
pub use find::{Holding, Lookup, Places};
pub use recount::{Recount, Recounting};

/// Key of the index's hash: drawn for each sale that is made or loaded, never replicated or stored.
pub type HashKey = [u64; 2];

/// A grant as it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant<'a> {
    /// Its number, counted from 1.
    pub seq: u64,
    /// The user's id, 1 to 256 bytes.
    pub user: &'a [u8],
    /// Units.
    pub qty: u64,
    /// Where it stands.
    pub state: State,
    /// Unix ms of the grant.
    pub at: u64,
    /// Unix ms until which it was or is held; 0 when it never was.
    pub held_until: u64,
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

    /// Whether it is an offer that stands.
    pub fn is_offer(&self) -> bool {
        self.state == State::Held && self.req.is_some_and(|req| req.asked == Asked::Offered)
    }

    /// Whether it is a hold whose time is over at `t`.
    pub fn is_due(&self, t: u64) -> bool {
        self.state == State::Held && self.held_until <= t
    }

    /// The grant as replies show it, once the holds that are due at `t` have expired.
    pub fn view_at(&self, t: u64) -> GrantView {
        match self.is_due(t) {
            true => GrantView { state: State::Expired, deadline: 0, ..self.view() },
            false => self.view(),
        }
    }

    /// The grant as replies show it.
    pub fn view(&self) -> GrantView {
        let deadline = if self.state == State::Held { self.held_until } else { 0 };
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
    /// Where it stands.
    pub state: State,
    /// Unix ms of the grant.
    pub at: u64,
    /// Unix ms; 0 for a grant that never was held.
    pub held_until: u64,
    /// The epoch in which it was granted.
    pub epoch: u64,
}

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
    /// A recount under way, which is told of what changes.
    recounting: Option<Box<Recounting>>,
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
            recounting: None,
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

    /// Pairs of a user and a request id.
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
}

/// Which epoch granted which seqs.
impl Ledger {
    /// First seq here and epoch of every epoch that granted; not of those only announced.
    pub fn epochs(&self) -> &[(u32, u64)] {
        let granted = self.epochs.partition_point(|(first, _)| *first <= self.records.len());
        &self.epochs[..granted]
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

    /// Whether every epoch has granted something once there are so many `grants`: what loading must
    /// end with.
    pub fn all_epochs_granted(&self, grants: u64) -> bool {
        self.epochs.last().is_none_or(|(first, _)| u64::from(*first) <= grants)
    }

    /// The epoch that granted `seq`, or would by what was announced.
    pub fn epoch_of(&self, seq: u64) -> u64 {
        let after = self.epochs.partition_point(|(first, _)| u64::from(*first) <= seq);
        after.checked_sub(1).map_or(0, |last| self.epochs[last].1)
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

/// A large block of the heap, lent to a defragmenter that moves it.
#[derive(Debug)]
pub enum Block<'a> {
    /// Records of grants.
    Page(&'a mut Vec<u8>),
    /// Where records begin.
    Places(&'a mut Vec<u32>),
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
            + self.users.heap_bytes()
            + self.reqs.heap_bytes()
            + self.recounting.as_ref().map_or(0, |counting| counting.heap_bytes())
    }

    /// Blocks of heap in use: what freeing costs.
    pub fn heap_blocks(&self) -> usize {
        self.records.heap_blocks()
            + self.accounts.heap_blocks()
            + self.users.heap_blocks()
            + self.reqs.heap_blocks()
    }

    /// The blocks that hold the bulk of the memory, for a defragmenter that moves them.
    pub fn blocks_mut(&mut self) -> impl Iterator<Item = Block<'_>> {
        let slots = self.users.blocks_mut().chain(self.reqs.blocks_mut()).map(Block::Slots);
        self.records.blocks_mut().chain(self.accounts.blocks_mut()).chain(slots)
    }

    /// Gives back up to `blocks` blocks of each kind of a ledger that nobody looks into any more.
    /// False when none is left.
    pub fn shed(&mut self, blocks: usize) -> bool {
        let indexes = self.users.shed(blocks) | self.reqs.shed(blocks);
        self.records.shed(blocks) | self.accounts.shed() | indexes
    }
}
