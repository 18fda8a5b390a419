//! Request ids outside the ledger: ids cancelled before their grant (fences), and ids of the last
//! restocks.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::model::limits::{FENCES_FORGOTTEN_MAX, FENCES_KEPT_MAX, FENCE_MS, RESTOCKS_KEPT_MAX};
use crate::model::outcome::Outcome;
use crate::model::wire;

/// Average cost of a fence's entries in both trees, without its keys.
const BYTES_PER_FENCE: usize = 96;

/// User and request id in one string: the user's length, the user, the request id.
type Key = SmallVec<[u8; 16]>;

/// A fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fence<'a> {
    #[serde(with = "wire::user")]
    pub user: &'a [u8],
    #[serde(with = "wire::req")]
    pub req: &'a [u8],
    /// T at which it was set.
    #[serde(deserialize_with = "wire::moment")]
    pub at: u64,
}

/// Fences: request ids that were cancelled before they were granted.
///
/// A CANCEL that arrives before its GRAB leaves a fence, and the late GRAB takes nothing. Fences
/// are forgotten after ten minutes, or when there are too many. A few at a time are forgotten, only
/// while a new fence is applied, so that all nodes forget equal fences.
#[derive(Clone, Debug, Default)]
pub struct Fences {
    by_key: BTreeMap<Key, Kept>,
    /// Keys in the order in which they were set, by number.
    order: BTreeMap<u64, Key>,
    /// The number of the next fence. Numbers are local to this process.
    next: u64,
    key_bytes: usize,
    /// Fences forgotten before their time because there were too many.
    dropped: u64,
}

/// Time at which a fence was set, and its number in the order.
#[derive(Clone, Copy, Debug)]
struct Kept {
    at: u64,
    number: u64,
}

fn key_of(user: &[u8], req: &[u8]) -> Key {
    let mut key = Key::from_slice(&(user.len() as u16).to_be_bytes());
    key.extend_from_slice(user);
    key.extend_from_slice(req);
    key
}

impl Fences {
    /// Whether a fence of this user and request id is in force at `t`.
    pub fn stands(&self, user: &[u8], req: &[u8], t: u64) -> bool {
        let placed = self.by_key.get(&key_of(user, req));
        placed.is_some_and(|placed| t < placed.at.saturating_add(FENCE_MS))
    }

    /// Sets a fence at `at` and forgets some fences that are too old or too many.
    pub fn insert(&mut self, user: &[u8], req: &[u8], at: u64) {
        for _ in 0..FENCES_FORGOTTEN_MAX {
            let Some(oldest) = self.order.values().next() else { break };
            let since = self.by_key.get(oldest).map_or(0, |placed| placed.at);
            let over = since.saturating_add(FENCE_MS) <= at;
            if !over && self.order.len() < FENCES_KEPT_MAX {
                break;
            }
            self.dropped += u64::from(!over);
            self.forget_oldest();
        }
        self.add(user, req, at);
    }

    /// Whether a saved fence can be added: it is new and there is room.
    pub fn has_room_for(&self, fence: &Fence<'_>) -> bool {
        let known = self.by_key.contains_key(&key_of(fence.user, fence.req));
        !known && self.order.len() < FENCES_KEPT_MAX
    }

    /// Adds a saved fence.
    pub fn load(&mut self, fence: &Fence<'_>) {
        self.add(fence.user, fence.req, fence.at);
    }

    fn add(&mut self, user: &[u8], req: &[u8], at: u64) {
        let (key, number) = (key_of(user, req), self.next);
        self.next += 1;
        self.key_bytes += key.len();
        // A fence that is set again after its time moves to the end of the order.
        if let Some(before) = self.by_key.insert(key.clone(), Kept { at, number }) {
            self.key_bytes -= key.len();
            self.order.remove(&before.number);
        }
        self.order.insert(number, key);
    }

    fn forget_oldest(&mut self) {
        if let Some((_, key)) = self.order.pop_first() {
            self.by_key.remove(&key);
            self.key_bytes -= key.len();
        }
    }

    /// Fences forgotten before their time.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Sets the count of a saved sale.
    pub fn set_dropped(&mut self, dropped: u64) {
        self.dropped = dropped;
    }

    /// Fences that are kept, those past their time included.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether no fence is kept.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// The fences from number `number` on, oldest first, each with its number.
    pub fn iter_from(&self, number: u64) -> impl Iterator<Item = (u64, Fence<'_>)> {
        self.order.range(number..).filter_map(|(number, key)| {
            let (len, ids) = key.split_first_chunk::<2>()?;
            let (user, req) = ids.split_at_checked(u16::from_be_bytes(*len).into())?;
            Some((*number, Fence { user, req, at: self.by_key.get(key)?.at }))
        })
    }

    /// Approximate bytes of heap in use.
    pub fn heap_bytes(&self) -> usize {
        // Each key is stored twice: in the map and in the order.
        self.order.len() * (2 * size_of::<Key>() + BYTES_PER_FENCE) + 2 * self.key_bytes
    }
}

/// An applied restock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restocked {
    pub req: Box<[u8]>,
    pub delta: i64,
    pub applied: i64,
    /// Units available after it.
    pub available: u64,
}

impl Restocked {
    /// The reply, also to repeats.
    pub fn outcome(&self) -> Outcome {
        Outcome::Restocked { applied: self.applied, available: self.available }
    }
}

/// The last restocks, oldest first: a repeated RESTOCK is found here and answered as a replay.
/// Restocks are rare and few are kept, so a lookup is a scan.
#[derive(Clone, Debug, Default)]
pub struct Restocks {
    kept: VecDeque<Restocked>,
}

