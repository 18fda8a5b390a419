//! Trying one mutant: tests run with it switched on until the first one fails.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use crate::reach::Test;
use crate::tree::Programs;
use crate::write::VARIABLE;

/// What became of a mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// This test failed.
    Caught(String),
    /// The tests did not come to an end, or the program did not end by itself.
    Stuck,
    /// All tests passed.
    Survived,
    /// No test comes to it.
    Unreached,
}

/// Tests of the domain that take so long at most are tried first, then those of the next.
const STAGES: [Duration; 3] =
    [Duration::from_millis(50), Duration::from_millis(1000), Duration::MAX];
/// A test with a mutant has so many times as long as without it, and so long at least.
const PATIENCE: (u32, Duration) = (8, Duration::from_secs(10));
/// The memory that a program may have, in KiB: some mutants ask for ever more.
const MEMORY_KIB: usize = 6 << 20;
/// Server tests that say much in little time, tried first.
const QUICK_SERVER: [&str; 9] = [
    "commands::",
    "errors::",
    "mgrab::",
    "holds::",
    "command_info::",
    "outbox::",
    "replication::",
    "red_packets::",
    "no_trace::",
];
/// Server tests that measure time or memory: another load could fail them.
const MEASURING_SERVER: [&str; 7] =
    ["soak", "fork::", "flood::", "memory::", "due_at_once::", "budget::", "defrag::"];

/// Tries the mutant `number` on those tests of the domain that come to it.
pub fn domain(tests: &[Test], programs: &Programs, folder: &Path, number: usize) -> Outcome {
    let reaching: Vec<&Test> = tests.iter().filter(|test| test.reached.contains(&number)).collect();
    if reaching.is_empty() {
        return Outcome::Unreached;
    }
    let mut shortest = Duration::ZERO;
    for longest in STAGES {
        let stage = reaching.iter().filter(|it| (shortest..longest).contains(&it.takes));
        let stage: Vec<&&Test> = stage.collect();
        for program in &programs.domain {
            let tests: Vec<_> = stage.iter().filter(|it| it.program == *program).collect();
            if tests.is_empty() {
                continue;
            }
            // One at a time: there is another mutant beside it.
            let mut words = vec!["--test-threads=1", "--exact"];
            words.extend(tests.iter().map(|test| test.name.as_str()));
            let takes: Duration = tests.iter().map(|test| test.takes).sum();
            let deadline = (takes * PATIENCE.0).max(PATIENCE.1).min(programs.deadline);
            match noting(deadline, program, &folder.join("domain"), number, &words, &[]) {
                Outcome::Survived => {}
                other => return other,
            }
        }
        shortest = longest;
    }
    Outcome::Survived
}

/// Tries the mutant `number` (0: none) on the tests of the commands and of the server. One that
/// fails must do so twice: some of them measure time.
pub fn commands(programs: &Programs, folder: &Path, number: usize) -> Outcome {
    for program in &programs.command {
        match run(programs, program, folder, number, &[]) {
            Outcome::Survived => {}
            other => return other,
        }
    }
    let skips = |names: &[&'static str]| {
        names.iter().flat_map(|name| ["--skip", name]).map(str::to_owned).collect::<Vec<_>>()
    };
    let quick: Vec<String> = QUICK_SERVER.map(str::to_owned).to_vec();
    let rest = [skips(&QUICK_SERVER), skips(&MEASURING_SERVER)].concat();
    for stage in [quick, rest] {
        for program in &programs.server {
            let mut stage = stage.clone();
            loop {
                let words: Vec<&str> = stage.iter().map(String::as_str).collect();
                let test = match run(programs, program, folder, number, &words) {
                    Outcome::Survived => break,
                    Outcome::Caught(test) => test,
                    other => return other,
                };
                match run(programs, program, folder, number, &["--exact", &test]) {
                    Outcome::Survived => stage.extend(["--skip".to_owned(), test]),
                    other => return other,
                }
            }
        }
    }
    Outcome::Survived
}

fn run(
    programs: &Programs,
    program: &Path,
    folder: &Path,
    number: usize,
    words: &[&str],
) -> Outcome {
    noting(programs.deadline, program, folder, number, words, &[])
}

/// Runs a test program until a test fails or it ends, with these variables beside the mutant's.
pub fn noting(
    deadline: Duration,
    program: &Path,
    folder: &Path,
    number: usize,
    words: &[&str],
    variables: &[(&str, &OsStr)],
) -> Outcome {
    let started = Command::new("sh")
        .args(["-c", &format!("ulimit -v {MEMORY_KIB}; exec \"$0\" \"$@\"")])
        .arg(program)
        .args(words)
        .current_dir(folder)
        .env(VARIABLE, number.to_string())
        .envs(variables.iter().copied())
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    match started {
        Ok(mut child) => {
            let outcome = watch(&mut child, deadline);
            let _ = child.kill();
            let _ = child.wait();
            outcome
        }
        Err(error) => panic!("{} does not start: {error}", program.display()),
    }
}

fn watch(child: &mut Child, deadline: Duration) -> Outcome {
    let (told, lines) = mpsc::channel();
    let out = child.stdout.take().map(BufReader::new);
    thread::spawn(move || {
        for line in out.into_iter().flat_map(BufRead::lines).map_while(Result::ok) {
            if told.send(line).is_err() {
                return;
            }
        }
    });
    let started = Instant::now();
    loop {
        match lines.recv_timeout(deadline.saturating_sub(started.elapsed())) {
            Ok(line) => {
                if let Some(test) = failed(&line) {
                    return Outcome::Caught(test.to_owned());
                }
                if line.starts_with("test result: ok") {
                    return Outcome::Survived;
                }
            }
            Err(RecvTimeoutError::Timeout) => return Outcome::Stuck,
            // It ended without a result: by a signal, or out of memory.
            Err(RecvTimeoutError::Disconnected) => return Outcome::Stuck,
        }
    }
}

/// The test that a line says has failed.
fn failed(line: &str) -> Option<&str> {
    line.strip_prefix("test ")?.strip_suffix(" ... FAILED")
}
