//! How much is measured.

/// Numbers of a run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Rounds of A B C ...
    pub rounds: usize,
    /// Calls of each contender in a round.
    pub calls: u64,
    /// Without a pipeline: connections and calls.
    pub crowds: [(usize, u64); 3],
    /// Rounds of slow cases whose times vary little.
    pub few_rounds: usize,
    /// Rounds of the server's own commands, where a difference would be small.
    pub many_rounds: usize,
    /// Winners of a sale: small, middle, large.
    pub sizes: [u64; 3],
    /// Calls of each kind that callgrind counts.
    pub counted_calls: u64,
}

/// The sizes of a full run, by which the bars are judged.
pub const FULL: Plan = Plan {
    rounds: 5,
    calls: 100_000,
    crowds: [(1, 10_000), (50, 30_000), (1_000, 30_000)],
    few_rounds: 3,
    many_rounds: 9,
    sizes: [10_000, 1_000_000, 10_000_000],
    counted_calls: 10_000,
};

/// For trying: the figures say little.
pub const QUICK: Plan = Plan {
    rounds: 2,
    calls: 20_000,
    crowds: [(1, 3_000), (50, 10_000), (1_000, 10_000)],
    few_rounds: 1,
    many_rounds: 3,
    sizes: [10_000, 100_000, 1_000_000],
    counted_calls: 2_000,
};
