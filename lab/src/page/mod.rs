//! What the lab leaves: lab.json, a chart, and the tables of the page in two languages.

pub mod chart;
pub mod databases;
pub mod schedules;
pub mod summary;
pub mod tables;
pub mod words;

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::facts::Fact;
use crate::interleave::explore::Proof;
use crate::rush::cell::Cell;
use words::Language;

/// All that one run found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    pub host: Host,
    pub proofs: Vec<Proof>,
    pub cells: Vec<Cell>,
    pub facts: Vec<Fact>,
    #[serde(default)]
    pub elsewhere: Vec<Elsewhere>,
}

/// The rows in SQL on another database than MariaDB.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Elsewhere {
    /// Name and version.
    pub database: String,
    /// Rows in whose schedules the same was found.
    pub same: Vec<String>,
    /// The others.
    pub different: Vec<Proof>,
}

impl Elsewhere {
    pub fn of(database: String, found: Vec<Proof>, on_mariadb: &[Proof]) -> Elsewhere {
        let is_same = |proof: &Proof| {
            on_mariadb.iter().any(|one| one.id == proof.id && one.faults() == proof.faults())
        };
        let (same, different): (Vec<_>, Vec<_>) = found.into_iter().partition(is_same);
        Elsewhere { database, same: same.into_iter().map(|proof| proof.id).collect(), different }
    }
}

/// Where and when.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Host {
    pub redis: String,
    /// Name and version of the database of the rush.
    pub mariadb: String,
    pub processor: String,
    pub cores: usize,
    /// The load of the machine before the run, and when the rush ended: the lab itself makes some.
    pub load: (String, String),
    pub date: String,
    pub seconds: u64,
}

impl Host {
    pub fn here(redis: String, mariadb: String) -> Host {
        let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let name = cpu.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        Host {
            redis,
            mariadb,
            processor: name.map_or("an unknown processor", |(_, name)| name).to_owned(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            load: (String::new(), String::new()),
            date: today(),
            seconds: 0,
        }
    }
}

/// The day by `date`, as everybody writes it.
fn today() -> String {
    let said = std::process::Command::new("date").args(["-u", "+%Y-%m-%d"]).output();
    said.map(|out| String::from_utf8_lossy(&out.stdout).trim().to_owned()).unwrap_or_default()
}

/// Writes lab.json, lab.svg and both pages into the folder of docs.
///
/// # Errors
/// A sentence that names the file.
pub fn write(report: &Report, docs: &Path) -> Result<(), String> {
    let json = serde_json::to_string_pretty(report).map_err(|e| e.to_string())?;
    save(&docs.join("lab.json"), &(json + "\n"))?;
    chart::draw(report, &docs.join("lab.svg")).map_err(|e| format!("the chart: {e}"))?;
    for (page, language) in [("lab.md", Language::English), ("zh/lab.md", Language::Chinese)] {
        let file = docs.join(page);
        for (name, table) in tables::all(report, language) {
            fill_page(&file, name, &table)?;
        }
    }
    Ok(())
}

/// Puts a table between its marks on a page.
///
/// # Errors
/// A sentence that names the file.
pub fn fill_page(file: &Path, name: &str, table: &str) -> Result<(), String> {
    let text = std::fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
    save(file, &fill(&text, name, table)?)
}

fn save(file: &Path, text: &str) -> Result<(), String> {
    std::fs::write(file, text).map_err(|e| format!("{}: {e}", file.display()))
}

/// Replaces what stands between `<!-- lab: name -->` and the next `<!-- /lab -->`.
fn fill(text: &str, name: &str, table: &str) -> Result<String, String> {
    let (begin, end) = (format!("<!-- lab: {name} -->"), "<!-- /lab -->");
    let missing = || format!("a page has no place for the table {name}");
    let (before, rest) = text.split_once(&begin).ok_or_else(missing)?;
    let (_, after) = rest.split_once(end).ok_or_else(missing)?;
    Ok(format!("{before}{begin}\n\n{}\n\n{end}{after}", table.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::fill;

    #[test]
    fn tables_go_between_their_marks() {
        let page = "a\n<!-- lab: x -->\nold\n<!-- /lab -->\nb\n<!-- lab: y -->\n<!-- /lab -->\n";
        let filled = fill(page, "x", "new\n").unwrap_or_default();
        assert_eq!(
            filled,
            "a\n<!-- lab: x -->\n\nnew\n\n<!-- /lab -->\nb\n<!-- lab: y -->\n<!-- /lab -->\n"
        );
        assert!(fill(page, "z", "new").is_err());
    }
}
