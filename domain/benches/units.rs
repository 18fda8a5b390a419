//! Free numbers: 10,000,000 beside 10,000, half of them taken, scattered.
//!
//! `cargo bench -p seckill-domain --bench units` prints a table and fails where a bar is missed.

#![allow(missing_docs)]

use std::process::ExitCode;
use std::time::{Duration, Instant};

use seckill_domain::units::{Free, Units};
use seckill_random::Random;

const SMALL: u32 = 10_000;
const LARGE: u32 = 10_000_000;
const ROUNDS: usize = 200_000;

/// A call at `LARGE` takes at most this many times as long as at `SMALL`, at p99.9.
const RATIO_MAX: f64 = 3.0;
/// Nothing that a sale does at once stalls others for longer.
const STALL_MAX: Duration = Duration::from_millis(10);

/// Numbers of which each is taken with a chance of one half.
fn scattered(len: u32, random: &mut Random) -> Units {
    let mut units = Units::new(len);
    let taken: Vec<u32> = (1..=len).filter(|_| random.below(2) == 0).collect();
    assert_eq!(units.take(&taken), Ok(()));
    units
}

/// The p99.9 of the calls in nanoseconds. The numbers of a call are given back, which is not
/// measured: every call finds half of the numbers taken.
fn p999(units: &mut Units, mut call: impl FnMut(&mut Units) -> Vec<u32>) -> u64 {
    let mut times: Vec<u64> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            let taken = call(units);
            let time = start.elapsed().as_nanos() as u64;
            assert_eq!(units.give_back(&taken), Ok(()));
            time
        })
        .collect();
    times.sort_unstable();
    times[ROUNDS - ROUNDS / 1000]
}

/// The lowest run of four, or the lowest four.
fn take_quantity(units: &mut Units) -> Vec<u32> {
    let taken: Vec<u32> = match units.lowest_run(4) {
        Some(first) => (first..first + 4).collect(),
        None => units.iter_free().take(4).collect(),
    };
    assert_eq!(units.take(&taken), Ok(()));
    taken
}

/// A run as long as the longest: rarely where the tree looks first.
fn take_longest(units: &mut Units) -> Vec<u32> {
    let n = units.longest_run();
    let taken: Vec<u32> = units.lowest_run(n).map_or_else(Vec::new, |at| (at..at + n).collect());
    assert_eq!(units.take(&taken), Ok(()));
    taken
}

/// Four free numbers here and there.
fn take_these(units: &mut Units, random: &mut Random) -> Vec<u32> {
    let len = u64::from(units.len());
    let mut wanted: Vec<u32> =
        (0..4).filter_map(|_| units.next_free(random.below(len) as u32)).collect();
    wanted.dedup();
    assert_eq!(units.take(&wanted), Ok(()));
    wanted
}

/// Prints how long `work` takes, and returns whether that is within the bar.
fn stall<T>(name: &str, work: impl FnOnce() -> T) -> (T, bool) {
    let start = Instant::now();
    let result = work();
    let time = start.elapsed();
    println!("{name:44} {:>9.3} ms", time.as_secs_f64() * 1000.0);
    (result, time <= STALL_MAX)
}

fn calls_keep_pace(random: &mut Random) -> bool {
    println!("{:24} {:>12} {:>12} {:>7}", "p99.9 in ns", SMALL, LARGE, "ratio");
    let [mut small, mut large] = [SMALL, LARGE].map(|len| scattered(len, random));
    let mut kept = true;
    let mut row = |name: &str, call: &mut dyn FnMut(&mut Units) -> Vec<u32>| {
        let [a, b] = [p999(&mut small, &mut *call), p999(&mut large, &mut *call)];
        let ratio = b as f64 / a as f64;
        println!("{name:24} {a:>12} {b:>12} {ratio:>7.2}");
        kept &= ratio <= RATIO_MAX;
    };
    row("four, a run if any", &mut take_quantity);
    row("the longest run", &mut take_longest);
    row("these four", &mut |units| take_these(units, random));
    println!();
    kept
}

fn nobody_stalls() -> bool {
    let (mut units, made) = stall("make 10,000,000 numbers", || Units::new(LARGE));
    let bits = units.heap_bytes() as f64 * 8.0 / f64::from(LARGE);
    let hundreds: Vec<Vec<u32>> =
        (0..LARGE / 100).map(|i| (i * 100 + 1..=i * 100 + 100).collect()).collect();
    for hundred in &hundreds {
        assert_eq!(units.take(hundred), Ok(()));
    }
    let mut longest = Duration::ZERO;
    let start = Instant::now();
    for hundred in &hundreds {
        let one = Instant::now();
        assert_eq!(units.give_back(hundred), Ok(()));
        longest = longest.max(one.elapsed());
    }
    let (all, one) = (start.elapsed().as_secs_f64() * 1000.0, longest.as_secs_f64() * 1000.0);
    println!(
        "{:44} {all:>9.3} ms, at most {one:.3} ms each",
        "give back 100 numbers 100,000 times"
    );
    let ((), freed) = stall("free them", || drop(units));
    let mut half = Units::new(LARGE / 2);
    let ((), grown) = stall("add 5,000,000 to 5,000,000", || half.grow(LARGE / 2));
    println!("{bits:.2} bits a number");
    made && freed && grown && longest <= STALL_MAX && bits <= 6.0
}

fn main() -> ExitCode {
    let mut random = Random(39);
    let kept = [calls_keep_pace(&mut random), nobody_stalls()];
    if kept == [true, true] {
        return ExitCode::SUCCESS;
    }
    eprintln!("a bar is missed");
    ExitCode::FAILURE
}
