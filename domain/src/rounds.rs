//! Repeating sales: when rounds begin and end, and the state of rounds that are over.
//!
//! The current round is an ordinary sale with a ledger of its own. When it is over, one effect puts
//! its ledger aside unchanged and starts an empty one. No grant is visited or copied. The previous
//! round is kept, and an older round while it has held grants. Memory of a dropped round is freed
//! in small steps.

mod held;
mod tests;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::ledger::{Block, Ledger};
use crate::model::balances::Balances;
use crate::model::limits::{FREED_BLOCKS_PER_STEP, ROUND_TOTALS_MAX, TIME_MS_MAX};
use crate::model::outcome::Misuse;
use crate::model::wire;

pub(crate) use held::{Held, HeldRecount, Hold};

/// The times at which rounds begin and end. Fixed at INIT; all spans are in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// Time from the beginning of a round to the beginning of the next.
    #[serde(deserialize_with = "wire::integer")]
    pub period_ms: u64,
    /// Beginning of round 0, Unix ms.
    #[serde(deserialize_with = "wire::integer")]
    pub offset_ms: u64,
    /// Time for which a round is open; by default the whole period.
    #[serde(deserialize_with = "wire::integer")]
    pub lasts_ms: u64,
    /// Whether available units are carried to the next round.
    pub carry: bool,
}

impl Schedule {
    /// Whether the schedule is consistent.
    pub fn check(&self) -> Result<(), Misuse> {
        if self.period_ms == 0 || self.period_ms > TIME_MS_MAX || self.offset_ms > TIME_MS_MAX {
            return Err(Misuse::PeriodOutOfRange);
        }
        if self.lasts_ms == 0 || self.lasts_ms > self.period_ms {
            return Err(Misuse::LastsOutOfRange);
        }
        Ok(())
    }

    /// The round at time `t`; 0 also before the first round.
    pub fn round_at(&self, t: u64) -> u64 {
        t.saturating_sub(self.offset_ms) / self.period_ms
    }

    /// First moment of a round.
    pub fn start(&self, round: u64) -> u64 {
        round.saturating_mul(self.period_ms).saturating_add(self.offset_ms)
    }

    /// First moment at which a round is no longer open.
    pub fn end(&self, round: u64) -> u64 {
        self.start(round).saturating_add(self.lasts_ms)
    }

    /// The first moment from `t` on at which a round is open: `t` itself if one is open.
    pub fn opens_at(&self, t: u64) -> u64 {
        let round = self.round_at(t);
        if t < self.start(round) {
            return self.start(round);
        }
        if t < self.end(round) {
            t
        } else {
            self.start(round + 1)
        }
    }

    /// The first round that is still open after `t`.
    pub(crate) fn first_open_after(&self, t: u64) -> u64 {
        match t.checked_sub(self.offset_ms.saturating_add(self.lasts_ms)) {
            None => 0,
            Some(past) => past / self.period_ms + 1,
        }
    }
}

/// Totals of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Total {
    /// The number.
    #[serde(deserialize_with = "wire::integer")]
    pub round: u64,
    /// The units.
    #[serde(deserialize_with = "wire::integer")]
    pub supply: u64,
    /// Units that were sold.
    #[serde(deserialize_with = "wire::integer")]
    pub sold: u64,
    /// Distinct users with a live grant.
    #[serde(deserialize_with = "wire::integer")]
    pub winners: u64,
}

/// A round that is over and still kept. Its numbers obey the law of the sale's numbers.
#[derive(Clone, Debug)]
pub struct OldRound {
    /// The supply, available, held, sold and packets; the other numbers are unused.
    pub balances: Balances,
    /// The grants.
    pub ledger: Ledger,
}

impl OldRound {
    fn total(&self) -> Total {
        let Balances { round, supply, sold, .. } = self.balances;
        Total { round, supply, sold, winners: self.ledger.winners() }
    }
}

