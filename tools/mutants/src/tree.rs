//! A copy of the sources with switches in it, and its tests, built once.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::sample::{listed, Mutant};
use crate::write::{self, Switch, FUNCTION};

/// A copy of the sources.
pub struct Tree {
    root: PathBuf,
    copy: PathBuf,
}

/// The test programs of the copy.
#[derive(Debug, Default)]
pub struct Programs {
    pub domain: Vec<PathBuf>,
    pub command: Vec<PathBuf>,
    pub server: Vec<PathBuf>,
    /// The copy of the sources.
    copy: PathBuf,
}

impl Programs {
    /// All test programs, the fastest first.
    pub fn all(&self) -> impl Iterator<Item = &PathBuf> {
        self.domain.iter().chain(&self.command).chain(&self.server)
    }

    /// The folder in which its tests run.
    pub fn folder(&self, program: &PathBuf) -> PathBuf {
        self.copy.join(if self.domain.contains(program) { "domain" } else { "" })
    }
}

/// A failed build: the numbers of its mutants, if they are known, and the compiler's output.
pub struct Broken {
    pub numbers: BTreeSet<usize>,
    pub said: String,
}

/// The mutants of the copy, each with its number.
pub type Numbered<'m> = BTreeMap<usize, &'m Mutant>;

/// Distance in lines from an error within which its mutant is searched.
const LINES_BESIDE: usize = 3;

impl Tree {
    /// Copies the files of the repository at `root` to `folder/tree`.
    pub fn copy(root: &Path, folder: &Path) -> Result<Tree, String> {
        let copy = folder.join("tree");
        let names = listed(root)?;
        if copy.is_dir() {
            let kept = names.iter().map(|name| copy.join(name)).collect();
            prune(&copy, &kept).map_err(|error| format!("{}: {error}", copy.display()))?;
        }
        for name in &names {
            put(&root.join(name), &copy.join(name))?;
        }
        Ok(Tree { root: root.to_owned(), copy })
    }

    /// Writes all files with mutants, and the two files with the switch.
    pub fn write(&self, mutants: &Numbered<'_>) -> Result<(), String> {
        let mut files: BTreeMap<&str, BTreeMap<(usize, usize), Switch>> = BTreeMap::new();
        for (number, mutant) in mutants {
            let range = &mutant.place.range;
            let switch = || Switch { place: mutant.place.clone(), mutants: Vec::new() };
            let switches = files.entry(&mutant.path).or_default();
            let switch = switches.entry((range.start, range.end)).or_insert_with(switch);
            switch.mutants.push((*number, mutant.instead.clone()));
        }
        for path in ["domain/src/lib.rs", "src/lib.rs"] {
            files.entry(path).or_default();
        }
        for (path, switches) in files {
            let source = read(&self.root.join(path))?;
            let switches: Vec<Switch> = switches.into_values().collect();
            let mut text = write::with_switches(&source, &switches);
            if path.ends_with("src/lib.rs") {
                text.push_str(FUNCTION);
            }
            write_changed(&self.copy.join(path), &text)?;
        }
        Ok(())
    }

    /// Writes the original file; its mutants are given up.
    pub fn restore(&self, path: &str) -> Result<(), String> {
        put(&self.root.join(path), &self.copy.join(path))
    }

    /// Builds all tests, or returns the mutants that do not compile.
    pub fn build(&self, has_commands: bool) -> Result<Result<Programs, Broken>, String> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(["test", "--no-run", "--message-format=json", "-p", "seckill-domain"]);
        if has_commands {
            command.args(["-p", "seckill", "--lib", "--test", "domain", "--test", "server"]);
        }
        let built = command
            .args(["--target-dir", "../target"])
            .current_dir(&self.copy)
            .env("RUSTFLAGS", "--cap-lints=allow")
            .env_remove("CARGO_TARGET_DIR")
            .stderr(Stdio::inherit())
            .output()
            .map_err(|error| format!("cargo does not start: {error}"))?;
        let text = String::from_utf8_lossy(&built.stdout);
        let messages: Vec<Value> =
            text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        Ok(match built.status.success() {
            true => Ok(programs(&messages, &self.copy)),
            false => Err(self.broken(&messages)),
        })
    }

    fn broken(&self, messages: &[Value]) -> Broken {
        let mut broken = Broken { numbers: BTreeSet::new(), said: String::new() };
        let errors = messages.iter().map(|message| &message["message"]);
        for error in errors.filter(|message| message["level"] == "error") {
            broken.said += error["rendered"].as_str().unwrap_or_default();
            let spans: Vec<&Value> = error["spans"].as_array().into_iter().flatten().collect();
            let line = |span: &Value| span["line_start"].as_u64().unwrap_or(1) as usize;
            for span in spans.iter().filter(|span| span["is_primary"] == true) {
                let path = self.copy.join(span["file_name"].as_str().unwrap_or_default());
                let (text, at) = (read(&path).unwrap_or_default(), line(span));
                let near = [0, LINES_BESIDE]
                    .map(|beside| numbers_in(&text, at.saturating_sub(beside), at + beside));
                // For a borrow error the mutant may be anywhere between the begin and the end of
                // the borrow.
                let lines = || spans.iter().map(|span| line(span));
                let between =
                    numbers_in(&text, lines().min().unwrap_or(1), lines().max().unwrap_or(1));
                let found = near.into_iter().chain([between]).find(|numbers| !numbers.is_empty());
                broken.numbers.extend(found.unwrap_or_default());
            }
        }
        broken
    }
}

/// The mutants between two lines.
fn numbers_in(text: &str, first: usize, last: usize) -> BTreeSet<usize> {
    let first = first.saturating_sub(1);
    let lines = text.lines().skip(first).take(last - first);
    let calls = lines.flat_map(|line| line.split("seckill_mutant(").skip(1));
    calls.filter_map(|rest| rest.split(')').next()?.parse().ok()).collect()
}

fn programs(messages: &[Value], copy: &Path) -> Programs {
    let mut programs = Programs { copy: copy.to_owned(), ..Programs::default() };
    for message in messages {
        let Some(path) = message["executable"].as_str() else { continue };
        let target = &message["target"];
        let list = match (target["name"].as_str(), target["kind"][0].as_str()) {
            (Some("seckill_domain" | "seckill-domain" | "domain"), _) => &mut programs.domain,
            (Some("server"), Some("test")) => &mut programs.server,
            (Some("seckill"), _) => &mut programs.command,
            _ => continue,
        };
        list.push(path.into());
    }
    // Tests beside the code are faster than those of `tests/domain`.
    programs.domain.sort_by_key(|path| !path.to_string_lossy().contains("seckill_domain"));
    programs
}

/// Removes files of an earlier copy that are not in `kept`.
fn prune(folder: &Path, kept: &BTreeSet<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        match path.is_dir() {
            true => prune(&path, kept)?,
            false if kept.contains(&path) => {}
            false => fs::remove_file(&path)?,
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn put(from: &Path, to: &Path) -> Result<(), String> {
    let trouble = |error: std::io::Error| format!("{}: {error}", to.display());
    // Deleted since the list was made, or a link.
    let Ok(bytes) = fs::read(from) else { return Ok(()) };
    if fs::read(to).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    fs::create_dir_all(to.parent().unwrap_or(to)).map_err(trouble)?;
    fs::copy(from, to).map(drop).map_err(trouble)
}

/// Writes a file only if its text changed, so that cargo builds no unchanged file again.
fn write_changed(path: &Path, text: &str) -> Result<(), String> {
    if fs::read_to_string(path).is_ok_and(|there| there == text) {
        return Ok(());
    }
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}
