//! `make bench`: the module next to what a user would pick instead, and next to what bounds
//! everybody, in one run on servers of its own. Contenders take turns, so that whatever else the
//! machine does falls on all of them; ratios are taken round by round.
//!
//! ```text
//! make bench
//! make bench BENCH="--quick --only wins"
//! ```

mod bars;
mod cases;
mod chart;
mod contenders;
mod control;
mod documents;
mod figures;
mod host;
mod load;
mod plan;
mod profile;
mod report;
mod rows;
mod sender;
mod steady;

use std::io::{stderr, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};

use cases::{Bench, Case, CASES};
use contenders::Modules;
use figures::Figures;
use host::Host;
use plan::Mode;
use report::{Report, Took};

/// Connections of the largest case, and of everything else.
const CONNECTIONS: usize = 1_200;

/// Measures the module next to its peers and says which bars hold.
#[derive(Parser)]
struct Options {
    /// Little of everything, for trying
    #[arg(long)]
    quick: bool,
    /// Only cases of these names; --list shows them
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// List the cases
    #[arg(long)]
    list: bool,
    /// Rounds of A B C ...
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    rounds: Option<u32>,
    /// Write what a full run found into docs/ and README.md; a part of it goes to target/
    #[arg(long)]
    docs: bool,
    /// Measure nothing, write where the server spends its time into docs/ instead (perf)
    #[arg(long)]
    profile: bool,
    /// Measure nothing, take the figures of an earlier run
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// The module's file [default: the one built here, or $SECKILL_MODULE]
    #[arg(long, value_name = "FILE")]
    module: Option<PathBuf>,
    /// The file of the module whose commands judge nothing
    #[arg(long, value_name = "FILE", default_value = "target/release/libseckill_noop.so")]
    noop_module: PathBuf,
    /// Cargo tells every bench that it is one
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    seckill_harness::program::exit(run(&Options::parse()))
}

fn run(options: &Options) -> Result<(), String> {
    // Cargo starts a bench in the folder of its package; documents are named from the top.
    let top = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    std::env::set_current_dir(top).map_err(|e| format!("No folder {top}: {e}"))?;
    let chosen = chosen(options)?;
    if options.list {
        chosen.iter().for_each(|case| println!("{}", case.name));
        return Ok(());
    }
    if options.profile {
        let bench = set_up(options, Mode::Full)?;
        let profiles = profile::all(&bench)?;
        bench.progress.finish_and_clear();
        return documents::write_profiles(&profiles);
    }
    let (report, failures) = match &options.from {
        Some(file) => (Report::read(file)?, Vec::new()),
        None => measure(options, chosen)?,
    };
    report.print();
    match options.docs && failures.is_empty() && is_whole(options, &report) {
        true => documents::write_all(&report)?,
        false => documents::write(&report, Path::new("target"))?,
    }
    // What was measured is shown all the same.
    match failures.is_empty() {
        true => Ok(()),
        false => Err(failures.join("\n")),
    }
}

/// Whether the documents may rely on it.
fn is_whole(options: &Options, report: &Report) -> bool {
    let rounds = options.rounds.map_or(report.mode.plan().rounds, |rounds| rounds as usize);
    let is_all = report.cases.len() == CASES.len() && report.mode == Mode::Full;
    is_all && rounds >= Mode::Full.plan().rounds
}

/// The report, and what went wrong.
fn measure(options: &Options, chosen: Vec<&'static Case>) -> Result<(Report, Vec<String>), String> {
    let mode = if options.quick { Mode::Quick } else { Mode::Full };
    let mut bench = set_up(options, mode)?;
    let mut host = Host::look();
    let start = Instant::now();
    let (mut cases, mut failures) = (Vec::new(), Vec::new());
    for case in chosen {
        bench.progress.set_message(case.name);
        let start = Instant::now();
        if let Err(sentence) = (case.run)(&mut bench) {
            failures.push(format!("{}: {sentence}", case.name));
        }
        cases.push(Took { case: case.name.to_owned(), seconds: start.elapsed().as_secs_f64() });
    }
    bench.progress.finish_and_clear();
    host.look_again();
    let (seconds, figures) = (start.elapsed().as_secs_f64(), bench.figures);
    let bars = rows::all(&figures, &bench.plan);
    Ok((Report { mode, host, seconds, cases, bars, figures }, failures))
}

fn chosen(options: &Options) -> Result<Vec<&'static Case>, String> {
    if let Some(name) = options.only.iter().find(|name| CASES.iter().all(|c| c.name != **name)) {
        return Err(format!("There is no case {name}, see --list."));
    }
    let is_chosen =
        |case: &&Case| options.only.is_empty() || options.only.iter().any(|name| name == case.name);
    Ok(CASES.iter().filter(is_chosen).collect())
}

fn set_up(options: &Options, mode: Mode) -> Result<Bench, String> {
    seckill_harness::limits::allow_connections(CONNECTIONS)?;
    let noop = seckill_harness::program::module_file(Some(options.noop_module.clone()))?;
    let modules =
        Modules { seckill: seckill_harness::program::module_file(options.module.clone())?, noop };
    if !host::leave_the_servers_core() {
        eprintln!("One core: load and server share it, so the figures say little.");
    }
    let mut plan = mode.plan();
    if let Some(rounds) = options.rounds {
        (plan.rounds, plan.crowd_rounds) = (rounds as usize, rounds as usize);
    }
    Ok(Bench { modules, plan, figures: Figures::default(), progress: progress() })
}

/// Drawn only when someone can see it.
fn progress() -> ProgressBar {
    if !stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new_spinner();
    bar.enable_steady_tick(Duration::from_millis(250));
    match ProgressStyle::with_template("{spinner} {elapsed}  {pos} measured  {msg}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
