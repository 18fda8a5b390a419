//! The table of clients and cases in clients/TESTED.md and its Chinese version, from the results of
//! all servers.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use seckill_harness::page::write_between;
use serde::{Deserialize, Serialize};

use crate::driver::{Client, CLIENTS};
use crate::rush::{self, Rush};
use crate::table;

/// Marks around the tables of a page.
const MARKS: [&str; 2] = ["<!-- written by make clients -->\n", "<!-- end -->\n"];

/// The results of the cases on one server.
#[derive(Default, Serialize, Deserialize)]
pub struct Results {
    server: String,
    /// By names of client and case: whether it passed with all Redis libraries.
    passed: BTreeMap<String, BTreeMap<String, bool>>,
    /// By names of client and rush.
    rushes: BTreeMap<String, BTreeMap<String, Rush>>,
}

impl Results {
    pub fn of(server: String) -> Results {
        Results { server, ..Results::default() }
    }

    pub fn add(&mut self, client: &Client, case: &str, passed: bool) {
        let cases = self.passed.entry(client.name.to_owned()).or_default();
        *cases.entry(case.to_owned()).or_insert(true) &= passed;
    }

    pub fn add_rush(&mut self, client: &Client, name: &str, came: Rush) {
        let rushes = self.rushes.entry(client.name.to_owned()).or_default();
        let known = rushes.entry(name.to_owned()).or_default();
        *known = known.and(came);
    }

    /// Adds the results of other cases of a client, or of another client.
    pub fn join(&mut self, more: Results) {
        for (client, rushes) in more.rushes {
            self.rushes.entry(client).or_default().extend(rushes);
        }
        for (client, cases) in more.passed {
            let known = self.passed.entry(client).or_default();
            for (case, passed) in cases {
                *known.entry(case).or_insert(true) &= passed;
            }
        }
    }

    /// # Errors
    /// A message if it can't be written.
    pub fn save(&self, file: &Path) -> Result<(), String> {
        let text = serde_json::to_string(self).map_err(|e| e.to_string())?;
        fs::write(file, text).map_err(|e| format!("{}: {e}", file.display()))
    }
}

/// # Errors
/// A message that says which file is missing, or has no place for the table.
pub fn write(files: &[PathBuf]) -> Result<(), String> {
    let read = |file: &PathBuf| {
        let text = fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
        serde_json::from_str(&text).map_err(|e| format!("{}: {e}", file.display()))
    };
    let mut results: Vec<Results> = Vec::new();
    for file in files {
        let more: Results = read(file)?;
        // Results of libraries that ran at different times on one server.
        match results.iter_mut().find(|known| known.server == more.server) {
            Some(known) => {
                known.passed.extend(more.passed);
                known.rushes.extend(more.rushes);
            }
            None => results.push(more),
        }
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (english, chinese) = tables(&results)?;
    write_between(&folder.join("TESTED.md"), MARKS, &english)?;
    write_between(&folder.join("TESTED.zh-CN.md"), MARKS, &chinese)
}

/// The tables in English and Chinese.
fn tables(results: &[Results]) -> Result<(String, String), String> {
    let mut names: Vec<&str> = CLIENTS.iter().map(|client| client.name).collect();
    names.dedup();
    let is_run = |name: &&str| results.iter().any(|on| on.passed.contains_key(*name));
    let (names, absent): (Vec<&str>, Vec<&str>) = names.into_iter().partition(is_run);
    let servers: Vec<&str> = results.iter().map(|on| on.server.as_str()).collect();
    let head = format!(" | {} |\n|{}\n", names.join(" | "), " --- |".repeat(names.len() + 1));
    let mut english = format!("On {}.", servers.join(", "));
    let mut chinese = format!("在 {} 上。", servers.join("、"));
    if !absent.is_empty() {
        english.push_str(&format!(" Not run: {}.", absent.join(", ")));
        chinese.push_str(&format!("没有跑的：{}。", absent.join("、")));
    }
    english.push_str(&format!("\n\n| case{head}"));
    chinese.push_str(&format!("\n\n| 用例{head}"));
    let cases = table::cases()?;
    let cases = cases.iter().map(|case| (case.name.as_str(), case.zh.as_str()));
    for (case, zh) in cases.chain(rush::NAMES.into_iter().zip(rush::NAMES_ZH)) {
        let cells = names.iter().map(|name| cell(results, name, case)).collect::<Vec<_>>();
        let cells = cells.join(" | ");
        english.push_str(&format!("| {case} | {cells} |\n"));
        chinese.push_str(&format!("| {zh} | {cells} |\n"));
    }
    english.push_str(RUSHES);
    chinese.push_str(RUSHES_ZH);
    for name in &names {
        let came = rush::NAMES.map(|rush| rush_cells(results, name, rush)).join(" | ");
        english.push_str(&format!("| {name} | {came} |\n"));
        chinese.push_str(&format!("| {name} | {came} |\n"));
    }
    Ok((english, chinese))
}

/// Header of the table of rushes.
const RUSHES: &str = "
The rushes in figures, all servers together:

| | Sentinel: buyers | replies lost | told | in the sale | cluster: buyers | replies lost | told \
| in the sale |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
";
const RUSHES_ZH: &str = "
两种抢购的数字，各服务端合计：

| | Sentinel：买家 | 丢的响应 | 返回成功 | 活动里 | 集群：买家 | 丢的响应 | 返回成功 | 活动里 |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
";

/// The sums of a rush over all servers.
fn rush_cells(results: &[Results], name: &str, rush: &str) -> String {
    let came: Vec<Rush> =
        results.iter().filter_map(|on| on.rushes.get(name)?.get(rush)).copied().collect();
    if came.len() < results.len() {
        return ["**no**"; 4].join(" | ");
    }
    let Rush { buyers, lost, told, sold } = came.into_iter().fold(Rush::default(), Rush::and);
    format!("{buyers} | {lost} | {told} | {sold}")
}

fn cell(results: &[Results], name: &str, case: &str) -> &'static str {
    let on = results.iter().filter_map(|on| on.passed.get(name)?.get(case));
    match on.copied().collect::<Vec<bool>>().as_slice() {
        [] => "–",
        all if all.len() == results.len() && all.iter().all(|passed| *passed) => "✓",
        _ => "**no**",
    }
}
