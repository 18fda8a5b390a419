//! `make bench`: the server's cost of a call of the module, beside scripts and functions that do
//! the same work. All run on servers of their own in one run. Contenders take turns, so that other
//! load on the machine affects all of them equally. Ratios are taken round by round.
//!
//! ```text
//! make bench
//! make bench BENCH="--quick --only recommended"
//! ```

mod cases;
mod chart;
mod contenders;
mod control;
mod figures;
mod host;
mod load;
mod page;
mod pings;
mod plan;
mod report;
mod rows;

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use seckill_harness::program::module_file;

use cases::{Bench, CASES};
use control::Control;
use figures::Figures;
use host::Host;
use report::{Report, Runs, Took};

/// File of the full runs, one for each server.
const RUNS: &str = "docs/bench.json";

/// The no-op module: its commands decide nothing.
const NOOP: &str = "target/release/libseckill_noop.so";

/// Measures the server's cost of a call of the module, beside scripts that do the same work, and
/// says which bars hold. The server is that of SECKILL_TEST_SERVER, or redis-server of the PATH.
#[derive(Parser)]
struct Options {
    /// A short run to try the bench out
    #[arg(long)]
    quick: bool,
    /// Run only these cases
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = CASES.map(|it| it.name))]
    only: Vec<String>,
    /// Write the results into docs/ and both READMEs, unless the run is quick
    #[arg(long)]
    docs: bool,
    /// Measure nothing, write the tables from the runs in docs/
    #[arg(long)]
    tables: bool,
}

fn main() -> ExitCode {
    seckill_harness::program::exit(run(&Options::parse()))
}

fn run(options: &Options) -> Result<(), String> {
    if options.tables {
        return write_docs(&Runs::read(Path::new(RUNS))?);
    }
    let mut bench = set_up(options)?;
    let (report, failures) = measure(&mut bench, options);
    page::print(&report);
    if options.docs && !options.quick {
        let mut runs = Runs::read(Path::new(RUNS))?;
        runs.put(report);
        runs.write(Path::new(RUNS))?;
        write_docs(&runs)?;
    }
    // The figures are shown even after a failure.
    match failures.is_empty() {
        true => Ok(()),
        false => Err(failures.join("\n")),
    }
}

fn write_docs(runs: &Runs) -> Result<(), String> {
    page::write(runs)?;
    chart::write(Path::new("docs/bench.svg"), runs)
}

/// Runs the cases. Returns the report, and the errors.
fn measure(bench: &mut Bench, options: &Options) -> (Report, Vec<String>) {
    let host = Host::look();
    let (mut cases, mut failures) = (Vec::new(), Vec::new());
    let only = &options.only;
    for case in CASES.iter().filter(|it| only.is_empty() || only.iter().any(|of| of == it.name)) {
        let start = Instant::now();
        if let Err(sentence) = (case.run)(bench) {
            failures.push(format!("{}: {sentence}", case.name));
        }
        cases.push(Took {
            case: case.name.to_owned(),
            seconds: start.elapsed().as_secs_f64(),
            load_before: host.load_before,
            cpu: host::cpu(),
        });
    }
    let report = Report {
        server: bench.server.clone(),
        module: env!("CARGO_PKG_VERSION").to_owned(),
        host,
        is_quick: options.quick,
        seconds: bench.start.elapsed().as_secs_f64(),
        cases,
        figures: std::mem::take(&mut bench.figures),
    };
    (report, failures)
}

fn set_up(options: &Options) -> Result<Bench, String> {
    let module = module_file(None)?;
    let noop = module_file(Some(NOOP.into()))?;
    if !host::leave_the_servers_core() {
        eprintln!("One core: load and server share it, so the figures say little.");
    }
    let server = Control::start(&[], Some(&module), &[])?.title()?;
    let plan = if options.quick { plan::QUICK } else { plan::FULL };
    Ok(Bench { module, noop, server, plan, figures: Figures::default(), start: Instant::now() })
}
