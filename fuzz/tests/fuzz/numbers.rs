//! Fuzz of sales with numbered units: no number belongs to two grants, and each grant has as many
//! numbers as units.

use std::time::Instant;

use crate::corpus::numbered;
use crate::{effects, long, seed, snapshots};

#[test]
fn altered_numbers() {
    let sales = numbered(1);
    let figures = snapshots::load(&sales, 5000, 1);
    assert!(figures.taken > 100 && figures.refused > 1000, "{figures:?}");
    snapshots::follow(&sales, 1000, 1);
    let figures = effects::apply(&sales, 5000, 1);
    assert!(figures.taken > 100 && figures.refused > 1000, "{figures:?}");
}

#[test]
#[ignore = "long: make fuzz"]
fn long_altered_numbers() {
    let (sales, since) = (numbered(seed()), Instant::now());
    snapshots::load(&sales, long(500_000), seed()).print("snapshots with numbers", since);
    let (since, rounds) = (Instant::now(), long(100_000));
    snapshots::follow(&sales, rounds, seed());
    let seconds = since.elapsed().as_secs_f64();
    println!("rewritten logs with numbers: {rounds} tried, {seconds:.1} s");
    let since = Instant::now();
    effects::apply(&sales, long(300_000), seed()).print("effects with numbers", since);
}
