//! `make lab`: runs every strategy of the posts, in all orders of steps and in a rush. Also `make
//! lab-soak`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use seckill_harness::program::{exit_told, module_file};
use seckill_lab::run::{self, Wanted};
use seckill_lab::told::Maker;

/// Runs every strategy of the posts on real servers, beside the module.
#[derive(Parser)]
struct Options {
    /// About 90 seconds: fewer orders and repeats, smaller numbers, no files written.
    #[arg(long)]
    quick: bool,
    /// Only these rows, such as R10,S01. Nothing is written into docs.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Only the interleaver, no rush: shows the shortest schedule that breaks a row, within
    /// seconds.
    #[arg(long)]
    proofs: bool,
    /// With --proofs: the database of the rows in SQL.
    #[arg(long, requires = "proofs", value_enum, default_value = "mariadb")]
    database: Database,
    /// Only the module's rows: 100 rushes with each number of workers, and 100 with crashes.
    #[arg(long)]
    soak: bool,
    /// Write lab.json, the chart and the tables of both pages into this folder.
    #[arg(long)]
    docs: Option<PathBuf>,
    /// Measure also on a busy machine.
    #[arg(long)]
    busy: bool,
    /// Run nothing: count the results in this lab.json, and with --docs write the pages from it.
    #[arg(long)]
    from: Option<PathBuf>,
    /// The module to load (default: the one beside this program).
    #[arg(long)]
    module: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Database {
    Mariadb,
    Mysql,
    Postgres,
}

fn main() -> ExitCode {
    let options = Options::parse();
    exit_told(lab(options))
}

fn lab(options: Options) -> Result<bool, String> {
    if let Some(from) = &options.from {
        return run::again(from, options.docs.as_deref()).map(|()| true);
    }
    let module = module_file(options.module)?;
    let Options { quick, only, proofs, docs, busy, .. } = options;
    let maker = match options.database {
        Database::Mariadb => Maker::MariaDb,
        Database::Mysql => Maker::MySql,
        Database::Postgres => Maker::Postgres,
    };
    let wanted = Wanted { quick, only, proofs, maker, docs, busy };
    match options.soak {
        true => run::soak(&module, &wanted),
        false => run::lab(&module, &wanted),
    }
}
