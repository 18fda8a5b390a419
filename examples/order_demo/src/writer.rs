//! Runs `seckill orders` as a separate process that can be stopped and killed at any time.

use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::thread;
use std::time::Instant;

use redis::Connection;
use rustix::process::{kill_process, Pid, Signal};

use crate::{ask, DEADLINE, POLL_EVERY};
use seckill_harness::process::command;

/// Milliseconds after which a crashed writer's entries are taken over; short, so that the demo is
/// fast.
const CLAIM_AFTER_MS: u32 = 300;
pub const GROUP: &str = "orders";

/// A running writer; dropping it kills the process.
pub struct Writer {
    child: Child,
    stream: String,
}

impl Writer {
    /// Starts a writer, which creates its tables and its group.
    ///
    /// # Errors
    /// A message if it can't be started.
    pub fn start(redis: &str, database: &str, stream: &str, name: &str) -> Result<Writer, String> {
        let child = command(program()?.as_os_str())
            .args(["orders", "--redis", redis, "--database", database, "--stream", stream])
            .args(["--group", GROUP, "--name", name])
            .args(["--claim-after-ms", &CLAIM_AFTER_MS.to_string()])
            // There is one server only, so its new epoch is trusted.
            .args(["--trust-epoch", "any"])
            .stdin(Stdio::null())
            .spawn()
            .map_err(|e| format!("seckill orders does not start: {e}"))?;
        Ok(Writer { child, stream: stream.to_owned() })
    }

    /// Kills the writer during its work. Returns the number of entries that it had read and not
    /// acknowledged. It is frozen first, so that this number is exact.
    ///
    /// # Errors
    /// A message if it never has pending entries, or had exited by itself.
    pub fn kill_at_work(mut self, redis: &mut Connection) -> Result<u64, String> {
        let deadline = Instant::now() + DEADLINE;
        while Instant::now() < deadline {
            self.freeze()?;
            // An error until the writer has created its group.
            let left = pending(redis, &self.stream).unwrap_or(0);
            if left > 0 {
                self.end();
                return Ok(left);
            }
            self.thaw()?;
            thread::sleep(POLL_EVERY);
        }
        Err("The writer never had an entry under way.".into())
    }

    /// Stops the process (SIGSTOP).
    ///
    /// # Errors
    /// A message if the process has exited.
    pub fn freeze(&mut self) -> Result<(), String> {
        if let Ok(Some(status)) = self.child.try_wait() {
            return Err(format!("seckill orders ended by itself ({status})."));
        }
        self.signal(Signal::STOP)
    }

    /// Continues the process (SIGCONT).
    ///
    /// # Errors
    /// A message if the process has exited.
    pub fn thaw(&self) -> Result<(), String> {
        self.signal(Signal::CONT)
    }

    fn signal(&self, signal: Signal) -> Result<(), String> {
        kill_process(Pid::from_child(&self.child), signal).map_err(|e| format!("The writer: {e}"))
    }

    fn end(&mut self) {
        // Both calls fail only if the process has already exited.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.end();
    }
}

/// Entries that consumers have read and not acknowledged.
///
/// # Errors
/// The error of Redis.
pub fn pending(redis: &mut Connection, stream: &str) -> Result<u64, String> {
    let summary: Vec<redis::Value> = ask(redis, &format!("XPENDING {stream} {GROUP}"))?;
    match summary.first() {
        Some(redis::Value::Int(count)) => Ok(u64::try_from(*count).unwrap_or_default()),
        other => Err(format!("XPENDING said {other:?}.")),
    }
}

/// The program that was built beside this demo.
fn program() -> Result<PathBuf, String> {
    let here = std::env::current_exe().map_err(|e| format!("Where am I? {e}"))?;
    let file = here.with_file_name(format!("seckill{}", std::env::consts::EXE_SUFFIX));
    if file.is_file() {
        return Ok(file);
    }
    Err("Build the writer first: cargo build --release -p seckill-cli".into())
}
