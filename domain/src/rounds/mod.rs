//! The rounds of a sale that repeats: the stored one, and what is kept of those that are over.
//!
//! The stored round is an ordinary sale with a ledger of its own. When it is over, one effect puts
//! that ledger aside as it is and starts an empty one: nothing is walked or copied, however many
//! have won. The round before the stored one is kept, an older one while it has held grants; then
//! its memory is given back in small steps.

pub mod schedule;
mod tests;
mod turn;

use std::collections::VecDeque;

use crate::ledger::{Block, Grant, Holding, Ledger, Lookup};
use crate::model::balances::Balances;
use crate::model::limits::{ROUND_TOTALS_MAX, SHED_BLOCKS_PER_STEP};
use crate::request::Now;
use crate::Sale;

/// What a round came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Total {
    pub round: u64,
    pub supply: u64,
    pub sold: u64,
    /// Distinct users with a live grant.
    pub winners: u64,
}

/// A round that is over but still kept, with its own numbers under the same law.
#[derive(Clone, Debug)]
pub struct OldRound {
    /// Its supply, available, held, sold and packets; the rest is of no use any more.
    pub balances: Balances,
    pub ledger: Ledger,
}

impl OldRound {
    fn total(&self) -> Total {
        let Balances { round, supply, sold, .. } = self.balances;
        Total { round, supply, sold, winners: self.ledger.winners() }
    }
}

/// Everything of a sale with rounds that is not of the stored round.
#[derive(Clone, Debug, Default)]
pub struct Rounds {
    /// Units that a round begins with, before anything is carried.
    pub base_supply: u64,
    /// Rounds that are over and kept, the oldest first.
    pub older: VecDeque<OldRound>,
    /// Totals of the last rounds that are over, the oldest first.
    pub totals: VecDeque<Total>,
    /// Ledgers that nobody needs: given back in small steps.
    dropping: Vec<Ledger>,
}

impl Rounds {
    /// Puts the round aside that is over.
    pub fn put_aside(&mut self, old: OldRound) {
        self.older.push_back(old);
    }

    /// Notes the total of the newest round that is over.
    pub fn note_total(&mut self) {
        let Some(newest) = self.older.back() else { return };
        self.totals.push_back(newest.total());
        // The stored round is listed too.
        while self.totals.len() >= ROUND_TOTALS_MAX {
            self.totals.pop_front();
        }
    }

    /// Takes over the numbers of an older round after a change.
    pub fn set_balances(&mut self, place: usize, balances: Balances) {
        let Some(old) = self.older.get_mut(place) else { return };
        old.balances = balances;
        let total = old.total();
        if let Ok(at) = self.totals.binary_search_by_key(&total.round, |total| total.round) {
            self.totals[at] = total;
        }
    }

    /// Lets go of rounds before the previous one that have no held grant.
    pub fn prune(&mut self) {
        let previous = self.older.len().saturating_sub(1);
        let is_needed = |place: usize, old: &OldRound| place >= previous || old.balances.held > 0;
        if self.older.iter().enumerate().all(|(place, old)| is_needed(place, old)) {
            return;
        }
        let all = core::mem::take(&mut self.older);
        for (place, old) in all.into_iter().enumerate() {
            if is_needed(place, &old) {
                self.older.push_back(old);
            } else {
                self.dropping.push(old.ledger);
            }
        }
    }

    /// Gives back a little of the memory that nobody needs. False when there is none left.
    pub fn shed(&mut self) -> bool {
        if let Some(ledger) = self.dropping.last_mut() {
            if !ledger.shed(SHED_BLOCKS_PER_STEP) {
                self.dropping.pop();
            }
        }
        !self.dropping.is_empty()
    }

