//! What a run leaves behind: the figures as JSON, the picture, and the tables of the documents,
//! each between two marks. Nobody copies a number by hand, so none can be of another run.

use std::fs;
use std::path::Path;

use crate::cases::{growth, instructions, rdb};
use crate::chart;
use crate::contenders::{GRAB, SADD};
use crate::figures::{Figures, Series, BYTES, INSTRUCTIONS, MS};
use crate::profile::{Profile, Share, OWNERS};
use crate::report::{self, Report};

/// Rows of the short table: what, and with what it is compared.
const SHORT: [(&str, &str); 11] = [
    ("winning GRAB", "x Lua script"),
    ("winning GRAB", "x function"),
    ("winning GRAB", "x MULTI DECR SADD"),
    ("winning GRAB", "x SADD"),
    ("winning GRAB, AOF everysec", "x Lua script"),
    ("winning GRAB, AOF everysec", "x SADD"),
    ("sold-out GRAB", "x Lua script"),
    ("sold-out GRAB", "x INCR"),
    ("ALREADY", "x INCR"),
    ("memory, 1,000,000 winners", "x SADD"),
    ("memory, 10,000,000 winners", "x SADD"),
];

/// Writes the figures and the picture into `folder`.
///
/// # Errors
/// A sentence.
pub fn write(report: &Report, folder: &Path) -> Result<(), String> {
    let json = serde_json::to_string_pretty(report).map_err(|e| e.to_string())?;
    let file = folder.join("bench.json");
    fs::write(&file, json + "\n").map_err(|e| format!("No figures written: {e}"))?;
    println!("All figures are in {}.", file.display());
    chart::write(&folder.join("bench.svg"), &report.figures, &report.mode.plan())
}

/// Writes what belongs to a full run, where people look for it.
///
/// # Errors
/// A sentence.
pub fn write_all(report: &Report) -> Result<(), String> {
    let bars = &report.bars;
    write(report, Path::new("docs"))?;
    let long = Path::new("docs/performance.md");
    put(long, "bars", &format!("{}\n\n{}", report::bars(bars, false), report.sentence()))?;
    put(long, "beside", &report::bars(bars, true).to_string())?;
    put(long, "instructions", &instructions_table(&report.figures))?;
    put(Path::new("README.md"), "short", &short(report))
}

fn short(report: &Report) -> String {
    let mut lines =
        vec!["| in one run of `make bench` | ratio | the server's part alone |".to_owned()];
    lines.push("| --- | --- | --- |".to_owned());
    for (what, with) in SHORT {
        let found = report.bars.iter().find(|bar| bar.what == what && bar.with == with);
        let Some((bar, found)) = found.and_then(|bar| Some((bar, bar.found?))) else { continue };
        let (ratio, floor) = (report::short(found.median), report::floor(bar));
        let other = with.trim_start_matches("x ");
        lines.push(format!("| {what}, to {other} | {ratio} | {floor} |"));
    }
    let figures = &report.figures;
    if let Some(ratio) = figures.ratio(BYTES, (rdb::SAVE, GRAB), (rdb::SAVE, SADD)) {
        let ratio = report::short(ratio.median);
        lines.push(format!("| bytes of a winner in an RDB file, to a set's | {ratio} | |"));
    }
    let took = |who| figures.spread(growth::DEL, who, MS);
    if let (Some(ours), Some(set)) = (took(GRAB), took(SADD)) {
        let [ours, set] = [ours, set].map(|spread| report::whole(spread.median));
        lines.push(format!("| DEL of ten million winners, and of a set | {ours} ms, {set} ms | |"));
    }
    lines.join("\n")
}

/// Instructions of a call without and with a log.
fn instructions_table(figures: &Figures) -> String {
    let mut lines = vec!["| call | instructions | with an append-only file |".to_owned()];
    lines.push("| --- | --- | --- |".to_owned());
    let counted = |series: &&Series| series.case == instructions::CASE;
    for series in figures.all().iter().filter(counted) {
        let count = |case| {
            let spread = figures.spread(case, &series.who, INSTRUCTIONS);
            spread.map_or_else(String::new, |spread| report::whole(spread.median))
        };
        let (plain, logged) = (count(instructions::CASE), count(instructions::LOGGED));
        lines.push(format!("| {} | {plain} | {logged} |", series.who));
    }
    lines.join("\n")
}

/// Writes where the server spends its time.
///
/// # Errors
/// A sentence.
pub fn write_profiles(profiles: &[Profile]) -> Result<(), String> {
    let mut sums = "| load | server | kernel | module | libraries |\n".to_owned();
    sums += "| --- | --- | --- | --- | --- |\n";
    let mut functions = String::new();
    for Profile { load, .. } in profiles {
        functions += &format!("- [{load}](#{})\n", anchor(load));
    }
    for profile in profiles {
        let percents = OWNERS.map(|of| format!("{:.0}%", profile.sum(of))).join(" | ");
        sums += &format!("| {} | {percents} |\n", profile.load);
        functions += &format!("\n## {}\n\n| share | of | function |\n", profile.load);
        functions += "| --- | --- | --- |\n";
        for Share { percent, of, function } in profile.named() {
            functions += &format!("| {percent:.1}% | {} | `{function}` |\n", of.name());
        }
    }
    put(Path::new("docs/performance.md"), "profile", sums.trim_end())?;
    put(Path::new("docs/profiles.md"), "functions", functions.trim_end())
}

/// Where a heading is on its page.
fn anchor(heading: &str) -> String {
    let kept = |letter: &char| letter.is_alphanumeric() || [' ', '-'].contains(letter);
    heading.to_lowercase().chars().filter(kept).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Puts `text` between the marks of `name`.
fn put(file: &Path, name: &str, text: &str) -> Result<(), String> {
    let failed = |why: &str| format!("{} is left as it was: {why}", file.display());
    let old = fs::read_to_string(file).map_err(|e| failed(&e.to_string()))?;
    let (start, end) = (format!("<!-- bench: {name} -->\n"), format!("<!-- end: {name} -->"));
    let found = old.split_once(&start);
    let found = found.and_then(|(above, rest)| Some((above, rest.split_once(&end)?.1)));
    let (above, below) = found.ok_or_else(|| failed(&format!("no marks of {name}")))?;
    let new = format!("{above}{start}\n{text}\n\n{end}{below}");
    fs::write(file, new).map_err(|e| failed(&e.to_string()))
}
