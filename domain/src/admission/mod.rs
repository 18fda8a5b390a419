//! Admission: lists of users, number ranges, a random share, the first distinct users. Every hash
//! is keyed by the sale's secret: no user can choose an id that passes, and all nodes agree. A
//! refusal allocates nothing.
//!
//! A list is a set of users. Pages and an index keep it as they keep the ledger's records. The
//! record of a removed user stays and is marked, so removing and adding a user again costs no
//! memory. When the last user is removed, the set starts again, empty, and the memory of its
//! records is freed in small steps. The order of the records is part of the state, so equal nodes
//! have equal pieces.

mod tests;

use core::mem;

use serde::{Deserialize, Deserializer, Serialize};
use siphasher::sip::SipHasher13;

use crate::draw::{keyed, Purpose};
use crate::index::{Index, Value};
use crate::ledger::{Block, HashKey};
use crate::memory::Pages;
use crate::model::limits::{
    FREED_BLOCKS_PER_STEP, LISTED_BYTES_MAX, MOD_RESIDUES_MAX, PAGE_BYTES, PERMILLE_ALL,
    SALT_BYTES_MAX, USER_BYTES_MAX,
};
use crate::model::outcome::Misuse;
use crate::model::wire;

/// A list of users that a sale keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum List {
    /// Users whom ALLOWLIST lets in.
    Allow,
    /// Users who are always refused.
    Deny,
    /// Users whom ADMIT has let in.
    Admitted,
}

/// All lists, in the order of their numbers.
pub const LISTS: [List; 3] = [List::Allow, List::Deny, List::Admitted];

/// Terms of admission in force.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Admission {
    /// Only listed users.
    pub allowlist: bool,
    /// Only users whose number has one of these remainders.
    pub modulo: Option<Box<Modulo>>,
    /// Only a random share of all users.
    pub sample: Option<Box<Sample>>,
    /// Only the first `admit` distinct users; 0 is all.
    #[serde(deserialize_with = "wire::integer")]
    pub admit: u64,
    /// Whether refusals look like a sale that is sold out for now.
    pub mask: bool,
}

/// Terms that ALTER changes; `None` leaves a term unchanged, `Some(None)` switches it off.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdmissionChange {
    /// Whether only listed users are admitted.
    pub allowlist: Option<bool>,
    /// Only users whose number has one of these remainders.
    pub modulo: Option<Option<Box<Modulo>>>,
    /// Only a random share of all users.
    pub sample: Option<Option<Box<Sample>>>,
    /// The share has the salt that the sale has, not `sample`'s. An effect names the salt.
    #[serde(skip)]
    pub keeps_salt: bool,
    /// Only the first `admit` distinct users; 0 is all.
    #[serde(deserialize_with = "wire::maybe_integer")]
    pub admit: Option<u64>,
    /// Whether refusals look like SOLDOUT.
    pub mask: Option<bool>,
}

impl Admission {
    /// The terms after `change`.
    pub fn altered(&self, change: &AdmissionChange) -> Admission {
        let mut sample = change.sample.clone().unwrap_or_else(|| self.sample.clone());
        if let (true, Some(changed), Some(now)) = (change.keeps_salt, &mut sample, &self.sample) {
            changed.salt.clone_from(&now.salt);
        }
        Admission {
            allowlist: change.allowlist.unwrap_or(self.allowlist),
            modulo: change.modulo.clone().unwrap_or_else(|| self.modulo.clone()),
            sample,
            admit: change.admit.unwrap_or(self.admit),
            mask: change.mask.unwrap_or(self.mask),
        }
    }

    /// Whether these terms are consistent.
    pub fn check(&self) -> Result<(), Misuse> {
        self.modulo.as_ref().map_or(Ok(()), |modulo| modulo.check())?;
        self.sample.as_ref().map_or(Ok(()), |sample| sample.check())
    }

    /// Whether everybody is admitted.
    pub fn is_open(&self) -> bool {
        *self == Admission::default()
    }
}

/// MOD: the user's number modulo `modulus` is one of `residues`, which are ascending.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Modulo {
    /// The divisor of a user's number.
    #[serde(deserialize_with = "wire::integer")]
    pub modulus: u64,
    /// The remainders that are admitted, ascending.
    #[serde(deserialize_with = "residues")]
    pub residues: Box<[u64]>,
}

