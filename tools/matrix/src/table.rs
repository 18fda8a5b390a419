//! Reads the results from the tests' output and makes the tables of the two pages.

use std::fmt;
use std::time::Duration;

use comfy_table::{presets, Table};
use seckill_harness::program::release;
use seckill_harness::skipped;

/// Ends the name of a server that uses four I/O threads.
const THREADS: &str = "-threads";

/// Family and version numbers of `redis-7.0.15`; `None` for another server or without a version.
pub fn version(name: &str) -> Option<(String, Vec<u32>)> {
    release(name.strip_suffix(THREADS).unwrap_or(name))
}

/// The title in tables: `Redis 7.0.15`.
fn title(name: &str) -> String {
    if let Some(name) = name.strip_suffix(THREADS) {
        return format!("{}, io-threads 4", title(name));
    }
    let (family, version) = name.split_once('-').unwrap_or((name, ""));
    let (first, rest) = family.split_at(family.len().min(1));
    format!("{}{rest} {version}", first.to_uppercase())
}

/// The result of all tests on one server.
pub struct Outcome {
    name: String,
    passed: usize,
    pub failed: Vec<String>,
    /// Tests that failed first and passed when run alone.
    at_last: Vec<String>,
    /// Tests that were skipped on this server, completely or in part.
    skipped: Vec<String>,
    /// True if the test program ended normally and printed its summary.
    is_whole: bool,
    took: Duration,
}

impl Outcome {
    /// Reads what a test binary printed.
    pub fn read(name: &str, log: &str, took: Duration) -> Outcome {
        let result = log.lines().find_map(|line| line.strip_prefix("test result: "));
        let number = |what: &str| -> usize {
            let words: Vec<&str> = result.unwrap_or_default().split([' ', ';']).collect();
            let place = words.iter().position(|word| *word == what);
            place.and_then(|at| words[at - 1].parse().ok()).unwrap_or_default()
        };
        let failed = log.lines().filter_map(|line| {
            line.strip_prefix("test ")?.strip_suffix(" ... FAILED").map(str::to_owned)
        });
        let failed: Vec<String> = failed.collect();
        let mut skipped: Vec<String> = log.lines().filter_map(skipped).map(str::to_owned).collect();
        skipped.sort_unstable();
        skipped.dedup();
        Outcome {
            name: name.to_owned(),
            // The test program counts skipped tests as passed.
            passed: number("passed").saturating_sub(skipped.len()),
            // A failed test whose line can't be parsed still counts.
            is_whole: result.is_some() && number("failed") == failed.len(),
            failed,
            at_last: Vec::new(),
            skipped,
            took,
        }
    }

    /// Records that a failed test passed when run alone.
    pub fn passed_at_last(&mut self, test: &str) {
        self.failed.retain(|failed| failed != test);
        self.at_last.push(test.to_owned());
        self.passed += 1;
    }

    /// No test failed, and at least one ran.
    pub fn is_clean(&self) -> bool {
        self.is_whole && self.failed.is_empty() && self.passed > 0
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (passed, failed, skipped) = (self.passed, self.failed.len(), self.skipped.len());
        let seconds = self.took.as_secs();
        write!(f, "{passed} passed, {failed} failed, {skipped} skipped, {seconds} s")?;
        self.at_last
            .iter()
            .try_for_each(|name| write!(f, "\n        passed at the second try: {name}"))?;
        self.failed.iter().try_for_each(|name| write!(f, "\n        FAILED {name}"))?;
        match self.is_clean() {
            true => Ok(()),
            false => write!(f, "\n        see target/matrix/{}.log", self.name),
        }
    }
}

/// Tests that were skipped on all of these servers, so they are untested.
pub fn run_nowhere(outcomes: &[Outcome]) -> Vec<&str> {
    let Some((first, others)) = outcomes.split_first() else { return Vec::new() };
    let is_everywhere = |test: &&String| others.iter().all(|other| other.skipped.contains(test));
    first.skipped.iter().filter(is_everywhere).map(String::as_str).collect()
}

/// Whether one server could load another's data.
pub struct Pair {
    what: String,
    from: String,
    to: String,
    outcome: String,
}

impl Pair {
    /// Reads a line such as `replica redis-7.0.15 redis-7.2.4 equal`.
    pub fn read(line: &str) -> Option<Pair> {
        let words: Vec<&str> = line.split(' ').collect();
        let [what, from, to, outcome] = words[..] else { return None };
        let is_pair = ["replica", "snapshot", "refuses"].contains(&what);
        let [what, from, to, outcome] = [what, from, to, outcome].map(str::to_owned);
        is_pair.then_some(Pair { what, from, to, outcome })
    }
}

