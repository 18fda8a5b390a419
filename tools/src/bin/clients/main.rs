//! Runs the client libraries of `clients/` against servers of its own: all that is in the table
//! `clients/cases.json`, a rush, then the programs of `examples/clients/`, and with three of the
//! libraries below them the whole work of the users of redis.conf.example. A library that is not
//! here is a failure, unless it is named with --skip.

mod buy;
mod driver;
mod page;
mod place;
mod proxy;
mod rush;
mod slots;
mod table;
mod work;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use driver::{Client, Driver, CLIENTS, WRONG};
use page::Results;
use place::Place;

/// What `--only` calls the programs of `examples/clients/`.
const EXAMPLES: &str = "examples";

/// Buys with real client libraries.
#[derive(Parser)]
struct Options {
    /// Leave this language or library out; may be given several times
    #[arg(long, value_name = "NAME")]
    skip: Vec<String>,
    /// Only this language or library, and of it only the table; or `wrong`, or one of those; or
    /// `examples`
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Keep what came of the table in this file
    #[arg(long, value_name = "FILE")]
    results: Option<PathBuf>,
    /// Write these files, kept of all servers, into docs/clients.md, and do nothing else
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

fn run(options: &Options) -> Result<(), String> {
    let module = seckill_harness::program::module_file(None)?;
    let places = [Place::single(&module)?, Place::cluster(&module)?];
    println!("{}", places[0].title()?);
    let mut results = Results::of(places[0].title()?);
    let mut failures = Vec::new();
    for client in CLIENTS {
        let is_wanted = |only: &String| is_named(only, client.name, client.language);
        if options.only.as_ref().is_none_or(is_wanted)
            && may_run(options, client.name, client.language, client.present)?
        {
            let place = &places[usize::from(client.cluster)];
            let mut failed = play(place, client, &mut results)?;
            if client.cluster {
                let rushed = rush::play(place, client);
                results.add(client, rush::NAME, rushed.is_ok());
                failed.extend(rushed.err().map(|why| (rush::NAME.to_owned(), why)));
            }
            let said: Vec<String> =
                failed.iter().map(|(case, why)| format!("{case}: {why}")).collect();
            match said.is_empty() {
                true => println!("{}: OK", client.title()),
                false => {
                    println!("{}: FAILED\n{}", client.title(), said.join("\n"));
                    failures.push(client.title());
                }
            }
        }
    }
    if let Some(file) = &options.results {
        results.save(file)?;
    }
    if !failures.is_empty() {
        return Err(failures.join(", "));
    }
    let wrong = driver::wrong(WRONG[0], false);
    let is_wanted = |flavour: &&&'static str| {
        options.only.as_ref().is_none_or(|only| only == "wrong" || only == **flavour)
    };
    for flavour in WRONG.iter().filter(is_wanted) {
        if may_run(options, wrong.name, wrong.language, wrong.present)? {
            catches(&places, flavour)?;
        }
    }
    if options.only.as_ref().is_some_and(|only| only != EXAMPLES) {
        return Ok(());
    }
    buy::run(options)?;
    work::run(options)
}

/// The cases that failed, and why.
fn play(
    place: &Place,
    client: &Client,
    results: &mut Results,
) -> Result<Vec<(String, String)>, String> {
    let mut driver = Driver::start(client, place.port())?;
    let mut failed = Vec::new();
    for (at, case) in table::cases()?.iter().enumerate().filter(|(_, case)| case.is_for(client)) {
        let played = case.play(place, client, &mut driver, at);
        results.add(client, &case.name, played.is_ok());
        if let Err(why) = played {
            failed.push((case.name.clone(), why));
            // One that still waits would take the answer for that to the next case.
            driver = Driver::start(client, place.port())?;
        }
    }
    Ok(failed)
}

/// The table is worth something if a client that leaves a rule out fails where it must.
fn catches(places: &[Place; 2], flavour: &'static str) -> Result<(), String> {
    let mut failed = Vec::new();
    for place in places {
        let client = driver::wrong(flavour, place.is_cluster);
        failed.extend(play(place, &client, &mut Results::default())?);
    }
    if flavour == WRONG[0] && rush::play(&places[1], &driver::wrong(flavour, true)).is_ok() {
        return Err(format!("the wrong client {flavour} passes the rush"));
    }
    let is_meant = |case: &table::Case| case.catches.iter().any(|name| name == flavour);
    // In the order in which they are played.
    let (single, cluster): (Vec<_>, Vec<_>) =
        table::cases()?.into_iter().filter(is_meant).partition(|case| !case.cluster);
    let expected: Vec<String> = single.into_iter().chain(cluster).map(|case| case.name).collect();
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

/// False when it shall be skipped.
///
/// # Errors
/// A sentence that says what is missing.
fn may_run(
    options: &Options,
    name: &str,
    language: &str,
    present: &[&str],
) -> Result<bool, String> {
    if options.skip.iter().any(|skipped| is_named(skipped, name, language)) {
        println!("{name}: SKIPPED, as told");
        return Ok(false);
    }
    if driver::is_present(present) {
        return Ok(true);
    }
    Err(format!("{name} is not installed: make clients-deps, or --skip {language}"))
}
