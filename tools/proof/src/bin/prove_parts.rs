//! Searches all states of small split sales, and checks that the broken builds are found.
//!
//! ```text
//! make proof-parts
//! cargo run --release -p seckill-proof --bin prove_parts -- --small --paths
//! ```

use std::process::ExitCode;

use clap::Parser;
use seckill_proof::search::{search, Found, LARGE, MUTANTS, SMALL};
use seckill_proof::table;

const THREADS: usize = 2;

/// Searches all orders of messages, failures and repairs of small split sales
#[derive(Parser)]
struct Options {
    /// Search only the small settings that the tests have
    #[arg(long)]
    small: bool,
    /// Only settings and builds whose name contains this
    #[arg(long, default_value = "")]
    only: String,
    /// Print how each broken build is found
    #[arg(long)]
    paths: bool,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let mut wrong = Vec::new();
    let mut table = table(&["setting", "found"], &["states", "depth", "seconds"]);
    let mut states = 0;
    let large = if options.small { &[] } else { LARGE };
    let settings = SMALL.iter().chain(large).map(|config| (config, None));
    let all = settings.chain(MUTANTS.iter().map(|(config, law)| (config, Some(*law))));
    for (config, mutant) in all.filter(|(config, _)| config.name.contains(&options.only)) {
        let found = search(config, mutant, THREADS);
        eprintln!("{}: {} states", config.name, found.states);
        let law = found.broken.as_ref().map(|(law, _)| *law);
        let none = if mutant.is_none() { "all laws hold" } else { "NOT FOUND" };
        table.add_row(row(config.name, &found, law.unwrap_or(none)));
        match (mutant, &found.broken) {
            (None, None) => {}
            (None, Some((law, path))) => {
                wrong.push(format!("{}: {law}\n  {}", config.name, path.join("\n  ")));
            }
            (Some(law), None) => wrong.push(format!("{} is not found by: {law}", config.name)),
            (Some(_), Some((_, path))) if options.paths => {
                println!("{}:\n  {}", config.name, path.join("\n  "));
            }
            (Some(_), Some(_)) => {}
        }
        states += if mutant.is_none() { found.states } else { 0 };
    }
    println!("{table}");
    for one in &wrong {
        println!("WRONG: {one}");
    }
    if wrong.is_empty() {
        println!("OK: all laws hold in {states} states, and every broken build is found.");
    }
    ExitCode::from(u8::from(!wrong.is_empty()))
}

fn row(name: &str, found: &Found, law: &str) -> [String; 5] {
    let seconds = format!("{:.1}", found.took.as_secs_f64());
    [name.to_owned(), law.to_owned(), found.states.to_string(), found.depth.to_string(), seconds]
}
