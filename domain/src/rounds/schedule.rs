//! When the rounds of a sale that repeats begin and end. What is kept of those that are over is in
//! `past`.

use serde::{Deserialize, Serialize};

use crate::model::limits::TIME_MS_MAX;
use crate::model::outcome::Misuse;
use crate::model::wire;

/// When rounds begin and how long they are open. Fixed at INIT; all spans in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// From the beginning of a round to that of the next.
    #[serde(deserialize_with = "wire::integer")]
    pub period_ms: u64,
    /// Unix ms at which round 0 began.
    #[serde(deserialize_with = "wire::integer")]
    pub offset_ms: u64,
    /// How long a round is open; the whole period when nothing was said.
    #[serde(deserialize_with = "wire::integer")]
    pub lasts_ms: u64,
    /// Whether what is left is added to the next round.
    pub carry: bool,
}

impl Schedule {
    /// Whether it can be kept.
    pub fn check(&self) -> Result<(), Misuse> {
        if self.period_ms == 0 || self.period_ms > TIME_MS_MAX || self.offset_ms > TIME_MS_MAX {
            return Err(Misuse::PeriodOutOfRange);
        }
        if self.lasts_ms == 0 || self.lasts_ms > self.period_ms {
            return Err(Misuse::LastsOutOfRange);
        }
        Ok(())
    }

    /// The round of the moment `t`; 0 also before the first.
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

    /// The first moment from `t` on at which a round is open: `t` itself when one is.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds of 1000 ms from 300 on, open for 100 ms.
    const SCHEDULE: Schedule =
        Schedule { period_ms: 1000, offset_ms: 300, lasts_ms: 100, carry: false };

    #[test]
    fn times_of_rounds() {
        assert_eq!([0, 299, 300, 1299, 1300].map(|t| SCHEDULE.round_at(t)), [0, 0, 0, 0, 1]);
        let opens = [0, 300, 399, 400, 1299, 1300].map(|t| SCHEDULE.opens_at(t));
        assert_eq!(opens, [300, 300, 399, 1300, 1300, 1300]);
        assert_eq!(
            [0, 399, 400, 1399, 1400].map(|t| SCHEDULE.first_open_after(t)),
            [0, 0, 1, 1, 2]
        );
    }
}
