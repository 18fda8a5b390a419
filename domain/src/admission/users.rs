//! A set of users: the same pages and the same index as the ledger's, without grants.
//!
//! Users who are taken out keep their place, marked, so that adding and removing them again and
//! again costs nothing more; when the last one is taken out the set is empty for good reason and
//! starts anew. The order of the places is part of the state, so equal nodes have equal pieces.

use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher13;

use crate::index::{Index, Value};
use crate::ledger::{Block, HashKey};
use crate::memory::Pages;
use crate::model::limits::{LISTED_BYTES_MAX, PAGE_BYTES, USER_BYTES_MAX};
use crate::model::wire;

/// Head of a record: whether they are in, and the length of the user less one.
const HEAD_BYTES: usize = 2;

/// Longest record.
const RECORD_BYTES_MAX: usize = HEAD_BYTES + USER_BYTES_MAX;

/// A user who is in the set or was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed<'a> {
    #[serde(with = "wire::user")]
    pub user: &'a [u8],
    pub is_in: bool,
}

/// The set. See the module's comment.
#[derive(Clone, Debug)]
pub struct Users {
    key: HashKey,
    pages: Pages,
    /// Places of the records, counted from 1.
    index: Index,
    len: u64,
    /// Where the last record ends.
    end: u64,
}

impl Users {
    /// An empty set. `key` keys its index's hash.
    pub fn new(key: HashKey) -> Users {
        Users { key, pages: Pages::default(), index: Index::default(), len: 0, end: 0 }
    }

    /// How many users are in.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// How many entries there are: of users who are in, and of those who were.
    pub fn places(&self) -> u64 {
        self.index.len()
    }

    /// Whether so many more users of any length fit.
    pub fn has_room_for(&self, users: usize) -> bool {
        let bytes = (users as u64).saturating_mul(2 * RECORD_BYTES_MAX as u64);
        self.end.saturating_add(bytes) <= LISTED_BYTES_MAX
    }

    /// A list as full as that: so many more users of any length fit.
    #[cfg(test)]
    pub(crate) fn leave_room_for(&mut self, users: usize) {
        self.end = LISTED_BYTES_MAX - (users * 2 * RECORD_BYTES_MAX) as u64;
    }

    fn hash(&self, user: &[u8]) -> u64 {
        SipHasher13::new_with_keys(self.key[0], self.key[1]).hash(user)
    }

    fn listed(&self, value: Value) -> Option<Listed<'_>> {
        listed_at(self.pages.get(u64::from(value.number) - 1)?)
    }

    fn find(&self, user: &[u8]) -> Option<Value> {
        if self.index.is_empty() {
            return None;
        }
        let is_user = |value| self.listed(value).is_some_and(|listed| listed.user == user);
        self.index.find(self.hash(user), is_user)
    }

    /// Whether the user is in.
    #[inline]
    pub fn contains(&self, user: &[u8]) -> bool {
        self.find(user).and_then(|value| self.listed(value)).is_some_and(|listed| listed.is_in)
    }

    /// Takes a user of 1 to 256 bytes in. False when they were in.
    pub fn insert(&mut self, user: &[u8]) -> bool {
        match self.find(user) {
            Some(value) => self.mark(value, true),
            None => {
                self.append(&Listed { user, is_in: true });
                true
            }
        }
    }

    /// Takes a user out. False when they were not in.
    pub fn remove(&mut self, user: &[u8]) -> bool {
        let removed = self.find(user).is_some_and(|value| self.mark(value, false));
        if removed && self.len == 0 {
            *self = Users::new(self.key);
        }
        removed
    }

    /// Whether a saved user is new to the set.
    pub fn is_new(&self, user: &[u8]) -> bool {
        self.find(user).is_none()
    }

    /// Adds a user who is new to the set, as they were saved.
    pub fn append(&mut self, listed: &Listed<'_>) {
        let hash = self.hash(listed.user);
        let (place, page) = self.pages.open(RECORD_BYTES_MAX);
        page.push(u8::from(listed.is_in));
        page.push((listed.user.len() - 1) as u8);
        page.extend_from_slice(listed.user);
        self.end = place + (HEAD_BYTES + listed.user.len()) as u64;
        self.len += u64::from(listed.is_in);
        self.index.insert(hash, Value { number: (place + 1) as u32, marked: false });
    }

    fn mark(&mut self, value: Value, is_in: bool) -> bool {
        let bytes = self.pages.get_mut(u64::from(value.number) - 1);
        let Some(flag) = bytes.and_then(<[u8]>::first_mut) else { return false };
        if *flag == u8::from(is_in) {
            return false;
        }
        *flag = u8::from(is_in);
        if is_in {
            self.len += 1;
        } else {
            self.len -= 1;
        }
        true
    }

    /// All who are in or were, each with their place, from the place `first` on.
    pub fn iter_from(&self, first: u64) -> impl Iterator<Item = (u64, Listed<'_>)> {
        let mut place = first;
        core::iter::from_fn(move || {
            let listed = self.pages.get(place).and_then(listed_at).or_else(|| {
                // The page is full: the next one begins at a multiple of its size.
                place = place.next_multiple_of(PAGE_BYTES as u64);
                self.pages.get(place).and_then(listed_at)
            })?;
            let at = place;
            place += (HEAD_BYTES + listed.user.len()) as u64;
            Some((at, listed))
        })
    }

    /// The blocks that hold the bulk of the memory, for a defragmenter that moves them.
    pub fn blocks_mut(&mut self) -> impl Iterator<Item = Block<'_>> {
        let pages = self.pages.blocks_mut().map(Block::Page);
        pages.chain(self.index.blocks_mut().map(Block::Slots))
    }

    /// The words of the index, which writing the users down does not look at.
    pub fn slots_mut(&mut self) -> impl Iterator<Item = &mut [u64]> {
        self.index.blocks_mut().map(|slots| &mut **slots)
    }

    /// Bytes of heap in use.
    pub fn heap_bytes(&self) -> usize {
        self.pages.heap_bytes() + self.index.heap_bytes()
    }

    /// Blocks of heap in use: what freeing costs.
    pub fn heap_blocks(&self) -> usize {
        self.pages.heap_blocks() + self.index.heap_blocks()
    }
}

