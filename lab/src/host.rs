//! Time and machine of a run of the lab.

use serde::{Deserialize, Serialize};

/// Time and machine of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Host {
    pub redis: String,
    /// Name and version of the database of the rush.
    pub mariadb: String,
    pub processor: String,
    pub cores: usize,
    /// Load average before the run and at its end. The lab causes a part of it.
    pub load: (String, String),
    pub date: String,
    pub seconds: u64,
}

impl Host {
    pub fn here(redis: String, mariadb: String) -> Host {
        let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let name = cpu.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        Host {
            redis,
            mariadb,
            processor: name.map_or("an unknown processor", |(_, name)| name).to_owned(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            load: (String::new(), String::new()),
            date: today(),
            seconds: 0,
        }
    }
}

/// The date from `date`.
fn today() -> String {
    let said = std::process::Command::new("date").args(["-u", "+%Y-%m-%d"]).output();
    said.map(|out| String::from_utf8_lossy(&out.stdout).trim().to_owned()).unwrap_or_default()
}
