//! Lookups by user and by request id, users' holdings, and adding grants.

use siphasher::sip::SipHasher13;
use smallvec::SmallVec;

use super::accounts::Account;
use super::record::{self, Record};
use super::recount::Counted;
use super::{Grant, Ledger, NewGrant};
use crate::index::{Entry, Vacant, Value};
use crate::model::outcome::State;

/// The result of a lookup by user or request id; passed on so that a grant needs no second lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lookup {
    pub(super) hash: u64,
    /// For a user, unmarked: the seq of their only grant; marked: the number of their account. For
    /// a request id: the seq of its grant.
    pub(super) entry: Entry,
}

/// Slots for a new grant.
#[derive(Clone, Copy, Debug)]
pub struct Slots {
    /// The user's slot.
    pub user: Lookup,
    /// The request id's slot, if there is a request id.
    pub req: Option<Lookup>,
}

impl Lookup {
    /// Whether nothing was found.
    #[inline]
    pub fn is_vacant(&self) -> bool {
        self.entry.value().is_none()
    }

    /// The hash of the lookup, equal in all ledgers with one key.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// Seq of the grant found by a request id.
    pub fn seq(&self) -> Option<u64> {
        self.entry.value().map(|value| value.number.into())
    }
}

impl Ledger {
    /// The hash of an id. `after` is 0 for a user, and the user's hash for a request id. `after`
    /// goes into the key, because hashing one piece is much faster than two.
    #[inline]
    pub fn hash_of(&self, after: u64, id: &[u8]) -> u64 {
        SipHasher13::new_with_keys(self.key[0], self.key[1] ^ after).hash(id)
    }

    /// The first word that a lookup of this hash reads, for prefetching.
    #[inline]
    pub fn first_look(&self, hash: u64) -> Option<&u64> {
        self.users.first_look(hash)
    }

    /// The first word that a lookup of a request id reads, for prefetching.
    #[inline]
    pub fn first_look_for_req(&self, hash: u64) -> Option<&u64> {
        self.reqs.first_look(hash)
    }

    /// Whether `user` has a grant with the request id `req`, whose hash is known.
    pub fn has_req(&self, user: &[u8], req: &[u8], hash: u64) -> bool {
        self.reqs.find(hash, |value| self.is_req(value, user, req)).is_some()
    }

    /// The result of a lookup for a user known to have no grant.
    pub fn vacant(&self, user: &[u8]) -> Lookup {
        Lookup { hash: self.hash_of(0, user), entry: Entry::Vacant(Vacant::default()) }
    }

    /// Looks a user up.
    #[inline]
    pub fn find(&self, user: &[u8]) -> Lookup {
        let hash = self.hash_of(0, user);
        Lookup { hash, entry: self.users.entry(hash, |value| self.is_user(value, user)) }
    }

    /// Looks a user up whose hash is known.
    pub fn find_at(&self, user: &[u8], hash: u64) -> Lookup {
        Lookup { hash, entry: self.users.entry(hash, |value| self.is_user(value, user)) }
    }

    #[inline]
    fn is_user(&self, value: Value, user: &[u8]) -> bool {
        let newest = self.records.get(self.newest_of(value));
        newest.is_some_and(|(bytes, _)| record::user(bytes) == user)
    }

    fn newest_of(&self, entry: Value) -> u32 {
        if entry.marked {
            self.accounts.get(entry.number).newest()
        } else {
            entry.number
        }
    }

    /// Looks up a request id of `user`; `found` is their lookup in a ledger with this key.
    #[inline]
    pub fn find_req(&self, user: &[u8], found: &Lookup, req: &[u8]) -> Lookup {
        let hash = self.hash_of(found.hash, req);
        Lookup { hash, entry: self.reqs.entry(hash, |value| self.is_req(value, user, req)) }
    }

    fn is_req(&self, value: Value, user: &[u8], req: &[u8]) -> bool {
        let record = self.record(value.number);
        record.is_some_and(|it| it.user == user && it.req.is_some_and(|its| its.id == req))
    }

    /// Seq of the grant of `user` with `req`; `found` is the lookup in a ledger with this key.
    pub fn seq_of(&self, user: &[u8], req: &[u8], found: &Lookup) -> Option<u64> {
        let value = self.reqs.find(found.hash, |value| self.is_req(value, user, req));
        value.map(|value| value.number.into())
    }

    /// Seq of the grant of `user` with `req`.
    pub fn by_req(&self, user: &[u8], req: &[u8]) -> Option<u64> {
        if self.reqs.is_empty() {
            return None;
        }
        self.find_req(user, &self.vacant(user), req).seq()
    }
}

/// A user's live units and grants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holding {
    /// Units in live grants.
    pub live_units: u64,
    /// Grants that are held or sold.
    pub live_grants: u32,
    /// Seq of their newest grant; 0 if there is none.
    pub newest: u32,
    /// Seq of their newest live grant; 0 if there is none.
    pub newest_live: u32,
}

impl Ledger {
    /// Holdings of the user that was found.
    #[inline]
    pub fn holding(&self, found: &Lookup) -> Holding {
        found.entry.value().map_or_else(Holding::default, |entry| self.holding_of(entry))
    }

    /// Holdings of a user in the index.
    fn holding_of(&self, entry: Value) -> Holding {
        let seq = entry.number;
        if entry.marked {
            return self.accounts.get(seq).holding();
        }
        match self.record(seq) {
            Some(record) if record.state.is_live() => {
                Holding { live_units: record.qty, live_grants: 1, newest: seq, newest_live: seq }
            }
            _ => Holding { newest: seq, ..Holding::default() },
        }
    }

