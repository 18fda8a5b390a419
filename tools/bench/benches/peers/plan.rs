//! How much is measured.

use serde::{Deserialize, Serialize};

/// Whether a run is for judging or for trying.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    Full,
    Quick,
}

impl Mode {
    pub fn plan(self) -> Plan {
        match self {
            Mode::Full => Plan::FULL,
            Mode::Quick => Plan::QUICK,
        }
    }
}

/// Numbers of a run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Rounds of A B C ...
    pub rounds: usize,
    /// Winning grabs of a fresh sale.
    pub wins: u64,
    /// Requests where nothing grows.
    pub calls: u64,
    /// Requests of the scripts, several times slower: fewer, which favours them where a table
    /// grows.
    pub script_calls: u64,
    /// Requests without a pipeline.
    pub single_calls: u64,
    /// The same with a thousand connections: so many that those which come before all connections
    /// are accepted are well below one in a hundred.
    pub crowd_calls: u64,
    /// Rounds of them with a thousand connections, where latencies move a lot.
    pub crowd_rounds: usize,
    /// Requests at a steady rate.
    pub steady_calls: u64,
    /// Winners of a sale: small, middle, large.
    pub sizes: [u64; 3],
    /// How often a large sale is grown.
    pub growths: usize,
    /// Calls counted by callgrind, each.
    pub counted_calls: usize,
}

impl Plan {
    /// What the bars are judged by.
    const FULL: Plan = Plan {
        rounds: 5,
        wins: 2_000_000,
        calls: 1_000_000,
        script_calls: 300_000,
        single_calls: 100_000,
        crowd_calls: 150_000,
        crowd_rounds: 7,
        steady_calls: 40_000,
        sizes: [10_000, 1_000_000, 10_000_000],
        growths: 3,
        counted_calls: 20_000,
    };

    /// For trying: the figures say little.
    const QUICK: Plan = Plan {
        rounds: 2,
        wins: 200_000,
        calls: 100_000,
        script_calls: 50_000,
        single_calls: 10_000,
        crowd_calls: 10_000,
        crowd_rounds: 2,
        steady_calls: 10_000,
        sizes: [10_000, 100_000, 1_000_000],
        growths: 2,
        counted_calls: 5_000,
    };
}
