//! Looking for a user and for a request id, and what a user has.

use siphasher::sip::SipHasher13;
use smallvec::SmallVec;

use super::record::{self, Grant, Record};
use super::Ledger;
use crate::index::{Entry, Vacant, Value};
use crate::model::outcome::State;

/// What a look for a user or for a request id came to, so that a grant needn't look again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lookup {
    pub(super) hash: u64,
    /// Of a user, unmarked: the seq of their only grant. Marked: the number of their account. Of a
    /// request id: the seq of its grant.
    pub(super) entry: Entry,
}

/// Where a new grant belongs.
#[derive(Clone, Copy, Debug)]
pub struct Places {
    /// Where the user is in the index, or belongs.
    pub user: Lookup,
    /// The same of the request id, if there is one.
    pub req: Option<Lookup>,
}

impl Lookup {
    /// Whether there is nothing of the kind.
    #[inline]
    pub fn is_vacant(&self) -> bool {
        self.entry.value().is_none()
    }

    /// What it was looked for by, which is the same in all ledgers of one key.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// Seq of the grant that a request id leads to.
    pub fn seq(&self) -> Option<u64> {
        self.entry.value().map(|value| value.number.into())
    }
}

impl Ledger {
    /// The hash that a user is looked for by.
    #[inline]
    pub fn hash_of(&self, user: &[u8]) -> u64 {
        SipHasher13::new_with_keys(self.key[0], self.key[1]).hash(user)
    }

    /// The memory that looking there begins with.
    #[inline]
    pub fn first_look(&self, hash: u64) -> Option<&u64> {
        self.users.first_look(hash)
    }

    /// A user who is said to have no grant.
    pub fn stranger(&self, user: &[u8]) -> Lookup {
        Lookup { hash: self.hash_of(user), entry: Entry::Vacant(Vacant::default()) }
    }

    /// Looks a user up.
    #[inline]
    pub fn find(&self, user: &[u8]) -> Lookup {
        self.find_at(user, self.hash_of(user))
    }

    /// Looks a user up whose hash is known.
    #[inline]
    pub fn find_at(&self, user: &[u8], hash: u64) -> Lookup {
        let is_of_user = |value| {
            let newest = self.records.get(self.newest_of(value));
            newest.is_some_and(|(bytes, _)| record::user(bytes) == user)
        };
        Lookup { hash, entry: self.users.entry(hash, is_of_user) }
    }

    pub(super) fn newest_of(&self, entry: Value) -> u32 {
        if entry.marked {
            self.accounts.get(entry.number).newest()
        } else {
            entry.number
        }
    }

    /// Looks up a request id of `user`, who was looked up in a ledger of the same key.
    #[inline]
    pub fn find_req(&self, user: &[u8], found: &Lookup, req: &[u8]) -> Lookup {
        self.find_req_at(user, req, self.req_hash(found.hash, req))
    }

    fn find_req_at(&self, user: &[u8], req: &[u8], hash: u64) -> Lookup {
        let is_it = |value: Value| {
            self.record(value.number)
                .is_some_and(|r| r.user == user && r.req.is_some_and(|its| its.id == req))
        };
        Lookup { hash, entry: self.reqs.entry(hash, is_it) }
    }

    /// Seq of the grant of `user` that has the request id `req`, which was looked up in a ledger of
    /// the same key.
    pub fn seq_of(&self, user: &[u8], req: &[u8], found: &Lookup) -> Option<u64> {
        self.find_req_at(user, req, found.hash).seq()
    }

    /// Seq of the grant that `user` got with `req`.
    pub fn by_req(&self, user: &[u8], req: &[u8]) -> Option<u64> {
        if self.reqs.is_empty() {
            return None;
        }
        self.find_req_at(user, req, self.req_hash(self.hash_of(user), req)).seq()
    }

    /// Where a request id of the user with this hash is looked for. It goes into the key, because
    /// one piece is hashed much faster than two.
    pub(super) fn req_hash(&self, user_hash: u64, req: &[u8]) -> u64 {
        SipHasher13::new_with_keys(self.key[1], self.key[0] ^ user_hash).hash(req)
    }
}

/// What one user has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holding {
    /// Units in live grants.
    pub live_units: u64,
    /// Grants that are held or sold.
    pub live_grants: u32,
    /// Seq of their newest grant, 0 when none.
    pub newest: u32,
    /// Seq of their newest live grant, 0 when none.
    pub newest_live: u32,
}

impl Ledger {
    /// What the user found has.
    #[inline]
    pub fn holding(&self, found: &Lookup) -> Holding {
        found.entry.value().map_or_else(Holding::default, |entry| self.holding_of(entry))
    }

    /// What a user has who is in the index.
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

    /// Seq of the user's newest grant, 0 when none.
    #[inline]
    pub(super) fn newest(&self, found: &Lookup) -> u32 {
        found.entry.value().map_or(0, |entry| self.newest_of(entry))
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
        match found.entry.value()? {
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
