//! Tests the client libraries of `clients/` with real servers: the cases of `clients/cases.json`, a
//! rush, then the programs of `examples/clients/`. With three of the Redis libraries it also tests
//! all commands of the users of redis.conf.example. A missing library is an error, unless --skip
//! names it.

mod buy;
mod driver;
mod page;
mod place;
mod proxy;
mod rush;
mod sentinel;
mod slots;
mod table;
mod work;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::thread;

use clap::Parser;
use seckill_harness::process::lock;
use seckill_harness::program::Server;
use seckill_harness::wait::holds_in_time;

use driver::{Client, CLIENTS, WRONG};
use page::Results;
use place::{On, Place};

/// The value of `--only` for the programs of `examples/clients/`.
const EXAMPLES: &str = "examples";

/// Buys with real client libraries.
#[derive(Parser)]
struct Options {
    /// Skip this language or library; may be given several times
    #[arg(long, value_name = "NAME")]
    skip: Vec<String>,
    /// This library can't be installed on this machine: it is skipped, with a message
    #[arg(long, value_name = "NAME")]
    absent: Vec<String>,
    /// Only this language or library, and only its cases; or `wrong`, or a wrong client; or
    /// `examples`
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Also run the wrong clients, which must fail
    #[arg(long)]
    wrong: bool,
    /// Save the results of the cases in this file
    #[arg(long, value_name = "FILE")]
    results: Option<PathBuf>,
    /// Write these saved results of all servers into clients/TESTED.md and its Chinese version, and
    /// do nothing else
    #[arg(long, value_name = "FILE", num_args = 1..)]
    page: Vec<PathBuf>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    seckill_harness::program::exit(match options.page.is_empty() {
        true => run(&options),
        false => page::write(&options.page),
    })
}

/// Number of clients that are tested at the same time, each with its own servers. Mostly they wait.
const AT_ONCE: usize = 4;

/// A run of the cases: by one of our clients, or by a wrong one.
enum Task {
    Client(&'static Client),
    Wrong(&'static str),
}

/// The results so far.
struct Outcome {
    results: Results,
    failures: Vec<String>,
}

fn run(options: &Options) -> Result<(), String> {
    let module = seckill_harness::program::module_file(None)?;
    let title = Server::start(&module, &[])?.title()?;
    println!("{title}");
    let tasks = Mutex::new(tasks(options)?);
    let outcome = Mutex::new(Outcome { results: Results::of(title), failures: Vec::new() });
    let starting = Mutex::new(());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                if let Err(why) = work_off(&tasks, &module, &starting, &outcome) {
                    lock(&outcome).failures.push(why);
                }
            });
        }
    });
    let outcome = outcome.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(file) = &options.results {
        outcome.results.save(file)?;
    }
    if !outcome.failures.is_empty() {
        return Err(outcome.failures.join(", "));
    }
    if options.only.as_ref().is_some_and(|only| only != EXAMPLES) {
        return Ok(());
    }
    buy::run(options)?;
    work::run(options)
}

/// All tasks to run.
fn tasks(options: &Options) -> Result<VecDeque<Task>, String> {
    let mut tasks = VecDeque::new();
    for client in CLIENTS {
        let is_wanted = |only: &String| is_named(only, client.name, client.language);
        if options.only.as_ref().is_none_or(is_wanted) && may_run(options, client)? {
            tasks.push_back(Task::Client(client));
        }
    }
    let wrong = driver::wrong(WRONG[0], On::Single);
    let is_wanted = |flavour: &&&'static str| match &options.only {
        Some(only) => only == "wrong" || only == **flavour,
        None => options.wrong,
    };
    for flavour in WRONG.iter().filter(is_wanted) {
        if may_run(options, &wrong)? {
            tasks.push_back(Task::Wrong(flavour));
        }
    }
    Ok(tasks)
}

/// Runs one task after the other until none is left.
fn work_off(
    tasks: &Mutex<VecDeque<Task>>,
    module: &Path,
    starting: &Mutex<()>,
    outcome: &Mutex<Outcome>,
) -> Result<(), String> {
    let Some(mut task) = lock(tasks).pop_front() else { return Ok(()) };
    let places = {
        // A port that was free a short time ago must not be used by another task's servers.
        let _alone = lock(starting);
        [Place::single(module)?, Place::with_sentinel(module)?, Place::cluster(module)?]
    };
    loop {
        match task {
            Task::Client(client) => try_client(&places[client.on as usize], client, outcome)?,
            Task::Wrong(flavour) => catches(&places, flavour)?,
        }
        match lock(tasks).pop_front() {
            Some(next) => task = next,
            None => return Ok(()),
        }
    }
}

