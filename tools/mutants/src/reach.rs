//! Measures which mutants each test executes, and how long the test takes. A mutant is tested only
//! by the tests that execute it, the fastest first.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::Instant;

use crate::run::{self, Outcome, Test, DEADLINE, MEASURING_SERVER};
use crate::tree::Programs;
use crate::write::NOTING;

/// Tests of the domain that take most of the total time.
const LONG: [&str; 2] = ["enumeration", "property"];
/// Number of tests that may fail because the machine is busy.
const LEFT_OUT_MAX: usize = 3;

/// Runs each test once, alone in its process. Returns the tests, the fastest first.
pub fn measure(
    programs: &Programs,
    folder: &Path,
    jobs: usize,
    quick: bool,
) -> Result<Vec<Test>, String> {
    let mut names = Vec::new();
    for program in programs.all() {
        let left_out: &[&str] = match programs.server.contains(program) {
            true => &MEASURING_SERVER,
            false if quick => &LONG,
            false => &[],
        };
        let is_left_out = |name: &str| left_out.iter().any(|it| name.starts_with(it));
        let listed = listed(program)?.into_iter().filter(|name| !is_left_out(name));
        names.extend(listed.map(|name| (program, name)));
    }
    let (all, tests) = (names.len(), Mutex::new(Vec::new()));
    run::in_parallel(jobs, names.into_iter(), |job, (program, name)| {
        let notes = folder.join(format!("reached-{job}"));
        // A server test may fail once on a busy machine.
        let mut tries = (0..2).map(|_| one(program, &name, &notes, programs));
        match (tries.find_map(Result::ok), tests.lock()) {
            (Some(test), Ok(mut tests)) => tests.push(test),
            _ => eprintln!("left out, because it fails without any mutant: {name}"),
        }
    });
    let mut tests = tests.into_inner().map_err(|error| error.to_string())?;
    if tests.len() + LEFT_OUT_MAX < all {
        return Err(format!("Only {} of {all} tests pass without any mutant", tests.len()));
    }
    tests.sort_by_key(|test| test.takes);
    Ok(tests)
}

fn one(program: &PathBuf, name: &str, notes: &Path, programs: &Programs) -> Result<Test, String> {
    fs::write(notes, "").map_err(|error| format!("{}: {error}", notes.display()))?;
    let started = Instant::now();
    let with = [(NOTING.1, notes.as_os_str())];
    let words = ["--exact", name];
    let outcome = run::noting(DEADLINE, programs, program, NOTING.0, &words, &with);
    if outcome != Outcome::Survived {
        return Err(format!("{outcome:?}"));
    }
    let takes = started.elapsed();
    let text = fs::read_to_string(notes).map_err(|error| error.to_string())?;
    let reached = text.lines().filter_map(|line| line.parse().ok()).collect();
    Ok(Test { program: program.to_owned(), name: name.to_owned(), takes, reached })
}

/// The tests that a program runs by default.
fn listed(program: &Path) -> Result<Vec<String>, String> {
    let list = |more: &[&str]| {
        let output = Command::new(program).args(["--list", "--format=terse"]).args(more).output();
        let output = output.map_err(|error| format!("{}: {error}", program.display()))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let names = text.lines().filter_map(|line| line.strip_suffix(": test"));
        Ok::<_, String>(names.map(str::to_owned).collect::<Vec<_>>())
    };
    let ignored: BTreeSet<String> = list(&["--ignored"])?.into_iter().collect();
    Ok(list(&[])?.into_iter().filter(|name| !ignored.contains(name)).collect())
}
