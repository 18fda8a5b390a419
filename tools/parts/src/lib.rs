//! A split sale in memory, with the balancer's own functions (`seckill-balance`).
//!
//! * `sim` sells 1,000,000 units at full load and counts the replies to buyers.
//! * `proof` searches all orders of messages, failures and repairs of a small split.

use comfy_table::{presets, CellAlignment, Table};

pub mod proof;
pub mod sim;

/// An empty table with text columns, then number columns.
pub fn table(words: &[&str], numbers: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_BORDERS_ONLY_CONDENSED);
    table.set_header([words, numbers].concat());
    for number in table.column_iter_mut().skip(words.len()) {
        number.set_cell_alignment(CellAlignment::Right);
    }
    table
}
