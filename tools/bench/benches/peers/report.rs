//! What is printed and written.

use std::fs;
use std::path::Path;

use comfy_table::{presets, CellAlignment, Table};
use serde::{Deserialize, Serialize};

use crate::bars::{self, Bar, Limit};
use crate::figures::{
    Figures, Spread, BUSY, BYTES, INSTRUCTIONS, LOAD_BUSY, MS, P50_MS, P999_MS, P99_MS, PER_SECOND,
    SERVER_US, TYPICAL_P99_MS, US,
};
use crate::host::Host;
use crate::plan::Mode;
use crate::rows;
use seckill_crowd::screen::thousands;

/// Above this, something else runs on the machine.
const QUIET_LOAD: f64 = 0.5;

/// All there is, for whoever wants to compute something else.
#[derive(Deserialize, Serialize)]
pub struct Report {
    pub mode: Mode,
    pub host: Host,
    /// What the whole run took, and each of its cases.
    pub seconds: f64,
    pub cases: Vec<Took>,
    /// Follows from the figures.
    #[serde(skip_deserializing)]
    pub bars: Vec<Bar>,
    pub figures: Figures,
}

/// How long a case took.
#[derive(Deserialize, Serialize)]
pub struct Took {
    pub case: String,
    pub seconds: f64,
}

impl Report {
    /// Reads one that was written before.
    ///
    /// # Errors
    /// A sentence.
    pub fn read(file: &Path) -> Result<Report, String> {
        let text = fs::read_to_string(file).map_err(|e| format!("No figures: {e}"))?;
        let mut report: Report = serde_json::from_str(&text)
            .map_err(|e| format!("{} is not of now: {e}", file.display()))?;
        report.bars = rows::all(&report.figures, &report.mode.plan());
        Ok(report)
    }

    /// Shows everything.
    pub fn print(&self) {
        println!("{}\n{}", self.machine(), self.programs());
        println!("\n{}\n\n{}", rates(&self.figures), others(&self.figures));
        println!("\n{}\n\nShown beside:\n\n{}", bars(&self.bars, false), bars(&self.bars, true));
        let took = self.cases.iter().map(|took| format!("{} {:.0} s", took.case, took.seconds));
        println!("\n{}\n({})", self.sentence(), took.collect::<Vec<_>>().join(", "));
        if self.host.load_before > QUIET_LOAD {
            println!("The machine was not idle: its load was {} before.", self.host.load_before);
        }
    }

    fn machine(&self) -> String {
        format!("{}, {} cores, Linux {}", self.host.cpu, self.host.cores, self.host.kernel)
    }

    fn programs(&self) -> String {
        format!("{}; seckill {}, {}", self.host.redis, self.host.module, self.host.rustc)
    }

    /// How many bars hold.
    pub fn sentence(&self) -> String {
        let (held, measured) = bars::held(&self.bars);
        let version = self.host.redis.split_whitespace().find_map(|word| word.strip_prefix("v="));
        format!(
            "{held} of {measured} bars hold (Redis {}, {} cores of {}, one run of {:.0} s).",
            version.unwrap_or("?"),
            self.host.cores,
            self.host.cpu,
            self.seconds
        )
    }
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
        "load busy",
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
            beside(LOAD_BUSY, 2),
            beside(P99_MS, 2),
        ]);
    }
    align_right(&mut table, 2);
    table
}

/// All that is not a rate.
pub fn others(figures: &Figures) -> Table {
    let mut table = table(&["what", "who", "unit", "median", "least", "most"]);
    let units = [BYTES, MS, US, INSTRUCTIONS, P50_MS, P99_MS, P999_MS, TYPICAL_P99_MS];
    for series in figures.all().iter().filter(|series| units.contains(&&*series.unit)) {
        // Its latencies are in the table of rates.
        if figures.spread(&series.case, &series.who, PER_SECOND).is_some() && series.unit == P99_MS
        {
            continue;
        }
        let Some(Spread { median, least, most }) = series.spread() else { continue };
        let shown = [median, least, most].map(short);
        let row = [series.case.clone(), series.who.clone(), series.unit.clone()];
        table.add_row(row.into_iter().chain(shown));
    }
    align_right(&mut table, 3);
    table
}

/// The bars and whether they hold, or what is shown beside them. "Server alone" is
/// what the server's own part of a call comes to, without the module's.
pub fn bars(bars: &[Bar], beside: bool) -> Table {
    let mut table = table(&["what", "bar", "found", "least", "most", "server alone", "holds"]);
    for bar in bars.iter().filter(|bar| bar.beside == beside) {
        let found = bar.found.map(|found| [found.median, found.least, found.most].map(short));
        let [median, least, most] = found.unwrap_or_default();
        let row = [bar.what.clone(), limit(bar), median, least, most, floor(bar), holds(bar)];
        table.add_row(row);
    }
    for column in 2..6 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

pub fn limit(bar: &Bar) -> String {
    match bar.limit {
        Limit::AtLeast(least) => format!(">= {} {}", short(least), bar.with),
        Limit::AtMost(most) => format!("<= {} {}", short(most), bar.with),
    }
}

pub fn floor(bar: &Bar) -> String {
    bar.floor.map_or_else(String::new, |floor| short(floor.median))
}

fn holds(bar: &Bar) -> String {
    let text = match (bar.holds(), bar.floor_holds()) {
        (Some(true), _) => "yes",
        (Some(false), Some(false)) => "NO: the server alone does not",
        (Some(false), _) => "NO",
        (None, _) => "not measured",
    };
    text.to_owned()
}

/// To the nearest whole number.
pub fn whole(value: f64) -> String {
    thousands(value.round() as u64)
}

/// Two or three digits that matter.
pub fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 1_000.0 => whole(value),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}
