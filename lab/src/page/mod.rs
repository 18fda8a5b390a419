//! The lab's output: lab.json, a chart, and the tables of the page in two languages.

pub mod chart;
pub mod databases;
mod rows;
pub mod schedules;
pub mod summary;
pub mod tables;
pub mod words;

use std::path::Path;

use seckill_harness::page::write_between;

use crate::report::Report;
use words::Language;

/// Writes lab.json, lab.svg and both pages into the folder of docs.
///
/// # Errors
/// A message that names the file.
pub fn write(report: &Report, docs: &Path) -> Result<(), String> {
    let json = serde_json::to_string_pretty(report).map_err(|e| e.to_string())?;
    let saved = std::fs::write(docs.join("lab.json"), json + "\n");
    saved.map_err(|e| format!("lab.json: {e}"))?;
    chart::draw(report, &docs.join("lab.svg")).map_err(|e| format!("the chart: {e}"))?;
    for (page, language) in [("lab.md", Language::English), ("zh/lab.md", Language::Chinese)] {
        let file = docs.join(page);
        for (name, table) in tables::all(report, language) {
            fill_page(&file, name, &table)?;
        }
    }
    Ok(())
}

/// Puts a table between its marks on a page, `<!-- lab: name -->` and the next `<!-- /lab -->`.
///
/// # Errors
/// A message that names the file.
pub fn fill_page(file: &Path, name: &str, table: &str) -> Result<(), String> {
    let begin = format!("<!-- lab: {name} -->");
    write_between(file, [&begin, "<!-- /lab -->"], &format!("\n\n{}\n\n", table.trim_end()))
}
