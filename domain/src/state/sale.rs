//! The sale: the value of one key.

use core::hash::Hasher;

use siphasher::sip::SipHasher24;

use crate::dedup::{Fences, Restocks};
use crate::draw::{Amounts, Draw};
use crate::ledger::{Block, Grant, HashKey, Holding, Ledger};
use crate::model::balances::{Balances, Escrow, Stock};
use crate::model::limits::UNITS_PER_GRANT_MAX;
use crate::model::outcome::{Misuse, Outcome, State};
use crate::numbers::Numbers;
use crate::parts::Pairs;
use crate::request::{Amount, Now, Terms};
use crate::state::extras::Extras;
use crate::state::status::{Refusals, Tallies, Window};
use crate::units::Free;
use crate::waitlist::{Waiter, Waitlist};

/// One sale: the value of one key.
#[derive(Clone, Debug)]
pub struct Sale {
    /// Random, fixed at INIT: a re-created sale has another id.
    pub(crate) id: u64,
    /// Random, fixed at INIT, replicated, never shown: keys draws, SAMPLE and other hashes.
    pub(crate) secret: [u8; 16],
    pub(crate) created_at: u64,
    /// INIT's supply, to compare a repeated INIT with.
    pub(crate) initial_supply: u64,
    pub(crate) initial_terms: Box<Terms>,
    pub(crate) terms: Terms,
    pub(crate) paused: bool,
    pub(crate) balances: Balances,
    pub(crate) ledger: Ledger,
    pub(crate) restocks: Restocks,
    pub(crate) fences: Fences,
    /// The units a part was given and has exchanged in all; `None` if the sale is not a part.
    pub(crate) escrow: Option<Escrow>,
    /// Units exchanged with each other part of a split.
    pub(crate) pairs: Pairs,
    /// State that only some sales have.
    pub(crate) extras: Option<Box<Extras>>,
    /// Changes by kind; equal on every node.
    pub(crate) tallies: Tallies,
    /// Refusals by kind, of this node only.
    pub(crate) refusals: Refusals,
    /// Whether the last entry could not be appended to the outbox. Not replicated.
    pub(crate) outbox_failed: bool,
    /// Pieces of a rewritten AOF still to come. Until then nothing may be sold.
    pub(crate) awaits: u64,
    /// The earliest time at which the sweeper is to look at this sale. Not replicated.
    pub(crate) look_at: Option<u64>,
    /// Epoch of this node when it last changed the sale; 0 if it has not changed it yet.
    pub(crate) node_epoch: u64,
    /// Whether a RESTORE or an AOF brought it here: a copy may exist elsewhere. Not replicated.
    pub(crate) arrived: bool,
}

/// The two hexadecimal digits of each byte, precomputed because every outbox entry has eight bytes
/// of them.
static HEX_PAIRS: [[u8; 2]; 256] = {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let (mut pairs, mut byte) = ([[0; 2]; 256], 0);
    while byte < 256 {
        pairs[byte] = [DIGITS[byte >> 4], DIGITS[byte & 0xf]];
        byte += 1;
    }
    pairs
};

/// Bits of the drawn part of an epoch.
const DRAWN_BITS: u32 = 32;

impl Sale {
    /// Marks a sale from a RESTORE or an AOF: a copy may exist elsewhere, and the epochs of the two
    /// must differ.
    pub fn arrive(&mut self) {
        self.arrived = true;
    }

    /// The sale's next epoch on a node with this epoch (Unix ms), above all epochs of the sale's
    /// history. If another node or a copy of the sale could compute an equal epoch, some bits come
    /// from the key of the indexes, which no two values of a sale share.
    pub(crate) fn next_epoch(&self, node_epoch: u64) -> u64 {
        let last = self.balances.epoch;
        if node_epoch > last && !self.arrived {
            return node_epoch;
        }
        let [first, second] = self.ledger.key();
        let mut hasher = SipHasher24::new_with_keys(second, first);
        hasher.write_u64(last);
        last + 1 + (hasher.finish() >> (u64::BITS - DRAWN_BITS))
    }

