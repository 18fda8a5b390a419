//! The tables of the documents, each between two marks, with a column for each server. No number is
//! copied by hand, so none can come from another run.

mod memory;
mod parts;
mod stall;

use std::fs;
use std::path::Path;

use comfy_table::{presets, Table};

use crate::cases::{crowd, sale};
use crate::contenders::{FUNCTION, INCR, INCREX, MODULE, MULTI, SADD, SCRIPT};
use crate::figures::{Place, BUSY, PER_SECOND, SERVER_US};
use crate::profile::Profile;
use crate::report::{Report, Runs};
use crate::rows::{both_times, short, Row};

const PAGE: &str = "docs/performance.md";

/// Connections of the README's row without a pipeline.
const CROWD: usize = 50;

/// The cell of a run without this figure.
const ABSENT: &str = "not measured";

/// Prints the results of one run.
pub fn print(report: &Report) {
    let runs = [report];
    println!("{}\n\n{}\n", table(&runs, true), table(&runs, false));
    println!("{}\n\n{}\n", recommended(&runs), times(&runs, &others()));
    let took = report.cases.iter().map(|took| format!("{} {:.0} s", took.case, took.seconds));
    if let Some(parts) = parts::table(report) {
        println!("{parts}\n");
    }
    if let Some(memory) = memory::table(report) {
        println!("{memory}\n");
    }
    if let Some(stall) = stall::table(&runs) {
        println!("{stall}\n");
    }
    println!("{}\n({})", report.sentence(), took.collect::<Vec<_>>().join(", "));
}

/// Writes the tables of all runs into the pages.
///
/// # Errors
/// A sentence.
pub fn write(runs: &Runs) -> Result<(), String> {
    let all: Vec<&Report> = runs.runs.iter().collect();
    let sentences = all.iter().map(|run| format!("- {}", run.sentence())).collect::<Vec<_>>();
    let bars = format!("{}\n\n{}", table(&all, true), sentences.join("\n"));
    put(PAGE, "bars", &bars)?;
    put(PAGE, "reported", &table(&all, false).to_string())?;
    put(PAGE, "times", &times(&all, &others()).to_string())?;
    if let Some(parts) = all.iter().find_map(|run| parts::table(run)) {
        put(PAGE, "parts", &parts)?;
    }
    if let Some(stall) = stall::table(&all) {
        put(PAGE, "stall", &stall.to_string())?;
    }
    if let Some(memory) = all.iter().find_map(|run| memory::table(run)) {
        put("docs/install.md", "memory", &memory)?;
    }
    put(PAGE, "recommended", &recommended(&all).to_string())?;
    put(PAGE, "crowd", &crowd(&all).to_string())?;
    let short = calls(&all);
    put("README.md", "short", &short.to_string())?;
    put("README.zh-CN.md", "short", &in_chinese(&short)?.to_string())
}

/// Words of the README's table and of its Chinese twin. Names of commands and servers and figures
/// are equal in both.
const CHINESE: [(&str, &str); 7] = [
    ("contender", "对比项"),
    ("no pipeline, 50 connections", "不开 pipeline，50 个连接"),
    ("calls/s", "每秒调用"),
    (MODULE, "本模块"),
    (SCRIPT, "Lua 脚本"),
    (INCR, INCR),
    (ABSENT, "没有测"),
];

/// The README's table with its words in Chinese.
fn in_chinese(table: &Table) -> Result<Table, String> {
    let word = |text: String| {
        let same = text.starts_with(|first: char| first.is_ascii_digit());
        let same = same || text.starts_with("Redis ") || text.starts_with("Valkey ");
        match CHINESE.iter().find(|(english, _)| *english == text) {
            Some((_, chinese)) => Ok((*chinese).to_owned()),
            None if same => Ok(text),
            None => Err(format!("no Chinese for {text:?} in tools/bench/src/page.rs")),
        }
    };
    let words = |row: &comfy_table::Row| -> Result<Vec<String>, String> {
        row.cell_iter().map(|cell| word(cell.content())).collect()
    };
    let mut chinese = Table::new();
    chinese.load_style(presets::ASCII_MARKDOWN);
    if let Some(head) = table.header() {
        chinese.set_header(words(head)?);
    }
    for row in table.row_iter() {
        chinese.add_row(words(row)?);
    }
    Ok(chinese)
}

/// Rows with bars, or rows that are only reported, with a column for each run.
fn table(runs: &[&Report], with_bars: bool) -> Table {
    let rows: Vec<Vec<Row>> = runs.iter().map(|run| run.rows()).collect();
    let mut head = vec!["what", "figure", "setting"];
    head.extend(with_bars.then_some("bar"));
    let mut table = new_table(head, runs);
    let first = rows.first().map_or(&[][..], |first| first);
    for (place, row) in first.iter().enumerate() {
        if row.bar.is_empty() == with_bars {
            continue;
        }
        let mut line = vec![row.what.clone(), row.figure.clone(), row.setting.clone()];
        line.extend(with_bars.then(|| row.bar.clone()));
        line.extend(rows.iter().filter_map(|rows| Some(rows.get(place)?.cell())));
        table.add_row(line);
    }
    table
}

