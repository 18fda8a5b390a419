//! What is printed and written.

use comfy_table::{presets, CellAlignment, Table};
use serde::Serialize;

use crate::bars::{Bar, Limit};
use crate::figures::{
    Figures, Series, Spread, BUSY, BYTES, INSTRUCTIONS, MS, P99_MS, PER_SECOND, SERVER_US, US,
};
use crate::host::Host;
use crate::screen::thousands;

/// All there is, for whoever wants to compute something else.
#[derive(Serialize)]
pub struct Report<'a> {
    pub mode: &'a str,
    pub host: &'a Host,
    pub bars: &'a [Bar],
    pub figures: &'a [Series],
}

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN).set_header(header);
    table
}

fn align_right(table: &mut Table, from: usize) {
    for column in table.column_iter_mut().skip(from) {
        column.set_cell_alignment(CellAlignment::Right);
    }
}

/// Requests a second and what belongs to them, a row for each contender of each case. The ratio is
/// the last contender's rate.
pub fn rates(figures: &Figures) -> Table {
    let mut table = table(&[
        "case",
        "who",
        "requests/s",
        "least",
        "most",
        "us on server",
        "server busy",
        "p99 ms",
    ]);
    for series in figures.all().iter().filter(|series| series.unit == PER_SECOND) {
        let Some(rate) = series.spread() else { continue };
        let beside = |unit, digits| {
            let spread = figures.spread(&series.case, &series.who, unit);
            spread.map_or_else(String::new, |spread| format!("{:.digits$}", spread.median))
        };
        table.add_row([
            series.case.clone(),
            series.who.clone(),
            whole(rate.median),
            whole(rate.least),
            whole(rate.most),
            beside(SERVER_US, 2),
            beside(BUSY, 2),
            beside(P99_MS, 2),
        ]);
    }
    align_right(&mut table, 2);
    table
}

/// All that is not a rate.
pub fn others(figures: &Figures) -> Table {
    let mut table = table(&["what", "who", "unit", "median", "least", "most"]);
    let units = [BYTES, MS, US, INSTRUCTIONS];
    for series in figures.all().iter().filter(|series| units.contains(&series.unit)) {
        let Some(Spread { median, least, most }) = series.spread() else { continue };
        let shown = [median, least, most].map(short);
        let row = [series.case.clone(), series.who.clone(), series.unit.to_owned()];
        table.add_row(row.into_iter().chain(shown));
    }
    align_right(&mut table, 3);
    table
}

/// The bars and whether they hold.
pub fn bars(bars: &[Bar]) -> Table {
    let mut table = table(&["what", "bar", "found", "least", "most", "holds"]);
    for bar in bars {
        let limit = match bar.limit {
            Limit::AtLeast(least) => format!(">= {} {}", short(least), bar.with),
            Limit::AtMost(most) => format!("<= {} {}", short(most), bar.with),
        };
        let found = bar.found.map(|found| [found.median, found.least, found.most].map(short));
        let [median, least, most] = found.unwrap_or_default();
        let holds = match bar.holds() {
            Some(true) => "yes",
            Some(false) => "NO",
            None => "not measured",
        };
        let row = [bar.what.clone(), limit, median, least, most, holds.to_owned()];
        table.add_row(row);
    }
    for column in 2..5 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// To the nearest whole number.
pub fn whole(value: f64) -> String {
    thousands(value.round() as u64)
}

/// Two or three digits that matter.
fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 1_000.0 => whole(value),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}
