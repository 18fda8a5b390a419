//! Runs the server tests on every server that `.ci/servers` has downloaded, then the tests between
//! different versions. Writes the tables of docs/servers.md and its Chinese version.
//!
//! ```text
//! target/debug/matrix --servers "$(.ci/servers --where)"
//! ```

mod table;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use clap::Parser;
use seckill_harness::page::write_between;

use table::{Outcome, Pair, LANGUAGES};

/// Tests the module on many servers.
#[derive(Parser)]
struct Options {
    /// Folder with an executable <family>-<version>/server for each server
    #[arg(long, value_name = "FOLDER")]
    servers: PathBuf,
}

/// Marks around the tables of a page.
const MARKS: [&str; 2] = ["<!-- tables: make matrix -->\n", "<!-- end of the tables -->"];

const LOGS: &str = "target/matrix";

/// The tests between different servers.
const MIXED: &str = "mixed::";

fn main() -> ExitCode {
    seckill_harness::program::exit_told(run(&Options::parse().servers))
}

/// Returns whether all tests passed.
fn run(servers: &Path) -> Result<bool, String> {
    let names = names(servers)?;
    fs::create_dir_all(LOGS).map_err(|e| format!("No folder {LOGS}: {e}"))?;
    eprintln!("Building the tests ...");
    let tests = test_binary()?;
    let mut outcomes = Vec::new();
    for (at, name) in names.iter().enumerate() {
        eprint!("[{}/{}] {name:<14} ", at + 1, names.len());
        let outcome = suite(&tests, servers, name)?;
        eprintln!("{outcome}");
        outcomes.push(outcome);
    }
    eprint!("servers with each other ... ");
    let (mixed, pairs) = mixed(&tests, servers)?;
    eprintln!("{mixed}");
    let texts = LANGUAGES.each_ref().map(|words| table::page(&outcomes, &pairs, words));
    println!("{}", texts[0]);
    let run_nowhere = table::run_nowhere(&outcomes);
    if !run_nowhere.is_empty() {
        return Err(format!("No server ran these tests: {}", run_nowhere.join(", ")));
    }
    outcomes.push(mixed);
    let all_passed = outcomes.iter().all(Outcome::is_clean);
    for (words, text) in LANGUAGES.iter().zip(&texts) {
        write_between(Path::new(words.page), MARKS, &format!("\n{text}\n"))?;
    }
    Ok(all_passed)
}

/// Servers that can load the module. Older ones are used only in the mixed tests.
fn names(servers: &Path) -> Result<Vec<String>, String> {
    let there = fs::read_dir(servers).map_err(|e| format!("{}: {e}", servers.display()))?;
    let name = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        let is_server = entry.path().join("server").is_file();
        (is_server && table::version(&name)?.1 >= [7, 0].to_vec()).then_some(name)
    };
    let mut names: Vec<String> = there.filter_map(|entry| name(entry.ok()?)).collect();
    names.sort_by_key(|name| (table::version(name), name.clone()));
    match names.is_empty() {
        true => Err(format!("There is no server in {}", servers.display())),
        false => Ok(names),
    }
}

/// Builds the server tests once. Returns the path of the test program.
fn test_binary() -> Result<PathBuf, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["test", "--workspace", "--test", "server", "--no-run", "--message-format=json"])
        .stderr(Stdio::null())
        .output()
        .map_err(|e| format!("cargo does not start: {e}"))?;
    let text = String::from_utf8_lossy(&built.stdout);
    let messages =
        text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let binary = |message: serde_json::Value| {
        let is_ours = message["target"]["name"] == "server";
        is_ours.then(|| message["executable"].as_str().map(PathBuf::from)).flatten()
    };
    let found = messages.filter_map(binary).next();
    found.ok_or_else(|| "The tests do not build; see: cargo test --no-run".into())
}

fn suite(tests: &Path, servers: &Path, name: &str) -> Result<Outcome, String> {
    let server = servers.join(name).join("server");
    let started = Instant::now();
    // Ignored tests don't test one server: the soak test, and tests between servers.
    let mut command = Command::new(tests);
    command.args(["--skip", "soak", "--skip", MIXED]).env("SECKILL_TEST_SERVER", &server);
    let log = logged(&mut command, name)?;
    let mut outcome = Outcome::read(name, &log, started.elapsed());
    // Failed tests are tried once more, alone, because some measure time on a busy machine. The
    // table shows that.
    for test in outcome.failed.clone() {
        let mut command = Command::new(tests);
        command.args(["--exact", &test]).env("SECKILL_TEST_SERVER", &server);
        let log = logged(&mut command, &format!("{name}-{}", test.replace("::", "-")))?;
        if Outcome::read(name, &log, started.elapsed()).is_clean() {
            outcome.passed_at_last(&test);
        }
    }
    Ok(outcome)
}

fn mixed(tests: &Path, servers: &Path) -> Result<(Outcome, Vec<Pair>), String> {
    let started = Instant::now();
    let mut command = Command::new(tests);
    command.args([MIXED, "--ignored", "--nocapture"]).env("SECKILL_MATRIX", servers);
    let log = logged(&mut command, "mixed")?;
    let pairs = log.lines().filter_map(Pair::read).collect();
    Ok((Outcome::read("mixed", &log, started.elapsed()), pairs))
}

/// Runs a command. The command's output goes into a file and is returned.
fn logged(command: &mut Command, name: &str) -> Result<String, String> {
    let path = Path::new(LOGS).join(format!("{name}.log"));
    let trouble = |e: std::io::Error| format!("{}: {e}", path.display());
    let file = File::create(&path).map_err(trouble)?;
    let errors = file.try_clone().map_err(trouble)?;
    let ended = command.stdin(Stdio::null()).stdout(file).stderr(errors).status();
    ended.map_err(|e| format!("The tests do not start: {e}"))?;
    let bytes = fs::read(&path).map_err(trouble)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
