//! `seckill`: tools for operators of servers with the module. Each subcommand is a folder or file.
//! They share connections to Redis, stop signals, and a small web server.
//!
//! Exit codes: 0 after success or a stop signal (SIGTERM, Ctrl-C); 1 with an error message after a
//! failure; 2 after wrong arguments.

// `say!` and `tell!`: print! and println! panic when standard output is closed.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod check;
mod connect;
mod exporter;
mod grants;
mod metrics;
mod orders;
mod print;
mod sale;
mod split;
mod stop;
mod terms;
mod web;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};

use connect::Server;
use print::tell;

/// Tools for Redis and Valkey servers with the module seckill.
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
    /// Serves metrics of sales to Prometheus, and a live page to people
    Exporter(exporter::Options),
    /// Writes orders from outboxes into a database, each exactly once
    Orders(orders::Options),
    /// Creates, shows, changes and balances a sale of several parts
    Split(split::Options),
    /// Checks servers before a sale, and reports what is wrong
    Check(check::Options),
    /// Shows all fields of SECKILL.STATUS of a sale
    Status(sale::Status),
    /// Shows sales in a table, updated every second
    Watch(sale::Watch),
    /// Writes the grants of a sale as CSV or JSON
    Winners(sale::Winners),
    /// Recounts a sale from its grants
    Audit(sale::Name),
    /// Archives a sale that is over in a file: status, grants, outbox, and the sale itself
    Export(sale::Archive),
    /// Restores a sale from such a file, under any name
    Import(sale::Archive),
    /// Prints a script for your shell's completion
    Completions {
        /// bash, zsh or fish
        shell: clap_complete::Shell,
    },
}

/// Ends the program when one of its threads panics. Otherwise the others would go on and report
/// that all is well. Its service manager starts it again.
fn end_when_a_thread_fails() {
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        tell(panic);
        std::process::exit(101);
    }));
}

fn main() -> ExitCode {
    end_when_a_thread_fails();
    let Seckill { server, command } = Seckill::parse();
    // Checks of options against each other, which the parser of one option can't make.
    let checked = server.targets().and_then(|_| match &command {
        Command::Orders(options) => options.shop().map(|_| ()),
        _ => Ok(()),
    });
    if let Err(sentence) = checked {
        Seckill::command().error(ErrorKind::ValueValidation, sentence).exit();
    }
    let outcome = match command {
        Command::Exporter(options) => exporter::run(&server, &options),
        Command::Orders(options) => orders::run(&server, &options),
        Command::Split(options) => split::run(&server, &options),
        Command::Check(options) => check::run(&server, &options),
        Command::Status(options) => sale::status(&server, &options),
        Command::Watch(options) => sale::watch(&server, &options),
        Command::Winners(options) => sale::winners(&server, &options),
        Command::Audit(options) => sale::audit(&server, &options),
        Command::Export(options) => sale::export(&server, &options),
        Command::Import(options) => sale::import(&server, &options),
        Command::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Seckill::command(), "seckill", &mut text);
            print::out(format_args!("{}", String::from_utf8_lossy(&text)));
            Ok(())
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => {
            tell!("seckill: {sentence}");
            ExitCode::FAILURE
        }
    }
}
