//! One sale of many parts on a cluster of three nodes. Buyers rush mainly at some of its parts,
//! once without a balancer and once with one. In the end every unit is accounted for.
//!
//! ```text
//! make demo-parts
//! cargo run --release -p split_sale -- --units 1000000 --parts 64
//! ```

mod cluster;
mod rush;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use seckill_chart::units::{write, Run};
use seckill_harness::program::{exit, module_file};

use cluster::{Cluster, NODES};
use rush::{Outcome, Rush};

/// Sells the units of a split sale on a cluster, and draws the units of each part over time.
#[derive(Parser)]
struct Options {
    /// Units for sale
    #[arg(long, default_value_t = 200_000, value_parser = clap::value_parser!(u64).range(1..))]
    units: u64,
    /// Parts of the sale
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(2..=1024))]
    parts: u16,
    /// File for the picture
    #[arg(long, value_name = "FILE", default_value = "target/parts-flow.svg")]
    svg: PathBuf,
    /// The program seckill [default: the one built here]
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

type Told<T> = Result<T, String>;

fn main() -> ExitCode {
    exit(run(&Options::parse()))
}

fn run(options: &Options) -> Told<()> {
    let program = match &options.program {
        Some(program) => program.clone(),
        None => {
            let here = std::env::current_exe().map_err(|e| e.to_string())?;
            here.with_file_name("seckill")
        }
    };
    let cluster = Cluster::start(&module_file(None)?, program)?;
    println!("{NODES} nodes, {} parts, {} units", options.parts, options.units);
    let without = sell(&cluster, options, "alone", false)?;
    let with = sell(&cluster, options, "phone", true)?;
    let title = format!("Units by part: {} parts on {NODES} nodes", options.parts);
    let below = format!(
        "Measured on one machine, {} units; the most asked part is asked three times as much as \
         the least asked (red: much, blue: little)",
        options.units
    );
    let runs = [("Without a balancer", &without), ("With one each 20 ms", &with)];
    let runs = runs.map(|(name, one)| Run { name, samples: &one.samples, seconds: one.seconds });
    write(&options.svg, &title, &below, &runs)?;
    println!("{} shows where the units were", options.svg.display());
    Ok(())
}

/// Sells one sale completely, and accounts for every unit.
fn sell(cluster: &Cluster, options: &Options, name: &str, is_balanced: bool) -> Told<Outcome> {
    let (units, parts) = (options.units.to_string(), options.parts.to_string());
    cluster.run(&["create", name, "--supply", &units, "--parts", &parts, "LIMIT", "0"])?;
    let keys: Vec<String> = (0..options.parts).map(|part| format!("{name}:{{p{part}}}")).collect();
    let nodes = cluster.nodes_of(&keys)?;
    let rush = Rush { cluster, keys, nodes, units: options.units };
    let outcome = match is_balanced {
        true => cluster.balanced(name, || rush.run())?,
        false => rush.run()?,
    };
    let calls = (outcome.granted + outcome.too_early).max(1);
    println!(
        "{}: sold in {:.1} s; {} calls were told SOLDOUT too early ({:.1} %)",
        if is_balanced { "with a balancer" } else { "without a balancer" },
        outcome.seconds,
        outcome.too_early,
        100.0 * outcome.too_early as f64 / calls as f64
    );
    account(cluster, name, options.units, &outcome)?;
    Ok(outcome)
}

/// Compares the buyers' answers, the parts and the list of winners.
fn account(cluster: &Cluster, name: &str, units: u64, outcome: &Outcome) -> Told<()> {
    let audit = cluster.run(&["audit", name])?;
    let status = cluster.run(&["status", name, "--json"])?;
    let status: serde_json::Value = serde_json::from_str(&status).map_err(|e| e.to_string())?;
    let winners = cluster.run(&["winners", name])?.lines().count() as u64 - 1;
    let sold = status["sold"].as_u64().unwrap_or_default();
    match (outcome.granted, sold, winners) == (units, units, units) {
        true => {
            print!("  granted, sold and listed: {units} each; audit {audit}");
            Ok(())
        }
        false => Err(format!(
            "{units} units: {} granted, {sold} sold, {winners} winners",
            outcome.granted
        )),
    }
}

fn told(error: redis::RedisError) -> String {
    format!("A server says: {error}")
}
