//! The waiting list: users who want units that are not available, in the order of asking.
//!
//! An entry reserves no units. An entry leaves the list when its units are offered (a held grant),
//! when its user leaves, or when it is dropped. A tree keeps the entries in order, with sums for
//! finding places and offers, see `queue`; an index maps a user to their entry.
//!
//! An entry in memory is numbers as varints, then its ids:
//!
//! ```text
//! ticket  qty  at  until  user length - 1  req length - 1  user  req
//! ```

mod queue;
mod terms;
mod tests;

use core::ops::Range;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher13;

use crate::index::{Index, Value};
use crate::ledger::{Block, HashKey};
use crate::memory::{put_varint, Reader};
use crate::model::limits::{INTEGER_MAX, WAITERS_MAX};
use crate::model::outcome::Place;
use crate::model::wire;
use queue::{Found, Queue};

pub use terms::{WaitTerms, WaitTermsChange};

/// A waiter: an entry of the list. The effect that adds it is `effect::Join`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiter<'a> {
    /// The ticket: the earliest waiter has the lowest.
    #[serde(deserialize_with = "wire::quantity")]
    pub ticket: u64,
    /// The user's id, 1 to 256 bytes.
    #[serde(with = "wire::user")]
    pub user: &'a [u8],
    /// The request id, 1 to 128 bytes.
    #[serde(with = "wire::req")]
    pub req: &'a [u8],
    /// Units, granted all or not at all.
    #[serde(deserialize_with = "wire::quantity")]
    pub qty: u64,
    /// Time of joining, Unix ms.
    #[serde(deserialize_with = "wire::moment")]
    pub at: u64,
    /// Time at which the user stops waiting, Unix ms; 0 for none.
    #[serde(deserialize_with = "wire::moment")]
    pub until: u64,
}

/// The reason for dropping an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reason {
    /// The UNTIL has come.
    Until,
    /// The sale is closed.
    Closed,
    /// The user's limit no longer allows these units.
    Limit,
    /// The user is no longer admitted.
    Denied,
}

impl Reason {
    /// The word in the outbox.
    pub fn name(self) -> &'static str {
        match self {
            Reason::Until => "until",
            Reason::Closed => "closed",
            Reason::Limit => "limit",
            Reason::Denied => "denied",
        }
    }
}

/// Numbers of a list that can't be counted from its entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// The last ticket that was given out.
    #[serde(deserialize_with = "wire::integer")]
    pub last_ticket: u64,
    /// Offers made so far.
    #[serde(deserialize_with = "wire::integer")]
    pub offers: u64,
    /// Entries dropped so far.
    #[serde(deserialize_with = "wire::integer")]
    pub dropped: u64,
}

/// Entries of a full leaf, of which the nodes above it take a little.
const ENTRIES_PER_BLOCK: usize = 15;

/// The list. See the module's comment.
#[derive(Clone, Debug)]
pub struct Waitlist {
    key: HashKey,
    queue: Queue,
    /// Low 32 bits of a user's ticket.
    users: Index,
    /// Times that each entry was passed as the head, if any.
    passed: BTreeMap<u64, u64>,
    /// Held grants that are offers.
    pub(crate) offered: u64,
    pub(crate) totals: Totals,
    /// A recount under way, which follows entries that leave.
    recounting: Option<Recounting>,
}

/// A recount of a list, in steps between which entries may come and go.
#[derive(Clone, Copy, Debug, Default)]
struct Recounting {
    /// Identifies the recount, so that no other one continues it.
    token: u64,
    /// The last counted ticket.
    ticket: u64,
    count: Recount,
}

/// Sums over the entries of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recount {
    /// Entries.
    pub waiting: u64,
    /// Units that they ask for.
    pub units: u64,
    /// Entries that are not found by their user, or whose place is wrong.
    pub wrong: u64,
}

impl Waitlist {
    /// An empty list. `key` keys the hash of the index.
    pub(crate) fn new(key: HashKey) -> Waitlist {
        Waitlist {
            key,
            queue: Queue::default(),
            users: Index::default(),
            passed: BTreeMap::new(),
            offered: 0,
            totals: Totals::default(),
            recounting: None,
        }
    }

    /// The number of waiters.
    pub fn len(&self) -> u64 {
        self.users.len()
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.users.is_empty()
    }

    /// Units that all waiters ask for, at most the largest integer.
    pub fn units(&self) -> u64 {
        counted(self.queue.root.sum.units)
    }

