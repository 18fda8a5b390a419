//! The tables of the pages, each between two marks, with a column for each server. All numbers come
//! from docs/bench.json, none is copied by hand.

mod chinese;

use std::path::Path;

use comfy_table::{presets, Table};
use seckill_harness::page::write_between;

use crate::cases::memory::{MEMORY, TERMS};
use crate::cases::{crowd, sale, stall};
use crate::contenders::{
    ALREADY, COMPARED, CONFIRM, FUNCTION, GRAB, INCR, INCREX, MODULE, MULTI, PLAIN, SADD, SCRIPT,
    SOLD_OUT,
};
use crate::figures::{Place, BUSY, BYTES, PER_SECOND, SERVER_US};
use crate::report::{Report, Runs};
use crate::rows::{both_times, short, Row, ABSENT};

/// The users' page in both languages, and the page for contributors.
const PAGE: &str = "docs/performance.md";
const PAGE_ZH: &str = "docs/zh/performance.md";
const DETAILS: &str = "tools/bench/README.md";

/// Bytes of `maxmemory 1gb`.
const FULL: f64 = (1u64 << 30) as f64;

pub fn print(report: &Report) {
    let runs = [report];
    println!("{}\n", table(&runs));
    println!("{}\n\n{}\n", recommended(&runs), times(&runs, &others()));
    let took = report.cases.iter().map(|took| format!("{} {:.0} s", took.case, took.seconds));
    for table in [memory(report), stall(&runs)].into_iter().flatten() {
        println!("{table}\n");
    }
    println!("{}\n({})", report.sentence(), took.collect::<Vec<_>>().join(", "));
}

pub fn write(runs: &Runs) -> Result<(), String> {
    blocks(runs)?.iter().try_for_each(|(file, name, text)| {
        let ([begin, end], part) = block(name, text);
        write_between(Path::new(file), [&begin, &end], &part)
    })
}

/// A file, the name of a table's marks, and the table.
type Block = (&'static str, &'static str, String);

fn blocks(runs: &Runs) -> Result<Vec<Block>, String> {
    let all: Vec<&Report> = runs.runs.iter().collect();
    let sentences = all.iter().map(|run| format!("- {}", run.sentence())).collect::<Vec<_>>();
    let bars = format!("{}\n\n{}", table(&all), sentences.join("\n"));
    let mut blocks = vec![(DETAILS, "bars", bars)];
    let in_both = [
        ([PAGE, PAGE_ZH], "recommended", Some(recommended(&all))),
        ([PAGE, PAGE_ZH], "crowd", Some(crowd(&all))),
        ([PAGE, PAGE_ZH], "stall", stall(&all)),
        ([PAGE, PAGE_ZH], "times", Some(times(&all, &others()))),
        (INSTALL, "memory", all.iter().find_map(|run| memory(run))),
    ];
    for ([english, chinese], name, table) in in_both {
        let Some(table) = table else { continue };
        blocks.push((english, name, table.to_string()));
        blocks.push((chinese, name, chinese::table(&table)?.to_string()));
    }
    blocks.extend(readme(runs)?);
    Ok(blocks)
}

const INSTALL: [&str; 2] = ["docs/install.md", "docs/zh/install.md"];

