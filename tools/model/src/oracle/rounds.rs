//! Repeating sales.

use super::entries::number;
use super::{Oracle, Row, INTEGER_MAX};

/// Times of rounds, all in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Every {
    pub period: u64,
    pub offset: u64,
    pub lasts: u64,
    pub carry: bool,
}

impl Every {
    pub(super) fn is_possible(&self) -> bool {
        self.period > 0 && self.lasts > 0 && self.lasts <= self.period
    }

    pub(super) fn round_at(&self, t: u64) -> u64 {
        t.saturating_sub(self.offset) / self.period
    }

    pub(super) fn start(&self, round: u64) -> u64 {
        self.offset + round * self.period
    }

    fn is_open(&self, t: u64) -> bool {
        t >= self.offset && (t - self.offset) % self.period < self.lasts
    }
}

/// A line of ROUNDS: round, supply, sold, winners.
pub type Total = (u64, u64, u64, u64);

/// Most lines of ROUNDS.
const TOTALS_MAX: usize = 100;

impl Oracle {
    /// Begins the round that is due, before a command is decided.
    pub(super) fn turn(&mut self) {
        let Some(every) = self.rules.every else { return };
        let t = self.time();
        let last = if self.rules.close_at == 0 { t } else { t.min(self.rules.close_at - 1) };
        let round = every.round_at(last);
        if round <= self.round {
            return;
        }
        let supply = self.supply_of(every, round);
        self.change();
        self.older.push((self.round, self.supply));
        (self.round, self.supply) = (round, supply);
        self.emit_with("ROUND", number("round", round), String::new());
    }

    /// The supply, computed round by round. With CARRY each round leaves its available units to the
    /// next one, if the round was ever open.
    fn supply_of(&self, every: Every, round: u64) -> u64 {
        if !every.carry {
            return self.base;
        }
        let could_ask = |round| self.could_ask(every, round);
        let mut left = if could_ask(self.round) { self.available() } else { 0 };
        for passed in self.round + 1..round {
            left = if could_ask(passed) { left.saturating_add(self.base) } else { 0 };
        }
        left.saturating_add(self.base).min(INTEGER_MAX)
    }

    /// Whether the sale existed and was open during a part of this round.
    fn could_ask(&self, every: Every, round: u64) -> bool {
        every.start(round) + every.lasts > self.created_at.max(self.rules.open_at)
    }

    /// The first time from `t` on at which the sale is open, without CLOSEAT.
    pub(super) fn opens_at(&self, t: u64) -> u64 {
        let t = t.max(self.rules.open_at);
        match self.rules.every {
            Some(every) if t < every.offset => every.offset,
            Some(every) if !every.is_open(t) => every.start(every.round_at(t) + 1),
            _ => t,
        }
    }

    /// Kept grants: those of the current and the previous round, and all holds.
    pub fn is_kept(&self, row: &Row) -> bool {
        let previous = self.older.last().map_or(0, |(round, _)| *round);
        row.round >= previous || row.state == "HELD"
    }

    pub(super) fn supply_in(&self, round: u64) -> u64 {
        let older = self.older.iter().find(|(its, _)| *its == round);
        older.map_or(self.supply, |(_, supply)| *supply)
    }

    /// The reply of ROUNDS.
    pub fn totals(&self) -> Vec<Total> {
        if self.rules.every.is_none() {
            return Vec::new();
        }
        let older = self.older.iter().rev().map(|(round, _)| *round);
        let total = |round: u64| {
            let sold = self.units_in(round, "SOLD");
            (round, self.supply_in(round), sold, self.winners_in(round))
        };
        [self.round].into_iter().chain(older).map(total).take(TOTALS_MAX).collect()
    }

    /// Round, its end, and start of the next round, for STATUS.
    pub fn round_times(&self, clock: u64) -> [Option<u64>; 3] {
        let Some(every) = self.rules.every else { return [None; 3] };
        let t = self.t.max(clock);
        let next = match t < self.rules.open_at || t < every.offset {
            true => self.opens_at(t),
            false => every.start(every.round_at(t).max(self.round) + 1),
        };
        let is_over = self.rules.close_at != 0 && next >= self.rules.close_at;
        let ends_at = every.start(self.round) + every.lasts;
        [Some(self.round), Some(ends_at), Some(if is_over { 0 } else { next })]
    }

    /// Start of the round after this many other rounds.
    pub fn start_after(&self, others: u64, clock: u64) -> Option<u64> {
        let every = self.rules.every?;
        Some(every.start(every.round_at(clock) + 1 + others))
    }

    pub fn close_of(&self, clock: u64) -> Option<u64> {
        let every = self.rules.every?;
        Some(every.start(every.round_at(clock)) + every.lasts)
    }
}
