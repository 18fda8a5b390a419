//! `make bench`: the module next to what a user would pick instead, and next to what bounds
//! everybody, in one run on servers of its own. Contenders take turns, so that whatever else the
//! machine does falls on all of them; ratios are taken round by round.
//!
//! ```text
//! make bench
//! make bench BENCH="--quick --only wins"
//! ```

mod bars;
#[path = "../instructions/callgrind.rs"]
mod callgrind;
mod cases;
mod chart;
mod contenders;
mod control;
mod figures;
mod host;
mod load;
#[path = "../../examples/support/picture.rs"]
mod picture;
mod plan;
mod report;
#[path = "../../examples/crowd/screen.rs"]
#[allow(dead_code, reason = "the crowd uses more of it")]
mod screen;
mod sender;
#[path = "../../examples/support/mod.rs"]
mod support;

use std::fs;
use std::io::{stderr, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};

use cases::{Bench, Case, CASES};
use contenders::Modules;
use figures::Figures;
use host::Host;
use plan::Plan;
use report::Report;

/// Connections of the largest case, and of everything else.
const CONNECTIONS: usize = 1_200;
/// Above this, something else runs on the machine.
const QUIET_LOAD: f64 = 0.5;

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
    /// Where the figures are written
    #[arg(long, value_name = "FILE", default_value = "target/bench.json")]
    json: PathBuf,
    /// Where the chart is written
    #[arg(long, value_name = "FILE", default_value = "target/bench.svg")]
    chart: PathBuf,
    /// The module's file [default: the one built here, or $SECKILL_MODULE]
    #[arg(long, value_name = "FILE")]
    module: Option<PathBuf>,
    /// The module's file with the no-op command
    #[arg(long, value_name = "FILE", default_value = "target/noop/release/libseckill.so")]
    noop_module: PathBuf,
    /// Cargo tells every bench that it is one
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    support::exit(run(&Options::parse()))
}

fn run(options: &Options) -> Result<(), String> {
    let chosen = chosen(options)?;
    if options.list {
        chosen.iter().for_each(|case| println!("{}", case.name));
        return Ok(());
    }
    let mut bench = set_up(options)?;
    let mut host = Host::look();
    let start = Instant::now();
    let mut failures = Vec::new();
    for case in chosen {
        bench.progress.set_message(case.name);
        if let Err(sentence) = (case.run)(&mut bench) {
            failures.push(format!("{}: {sentence}", case.name));
        }
    }
    bench.progress.finish_and_clear();
    host.look_again();
    finish(options, &bench, &host, start.elapsed())?;
    // What was measured is shown all the same.
    match failures.is_empty() {
        true => Ok(()),
        false => Err(failures.join("\n")),
    }
}

fn chosen(options: &Options) -> Result<Vec<&'static Case>, String> {
    if let Some(name) = options.only.iter().find(|name| CASES.iter().all(|c| c.name != **name)) {
        return Err(format!("There is no case {name}, see --list."));
    }
    let is_chosen =
        |case: &&Case| options.only.is_empty() || options.only.iter().any(|name| name == case.name);
    Ok(CASES.iter().filter(is_chosen).collect())
}

fn set_up(options: &Options) -> Result<Bench, String> {
    support::limits::allow_connections(CONNECTIONS)?;
    let noop = support::module_file(Some(options.noop_module.clone()))?;
    let modules = Modules { plain: support::module_file(options.module.clone())?, noop };
    if !host::leave_the_servers_core() {
        eprintln!("One core: load and server share it, so the figures say little.");
    }
    let mut plan = if options.quick { Plan::QUICK } else { Plan::FULL };
    if let Some(rounds) = options.rounds {
        plan.rounds = rounds as usize;
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

fn finish(options: &Options, bench: &Bench, host: &Host, took: Duration) -> Result<(), String> {
    let figures = &bench.figures;
    let bars = bars::all(figures, &bench.plan);
    println!("{}, {} cores, Linux {}", host.cpu, host.cores, host.kernel);
    println!("{}; seckill {}, {}", host.redis, host.module, host.rustc);
    println!(
        "\n{}\n\n{}\n\n{}",
        report::rates(figures),
        report::others(figures),
        report::bars(&bars)
    );
    let held = bars.iter().filter(|bar| bar.holds() == Some(true)).count();
    let measured = bars.iter().filter(|bar| bar.holds().is_some()).count();
    println!("\n{held} of {measured} bars hold ({:.0} s).", took.as_secs_f64());
    if host.load_before > QUIET_LOAD {
        println!("The machine was not idle: its load was {} before.", host.load_before);
    }
    let mode = if options.quick { "quick" } else { "full" };
    let report = Report { mode, host, bars: &bars, figures: figures.all() };
    let json = serde_json::to_string_pretty(&report).map_err(|e| e.to_string())?;
    fs::write(&options.json, json + "\n").map_err(|e| format!("No figures written: {e}"))?;
    chart::write(&options.chart, figures, &bench.plan)
}
