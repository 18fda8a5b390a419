//! The server of one contender, and a connection for set-up and checks beside the load.

use std::ops::Deref;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use redis::{Connection, FromRedisValue, ToRedisArgs, Value};
use seckill_crowd::sale;
use seckill_harness::client::info_field;
use seckill_harness::program::Server;
use seckill_harness::Options;

use crate::host::{cores, SERVER_CORE};

const DEADLINE: Duration = Duration::from_secs(120);
const POLL_EVERY: Duration = Duration::from_millis(5);

pub struct Control {
    server: Server,
    connection: Connection,
}

impl Deref for Control {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}

impl Control {
    /// Starts a server, with or without a module, `through` another program, such as valgrind, or
    /// alone. The server's main thread has its own core if the machine has two.
    pub fn start(
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

    /// Sends one command and reads its reply.
    pub fn ask<T: FromRedisValue>(&mut self, words: &[impl ToRedisArgs]) -> Result<T, String> {
        let reply = redis::Cmd::new().arg(words).query(&mut self.connection);
        reply.map_err(|e| {
            let name = words.first().map(|name| name.to_redis_args().concat()).unwrap_or_default();
            format!("{} failed: {e}", String::from_utf8_lossy(&name))
        })
    }

    /// Sends one command and ignores its reply, unless it is an error.
    pub fn tell(&mut self, words: &[impl ToRedisArgs]) -> Result<(), String> {
        self.ask::<Value>(words).map(drop)
    }

    /// Sends one command whose words have no spaces, as [`Control::tell`].
    pub fn line(&mut self, line: &str) -> Result<(), String> {
        self.tell(&line.split(' ').collect::<Vec<_>>())
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
        let found = info_field(&text, field).map(str::to_owned);
        found.ok_or_else(|| format!("INFO {section} has no {field}"))
    }

    /// A number in the STATUS of a sale.
    pub fn status(&mut self, key: &str, field: &str) -> Result<u64, String> {
        sale::number(&sale::status(&mut self.connection, key)?, &format!("/{field}"))
    }

    /// Waits until a field of INFO has this value.
    pub fn wait_for(&mut self, section: &str, field: &str, value: &str) -> Result<(), String> {
        self.wait_until(field, |control| Ok(control.info_word(section, field)? == value))
    }

    /// Waits until a number in the STATUS of a sale has this value.
    pub fn wait_for_status(&mut self, sale: &str, field: &str, value: u64) -> Result<(), String> {
        self.wait_until(field, |control| Ok(control.status(sale, field)? == value))
    }

    fn wait_until(
        &mut self,
        field: &str,
        mut holds: impl FnMut(&mut Control) -> Result<bool, String>,
    ) -> Result<(), String> {
        let deadline = Instant::now() + DEADLINE;
        while !holds(self)? {
            if Instant::now() > deadline {
                return Err(format!("waited in vain for {field}"));
            }
            thread::sleep(POLL_EVERY);
        }
        Ok(())
    }

    /// Average microseconds of server time for one call of a command since CONFIG RESETSTAT.
    pub fn call_us(&mut self, command: &str) -> Result<f64, String> {
        self.statistic("commandstats", &format!("cmdstat_{command}"), "usec_per_call")
    }

    /// The p99.9 of the microseconds that these calls took in the server.
    pub fn p999_us(&mut self, command: &str) -> Result<f64, String> {
        self.statistic("latencystats", &format!("latency_percentiles_usec_{command}"), "p99.9")
    }

    /// A number in a field of INFO like `a=1,b=2`.
    fn statistic(&mut self, section: &str, field: &str, name: &str) -> Result<f64, String> {
        let all = self.info_word(section, field)?;
        let mut parts = all.split(',').filter_map(|part| part.split_once('='));
        let found = parts.find_map(|(of, number)| (of == name).then_some(number));
        let number = found.and_then(|number| number.parse().ok());
        number.ok_or_else(|| format!("INFO {field} is {all}"))
    }

    /// Processor seconds of the server's main thread.
    pub fn worked_seconds(&mut self) -> Result<f64, String> {
        let user = self.info("cpu", "used_cpu_user_main_thread")?;
        Ok(user + self.info("cpu", "used_cpu_sys_main_thread")?)
    }
}
