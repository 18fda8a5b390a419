//! Who was granted what, and when.
//!
//! Grants are appended, in seq order, as compact records to pages of fixed size; a chunk of 4,096
//! grants keeps the offsets of its records. Neither is ever moved or copied when the sale grows, a
//! fork copies only the pages written last, and freeing is a few large frees. Two indexes lead from
//! a user and from a request id to a seq. A user with one grant, the common case, costs one index
//! slot; only the second grant opens an account that keeps his sums.

use core::hash::Hasher;
use std::collections::{BTreeSet, HashMap};

use siphasher::sip::SipHasher13;

use smallvec::SmallVec;

use super::bytes::Reader;
use super::gathered::Gathered;
use super::holds::{tree_bytes, Holds};
use super::index::{self, Gap, Index, Value};
use super::limits::GRANTS_PER_CHUNK;
use super::outcome::{Standing, State};
use super::pages::Pages;
use super::record::{self, Record, ReqTag, RECORD_BYTES_MAX};

/// Key of the index's hash: random for each process, never replicated or stored.
pub type HashKey = [u64; 2];

/// Accounts in one block.
const ACCOUNTS_PER_BLOCK: usize = 1024;

/// A grant as it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant<'a> {
    pub seq: u64,
    pub user: &'a [u8],
    pub qty: u64,
    pub state: State,
    /// Unix ms of the grant.
    pub at: u64,
    /// Unix ms until which it was or is held; 0 when it never was.
    pub held_until: u64,
    pub req: Option<ReqTag<'a>>,
    /// The run of the primary that granted it.
    pub epoch: u64,
    /// The round in which it was granted, 0 in a sale without rounds.
    pub round: u64,
}

impl<'a> Grant<'a> {
    /// This grant's request id.
    pub fn req_id(&self) -> Option<&'a [u8]> {
        self.req.map(|req| req.id)
    }

    /// Whether it is a hold whose time is over at `t`.
    pub fn is_due(&self, t: u64) -> bool {
        self.state == State::Held && self.held_until <= t
    }

    /// The grant as replies show it, once the holds that are due at `t` have expired.
    pub fn standing_at(&self, t: u64) -> Standing {
        match self.is_due(t) {
            true => Standing { state: State::Expired, deadline: 0, ..self.standing() },
            false => self.standing(),
        }
    }

    /// The grant as replies show it.
    pub fn standing(&self) -> Standing {
        let deadline = if self.state == State::Held { self.held_until } else { 0 };
        Standing { seq: self.seq, qty: self.qty, state: self.state, deadline }
    }
}

/// A grant to append.
#[derive(Clone, Copy, Debug)]
pub struct NewGrant<'a> {
    pub user: &'a [u8],
    pub req: Option<ReqTag<'a>>,
    pub qty: u64,
    pub state: State,
    pub at: u64,
    pub held_until: u64,
    pub epoch: u64,
}

/// What one user has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holding {
    /// Units in live grants.
    pub live_units: u64,
    pub live_grants: u32,
    /// Seq of his newest grant, 0 when none.
    pub newest: u32,
    /// Seq of his newest live grant, 0 when none.
    pub newest_live: u32,
}

/// What a recount of all grants found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recount {
    pub grants: u64,
    pub users: u64,
    pub winners: u64,
    /// Live grants.
    pub live: u64,
    pub requests: u64,
    /// Held grants.
    pub holds: u64,
    pub held: u64,
    pub sold: u64,
    /// Users whose sums are not those of their grants, and grants that their user doesn't lead to.
    pub holdings_wrong: u64,
}

/// The sums of a user with several grants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    live_units: u64,
    newest: u32,
    /// Seqs of his live grants.
    live: BTreeSet<u32>,
    /// Those of them that are held.
    holds: Holds,
}

/// Bytes of one node of an account's set of seqs.
const LIVE_NODE_BYTES: usize = 56;

impl Account {
    fn holding(&self) -> Holding {
        Holding {
            live_units: self.live_units,
            live_grants: self.live.len() as u32,
            newest: self.newest,
            newest_live: self.live.last().copied().unwrap_or(0),
        }
    }

    /// Bytes of heap in use, about.
    fn heap_bytes(&self) -> usize {
        tree_bytes(self.live.len(), LIVE_NODE_BYTES) + self.holds.heap_bytes()
    }