/// All rows, with a column for each run.
fn table(runs: &[&Report]) -> Table {
    let rows: Vec<Vec<Row>> = runs.iter().map(|run| run.rows()).collect();
    let mut table = new_table(vec!["what", "figure", "setting", "bar"], runs);
    let first = rows.first().map_or(&[][..], |first| first);
    for (place, row) in first.iter().enumerate() {
        let mut line = [&row.what, &row.figure, &row.setting, &row.bar].map(String::clone).to_vec();
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
    for what in COMPARED {
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
    for what in [PLAIN, SOLD_OUT, ALREADY] {
        lines.extend([MODULE, FUNCTION].map(|who| (what, sale::LOGGED, who)));
    }
    for setting in [sale::UNLOGGED, sale::THREADED] {
        for what in [GRAB, CONFIRM] {
            lines.extend([MODULE, SCRIPT].map(|who| (what, setting, who)));
        }
    }
    let unlogged = |who| (PLAIN, sale::UNLOGGED, who);
    lines.extend([MODULE, SCRIPT, FUNCTION].map(unlogged));
    for setting in [sale::LOGGED, sale::UNLOGGED] {
        lines.extend([INCR, INCREX, SADD, MULTI].map(|who| (sale::LESS, setting, who)));
    }
    lines
}

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
fn readme(runs: &Runs) -> Result<[Block; 2], String> {
    let run = runs.newest_redis().ok_or("no run of a Redis")?;
    let [ours, script, incr] =
        [MODULE, SCRIPT, INCR].map(|who| figure(run, (crowd::CASE, who), PER_SECOND));
    let (server, connections) = (&run.server, crowd::CONNECTIONS);
    let english = format!(
        "One core of {server} ({connections} connections, no pipeline) serves {ours} GRABs a \
         second; a Lua script that does the same\nwork serves {script}, and `INCR`, which only \
         counts, {incr}."
    );
    let chinese = format!(
        "{server} 单核（{connections} 个连接，不开 pipeline）：每秒 {ours} 次 GRAB；做同样事情的 \
         Lua 脚本 {script} 次；只计数的 `INCR` {incr} 次。"
    );
    Ok([("README.md", "short", english), ("README.zh-CN.md", "short", chinese)])
}

/// Calls a second without a pipeline, and the load of the server's core.
fn crowd(runs: &[&Report]) -> Table {
    let mut table = new_table(vec![crowd::CASE, "contender"], runs);
    for (what, unit) in [("calls/s", PER_SECOND), ("share of the server's core in use", BUSY)] {
        for who in [MODULE, SCRIPT, INCR] {
            let cells = runs.iter().map(|run| figure(run, (crowd::CASE, who), unit));
            table.add_row([what, who].map(str::to_owned).into_iter().chain(cells));
        }
    }
    table
}

/// Memory by grant, for docs/install.md. `None` if the run did not measure it.
fn memory(run: &Report) -> Option<Table> {
    let what = format!("{}: terms of the sale", run.server);
    let mut table = new_table(vec![&what, "bytes a grant", "`maxmemory 1gb` is full at"], &[]);
    for (name, ..) in TERMS {
        let bytes = run.figures.spread((MEMORY, name), BYTES)?.median;
        let grants = format!("{:.1} million grants", FULL / bytes / 1e6);
        table.add_row([name.to_owned(), format!("{bytes:.0}"), grants]);
    }
    Some(table)
}

/// The longest waits beside each command at its largest work. `None` if no run measured them.
fn stall(runs: &[&Report]) -> Option<Table> {
    let mut table = new_table(vec!["wait of a PING: p99.9; longest, ms above idle"], runs);
    let mut is_measured = false;
    for name in stall::names(&runs.first()?.plan()) {
        let cell = |run: &&Report| match stall::above_idle(&run.figures, &name) {
            None => ABSENT.to_owned(),
            Some([p999, longest]) => {
                let mark = if longest.median > stall::BAR_MS { "**" } else { "" };
                let (most, longest) = (short(longest.most), short(longest.median));
                format!("{}; {mark}{longest}{mark} (to {most})", short(p999.median))
            }
        };
        let cells: Vec<String> = runs.iter().map(cell).collect();
        is_measured |= cells.iter().any(|cell| cell != ABSENT);
        table.add_row([name].into_iter().chain(cells));
    }
    is_measured.then_some(table)
}

fn figure(run: &Report, place: Place<'_>, unit: &str) -> String {
    let found = run.figures.spread(place, unit);
    found.map_or_else(|| ABSENT.to_owned(), |found| short(found.median))
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
