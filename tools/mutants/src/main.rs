//! Mutation testing of the domain and the shell: `make mutants`. The program changes one place at a
//! time and reports the changes that no test notices.
//!
//! All mutants of a sample are built at once, each behind a switch, in a copy of the sources below
//! `target/mutants`. So a mutant needs no build of its own. It runs the tests that execute its
//! line, the fastest first, until one fails. Results are stored at once: a second run with equal
//! sources and seed continues there.

mod find;
mod reach;
mod run;
mod sample;
mod tree;
mod write;

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use clap::Parser;

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
    /// Mutants that are tested at the same time
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Timeout for the tests of one program, in seconds: raise it on a busy machine
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    deadline: u64,
    /// Leave out the long tests of the domain; then some mutants survive that they would catch
    #[arg(long)]
    quick: bool,
    /// Forget the results of earlier runs
    #[arg(long)]
    fresh: bool,
    /// Only list the mutants
    #[arg(long)]
    list: bool,
}

const FOLDER: &str = "target/mutants";
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
    if options.list {
        all.iter().take(options.count).for_each(|mutant| println!("{mutant}"));
        return Ok(true);
    }
    let folder = root.join(FOLDER);
    let tree = Tree::copy(&root, &folder)?;
    let (mut chosen, mut programs) = build(&tree, &all, options.count)?;
    programs.deadline = Duration::from_secs(options.deadline);
    let mut book = Book::open(&folder, &all, options)?;
    // Equivalent mutants would run all tests without result.
    let known =
        fs::read_to_string(root.join(EQUIVALENT)).map_err(|e| format!("{EQUIVALENT}: {e}"))?;
    let is_known = |mutant: &Mutant| known.lines().any(|line| line == mutant.key());
    let before = chosen.len();
    chosen.retain(|_, mutant| !is_known(mutant));
    let started = Instant::now();
    let tests = reach::measure(&programs, &folder, options.jobs, options.quick)?;
    let took: f64 = tests.iter().map(|test| test.takes.as_secs_f64()).sum();
    eprintln!("{} tests take {took:.0} s", tests.len());
    try_all(&chosen, &programs, &tests, options.jobs, &mut book);
    eprintln!("{} s", started.elapsed().as_secs());
    report(&chosen, &book, before - chosen.len())
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

// Outcomes that no test has noticed.
const SURVIVED: &str = "survived";
const UNREACHED: &str = "unreached";

/// The stored results.
struct Book {
    /// The word of each outcome, or the test that caught the mutant.
    outcomes: BTreeMap<usize, String>,
    file: File,
}

impl Book {
    /// Reads the results of an earlier run with the same mutants.
    fn open(folder: &Path, all: &[Mutant], options: &Options) -> Result<Book, String> {
        let mut hasher = DefaultHasher::new();
        all.iter().for_each(|mutant| mutant.to_string().hash(&mut hasher));
        let name = format!("seed-{}-{:016x}.tsv", options.seed, hasher.finish());
        let path = folder.join(name);
        if options.fresh {
            let _ = fs::remove_file(&path);
        }
        let text = fs::read_to_string(&path).unwrap_or_default();
        let outcome = |line: &str| {
            let (number, outcome) = line.split_once('\t')?;
            Some((number.parse().ok()?, outcome.to_owned()))
        };
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let file = file.map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Book { outcomes: text.lines().filter_map(outcome).collect(), file })
    }

    fn note(&mut self, number: usize, mutant: &Mutant, outcome: Outcome) {
        let told = match outcome {
            Outcome::Survived => SURVIVED.to_owned(),
            Outcome::Unreached => UNREACHED.to_owned(),
            Outcome::Stuck => "stuck".to_owned(),
            Outcome::Caught(test) => test,
        };
        eprintln!("{told:>40}  {mutant}");
        if let Err(error) = writeln!(self.file, "{number}\t{told}") {
            eprintln!("not written down: {error}");
        }
        self.outcomes.insert(number, told);
    }
}

/// Tests all mutants without a result, several at a time.
fn try_all(
    chosen: &Numbered<'_>,
    programs: &Programs,
    tests: &[Test],
    jobs: usize,
    book: &mut Book,
) {
    let mut left = chosen.clone();
    left.retain(|number, _| !book.outcomes.contains_key(number));
    let book = Mutex::new(book);
    run::in_parallel(jobs, left.into_iter(), |_, (number, mutant)| {
        let outcome = run::mutant(tests, programs, number);
        if let Ok(mut book) = book.lock() {
            book.note(number, mutant, outcome);
        }
    });
}

/// Prints the surviving mutants. True if enough were caught.
fn report(chosen: &Numbered<'_>, book: &Book, equivalent: usize) -> Result<bool, String> {
    let (mut caught, mut survived) = (0, Vec::new());
    for (number, mutant) in chosen {
        match book.outcomes.get(number).map(String::as_str) {
            Some(SURVIVED | UNREACHED) => survived.push(mutant),
            Some(_) => caught += 1,
            None => return Err("Some were not tried".into()),
        }
    }
    let tried = caught + survived.len();
    println!("{tried} mutants: {caught} caught, {} not; {equivalent} equivalent", survived.len());
    for mutant in &survived {
        println!("no test notices {mutant}\n    {}", mutant.key());
    }
    Ok(100 * caught >= CAUGHT_OF_100 * tried)
}
