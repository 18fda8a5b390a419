//! Counts the server's instructions for each call with callgrind. They depend on the build and the
//! server's version, but hardly on the machine and not on what else it does.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use redis::{Connection, Pipeline};
use tempfile::TempDir;

use seckill_harness::program::Server;

pub const WINNING: &str = "GRAB: GRANTED";
pub const SOLDOUT: &str = "GRAB: SOLDOUT";
pub const ALREADY: &str = "GRAB: ALREADY";
pub const NOOP: &str = "no-op command";
/// What GRAB asks of the server in each case, without anything of its own.
pub const WINNING_CALLS: &str = "server calls of GRANTED";
pub const SOLDOUT_CALLS: &str = "server calls of SOLDOUT";
pub const ALREADY_CALLS: &str = "server calls of ALREADY";
pub const INCR: &str = "INCR";
const PING: &str = "PING";
pub const SADD: &str = "SADD";

/// Requests in one write, as redis-benchmark -P 32 sends them.
const PIPELINE: usize = 32;

/// One kind of call.
struct Case {
    name: &'static str,
    words: &'static [&'static str],
    /// Whether a fresh user follows the words of each call.
    with_user: bool,
}

const CASES: [Case; 10] = [
    Case { name: PING, words: &["PING"], with_user: false },
    Case { name: INCR, words: &["INCR", "count"], with_user: false },
    Case { name: SADD, words: &["SADD", "oset"], with_user: true },
    Case { name: NOOP, words: &["SECKILL.NOOP", "sale"], with_user: true },
    Case { name: WINNING_CALLS, words: &["SECKILL.NOOPGRAB", "sale"], with_user: true },
    Case { name: SOLDOUT_CALLS, words: &["SECKILL.NOOPSOLD", "gone"], with_user: true },
    Case { name: ALREADY_CALLS, words: &["SECKILL.NOOPMINE", "mine", "me"], with_user: false },
    Case { name: WINNING, words: &["SECKILL.GRAB", "sale"], with_user: true },
    Case { name: SOLDOUT, words: &["SECKILL.GRAB", "gone"], with_user: true },
    Case { name: ALREADY, words: &["SECKILL.GRAB", "mine", "me"], with_user: false },
];

/// Whether the programs are installed.
pub fn is_there() -> bool {
    ["valgrind", "vgdb"].iter().all(|program| {
        let mut command = Command::new(program);
        command.arg("--help").stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok()
    })
}