    /// The blocks of all rounds that are over, for a defragmenter that moves them. Those that are
    /// being given back are not worth a move.
    pub fn blocks_mut(&mut self) -> impl Iterator<Item = Block<'_>> {
        self.older.iter_mut().flat_map(|old| old.ledger.blocks_mut())
    }

    /// The words of the indexes of all rounds that are over.
    pub fn slots_mut(&mut self) -> impl Iterator<Item = &mut [u64]> {
        self.older.iter_mut().flat_map(|old| old.ledger.slots_mut())
    }

    /// Bytes of heap in use.
    pub fn heap_bytes(&self) -> usize {
        let kept = self.older.iter().map(|old| old.ledger.heap_bytes());
        let dropping = self.dropping.iter().map(Ledger::heap_bytes);
        kept.chain(dropping).sum::<usize>()
            + self.older.capacity() * size_of::<OldRound>()
            + self.totals.capacity() * size_of::<Total>()
            + self.dropping.capacity() * size_of::<Ledger>()
    }

    /// Blocks of heap in use: what freeing costs.
    pub fn heap_blocks(&self) -> usize {
        let kept = self.older.iter().map(|old| old.ledger.heap_blocks());
        let dropping = self.dropping.iter().map(Ledger::heap_blocks);
        kept.chain(dropping).sum::<usize>() + 3
    }
}

/// A round as a judge sees it: its grants and its numbers.
#[derive(Clone, Copy)]
pub(crate) struct Side<'s> {
    pub ledger: &'s Ledger,
    pub balances: &'s Balances,
}

impl Sale {
    pub(crate) fn rounds(&self) -> Option<&Rounds> {
        self.extras.as_deref().and_then(|extras| extras.rounds.as_deref())
    }

    pub(crate) fn rounds_mut(&mut self) -> Option<&mut Rounds> {
        self.extras.as_deref_mut().and_then(|extras| extras.rounds.as_deref_mut())
    }

    /// Older rounds that are kept, the newest first.
    pub(crate) fn older(&self) -> impl Iterator<Item = &OldRound> {
        self.rounds().into_iter().flat_map(|rounds| rounds.older.iter().rev())
    }

    /// The place among the older rounds of the one that has `seq`; `None` for the stored round.
    pub(crate) fn old_place_of(&self, seq: u64) -> Option<usize> {
        if seq > self.ledger.base() {
            return None;
        }
        let older = &self.rounds()?.older;
        let after = older.partition_point(|old| old.ledger.base() < seq);
        let place = after.checked_sub(1)?;
        older.get(place).filter(|old| old.ledger.has(seq)).map(|_| place)
    }

