//! The sale: the value of one key.

use core::hash::Hasher;

use siphasher::sip::SipHasher24;

use crate::admission::{List, Users, LISTS};
use crate::dedup::{Fences, Restocks};
use crate::draw::{Amounts, Draw};
use crate::ledger::{Block, HashKey, Ledger};
use crate::model::balances::{Balances, Escrow, Stock};
use crate::model::outcome::{Misuse, Outcome};
use crate::parts::Pairs;
use crate::request::{Amount, Now, Terms};
use crate::rounds::Rounds;
use crate::state::status::{Refusals, Tallies};
use crate::waitlist::{Waiter, Waitlist};

/// One sale: the value of one key.
#[derive(Clone, Debug)]
pub struct Sale {
    /// Random, fixed at INIT: differs in a re-created sale.
    pub(crate) id: u64,
    /// Random, fixed at INIT, replicated, never shown: what is drawn or shed is keyed by it.
    pub(crate) secret: [u8; 16],
    pub(crate) created_at: u64,
    /// What INIT named, so that a repeated INIT is known from another one.
    pub(crate) initial_supply: u64,
    pub(crate) initial_terms: Box<Terms>,
    pub(crate) terms: Terms,
    pub(crate) paused: bool,
    pub(crate) balances: Balances,
    pub(crate) ledger: Ledger,
    pub(crate) restocks: Restocks,
    pub(crate) fences: Fences,
    /// What a part of a split was given, and what has moved in all; `None` in a sale that is none.
    pub(crate) escrow: Option<Escrow>,
    /// What was sent to other parts of a split and received from them.
    pub(crate) pairs: Pairs,
    /// What only some sales keep.
    pub(crate) extras: Option<Box<Extras>>,
    /// Changes by kind: the same on every node.
    pub(crate) tallies: Tallies,
    /// Refusals by kind: of this node alone.
    pub(crate) refusals: Refusals,
    /// Whether the last entry for the outbox could not be appended. Not replicated.
    pub(crate) outbox_failed: bool,
    /// Pieces of a rewritten log that are still to come. Until then nothing may be sold.
    pub(crate) awaits: u64,
    /// The earliest time at which the sweeper was asked to look at this sale. Not replicated.
    pub(crate) look_at: Option<u64>,
    /// The run of this primary whose epoch the sale has; 0 when none has changed it here yet.
    pub(crate) run: u64,
    /// Whether a RESTORE or a log brought it here: a copy of it may be elsewhere. Not replicated.
    pub(crate) arrived: bool,
}

/// The two hexadecimal digits of each byte: every entry of the outbox shows eight of them.
static HEX_PAIRS: [[u8; 2]; 256] = {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let (mut pairs, mut byte) = ([[0; 2]; 256], 0);
    while byte < 256 {
        pairs[byte] = [DIGITS[byte >> 4], DIGITS[byte & 0xf]];
        byte += 1;
    }
    pairs
};

/// The bits of the part of an epoch that is drawn.
const DRAWN_BITS: u32 = 32;

impl Sale {
    /// It came here by a RESTORE or a log, so that a copy of it may be elsewhere: no epoch of the
    /// two may be the same.
    pub fn arrive(&mut self) {
        self.arrived = true;
    }

    /// The epoch of the run of a primary that `run` names, Unix ms, above all epochs of the sale's
    /// history. Where another node, or a copy of the sale, could come to the same one, a part of it
    /// is drawn: from the key of the indexes, which no two values of a sale share.
    pub(crate) fn next_epoch(&self, run: u64) -> u64 {
        let last = self.balances.epoch;
        if run > last && !self.arrived {
            return run;
        }
        let [first, second] = self.ledger.key();
        let mut hasher = SipHasher24::new_with_keys(second, first);
        hasher.write_u64(last);
        last + 1 + (hasher.finish() >> (u64::BITS - DRAWN_BITS))
    }

