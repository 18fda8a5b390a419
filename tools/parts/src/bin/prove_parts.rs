//! Searches all states of small split sales, and checks that the broken builds are found.
//!
//! ```text
//! make proof-parts
//! cargo run --release -p seckill-parts --bin prove_parts -- --small --paths
//! ```

use std::process::ExitCode;

use clap::Parser;
use seckill_parts::proof::search::{search, Found, LARGE, MUTANTS, SMALL};
use seckill_parts::table;

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
    for config in SMALL.iter().chain(large).filter(|one| one.name.contains(&options.only)) {
        let found = search(config, None, THREADS);
        let law = found.broken.as_ref().map(|(law, _)| *law);
        table.add_row(row(config.name, &found, law.unwrap_or("all laws hold")));
        eprintln!("{}: {} states", config.name, found.states);
        states += found.states;
        if let Some((law, path)) = &found.broken {
            wrong.push(format!("{}: {law}\n  {}", config.name, path.join("\n  ")));
        }
    }
    for mutant in MUTANTS.iter().filter(|one| one.what.contains(&options.only)) {
        let found = search(&mutant.config, Some(mutant.law), THREADS);
        let law = found.broken.as_ref().map(|(law, _)| *law);
        table.add_row(row(mutant.what, &found, law.unwrap_or("NOT FOUND")));
        if law.is_none() {
            wrong.push(format!("{} is not found by: {}", mutant.what, mutant.law));
        }
        if let (true, Some((_, path))) = (options.paths, &found.broken) {
            println!("{}:\n  {}", mutant.what, path.join("\n  "));
        }
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