    /// Takes in a grant that became live.
    fn enter(&mut self, seq: u32, qty: u64) {
        if self.live.insert(seq) {
            self.live_units = self.live_units.saturating_add(qty);
        }
    }

    /// Lets go of a grant that is no longer live.
    fn leave(&mut self, seq: u32, qty: u64) {
        if self.live.remove(&seq) {
            self.live_units = self.live_units.saturating_sub(qty);
        }
    }

    /// Takes in a grant as it stands.
    fn add(&mut self, seq: u32, qty: u64, state: State, held_until: u64) {
        self.newest = self.newest.max(seq);
        if state.is_live() {
            self.enter(seq, qty);
        }
        if state == State::Held {
            self.holds.insert(held_until, seq);
        }
    }
}

/// Where a user is to be looked for: his hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    hash: u64,
}

impl Probe {
    /// Where `user` is looked for in ledgers of this key.
    #[inline]
    pub fn of(key: HashKey, user: &[u8]) -> Probe {
        Probe { hash: SipHasher13::new_with_keys(key[0], key[1]).hash(user) }
    }

    /// The leading `bits` of the hash, at most 32.
    #[inline]
    pub fn leading(self, bits: u32) -> usize {
        // Half of the hash is enough, and none of its bits are asked for, too.
        ((self.hash >> 32) << bits >> 32) as usize
    }
}

/// Where the search for a user begins, for a caller that fetches the memory early. Good until the
/// ledger changes, and harmless afterwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lane(index::Lane);

impl Lane {
    /// The address that a search for this user begins with.
    #[inline]
    pub fn address(&self, probe: Probe) -> usize {
        self.0.address(probe.hash)
    }
}

/// Where a user was looked for, so that appending his grant needn't look again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    hash: u64,
    /// Unmarked: the seq of his only grant. Marked: the number of his account.
    entry: Option<Value>,
    /// Where a stranger belongs, if he was looked for.
    gap: Option<Gap>,
}

impl Found {
    /// Whether he has no grant.
    pub fn is_stranger(&self) -> bool {
        self.entry.is_none()
    }
}

#[derive(Clone, Debug)]
struct Chunk {
    /// T of its first grant; the others count from it.
    base_at: u64,
    /// Place of its first record.
    base_place: u64,
    /// Places of its records, counted from `base_place`.
    places: Vec<u32>,
}