    /// The sale's id as it is shown: sixteen hexadecimal digits.
    pub fn id_text(&self) -> [u8; 16] {
        let mut text = [0; 16];
        for (pair, byte) in text.chunks_exact_mut(2).zip(self.id.to_be_bytes()) {
            pair.copy_from_slice(&HEX_PAIRS[usize::from(byte)]);
        }
        text
    }

    /// The numbers of the sale.
    pub fn balances(&self) -> &Balances {
        &self.balances
    }

    /// Whether the law holds over its numbers: what [`Balances::is_lawful`] says.
    pub fn is_lawful(&self) -> bool {
        self.balances.is_lawful(self.escrow.as_ref())
    }

    /// Changes by kind.
    pub fn tallies(&self) -> &Tallies {
        &self.tallies
    }

    /// Whether a user is at home in this sale. In one that is no part of a split everybody is.
    #[inline]
    pub fn is_home(&self, user: &[u8]) -> bool {
        self.terms.split.as_ref().is_none_or(|split| split.is_home(user))
    }

    /// Whether it is a part of a split that has this part, too.
    pub(crate) fn has_other_part(&self, part: u16) -> bool {
        self.terms.split.as_ref().is_some_and(|split| split.has_other(part))
    }

    /// Whether what was sent and received is what the numbers say.
    pub(crate) fn pairs_agree(&self) -> bool {
        let Escrow { sent, received, .. } = self.escrow.unwrap_or_default();
        self.pairs.sums() == (sent, received)
    }

    /// The T that a request is judged by: never before the last change.
    pub fn time(&self, now: &Now) -> u64 {
        now.clock_ms.max(self.balances.t)
    }

    /// Whether anything may be grabbed at `t`: the window is open, and the sale not paused.
    #[inline]
    pub(crate) fn judge_time(&self, t: u64) -> Result<(), Outcome> {
        let Terms { open_at, close_at, schedule, .. } = &self.terms;
        let opens_at = t.max(*open_at);
        let opens_at = schedule.as_ref().map_or(opens_at, |schedule| schedule.opens_at(opens_at));
        if *close_at != 0 && opens_at >= *close_at {
            return Err(Outcome::Closed);
        }
        match opens_at > t {
            true => Err(Outcome::NotOpen { in_ms: opens_at - t }),
            false if self.paused => Err(Outcome::Paused),
            false => Ok(()),
        }
    }