    /// The user's grants, newest first.
    pub fn grants_of(&self, user: &[u8]) -> impl Iterator<Item = Grant<'_>> {
        let newest = self.find(user).entry.value().map(|entry| self.newest_of(entry));
        let mut next = newest.unwrap_or(0);
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
        match found.entry.value()? {
            entry if entry.marked => {
                let live = self.accounts.get(entry.number).live().iter().rev();
                live.filter_map(|seq| self.grant((*seq).into())).find(stays)
            }
            entry => self.grant(entry.number.into()).filter(stays),
        }
    }

    /// Deadlines and seqs of the user's own holds that are due at `t`, earliest first, at most
    /// `most`.
    pub fn due_of(&self, found: &Lookup, t: u64, most: usize) -> SmallVec<[(u64, u32); 4]> {
        match found.entry.value() {
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

/// Changes to grants.
impl Ledger {
    /// Appends a grant. The caller has checked its bounds and that the request id is new for this
    /// user. `slots` are its slots, if known from a lookup. Inlined into callers, which know more
    /// of the grant.
    #[inline(always)]
    pub fn push(&mut self, new: &NewGrant<'_>, slots: Option<&Slots>) {
        let looked_up;
        let Slots { user: found, req } = match slots {
            Some(slots) => slots,
            None => {
                looked_up = Slots { user: self.find(new.user), req: None };
                &looked_up
            }
        };
        let NewGrant { user, req: tag, qty, state, at, deadline, epoch } = *new;
        let prev = found.entry.value().map_or(0, |entry| self.newest_of(entry));
        let record = Record { user, req: tag, qty, state, at, deadline, prev };
        let seq = self.records.append(&record);
        // While loading, epochs are announced; otherwise an epoch begins with its first grant.
        if self.epochs.last().is_none_or(|(_, last)| *last < epoch) {
            self.epochs.push((seq, epoch));
        }
        if state == State::Held {
            self.holds.insert(deadline, seq);
        }
        let value = Value { number: seq, marked: false };
        match found.entry {
            Entry::Vacant(vacant) => {
                self.winners += u64::from(state.is_live());
                match &mut self.bulk_load {
                    Some(bulk_load) => bulk_load.add(found.hash, seq),
                    None => self.users.insert_into(vacant, found.hash, value),
                }
            }
            Entry::Occupied(entry) => self.enter_again(seq, new, found, entry),
        }
        if let Some(tag) = tag {
            match req {
                Some(Lookup { hash, entry: Entry::Vacant(vacant) }) => {
                    self.reqs.insert_into(*vacant, *hash, value);
                }
                _ => self.reqs.insert(self.hash_of(found.hash, tag.id), value),
            }
        }
    }

    /// Adds a grant of a user who has others; `found` is their lookup.
    fn enter_again(&mut self, seq: u32, new: &NewGrant<'_>, found: &Lookup, entry: Value) {
        let had_live = self.holding(found).live_grants > 0;
        self.winners += u64::from(new.state.is_live() && !had_live);
        let number = if entry.marked {
            entry.number
        } else {
            let mut account = Account::default();
            if let Some(first) = self.record(entry.number) {
                account.add(entry.number, first.qty, first.state, first.deadline);
            }
            let number = self.accounts.open(account);
            self.users.replace(found.hash, entry, Value { number, marked: true });
            self.tell_of_account(entry.number, number);
            number
        };
        self.accounts.change(number, |account| {
            account.add(seq, new.qty, new.state, new.deadline);
        });
    }

    /// Moves a grant to another state, with a new deadline if it is held.
    pub fn set_state(&mut self, seq: u64, state: State, deadline: u64) {
        let Some(before) = self.grant(seq) else { return };
        let counted = self.recounting.is_some().then(|| before.counted());
        let (qty, was, old_deadline) = (before.qty, before.state, before.deadline);
        let found = self.find(before.user);
        let number = seq as u32;
        if was == State::Held {
            self.holds.remove(old_deadline, number);
        }
        if state == State::Held {
            self.holds.insert(deadline, number);
        }
        let (had_live, has_live) = match found.entry.value().filter(|entry| entry.marked) {
            Some(entry) => {
                let had_live = self.holding(&found).live_grants > 0;
                self.accounts.change(entry.number, |account| {
                    account.remove(number, qty, was, old_deadline);
                    account.add(number, qty, state, deadline);
                });
                (had_live, self.holding(&found).live_grants > 0)
            }
            // The user's only grant.
            None => (was.is_live(), state.is_live()),
        };
        if let Some(bytes) = self.records.get_mut(number) {
            record::set_state(bytes, state, deadline);
        }
        if let Some(before) = counted {
            self.tell_of_move(before, found.entry.value().filter(|entry| entry.marked));
        }
        self.winners += u64::from(has_live && !had_live);
        self.winners -= u64::from(had_live && !has_live);
    }
}

/// Updates for a recount under way.
impl Ledger {
    /// Passes to the recount that the user with the single grant `first` has got an account.
    fn tell_of_account(&mut self, first: u32, account: u32) {
        let Some(first) = self.recounting.as_ref().and_then(|_| self.grant(first.into())) else {
            return;
        };
        let first = first.counted();
        if let Some(counting) = self.recounting.as_mut().filter(|it| it.has(first.seq)) {
            counting.has_account(account, first);
        }
    }

    /// Passes to the recount that a grant has changed from `before`. `account` is the account of
    /// its user, if the user has other grants.
    #[cold]
    pub(super) fn tell_of_move(&mut self, before: Counted, account: Option<Value>) {
        let Some(after) = self.grant(before.seq.into()).map(|grant| grant.counted()) else {
            return;
        };
        if let Some(counting) = self.recounting.as_mut().filter(|it| it.has(before.seq)) {
            counting.moved(account.map(|account| account.number), before, after);
        }
    }
}
