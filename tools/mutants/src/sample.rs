//! The list of mutants, and the random sample.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use seckill_random::Random;

use crate::find::{self, Place};

/// One mutant: a place with one replacement.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// The path of the file in the repository.
    pub path: String,
    pub place: Place,
    /// The replacement.
    pub instead: String,
    /// The original line.
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

/// Folders with mutants.
const FOLDERS: [&str; 2] = ["domain/src", "src"];
/// Files without mutants: tests, and the allocator, which the switches themselves call.
const LEFT_ALONE: [&str; 3] = ["tests.rs", "testing.rs", "alloc.rs"];

/// All mutants, in an order that depends only on the seed.
pub fn shuffled(root: &Path, seed: u64) -> Result<Vec<Mutant>, String> {
    let mut all = Vec::new();
    for folder in FOLDERS {
        let mut files = Vec::new();
        collect(&root.join(folder), &mut files)?;
        files.sort_unstable();
        for file in files {
            let path = file.strip_prefix(root).unwrap_or(&file).display().to_string();
            all.extend(of_file(&file, &path)?);
        }
    }
    Random(seed).shuffle(&mut all);
    Ok(all)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let trouble = |error: std::io::Error| format!("{}: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(trouble)? {
        let path = entry.map_err(trouble)?.path();
        let name = path.file_name().unwrap_or_default();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|it| it == "rs")
            && !LEFT_ALONE.iter().any(|it| name == *it)
        {
            files.push(path);
        }
    }
    Ok(())
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
