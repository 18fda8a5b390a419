//! Snapshots that are altered, truncated, spliced or unchanged: as dumps, and as effects of a
//! rewritten AOF.

use std::time::Instant;

use crate::corpus::{alter, corpus, pick};
use crate::random::Random;
use crate::sim::Sample;
use crate::sound::{try_follow, try_load};
use crate::{long, rebuild, seed, Figures};

pub fn load(sales: &[Sample], rounds: u64, seed: u64) -> Figures {
    let mut random = Random(seed);
    let dumps: Vec<_> = sales.iter().map(|sample| rebuild::dump(&sample.sale)).collect();
    for dump in &dumps {
        assert!(try_load(dump, "as it is"));
    }
    let mut figures = Figures::default();
    for round in 0..rounds {
        let mut dump = pick(&mut random, &dumps).clone();
        alter(&mut dump, pick::<Vec<_>>(&mut random, &dumps), &mut random);
        figures.note(try_load(&dump, &format!("seed {seed}, round {round}")));
    }
    figures
}

/// Applies the pieces as effects: each is accepted or refused alone.
pub fn follow(sales: &[Sample], rounds: u64, seed: u64) {
    let mut random = Random(seed);
    let texts = |(_, text): (u64, Vec<u8>)| text;
    let log = |sale| rebuild::log(sale).into_iter().map(texts).collect::<Vec<Vec<u8>>>();
    let logs: Vec<_> = sales.iter().map(|sample| log(&sample.sale)).collect();
    for round in 0..rounds {
        let mut log = pick(&mut random, &logs).clone();
        alter(&mut log, pick::<Vec<_>>(&mut random, &logs), &mut random);
        try_follow(&log, &format!("seed {seed}, round {round}"));
    }
}

#[test]
fn altered_snapshots() {
    let sales = corpus(1);
    let figures = load(&sales, 20_000, 1);
    assert!(figures.taken > 500 && figures.refused > 5000, "{figures:?}");
    follow(&sales, 5000, 1);
}

#[test]
#[ignore = "long: make fuzz"]
fn long_altered_snapshots() {
    let (sales, since) = (corpus(seed()), Instant::now());
    load(&sales, long(2_000_000), seed()).print("snapshots", since);
    let (since, rounds) = (Instant::now(), long(500_000));
    follow(&sales, rounds, seed());
    println!("rewritten logs: {rounds} tried, {:.1} s", since.elapsed().as_secs_f64());
}