impl Restocks {
    /// The restock with this request id, if it is still kept.
    pub fn find(&self, req: &[u8]) -> Option<&Restocked> {
        self.kept.iter().rev().find(|restock| &*restock.req == req)
    }

    /// Keeps a restock and forgets the oldest one beyond the limit.
    pub fn push(&mut self, restock: Restocked) {
        if self.kept.len() == RESTOCKS_KEPT_MAX {
            self.kept.pop_front();
        }
        self.kept.push_back(restock);
    }

    /// Restocks that are kept.
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    /// Whether none is kept.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// The restocks, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Restocked> {
        self.kept.iter()
    }

    /// Bytes of heap in use.
    pub fn heap_bytes(&self) -> usize {
        let ids: usize = self.kept.iter().map(|restock| restock.req.len()).sum();
        self.kept.capacity() * size_of::<Restocked>() + ids
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// MEMORY USAGE and INFO count fences: both ids of each, twice, and nothing if there is none.
    #[test]
    fn the_bytes_of_fences_are_those_of_their_ids_at_least() {
        let mut fences = Fences::default();
        assert_eq!(fences.heap_bytes(), 0);
        let bytes = |fences: &mut Fences, number: u64, len: usize| {
            let before = fences.heap_bytes();
            fences.insert(&number.to_be_bytes(), &vec![7; len], 1);
            fences.heap_bytes() - before
        };
        (0..100).for_each(|number| assert!(bytes(&mut fences, number, 8) >= 2 * 16));
        (100..200).for_each(|number| assert!(bytes(&mut fences, number, 128) >= 2 * 136));
        let keys = 2 * (200 * size_of::<Key>() + fences.key_bytes);
        assert_eq!(fences.heap_bytes(), 200 * BYTES_PER_FENCE + keys);
    }

    #[test]
    fn the_last_restocks_are_kept() {
        let mut restocks = Restocks::default();
        let id = |number: usize| number.to_be_bytes();
        for number in 0..=RESTOCKS_KEPT_MAX {
            let restock = Restocked { req: id(number).into(), delta: 1, applied: 1, available: 1 };
            assert!(restocks.find(&id(number)).is_none());
            restocks.push(restock);
        }
        assert_eq!(restocks.len(), RESTOCKS_KEPT_MAX);
        let is_known = [0, 1, RESTOCKS_KEPT_MAX].map(|number| restocks.find(&id(number)).is_some());
        assert_eq!(is_known, [false, true, true]);
    }

    /// A fence is in force for ten minutes, and is removed when a new fence is set after that.
    #[test]
    fn fences_stand_for_their_time() {
        let mut fences = Fences::default();
        assert!(!fences.stands(b"u", b"r", 5));
        fences.insert(b"u", b"r", 5);
        fences.insert(b"v", b"r", 6);
        let stands = |fences: &Fences, t| fences.stands(b"u", b"r", t);
        let times = [5, 4 + FENCE_MS, 5 + FENCE_MS];
        assert_eq!(times.map(|t| stands(&fences, t)), [true, true, false]);
        assert!(!fences.stands(b"u", b"s", 5) && !fences.stands(b"w", b"r", 5));
        fences.insert(b"w", b"r", 4 + FENCE_MS);
        assert_eq!((fences.len(), fences.dropped()), (3, 0));
        fences.insert(b"x", b"r", 5 + FENCE_MS);
        assert_eq!((fences.len(), fences.dropped()), (3, 0), "the first is forgotten");
        // A fence that is set again is the last one.
        fences.insert(b"v", b"r", 5 + FENCE_MS);
        let users: Vec<u8> = fences.iter_from(0).map(|(_, it)| it.user[0]).collect();
        assert_eq!(users, b"wxv");
        let second = fences.iter_from(0).nth(1).unwrap().0;
        assert_eq!(fences.iter_from(second).map(|(_, it)| it.user[0]).next(), Some(b'x'));
        let bytes = fences.heap_bytes();
        fences.insert(b"v", b"r", 5 + FENCE_MS);
        assert_eq!((fences.heap_bytes(), fences.len(), fences.is_empty()), (bytes, 3, false));
    }

    /// Very many old fences are forgotten a few at a time, oldest first. A fence that is set again
    /// is the newest one, even if it had not been forgotten yet.
    #[test]
    fn fences_are_forgotten_a_few_at_a_time() {
        let mut fences = Fences::default();
        let ids: Vec<[u8; 2]> = (0..200u16).map(u16::to_be_bytes).collect();
        ids.iter().for_each(|id| fences.insert(b"u", id, 1));
        let later = 1 + FENCE_MS;
        for (id, left) in [(&ids[199], 136), (&ids[198], 72), (b"ab", 9), (b"cd", 4)] {
            assert!(!fences.stands(b"u", id, later));
            fences.insert(b"u", id, later);
            assert!(fences.stands(b"u", id, later));
            assert_eq!((fences.len(), fences.dropped()), (left, 0));
        }
        let reqs: Vec<&[u8]> = fences.iter_from(0).map(|(_, it)| it.req).collect();
        assert_eq!(reqs, [&ids[199][..], &ids[198], b"ab", b"cd"]);
    }

    /// MEMORY USAGE and INFO count each restock with its id.
    #[test]
    fn the_bytes_of_restocks_are_those_of_their_ids_at_least() {
        let mut restocks = Restocks::default();
        assert_eq!(restocks.heap_bytes(), 0);
        for number in 0..100_u64 {
            let mut req = vec![7; 92];
            req.extend(number.to_be_bytes());
            restocks.push(Restocked { req: req.into(), delta: 1, applied: 1, available: 1 });
        }
        let each = size_of::<Restocked>() + 100;
        assert!((each..2 * each).contains(&(restocks.heap_bytes() / 100)));
    }
}
