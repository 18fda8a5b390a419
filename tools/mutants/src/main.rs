//! Mutation testing of the domain and the shell: `make mutants`. The program changes one place at a
//! time and reports the changes that no test notices.
//!
//! All mutants of a sample are built at once, each behind a switch, in a copy of the sources below
//! `target/mutants`. So a mutant needs no build of its own. It runs the tests that execute its
//! line, the fastest first, until one fails.

mod find;
mod reach;
mod run;
mod sample;
mod tree;
mod write;

use std::collections::BTreeMap;
use std::fs;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use clap::Parser;
use seckill_harness::process::lock;

use run::{Outcome, Test};
use sample::Mutant;
use tree::{Numbered, Programs, Tree};

/// Changes the code in many places and reports the changes that no test notices.
#[derive(Parser)]
struct Options {
    /// Number of mutants
    #[arg(long, default_value_t = 100)]
    count: usize,
    /// Seed of the sample
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only mutants in files whose path begins with this
    #[arg(long, value_name = "PATH", default_value = "")]
    only: String,
    /// Leave out the long tests of the domain; then some mutants survive that they would catch
    #[arg(long)]
    quick: bool,
}

const FOLDER: &str = "target/mutants";
/// Mutants that are tested at the same time.
const JOBS: usize = 2;
/// Mutants that behave exactly like the original, each with its reason.
const EQUIVALENT: &str = "tools/mutants/equivalent.txt";
/// Share of mutants that tests must catch, in percent, without equivalent ones.
const CAUGHT_OF_100: usize = 95;
/// Most attempts to build. The compiler refuses some mutants, and reports only a few at a time.
const BUILDS_MAX: usize = 12;

fn main() -> ExitCode {
    seckill_harness::program::exit_told(run(&Options::parse()))
}

/// Returns whether enough mutants were caught.
fn run(options: &Options) -> Result<bool, String> {
    let root = std::env::current_dir().map_err(|error| error.to_string())?;
    let mut all = sample::shuffled(&root, options.seed)?;
    all.retain(|mutant| mutant.path.starts_with(&options.only));
    eprintln!("{} mutants; {} of them, seed {}", all.len(), options.count, options.seed);
    let folder = root.join(FOLDER);
    let tree = Tree::copy(&root, &folder)?;
    let (mut chosen, programs) = build(&tree, &all, options.count)?;
    // Equivalent mutants would run all tests without result.
    let known =
        fs::read_to_string(root.join(EQUIVALENT)).map_err(|e| format!("{EQUIVALENT}: {e}"))?;
    let is_known = |mutant: &Mutant| known.lines().any(|line| line == mutant.key());
    let before = chosen.len();
    chosen.retain(|_, mutant| !is_known(mutant));
    let started = Instant::now();
    let tests = reach::measure(&programs, &folder, JOBS, options.quick)?;
    let took: f64 = tests.iter().map(|test| test.takes.as_secs_f64()).sum();
    eprintln!("{} tests take {took:.0} s", tests.len());
    let outcomes = try_all(&chosen, &programs, &tests);
    eprintln!("{} s", started.elapsed().as_secs());
    Ok(report(&chosen, &outcomes, before - chosen.len()))
}

/// Builds the first `count` mutants that compile.
fn build<'m>(
    tree: &Tree,
    all: &'m [Mutant],
    count: usize,
) -> Result<(Numbered<'m>, Programs), String> {
    let mut numbered = (1..).zip(all);
    let mut chosen: Numbered<'m> = numbered.by_ref().take(count).collect();
    let mut refused = 0;
    for _ in 0..BUILDS_MAX {
        tree.write(&chosen)?;
        let broken = match tree.build(chosen.values().any(|mutant| !mutant.is_domain()))? {
            Ok(programs) => {
                eprintln!("built; {refused} were no programs");
                return Ok((chosen, programs));
            }
            Err(broken) => broken,
        };
        let before = chosen.len();
        let gone: Vec<&Mutant> =
            broken.numbers.iter().filter_map(|number| chosen.remove(number)).collect();
        if chosen.len() == before {
            return Err(format!("The copy does not build:\n{}", broken.said));
        }
        for mutant in &gone {
            tree.restore(&mutant.path)?;
        }
        refused += gone.len();
        chosen.extend(numbered.by_ref().take(gone.len()));
    }
    Err(format!("After {BUILDS_MAX} builds the compiler still refuses some"))
}

fn try_all(chosen: &Numbered<'_>, programs: &Programs, tests: &[Test]) -> BTreeMap<usize, Outcome> {
    let outcomes = Mutex::new(BTreeMap::new());
    run::in_parallel(JOBS, chosen.iter(), |_, (number, mutant)| {
        let outcome = run::mutant(tests, programs, *number);
        eprintln!("{:>40}  {mutant}", outcome.to_string());
        lock(&outcomes).insert(*number, outcome);
    });
    outcomes.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Prints the surviving mutants. True if enough were caught.
fn report(chosen: &Numbered<'_>, outcomes: &BTreeMap<usize, Outcome>, equivalent: usize) -> bool {
    let is_missed = |outcome: &Outcome| matches!(outcome, Outcome::Survived | Outcome::Unreached);
    let missed = outcomes.iter().filter(|(_, outcome)| is_missed(outcome));
    let survived: Vec<&Mutant> = missed.map(|(number, _)| chosen[number]).collect();
    let (tried, caught) = (outcomes.len(), outcomes.len() - survived.len());
    println!("{tried} mutants: {caught} caught, {} not; {equivalent} equivalent", survived.len());
    for mutant in &survived {
        println!("no test notices {mutant}\n    {}", mutant.key());
    }
    100 * caught >= CAUGHT_OF_100 * tried
}
