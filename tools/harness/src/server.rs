//! Spawning servers with the module. A server lives in a folder of its own on a free port of the
//! loopback interface and dies with its test, also when the test panics or is killed.
//!
//! `SECKILL_TEST_SERVER` names another server binary (a wrapper script must `exec` it, because the
//! process started here is the one that is killed), `SECKILL_MODULE` another module file;
//! `SECKILL_VALGRIND` has them run under valgrind, see there.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use rustix::process::Signal;

use super::client::Conn;
use super::launch::{self, Failure};
use super::options::service_user;
pub use super::options::{module_path, Options};
use super::other_module;
use super::process::{command_as, last_lines_of, Process};
use super::reply::Reply;
use super::valgrind::Logs;
use super::wait::{holds_in_time, wait_until};

const LOG_TAIL_LINES: usize = 40;

impl Options {
    /// Starts a server.
    #[track_caller]
    pub fn start(self) -> Server {
        match self.try_start() {
            Ok(server) => server,
            Err(log) => panic!("the server did not start; its log:\n{log}"),
        }
    }

    /// Starts a server; fails with its log when it did not come up.
    pub fn try_start(self) -> Result<Server, String> {
        let process = Process::in_folder(&std::env::temp_dir(), "seckill-");
        let process = process.expect("a folder for the server");
        let (options, valgrind) = (self, Logs::of_new_server());
        let mut server = Server { process, port: 0, options, ended: None, valgrind };
        server.launch()?;
        Ok(server)
    }
}

/// A running server.
pub struct Server {
    process: Process,
    port: u16,
    options: Options,
    /// The exit status of a server that did not come up.
    ended: Option<ExitStatus>,
    /// The logs of valgrind, if the server runs under it.
    valgrind: Option<Logs>,
}

impl Server {
    /// A server with nothing special.
    #[track_caller]
    pub fn start() -> Server {
        Options::new().start()
    }

    /// Starts two servers; the second one is a replica of the first.
    #[track_caller]
    pub fn pair() -> (Server, Server) {
        let (primary, replica) = (Server::start(), Server::start());
        replica.follow(&primary);
        (primary, replica)
    }

