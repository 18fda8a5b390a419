//! Which mutants each test of the domain comes to, and how long it takes: a mutant is tried on
//! those alone that come to it, the quickest first.

use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::run::{self, Outcome};
use crate::tree::Programs;
use crate::write::NOTING;

/// Tests that take most of the time.
const LONG: [&str; 3] = ["enumeration", "property", "simulation"];

/// One test.
#[derive(Clone, Debug)]
pub struct Test {
    pub program: PathBuf,
    pub name: String,
    /// How long it takes without a mutant.
    pub takes: Duration,
    /// The numbers of the mutants that it comes to.
    pub reached: BTreeSet<usize>,
}

/// Runs each test of the domain once, alone, in a process of its own; the quickest come first.
///
/// # Errors
/// A sentence, where one fails without any mutant.
pub fn measure(
    programs: &Programs,
    folder: &Path,
    jobs: usize,
    quick: bool,
) -> Result<Vec<Test>, String> {
    let mut names = VecDeque::new();
    for program in &programs.domain {
        let is_left_out = |name: &str| quick && LONG.iter().any(|it| name.starts_with(it));
        let listed = listed(program)?.into_iter().filter(|name| !is_left_out(name));
        names.extend(listed.map(|name| (program, name)));
    }
    let (names, tests) = (Mutex::new(names), Mutex::new(Ok(Vec::new())));
    std::thread::scope(|scope| {
        for job in 0..jobs.max(1) {
            let (names, tests) = (&names, &tests);
            scope.spawn(move || loop {
                let next = || names.lock().ok()?.pop_front();
                let Some((program, name)) = next() else { return };
                let notes = folder.join(format!("reached-{job}"));
                let test = one(program, name, &folder.join("tree/domain"), &notes, programs);
                let Ok(mut tests) = tests.lock() else { return };
                match (test, &mut *tests) {
                    (Ok(test), Ok(tests)) => tests.push(test),
                    (Err(error), tests) => *tests = Err(error),
                    (Ok(_), Err(_)) => return,
                }
            });
        }
    });
    let mut tests = tests.into_inner().map_err(|error| error.to_string())??;
    tests.sort_by_key(|test| test.takes);
    Ok(tests)
}

fn one(
    program: &Path,
    name: String,
    folder: &Path,
    notes: &Path,
    programs: &Programs,
) -> Result<Test, String> {
    fs::write(notes, "").map_err(|error| format!("{}: {error}", notes.display()))?;
    let started = Instant::now();
    let with = [(NOTING.1, notes.as_os_str())];
    let words = ["--exact", &name];
    let outcome = run::noting(programs.deadline, program, folder, NOTING.0, &words, &with);
    if outcome != Outcome::Survived {
        return Err(format!("{name} fails without any mutant: {outcome:?}"));
    }
    let takes = started.elapsed();
    let text = fs::read_to_string(notes).map_err(|error| error.to_string())?;
    let reached = text.lines().filter_map(|line| line.parse().ok()).collect();
    Ok(Test { program: program.to_owned(), name, takes, reached })
}

/// The tests of a program that run when it is not asked for others.
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
