//! `seckill`: what an operator runs beside servers that sell. One subcommand a folder or file; what
//! they share is how to reach Redis, when to stop, and a small web server.
//!
//! It ends with 0 when it has done its work or was told to stop (SIGTERM, Ctrl-C), with 1 and a
//! sentence when it could not do its work, and with 2 when it was called wrongly.

mod connect;
mod exporter;
mod metrics;
mod orders;
mod stop;
mod web;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Runs beside Redis or Valkey servers that have the module seckill.
#[derive(Parser)]
#[command(name = "seckill", version)]
struct Seckill {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Shows sales to Prometheus, and to people on a page of its own
    Exporter(exporter::Options),
    /// Writes the orders of outboxes into a database, each once
    Orders(orders::Options),
}

fn main() -> ExitCode {
    let outcome = match Seckill::parse().command {
        Command::Exporter(options) => exporter::run(&options),
        Command::Orders(options) => orders::run(&options),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => {
            eprintln!("seckill: {sentence}");
            ExitCode::FAILURE
        }
    }
}
