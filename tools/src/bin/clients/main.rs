//! Runs the client libraries of `clients/` against servers of its own: all that is in the table
//! `clients/cases.json`, then the programs of `examples/clients/`, and with three of the libraries
//! below them the whole work of the users of redis.conf.example. A library that is not here is a
//! failure, unless it is named with --skip.

mod buy;
mod driver;
mod proxy;
mod table;
mod work;

use std::process::ExitCode;

use clap::Parser;

use driver::{Client, Driver, CLIENTS, WRONG};
use table::Place;

/// Buys with real client libraries.
#[derive(Parser)]
struct Options {
    /// Leave this language or library out; may be given several times
    #[arg(long, value_name = "NAME")]
    skip: Vec<String>,
    /// Only this language or library, and of it only the table
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
}

fn main() -> ExitCode {
    seckill_harness::program::exit(run(&Options::parse()))
}

fn run(options: &Options) -> Result<(), String> {
    let place = Place::start(&seckill_harness::program::module_file(None)?)?;
    println!("{}", place.title()?);
    for client in &CLIENTS {
        let is_wanted = |only: &String| is_named(only, client.name, client.language);
        if options.only.as_ref().is_none_or(is_wanted)
            && may_run(options, client.name, client.language, client.present)?
        {
            let failed = play(&place, client)?;
            let said: Vec<String> =
                failed.iter().map(|(case, why)| format!("{case}: {why}")).collect();
            if !said.is_empty() {
                return Err(format!("{}:\n{}", client.title(), said.join("\n")));
            }
            println!("{}: OK", client.title());
        }
    }
    if options.only.is_some() {
        return Ok(());
    }
    if may_run(options, WRONG.name, WRONG.language, WRONG.present)? {
        catches_the_wrong_client(&place)?;
    }
    buy::run(options)?;
    work::run(options)
}

/// The cases that failed, and why.
fn play(place: &Place, client: &Client) -> Result<Vec<(String, String)>, String> {
    let mut driver = Driver::start(client, place.port())?;
    let mut failed = Vec::new();
    for (at, case) in table::cases()?.iter().enumerate() {
        if let Err(why) = place.play(client, &mut driver, at, case) {
            failed.push((case.name.clone(), why));
        }
    }
    Ok(failed)
}

/// The table is worth something if a client that makes the common mistake fails where it must.
fn catches_the_wrong_client(place: &Place) -> Result<(), String> {
    let failed: Vec<String> = play(place, &WRONG)?.into_iter().map(|(case, _)| case).collect();
    let cases = table::cases()?.into_iter().filter(|case| case.catches_the_wrong_client);
    let expected: Vec<String> = cases.map(|case| case.name).collect();
    if failed != expected {
        return Err(format!("{} fails in {failed:?}, not in {expected:?}", WRONG.title()));
    }
    println!("{}: fails in {} cases, as it must", WRONG.title(), failed.len());
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
