//! `make bench-instructions`: instructions of the server for one call of each kind.
//!
//! `SECKILL_MODULE` names the module's file, `SECKILL_NOOP_MODULE` that of the module whose commands
//! judge nothing.

mod callgrind;
#[path = "../../examples/support/mod.rs"]
mod support;

use std::path::PathBuf;
use std::process::ExitCode;

use comfy_table::{presets, CellAlignment, Table};

const CALLS: usize = 40_000;

fn main() -> ExitCode {
    support::exit(run().map(|table| println!("{table}")))
}

fn run() -> Result<Table, String> {
    if !callgrind::is_there() {
        return Err("Install valgrind, it counts the instructions.".into());
    }
    let Some(noop) = std::env::var_os("SECKILL_NOOP_MODULE").map(PathBuf::from) else {
        return Err("SECKILL_NOOP_MODULE must name a file, see `make bench-instructions`.".into());
    };
    let (module, noop) = (support::module_file(None)?, support::module_file(Some(noop))?);
    let counts = callgrind::count(&module, Some(&noop), CALLS)?;
    let base = counts.iter().find(|(name, _)| *name == callgrind::NOOP);
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(["call", "instructions", "to a no-op command"]);
    for (name, each) in &counts {
        let ratio = base.map_or_else(String::new, |(_, base)| format!("{:.2}", each / base));
        table.add_row([(*name).to_owned(), format!("{each:.0}"), ratio]);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    Ok(table)
}
