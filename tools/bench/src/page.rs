//! The tables of the pages, each between two marks, with a column for each server. All numbers come
//! from docs/bench.json, none is copied by hand.

mod chinese;
mod memory;
mod parts;
mod stall;

use std::path::Path;

use comfy_table::{presets, Table};
use seckill_harness::page::write_between;

use crate::cases::{crowd, sale};
use crate::contenders::{FUNCTION, INCR, INCREX, MODULE, MULTI, SADD, SCRIPT};
use crate::figures::{Place, BUSY, PER_SECOND, SERVER_US};
use crate::profile::Profile;
use crate::report::{Report, Runs};
use crate::rows::{both_times, short, Row};

/// The users' page in both languages, and the page for contributors.
const PAGE: &str = "docs/performance.md";
const PAGE_ZH: &str = "docs/zh/performance.md";
const DETAILS: &str = "tools/bench/README.md";

/// Connections without a pipeline in the READMEs and in docs/performance.md.
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
/// A message that says what failed.
pub fn write(runs: &Runs) -> Result<(), String> {
    blocks(runs)?.iter().try_for_each(|(file, name, text)| put(file, name, text))
}

/// A file, the name of a table's marks, and the table.
type Block = (&'static str, &'static str, String);

/// All tables of all pages.
fn blocks(runs: &Runs) -> Result<Vec<Block>, String> {
    let all: Vec<&Report> = runs.runs.iter().collect();
    let sentences = all.iter().map(|run| format!("- {}", run.sentence())).collect::<Vec<_>>();
    let bars = format!("{}\n\n{}", table(&all, true), sentences.join("\n"));
    let mut blocks =
        vec![(DETAILS, "bars", bars), (DETAILS, "reported", table(&all, false).to_string())];
    if let Some(parts) = all.iter().find_map(|run| parts::table(run)) {
        blocks.push((DETAILS, "parts", parts));
    }
    let in_both = [
        ([PAGE, PAGE_ZH], "recommended", Some(recommended(&all))),
        ([PAGE, PAGE_ZH], "crowd", Some(crowd(&all))),
        ([PAGE, PAGE_ZH], "stall", stall::table(&all)),
        ([PAGE, PAGE_ZH], "times", Some(times(&all, &others()))),
        (INSTALL, "memory", all.iter().find_map(|run| memory::table(run))),
    ];
    for ([english, chinese], name, table) in in_both {
        let Some(table) = table else { continue };
        blocks.push((english, name, table.to_string()));
        blocks.push((chinese, name, chinese::table(&table)?.to_string()));
    }
    blocks.extend(readme(&all)?);
    Ok(blocks)
}

const INSTALL: [&str; 2] = ["docs/install.md", "docs/zh/install.md"];

/// Rows with a bar, or rows without one, with a column for each run.
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

/// The first table of the page, with the recommended AOF setting: `Lua script 14.2 us, module 2.94
/// us: 4.8 x`.
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

/// Server time for each call.
fn times(runs: &[&Report], lines: &[Line]) -> Table {
    let mut table = new_table(vec!["server time per call, us", "setting", "contender"], runs);
    for (what, setting, who) in lines {
        let case = sale::case(what, setting);
        let cells = runs.iter().map(|run| figure(run, (&case, who), SERVER_US));
        table.add_row([*what, *setting, *who].map(str::to_owned).into_iter().chain(cells));
    }
    table
}

/// The sentence of both READMEs: calls a second without a pipeline on the newest Redis.
fn readme(runs: &[&Report]) -> Result<[Block; 2], String> {
    let run = runs.iter().rfind(|run| run.server.starts_with("Redis "));
    let run = run.ok_or("no run of a Redis")?;
    let case = crowd::case(CROWD);
    let [ours, script, incr] =
        [MODULE, SCRIPT, INCR].map(|who| figure(run, (&case, who), PER_SECOND));
    let server = &run.server;
    let english = format!(
        "One core of {server} ({CROWD} connections, no pipeline) serves {ours} GRABs a second; \
         a Lua script that does the same\nwork serves {script}, and `INCR`, which only counts, \
         {incr}."
    );
    let chinese = format!(
        "{server} 单核（{CROWD} 个连接，不开 pipeline）：每秒 {ours} 次 GRAB；做同样事情的 Lua 脚本 \
         {script} 次；只计数的 `INCR` {incr} 次。"
    );
    Ok([("README.md", "short", english), ("README.zh-CN.md", "short", chinese)])
}

/// Calls a second without a pipeline, and the load of the server's core.
fn crowd(runs: &[&Report]) -> Table {
    let mut table = new_table(vec![&crowd::case(CROWD), "contender"], runs);
    crowd_rows(&mut table, runs, ("calls/s", PER_SECOND));
    crowd_rows(&mut table, runs, ("share of the server's core in use", BUSY));
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
/// A message that says what failed.
pub fn write_profiles(server: &str, profiles: &[Profile]) -> Result<(), String> {
    let text = profiles.iter().map(Profile::to_string).collect::<Vec<_>>().join("\n\n");
    put(DETAILS, "profile", &format!("{server}:\n\n{text}"))
}

fn put(file: &str, name: &str, text: &str) -> Result<(), String> {
    let ([begin, end], part) = block(name, text);
    write_between(Path::new(file), [&begin, &end], &part)
}

/// The marks of a table, and the text between them.
fn block(name: &str, text: &str) -> ([String; 2], String) {
    let marks = [format!("<!-- bench: {name} -->\n"), format!("<!-- end: {name} -->")];
    (marks, format!("\n{text}\n\n"))
}

#[cfg(test)]
mod tests {
    // A test that can't continue panics with a message.
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use std::fs;

    use seckill_harness::page::between;

    use super::*;
    use crate::RUNS;

    /// Fails if a table is outdated or was edited by hand.
    #[test]
    fn the_pages_are_up_to_date() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let blocks = blocks(&Runs::read(&root.join(RUNS)).unwrap()).unwrap();
        assert!(blocks.len() > 10, "they are found");
        for (file, name, text) in blocks {
            let page = fs::read_to_string(root.join(file)).unwrap();
            let ([begin, end], part) = block(name, &text);
            assert!(
                between(&page, [&begin, &end], &part).as_ref() == Some(&page),
                "the table {name} of {file} is stale: run `make docs` and commit it"
            );
        }
    }
}