fn new_table<'a>(mut head: Vec<&'a str>, runs: &[&'a Report]) -> Table {
    head.extend(runs.iter().map(|run| run.server.as_str()));
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN).set_header(head);
    table
}

/// A call, its setting, and the contender.
type Line = (&'static str, &'static str, &'static str);

/// The table that the page begins with, with an AOF as recommended: `Lua script 14.2 us, module
/// 2.94 us: 4.8 x`.
fn recommended(runs: &[&Report]) -> Table {
    let mut table = new_table(vec!["server time per call"], runs);
    for what in [sale::GRAB, sale::CONFIRM, sale::PLAIN, sale::SOLD_OUT, sale::ALREADY] {
        let case = sale::case(what, sale::LOGGED);
        let cells = runs.iter().map(|run| {
            let ratio = run.figures.ratio(SERVER_US, (&case, SCRIPT), (&case, MODULE));
            let lead = both_times(&run.figures, &case, SCRIPT);
            ratio.map_or_else(|| ABSENT.to_owned(), |x| format!("{lead}**{:.1} x**", x.median))
        });
        table.add_row([what.to_owned()].into_iter().chain(cells));
    }
    table
}

/// FUNCTIONs, the other settings, and commands that do less than a sale.
fn others() -> Vec<Line> {
    let mut lines = Vec::new();
    for what in [sale::PLAIN, sale::SOLD_OUT, sale::ALREADY] {
        lines.extend([MODULE, FUNCTION].map(|who| (what, sale::LOGGED, who)));
    }
    for setting in [sale::UNLOGGED, sale::THREADED] {
        for what in [sale::GRAB, sale::CONFIRM] {
            lines.extend([MODULE, SCRIPT].map(|who| (what, setting, who)));
        }
    }
    let unlogged = |who| (sale::PLAIN, sale::UNLOGGED, who);
    lines.extend([MODULE, SCRIPT, FUNCTION].map(unlogged));
    for setting in [sale::LOGGED, sale::UNLOGGED] {
        lines.extend([INCR, INCREX, SADD, MULTI].map(|who| (sale::LESS, setting, who)));
    }
    lines
}

/// The server's time for a call.
fn times(runs: &[&Report], lines: &[Line]) -> Table {
    let mut table = new_table(vec!["server time per call, us", "setting", "contender"], runs);
    for (what, setting, who) in lines {
        let case = sale::case(what, setting);
        let cells = runs.iter().map(|run| figure(run, (&case, who), SERVER_US));
        table.add_row([*what, *setting, *who].map(str::to_owned).into_iter().chain(cells));
    }
    table
}

/// Calls a second without a pipeline, and the use of the server's core.
fn crowd(runs: &[&Report]) -> Table {
    let mut table = calls(runs);
    crowd_rows(&mut table, runs, ("share of the server's core in use", BUSY));
    table
}

/// Calls a second without a pipeline: the table of the README.
fn calls(runs: &[&Report]) -> Table {
    let mut table = new_table(vec![&crowd::case(CROWD), "contender"], runs);
    crowd_rows(&mut table, runs, ("calls/s", PER_SECOND));
    table
}

fn crowd_rows(table: &mut Table, runs: &[&Report], (what, unit): (&str, &str)) {
    let case = crowd::case(CROWD);
    for who in [MODULE, SCRIPT, INCR] {
        let cells = runs.iter().map(|run| figure(run, (&case, who), unit));
        table.add_row([what, who].map(str::to_owned).into_iter().chain(cells));
    }
}

fn figure(run: &Report, place: Place<'_>, unit: &str) -> String {
    let found = run.figures.spread(place, unit);
    found.map_or_else(|| ABSENT.to_owned(), |found| short(found.median))
}

/// Writes the profiles of a server.
///
/// # Errors
/// A sentence.
pub fn write_profiles(server: &str, profiles: &[Profile]) -> Result<(), String> {
    let text = profiles.iter().map(Profile::to_string).collect::<Vec<_>>().join("\n\n");
    put(PAGE, "profile", &format!("{server}:\n\n{text}"))
}

/// Puts `text` between the marks of `name`.
fn put(file: &str, name: &str, text: &str) -> Result<(), String> {
    let failed = |why: &str| format!("{file} is left as it was: {why}");
    let old = fs::read_to_string(Path::new(file)).map_err(|e| failed(&e.to_string()))?;
    let (start, end) = (format!("<!-- bench: {name} -->\n"), format!("<!-- end: {name} -->"));
    let found = old.split_once(&start);
    let found = found.and_then(|(above, rest)| Some((above, rest.split_once(&end)?.1)));
    let (above, below) = found.ok_or_else(|| failed(&format!("no marks of {name}")))?;
    let new = format!("{above}{start}\n{text}\n\n{end}{below}");
    fs::write(file, new).map_err(|e| failed(&e.to_string()))
}
