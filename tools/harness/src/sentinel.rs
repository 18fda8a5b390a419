//! Sentinels that watch a primary, each a process in a temporary folder. Dropping the value ends
//! them.

use std::collections::HashMap;
use std::fs;
use std::time::Duration;

use super::launch::{self, launch};
use super::process::{command, Process};
use super::program::server_program;
use super::wait::holds_within;

/// Deadline for Sentinels to find each other. Each announces itself every 2 s.
const DEADLINE: Duration = Duration::from_secs(60);

pub struct Sentinel {
    process: Process,
    port: u16,
}

impl Sentinel {
    /// Starts a Sentinel with these further lines of configuration. The Sentinel knows the server
    /// at this loopback port as `mymaster`. `quorum` Sentinels must agree to declare it down.
    pub fn start(primary: u16, quorum: usize, lines: &[&str]) -> Result<Sentinel, String> {
        let process = Process::in_folder(&std::env::temp_dir(), "seckill-sentinel-")?;
        let folder = process.folder().to_owned();
        let conf = folder.join("sentinel.conf");
        let launched = launch(&process, None, |port| {
            let text = format!(
                "bind 127.0.0.1\nport {port}\ndir {}\nlogfile \"\"\n\
                 sentinel monitor mymaster 127.0.0.1 {primary} {quorum}\n{}\n",
                folder.display(),
                lines.join("\n")
            );
            // If the file can't be written, the server fails to start and logs the reason.
            let _ = fs::write(&conf, text);
            let mut command = command(&server_program());
            command.arg(&conf).arg("--sentinel");
            command
        });
        Ok(Sentinel { process, port: launched? })
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn connect(&self) -> Result<redis::Connection, String> {
        launch::connect(self.port)
    }

    /// The port of the primary that the Sentinel reports.
    pub fn named(&self) -> Result<u16, String> {
        let mut asked = redis::cmd("SENTINEL");
        asked.arg("GET-MASTER-ADDR-BY-NAME").arg("mymaster");
        let named: Result<(String, u16), _> = asked.query(&mut self.connect()?);
        named.map(|(_, port)| port).map_err(|e| format!("A Sentinel says: {e}"))
    }

    /// The Sentinel's view of the primary: the fields of SENTINEL MASTER.
    pub fn knows(&self) -> Result<HashMap<String, String>, String> {
        let mut asked = redis::cmd("SENTINEL");
        asked.arg("MASTER").arg("mymaster");
        asked.query(&mut self.connect()?).map_err(|e| format!("A Sentinel says: {e}"))
    }

    pub fn kill(&self) {
        self.process.kill();
    }
}

/// Three Sentinels with quorum 2.
pub struct Trio(pub Vec<Sentinel>);

impl Trio {
    /// Starts three Sentinels with these further lines of configuration. Returns when each knows
    /// the others and this many replicas.
    pub fn start(primary: u16, replicas: usize, lines: &[&str]) -> Result<Trio, String> {
        Trio::start_each(primary, replicas, || {
            lines.iter().map(|line| (*line).to_owned()).collect()
        })
    }

    /// As [`Trio::start`], with separate lines for each Sentinel.
    pub fn start_each(
        primary: u16,
        replicas: usize,
        lines: impl Fn() -> Vec<String>,
    ) -> Result<Trio, String> {
        let one = |_| {
            let lines = lines();
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            Sentinel::start(primary, 2, &lines)
        };
        let all: Result<Vec<Sentinel>, String> = (0..3).map(one).collect();
        let trio = Trio(all?);
        match holds_within(DEADLINE, || trio.is_settled(primary, replicas)) {
            true => Ok(trio),
            false => Err("The Sentinels do not find each other.".into()),
        }
    }

    /// Whether all Sentinels report this primary port, reach it, and know this many replicas of it.
    pub fn is_settled(&self, primary: u16, replicas: usize) -> bool {
        let expected = [
            ("port", primary.to_string()),
            ("flags", "master".to_owned()),
            ("num-slaves", replicas.to_string()),
            ("num-other-sentinels", "2".to_owned()),
        ];
        self.0.iter().all(|one| {
            let knows = one.knows().unwrap_or_default();
            expected.iter().all(|(field, value)| knows.get(*field) == Some(value))
        })
    }

    /// The first reported primary port that differs from `port`, if any.
    pub fn names_other_than(&self, port: u16) -> Option<u16> {
        self.0.iter().filter_map(|one| one.named().ok()).find(|named| *named != port)
    }

    /// The primary port that all report, if they agree.
    pub fn agreed(&self) -> Option<u16> {
        let named: Option<Vec<u16>> = self.0.iter().map(|one| one.named().ok()).collect();
        named.filter(|named| named.iter().all(|port| *port == named[0])).map(|named| named[0])
    }

    /// Sends `SENTINEL FAILOVER mymaster` and these further words to the first Sentinel.
    pub fn fail_over(&self, more: &[&str]) -> Result<(), String> {
        let mut redis = self.0.first().ok_or("There is no Sentinel.")?.connect()?;
        let mut asked = redis::cmd("SENTINEL");
        let said = asked.arg("FAILOVER").arg("mymaster").arg(more).query(&mut redis);
        said.map_err(|e| format!("SENTINEL FAILOVER failed: {e}"))
    }

    /// The Sentinels' addresses, in the form of `--sentinel`.
    pub fn addresses(&self) -> String {
        let ports = self.0.iter().map(|one| format!("127.0.0.1:{}", one.port()));
        ports.collect::<Vec<_>>().join(",")
    }
}