    /// Whether it has nothing that only some sales keep: no rounds, no lists of users, nobody who
    /// waits.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.extras.is_none()
    }

    /// Counts on this node what a call came to that asked for `amount`, if it was refused: then
    /// which of [`REFUSALS`](crate::outcome::REFUSALS) it is. Changes count themselves when
    /// committed.
    #[inline]
    pub fn count(&mut self, outcome: &Outcome, amount: Amount) -> Option<usize> {
        let place = outcome.refusal()?;
        self.refusals.count(place);
        let is_unmet = matches!(outcome, Outcome::SoldOut { .. } | Outcome::Short { .. });
        if is_unmet && self.terms.split.is_some() {
            self.refusals.add_unmet(amount.units());
        }
        Some(place)
    }

    /// Remembers that the sale's outbox took no entry, until it takes some: STATUS shows it. One
    /// that ALTER names and that takes nothing never becomes this sale's.
    pub fn note_outbox_failed(&mut self) {
        self.outbox_failed = self.terms.outbox.is_some();
    }

    /// Whether the sale can go on under these terms.
    pub(crate) fn check_terms(&self, terms: &Terms) -> Result<(), Misuse> {
        terms.check()?;
        // Those who wait are still offered what comes back, and never for good.
        match self.waiters().is_some() && terms.offer_ms() == 0 {
            true => Err(Misuse::OfferNeedsTime),
            false => Ok(()),
        }
    }

    /// Whether all pieces that it was rebuilt from have come.
    pub fn is_whole(&self) -> bool {
        self.awaits == 0
    }

    /// Forgets that the sweeper was asked: it has looked, or the sale is elsewhere now.
    pub fn forget_look(&mut self) {
        self.look_at = None;
    }

    /// The grants of this sale.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The terms in force.
    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    /// Bytes of memory in use, this struct included.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Sale>()
            + size_of::<Terms>()
            + self.ledger.heap_bytes()
            + self.restocks.heap_bytes()
            + self.fences.heap_bytes()
            + self.pairs.heap_bytes()
            + self.extras.as_ref().map_or(0, |extras| size_of::<Extras>() + extras.heap_bytes())
    }

    /// The blocks that hold the bulk of the memory, for a defragmenter that moves them.
    pub fn blocks_mut(&mut self) -> impl Iterator<Item = Block<'_>> {
        let extras = self.extras.as_deref_mut().into_iter().flat_map(Extras::blocks_mut);
        self.ledger.blocks_mut().chain(extras)
    }

    /// The words of all indexes: what [`Sale::pieces`] does not look at.
    pub fn slots_mut(&mut self) -> impl Iterator<Item = &mut [u64]> {
        self.blocks_mut().filter_map(|block| match block {
            Block::Slots(slots) => Some(&mut **slots),
            _ => None,
        })
    }

    /// Blocks of memory in use: what freeing costs.
    pub fn memory_blocks(&self) -> usize {
        let extras = self.extras.as_ref().map_or(0, |extras| extras.heap_blocks());
        1 + self.ledger.heap_blocks() + self.restocks.len() + self.fences.len() + extras
    }

    /// What only some sales keep, made when it is missing.
    pub(crate) fn extras_mut(&mut self) -> &mut Extras {
        let key = self.ledger.key();
        self.extras.get_or_insert_with(|| Box::new(Extras::new(key)))
    }

    /// The amounts of DRAW LIST that are still to be drawn.
    pub(crate) fn amounts(&self) -> Option<&Amounts> {
        let is_list = self.terms.draw.as_ref().is_some_and(Draw::is_list);
        self.extras.as_deref().filter(|_| is_list).map(|extras| &extras.amounts)
    }

    pub(crate) fn amounts_mut(&mut self) -> Option<&mut Amounts> {
        let is_list = self.terms.draw.as_ref().is_some_and(Draw::is_list);
        self.extras.as_deref_mut().filter(|_| is_list).map(|extras| &mut extras.amounts)
    }

    /// Who waits, in a sale that has a list or had one.
    pub fn waitlist(&self) -> Option<&Waitlist> {
        self.extras.as_deref().and_then(|extras| extras.waitlist.as_deref())
    }

    pub(crate) fn waitlist_mut(&mut self) -> Option<&mut Waitlist> {
        self.extras.as_deref_mut().and_then(|extras| extras.waitlist.as_deref_mut())
    }

    /// The waiting list, if anybody is on it.
    pub(crate) fn waiters(&self) -> Option<&Waitlist> {
        self.waitlist().filter(|list| !list.is_empty())
    }

    /// The entry of this user and request, if they wait with it.
    pub(crate) fn waiter_of(&self, user: &[u8], req: &[u8]) -> Option<Waiter<'_>> {
        let waiter = self.waiters()?.find(user);
        waiter.filter(|waiter| waiter.req == req)
    }

    /// Makes what its terms need beside a plain sale, where it is missing.
    pub(crate) fn make_extras(&mut self) {
        if !self.terms.has_extras() {
            return;
        }
        let (key, has_list) = (self.ledger.key(), self.terms.waitlist.is_some());
        let extras = self.extras_mut();
        if has_list && extras.waitlist.is_none() {
            extras.waitlist = Some(Box::new(Waitlist::new(key)));
        }
    }

    /// Where the units are: while anybody waits, those that are available are spoken for.
    pub(crate) fn stock(&self) -> Stock {
        match self.waiters() {
            Some(_) => Stock::AllHeld,
            None => self.balances.stock(),
        }
    }

    /// Packets that a round begins with; `None` when the sale counts none.
    pub(crate) fn packets_begun(&self) -> Option<u64> {
        self.terms.draw.as_ref().and_then(Draw::packets)
    }

    /// An empty sale with the given identity; the numbers follow.
    pub(crate) fn blank(id: u64, secret: [u8; 16], terms: Terms, key: HashKey) -> Sale {
        let mut extras = terms.has_extras().then(|| Box::new(Extras::new(key)));
        if let Some(extras) = extras.as_mut().filter(|_| terms.schedule.is_some()) {
            extras.rounds = Some(Box::default());
        }
        let mut sale = Sale {
            id,
            secret,
            created_at: 0,
            initial_supply: 0,
            initial_terms: Box::new(terms.clone()),
            terms,
            paused: false,
            balances: Balances::default(),
            ledger: Ledger::new(key),
            restocks: Restocks::default(),
            fences: Fences::default(),
            escrow: None,
            pairs: Pairs::default(),
            extras,
            tallies: Tallies::default(),
            refusals: Refusals::default(),
            outbox_failed: false,
            awaits: 0,
            look_at: None,
            run: 0,
            arrived: false,
        };
        sale.make_extras();
        sale
    }
}

