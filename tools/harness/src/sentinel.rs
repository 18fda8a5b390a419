//! Sentinels that watch a primary: processes of their own in temporary folders, which end and go
//! together with the value.

use std::fs;
use std::process::Command;

use super::launch::launch;
use super::process::{command_as, last_lines_of, Process};
use super::program::server_program;

/// Lines of a log that a failure shows.
const LOG_LINES: usize = 8;

/// One Sentinel.
pub struct Sentinel {
    process: Process,
    port: u16,
}

impl Sentinel {
    /// Starts one that knows the server at this port of the loopback interface as `mymaster`, with
    /// these further lines of its configuration. `quorum` of them declare it down.
    ///
    /// # Errors
    /// A sentence, with the last lines of its log where there is one.
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
            // A file that can't be written is missed by the server, which then says so.
            let _ = fs::write(&conf, text);
            let mut command: Command = command_as(None, &[server_program().as_os_str()]);
            command.arg(&conf).arg("--sentinel");
            command
        });
        let port = launched.map_err(|failure| {
            format!("No Sentinel started: {}", last_lines_of(&failure.log, LOG_LINES))
        })?;
        Ok(Sentinel { process, port })
    }

    /// The loopback port it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// A fresh connection.
    ///
    /// # Errors
    /// A sentence with what the client library says.
    pub fn connect(&self) -> Result<redis::Connection, String> {
        let client = redis::Client::open(format!("redis://127.0.0.1:{}/", self.port));
        let client = client.map_err(|e| e.to_string())?;
        client.get_connection().map_err(|e| format!("No connection to a Sentinel: {e}"))
    }

    /// The port of the primary that it names.
    ///
    /// # Errors
    /// A sentence when it names none.
    pub fn named(&self) -> Result<u16, String> {
        let mut asked = redis::cmd("SENTINEL");
        asked.arg("GET-MASTER-ADDR-BY-NAME").arg("mymaster");
        let named: Result<(String, u16), _> = asked.query(&mut self.connect()?);
        named.map(|(_, port)| port).map_err(|e| format!("A Sentinel says: {e}"))
    }

    /// Ends the process at once, as `kill -9` does.
    pub fn kill(&self) {
        self.process.kill();
    }
}
