//! Load from redis-benchmark.

use std::fs;
use std::process::{Command, Stdio};

use crate::control::Control;
use crate::figures::{Figures, BUSY, LOAD_BUSY, P99_MS, PER_SECOND, SERVER_US};

/// Random numbers are drawn from so many, as the bars have it.
pub const USERS: u64 = 100_000_000;

/// One run of redis-benchmark.
#[derive(Clone, Copy)]
pub struct Load {
    pub requests: u64,
    pub connections: u64,
    pub pipeline: u64,
    /// `__rand_int__` stands for a number below this, twelve digits wide.
    pub users: u64,
}

/// What it came to.
#[derive(Clone, Copy)]
pub struct Rate {
    pub per_second: f64,
    pub p99_ms: Option<f64>,
    /// Seconds that the server's main thread worked for one request.
    pub server_seconds: f64,
    /// Seconds that redis-benchmark worked for one request.
    pub load_seconds: Option<f64>,
}

impl Load {
    /// As the bars have it.
    pub fn pipelined(requests: u64) -> Load {
        Load { requests, connections: 50, pipeline: 32, users: USERS }
    }

    /// One request at a time on each connection.
    pub fn unpipelined(requests: u64, connections: u64) -> Load {
        Load { requests, connections, pipeline: 1, users: USERS }
    }

    /// Sends `words` again and again.
    pub fn run<W: AsRef<str>>(self, control: &mut Control, words: &[W]) -> Result<Rate, String> {
        let (before, load_before) = (control.moment()?, children_worked());
        let output = Command::new("redis-benchmark")
            .args(["--csv", "-p", &control.port().to_string()])
            .args(["-n", &self.requests.to_string(), "-c", &self.connections.to_string()])
            .args(["-P", &self.pipeline.to_string(), "-r", &self.users.to_string()])
            .args(words.iter().map(AsRef::as_ref))
            .stdin(Stdio::null())
            .output()
            .map_err(|e| format!("redis-benchmark does not start: {e}"))?;
        let worked = control.worked_since(before)?;
        let text = String::from_utf8_lossy(&output.stdout);
        let (per_second, p99_ms) = read(&text).ok_or_else(|| {
            format!("redis-benchmark says: {text}{}", String::from_utf8_lossy(&output.stderr))
        })?;
        let server_seconds = worked / self.requests as f64;
        let load_seconds = children_worked() - load_before;
        let load_seconds = Some(load_seconds / self.requests as f64);
        Ok(Rate { per_second, p99_ms: Some(p99_ms), server_seconds, load_seconds })
    }
}

/// Processor time of the children that have ended, in seconds: none but redis-benchmark ends while
/// it is measured.
fn children_worked() -> f64 {
    /// Of user and system time, behind the name, which may have blanks in it.
    const PLACES: [usize; 2] = [13, 14];
    /// The same on every Linux.
    const TICKS_PER_SECOND: f64 = 100.0;
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = text.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    let ticks = PLACES.iter().filter_map(|place| fields.get(*place)?.parse::<f64>().ok());
    ticks.sum::<f64>() / TICKS_PER_SECOND
}

/// Requests a second and the 99th percentile from the last line of the table:
/// `"name","rps","avg","min","p50","p95","p99","max"`.
fn read(csv: &str) -> Option<(f64, f64)> {
    let line = csv.lines().rev().find(|line| line.starts_with('"'))?;
    let mut fields = line.rsplit(',').map(|field| field.trim_matches('"').parse::<f64>().ok());
    let p99 = fields.nth(1)??;
    let per_second = fields.nth(4)??;
    Some((per_second, p99))
}

impl Rate {
    pub fn note(self, figures: &mut Figures, case: &str, who: &str) {
        figures.add(case, who, PER_SECOND, self.per_second);
        figures.add(case, who, SERVER_US, self.server_seconds * 1e6);
        figures.add(case, who, BUSY, self.server_seconds * self.per_second);
        if let Some(load_seconds) = self.load_seconds {
            figures.add(case, who, LOAD_BUSY, load_seconds * self.per_second);
        }
        if let Some(p99_ms) = self.p99_ms {
            figures.add(case, who, P99_MS, p99_ms);
        }
    }
}
