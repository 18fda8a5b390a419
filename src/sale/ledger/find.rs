//! Looking for a user, and for a request id.

use siphasher::sip::SipHasher13;

use super::{HashKey, Ledger};
use crate::sale::index::{Gap, Value};
use crate::sale::record;

/// What users are hashed with in ledgers of this key.
#[inline]
pub(super) fn user_hasher(key: HashKey) -> SipHasher13 {
    SipHasher13::new_with_keys(key[0], key[1])
}

/// Where a user was looked for, so that appending his grant needn't look again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    pub(super) hash: u64,
    /// Unmarked: the seq of his only grant. Marked: the number of his account.
    pub(super) entry: Option<Value>,
    /// Where a stranger belongs, if he was looked for.
    pub(super) gap: Option<Gap>,
}

impl Found {
    /// Whether he has no grant.
    pub fn is_stranger(&self) -> bool {
        self.entry.is_none()
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
    pub fn stranger(&self, user: &[u8]) -> Found {
        Found { hash: self.hash_of(user), entry: None, gap: None }
    }

    /// Looks a user up.
    #[inline]
    pub fn find(&self, user: &[u8]) -> Found {
        self.find_at(user, self.hash_of(user))
    }

    /// Looks a user up whose hash is known.
    #[inline]
    pub fn find_at(&self, user: &[u8], hash: u64) -> Found {
        match self.users.look(hash, |entry| self.is_user_of(self.newest_of(entry), user)) {
            Ok(entry) => Found { hash, entry: Some(entry), gap: None },
            Err(gap) => Found { hash, entry: None, gap: Some(gap) },
        }
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

    /// Seq of the grant that `user` got with `req`.
    pub fn by_req(&self, user: &[u8], req: &[u8]) -> Option<u64> {
        if self.reqs.is_empty() {
            return None;
        }
        let is_it = |value: Value| {
            self.record(value.number)
                .is_some_and(|r| r.user == user && r.req.is_some_and(|its| its.id == req))
        };
        let hash = self.req_hash(self.hash_of(user), req);
        self.reqs.find(hash, is_it).map(|value| value.number.into())
    }

    /// Where a request id of the user with this hash is looked for. It goes into the key, because
    /// one piece is hashed several times faster than two.
    pub(super) fn req_hash(&self, user_hash: u64, req: &[u8]) -> u64 {
        SipHasher13::new_with_keys(self.key[1], self.key[0] ^ user_hash).hash(req)
    }
}
