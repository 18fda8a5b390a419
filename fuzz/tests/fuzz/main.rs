//! Random and altered bytes for all code that reads bytes from outside. Nothing panics, and
//! accepted bytes give a sale that obeys the law and works. No nightly compiler is needed; the
//! cargo-fuzz targets have equal checks.
//!
//! * `arguments` calls every command, `payloads` restores dumps, `files` starts servers; these use
//!   real servers.
//! * `snapshots` loads and `effects` applies without a server, `numbers` does both with numbered
//!   units.
//! * `memcheck` runs some of it under valgrind, with all other operations of servers on sales.
//! * `corpus` has the data to alter: sales at the end of simulations, with all kinds of terms.
//!
//! A short run of each is a test. `make fuzz` makes long runs: `SECKILL_FUZZ` times as long, with
//! the seed `SECKILL_SEED`.

mod arguments;
mod corpus;
mod effects;
mod files;
mod memcheck;
mod numbers;
mod payloads;
mod snapshots;

use std::time::Instant;

use seckill_harness as support;
use seckill_model::{rebuild, sim, sound};
use seckill_random as random;

/// The seed, by default a fixed one.
fn seed() -> u64 {
    std::env::var("SECKILL_SEED").map_or(1, |seed| seed.parse().expect("SECKILL_SEED is a number"))
}

/// `rounds` times `SECKILL_FUZZ`, which is 1 by default.
fn long(rounds: u64) -> u64 {
    let times = std::env::var("SECKILL_FUZZ");
    rounds * times.map_or(1, |times| times.parse().expect("SECKILL_FUZZ is a number"))
}

/// Counts of inputs and results.
#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    taken: u64,
    refused: u64,
}

impl Figures {
    fn note(&mut self, is_taken: bool) {
        match is_taken {
            true => self.taken += 1,
            false => self.refused += 1,
        }
    }

    /// Prints the figures so far.
    fn print(&self, what: &str, since: Instant) {
        let (taken, refused) = (self.taken, self.refused);
        let (tried, seconds) = (taken + refused, since.elapsed().as_secs_f64());
        println!("{what}: {tried} tried, {refused} refused, {taken} taken, {seconds:.1} s");
    }
}