/// What only some sales keep: a plain sale has none of it and pays one check for that.
#[derive(Clone, Debug)]
pub struct Extras {
    /// Amounts of DRAW LIST that are still to be drawn.
    pub amounts: Amounts,
    /// What is kept of rounds that are over, in a sale that repeats.
    pub rounds: Option<Box<Rounds>>,
    /// Who waits, in a sale that has a list or had one.
    pub waitlist: Option<Box<Waitlist>>,
    /// The users on each list, in the order of [`LISTS`].
    users: [Users; LISTS.len()],
}

impl Extras {
    /// Nothing yet. `key` keys the hashes of the indexes.
    pub fn new(key: HashKey) -> Extras {
        let users = LISTS.map(|_| Users::new(key));
        Extras { amounts: Amounts::default(), rounds: None, waitlist: None, users }
    }

    /// The users on a list.
    pub fn list(&self, list: List) -> &Users {
        &self.users[list as usize]
    }

    /// The users on a list, to be changed.
    pub fn list_mut(&mut self, list: List) -> &mut Users {
        &mut self.users[list as usize]
    }

    /// The blocks of all lists and of all rounds that are over, for a defragmenter that moves them.
    pub fn blocks_mut(&mut self) -> impl Iterator<Item = Block<'_>> {
        let rounds = self.rounds.as_deref_mut().into_iter().flat_map(Rounds::blocks_mut);
        let list = self.waitlist.as_deref_mut().into_iter().flat_map(Waitlist::blocks_mut);
        self.users.iter_mut().flat_map(Users::blocks_mut).chain(rounds).chain(list)
    }

    /// Bytes of heap in use.
    pub fn heap_bytes(&self) -> usize {
        let rounds = self.rounds.as_ref();
        let rounds = rounds.map_or(0, |rounds| size_of::<Rounds>() + rounds.heap_bytes());
        let users: usize = self.users.iter().map(Users::heap_bytes).sum();
        let list = self.waitlist.as_ref();
        let list = list.map_or(0, |list| size_of::<Waitlist>() + list.heap_bytes());
        self.amounts.heap_bytes() + rounds + list + users
    }

    /// Blocks of heap in use: what freeing costs.
    pub fn heap_blocks(&self) -> usize {
        let rounds = self.rounds.as_ref().map_or(0, |rounds| rounds.heap_blocks());
        let users: usize = self.users.iter().map(Users::heap_blocks).sum();
        let list = self.waitlist.as_ref().map_or(0, |list| list.heap_blocks());
        1 + rounds + list + self.amounts.heap_blocks() + users
    }
}
