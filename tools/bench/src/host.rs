//! The measured machine: its properties that figures depend on, but not its name.

use std::fs;

use rustix::thread::{sched_setaffinity, CpuSet};
use serde::{Deserialize, Serialize};

/// The core for the servers' main threads, if there are two cores.
pub const SERVER_CORE: usize = 0;
/// The core for everything else: load, and children that save.
pub const OTHER_CORE: usize = 1;

#[derive(Debug, Deserialize, Serialize)]
pub struct Host {
    pub cores: usize,
    pub kernel: String,
    /// Runnable processes (load average of one minute) before the run.
    pub load_before: f64,
}

impl Host {
    pub fn look() -> Host {
        let kernel = file("/proc/sys/kernel/osrelease");
        Host { cores: cores(), kernel, load_before: load() }
    }
}

/// Moves this program and its children off the servers' core. False on a machine with one core.
pub fn leave_the_servers_core() -> bool {
    let mut set = CpuSet::new();
    set.set(OTHER_CORE);
    cores() > 1 && sched_setaffinity(None, &set).is_ok()
}

pub fn cores() -> usize {
    let text = file("/proc/cpuinfo");
    text.lines().filter(|line| line.starts_with("processor")).count().max(1)
}

pub fn cpu() -> String {
    let text = file("/proc/cpuinfo");
    let line = text.lines().find(|line| line.starts_with("model name"));
    let name = line.and_then(|line| line.split_once(':'));
    name.map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, name)| name.trim().to_owned())
}

fn load() -> f64 {
    let text = file("/proc/loadavg");
    text.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or_default()
}

fn file(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}
