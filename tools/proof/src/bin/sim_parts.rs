//! Sells 1,000,000 units of a split sale at 5,000,000 calls a second, in memory, with and without a
//! balancer. The tests of `sim` hold the promised figures.
//!
//! ```text
//! make sim-parts
//! cargo run --release -p seckill-proof --bin sim_parts
//! ```

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use comfy_table::{presets, CellAlignment, Table};
use seckill_chart::units::{self, Run};
use seckill_proof::sim::{run, Outcome, Setting};

/// Simulates a rush on a split sale
#[derive(Parser)]
struct Options {
    /// Write the picture of 64 parts, without a balancer and with one each 20 ms
    #[arg(long)]
    picture: Option<PathBuf>,
}

const PARTS: [usize; 4] = [16, 64, 256, 1024];
/// Milliseconds between two passes of the balancer; 0: no balancer.
const INTERVALS: [f64; 3] = [0.0, 5.0, 20.0];
const SEEDS: u64 = 3;

fn main() -> ExitCode {
    let options = Options::parse();
    let mut table = Table::new();
    table.load_style(presets::ASCII_BORDERS_ONLY_CONDENSED);
    let head = ["SOLDOUT too early", "units moved", "transfers", "unsold", "sold in"];
    table.set_header([&["parts", "balancer"][..], &head].concat());
    for number in table.column_iter_mut().skip(2) {
        number.set_cell_alignment(CellAlignment::Right);
    }
    let mut unsold = 0;
    for parts in PARTS {
        for interval in INTERVALS {
            let worst = worst(parts, interval);
            table.add_row(row(parts, interval, &worst));
            unsold += worst.unsold;
        }
    }
    println!(
        "1,000,000 units, 5,000,000 calls a second, parts asked 0.5 to 1.5 times the average,"
    );
    println!("round trip 0.5 ms, worst of {SEEDS} seeds:\n{table}");
    if let Some(file) = &options.picture {
        if let Err(error) = draw(file) {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::from(u8::from(unsold > 0))
}

/// Draws the units of each part over time, without a balancer and with one.
fn draw(file: &Path) -> Result<(), String> {
    let bare = Setting::rush(64, None);
    let title = format!("Units by part: {} parts, {} units", bare.parts, bare.units);
    let below = format!(
        "Simulated, {:.0} calls a second; the most asked part is asked {:.1} times as much as the \
         least",
        bare.calls,
        (1.0 + bare.skew) / (1.0 - bare.skew)
    );
    let runs = [None, Some(0.02)].map(|interval| run(&Setting { interval, ..bare }));
    let [without, with] = runs.each_ref().map(|run| (&run.samples[..], run.seconds));
    let shown = [("Without a balancer", without), ("With one each 20 ms", with)];
    let shown = shown.map(|(name, (samples, seconds))| Run { name, samples, seconds });
    units::write(file, &title, &below, &shown)
}

/// The run with the most calls that got SOLDOUT too early.
fn worst(parts: usize, interval: f64) -> Outcome {
    let interval = (interval > 0.0).then_some(interval / 1e3);
    let runs = (1..=SEEDS).map(|seed| run(&Setting { seed, ..Setting::rush(parts, interval) }));
    let worse = |a: &Outcome, b: &Outcome| a.too_early_percent().total_cmp(&b.too_early_percent());
    runs.max_by(worse).unwrap_or_default()
}

fn row(parts: usize, interval: f64, run: &Outcome) -> [String; 7] {
    [
        parts.to_string(),
        if interval > 0.0 { format!("each {interval} ms") } else { "none".to_owned() },
        format!("{:.2} %", run.too_early_percent()),
        format!("{:.2} %", run.moved_percent(1_000_000)),
        run.transfers.to_string(),
        run.unsold.to_string(),
        format!("{:.0} ms", run.seconds * 1e3),
    ]
}
