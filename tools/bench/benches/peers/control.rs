//! A server of one contender, and a connection beside the load: sets up, asks, checks.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use redis::{Connection, FromRedisValue, Value};

use crate::host::{cores, SERVER_CORE};
use seckill_harness::program::Server;

const DEADLINE: Duration = Duration::from_secs(120);
const POLL_EVERY: Duration = Duration::from_millis(5);

/// A server with the connection that looks after it.
pub struct Control {
    server: Server,
    connection: Connection,
    /// Error replies before anything was measured: the client library greets with commands that
    /// older servers don't know.
    errors_before: f64,
}

/// Processor time and clock of a server at one moment.
#[derive(Clone, Copy)]
pub struct Moment {
    busy_seconds: f64,
}

impl Control {
    /// Starts a server. Its main thread has a core of its own where there are two.
    pub fn start(module: &Path, settings: &[&str]) -> Result<Control, String> {
        let core = SERVER_CORE.to_string();
        let mut all = vec!["--enable-debug-command", "yes", "--maxclients", "4000"];
        all.extend(["--tcp-backlog", "2048", "--repl-diskless-sync-delay", "0"]);
        all.extend(["--client-output-buffer-limit", "replica 0 0 0"]);
        // A later setting of the same name wins, so a replica can be sent elsewhere.
        if cores() > 1 {
            all.extend(["--server_cpulist", &core]);
        }
        all.extend(settings);
        let server = Server::start(module, &all)?;
        let connection = server.connect()?;
        let mut control = Control { server, connection, errors_before: 0.0 };
        control.errors_before = control.errors()?;
        Ok(control)
    }

    pub fn port(&self) -> u16 {
        self.server.port()
    }

    pub fn pid(&self) -> u32 {
        self.server.pid()
    }

    /// Sends one command and reads its reply.
    pub fn ask<T: FromRedisValue>(&mut self, words: &[&str]) -> Result<T, String> {
        let mut command = redis::Cmd::new();
        for word in words {
            command.arg(word);
        }
        let name = words.first().copied().unwrap_or_default();
        command.query(&mut self.connection).map_err(|e| format!("{name} failed: {e}"))
    }

    /// Sends one command whose reply does not matter, unless it is an error.
    pub fn tell(&mut self, words: &[&str]) -> Result<(), String> {
        self.ask::<Value>(words).map(drop)
    }

    /// One number of INFO.
    pub fn info(&mut self, section: &str, field: &str) -> Result<f64, String> {
        let word = self.info_word(section, field)?;
        word.parse().map_err(|_| format!("INFO {field} is {word}"))
    }

    /// One field of INFO as it stands there.
    pub fn info_word(&mut self, section: &str, field: &str) -> Result<String, String> {
        let text: String = self.ask(&["INFO", section])?;
        let mut lines = text.lines();
        let found = lines.find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        found.map(str::to_owned).ok_or_else(|| format!("INFO {section} has no {field}"))
    }

    /// Waits until a field of INFO says `value`.
    pub fn wait_for(&mut self, section: &str, field: &str, value: &str) -> Result<(), String> {
        let deadline = Instant::now() + DEADLINE;
        while self.info_word(section, field)? != value {
            if Instant::now() > deadline {
                return Err(format!("INFO {field} does not become {value}"));
            }
            thread::sleep(POLL_EVERY);
        }
        Ok(())
    }

    /// Time that one call of a command took on the server, in microseconds, since CONFIG RESETSTAT.
    pub fn call_us(&mut self, command: &str) -> Result<f64, String> {
        let stat = self.info_word("commandstats", &format!("cmdstat_{command}"))?;
        let field = stat.split(',').find_map(|part| part.strip_prefix("usec_per_call="));
        let number = field.and_then(|text| text.parse().ok());
        number.ok_or_else(|| format!("INFO commandstats says {stat} of {command}"))
    }

    /// Now, by the server's processor clock.
    pub fn moment(&mut self) -> Result<Moment, String> {
        let user = self.info("cpu", "used_cpu_user_main_thread")?;
        let system = self.info("cpu", "used_cpu_sys_main_thread")?;
        Ok(Moment { busy_seconds: user + system })
    }

    /// Seconds that the main thread has worked since `then`.
    pub fn worked_since(&mut self, then: Moment) -> Result<f64, String> {
        Ok(self.moment()?.busy_seconds - then.busy_seconds)
    }

    /// A figure taken from errors would be a lie.
    pub fn check_no_errors(&mut self) -> Result<(), String> {
        match self.errors()? <= self.errors_before {
            true => Ok(()),
            false => Err(format!("Error replies: {}", self.error_kinds()?)),
        }
    }

    fn errors(&mut self) -> Result<f64, String> {
        self.info("stats", "total_error_replies")
    }

    fn error_kinds(&mut self) -> Result<String, String> {
        let text: String = self.ask(&["INFO", "errorstats"])?;
        Ok(text.lines().skip(1).collect::<Vec<_>>().join(" "))
    }

    /// How many units of a sale are sold or held.
    pub fn taken(&mut self, key: &str) -> Result<f64, String> {
        let json: String = self.ask(&["SECKILL.STATUS", key, "JSON"])?;
        let status: serde_json::Value =
            serde_json::from_str(&json).map_err(|e| format!("STATUS: {e}"))?;
        let field = |name: &str| status.get(name).and_then(serde_json::Value::as_f64);
        field("sold").zip(field("held")).map(|(a, b)| a + b).ok_or("STATUS lacks sold".into())
    }
}
