//! A short piece of the simulation that `make sim` runs for long, with the law's assertions on.

use std::fmt::Write;

use super::sim::tally::{Tally, FIRST_FAULT, KINDS};
use super::sim::{run, shrink};

/// Number of runs, about two seconds.
const RUNS: u64 = 2000;

#[test]
fn nodes_agree_with_the_oracle_through_faults() {
    let mut tally = Tally::default();
    for seed in 1..=RUNS {
        if let Err(failure) = run(seed, &mut tally) {
            let short = shrink(&failure);
            let mut session = String::new();
            short.steps.iter().for_each(|step| writeln!(session, "  {step}").unwrap());
            panic!(
                "seed {seed}: {}\n{:?}\n{session}=> {}",
                failure.wrong, short.setup, short.wrong
            );
        }
    }
    // Otherwise a generator that only makes refused commands would pass, too.
    for (place, ((kind, _), (times, changed))) in KINDS.iter().zip(tally.kinds).enumerate() {
        let may_change = place < FIRST_FAULT && *kind != "INIT";
        assert!(times > 0 && (changed > 0 || !may_change), "{kind}: {changed} of {times}");
    }
    for reply in ["GRANTED", "REPLAY", "SHORT", "GRANTED-ALL", "REFUSED", "DENIED", "BUSY"] {
        let word = |known: &&String| known.to_uppercase().starts_with(reply);
        assert!(tally.replies.keys().any(|known| word(&known)), "nobody got {reply}");
    }
    assert!(tally.foretold > 10_000 && tally.compared > 10_000 && tally.entries > 10_000);
    assert!(tally.lost > 100, "{} lost", tally.lost);
}