impl Modulo {
    /// The residues in any order; a repeated one counts once.
    pub fn new(modulus: u64, mut residues: Vec<u64>) -> Modulo {
        residues.sort_unstable();
        residues.dedup();
        Modulo { modulus, residues: residues.into() }
    }

    fn check(&self) -> Result<(), Misuse> {
        let ascending = self.residues.windows(2).all(|pair| pair[0] < pair[1]);
        match self.residues.last() {
            None => Err(Misuse::ModNoResidue),
            Some(last) if *last >= self.modulus || !ascending => Err(Misuse::ModResidueTooLarge),
            _ if self.residues.len() > MOD_RESIDUES_MAX => Err(Misuse::ModTooManyResidues),
            _ => Ok(()),
        }
    }

    /// Whether MOD admits this user.
    pub(crate) fn admits(&self, user: &[u8], secret: &[u8; 16]) -> bool {
        let residue = match user.iter().all(u8::is_ascii_digit) {
            true => user
                .iter()
                .fold(0, |residue, digit| (residue * 10 + u64::from(digit - b'0')) % self.modulus),
            false => keyed(secret, Purpose::Modulo, &[user]) % self.modulus,
        };
        self.residues.binary_search(&residue).is_ok()
    }
}

fn residues<'de, D: Deserializer<'de>>(from: D) -> Result<Box<[u64]>, D::Error> {
    let all: Vec<u64> =
        wire::sequence(from, MOD_RESIDUES_MAX, |wire::Integer(residue)| Some(residue))?;
    Ok(all.into())
}

/// SAMPLE: a random share of the users; another salt selects another share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// Users admitted out of a thousand.
    pub permille: u64,
    /// The salt, at most 128 bytes; another salt selects another share.
    pub salt: Box<[u8]>,
}

impl Sample {
    fn check(&self) -> Result<(), Misuse> {
        if self.permille > PERMILLE_ALL {
            return Err(Misuse::SampleTooLarge);
        }
        if self.salt.len() > SALT_BYTES_MAX {
            return Err(Misuse::SaltTooLong);
        }
        Ok(())
    }

    /// Whether SAMPLE admits this user. A larger share contains all users of a smaller one.
    pub(crate) fn admits(&self, user: &[u8], secret: &[u8; 16]) -> bool {
        let bits = keyed(secret, Purpose::Sample, &[&[self.salt.len() as u8], &self.salt, user]);
        let drawn = (u128::from(bits) * u128::from(PERMILLE_ALL)) >> 64;
        drawn < u128::from(self.permille)
    }
}

/// Head of a record: a mark for members, and the length of the user minus one.
const HEAD_BYTES: usize = 2;

/// Longest record.
const RECORD_BYTES_MAX: usize = HEAD_BYTES + USER_BYTES_MAX;

/// A member of the set, or a removed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed<'a> {
    /// The user's id, 1 to 256 bytes.
    #[serde(with = "wire::user")]
    pub user: &'a [u8],
    /// Whether the user is a member.
    pub is_in: bool,
}

/// A set of users, see the module's comment.
#[derive(Clone, Debug)]
pub(crate) struct Users {
    key: HashKey,
    pages: Pages,
    /// Index of the records, by position, counted from 1.
    index: Index,
    len: u64,
    /// Position after the last record.
    end: u64,
    /// Memory of records that are gone, which is freed in small steps.
    dropping: Vec<(Pages, Index)>,
}

impl Users {
    /// An empty set. `key` keys its index's hash.
    pub fn new(key: HashKey) -> Users {
        let (pages, index) = (Pages::default(), Index::default());
        Users { key, pages, index, len: 0, end: 0, dropping: Vec::new() }
    }

    /// Number of members.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Number of records: members and removed users.
    pub fn records(&self) -> u64 {
        self.index.len()
    }

    /// Whether `users` more users of any length fit.
    pub fn has_room_for(&self, users: usize) -> bool {
        let bytes = (users as u64).saturating_mul(2 * RECORD_BYTES_MAX as u64);
        self.end.saturating_add(bytes) <= LISTED_BYTES_MAX
    }

    /// Makes the list so full that only `users` more users of any length fit.
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

