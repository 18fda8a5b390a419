//! Looking for a user, and for a request id.

use siphasher::sip::SipHasher13;

use super::{HashKey, Ledger};
use crate::index::{Entry, Vacant, Value};
use crate::ledger::record;

/// What users are hashed with in ledgers of this key.
#[inline]
pub(super) fn user_hasher(key: HashKey) -> SipHasher13 {
    SipHasher13::new_with_keys(key[0], key[1])
}

/// What a look for a user or for a request id came to, so that a grant needn't look again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lookup {
    pub(super) hash: u64,
    /// Of a user, unmarked: the seq of their only grant. Marked: the number of their account. Of a
    /// request id: the seq of its grant.
    pub(super) entry: Entry,
}

impl Lookup {
    /// Whether there is nothing of the kind.
    pub fn is_vacant(&self) -> bool {
        self.value().is_none()
    }

    /// What it was looked for by, which is the same in all ledgers of one key.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// Seq of the grant that a request id leads to.
    pub fn seq(&self) -> Option<u64> {
        self.value().map(|value| value.number.into())
    }

    /// What the index leads to.
    #[inline]
    pub(super) fn value(&self) -> Option<Value> {
        self.entry.value()
    }
}

impl Ledger {
    /// The hash that a user is looked for by.
    #[inline]
    pub fn hash_of(&self, user: &[u8]) -> u64 {
        user_hasher(self.key).hash(user)
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
        let entry = self.users.entry(hash, |entry| self.is_user_of(self.newest_of(entry), user));
        Lookup { hash, entry }
    }

    #[inline]
    fn is_user_of(&self, seq: u32, user: &[u8]) -> bool {
        self.records.get(seq).is_some_and(|(bytes, _)| record::user(bytes) == user)
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
    /// one piece is hashed several times faster than two.
    pub(super) fn req_hash(&self, user_hash: u64, req: &[u8]) -> u64 {
        SipHasher13::new_with_keys(self.key[1], self.key[0] ^ user_hash).hash(req)
    }
}
