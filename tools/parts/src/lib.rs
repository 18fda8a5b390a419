//! A split sale in memory, with the balancer's own functions (`seckill-balance`).
//!
//! * `sim` sells a million units at full load and counts what buyers are told.
//! * `proof` goes through all orders of messages, failures and repairs of a small split.

use comfy_table::{presets, CellAlignment, Table};

pub mod proof;
pub mod sim;

/// An empty table with columns for words, and for numbers behind them.
pub fn table(words: &[&str], numbers: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_BORDERS_ONLY_CONDENSED);
    table.set_header([words, numbers].concat());
    for number in table.column_iter_mut().skip(words.len()) {
        number.set_cell_alignment(CellAlignment::Right);
    }
    table
}