fn listed_at(bytes: &[u8]) -> Option<Listed<'_>> {
    let ([flag, len], rest) = bytes.split_first_chunk::<HEAD_BYTES>()?;
    let user = rest.get(..usize::from(*len) + 1)?;
    Some(Listed { user, is_in: *flag == 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_users_are_compact_and_found() {
        let mut users = Users::new([1, 2]);
        let name = |number: u32| format!("user:{number:012}");
        for number in 0..1_000_000 {
            assert!(users.insert(name(number).as_bytes()));
        }
        assert_eq!(users.len(), 1_000_000);
        for number in (0..1_000_000).step_by(997) {
            assert!(users.contains(name(number).as_bytes()));
            assert!(!users.contains(name(number + 1_000_000).as_bytes()));
        }
        let mut in_order = (0u32..).zip(users.iter_from(0));
        assert!(in_order.all(|(number, (_, listed))| listed.user == name(number).as_bytes()));
        assert_eq!(users.iter_from(0).count(), 1_000_000);
        let bytes = users.heap_bytes() / 1_000_000;
        assert!(bytes < 36, "{bytes} bytes a user of 17");
    }

    /// Each may need a whole record more than its own, for what a page leaves free.
    #[test]
    fn a_list_has_room_up_to_its_bound() {
        let mut users = Users::new([1, 2]);
        for room in [0, 1, 3] {
            users.leave_room_for(room);
            let has_room =
                |users: &Users| [0, 1, 2, 3, 4, usize::MAX].map(|it| users.has_room_for(it));
            assert_eq!(has_room(&users), [0, 1, 2, 3, 4, usize::MAX].map(|it| it <= room));
            users.end += 1;
            assert!(!users.has_room_for(room));
        }
    }

    #[test]
    fn the_memory_of_a_list_is_that_of_its_blocks() {
        let mut users = Users::new([1, 2]);
        assert_eq!((users.heap_bytes(), users.heap_blocks()), (0, 2));
        (0..20_000_u32).for_each(|number| assert!(users.insert(&number.to_be_bytes())));
        let pages = users.pages.heap_bytes();
        assert!(pages >= 20_000 * 6 && users.index.heap_bytes() >= 20_000 * 8);
        assert_eq!(users.heap_bytes(), pages + users.index.heap_bytes());
        assert_eq!(users.heap_blocks(), users.blocks_mut().count() + 2);
        let slots: usize = users.slots_mut().map(|words| words.len()).sum();
        assert!((20_000..60_000).contains(&slots));
        // From each place on, also from the end of a page.
        let all: Vec<(u64, Vec<u8>)> =
            users.iter_from(0).map(|(place, listed)| (place, listed.user.to_vec())).collect();
        assert_eq!(all.len(), 20_000);
        for (number, (place, user)) in all.iter().enumerate().step_by(61) {
            let (at, first) = users.iter_from(*place).next().unwrap();
            assert_eq!((at, first.user), (*place, &user[..]));
            assert_eq!(users.iter_from(*place).count(), 20_000 - number);
        }
    }

    #[test]
    fn adding_and_removing_again_takes_no_place() {
        let mut users = Users::new([1, 2]);
        assert!(users.insert(b"a") && users.insert(&[7; USER_BYTES_MAX]) && !users.insert(b"a"));
        assert_eq!(users.end, (2 * HEAD_BYTES + 1 + USER_BYTES_MAX) as u64);
        assert!(users.remove(b"a") && !users.remove(b"a") && !users.remove(b"c"));
        assert!(!users.contains(b"a") && users.insert(b"a") && users.contains(b"a"));
        assert_eq!((users.len(), users.places()), (2, 2));
        assert!(users.remove(b"a"));
        let all: Vec<bool> = users.iter_from(0).map(|(_, listed)| listed.is_in).collect();
        assert_eq!(all, [false, true]);
        assert!(users.remove(&[7; USER_BYTES_MAX]));
        assert_eq!((users.len(), users.places()), (0, 0));
    }
}
