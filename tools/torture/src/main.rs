//! Real servers under faults. Clients buy, pay, cancel and restock, and record every call and
//! reply. Meanwhile servers are killed, frozen, cut off, promoted and filled up. Then a checker
//! compares the histories with the servers' data.
//!
//! ```text
//! make torture
//! cargo run --release -p seckill-torture --bin torture -- --seconds 15 --seed 7
//! ```
//!
//! A seed repeats the clients' requests and the order of faults. It can't repeat the scheduling of
//! threads, so a failing seed may need several runs to fail again.
//!
//! `torture durability` measures the losses under settings that allow them.

mod ask;
mod check;
mod crowd;
mod disk;
mod disks;
mod draws;
mod durability;
mod episode;
mod faults;
mod history;
mod library;
mod memory;
mod order;
mod places;
mod promotions;
mod read;
mod report;
mod sales;
mod seats;
mod sentinels;
mod servers;
mod setting;
mod shared;
mod sometimes;
mod story;
#[cfg(test)]
mod tests;
mod tls;
mod waiting;
mod world;

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Parser, Subcommand};
use seckill_crowd::screen::progress_bar;
use seckill_harness::wait::unix_ms;

use disk::Disk;
use episode::Episode;
use faults::Fault;
use library::Flavour;
use report::{table, unmet, Tally};
use setting::Setting;

const VIOLATIONS_SHOWN: usize = 20;
/// A run of all settings of this length must reach every rare situation, and one against advice
/// must lose something.
const LONG_SECONDS: u64 = 60;

/// Injects faults into servers that sell, and checks that they keep their promises. The module is
/// the one built here, or that of SECKILL_MODULE.
#[derive(Parser)]
struct Options {
    /// Length of the run in seconds, approximately
    #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(u64).range(3..))]
    seconds: u64,
    /// Seed of the clients' calls and of the faults [default: random]
    #[arg(long)]
    seed: Option<u64>,
    /// Only this setting
    #[arg(long)]
    only: Option<Setting>,
    /// Only this fault, under the settings that have it
    #[arg(long)]
    fault: Option<Fault>,
    /// Instead of the Python library a wrong version of it, see clients/cases.md
    #[arg(long, value_name = "NAME")]
    wrong: Option<String>,
    /// A further setting of every server; may be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_setting)]
    set: Vec<[String; 2]>,
    /// TLS between servers, and between Sentinels and servers
    #[arg(long)]
    tls: bool,
    #[command(subcommand)]
    mode: Option<Mode>,
}

#[derive(Subcommand)]
enum Mode {
    Durability(durability::Options),
}

fn main() -> ExitCode {
    let options = Options::parse();
    let module = seckill_harness::program::module_file(None);
    let told = module.and_then(|module| match &options.mode {
        Some(Mode::Durability(options)) => durability::run(options, &module),
        None => {
            disk::move_in();
            run(&options, &module)
        }
    });
    seckill_harness::program::exit_told(told)
}

/// Returns whether the run ended as it must.
fn run(options: &Options, module: &Path) -> Result<bool, String> {
    let seed = options.seed.unwrap_or_else(|| unix_ms() % 1_000_000_007);
    let disks = [0, 1, 2].map(Disk::mount);
    println!("Seed {seed}.");
    if !disks.iter().all(|disk| disk.is_limited) {
        println!("No disk is filled up: this system lets nobody mount one (see unshare).");
    }
    let mut settings = options.only.map_or(Setting::ALL.to_vec(), |only| vec![only]);
    settings.retain(|setting| setting.draws(options.fault).next().is_some());
    if options.only.is_none() {
        for absent in settings.extract_if(.., |setting| !setting.is_possible()) {
            println!("{} is left out: the library is not here.", absent.name());
        }
    }
    if settings.is_empty() {
        return Err("That setting does not know that fault.".into());
    }
    let mut tallies: Vec<(Setting, Tally)> =
        settings.into_iter().map(|setting| (setting, Tally::default())).collect();
    let more: Vec<String> = options.set.iter().flatten().cloned().collect();
    let wanted = Duration::from_secs(options.seconds);
    let (started, bar) = (Instant::now(), progress_bar(options.seconds, "seconds"));
    let count = tallies.len();
    for number in 0.. {
        let is_first_round = number < count;
        if started.elapsed() >= wanted && !is_first_round {
            break;
        }
        let (setting, tally) = &mut tallies[number % count];
        bar.set_position(started.elapsed().as_secs().min(options.seconds));
        let mut episode = Episode {
            module,
            disks: &disks,
            setting: *setting,
            settings: &more,
            has_tls: options.tls,
            fault: options.fault,
            flavour: options.wrong.as_deref().map(Flavour::python),
            seed: seed.wrapping_add(number as u64),
            lasts: setting.lasts().min(wanted / (2 * count as u32)),
            tally,
        };
        let played = episode.play();
        tally.verdict.violations.extend(played.err());
        tally.episodes += 1;
        if !tally.verdict.violations.is_empty() {
            bar.finish_and_clear();
            println!("Episode {number}, {}: {}", setting.name(), tally.last_faults.join("; "));
            tell(&tally.verdict.violations);
            break;
        }
    }
    bar.finish_and_clear();
    println!("{}", table(&tallies));
    Ok(ends_well(options, &tallies))
}

/// Whether all promises were kept, and in a long run every rare situation was met. Against advice
/// acknowledged changes get lost: then a long run must have found some.
fn ends_well(options: &Options, tallies: &[(Setting, Tally)]) -> bool {
    let is_clean = tallies.iter().all(|(_, tally)| tally.verdict.violations.is_empty());
    let is_long = options.seconds >= LONG_SECONDS && options.fault.is_none();
    if options.only == Some(Setting::AgainstAdvice) {
        let mut verdicts = tallies.iter().map(|(_, tally)| &tally.verdict);
        let has_lost = verdicts.any(|verdict| verdict.granted_lost + verdict.changed_lost > 0);
        if !has_lost {
            println!("NOTHING LOST: the faults had no effect, or the checker does not see it.");
        }
        return has_lost || is_clean && !is_long;
    }
    let unmet = unmet(tallies);
    let has_missed = is_long && options.only.is_none() && !unmet.is_empty();
    if has_missed {
        println!("NEVER MET: {}.", unmet.join("; "));
    }
    is_clean && !has_missed
}

fn parse_setting(text: &str) -> Result<[String; 2], String> {
    let (name, value) = text.split_once('=').ok_or("NAME=VALUE")?;
    Ok([format!("--{name}"), value.to_owned()])
}

fn tell(violations: &[String]) {
    for what in violations.iter().take(VIOLATIONS_SHOWN) {
        println!("VIOLATION: {what}");
    }
    if violations.len() > VIOLATIONS_SHOWN {
        println!("and {} more", violations.len() - VIOLATIONS_SHOWN);
    }
}