    /// One whose sweeper comes once a minute.
    #[track_caller]
    pub fn sleeping() -> Server {
        Options::new().module_args("sweep-interval-ms 60000").start()
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The folder that it keeps its files in.
    pub fn dir(&self) -> &Path {
        self.process.folder()
    }

    /// The process id.
    #[track_caller]
    pub fn pid(&self) -> u32 {
        self.process.pid().expect("the server runs")
    }

    /// A new connection.
    #[track_caller]
    pub fn conn(&self) -> Conn {
        Conn::open(self.port).unwrap_or_else(|error| panic!("no connection: {error}"))
    }

    /// This server, with a connection to it.
    #[track_caller]
    pub fn with_conn(self) -> (Server, Conn) {
        let conn = self.conn();
        (self, conn)
    }

    /// One command over a connection of its own.
    #[track_caller]
    pub fn cmd(&self, line: &str) -> Reply {
        self.conn().cmd(line)
    }

    /// One command over a connection of its own; its reply in the notation of [`Reply`].
    #[track_caller]
    pub fn call(&self, line: &str) -> String {
        self.conn().call(line)
    }

    /// The clock, Unix milliseconds.
    #[track_caller]
    pub fn clock_ms(&self) -> i64 {
        let time = self.cmd("TIME");
        let part = |place: usize| time.items()[place].text().parse::<i64>().expect("a number");
        part(0) * 1000 + part(1) / 1000
    }

    /// Sets the server's clock this many milliseconds off the machine's.
    #[track_caller]
    pub fn step_clock(&self, ms: i64) {
        assert!(self.options.has_own_clock, "a server with a clock of its own");
        // Written over and not cut off first: the server reads the file as memory.
        let mut options = OpenOptions::new();
        let options = options.create(true).truncate(false).write(true);
        let mut file = options.open(self.clock_file()).expect("a clock");
        file.write_all(&(ms * 1000).to_ne_bytes()).expect("the clock is set");
    }

    fn clock_file(&self) -> PathBuf {
        self.dir().join("clock")
    }

    /// The digest of a key's value.
    #[track_caller]
    pub fn digest(&self, key: &str) -> String {
        let digest = self.cmd(&format!("DEBUG DIGEST-VALUE {key}")).items()[0].text();
        assert_ne!(digest, "0".repeat(40), "a digest of zeros says nothing");
        digest
    }

    /// Everything of a sale that users can see and that every node must agree on.
    #[track_caller]
    pub fn picture(&self, key: &str) -> Vec<String> {
        let mut conn = self.conn();
        let status = conn.cmd(&format!("SECKILL.STATUS {key}"));
        // Each node counts refusals for itself.
        let kept = |name: &str| !matches!(name, "now" | "counters" | "unmet_units");
        let fields = status.pairs().into_iter().filter(|(name, _)| kept(name));
        let mut lines: Vec<String> =
            fields.map(|(name, value)| format!("{name} {value}")).collect();
        let mut cursor = 0;
        loop {
            let page = conn.cmd(&format!("SECKILL.WINNERS {key} {cursor} COUNT 10000 STATE ALL"));
            lines.extend(page.items()[1].items().iter().map(Reply::to_string));
            cursor = page.items()[0].int();
            if cursor == 0 {
                return lines;
            }
        }
    }

    /// As [`Server::picture`], with what only some sales have, and the digest.
    #[track_caller]
    pub fn whole(&self, key: &str) -> Vec<String> {
        let more = ["WAITERS k 0", "ROUNDS k", "UNITS k 1 COUNT 10000", "PARTS k"];
        let more = more.map(|line| self.call(&format!("SECKILL.{}", line.replace('k', key))));
        [self.digest(key)].into_iter().chain(more).chain(self.picture(key)).collect()
    }

    /// Checks that AUDIT finds nothing wrong.
    #[track_caller]
    pub fn assert_sound(&self, key: &str) {
        let audit = self.cmd(&format!("SECKILL.AUDIT {key}"));
        assert_eq!(audit.field("ok"), Reply::Int(1), "AUDIT {key} says {audit}");
    }

    /// Checks that the server has refused no APPLY, and its streams no entry.
    #[track_caller]
    pub fn assert_took_all(&self) {
        for counter in ["seckill_apply_refused", "seckill_outbox_refused"] {
            assert_eq!(self.info("seckill", counter), "0", "{counter}");
        }
    }

    /// One value of INFO.
    #[track_caller]
    pub fn info(&self, section: &str, name: &str) -> String {
        info_of(&mut self.conn(), section, name)
    }

    /// All it has logged.
    pub fn log(&self) -> String {
        launch::log(self.dir())
    }

    /// Waits until the log has `text`.
    #[track_caller]
    pub fn wait_for_log(&self, text: &str) {
        wait_until(&format!("the log says {text}"), || self.log().contains(text));
    }

    /// Attaches this server to a primary and waits until the link is up.
    #[track_caller]
    pub fn follow(&self, primary: &Server) {
        self.cmd(&format!("REPLICAOF 127.0.0.1 {}", primary.port));
        wait_until("the link is up", || self.info("replication", "master_link_status") == "up");
    }

    /// Waits until this replica has applied all that its primary has sent.
    #[track_caller]
    pub fn wait_in_sync(&self, primary: &Server) {
        wait_until("the replica is in sync", || {
            let sent = primary.info("replication", "master_repl_offset");
            let link = self.info("replication", "master_link_status");
            link == "up" && self.info("replication", "slave_repl_offset") == sent
        });
    }

    /// Kills the server as a power cut would: at once and with no say.
    #[track_caller]
    pub fn kill9(&mut self) {
        self.process.kill().expect("the server runs");
    }

    /// Stops the server in an orderly way. With `save`, it writes its snapshot first.
    #[track_caller]
    pub fn stop(&mut self, save: bool) {
        let how = if save { "SAVE" } else { "NOSAVE" };
        let _ = self.conn().try_ask(&["SHUTDOWN", how]);
        let ended = holds_in_time(|| self.process.ended().is_some());
        assert!(ended, "the server did not shut down");
        self.process.kill();
    }

    /// Stops the server without saving, unless it has ended by itself.
    #[track_caller]
    pub fn stop_if_it_runs(&mut self) {
        if self.process.pid().is_some() && self.process.ended().is_none() {
            self.stop(false);
        }
    }

    /// Adds a line of redis.conf for the next start.
    pub fn add_line(&mut self, line: &str) {
        self.options.lines.push(line.to_owned());
    }

    /// Loads another file from the next start on.
    pub fn set_module_file(&mut self, path: &Path) {
        self.options.module_file = Some(path.to_owned());
    }

    /// Whether the server is started without the module from now on.
    pub fn leave_module_out(&mut self, is_out: bool) {
        self.options.module_args = (!is_out).then(String::new);
    }

    /// Starts a stopped server again in its folder, perhaps on another port.
    #[track_caller]
    pub fn start_again(&mut self) {
        if let Err(log) = self.launch() {
            panic!("the server did not start again; its log:\n{log}");
        }
    }

    /// [`Server::start_again`], but prints the log when the server did not come up.
    pub fn try_start_again(&mut self) -> Result<(), String> {
        self.launch()
    }

    /// How the server ended when it last did not come up.
    pub fn ended(&self) -> Option<ExitStatus> {
        self.ended
    }

    /// Asks the server to shut down, as an operator's system does, and waits until it has.
    fn end_in_order(&self) {
        if self.process.signal(Signal::TERM).is_ok() {
            holds_in_time(|| self.process.ended().is_some());
        }
    }

    fn launch(&mut self) -> Result<(), String> {
        let launched = launch::launch(&self.process, None, |port| self.command(port));
        self.port = launched.map_err(|Failure { ended, log, .. }| {
            self.ended = ended;
            log
        })?;
        Ok(())
    }

    fn command(&self, port: u16) -> Command {
        let conf = self.dir().join("redis.conf");
        fs::write(&conf, self.options.conf(port, self.dir())).expect("a configuration file");
        let program = self.options.program.as_os_str();
        let through = self.valgrind.as_ref().map_or(Vec::new(), Logs::words);
        let words: Vec<&OsStr> = through.iter().map(OsStr::new).chain([program]).collect();
        let user = self.options.is_service.then(|| service_user(self.dir(), program)).flatten();
        let mut command = command_as(user, &words);
        if self.options.has_own_clock {
            self.step_clock(0);
            command.env("CLOCK_STEP_FILE", self.clock_file());
            command.env("LD_PRELOAD", other_module::clock_step());
        }
        command.arg(conf).current_dir(self.dir());
        if self.options.is_service {
            command.args(["--supervised", "systemd", "--daemonize", "no"]).current_dir("/");
        }
        command
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let ended = self.process.ended();
        if self.valgrind.is_some() && ended.is_none() {
            self.end_in_order();
        }
        self.process.kill();
        let log = self.log();
        if std::thread::panicking() {
            let tail = last_lines_of(&log, LOG_TAIL_LINES);
            eprintln!("--- log of the server on port {} ---\n{tail}", self.port);
            return;
        }
        if let Some(status) = ended {
            panic!("the server ended by itself ({status}); its log:\n{log}");
        }
        // A panic of the module is caught and logged. Every test checks that there was none.
        assert!(!log.contains("failed inside"), "the module panicked; the log:\n{log}");
        let reports = self.valgrind.as_ref().map_or(Vec::new(), |logs| logs.reports().ours);
        assert!(reports.is_empty(), "valgrind reports:\n{}", reports.join("\n\n"));
    }
}

/// One value of INFO over `conn`.
#[track_caller]
pub fn info_of(conn: &mut Conn, section: &str, name: &str) -> String {
    let info = conn.cmd(&format!("INFO {section}")).text();
    let line = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("no {name} in INFO {section}:\n{info}")).to_owned()
}