    /// The first waiter.
    pub fn first(&self) -> Option<Waiter<'_>> {
        self.iter_from(0).next()
    }

    /// The waiter with this ticket.
    pub fn get(&self, ticket: u64) -> Option<Waiter<'_>> {
        self.queue.find(ticket).waiter
    }

    /// The waiter of this user.
    pub fn find(&self, user: &[u8]) -> Option<Waiter<'_>> {
        self.found(user)?.waiter
    }

    /// The place of a ticket: waiters and units before it. `gone`, an earlier waiter, no longer
    /// counts.
    pub(crate) fn place(&self, ticket: u64, gone: Option<Waiter<'_>>) -> Place {
        place(ticket, &self.queue.find(ticket), gone)
    }

    /// The waiter of this user, and their place.
    pub fn place_of(&self, user: &[u8]) -> Option<(Waiter<'_>, Place)> {
        let found = self.found(user)?;
        found.waiter.map(|waiter| (waiter, place(waiter.ticket, &found, None)))
    }

    /// The waiter of this user and the sums before them, in one descent of the tree.
    fn found(&self, user: &[u8]) -> Option<Found<'_>> {
        let oldest = self.queue.oldest()?;
        let mut found = None;
        self.users.find(self.hash(user), |value| {
            let there = self.queue.find(ticket_of(value.number, oldest));
            let is_theirs = there.waiter.is_some_and(|waiter| waiter.user == user);
            found = is_theirs.then_some(there);
            is_theirs
        })?;
        found
    }

    /// The waiters from `ticket` on, in order.
    pub fn iter_from(&self, ticket: u64) -> impl Iterator<Item = Waiter<'_>> {
        self.queue.iter_from(ticket)
    }

    /// Ticket of the waiter after the first `number`.
    pub(crate) fn nth(&self, number: u64) -> Option<u64> {
        self.queue.nth(number)
    }

    /// The first waiter from `from` on that asks for at most `most` units.
    pub(crate) fn first_within(&self, most: u64, from: u64) -> Option<Waiter<'_>> {
        self.queue.first_within(most, from)
    }

    /// The first waiter from `from` on whose UNTIL has come at `t`.
    pub(crate) fn first_over(&self, t: u64, from: u64) -> Option<Waiter<'_>> {
        self.queue.first_over(t, from)
    }

    /// Whether the UNTIL of every waiter has come at `t`.
    pub(crate) fn are_all_over(&self, t: u64) -> bool {
        self.queue.root.sum.last_ends <= t
    }

    /// Waiters whose UNTIL has come at `t`, counted up to `most`.
    pub(crate) fn count_over(&self, t: u64, most: u64) -> u64 {
        let mut from = 0;
        let over = core::iter::from_fn(|| {
            let waiter = self.first_over(t, from)?;
            from = waiter.ticket + 1;
            Some(waiter)
        });
        over.take(most as usize).count() as u64
    }

    /// The earliest UNTIL.
    pub(crate) fn next_end(&self) -> Option<u64> {
        Some(self.queue.root.sum.ends).filter(|ends| *ends != u64::MAX)
    }

    /// Times that this waiter was passed as the head.
    pub(crate) fn passed(&self, ticket: u64) -> u64 {
        self.passed.get(&ticket).copied().unwrap_or(0)
    }

    /// Whether another waiter can get the next ticket.
    pub(crate) fn has_room(&self) -> bool {
        let next = self.totals.last_ticket + 1;
        let oldest = self.queue.oldest().map_or(next, |oldest| oldest.min(next));
        self.len() < WAITERS_MAX && next <= INTEGER_MAX && next - oldest < u64::from(u32::MAX)
    }

    /// Appends a waiter whose user is not on the list, and whose ticket is above all earlier ones.
    pub(crate) fn join(&mut self, waiter: &Waiter<'_>) {
        let value = Value { number: waiter.ticket as u32, marked: false };
        self.users.insert(self.hash(waiter.user), value);
        self.queue.append(waiter);
        self.totals.last_ticket = self.totals.last_ticket.max(waiter.ticket);
    }

    /// Removes a waiter.
    pub(crate) fn remove(&mut self, ticket: u64) {
        let Some(waiter) = self.get(ticket) else { return };
        let (hash, qty) = (self.hash(waiter.user), waiter.qty);
        if let Some(recounting) = self.recounting.as_mut().filter(|it| ticket <= it.ticket) {
            recounting.count.waiting -= 1;
            recounting.count.units = recounting.count.units.saturating_sub(qty);
        }
        self.users.remove(hash, Value { number: ticket as u32, marked: false });
        self.queue.remove(ticket);
        self.passed.remove(&ticket);
    }

    /// Recounts the list from its entries, finding each as a buyer's command does.
    pub fn recount(&self) -> Recount {
        let mut recounting = Recounting::default();
        self.recount_some(&mut recounting, u64::MAX);
        recounting.count
    }

    /// Continues or begins the recount `token` over at most `most` entries. Returns the result at
    /// its end.
    pub(crate) fn recount_on(&mut self, token: u64, most: u64) -> Option<Recount> {
        let begun = self.recounting.take().filter(|recounting| recounting.token == token);
        let mut recounting = begun.unwrap_or(Recounting { token, ..Recounting::default() });
        if self.recount_some(&mut recounting, most) {
            return Some(recounting.count);
        }
        self.recounting = Some(recounting);
        None
    }

    /// Ends any recount.
    pub(crate) fn forget_recount(&mut self) {
        self.recounting = None;
    }

    /// Counts at most `most` further entries. True when none is left.
    fn recount_some(&self, recounting: &mut Recounting, most: u64) -> bool {
        let Recounting { ticket, count, .. } = recounting;
        let mut rest = self.iter_from(*ticket + 1);
        for _ in 0..most {
            let Some(waiter) = rest.next() else { return true };
            *ticket = waiter.ticket;
            count.waiting += 1;
            count.units = count.units.saturating_add(waiter.qty);
            let found = self.find(waiter.user).map(|found| found.ticket);
            let is_found = found == Some(waiter.ticket);
            let is_in_place = self.place(waiter.ticket, None).ahead + 1 == count.waiting;
            count.wrong += u64::from(!is_found || !is_in_place);
        }
        rest.next().is_none()
    }

    /// Counts `times` more passes of this waiter.
    pub(crate) fn pass(&mut self, ticket: u64, times: u64) {
        if times > 0 {
            let passed = self.passed.entry(ticket).or_default();
            *passed = INTEGER_MAX.min(passed.saturating_add(times));
        }
    }

    fn hash(&self, user: &[u8]) -> u64 {
        SipHasher13::new_with_keys(self.key[0], self.key[1]).hash(user)
    }

    /// The entries, for a defragmenter that moves them, and the words of the index.
    pub(crate) fn blocks_mut(&mut self) -> impl Iterator<Item = Block<'_>> {
        let entries = self.queue.blocks_mut().map(Block::Page);
        entries.chain(self.users.blocks_mut().map(Block::Slots))
    }

    /// Bytes of heap in use.
    pub fn heap_bytes(&self) -> usize {
        let passed = self.passed.len() * 4 * size_of::<u64>();
        self.queue.root.heap_bytes() + self.users.heap_bytes() + passed
    }

    /// About the number of heap blocks: the cost of freeing them. Counting them would take nearly
    /// as long.
    pub(crate) fn heap_blocks(&self) -> usize {
        1 + self.len() as usize / ENTRIES_PER_BLOCK + self.users.heap_blocks()
    }
}