/// State of a repeating sale outside its current round.
#[derive(Clone, Debug, Default)]
pub struct Rounds {
    /// Units of a round at its beginning, before carried units are added.
    pub base_supply: u64,
    /// Rounds that are over and kept, oldest first. Boxed, because one in the middle may leave.
    pub older: VecDeque<Box<OldRound>>,
    /// The held grants of all rounds, the current one included.
    pub(crate) held: Held,
    /// Totals of the last rounds that are over, oldest first.
    pub totals: VecDeque<Total>,
    /// Ledgers of dropped rounds, which are freed in small steps.
    dropping: Vec<Ledger>,
}

impl Rounds {
    /// The oldest kept round after `round`; the oldest of all for `None`.
    pub(crate) fn first_behind(&mut self, round: Option<u64>) -> Option<&mut OldRound> {
        let is_done = |its: u64| round.is_some_and(|round| its <= round);
        let index = self.older.partition_point(|old| is_done(old.balances.round));
        self.older.get_mut(index).map(|old| &mut **old)
    }

    /// Puts aside a round that is over.
    pub fn put_aside(&mut self, old: OldRound) {
        self.older.push_back(Box::new(old));
    }

    /// Notes the total of the newest round that is over.
    pub fn note_total(&mut self) {
        let Some(newest) = self.older.back() else { return };
        self.totals.push_back(newest.total());
        // The current round is listed, too.
        while self.totals.len() >= ROUND_TOTALS_MAX {
            self.totals.pop_front();
        }
    }

    /// Stores the numbers of an older round after a change.
    pub fn set_balances(&mut self, index: usize, balances: Balances) {
        let Some(old) = self.older.get_mut(index) else { return };
        old.balances = balances;
        let total = old.total();
        if let Ok(at) = self.totals.binary_search_by_key(&total.round, |total| total.round) {
            self.totals[at] = total;
        }
    }

    /// Drops the round at this index if it is older than the previous round and has no held grant.
    pub fn prune(&mut self, index: usize) {
        let is_over = |old: &OldRound| old.balances.held == 0;
        if index + 1 < self.older.len() && self.older.get(index).is_some_and(|old| is_over(old)) {
            self.dropping.extend(self.older.remove(index).map(|old| old.ledger));
        }
    }

    /// The index of the round before the previous one, if it is kept.
    pub fn before_previous(&self) -> Option<usize> {
        self.older.len().checked_sub(2)
    }

    /// Frees a little memory of dropped rounds. False when none is left.
    pub fn free_some(&mut self) -> bool {
        if let Some(ledger) = self.dropping.last_mut() {
            if !ledger.free_some(FREED_BLOCKS_PER_STEP) {
                self.dropping.pop();
            }
        }
        !self.dropping.is_empty()
    }

    /// The blocks of all kept rounds, for a defragmenter that moves them. Blocks that are being
    /// freed are not worth a move.
    pub fn blocks_mut(&mut self) -> impl Iterator<Item = Block<'_>> {
        self.older.iter_mut().flat_map(|old| old.ledger.blocks_mut())
    }

    /// Bytes of heap in use.
    pub fn heap_bytes(&self) -> usize {
        let kept = self.older.iter().map(|old| size_of::<OldRound>() + old.ledger.heap_bytes());
        let dropping = self.dropping.iter().map(Ledger::heap_bytes);
        kept.chain(dropping).sum::<usize>()
            + self.held.heap_bytes()
            + self.older.capacity() * size_of::<Box<OldRound>>()
            + self.totals.capacity() * size_of::<Total>()
            + self.dropping.capacity() * size_of::<Ledger>()
    }

    /// Number of heap blocks: the cost of freeing them.
    pub fn heap_blocks(&self) -> usize {
        let kept = self.older.iter().map(|old| 1 + old.ledger.heap_blocks());
        let dropping = self.dropping.iter().map(Ledger::heap_blocks);
        kept.chain(dropping).sum::<usize>() + 3
    }
}
