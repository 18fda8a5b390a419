//! The program `seckill` as its users run it.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use tempfile::NamedTempFile;

use super::NAME;
use crate::support::process::{command, last_lines};

const LOG_TAIL_LINES: usize = 10;

/// `seckill split` for a cluster that has nodes at these ports.
fn split(ports: &[u16], words: &[&str]) -> Command {
    let test = std::env::current_exe().expect("the path of this test");
    let program: PathBuf = test.ancestors().nth(2).expect("a folder above").join("seckill");
    assert!(program.is_file(), "no program at {}: make cluster-test", program.display());
    let urls: Vec<String> = ports.iter().map(|port| format!("redis://127.0.0.1:{port}/")).collect();
    let mut split = command(program.as_os_str());
    split.args(["split", "--redis", &urls.join(",")]).args(words).stdin(Stdio::null());
    split
}

/// Runs the program to its end, and returns its output.
#[track_caller]
pub fn run(ports: &[u16], words: &[&str]) -> String {
    let output = split(ports, words).output().expect("seckill runs");
    let problems = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?}: {problems}");
    String::from_utf8(output.stdout).expect("text")
}

/// A running balancer. Dropping it kills the process.
pub struct Balancer {
    process: Child,
    log: NamedTempFile,
}

impl Balancer {
    #[track_caller]
    pub fn start(ports: &[u16]) -> Balancer {
        let log = NamedTempFile::new().expect("a file");
        let file: File = log.reopen().expect("the file");
        let mut balance = split(ports, &["balance", NAME, "--interval", "10"]);
        let process = balance.stderr(file).spawn().expect("a balancer");
        Balancer { process, log }
    }

    /// Stops the program by SIGTERM and returns its last line with the counts.
    #[track_caller]
    pub fn stop(mut self) -> String {
        let told = Command::new("kill").arg(self.process.id().to_string()).status();
        assert!(told.expect("kill runs").success());
        assert_eq!(self.process.wait().expect("its end").code(), Some(0));
        last_lines(self.log.path(), 1)
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        // Both calls fail only if the process has already exited.
        let _ = self.process.kill();
        let _ = self.process.wait();
        if std::thread::panicking() {
            eprintln!("--- a balancer ---\n{}", last_lines(self.log.path(), LOG_TAIL_LINES));
        }
    }
}
