//! Rules that no lint can check: allowed names by folder, line length, and forbidden text. The
//! other rules are in Cargo.toml under `[workspace.lints]`.

// A test that can't continue panics with a message.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable)]

mod languages;
mod rules;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const LINE_CHARS_MAX: usize = 100;

/// Names that files of a folder must not use, also in unit tests. Uses go from lib to command to
/// server. The domain is a package that uses none of them.
const FORBIDDEN_NAMES: &[(&str, &[&str])] = &[
    ("domain/src/", &["std::time", "std::fs", "std::net", "std::env", "std::thread"]),
    ("src/server/", &["crate::command", "super::super::command"]),
    ("src/command/", &["redis_module", "libc", "std::time", "std::fs", "std::net", "std::env"]),
];

struct Source {
    path: String,
    lines: Vec<String>,
}

impl Source {
    /// All lines with their numbers, without comments and string contents.
    fn code(&self) -> impl Iterator<Item = (usize, String)> + '_ {
        let lines = self.lines.iter().enumerate();
        lines.map(|(at, line)| (at, bare(line))).filter(|(_, line)| !line.is_empty())
    }

    fn is_in(&self, folder: &str) -> bool {
        self.path.starts_with(folder)
    }

    fn place(&self, at: usize) -> String {
        format!("{}:{}", self.path, at + 1)
    }
}

/// A line without its comment and without text between quotes.
fn bare(line: &str) -> String {
    let mut code = String::new();
    let mut quoted = false;
    let line = line.replace("'\"'", "");
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if quoted => drop(letters.next()),
            '"' => quoted = !quoted,
            _ if quoted => {}
            '/' if letters.peek() == Some(&'/') => break,
            _ => code.push(letter),
        }
    }
    code.trim_end().to_owned()
}

fn sources() -> Vec<Source> {
    let folders =
        ["src", "domain", "cli", "tests", "tools", "lab", "examples", "fuzz", "clients/runner"];
    files_in(&folders, "rs")
}

/// The files of these folders with this extension.
fn files_in(folders: &[&str], ext: &str) -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for folder in folders {
        collect(&root.join(folder), ext, &mut files);
    }
    files.sort();
    let read = |path: &PathBuf| {
        let text = fs::read_to_string(path).unwrap();
        let path = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        Source { path, lines: text.lines().map(str::to_owned).collect() }
    };
    files.iter().map(read).collect()
}

fn collect(folder: &Path, ext: &str, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            // What somebody has built in lab/ or fuzz/ by cargo alone is not ours.
            if !path.ends_with("target") {
                collect(&path, ext, files);
            }
        } else if path.extension().is_some_and(|its| its == ext) {
            files.push(path);
        }
    }
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|letter: char| !letter.is_alphanumeric() && letter != '_')
}

fn assert_none(what: &str, found: Vec<String>) {
    assert!(found.is_empty(), "{what}:\n{}", found.join("\n"));
}

#[test]
fn the_sources_are_found() {
    let sources = sources();
    for room in ["domain/src/", "src/server/", "src/command/", "tests/"] {
        assert!(sources.iter().any(|source| source.is_in(room)), "{room}");
    }
}

#[test]
fn no_arrow_runs_backwards() {
    let mut found = Vec::new();
    for source in sources() {
        for (folder, names) in FORBIDDEN_NAMES {
            if !source.is_in(folder) {
                continue;
            }
            for (at, line) in source.code() {
                if names.iter().any(|name| line.contains(name)) {
                    found.push(format!("{} {}", source.place(at), line.trim()));
                }
            }
        }
    }
    assert_none("a room uses what it must not know", found);
}

#[test]
fn lib_is_the_module_macro_and_nothing_else() {
    let sources = sources();
    let lib = sources.iter().find(|source| source.path == "src/lib.rs").unwrap();
    let defines = |line: &str| words(line).any(|w| ["fn", "struct", "enum", "impl"].contains(&w));
    let found = lib.code().filter(|(_, line)| defines(line)).map(|(at, _)| lib.place(at));
    assert_none("lib.rs defines something", found.collect());
}

#[test]
fn lines_are_short() {
    let mut found = Vec::new();
    for source in sources() {
        for (at, line) in source.lines.iter().enumerate() {
            // An exact reply in a test stays on one line, so strings don't count there.
            let counted = if source.path.contains("tests/") { &bare(line) } else { line };
            if counted.chars().count() > LINE_CHARS_MAX {
                found.push(source.place(at));
            }
        }
    }
    assert_none("lines too long", found);
}

