//! Drives a client library: a process in its language reads calls and writes answers, one line of
//! JSON each. See clients/cases.md.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::process::command;

/// Timeout: longer than a call takes, and longer than a cluster takes to fail over.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(2);

/// A running driver, ended when dropped.
pub struct Driver {
    child: Child,
    orders: ChildStdin,
    answers: Receiver<String>,
}

impl Driver {
    /// Starts a driver. `run` is its command line below `clients/`, `told` its one argument.
    pub fn start(run: &[&str], told: &Value) -> Result<Driver, String> {
        let Some((program, rest)) = run.split_first() else {
            return Err("No program".into());
        };
        let mut child = command(program.as_ref())
            .args(rest)
            .arg(told.to_string())
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| format!("{program} does not start: {e}"))?;
        let (Some(orders), Some(out)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(format!("{program} has no pipes"));
        };
        let (tell, answers) = mpsc::channel();
        thread::spawn(move || {
            let mut lines = BufReader::new(out).lines().map_while(Result::ok);
            lines.try_for_each(|line| tell.send(line))
        });
        let mut driver = Driver { child, orders, answers };
        // The first call waits for the start of the process, which belongs to no test.
        driver.ask(r#"{"call": "home", "key": "sale", "parts": 1, "user": "alice"}"#)?;
        Ok(driver)
    }

    /// The answer to one order, which must be JSON.
    pub fn ask(&mut self, order: &str) -> Result<Value, String> {
        self.ask_while(order, || Ok(()))
    }

    /// Like [`Driver::ask`], and calls `meanwhile` again and again until the answer comes.
    pub fn ask_while(
        &mut self,
        order: &str,
        mut meanwhile: impl FnMut() -> Result<(), String>,
    ) -> Result<Value, String> {
        writeln!(self.orders, "{order}").map_err(|e| format!("The driver is gone: {e}"))?;
        let began = Instant::now();
        loop {
            match self.answers.recv_timeout(PAUSE) {
                Ok(line) => {
                    return serde_json::from_str(&line)
                        .map_err(|e| format!("The driver says {line:?}: {e}"))
                }
                Err(RecvTimeoutError::Timeout) if began.elapsed() < PATIENCE => meanwhile()?,
                Err(why) => return Err(format!("{order}: the driver says nothing: {why}")),
            }
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // Both calls fail only if the process has already exited.
        let _ = (self.child.kill(), self.child.wait());
    }
}
