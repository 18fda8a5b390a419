//! The output of a simulation: a table of events, and the steps of a failure.

use std::time::Duration;

use comfy_table::Table;
use seckill_crowd::screen;
use seckill_model::sim::tally::{Tally, FIRST_FAULT, KINDS};
use seckill_model::sim::Failure;

fn table<const N: usize>(head: [&str; N], rows: impl Iterator<Item = [String; N]>) -> Table {
    let mut table = screen::table(&head);
    table.add_rows(rows);
    (1..N).for_each(|column| screen::align_right(&mut table, column));
    table
}

/// Figures of all runs.
pub fn print(tally: &Tally, seed: u64, elapsed: Duration) {
    let rows = |kinds: std::ops::Range<usize>| {
        kinds.map(|kind| {
            let (count, changed) = tally.kinds[kind];
            [KINDS[kind].0.to_owned(), count.to_string(), changed.to_string()]
        })
    };
    println!("{}", table(["command", "times", "changed the sale"], rows(0..FIRST_FAULT)));
    println!("{}", table(["fault", "times", "moved a history"], rows(FIRST_FAULT..KINDS.len())));
    let met = tally.met.iter().map(|(name, times)| [(*name).to_owned(), times.to_string()]);
    println!("{}", table(["rare situation", "times"], met));
    let replies: Vec<String> =
        tally.replies.iter().map(|(word, count)| format!("{word} {count}")).collect();
    println!("Replies: {}.", replies.join(", "));
    println!(
        "{} replies foretold by the oracle, {} transactions compared on replicas at the same \
         offset, {} outbox entries read, {} transactions lost with the tail of a history.",
        tally.foretold, tally.compared, tally.entries, tally.lost
    );
    let rate = tally.steps as f64 / elapsed.as_secs_f64().max(0.001);
    println!(
        "Seed {seed}: {} steps in {} runs, {:.1} s, {rate:.0} steps per second.",
        tally.steps,
        tally.runs,
        elapsed.as_secs_f64()
    );
}

/// Prints a failure: the command that repeats it, and the shortest failing list of steps.
pub fn print_failure(seed: u64, failure: &Failure, short: &Failure) {
    println!(
        "FAILED in the run with seed {seed}, after {} steps: {}",
        failure.steps.len(),
        failure.wrong
    );
    println!(
        "See it again: cargo run --release -p seckill-sim --bin sim -- --seed {seed} --steps 1"
    );
    println!("The shortest way there that was found has {} steps:", short.steps.len());
    for (place, sale) in short.setup.sales.iter().enumerate() {
        println!("  INIT of sale {place}: {sale:?}");
    }
    println!(
        "  the clock shows {}, the first replica {}",
        short.setup.clock,
        if short.setup.attached { "gets everything at once" } else { "lags" }
    );
    for step in &short.steps {
        println!("  {step}");
    }
    println!("  => {}", short.wrong);
}
