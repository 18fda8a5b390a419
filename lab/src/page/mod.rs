//! The lab's output: lab.json, a chart, and the tables of the page in two languages.

pub mod chart;
pub mod databases;
mod rows;
pub mod schedules;
pub mod summary;
pub mod tables;
pub mod words;

use std::path::Path;

use crate::report::Report;
use words::Language;

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