fn try_client(place: &Place, client: &Client, outcome: &Mutex<Outcome>) -> Result<(), String> {
    let mut results = Results::default();
    let mut failed = play(place, client, &mut results)?;
    if let Some(name) = rush::name(client.on) {
        let rushed = rush::play(place, client);
        results.add(client, name, rushed.is_ok());
        match rushed {
            Ok(came) => {
                let rush::Rush { buyers, lost, told, sold } = came;
                println!(
                    "{}: {buyers} buyers, {lost} replies lost, told {told} = in the sale {sold}",
                    client.title()
                );
                results.add_rush(client, name, came);
            }
            Err(why) => failed.push((name.to_owned(), why)),
        }
    }
    let mut outcome = lock(outcome);
    outcome.results.join(results);
    let said: Vec<String> = failed.iter().map(|(case, why)| format!("{case}: {why}")).collect();
    if said.is_empty() {
        println!("{}: OK", client.title());
    } else {
        println!("{}: FAILED\n{}", client.title(), said.join("\n"));
        outcome.failures.push(client.title());
    }
    Ok(())
}

/// The failed cases, with the reasons.
fn play(
    place: &Place,
    client: &Client,
    results: &mut Results,
) -> Result<Vec<(String, String)>, String> {
    let mut driver = client.start(place.port())?;
    let mut failed = Vec::new();
    for (at, case) in table::cases()?.iter().enumerate().filter(|(_, case)| case.is_for(client)) {
        let played = case.play(place, client, &mut driver, at);
        results.add(client, &case.name, played.is_ok());
        if let Err(why) = played {
            failed.push((case.name.clone(), why));
            // Another driver runs the case again, because a late answer of the first driver would
            // be taken for the next case's. A cluster may also need time to finish the move of a
            // slot.
            let mut again = client.start(place.port());
            holds_in_time(|| {
                if again.is_err() {
                    again = client.start(place.port());
                }
                again.is_ok()
            });
            driver = again?;
        }
    }
    Ok(failed)
}

/// Checks that a client that lacks a rule fails in the right cases.
fn catches(places: &[Place; 3], flavour: &'static str) -> Result<(), String> {
    let mut failed = Vec::new();
    for place in places {
        let client = driver::wrong(flavour, place.on);
        failed.extend(play(place, &client, &mut Results::default())?);
    }
    for place in places.iter().filter(|place| place.on != On::Single && flavour == WRONG[0]) {
        if rush::play(place, &driver::wrong(flavour, place.on)).is_ok() {
            return Err(format!("the wrong client {flavour} passes the rush"));
        }
    }
    let is_meant = |case: &table::Case| case.catches.iter().any(|name| name == flavour);
    let mut expected: Vec<table::Case> = table::cases()?.into_iter().filter(is_meant).collect();
    // In the order in which they are run.
    expected.sort_by_key(|case| case.on as usize);
    let expected: Vec<String> = expected.into_iter().map(|case| case.name).collect();
    if !failed.iter().map(|(case, _)| case).eq(&expected) || expected.is_empty() {
        return Err(format!(
            "the wrong client {flavour} fails in {failed:#?}, not in {expected:?}"
        ));
    }
    println!("the wrong client {flavour}: fails in {} cases, as it must", failed.len());
    Ok(())
}

fn is_named(told: &str, name: &str, language: &str) -> bool {
    [name, language].iter().any(|known| known.eq_ignore_ascii_case(told))
}

/// False if the library must be skipped.
///
/// # Errors
/// A message that says what is missing.
fn may_run(options: &Options, client: &Client) -> Result<bool, String> {
    let Client { name, language, .. } = client;
    if options.skip.iter().any(|skipped| is_named(skipped, name, language)) {
        println!("{name}: SKIPPED, as told");
        return Ok(false);
    }
    if client.is_present() {
        return Ok(true);
    }
    if options.absent.iter().any(|absent| is_named(absent, name, language)) {
        println!("not run: {language}/{name}");
        return Ok(false);
    }
    Err(format!("{name} is not installed: make clients-deps, or --skip {language}"))
}
