//! Random and altered bytes for everything that reads bytes from outside: nothing panics, and what
//! is not refused is a lawful sale that works. No nightly compiler is needed; the targets for
//! cargo-fuzz have the same checks.
//!
//! * `arguments` calls every command, `payloads` restores dumps, `files` starts servers: real ones.
//! * `snapshots` loads and `effects` applies without a server, `numbers` both where units have numbers.
//! * `memcheck` does some of it under valgrind, and everything else that servers do to sales.
//! * `corpus` is what is altered: sales that the simulation ends with, on all kinds of terms.
//!
//! A short piece of each is a test. `make fuzz` runs the long ones: `SECKILL_FUZZ` times as long,
//! with numbers that `SECKILL_SEED` chooses.

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
use seckill_oracle::{rebuild, sim, sound};
use seckill_random as random;

/// Where numbers start that nobody chose.
fn seed() -> u64 {
    std::env::var("SECKILL_SEED").map_or(1, |seed| seed.parse().expect("SECKILL_SEED is a number"))
}

/// `rounds` times the factor in `SECKILL_FUZZ`, which is 1 if it is not set.
fn long(rounds: u64) -> u64 {
    let times = std::env::var("SECKILL_FUZZ");
    rounds * times.map_or(1, |times| times.parse().expect("SECKILL_FUZZ is a number"))
}

/// Counts of the inputs, and of their results.
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