/// Instructions of one call of each kind.
pub type Counts = Vec<(&'static str, f64)>;

/// What all of them run with. The timer's work depends on how long a run takes, so there is as
/// little as there can be.
const SETTINGS: [&str; 4] = ["--hz", "1", "--dynamic-hz", "no"];

/// Counts every kind of call; those that judge nothing only where `noop`, the file of the module
/// that has them, is given.
///
/// # Errors
/// A sentence.
pub fn count(module: &Path, noop: Option<&Path>, calls: usize) -> Result<Counts, String> {
    count_those(|_| true, (module, noop), &SETTINGS, calls)
}

/// Counts the calls that write, with an append-only file.
///
/// # Errors
/// A sentence.
pub fn count_logged(module: &Path, noop: Option<&Path>, calls: usize) -> Result<Counts, String> {
    let settings = [&SETTINGS[..], &["--appendonly", "yes", "--appendfsync", "everysec"]].concat();
    let writes = |case: &Case| [SADD, WINNING_CALLS, WINNING].contains(&case.name);
    count_those(writes, (module, noop), &settings, calls)
}

fn count_those(
    wanted: fn(&Case) -> bool,
    (module, noop): (&Path, Option<&Path>),
    settings: &[&str],
    calls: usize,
) -> Result<Counts, String> {
    let named = noop.map(Path::to_string_lossy);
    let mut settings = settings.to_vec();
    settings.extend(named.iter().flat_map(|file| ["--loadmodule", file]));
    let folder = tempfile::tempdir().map_err(|e| format!("No temporary folder: {e}"))?;
    let out = format!("--callgrind-out-file={}", folder.path().join("calls").display());
    let through = ["valgrind", "-q", "--tool=callgrind", "--instr-atstart=no", &out];
    let server = Server::start_through(&through, module, &settings)?;
    let mut meter = Meter { connection: server.connect()?, pid: server.pid(), folder, users: 0 };
    for words in [
        // The server keeps the numbers below 10,000 as objects, so counting is dearer there.
        ["SET", "count", "10000"],
        ["SECKILL.INIT", "sale", "100000000"],
        ["SECKILL.INIT", "gone", "0"],
        // Of one unit, so that it is sold out: a sale that sells reads the clock as well.
        ["SECKILL.INIT", "mine", "1"],
        ["SECKILL.GRAB", "mine", "me"],
    ] {
        let done = redis::cmd(words[0]).arg(&words[1..]).exec(&mut meter.connection);
        done.map_err(|e| format!("{} failed: {e}", words[0]))?;
    }
    let needs_noop = |case: &Case| case.words[0].starts_with("SECKILL.NOOP");
    let can = |case: &Case| noop.is_some() || !needs_noop(case);
    let cases = CASES.iter().filter(|case| wanted(case) && can(case));
    cases.map(|case| Ok((case.name, meter.measure(case, calls)?))).collect()
}

struct Meter {
    connection: Connection,
    pid: u32,
    folder: TempDir,
    users: u64,
}

impl Meter {
    fn measure(&mut self, case: &Case, calls: usize) -> Result<f64, String> {
        // What is looked up or allocated once belongs to no call.
        self.call(case, calls / 2)?;
        self.tell_valgrind(&["instrumentation", "on"])?;
        self.call(case, calls)?;
        self.tell_valgrind(&["instrumentation", "off"])?;
        let before = self.dumps()?;
        self.tell_valgrind(&["dump"])?;
        let after = self.dumps()?;
        let new = after.iter().find(|file| !before.contains(file));
        let new = new.ok_or("callgrind wrote no profile")?;
        let text = fs::read_to_string(new).map_err(|e| format!("No profile: {e}"))?;
        let total = text.lines().find_map(|line| line.strip_prefix("totals: "));
        let total: f64 = total
            .and_then(|number| number.trim().parse().ok())
            .ok_or("callgrind's profile has no total")?;
        Ok(total / calls as f64)
    }

    fn call(&mut self, case: &Case, calls: usize) -> Result<(), String> {
        let mut left = calls;
        while left > 0 {
            let mut block = Pipeline::with_capacity(PIPELINE);
            for _ in 0..left.min(PIPELINE) {
                let command = block.cmd(case.words[0]).arg(&case.words[1..]);
                if case.with_user {
                    self.users += 1;
                    command.arg(format!("user:{:012}", scattered(self.users)));
                }
            }
            left -= left.min(PIPELINE);
            let replies: Result<Vec<redis::Value>, _> = block.query(&mut self.connection);
            replies.map_err(|e| format!("{} failed: {e}", case.name))?;
        }
        Ok(())
    }

    fn tell_valgrind(&self, words: &[&str]) -> Result<(), String> {
        let output = Command::new("vgdb")
            .arg(format!("--pid={}", self.pid))
            .args(words)
            .stdin(Stdio::null())
            .output()
            .map_err(|e| format!("vgdb does not start: {e}"))?;
        match output.status.success() {
            true => Ok(()),
            false => Err(format!("vgdb says: {}", String::from_utf8_lossy(&output.stderr))),
        }
    }

    fn dumps(&self) -> Result<Vec<PathBuf>, String> {
        let files = fs::read_dir(self.folder.path()).map_err(|e| format!("No profiles: {e}"))?;
        Ok(files.filter_map(|file| Some(file.ok()?.path())).collect())
    }
}

/// A number of twelve digits, no two alike.
fn scattered(number: u64) -> u64 {
    number * 61_803_398_871 % 1_000_000_000_039 % 1_000_000_000_000
}
