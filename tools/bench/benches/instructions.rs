//! `make bench-instructions`: instructions of the server for one call of each kind, and whether
//! they are still within what was budgeted. Time would move with the machine; they do not.
//!
//! `SECKILL_MODULE` names the module's file, `SECKILL_NOOP_MODULE` that of the module whose
//! commands judge nothing.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use comfy_table::{presets, CellAlignment, Table};
use seckill_bench::callgrind::{self, Counts};
use seckill_harness::program::{exit, module_file, server_program};

const CALLS: usize = 40_000;
const SLACK: f64 = 0.10;

/// What the budget was recorded with: other servers and processors need other numbers.
const SERVER: &str = "v=7.0.15";
const ARCH: &str = "x86_64";

/// Instructions of one call, all that the server does for it included. Lower a number when a call
/// becomes cheaper; raise one only together with the reason. A server finds its commands by hashes
/// under a key that it draws when it starts, so the same build differs by 70 either way.
const BUDGET: [(&str, f64); 3] =
    [(callgrind::WINNING, 10_800.0), (callgrind::SOLDOUT, 5_300.0), (callgrind::ALREADY, 6_200.0)];

fn main() -> ExitCode {
    exit(run())
}

fn run() -> Result<(), String> {
    if !callgrind::is_there() {
        return Err("Install valgrind, it counts the instructions.".into());
    }
    let Some(noop) = std::env::var_os("SECKILL_NOOP_MODULE").map(PathBuf::from) else {
        return Err("SECKILL_NOOP_MODULE must name a file, see `make bench-instructions`.".into());
    };
    let (module, noop) = (module_file(None)?, module_file(Some(noop))?);
    let counts = callgrind::count(&module, Some(&noop), CALLS)?;
    println!("{}", table(&counts));
    match reason_to_skip() {
        Some(why) => println!("budget: skipped, {why}"),
        None => within_budget(&counts)?,
    }
    Ok(())
}

fn table(counts: &Counts) -> Table {
    let base = counts.iter().find(|(name, _)| *name == callgrind::NOOP);
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(["call", "instructions", "to a no-op command"]);
    for (name, each) in counts {
        let ratio = base.map_or_else(String::new, |(_, base)| format!("{:.2}", each / base));
        table.add_row([(*name).to_owned(), format!("{each:.0}"), ratio]);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Nobody slows a GRAB down unseen.
fn within_budget(counts: &Counts) -> Result<(), String> {
    let mut over = Vec::new();
    for (name, budget) in BUDGET {
        let counted = counts.iter().find(|(counted, _)| *counted == name);
        let found = counted.map(|(_, found)| *found).ok_or(format!("{name} was not counted."))?;
        println!("{name}: {found:.0} instructions, budget {budget:.0}");
        if found > budget * (1.0 + SLACK) {
            over.push(format!("{name}: {found:.0} instructions, {budget:.0} were budgeted"));
        }
    }
    match over.is_empty() {
        true => Ok(()),
        false => Err(over.join("\n")),
    }
}

fn reason_to_skip() -> Option<String> {
    if std::env::consts::ARCH != ARCH {
        return Some(format!("it is for {ARCH}"));
    }
    let output = Command::new(server_program()).arg("--version").output();
    let version = String::from_utf8_lossy(&output.ok()?.stdout).into_owned();
    (!version.contains(SERVER)).then(|| format!("it is for a server with {SERVER}"))
}
