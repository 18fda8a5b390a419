//! Nobody slows a GRAB down unseen: the server's instructions for one call, counted with callgrind,
//! must stay within a recorded budget. Time would move with the machine; this does not.

#[path = "../benches/instructions/callgrind.rs"]
mod callgrind;
#[path = "../examples/support/mod.rs"]
mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

/// Calls of each kind: enough that growth and the server's timer are spread thin.
const CALLS: usize = 10_000;
const SLACK: f64 = 0.10;

/// What the budget was recorded with: other servers and processors need other numbers.
const SERVER: &str = "v=7.0.15";
const ARCH: &str = "x86_64";

/// Instructions of one call, all that the server does for it included. Lower a number when a call
/// becomes cheaper; raise one only together with the reason. A server finds its commands by hashes
/// under a key that it draws when it starts, so the same build differs by 70 either way.
const BUDGET: [(&str, f64); 3] =
    [(callgrind::WINNING, 10_800.0), (callgrind::SOLDOUT, 5_300.0), (callgrind::ALREADY, 6_200.0)];

#[test]
fn a_grab_stays_within_its_budget() {
    if let Some(why) = reason_to_skip() {
        eprintln!("skipped: {why}");
        return;
    }
    let counts = callgrind::count(&release_module(), None, CALLS).unwrap();
    let mut over = Vec::new();
    for (name, budget) in BUDGET {
        let found = counts.iter().find(|(counted, _)| *counted == name).unwrap().1;
        println!("{name}: {found:.0} instructions, budget {budget:.0}");
        if found > budget * (1.0 + SLACK) {
            over.push(format!("{name}: {found:.0} instructions, {budget:.0} were budgeted"));
        }
    }
    assert!(over.is_empty(), "{}", over.join("\n"));
}

fn reason_to_skip() -> Option<String> {
    if !callgrind::is_there() {
        return Some("instructions are counted with valgrind, which is not installed".into());
    }
    if std::env::consts::ARCH != ARCH {
        return Some(format!("the budget is for {ARCH}"));
    }
    let program = std::env::var_os("REDIS_SERVER").unwrap_or_else(|| "redis-server".into());
    let output = Command::new(program).arg("--version").output();
    let version = String::from_utf8_lossy(&output.ok()?.stdout).into_owned();
    (!version.contains(SERVER)).then(|| format!("the budget is for a server with {SERVER}"))
}

/// The module as it ships, whatever the profile of this test is; built now unless it is fresh.
fn release_module() -> PathBuf {
    if let Some(file) = std::env::var_os("SECKILL_RELEASE_MODULE") {
        return support::module_file(Some(file.into())).unwrap();
    }
    // target/debug/deps/instructions-...
    let here = std::env::current_exe().unwrap();
    let target = here.ancestors().nth(3).map(Path::to_path_buf).unwrap();
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--quiet", "--release", "--lib", "--target-dir"]).arg(&target);
    let built = build.current_dir(env!("CARGO_MANIFEST_DIR")).status().unwrap();
    assert!(built.success(), "the release build failed");
    let file = target.join("release").join("libseckill.so");
    support::module_file(Some(file)).unwrap()
}
