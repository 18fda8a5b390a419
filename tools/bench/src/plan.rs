//! Sizes of a run: rounds, calls and winners.

#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Rounds in which all contenders take a turn.
    pub rounds: usize,
    /// Calls of each contender in one round.
    pub calls: u64,
    /// Calls of each contender without a pipeline.
    pub crowd_calls: u64,
    /// Rounds of slow cases with little variation.
    pub few_rounds: usize,
    /// Rounds for the server's own commands, where differences are small.
    pub many_rounds: usize,
    /// Winners of a sale: small, middle, large.
    pub sizes: [u64; 3],
    /// Calls of each kind under callgrind.
    pub counted_calls: u64,
}

/// The sizes of a full run; the bars are set for these.
pub const FULL: Plan = Plan {
    rounds: 5,
    calls: 100_000,
    crowd_calls: 30_000,
    few_rounds: 3,
    many_rounds: 9,
    sizes: [10_000, 1_000_000, 10_000_000],
    counted_calls: 10_000,
};

/// A short run to try the bench out, whose figures mean little.
pub const QUICK: Plan = Plan {
    rounds: 2,
    calls: 20_000,
    crowd_calls: 10_000,
    few_rounds: 1,
    many_rounds: 3,
    sizes: [10_000, 100_000, 1_000_000],
    counted_calls: 2_000,
};
