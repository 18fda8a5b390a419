//! The list of mutants, and the random sample.

use std::fmt;
use std::fs;
use std::path::Path;
use std::process::Command;

use seckill_random::Random;

use crate::find::{self, Place};

/// One mutant: a place with one replacement.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// The path of the file in the repository.
    pub path: String,
    pub place: Place,
    pub instead: String,
    line: String,
}

impl Mutant {
    /// The name of the mutant in the list of equivalent ones; it does not change when lines move.
    pub fn key(&self) -> String {
        format!("{} {}: {} => {}", self.path, self.place.function, self.line, self.instead)
    }

    /// Whether tests of the domain must catch this mutant.
    pub fn is_domain(&self) -> bool {
        self.path.starts_with("domain/")
    }
}

impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mutant { path, place, instead, line } = self;
        write!(f, "{path}:{}: {}: `{line}` => `{instead}`", place.line, place.function)
    }
}

const FOLDERS: [&str; 2] = ["domain/src/", "src/"];
/// Files without mutants: tests, and the allocator, which the switches themselves call.
const LEFT_ALONE: [&str; 3] = ["tests.rs", "testing.rs", "alloc.rs"];

/// All mutants, in an order that depends only on the seed.
pub fn shuffled(root: &Path, seed: u64) -> Result<Vec<Mutant>, String> {
    let is_code = |path: &&String| {
        let name = path.rsplit('/').next().unwrap_or_default();
        FOLDERS.iter().any(|folder| path.starts_with(folder))
            && path.ends_with(".rs")
            && !LEFT_ALONE.contains(&name)
    };
    let mut all = Vec::new();
    for path in listed(root)?.iter().filter(is_code) {
        all.extend(of_file(&root.join(path), path)?);
    }
    Random(seed).shuffle(&mut all);
    Ok(all)
}

fn of_file(file: &Path, path: &str) -> Result<Vec<Mutant>, String> {
    let source = fs::read_to_string(file).map_err(|error| format!("{path}: {error}"))?;
    let places = find::places(&source).map_err(|error| format!("{path}: {error}"))?;
    let mutants = places.into_iter().flat_map(|place| {
        let line = source.lines().nth(place.line - 1).unwrap_or_default().trim().to_owned();
        let of = |instead: &String| Mutant {
            path: path.to_owned(),
            place: place.clone(),
            instead: instead.clone(),
            line: line.clone(),
        };
        place.breaks.iter().map(of).collect::<Vec<_>>()
    });
    Ok(mutants.collect())
}

/// The files of the repository at `root`, in order.
pub fn listed(root: &Path) -> Result<Vec<String>, String> {
    let listed = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .map_err(|error| format!("git does not start: {error}"))?;
    let listed = String::from_utf8_lossy(&listed.stdout);
    let names = listed.split_terminator('\0').filter(|name| root.join(name).is_file());
    let mut names: Vec<String> = names.map(str::to_owned).collect();
    names.sort_unstable();
    Ok(names)
}
