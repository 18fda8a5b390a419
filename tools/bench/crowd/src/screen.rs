//! Output for people: progress while a program runs, tables and bars afterwards.

use std::io::{stderr, IsTerminal};

use comfy_table::{presets, CellAlignment, Table};
use indicatif::{HumanCount, ProgressBar, ProgressStyle};

/// Block characters for 0 to 7 eighths of a column.
const BLOCKS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
const WHOLE_BLOCK: &str = "█";

/// A progress bar from 0 to `all`, labelled `what`; drawn only on a terminal.
pub fn progress_bar(all: u64, what: &str) -> ProgressBar {
    if !stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(all);
    match ProgressStyle::with_template(&format!("{{bar:40}} {{pos}}/{{len}} {what}")) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

pub fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_BORDERS_ONLY_CONDENSED).set_header(header);
    table
}

pub fn align_right(table: &mut Table, column: usize) {
    if let Some(column) = table.column_mut(column) {
        column.set_cell_alignment(CellAlignment::Right);
    }
}

/// A bar of `value`, where `most` is `width` columns wide. A value above 0 is always visible.
pub fn bar(value: u64, most: u64, width: u64) -> String {
    let eighths = (value * width * 8).div_ceil(most.max(1));
    let (whole, part) = (eighths / 8, eighths % 8);
    WHOLE_BLOCK.repeat(whole as usize) + BLOCKS[part as usize]
}

/// `1234567` as `1,234,567`.
pub fn thousands(number: u64) -> String {
    HumanCount(number).to_string()
}
