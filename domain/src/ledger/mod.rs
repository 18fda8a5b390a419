//! Who was granted what, and when.
//!
//! Grants are appended, in seq order, as compact records to pages of fixed size; a chunk of 4,096
//! grants keeps the offsets of its records. Neither is ever moved or copied when the sale grows, a
//! fork copies only the pages written last, and freeing is a few large frees. Two indexes lead from
//! a user and from a request id to a seq. A user with one grant, the common case, costs one index
//! slot; only the second grant opens an account that keeps his sums.

mod accounts;
mod epochs;
mod find;
mod grant;
mod holding;
pub mod holds;
mod loading;
mod memory;
pub mod record;
mod records;
mod recount;

use crate::index::gathered::Gathered;
use crate::index::{Entry, Index, Value};
use crate::memory::bytes::Reader;
use crate::model::outcome::State;
use accounts::{Account, Accounts};
use holds::Holds;
use record::Record;
use records::Records;

pub use find::Lookup;
pub use grant::{Grant, NewGrant};
pub use holding::Holding;
pub use memory::Block;

/// Key of the index's hash: random for each process, never replicated or stored.
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
    gathered: Option<Box<Gathered>>,
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
            gathered: None,
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

    /// Held grants of the whole sale.
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
    /// and that the request id is new for this user, who may have been looked up.
    pub fn push(&mut self, new: &NewGrant<'_>, user: Option<Lookup>) -> u64 {
        let user = user.unwrap_or_else(|| self.find(new.user));
        self.push_here(new, user, None)
    }

    /// The same where the user was looked up, and the request id too if there is one and nothing
    /// was appended since. Compiled into the caller, who knows more of the grant.
    #[inline(always)]
    pub fn push_here(&mut self, new: &NewGrant<'_>, found: Lookup, req: Option<Lookup>) -> u64 {
        let prev = self.newest(&found);
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
        self.enter_user(seq, new, &found);
        if let Some(new_req) = new.req {
            let value = Value { number: seq, marked: false };
            match req {
                Some(Lookup { hash, entry: Entry::Vacant(vacant) }) => {
                    self.reqs.insert_into(vacant, hash, value);
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
        if let Some(gathered) = &mut self.gathered {
            self.winners += u64::from(new.state.is_live());
            return gathered.add(found.hash, seq);
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
        let had_live = self.holding(&found).live_grants > 0;
        let number = seq as u32;
        if was == State::Held {
            self.holds.remove(old_deadline, number);
        }
        if state == State::Held {
            self.holds.insert(held_until, number);
        }
        if let Some(entry) = found.value().filter(|entry| entry.marked) {
            self.accounts.change(entry.number, |account| {
                account.remove(number, qty, was, old_deadline);
                account.add(number, qty, state, held_until);
            });
        }
        if let Some(bytes) = self.records.get_mut(number) {
            record::set_state(bytes, state);
            if state == State::Held {
                record::set_deadline(bytes, held_until);
            }
        }
        let has_live = self.holding(&found).live_grants > 0;
        self.winners += u64::from(has_live && !had_live);
        self.winners -= u64::from(had_live && !has_live);
        true
    }
}