/// A large block of the heap, lent to a defragmenter that moves it.
#[derive(Debug)]
pub enum Block<'a> {
    Page(&'a mut Vec<u8>),
    Places(&'a mut Vec<u32>),
    Accounts(&'a mut Vec<Account>),
    Slots(&'a mut Box<[u64]>),
}

fn begin_chunk(chunks: &mut Vec<Chunk>, base_at: u64, base_place: u64) {
    let places = if chunks.is_empty() { 16 } else { GRANTS_PER_CHUNK };
    chunks.push(Chunk { base_at, base_place, places: Vec::with_capacity(places) });
}

/// The grant log and its indexes.
#[derive(Clone, Debug)]
pub struct Ledger {
    key: HashKey,
    /// Grants before its first one: those of earlier rounds.
    base: u32,
    /// The round it is of, 0 in a sale without rounds.
    round: u64,
    pages: Pages,
    chunks: Vec<Chunk>,
    users: Index,
    reqs: Index,
    accounts: Vec<Vec<Account>>,
    /// Bytes that the accounts have on the heap.
    accounts_heap_bytes: usize,
    holds: Holds,
    /// First seq of each epoch that granted, ascending.
    epochs: Vec<(u32, u64)>,
    len: u32,
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
            base,
            round,
            pages: Pages::default(),
            chunks: Vec::new(),
            users: Index::default(),
            reqs: Index::default(),
            accounts: Vec::new(),
            accounts_heap_bytes: 0,
            holds: Holds::default(),
            epochs: Vec::new(),
            len: base,
            winners: 0,
            gathered: None,
        }
    }

    /// Grants before its first one.
    pub fn base(&self) -> u64 {
        self.base.into()
    }

    /// Whether the grant `seq` is in it.
    pub fn has(&self, seq: u64) -> bool {
        (self.base() + 1..=self.len()).contains(&seq)
    }

    /// Gives back up to `blocks` blocks of each kind of a ledger that nobody looks into any more.
    /// False when none is left.
    pub fn shed(&mut self, blocks: usize) -> bool {
        self.chunks.truncate(self.chunks.len().saturating_sub(blocks));
        // A block of accounts is many small frees.
        self.accounts.truncate(self.accounts.len().saturating_sub(1));
        let pages = self.pages.shed(blocks);
        let indexes = self.users.shed(blocks) | self.reqs.shed(blocks);
        pages | indexes | !self.chunks.is_empty() | !self.accounts.is_empty()
    }

    /// The key of the indexes' hash.
    pub fn key(&self) -> HashKey {
        self.key
    }

    /// Grants ever, those of earlier rounds included: the newest seq.
    pub fn len(&self) -> u64 {
        self.len.into()
    }

    /// Whether nothing was granted yet.
    pub fn is_empty(&self) -> bool {
        self.len == self.base
    }

    /// Distinct users with a live grant.
    pub fn winners(&self) -> u64 {
        self.winners
    }

    /// First seq here and epoch of every epoch that granted; not of those only announced.
    pub fn epochs(&self) -> &[(u32, u64)] {
        let granted = self.epochs.partition_point(|(first, _)| *first <= self.len);
        &self.epochs[..granted]
    }

    /// Forgets epochs that were announced but did not grant: no rows came to a base, so the next
    /// grant is of a new epoch.
    pub fn forget_announced_epochs(&mut self) {
        while !self.has_only_epochs_that_granted() {
            self.epochs.pop();
        }
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

    /// Whether every epoch has granted something: what loading must end with.
    pub fn has_only_epochs_that_granted(&self) -> bool {
        self.epochs.last().is_none_or(|(first, _)| *first <= self.len)
    }

    /// The epoch that granted `seq`, or would by what was announced.
    pub fn epoch_of(&self, seq: u64) -> u64 {
        let after = self.epochs.partition_point(|(first, _)| u64::from(*first) <= seq);
        after.checked_sub(1).map_or(0, |last| self.epochs[last].1)
    }

    /// How far apart the records of two grants lie, the ids of all between them included.
    pub fn bytes_between(&self, seq: u64, later: u64) -> Option<u64> {
        let place = |seq: u64| self.place(u32::try_from(seq).ok()?);
        place(later)?.checked_sub(place(seq)?)
    }

    fn place(&self, seq: u32) -> Option<u64> {
        let index = (seq.checked_sub(self.base)? as usize).checked_sub(1)?;
        let chunk = self.chunks.get(index / GRANTS_PER_CHUNK)?;
        Some(chunk.base_place + u64::from(*chunk.places.get(index % GRANTS_PER_CHUNK)?))
    }

    fn record_bytes(&self, seq: u32) -> Option<(&[u8], u64)> {
        let index = (seq.checked_sub(self.base)? as usize).checked_sub(1)?;
        let chunk = self.chunks.get(index / GRANTS_PER_CHUNK)?;
        let place = chunk.base_place + u64::from(*chunk.places.get(index % GRANTS_PER_CHUNK)?);
        Some((self.pages.get(place)?, chunk.base_at))
    }

    fn record(&self, seq: u32) -> Option<Record<'_>> {
        let (bytes, base_at) = self.record_bytes(seq)?;
        record::read(&mut Reader::new(bytes), base_at)
    }

    /// Begins to take grants of which each is said to be of another user: nobody is looked up
    /// until [`Ledger::end_gathering`].
    pub fn begin_gathering(&mut self, users: u64) {
        self.gathered = Some(Box::new(Gathered::new(users)));
    }

    /// Enters the users gathered, if any were. False when one came twice.
    pub fn end_gathering(&mut self) -> bool {
        let Some(gathered) = self.gathered.take() else { return true };
        let user_of = |seq| self.record_bytes(seq).map(|(bytes, _)| record::user(bytes));
        let index = gathered.into_index(|one, other| user_of(one) == user_of(other));
        let all_differ = index.is_some();
        self.users = index.unwrap_or_default();
        all_differ
    }

    /// Whether users are gathered.
    pub fn is_gathering(&self) -> bool {
        self.gathered.is_some()
    }

    /// The records from the grant `first` on.
    pub fn records(&self, first: u64) -> impl Iterator<Item = Record<'_>> {
        let read = |(bytes, base_at)| record::read(&mut Reader::new(bytes), base_at);
        self.stored(first).map_while(read)
    }

    /// How long the ids of the grants from `first` on are, user and request together.
    pub fn ids_lens(&self, first: u64) -> impl Iterator<Item = usize> + '_ {
        self.stored(first).map(|(bytes, _)| record::ids_len(bytes))
    }

    /// The records from the grant `first` on as they lie in memory, `most` at the most and none of
    /// another chunk, and the base of their times.
    pub fn stretch(
        &self,
        first: u64,
        most: usize,
    ) -> Option<(u64, impl ExactSizeIterator<Item = &[u8]>)> {
        let skipped = first.checked_sub(self.base() + 1)? as usize;
        let chunk = self.chunks.get(skipped / GRANTS_PER_CHUNK)?;
        let places = chunk.places.get(skipped % GRANTS_PER_CHUNK..)?;
        let places = places[..places.len().min(most)].iter();
        let bytes_at = |place: u64| self.pages.get(place).unwrap_or_default();
        Some((
            chunk.base_at,
            places.map(move |place| bytes_at(chunk.base_place + u64::from(*place))),
        ))
    }

    /// The records from the grant `first` on as they lie in memory, each with its base of times.
    fn stored(&self, first: u64) -> impl Iterator<Item = (&[u8], u64)> {
        let skipped = first.saturating_sub(self.base() + 1) as usize;
        let chunks = self.chunks.get(skipped / GRANTS_PER_CHUNK..).unwrap_or_default();
        let mut within = skipped % GRANTS_PER_CHUNK;
        chunks.iter().flat_map(move |chunk| {
            let places = chunk.places.get(core::mem::take(&mut within)..).unwrap_or_default();
            places.iter().map_while(|place| {
                let bytes = self.pages.get(chunk.base_place + u64::from(*place))?;
                Some((bytes, chunk.base_at))
            })
        })
    }

    #[inline]
    fn is_user_of(&self, seq: u32, user: &[u8]) -> bool {
        self.record_bytes(seq).is_some_and(|(bytes, _)| record::user(bytes) == user)
    }

    /// The grant numbered `seq`.
    pub fn grant(&self, seq: u64) -> Option<Grant<'_>> {
        let number = u32::try_from(seq).ok()?;
        let record = self.record(number)?;
        Some(Grant {
            seq,
            user: record.user,
            qty: record.qty,
            state: record.state,
            at: record.at,
            held_until: record.deadline,
            req: record.req,
            epoch: self.epoch_of(seq),
            round: self.round,
        })
    }

    fn req_hash(&self, user: &[u8], req: &[u8]) -> u64 {
        let mut hasher = SipHasher13::new_with_keys(self.key[1], self.key[0]);
        hasher.write_usize(user.len());
        hasher.write(user);
        hasher.write(req);
        hasher.finish()
    }

    fn newest_of(&self, entry: Value) -> u32 {
        if entry.marked {
            self.account(entry.number).newest
        } else {
            entry.number
        }
    }

    /// A user who is said to have no grant.
    pub fn stranger(&self, user: &[u8]) -> Found {
        Found { hash: self.probe(user).hash, entry: None, gap: None }
    }

    /// Where a user is looked for.
    #[inline]
    pub fn probe(&self, user: &[u8]) -> Probe {
        Probe::of(self.key, user)
    }

    /// Leading bits of a probe that tell the lanes apart.
    pub fn lane_bits(&self) -> u32 {
        self.users.depth()
    }

    /// Where looking there begins.
    #[inline]
    pub fn lane(&self, probe: Probe) -> Option<Lane> {
        self.users.lane(probe.hash).map(Lane)
    }

    /// The memory that looking there begins with.
    #[inline]
    pub fn first_look(&self, probe: Probe) -> Option<&u64> {
        self.users.first_look(probe.hash)
    }

    /// Looks a user up.
    #[inline]
    pub fn find(&self, user: &[u8]) -> Found {
        self.find_at(user, self.probe(user))
    }

    /// Looks a user up whose probe is known.
    #[inline]
    pub fn find_at(&self, user: &[u8], probe: Probe) -> Found {
        let Probe { hash } = probe;
        match self.users.look(hash, |entry| self.is_user_of(self.newest_of(entry), user)) {
            Ok(entry) => Found { hash, entry: Some(entry), gap: None },
            Err(gap) => Found { hash, entry: None, gap: Some(gap) },
        }
    }

    /// What the user found has.
    #[inline]
    pub fn holding(&self, found: &Found) -> Holding {
        match found.entry {
            None => Holding::default(),
            Some(entry) if entry.marked => self.account(entry.number).holding(),
            Some(entry) => self.holding_of_only(entry.number),
        }
    }

    /// The grant of a user who has no other, if it is of one unit: as replies show it at `t`.
    #[inline]
    pub fn only_unit(&self, found: &Found, t: u64) -> Option<Standing> {
        let seq = found.entry.filter(|entry| !entry.marked)?.number;
        let (state, held_until) = record::of_one_unit(self.record_bytes(seq)?.0)?;
        let is_held = state == State::Held;
        if is_held && held_until <= t {
            return None;
        }
        let deadline = if is_held { held_until } else { 0 };
        Some(Standing { seq: seq.into(), qty: 1, state, deadline })
    }

    /// What a user has whose only grant is `seq`.
    fn holding_of_only(&self, seq: u32) -> Holding {
        match self.record(seq) {
            Some(record) if record.state.is_live() => {
                Holding { live_units: record.qty, live_grants: 1, newest: seq, newest_live: seq }
            }
            _ => Holding { newest: seq, ..Holding::default() },
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
        self.reqs.find(self.req_hash(user, req), is_it).map(|value| value.number.into())
    }

    /// The user's grants, newest first.
    pub fn grants_of(&self, user: &[u8]) -> impl Iterator<Item = Grant<'_>> {
        let found = self.find(user);
        let mut next = found.entry.map_or(0, |entry| self.newest_of(entry));
        core::iter::from_fn(move || {
            let seq = next;
            next = self.record(seq)?.prev;
            self.grant(seq.into())
        })
    }

    /// Appends a grant and returns its seq. The caller has checked the bounds of what it appends
    /// and that the request id is new for this user.
    pub fn push(&mut self, new: &NewGrant<'_>, found: Option<Found>) -> u64 {
        let found = found.unwrap_or_else(|| self.find(new.user));
        self.push_here(new, found)
    }

    /// The same for a user who was looked up, compiled into the caller, who knows more of the
    /// grant.
    #[inline(always)]
    pub fn push_here(&mut self, new: &NewGrant<'_>, found: Found) -> u64 {
        let seq = self.len + 1;
        let prev = found.entry.map_or(0, |entry| self.newest_of(entry));
        self.append_record(&Record {
            user: new.user,
            req: new.req,
            qty: new.qty,
            state: new.state,
            at: new.at,
            deadline: new.held_until,
            prev,
        });
        self.begin_epoch(new.epoch);
        self.len = seq;
        self.enter_user(seq, new, &found);
        if let Some(req) = new.req {
            let hash = self.req_hash(new.user, req.id);
            self.reqs.insert(hash, Value { number: seq, marked: false });
        }
        seq.into()
    }

    /// While loading, the epochs were announced; else a new one begins with its first grant, which
    /// is the next.
    fn begin_epoch(&mut self, epoch: u64) {
        if self.epochs.last().is_none_or(|(_, last)| *last < epoch) {
            self.epochs.push((self.len + 1, epoch));
        }
    }

    #[inline(always)]
    fn append_record(&mut self, record: &Record<'_>) {
        let (place, page) = self.pages.open(RECORD_BYTES_MAX);
        if ((self.len - self.base) as usize).is_multiple_of(GRANTS_PER_CHUNK) {
            begin_chunk(&mut self.chunks, record.at, place);
        }
        let last = self.chunks.len() - 1;
        let chunk = &mut self.chunks[last];
        chunk.places.push((place - chunk.base_place) as u32);
        record::write(page, record, chunk.base_at);
    }

    /// Appends grants of users that are gathered, as many as `next` gives and as fit into the page
    /// and the chunk that are open: one at least.
    ///
    /// `next`, which must have one, writes a record, whose time counts from the base that it is
    /// told, and returns its length and its state. Each is of one unit, never was held and has no
    /// request id. The first was granted at `at`; the records have about `bytes` bytes.
    pub fn push_strangers(
        &mut self,
        at: u64,
        bytes: usize,
        mut next: impl FnMut(&mut [u8; RECORD_BYTES_MAX], u64) -> Option<(usize, State)>,
    ) {
        self.begin_epoch(self.epoch_of(self.len() + 1));
        let within = (self.len - self.base) as usize % GRANTS_PER_CHUNK;
        let (place, start, page) = self.pages.open_for(RECORD_BYTES_MAX, bytes);
        if within == 0 {
            begin_chunk(&mut self.chunks, at, place);
        }
        let (Some(chunk), Some(gathered)) = (self.chunks.last_mut(), &mut self.gathered) else {
            return;
        };
        let (mut end, first_place) = (start, (place - chunk.base_place) as u32);
        while chunk.places.len() < GRANTS_PER_CHUNK {
            let room = page.get_mut(end..).and_then(<[u8]>::first_chunk_mut);
            let Some(room) = room else { break };
            let Some((len, state)) = next(room, chunk.base_at) else { break };
            chunk.places.push(first_place + (end - start) as u32);
            self.winners += u64::from(state.is_live());
            end += len;
        }
        debug_assert!(end > start, "there is one at least");
        page.truncate(end);
        // Only now: to read what was written a moment ago would be to wait for it.
        let hasher = SipHasher13::new_with_keys(self.key[0], self.key[1]);
        for place in &chunk.places[within..] {
            self.len += 1;
            let bytes = &page[start + (place - first_place) as usize..];
            gathered.add(hasher.hash(record::user(bytes)), self.len);
        }
    }

    #[inline(always)]
    fn enter_user(&mut self, seq: u32, new: &NewGrant<'_>, found: &Found) {
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
            None => {
                let value = Value { number: seq, marked: false };
                match found.gap {
                    Some(gap) => self.users.insert_into(gap, found.hash, value),
                    None => self.users.insert(found.hash, value),
                }
                return;
            }
            Some(entry) if entry.marked => entry.number,
            Some(entry) => {
                let number = self.open_account(entry.number);
                self.users.replace(found.hash, entry, Value { number, marked: true });
                number
            }
        };
        self.change_account(number, |account| {
            account.add(seq, new.qty, new.state, new.held_until);
        });
    }

    fn change_account(&mut self, number: u32, change: impl FnOnce(&mut Account)) {
        let number = number as usize;
        let account = &mut self.accounts[number / ACCOUNTS_PER_BLOCK][number % ACCOUNTS_PER_BLOCK];
        self.accounts_heap_bytes -= account.heap_bytes();
        change(account);
        self.accounts_heap_bytes += account.heap_bytes();
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
        if let Some(entry) = found.entry.filter(|entry| entry.marked) {
            self.change_account(entry.number, |account| {
                if was == State::Held {
                    account.holds.remove(old_deadline, number);
                }
                account.leave(number, qty);
                account.add(number, qty, state, held_until);
            });
        }
        if let Some(bytes) = self.record_bytes_mut(number) {
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

    fn record_bytes_mut(&mut self, seq: u32) -> Option<&mut [u8]> {
        let index = (seq.checked_sub(self.base)? as usize).checked_sub(1)?;
        let chunk = self.chunks.get(index / GRANTS_PER_CHUNK)?;
        let place = chunk.base_place + u64::from(*chunk.places.get(index % GRANTS_PER_CHUNK)?);
        self.pages.get_mut(place)
    }

    /// Held grants of the whole sale.
    pub fn holds(&self) -> &Holds {
        &self.holds
    }

    /// Seqs of the user's own holds that are due at `t`, earliest deadline first.
    pub fn due_of(&self, found: &Found, t: u64) -> SmallVec<[u32; 4]> {
        match found.entry {
            None => SmallVec::new(),
            Some(entry) if entry.marked => self.account(entry.number).holds.due(t).collect(),
            Some(entry) => {
                let held = |r: &Record<'_>| r.state == State::Held && r.deadline <= t;
                let due = self.record(entry.number).filter(held);
                due.map(|_| entry.number).into_iter().collect()
            }
        }
    }

    /// The user's newest live grant that is not due at `t`.
    pub fn newest_live(&self, found: &Found, t: u64) -> Option<Grant<'_>> {
        let stays = |grant: &Grant<'_>| grant.state.is_live() && !grant.is_due(t);
        match found.entry? {
            entry if entry.marked => {
                let live = self.account(entry.number).live.iter().rev();
                live.filter_map(|seq| self.grant((*seq).into())).find(stays)
            }
            entry => self.grant(entry.number.into()).filter(stays),
        }
    }

    fn account(&self, number: u32) -> &Account {
        let number = number as usize;
        &self.accounts[number / ACCOUNTS_PER_BLOCK][number % ACCOUNTS_PER_BLOCK]
    }

    /// Opens an account for a user whose only grant so far is `seq`.
    fn open_account(&mut self, seq: u32) -> u32 {
        let mut account = Account::default();
        if let Some(first) = self.record(seq) {
            account.add(seq, first.qty, first.state, first.deadline);
        }
        if self.accounts.last().is_none_or(|block| block.len() == ACCOUNTS_PER_BLOCK) {
            let room = if self.accounts.is_empty() { 4 } else { ACCOUNTS_PER_BLOCK };
            self.accounts.push(Vec::with_capacity(room));
        }
        let last = self.accounts.len() - 1;
        let block = &mut self.accounts[last];
        self.accounts_heap_bytes += account.heap_bytes();
        block.push(account);
        (last * ACCOUNTS_PER_BLOCK + block.len() - 1) as u32
    }

    /// Distinct users.
    pub fn users(&self) -> u64 {
        self.users.len()
    }

    /// Distinct request ids.
    pub fn requests(&self) -> u64 {
        self.reqs.len()
    }

    /// Counts everything anew from the grants, finding each by its user and request id as a
    /// buyer's command would.
    pub fn recount(&self) -> Recount {
        let mut count = Recount::default();
        let mut holdings: HashMap<u32, Account> = HashMap::new();
        for grant in (self.base() + 1..=self.len()).filter_map(|seq| self.grant(seq)) {
            count.grants += 1;
            count.live += u64::from(grant.state.is_live());
            match grant.state {
                State::Held => {
                    count.held = count.held.saturating_add(grant.qty);
                    count.holds += 1;
                }
                State::Sold => count.sold = count.sold.saturating_add(grant.qty),
                _ => {}
            }
            if let Some(req) = grant.req {
                let found = self.by_req(grant.user, req.id) == Some(grant.seq);
                count.requests += u64::from(found);
            }
            match self.find(grant.user).entry {
                Some(entry) if entry.marked => {
                    let seq = grant.seq as u32;
                    let account = holdings.entry(entry.number).or_default();
                    account.add(seq, grant.qty, grant.state, grant.held_until);
                }
                Some(entry) if u64::from(entry.number) == grant.seq => {
                    count.users += 1;
                    count.winners += u64::from(grant.state.is_live());
                }
                _ => count.holdings_wrong += 1,
            }
        }
        count.users += holdings.len() as u64;
        for (number, holding) in holdings {
            count.winners += u64::from(!holding.live.is_empty());
            count.holdings_wrong += u64::from(holding != *self.account(number));
        }
        count
    }

    /// Bytes of heap in use.
    pub fn heap_bytes(&self) -> usize {
        let places: usize = self.chunks.iter().map(|chunk| chunk.places.capacity() * 4).sum();
        let accounts: usize = self.accounts.iter().map(Vec::capacity).sum();
        self.pages.heap_bytes()
            + places
            + accounts * size_of::<Account>()
            + self.chunks.capacity() * size_of::<Chunk>()
            + self.accounts.capacity() * size_of::<Vec<Account>>()
            + self.epochs.capacity() * size_of::<(u32, u64)>()
            + self.accounts_heap_bytes
            + self.holds.heap_bytes()
            + self.users.heap_bytes()
            + self.reqs.heap_bytes()
    }

    /// Blocks of heap in use: what freeing costs.
    pub fn heap_blocks(&self) -> usize {
        self.pages.heap_blocks()
            + self.chunks.len()
            + self.accounts.len()
            + self.users.heap_blocks()
            + self.reqs.heap_blocks()
    }

    /// The blocks that hold the bulk of the memory, for a defragmenter that moves them.
    pub fn blocks_mut(&mut self) -> impl Iterator<Item = Block<'_>> {
        let places = self.chunks.iter_mut().map(|chunk| Block::Places(&mut chunk.places));
        let pages = self.pages.blocks_mut().map(Block::Page);
        let accounts = self.accounts.iter_mut().map(Block::Accounts);
        let slots = self.users.blocks_mut().chain(self.reqs.blocks_mut()).map(Block::Slots);
        pages.chain(places).chain(accounts).chain(slots)
    }

    /// The words of the indexes, which writing the grants down does not look at.
    pub fn slots_mut(&mut self) -> impl Iterator<Item = &mut [u64]> {
        self.users.blocks_mut().chain(self.reqs.blocks_mut()).map(|slots| &mut **slots)
    }
}
