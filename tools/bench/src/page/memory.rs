//! The table of memory by grant, for docs/install.md.

use comfy_table::{presets, Table};

use crate::cases::memory::{MEMORY, TERMS};
use crate::figures::BYTES;
use crate::report::Report;

/// Bytes of `maxmemory 1gb`.
const FULL: f64 = (1u64 << 30) as f64;

/// `None` if the run did not measure memory.
pub fn table(run: &Report) -> Option<Table> {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN).set_header([
        format!("{}: terms of the sale", run.server),
        "bytes a grant".into(),
        "`maxmemory 1gb` is full at".into(),
    ]);
    for (name, ..) in TERMS {
        let bytes = run.figures.spread((MEMORY, name), BYTES)?.median;
        let grants = format!("{:.1} million grants", FULL / bytes / 1e6);
        table.add_row([name.to_owned(), format!("{bytes:.0}"), grants]);
    }
    Some(table)
}
