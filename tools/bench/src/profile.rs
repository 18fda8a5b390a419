//! Profile of the server's main thread for the first rows: samples of `perf record`, summed up by
//! the owner of the code, and the most expensive functions.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{kill_process, Pid, Signal};

use crate::cases::{sale, Bench};
use crate::contenders::{module_plain, module_recommended, SetUp};
use crate::control::Control;
use crate::load::{send, spread, Request, PIPELINED, USERS};

/// Samples a second.
const FREQUENCY: &str = "4000";
/// Number of functions that are named for each load.
const NAMED: usize = 10;
/// Time that perf needs to attach.
const ATTACH: Duration = Duration::from_millis(300);
/// Enough calls for several thousand samples.
const CALLS: u64 = 500_000;

/// The owner of code, by the first letters of its file name. All other files are libraries.
const OWNERS: [(&str, &[&str]); 4] = [
    ("server", &["redis-", "valkey-", "binary"]),
    ("kernel", &["[k"]),
    ("module", &["libseckill"]),
    ("libraries", &[""]),
];

/// The profile of one load, largest share first: percent, owner, function.
pub struct Profile {
    load: &'static str,
    shares: Vec<(f64, &'static str, String)>,
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sum = |of: &str| -> f64 {
            let of = self.shares.iter().filter(|(_, owner, _)| *owner == of);
            of.map(|(percent, ..)| percent).sum()
        };
        let sums = OWNERS.map(|(owner, _)| format!("{owner} {:.0}%", sum(owner)));
        let named = self.shares.iter().take(NAMED);
        let named = named.map(|(percent, _, function)| format!("`{function}` {percent:.1}%"));
        let named = named.collect::<Vec<_>>().join(", ");
        write!(f, "- **{}**: {}. {named}.", self.load, sums.join(", "))
    }
}

/// Profiles the calls that have hard bars.
///
/// # Errors
/// A message that says what failed.
pub fn all(bench: &Bench) -> Result<Vec<Profile>, String> {
    let mut profiles = Vec::new();
    let contenders: [SetUp; 2] = [module_recommended, module_plain];
    for set_up in contenders {
        let mut control = bench.server(&sale::AOF)?;
        for (load, request) in set_up(&mut control, CALLS)? {
            profiles.push(profile(load, &control, &request)?);
        }
    }
    Ok(profiles)
}

fn profile(load: &'static str, control: &Control, request: &Request) -> Result<Profile, String> {
    let folder = tempfile::tempdir().map_err(|e| format!("No temporary folder: {e}"))?;
    let perf = Perf::start(control.pid(), &folder.path().join("perf.data"))?;
    send(control.port(), request, spread(CALLS, USERS), PIPELINED)?;
    Ok(Profile { load, shares: perf.finish()? })
}

/// A running perf that records one process.
struct Perf {
    child: Child,
    file: PathBuf,
}

impl Perf {
    fn start(pid: u32, file: &Path) -> Result<Perf, String> {
        let mut command = Command::new("perf");
        command.args(["record", "-q", "-e", "cpu-clock", "-F", FREQUENCY]);
        // Only the main thread: its thread id is the process id.
        command.args(["-t", &pid.to_string(), "-o"]).arg(file);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().map_err(|e| format!("perf does not start: {e}"))?;
        std::thread::sleep(ATTACH);
        Ok(Perf { child, file: file.to_owned() })
    }

    /// Stops `perf` and reads its samples.
    fn finish(mut self) -> Result<Vec<(f64, &'static str, String)>, String> {
        let ended = kill_process(Pid::from_child(&self.child), Signal::INT);
        ended.map_err(|e| format!("perf can't be stopped: {e}"))?;
        self.child.wait().map_err(|e| format!("perf does not end: {e}"))?;
        let mut command = Command::new("perf");
        command.args(["report", "--stdio", "--no-children", "-g", "none", "-q", "-t", "\t"]);
        command.args(["--sort", "dso,symbol", "-F", "overhead,dso,symbol", "-i"]).arg(&self.file);
        let output = command.output().map_err(|e| format!("perf does not report: {e}"))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut shares: Vec<_> = text.lines().filter_map(share).collect();
        shares.sort_by(|(a, ..), (b, ..)| b.total_cmp(a));
        match shares.is_empty() {
            true => Err(format!("perf saw nothing: {}", String::from_utf8_lossy(&output.stderr))),
            false => Ok(shares),
        }
    }
}

/// A line of the report: percent, object file, and function after a mark.
fn share(line: &str) -> Option<(f64, &'static str, String)> {
    let mut fields = line.split('\t').map(str::trim);
    let percent = fields.next()?.trim_end_matches('%').parse().ok()?;
    let object = fields.next()?;
    let owner = OWNERS.iter().find(|(_, names)| names.iter().any(|name| object.starts_with(name)));
    let function = fields.next()?;
    let function = function.split_once("] ").map_or(function, |(_, name)| name);
    Some((percent, owner?.0, last_two(function)))
}

/// The last two parts of a function's path.
fn last_two(function: &str) -> String {
    let path = function.replace('>', "");
    let mut parts: Vec<&str> = path.rsplit("::").take(2).collect();
    parts.reverse();
    parts.join("::")
}