    /// The round that has `seq`; the stored one when none has.
    pub(crate) fn side_of(&self, seq: u64) -> Side<'_> {
        let place = self.old_place_of(seq);
        match place.and_then(|place| self.rounds()?.older.get(place)) {
            Some(old) => Side { ledger: &old.ledger, balances: &old.balances },
            None => Side { ledger: &self.ledger, balances: &self.balances },
        }
    }

    /// The grant numbered `seq`, also one that is no longer shown.
    #[inline]
    pub(crate) fn stored_grant(&self, seq: u64) -> Option<Grant<'_>> {
        self.side_of(seq).ledger.grant(seq)
    }

    /// Whether a grant is kept: of rounds before the previous one only held grants are.
    fn is_kept(&self, grant: &Grant<'_>) -> bool {
        let previous = self.older().next().map_or(0, |old| old.balances.round);
        grant.round >= previous || grant.state == crate::model::outcome::State::Held
    }

    /// The grant numbered `seq`, while it is kept.
    pub fn grant(&self, seq: u64) -> Option<Grant<'_>> {
        self.stored_grant(seq).filter(|grant| self.is_kept(grant))
    }

    /// The user's grants that are kept, newest first.
    pub fn grants_of<'s>(&'s self, user: &'s [u8]) -> impl Iterator<Item = Grant<'s>> {
        let older = self.older().flat_map(move |old| old.ledger.grants_of(user));
        self.ledger.grants_of(user).chain(older).filter(|grant| self.is_kept(grant))
    }

    /// Seq of the kept grant that `user` got with `req`.
    pub fn by_req(&self, user: &[u8], req: &[u8]) -> Option<u64> {
        let found = self.ledger.find_req(user, &self.ledger.find(user), req);
        self.seq_of(user, req, &found)
    }

    /// Seq of the kept grant of `user` that has the request id `req`, which was looked up in the
    /// stored round.
    #[inline]
    pub(crate) fn seq_of(&self, user: &[u8], req: &[u8], found: &Lookup) -> Option<u64> {
        found.seq().or_else(|| {
            let mut older = self.older().filter_map(|old| old.ledger.seq_of(user, req, found));
            older.find(|seq| self.grant(*seq).is_some())
        })
    }

    /// What a user has in the stored round.
    pub fn holding_of(&self, user: &[u8]) -> Holding {
        self.ledger.holding(&self.ledger.find(user))
    }

    /// The smallest seq above `seq` of a round that is kept; `None` when there is none.
    pub fn next_seq(&self, seq: u64) -> Option<u64> {
        let ledgers = self.older().map(|old| &old.ledger).chain([&self.ledger]);
        let next = |ledger: &Ledger| {
            let next = seq.saturating_add(1).max(ledger.base() + 1);
            (next <= ledger.len()).then_some(next)
        };
        ledgers.filter_map(next).min()
    }

    /// First and last seq of the stored or the previous round; an empty round has none.
    pub fn seqs_of_round(&self, round: u64) -> Option<(u64, u64)> {
        let previous = self.older().next().filter(|old| old.balances.round == round);
        let stored = (self.balances.round == round).then_some(&self.ledger);
        let ledger = stored.or(previous.map(|old| &old.ledger))?;
        (!ledger.is_empty()).then(|| (ledger.base() + 1, ledger.len()))
    }

    /// The totals of the last rounds, the stored one first.
    pub fn round_totals(&self) -> impl Iterator<Item = Total> + '_ {
        let Balances { round, supply, sold, .. } = self.balances;
        let stored = Total { round, supply, sold, winners: self.ledger.winners() };
        let over = self.rounds().map(|rounds| rounds.totals.iter().rev().copied());
        let stored = over.is_some().then_some(stored);
        stored.into_iter().chain(over.into_iter().flatten())
    }

    /// The earliest deadline of any held grant, Unix ms.
    pub fn next_deadline(&self) -> Option<u64> {
        let older = self.older().filter_map(|old| old.ledger.holds().next_deadline());
        older.chain(self.ledger.holds().next_deadline()).min()
    }

    /// When the next round opens, Unix ms; `None` when the series is over or there are no rounds.
    pub fn next_round_at(&self, now: &Now) -> Option<u64> {
        let schedule = self.terms.schedule.as_ref()?;
        let round = schedule.round_at(self.time(now)).max(self.balances.round);
        let at = schedule.start(round + 1);
        (self.terms.close_at == 0 || at < self.terms.close_at).then_some(at)
    }

    /// The next moment at which something happens by itself: a hold runs out or a round begins.
    pub fn next_due(&self) -> Option<u64> {
        let turn = self.terms.schedule.map(|schedule| schedule.start(self.balances.round + 1));
        let turn = turn.filter(|at| self.terms.close_at == 0 || *at < self.terms.close_at);
        self.next_deadline().into_iter().chain(turn).min()
    }

    /// Held grants of all rounds.
    pub fn holds_len(&self) -> u64 {
        let older = self.older().map(|old| old.ledger.holds().len());
        (older.sum::<usize>() + self.ledger.holds().len()) as u64
    }

    /// Gives back a little of the memory of rounds that are no longer kept. False when there is
    /// none left to give back.
    pub fn shed(&mut self) -> bool {
        self.rounds_mut().is_some_and(Rounds::shed)
    }
}
