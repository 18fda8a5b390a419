//! Runs the demo as its user does, with smaller numbers.

// A test that can't continue panics with a message.
#![allow(clippy::expect_used)]

use std::process::Command;

use seckill_harness::module_path;

/// The demo exits with 0, and its picture is complete.
#[test]
fn a_small_budget_is_used_up() {
    let svg = std::env::temp_dir().join(format!("budget-{}.svg", std::process::id()));
    let mut demo = Command::new(env!("CARGO_BIN_EXE_budget"));
    demo.args(["--workers", "30", "--budget", "400000", "--kill-ms", "100", "--hold-ms", "600"]);
    let output = demo.arg("--svg").arg(&svg).env("SECKILL_MODULE", module_path()).output();
    let output = output.expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}{error}");
    assert!(said.contains("none was passed"), "{said}");
    let drawn = std::fs::read_to_string(&svg).expect("a picture");
    assert!(drawn.contains("Reserved") && drawn.contains("Used"), "{drawn}");
    std::fs::remove_file(&svg).expect("it was there");
}