    /// Whether one grant may have so many units: in a sale with numbers it has few.
    pub(crate) fn may_grant(&self, qty: u64) -> bool {
        !self.terms.is_numbered() || qty <= UNITS_PER_GRANT_MAX as u64
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

    /// Whether the law holds over its numbers, see [`Balances::is_lawful`].
    pub fn is_lawful(&self) -> bool {
        self.balances.is_lawful(self.escrow.as_ref())
    }

    /// Changes by kind.
    pub fn tallies(&self) -> &Tallies {
        &self.tallies
    }

    /// Whether this is the user's home part. A sale that is not a part is home to everybody.
    #[inline]
    pub fn is_home(&self, user: &[u8]) -> bool {
        self.terms.split.as_ref().is_none_or(|split| split.is_home(user))
    }

    /// Whether `part` is another part of this sale's split.
    pub(crate) fn has_other_part(&self, part: u16) -> bool {
        self.terms.split.as_ref().is_some_and(|split| split.has_other(part))
    }

    /// Whether the pairs agree with the sale's sums of sent and received units.
    pub(crate) fn pairs_agree(&self) -> bool {
        let Escrow { sent, received, .. } = self.escrow.unwrap_or_default();
        self.pairs.sums() == (sent, received)
    }

    /// The T of a request: the clock, but never before the last change.
    pub fn time(&self, now: &Now) -> u64 {
        now.clock_ms.max(self.balances.t)
    }

    /// The window at `t`: within OPENAT and CLOSEAT, and within a round.
    #[inline]
    pub(crate) fn window_at(&self, t: u64) -> Window {
        let Terms { open_at, close_at, schedule, .. } = &self.terms;
        let opens_at = t.max(*open_at);
        let opens_at = schedule.as_ref().map_or(opens_at, |schedule| schedule.opens_at(opens_at));
        match opens_at {
            _ if *close_at != 0 && opens_at >= *close_at => Window::Closed,
            _ if opens_at > t => Window::OpensIn(opens_at - t),
            _ => Window::Open,
        }
    }

    /// The units that LIMIT and GRABS still leave a user; `None` when neither limits them.
    #[inline]
    pub fn allowance(&self, holding: &Holding) -> Option<u64> {
        let terms = &self.terms;
        if terms.grabs != 0 && u64::from(holding.live_grants) >= terms.grabs {
            return Some(0);
        }
        (terms.limit != 0).then(|| terms.limit.saturating_sub(holding.live_units))
    }

    /// Whether the sale has no `Extras`: no listed amounts, rounds, waiting list, unit numbers or
    /// lists of users.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.extras.is_none()
    }

    /// Counts an outcome on this node if it is a refusal of a call for `amount`. Returns the index
    /// of an answer to GRAB in [`OUTCOMES`](crate::outcome::OUTCOMES). Grants are counted when they
    /// are committed.
    #[inline]
    pub fn count(&mut self, outcome: &Outcome, amount: Amount) -> Option<usize> {
        let row = outcome.row()?;
        if row > 0 {
            self.refusals.count(row - 1);
        }
        let is_unmet = matches!(outcome, Outcome::SoldOut { .. } | Outcome::Short { .. });
        if is_unmet && self.terms.split.is_some() {
            self.refusals.add_unmet(amount.units());
        }
        Some(row)
    }

    /// Remembers, for STATUS, that the sale's outbox refused entries, until it accepts some. A
    /// stream that ALTER names and that refuses entries never becomes this sale's outbox.
    pub fn note_outbox_failed(&mut self) {
        self.outbox_failed = self.terms.outbox.is_some();
    }

    /// Whether the sale can continue under these terms.
    pub(crate) fn check_terms(&self, terms: &Terms) -> Result<(), Misuse> {
        terms.check()?;
        // Waiters are still offered units, and an offer must end.
        match self.waiters().is_some() && terms.offer_ms() == 0 {
            true => Err(Misuse::OfferNeedsTime),
            false => Ok(()),
        }
    }

    /// Whether all announced pieces have been loaded.
    pub fn is_whole(&self) -> bool {
        self.awaits == 0
    }

    /// Clears the time of the sweeper's next look, after the sweeper has looked or the sale has
    /// moved.
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

    /// The words of all indexes, which [`Sale::pieces`] does not read.
    pub fn slots_mut(&mut self) -> impl Iterator<Item = &mut [u64]> {
        self.blocks_mut().filter_map(|block| match block {
            Block::Slots(slots) => Some(&mut **slots),
            _ => None,
        })
    }

    /// Number of memory blocks: the cost of freeing the sale.
    pub fn memory_blocks(&self) -> usize {
        let extras = self.extras.as_ref().map_or(0, |extras| extras.heap_blocks());
        1 + self.ledger.heap_blocks() + self.restocks.len() + self.fences.len() + extras
    }

