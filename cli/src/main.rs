//! `seckill`: what an operator runs beside servers that sell. One subcommand a folder or file; what
//! they share is how to reach Redis, when to stop, and a small web server.
//!
//! It ends with 0 when it has done its work or was told to stop (SIGTERM, Ctrl-C), with 1 and a
//! sentence when it could not do its work, and with 2 when it was called wrongly.

mod connect;
mod exporter;
mod metrics;
mod orders;
mod split;
mod stop;
mod web;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};

use connect::Server;

/// Runs beside Redis or Valkey servers that have the module seckill.
#[derive(Parser)]
#[command(name = "seckill", version)]
struct Seckill {
    #[command(flatten)]
    server: Server,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Shows sales to Prometheus, and to people on a page of its own
    Exporter(exporter::Options),
    /// Writes the orders of outboxes into a database, each once
    Orders(orders::Options),
    /// Makes, shows, changes and balances a sale of several parts
    Split(split::Options),
}

fn main() -> ExitCode {
    let Seckill { server, command } = Seckill::parse();
    // Options that are wrong together: no parser of a single one can tell.
    if let Err(sentence) = server.targets() {
        Seckill::command().error(ErrorKind::ValueValidation, sentence).exit();
    }
    let outcome = match command {
        Command::Exporter(options) => exporter::run(&server, &options),
        Command::Orders(options) => orders::run(&server, &options),
        Command::Split(options) => split::run(&server, &options),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => {
            eprintln!("seckill: {sentence}");
            ExitCode::FAILURE
        }
    }
}