#[test]
fn nothing_unfinished_is_left() {
    // Composed here, so that this file has no such mark itself.
    let marks = [["TO", "DO"], ["FIX", "ME"], ["XX", "X"], ["todo", "!("], ["HA", "CK"]];
    let marks = marks.map(|parts| parts.concat());
    let mut found = Vec::new();
    for source in sources() {
        for (at, line) in source.lines.iter().enumerate() {
            if marks.iter().any(|mark| line.contains(mark.as_str())) {
                found.push(source.place(at));
            }
        }
    }
    assert_none("unfinished", found);
}

/// A function of the module API that is called without a null check must be in the list of
/// functions that loading requires.
#[test]
fn functions_of_the_server_are_looked_for() {
    let sources = sources();
    let (mut called, mut looked_for) = (BTreeSet::new(), BTreeSet::new());
    for source in sources.iter().filter(|source| source.is_in("src/server/")) {
        let text = source.lines.join(" ");
        for after in text.split("api!(").skip(1) {
            called.extend(words(after.trim_start()).next().map(str::to_owned));
        }
        if let Some((_, list)) = text.split_once("required! {") {
            looked_for.extend(words(list.split('}').next().unwrap()).map(str::to_owned));
        }
    }
    called.retain(|name| name.starts_with("RedisModule_"));
    looked_for.retain(|name| !name.is_empty());
    assert!(called.len() > 50, "they are found: {called:?}");
    assert_eq!(looked_for, called);
}

/// `file`: `test` in tables of ARCHITECTURE.md about tests/server.
#[test]
fn the_tests_that_architecture_names_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    let named = page.lines().filter_map(|line| {
        let (file, test) = line.strip_suffix("` |")?.rsplit_once("`: `")?;
        Some((file.rsplit('`').next()?, test))
    });
    let is_missing = |(file, test): &(&str, &str)| {
        let text = fs::read_to_string(root.join("tests/server").join(file)).unwrap_or_default();
        !text.contains(&format!("#[test]\nfn {test}()"))
    };
    let (missing, found): (Vec<_>, Vec<_>) = named.partition(is_missing);
    assert!(found.len() > 20, "they are found");
    assert!(missing.is_empty(), "ARCHITECTURE.md names tests that are not there: {missing:?}");
}

/// `make broken`, `make sanitize` and `make upgrade-test` apply them to the sources.
#[test]
fn patches_apply() {
    for patch in ["tests/broken/broken.patch", "tests/upgrade/made_up.patch"] {
        let mut git = Command::new("git");
        git.args(["apply", "--check", patch]).current_dir(env!("CARGO_MANIFEST_DIR"));
        let output = git.output().expect("git");
        assert!(output.status.success(), "{patch}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// `.ci/servers` replaces the folder of a name in its cache; of no name that is the whole cache.
#[test]
fn a_wrong_name_of_a_server_is_an_error_and_deletes_nothing() {
    let cache = tempfile::tempdir().expect("a folder");
    let tree = cache.path().join("debian-trixie");
    fs::create_dir(&tree).expect("a folder");
    for name in ["", "debian-trixie", "redis-", "-threads"] {
        let mut servers = Command::new(".ci/servers");
        servers.arg(name).env("SECKILL_SERVERS", cache.path());
        let status = servers.current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("bash").status;
        assert!(!status.success(), "it fetched '{name}'");
        assert!(tree.exists(), "'{name}' deleted the tree of other servers");
    }
}

#[test]
fn every_file_says_what_it_is_for() {
    let says = |source: &Source| source.lines.first().is_some_and(|line| line.starts_with("//!"));
    let found = sources().iter().filter(|source| !says(source)).map(|s| s.path.clone()).collect();
    assert_none("files without a head comment", found);
}

#[test]
fn each_target_of_make_has_its_sentence_and_a_newcomer_sees_few() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("Makefile")).unwrap().replace("\\\n", " ");
    let declared = text.lines().find_map(|line| line.strip_prefix(".PHONY: ")).unwrap();
    let said = |target: &str| {
        let rules = text.lines().filter_map(|line| line.strip_prefix(&format!("{target}:")));
        rules.filter_map(|rest| Some(rest.split_once("## ")?.1.split_once(": ")?.0)).next()
    };
    let groups = ["use", "test", "measure", "release", "docs", "more"];
    let no_sentence = |target: &&str| !said(target).is_some_and(|group| groups.contains(&group));
    let targets = || declared.split_whitespace().filter(|target| !target.ends_with("deps"));
    assert_none(
        "targets without a sentence",
        targets().filter(no_sentence).map(str::to_owned).collect(),
    );
    let shown = declared
        .split_whitespace()
        .filter(|target| said(target).is_some_and(|group| group != "more"));
    assert!(shown.count() <= 25, "`make help` shows more than 25 targets");
}