    /// Frees a little memory of dropped rounds and emptied lists, so that no call frees all of it
    /// at once. False when none is left.
    pub fn free_some(&mut self) -> bool {
        self.extras.as_deref_mut().is_some_and(Extras::free_some)
    }

    /// State that only some sales have, created if missing.
    pub(crate) fn extras_mut(&mut self) -> &mut Extras {
        let key = self.ledger.key();
        self.extras.get_or_insert_with(|| Box::new(Extras::new(key)))
    }

    /// The amounts of DRAW LIST that are still to be drawn.
    pub(crate) fn amounts(&self) -> Option<&Amounts> {
        let is_list = self.terms.draw().is_some_and(Draw::is_list);
        self.extras.as_deref().filter(|_| is_list).map(|extras| &extras.amounts)
    }

    pub(crate) fn amounts_mut(&mut self) -> Option<&mut Amounts> {
        let is_list = self.terms.draw().is_some_and(Draw::is_list);
        self.extras.as_deref_mut().filter(|_| is_list).map(|extras| &mut extras.amounts)
    }

    /// The numbers of its units, if they have any.
    pub fn numbers(&self) -> Option<&Numbers> {
        self.extras.as_deref().and_then(|extras| extras.numbers.as_deref())
    }

    /// One character for each number from `first` on, at most `count`: `.` free, `h` held, `s`
    /// sold. `None` if units have no numbers.
    pub fn units_from(&self, first: u64, count: u64) -> Option<Vec<u8>> {
        let numbers = self.numbers()?;
        let last = first.saturating_add(count - 1).min(numbers.units().len().into());
        let shown = |unit| match self.holder_of(unit).map(|grant| grant.state) {
            None => b'.',
            Some(State::Held) => b'h',
            Some(_) => b's',
        };
        Some((first..=last).map(shown).collect())
    }

    /// The live grant that has a number.
    pub fn holder_of(&self, unit: u64) -> Option<Grant<'_>> {
        let seq = self.numbers()?.owner(u32::try_from(unit).ok()?)?;
        self.stored_grant(seq)
    }

    pub(crate) fn numbers_mut(&mut self) -> Option<&mut Numbers> {
        self.extras.as_deref_mut().and_then(|extras| extras.numbers.as_deref_mut())
    }

    /// Gives the `supply` units their numbers, in a sale with NUMBERED.
    pub(crate) fn begin_numbers(&mut self, supply: u64) {
        if self.terms.is_numbered() {
            self.extras_mut().numbers = Some(Box::new(Numbers::new(supply as u32)));
        }
    }

    /// The waiting list of a sale that has one or had one.
    pub fn waitlist(&self) -> Option<&Waitlist> {
        self.extras.as_deref().and_then(|extras| extras.waitlist.as_deref())
    }

    pub(crate) fn waitlist_mut(&mut self) -> Option<&mut Waitlist> {
        self.extras.as_deref_mut().and_then(|extras| extras.waitlist.as_deref_mut())
    }

    /// The waiting list, if it is not empty.
    pub(crate) fn waiters(&self) -> Option<&Waitlist> {
        self.waitlist().filter(|list| !list.is_empty())
    }

    /// The waiter with this user and request id, if there is one.
    pub(crate) fn waiter_of(&self, user: &[u8], req: &[u8]) -> Option<Waiter<'_>> {
        let waiter = self.waiters()?.find(user);
        waiter.filter(|waiter| waiter.req == req)
    }

    /// The entry of the waiting list that has this ticket.
    pub(crate) fn waiter_at(&self, ticket: u64) -> Option<Waiter<'_>> {
        self.waitlist().and_then(|list| list.get(ticket))
    }

    /// Creates the state that its terms need, if missing.
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

    /// The state of the stock. While anybody waits, available units are reserved for the waiters.
    pub(crate) fn stock(&self) -> Stock {
        match self.waiters() {
            Some(_) => Stock::AllHeld,
            None => self.balances.stock(),
        }
    }

    /// Packets at the beginning of a round; `None` if the sale has no fixed number.
    pub(crate) fn packets_begun(&self) -> Option<u64> {
        self.terms.draw().and_then(Draw::packets)
    }

    /// An empty sale with this identity; the caller sets its numbers.
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
            node_epoch: 0,
            arrived: false,
        };
        sale.make_extras();
        sale
    }
}