/// Units, limited to the largest integer that callers can represent.
fn counted(units: u64) -> u64 {
    units.min(INTEGER_MAX)
}

fn place(ticket: u64, found: &Found<'_>, gone: Option<Waiter<'_>>) -> Place {
    let ahead = found.ahead - u64::from(gone.is_some());
    let units_ahead = found.units_ahead - gone.map_or(0, |gone| gone.qty);
    Place { ticket, ahead, units_ahead: counted(units_ahead) }
}

/// The ticket with these low bits: no ticket is 2^32 or more above the oldest.
fn ticket_of(low: u32, oldest: u64) -> u64 {
    oldest + u64::from(low.wrapping_sub(oldest as u32))
}

/// Appends an entry.
fn write(out: &mut Vec<u8>, waiter: &Waiter<'_>) {
    for number in [waiter.ticket, waiter.qty, waiter.at, waiter.until] {
        put_varint(out, number);
    }
    out.push((waiter.user.len() - 1) as u8);
    out.push((waiter.req.len() - 1) as u8);
    out.extend_from_slice(waiter.user);
    out.extend_from_slice(waiter.req);
}

fn read<'a>(reader: &mut Reader<'a>) -> Option<Waiter<'a>> {
    let (ticket, qty) = (reader.varint()?, reader.varint()?);
    let (at, until) = (reader.varint()?, reader.varint()?);
    let (user_len, req_len) = (usize::from(reader.byte()?) + 1, usize::from(reader.byte()?) + 1);
    let (user, req) = (reader.take(user_len)?, reader.take(req_len)?);
    Some(Waiter { ticket, user, req, qty, at, until })
}

/// The entries of a leaf, in order.
fn all(bytes: &[u8]) -> impl Iterator<Item = Waiter<'_>> {
    let mut reader = Reader::new(bytes);
    core::iter::from_fn(move || read(&mut reader))
}

/// Position of this ticket's entry in a leaf.
fn span(bytes: &[u8], ticket: u64) -> Option<Range<usize>> {
    let mut reader = Reader::new(bytes);
    loop {
        let start = bytes.len() - reader.remaining();
        if read(&mut reader)?.ticket == ticket {
            return Some(start..bytes.len() - reader.remaining());
        }
    }
}
