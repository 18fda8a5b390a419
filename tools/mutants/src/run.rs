//! Tests one mutant: runs tests with it switched on until one fails.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::{mpsc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::tree::Programs;
use crate::write::VARIABLE;

#[derive(Clone, Debug)]
pub struct Test {
    pub program: PathBuf,
    pub name: String,
    /// Duration of the test without a mutant.
    pub takes: Duration,
    /// Numbers of the mutants that the test executes.
    pub reached: BTreeSet<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// This test failed.
    Caught(String),
    /// The tests or their program did not end in time.
    Stuck,
    /// All tests passed.
    Survived,
    /// No test executes its line.
    Unreached,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Caught(test) => f.write_str(test),
            other => write!(f, "({other:?})"),
        }
    }
}

/// Tests up to the first limit run together first, then tests up to the second limit. Each longer
/// test runs alone.
const TOGETHER: [Duration; 2] = [Duration::from_millis(50), Duration::from_millis(500)];
/// Timeout of a test with a mutant: this many times its normal duration, and at least the second
/// value.
const PATIENCE: (u32, Duration) = (8, Duration::from_secs(10));
/// Timeout for the tests of one program.
pub const DEADLINE: Duration = Duration::from_secs(300);
/// Memory limit of a test program in KiB, because some mutants allocate without end.
const MEMORY_KIB: usize = 6 << 20;
/// Server tests that measure time or memory: other load could make them fail.
pub const MEASURING_SERVER: [&str; 7] =
    ["soak", "fork::", "flood::", "memory::", "due_at_once::", "budget::", "defrag::"];

/// Calls `each` for all items, with so many threads, each of which has a number.
pub fn in_parallel<I>(jobs: usize, items: I, each: impl Fn(usize, I::Item) + Sync)
where
    I: Iterator + Send,
{
    let items = Mutex::new(items);
    let next = || items.lock().ok()?.next();
    thread::scope(|scope| {
        for job in 0..jobs.max(1) {
            let (next, each) = (&next, &each);
            scope.spawn(move || std::iter::from_fn(next).for_each(|item| each(job, item)));
        }
    });
}

/// Tries the mutant `number` on the tests that execute its line.
pub fn mutant(tests: &[Test], programs: &Programs, number: usize) -> Outcome {
    let reaching: Vec<&Test> = tests.iter().filter(|test| test.reached.contains(&number)).collect();
    if reaching.is_empty() {
        return Outcome::Unreached;
    }
    let batches = batches(&reaching, programs).into_iter();
    let mut outcomes = batches.map(|batch| together(batch, programs, number));
    outcomes.find(|outcome| *outcome != Outcome::Survived).unwrap_or(Outcome::Survived)
}

/// Runs tests of one program. A server test must fail twice, because some measure time.
fn together(mut batch: Vec<&Test>, programs: &Programs, number: usize) -> Outcome {
    while let Some(first) = batch.first() {
        let takes: Duration = batch.iter().map(|test| test.takes).sum();
        let deadline = (takes * PATIENCE.0).max(PATIENCE.1).min(DEADLINE);
        let is_server = programs.server.contains(&first.program);
        let run = |names: &[&str]| {
            // One test at a time, because another mutant runs at the same time.
            let words = [&["--test-threads=1", "--exact"], names].concat();
            noting(deadline, programs, &first.program, number, &words, &[])
        };
        match run(&batch.iter().map(|test| test.name.as_str()).collect::<Vec<_>>()) {
            Outcome::Caught(test) if is_server && run(&[&test]) == Outcome::Survived => {
                batch.retain(|other| other.name != test);
            }
            other => return other,
        }
    }
    Outcome::Survived
}

/// Groups of tests of one program that run together, the fastest first.
fn batches<'t>(tests: &[&'t Test], programs: &Programs) -> Vec<Vec<&'t Test>> {
    let mut batches = Vec::new();
    let mut shortest = Duration::ZERO;
    for longest in TOGETHER {
        for program in programs.all() {
            let is_in =
                |it: &&&Test| it.program == *program && (shortest..longest).contains(&it.takes);
            batches.push(tests.iter().filter(is_in).copied().collect());
        }
        shortest = longest;
    }
    let alone = tests.iter().filter(|test| test.takes >= shortest);
    batches.extend(alone.map(|test| vec![*test]));
    batches
}

/// Runs a test program until a test fails or it ends, with these environment variables and the
/// mutant's.
pub fn noting(
    deadline: Duration,
    programs: &Programs,
    program: &PathBuf,
    number: usize,
    words: &[&str],
    variables: &[(&str, &OsStr)],
) -> Outcome {
    // The test program and its servers end with the thread that waits for it.
    let limited = format!("ulimit -v {MEMORY_KIB}; exec \"$0\" \"$@\"");
    let started = seckill_harness::process::command("sh".as_ref())
        .args(["-c", &limited])
        .arg(program)
        .args(words)
        .current_dir(programs.folder(program))
        .env(VARIABLE, number.to_string())
        .envs(variables.iter().copied())
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut child =
        started.unwrap_or_else(|error| panic!("{} does not start: {error}", program.display()));
    let outcome = watch(&mut child, deadline);
    let _ = child.kill();
    let _ = child.wait();
    outcome
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
            // The time is over, or the program ended without a result: by a signal, or without
            // memory.
            Err(_) => return Outcome::Stuck,
        }
    }
}

/// The name of the failed test in a line of output.
fn failed(line: &str) -> Option<&str> {
    line.strip_prefix("test ")?.strip_suffix(" ... FAILED")
}