/// A page with the words of its tables.
pub struct Words {
    pub page: &'static str,
    head: [&'static str; 6],
    refuses: &'static str,
    equal: &'static str,
    not_tried: &'static str,
    replica: &'static str,
    snapshot: &'static str,
}

pub const LANGUAGES: [Words; 2] = [
    Words {
        page: "docs/servers.md",
        head: ["server", "passed", "of them at a second try", "failed", "skipped", "seconds"],
        refuses: "refuses to load the module, and says why",
        equal: "equal",
        not_tried: "not tried",
        replica: "From the primary on the left to the replica above:",
        snapshot: "From the server on the left, which wrote a snapshot, to the one above:",
    },
    Words {
        page: "docs/zh/servers.md",
        head: ["服务端", "通过", "其中第二次才过", "失败", "跳过", "秒"],
        refuses: "拒绝加载模块，并说明原因",
        equal: "一致",
        not_tried: "没有测",
        replica: "左边是主节点，上边是从节点：",
        snapshot: "左边的服务端写快照，上边的加载：",
    },
];

pub fn page(outcomes: &[Outcome], pairs: &[Pair], words: &Words) -> String {
    let mut parts = vec![results(outcomes, pairs, words)];
    for (what, head) in [("replica", words.replica), ("snapshot", words.snapshot)] {
        parts.push(format!("{head}\n\n{}", cross(what, pairs, words)));
    }
    parts.join("\n\n") + "\n"
}

fn markdown() -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table
}

fn results(outcomes: &[Outcome], pairs: &[Pair], words: &Words) -> String {
    let mut table = markdown();
    table.set_header(words.head);
    for refused in pairs.iter().filter(|pair| pair.what == "refuses") {
        table.add_row([title(&refused.from).as_str(), words.refuses, "", "", "", ""]);
    }
    for outcome in outcomes {
        let Outcome { passed, at_last, failed, skipped, .. } = outcome;
        let numbers = [*passed, at_last.len(), failed.len(), skipped.len()];
        let mut row = vec![title(&outcome.name)];
        row.extend(numbers.map(|number| number.to_string()));
        row.push(outcome.took.as_secs().to_string());
        table.add_row(row);
    }
    table.to_string()
}

/// A table of the servers whose data each server can read.
fn cross(what: &str, pairs: &[Pair], words: &Words) -> String {
    let pairs: Vec<&Pair> = pairs.iter().filter(|pair| pair.what == what).collect();
    let mut names: Vec<&str> = pairs.iter().map(|pair| pair.from.as_str()).collect();
    names.dedup();
    let mut table = markdown();
    let heads = names.iter().map(|name| title(name));
    table.set_header(std::iter::once(String::new()).chain(heads));
    for from in &names {
        let cell = |to: &&str| {
            let pair = pairs.iter().find(|pair| pair.from == *from && pair.to == **to);
            pair.map_or(words.not_tried, |pair| match pair.outcome.as_str() {
                "refused" => "–",
                "equal" => words.equal,
                other => other,
            })
            .to_owned()
        };
        table.add_row(std::iter::once(title(from)).chain(names.iter().map(cell)));
    }
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(skipped: &str) -> Outcome {
        let log = format!(
            "test one ... ok\n{skipped}test a::b ... SKIPPED c::d: no disk\nok\n\
             test result: ok. 5 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out\n"
        );
        Outcome::read("redis-7.0.15", &log, Duration::ZERO)
    }

    #[test]
    fn servers_have_a_name_for_people() {
        assert_eq!(title("redis-7.0.15"), "Redis 7.0.15");
        assert_eq!(title("valkey-9.1.2-threads"), "Valkey 9.1.2, io-threads 4");
        assert_eq!(version("valkey-9.1.2-threads"), version("valkey-9.1.2"));
        assert_eq!(version("redis-7.0.15-source"), None);
        assert_eq!(version("mysql-9.7.4"), None);
    }

    #[test]
    fn what_was_left_out_has_not_passed() {
        let all = [outcome("SKIPPED a::b: no clock\nSKIPPED a::b: no sun\n"), outcome("")];
        assert_eq!(all.each_ref().map(|it| (it.passed, it.skipped.len())), [(3, 2), (4, 1)]);
        assert!(all.iter().all(Outcome::is_clean));
        assert_eq!(run_nowhere(&all), ["c::d"]);
        assert_eq!(run_nowhere(&all[..1]), ["a::b", "c::d"]);
        assert_eq!(run_nowhere(&[]), [""; 0]);
    }
}
