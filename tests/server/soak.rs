//! Long versions of other tests, repeated: `make soak`. The tests run for ten minutes at least, or
//! `SECKILL_SOAK_SECONDS`, and show their progress.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use super::due_at_once::{fall_due, Crowd};
use super::{crash, flood, promotion, races};
use crate::support::Options;

const SECONDS_DEFAULT: u64 = 600;
/// 100,000 holds that fall due in one millisecond, in one sale and in many.
const CROWDS: [Crowd; 4] = [
    Crowd { sales: 1, holds: 100_000, outbox: false },
    Crowd { sales: 1, holds: 100_000, outbox: true },
    Crowd { sales: 500, holds: 200, outbox: false },
    Crowd { sales: 500, holds: 200, outbox: true },
];
/// Largest p99.9 of PINGs above that of an idle server, in microseconds, with a release build.
const PING_US_MAX: u64 = 10_000;

/// Number of crafted ids of each family.
const FLOOD_IDS: usize = 1_000_000;

/// The progress: a bar on a terminal, otherwise a line for each step.
struct Progress {
    started: Instant,
    wanted: Duration,
    bar: ProgressBar,
}

impl Progress {
    fn new(wanted: Duration) -> Progress {
        let bar = ProgressBar::new(wanted.as_secs());
        let style = ProgressStyle::with_template("{elapsed_precise} [{bar:40}] {percent}% {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.enable_steady_tick(Duration::from_millis(500));
        Progress { started: Instant::now(), wanted, bar }
    }

    fn step(&self, round: u64, what: &str) {
        let done = self.started.elapsed().as_secs();
        self.bar.set_position(done.min(self.wanted.as_secs()));
        self.bar.set_message(format!("round {round}: {what}"));
        if !std::io::stderr().is_terminal() {
            eprintln!("{done} of {} s, round {round}: {what}", self.wanted.as_secs());
        }
    }

    fn is_over(&self) -> bool {
        self.started.elapsed() >= self.wanted
    }
}

fn wanted() -> Duration {
    let seconds = std::env::var("SECKILL_SOAK_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(SECONDS_DEFAULT))
}

/// Holds that fall due at once never delay a PING for long. On a busy machine the best of three
/// attempts counts.
fn many_holds_at_once(crowd: Crowd) {
    let mut attempts = (0..3).map(|_| fall_due(crowd).p999_above_idle_us());
    let best = attempts.find(|above| *above <= PING_US_MAX);
    let is_release = !cfg!(debug_assertions);
    assert!(best.is_some() || !is_release, "PINGs waited over {PING_US_MAX} us, three times");
}

/// Only the due holds: `cargo test --release --workspace --test server -- --ignored
/// soak::holds_due_at_once`.
#[test]
#[ignore = "measures time: a part of make soak"]
fn holds_due_at_once_keep_nobody_waiting() {
    CROWDS.into_iter().for_each(many_holds_at_once);
}

#[test]
#[ignore = "takes ten minutes: make soak"]
fn soak() {
    let progress = Progress::new(wanted());
    progress.step(0, "a million ids that were crafted to collide");
    flood::flood(FLOOD_IDS);
    for round in 1.. {
        for crowd in CROWDS {
            progress.step(round, "100,000 holds fall due in the same millisecond");
            many_holds_at_once(crowd);
        }
        progress.step(round, "kill -9 at random points");
        crash::kill_again_and_again(10 + round, Options::new());
        progress.step(round, "kill -9 while the log is rewritten");
        let rewriting = Options::new()
            .line("auto-aof-rewrite-min-size 64kb")
            .line("auto-aof-rewrite-percentage 10");
        crash::kill_again_and_again(10 + round, rewriting);
        progress.step(round, "cancel, confirm, refund and the clock fall upon the same orders");
        races::race(200, 10_000, round);
        progress.step(round, "failovers while holds fall due");
        promotion::hand_over(10);
        if progress.is_over() {
            break;
        }
    }
    progress.bar.finish();
}
