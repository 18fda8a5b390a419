//! Skips tests that can't run on this server.

use std::io::{self, Write};
use std::thread;

/// The first word of a line about a skipped test. The line names the test, for programs that count
/// tests, because the test program reports a skipped test as passed.
pub const SKIPPED: &str = "SKIPPED ";

/// Reports that the running test, or a part of it, is skipped, with the reason.
pub fn skip(why: &str) {
    let thread = thread::current();
    let line = format!("{SKIPPED}{}: {why}\n", thread.name().unwrap_or("a test"));
    // One write, without `eprintln`: the test program shows `eprintln` output only of failed tests.
    let _ = io::stderr().write_all(line.as_bytes());
}

/// The name of the skipped test in a line of a test program's output.
pub fn skipped(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once(SKIPPED)?;
    rest.split_once(": ").map(|(test, _)| test)
}
