//! Simulates sales under random commands and faults and compares every step with an oracle. A
//! primary, two replicas, an AOF, an RDB file and a reader of the outbox are models in memory; no
//! server runs. A seed always gives the same run. A run of a minute fails if it never reached one
//! of its rare situations.
//!
//! ```text
//! make sim
//! cargo run --release -p seckill-sim --bin sim -- --seconds 60
//! cargo run --release -p seckill-sim --bin sim -- --seed 17 --steps 1
//! ```

mod report;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use seckill_crowd::screen;
use seckill_model::sim::tally::Tally;
use seckill_model::sim::{self, Failure};

/// A run of this many seconds, or of the following number of steps, must reach every rare
/// situation.
const LONG_SECONDS: u64 = 60;
const LONG_STEPS: u64 = 10_000_000;

/// Runs between two checks of the clock.
const RUNS_PER_LOOK: u64 = 16;

/// Simulates sales under random commands and faults until an error is found or the steps are done
#[derive(Parser)]
struct Options {
    /// Seed of the first run; each next run adds 1
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// End after the run that reaches this many steps
    #[arg(long, default_value_t = LONG_STEPS)]
    steps: u64,
    /// End after this many seconds instead
    #[arg(long)]
    seconds: Option<u64>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    // A panic is caught and reported as a failure, with the steps before it.
    std::panic::set_hook(Box::new(|_| {}));
    let started = Instant::now();
    let mut tally = Tally::default();
    let failure = simulate(&options, &mut tally);
    let elapsed = started.elapsed();
    report::print(&tally, options.seed, elapsed);
    match failure {
        None => {
            println!("OK: {} steps in {} runs, nothing wrong.", tally.steps, tally.runs);
            match tally.unmet().as_slice() {
                unmet if is_long(&options) && !unmet.is_empty() => {
                    println!("FAILED: never met: {}.", unmet.join("; "));
                    ExitCode::FAILURE
                }
                _ => ExitCode::SUCCESS,
            }
        }
        Some((seed, failure)) => {
            report::print_failure(seed, &failure, &sim::shrink(&failure));
            ExitCode::FAILURE
        }
    }
}

/// Whether a run is so long that it must reach all rare situations.
fn is_long(options: &Options) -> bool {
    match options.seconds {
        Some(seconds) => seconds >= LONG_SECONDS,
        None => options.steps >= LONG_STEPS,
    }
}

/// Executes runs until one fails. Returns the failure with its seed.
fn simulate(options: &Options, tally: &mut Tally) -> Option<(u64, Box<Failure>)> {
    let started = Instant::now();
    let limit = options.seconds.map(Duration::from_secs);
    let bar = match options.seconds {
        Some(seconds) => screen::progress_bar(seconds, "seconds"),
        None => screen::progress_bar(options.steps, "steps  {per_sec}"),
    };
    loop {
        for _ in 0..RUNS_PER_LOOK {
            let seed = options.seed.wrapping_add(tally.runs);
            if let Err(failure) = sim::run(seed, tally) {
                bar.finish_and_clear();
                return Some((seed, failure));
            }
            if limit.is_none() && tally.steps >= options.steps {
                break;
            }
        }
        bar.set_position(if limit.is_some() { started.elapsed().as_secs() } else { tally.steps });
        let is_over = match limit {
            Some(limit) => started.elapsed() >= limit,
            None => tally.steps >= options.steps,
        };
        if is_over {
            bar.finish_and_clear();
            return None;
        }
    }
}
