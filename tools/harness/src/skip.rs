//! Tests that can't run on the server at hand.

use std::io::{self, Write};
use std::thread;

/// The first word of a line about a skipped test. The line names the test, for programs that count
/// tests: the test program knows only that a test has passed.
pub const SKIPPED: &str = "SKIPPED ";

/// Says that the test that runs is left out, or a part of it, and why.
pub fn skip(why: &str) {
    let thread = thread::current();
    let line = format!("{SKIPPED}{}: {why}\n", thread.name().unwrap_or("a test"));
    // In one write, and not by `eprintln`, of which the test program shows what failed tests say.
    let _ = io::stderr().write_all(line.as_bytes());
}

/// The test that a line of a test program's output says was left out.
pub fn skipped(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once(SKIPPED)?;
    rest.split_once(": ").map(|(test, _)| test)
}