    /// Whether the user is a member.
    #[inline]
    pub fn contains(&self, user: &[u8]) -> bool {
        self.find(user).and_then(|value| self.listed(value)).is_some_and(|listed| listed.is_in)
    }

    /// Adds a user of 1 to 256 bytes. False if they are a member already.
    pub fn insert(&mut self, user: &[u8]) -> bool {
        match self.find(user) {
            Some(value) => self.mark(value, true),
            None => {
                self.append(&Listed { user, is_in: true });
                true
            }
        }
    }

    /// Removes a user. False if they are not a member.
    pub fn remove(&mut self, user: &[u8]) -> bool {
        let removed = self.find(user).is_some_and(|value| self.mark(value, false));
        if removed && self.len == 0 {
            self.start_again();
        }
        removed
    }

    /// Forgets all records. Few blocks are freed at once, many in steps.
    fn start_again(&mut self) {
        let (pages, index) = (mem::take(&mut self.pages), mem::take(&mut self.index));
        self.end = 0;
        if pages.heap_blocks() + index.heap_blocks() > FREED_BLOCKS_PER_STEP {
            self.dropping.push((pages, index));
        }
    }

    /// Frees a little memory of records that are gone. False when none is left.
    pub fn free_some(&mut self) -> bool {
        if let Some((pages, index)) = self.dropping.last_mut() {
            let is_more = pages.free_some(FREED_BLOCKS_PER_STEP);
            if !index.free_some(FREED_BLOCKS_PER_STEP) && !is_more {
                self.dropping.pop();
            }
        }
        !self.dropping.is_empty()
    }

    /// Whether the set has no record of a saved user.
    pub fn is_new(&self, user: &[u8]) -> bool {
        self.find(user).is_none()
    }

    /// Adds a saved record of a user without one.
    pub fn append(&mut self, listed: &Listed<'_>) {
        let hash = self.hash(listed.user);
        let (offset, page) = self.pages.open(RECORD_BYTES_MAX);
        page.push(u8::from(listed.is_in));
        page.push((listed.user.len() - 1) as u8);
        page.extend_from_slice(listed.user);
        self.end = offset + (HEAD_BYTES + listed.user.len()) as u64;
        self.len += u64::from(listed.is_in);
        self.index.insert(hash, Value { number: (offset + 1) as u32, marked: false });
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

    /// All records from position `first` on, each with its position.
    pub fn iter_from(&self, first: u64) -> impl Iterator<Item = (u64, Listed<'_>)> {
        let mut offset = first;
        core::iter::from_fn(move || {
            let listed = self.pages.get(offset).and_then(listed_at).or_else(|| {
                // The page is full: the next page begins at a multiple of the page size.
                offset = offset.next_multiple_of(PAGE_BYTES as u64);
                self.pages.get(offset).and_then(listed_at)
            })?;
            let at = offset;
            offset += (HEAD_BYTES + listed.user.len()) as u64;
            Some((at, listed))
        })
    }

    /// The large blocks of memory, for a defragmenter that moves them. Blocks that are being freed
    /// are not worth a move.
    pub fn blocks_mut(&mut self) -> impl Iterator<Item = Block<'_>> {
        let pages = self.pages.blocks_mut().map(Block::Page);
        pages.chain(self.index.blocks_mut().map(Block::Slots))
    }

    /// Bytes of heap in use.
    pub fn heap_bytes(&self) -> usize {
        let bytes = |(pages, index): &(Pages, Index)| pages.heap_bytes() + index.heap_bytes();
        self.pages.heap_bytes()
            + self.index.heap_bytes()
            + self.dropping.iter().map(bytes).sum::<usize>()
            + self.dropping.capacity() * size_of::<(Pages, Index)>()
    }

    /// Number of heap blocks: the cost of freeing them.
    pub fn heap_blocks(&self) -> usize {
        let blocks = |(pages, index): &(Pages, Index)| pages.heap_blocks() + index.heap_blocks();
        self.pages.heap_blocks()
            + self.index.heap_blocks()
            + self.dropping.iter().map(blocks).sum::<usize>()
    }
}

fn listed_at(bytes: &[u8]) -> Option<Listed<'_>> {
    let ([flag, len], rest) = bytes.split_first_chunk::<HEAD_BYTES>()?;
    let user = rest.get(..usize::from(*len) + 1)?;
    Some(Listed { user, is_in: *flag == 1 })
}
