//! The server of one contender, and a connection for set-up and checks beside the load.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use redis::{Connection, FromRedisValue, ToRedisArgs, Value};
use seckill_harness::program::Server;
use seckill_harness::Options;

use crate::host::{cores, SERVER_CORE};

const DEADLINE: Duration = Duration::from_secs(120);
const POLL_EVERY: Duration = Duration::from_millis(5);

/// A server with its control connection.
pub struct Control {
    server: Server,
    connection: Connection,
}

impl Control {
    /// Starts a server, with or without a module. The server's main thread has its own core if the
    /// machine has two.
    pub fn start(module: Option<&Path>, settings: &[&str]) -> Result<Control, String> {
        Control::start_through(&[], module, settings)
    }

    /// Starts the server through another program, such as valgrind.
    pub fn start_through(
        through: &[&str],
        module: Option<&Path>,
        settings: &[&str],
    ) -> Result<Control, String> {
        let core = SERVER_CORE.to_string();
        let mut all = vec!["--enable-debug-command", "yes", "--maxclients", "4000"];
        all.extend(["--tcp-backlog", "2048"]);
        // A later setting of the same name overrides an earlier one.
        if cores() > 1 {
            all.extend(["--server_cpulist", &core]);
        }
        all.extend(settings);
        let server = Options::of_program(module, &all).through(through).run()?;
        let connection = server.connect()?;
        Ok(Control { server, connection })
    }

    pub fn port(&self) -> u16 {
        self.server.port()
    }

    pub fn pid(&self) -> u32 {
        self.server.pid()
    }

    /// Sends one command and reads its reply.
    pub fn ask<T: FromRedisValue>(&mut self, words: &[impl ToRedisArgs]) -> Result<T, String> {
        let mut command = redis::Cmd::new();
        for word in words {
            command.arg(word);
        }
        let name = command.args_iter().next().map(|name| match name {
            redis::Arg::Simple(name) => String::from_utf8_lossy(name).into_owned(),
            _ => String::new(),
        });
        let reply = command.query(&mut self.connection);
        reply.map_err(|e| format!("{} failed: {e}", name.unwrap_or_default()))
    }

    /// Sends one command and ignores its reply, unless it is an error.
    pub fn tell(&mut self, words: &[impl ToRedisArgs]) -> Result<(), String> {
        self.ask::<Value>(words).map(drop)
    }

    /// Sends several commands in one write; none of them may fail.
    pub fn run(&mut self, commands: &redis::Pipeline) -> Result<(), String> {
        commands.query(&mut self.connection).map_err(|e| format!("A block of commands failed: {e}"))
    }

    /// One field of INFO as a number.
    pub fn info(&mut self, section: &str, field: &str) -> Result<f64, String> {
        let word = self.info_word(section, field)?;
        word.parse().map_err(|_| format!("INFO {field} is {word}"))
    }

    /// One field of INFO as text.
    pub fn info_word(&mut self, section: &str, field: &str) -> Result<String, String> {
        let text: String = self.ask(&["INFO", section])?;
        let mut lines = text.lines();
        let found = lines.find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        found.map(str::to_owned).ok_or_else(|| format!("INFO {section} has no {field}"))
    }

    /// The server's name and version, `Redis 7.0.15`.
    pub fn name(&self) -> Result<String, String> {
        self.server.title()
    }

    /// Whether the server has a command.
    pub fn knows(&mut self, command: &str) -> Result<bool, String> {
        let found: Vec<Value> = self.ask(&["COMMAND", "INFO", command])?;
        Ok(found.first().is_some_and(|found| *found != Value::Nil))
    }

    /// Waits until a field of INFO has this value.
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

    /// Average microseconds of server time for one call of a command since CONFIG RESETSTAT.
    pub fn call_us(&mut self, command: &str) -> Result<f64, String> {
        let stat = self.info_word("commandstats", &format!("cmdstat_{command}"))?;
        let field = stat.split(',').find_map(|part| part.strip_prefix("usec_per_call="));
        let number = field.and_then(|text| text.parse().ok());
        number.ok_or_else(|| format!("INFO commandstats says {stat} of {command}"))
    }

    /// Processor seconds of the server's main thread.
    pub fn worked_seconds(&mut self) -> Result<f64, String> {
        let user = self.info("cpu", "used_cpu_user_main_thread")?;
        Ok(user + self.info("cpu", "used_cpu_sys_main_thread")?)
    }
}
