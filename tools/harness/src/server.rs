//! Starts servers with the module. Each server has its own folder and a free port of the loopback
//! interface, and ends with its test, also when the test panics or is killed.
//!
//! `SECKILL_TEST_SERVER` names another server program. A wrapper script must `exec` the server,
//! because tests kill the process that they started. `SECKILL_MODULE` names another module file.
//! `SECKILL_VALGRIND` and `SECKILL_SANITIZER` check the servers' memory, see `valgrind`.

use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::process::ExitStatus;

use rustix::process::Signal;

use super::client::Conn;
use super::launch;
use super::options::set_clock;
pub use super::options::{module_path, Options};
use super::process::last_lines_of;
use super::program;
use super::reply::Reply;
use super::valgrind::Logs;
use super::wait::{holds_in_time, unix_ms, wait_until};

const LOG_TAIL_LINES: usize = 40;

impl Options {
    #[track_caller]
    pub fn start(self) -> Server {
        match self.try_start() {
            Ok(server) => server,
            Err(log) => panic!("the server did not start; its log:\n{log}"),
        }
    }

    /// Starts a server. If it does not start, the error has its log.
    pub fn try_start(mut self) -> Result<Server, String> {
        let valgrind = Logs::of_new_server();
        self.through = valgrind.as_ref().map_or(Vec::new(), Logs::words);
        let server = program::Server::new(self).expect("a folder for the server");
        let mut server = Server { server, ended: None, valgrind };
        server.try_start_again()?;
        Ok(server)
    }
}

/// A running server for tests: any failure of a call panics.
pub struct Server {
    server: program::Server,
    /// The exit status of a server that did not start.
    ended: Option<ExitStatus>,
    /// The logs of valgrind or a sanitizer, if one checks the server.
    valgrind: Option<Logs>,
}

impl Deref for Server {
    type Target = program::Server;

    fn deref(&self) -> &program::Server {
        &self.server
    }
}

impl DerefMut for Server {
    fn deref_mut(&mut self) -> &mut program::Server {
        &mut self.server
    }
}

impl Server {
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

    /// A server whose background expiry runs only once a minute.
    #[track_caller]
    pub fn sleeping() -> Server {
        Options::new().module_args("sweep-interval-ms 60000").start()
    }

    #[track_caller]
    pub fn conn(&self) -> Conn {
        Conn::open(self.port()).unwrap_or_else(|error| panic!("no connection: {error}"))
    }

    /// This server, with a connection to it.
    #[track_caller]
    pub fn with_conn(self) -> (Server, Conn) {
        let conn = self.conn();
        (self, conn)
    }

    /// Sends one command over a new connection.
    #[track_caller]
    pub fn cmd(&self, line: &str) -> Reply {
        self.conn().cmd(line)
    }

    /// Sends one command over a new connection. Returns its reply in the notation of [`Reply`].
    #[track_caller]
    pub fn call(&self, line: &str) -> String {
        self.conn().call(line)
    }

    /// The server's clock in Unix ms.
    #[track_caller]
    pub fn clock_ms(&self) -> i64 {
        self.conn().clock_ms()
    }

    /// Sets the server's clock to the machine's clock plus `ms`. Waits until the server has read
    /// it: Valkey 9.1 reads the clock ten times a second, and counts ticks in between.
    #[track_caller]
    pub fn step_clock(&self, ms: i64) {
        assert!(self.options.has_own_clock, "a server with a clock of its own");
        set_clock(self.folder(), ms);
        wait_until("the server reads its clock", || {
            let cached_us = self.info("server", "server_time_usec").parse::<i64>();
            cached_us.is_ok_and(|us| (us / 1000 - ms).abs_diff(unix_ms() as i64) < 1000)
        });
    }

    #[track_caller]
    pub fn digest(&self, key: &str) -> String {
        let digest = self.cmd(&format!("DEBUG DIGEST-VALUE {key}")).items()[0].text();
        assert_ne!(digest, "0".repeat(40), "a digest of zeros says nothing");
        digest
    }

    /// All state of a sale that users can see and that must be equal on every node.
    #[track_caller]
    pub fn picture(&self, key: &str) -> Vec<String> {
        let mut conn = self.conn();
        let status = conn.cmd(&format!("SECKILL.STATUS {key}"));
        // Each node has its own counts of refusals.
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

    /// [`Server::picture`], with state that only some sales have, and the digest.
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

    /// Checks that the server has refused no APPLY, and no stream entry.
    #[track_caller]
    pub fn assert_took_all(&self) {
        for counter in ["seckill_apply_refused", "seckill_outbox_refused"] {
            assert_eq!(self.info("seckill", counter), "0", "{counter}");
        }
    }

    #[track_caller]
    pub fn info(&self, section: &str, name: &str) -> String {
        self.conn().info(section, name)
    }

    pub fn log(&self) -> String {
        launch::log(self.folder())
    }

    #[track_caller]
    pub fn wait_for_log(&self, text: &str) {
        wait_until(&format!("the log says {text}"), || self.log().contains(text));
    }

    /// Attaches this server to a primary and waits until the link is up.
    #[track_caller]
    pub fn follow(&self, primary: &Server) {
        self.cmd(&format!("REPLICAOF 127.0.0.1 {}", primary.port()));
        wait_until("the link is up", || self.info("replication", "master_link_status") == "up");
    }

    /// Waits until this replica has applied everything that its primary sent.
    #[track_caller]
    pub fn wait_in_sync(&self, primary: &Server) {
        wait_until("the replica is in sync", || {
            let sent = primary.info("replication", "master_repl_offset");
            let link = self.info("replication", "master_link_status");
            link == "up" && self.info("replication", "slave_repl_offset") == sent
        });
    }

    /// Waits until this replica is in sync. Checks that these of its keys equal the primary's, and
    /// that it has refused nothing.
    #[track_caller]
    pub fn assert_follows(&self, primary: &Server, keys: &[&str]) {
        self.wait_in_sync(primary);
        for key in keys {
            assert_eq!(self.digest(key), primary.digest(key), "{key}");
        }
        self.assert_took_all();
    }

    #[track_caller]
    pub fn kill9(&mut self) {
        self.kill().expect("the server runs");
    }

    /// Shuts the server down; with `save` it writes an RDB file first.
    #[track_caller]
    pub fn stop(&mut self, save: bool) {
        let how = if save { "SAVE" } else { "NOSAVE" };
        let _ = self.conn().try_ask(&["SHUTDOWN", how]);
        let ended = holds_in_time(|| self.process.ended().is_some());
        assert!(ended, "the server did not shut down");
        self.process.kill();
    }

    /// Adds a line of redis.conf for the next start.
    pub fn add_line(&mut self, line: &str) {
        self.options.lines.push(line.to_owned());
    }

    /// Loads another module file from the next start on.
    pub fn set_module_file(&mut self, path: &Path) {
        self.options.module_file = Some(path.to_owned());
    }

    /// Leaves the module out from the next start on, or not.
    pub fn leave_module_out(&mut self, is_out: bool) {
        self.options.module_args = (!is_out).then(String::new);
    }

    /// Starts a stopped server again in its folder. The port may change.
    #[track_caller]
    pub fn start_again(&mut self) {
        if let Err(log) = self.try_start_again() {
            panic!("the server did not start again; its log:\n{log}");
        }
    }

    /// As [`Server::start_again`], but returns the log if the server does not start.
    pub fn try_start_again(&mut self) -> Result<(), String> {
        let launched = self.launch(None);
        launched.map_err(|failure| {
            self.ended = failure.ended;
            failure.log
        })
    }

    /// The exit status of the last start that failed.
    pub fn ended(&self) -> Option<ExitStatus> {
        self.ended
    }

    /// Sends SIGTERM and waits until the server has exited. A stopped server goes on first.
    fn end_in_order(&self) {
        let _ = self.process.signal(Signal::CONT);
        if self.process.signal(Signal::TERM).is_ok() {
            holds_in_time(|| self.process.ended().is_some());
        }
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
        let reports = self.valgrind.as_ref().map_or(Vec::new(), |logs| logs.reports().ours);
        if !reports.is_empty() {
            eprintln!("reported about the module:\n{}", reports.join("\n\n"));
        }
        if std::thread::panicking() {
            let tail = last_lines_of(&log, LOG_TAIL_LINES);
            eprintln!("--- log of the server on port {} ---\n{tail}", self.port());
            return;
        }
        if let Some(status) = ended {
            panic!("the server ended by itself ({status}); its log:\n{log}");
        }
        // The module catches its panics and logs them. Every test checks that there was none.
        assert!(!log.contains("failed inside"), "the module panicked; the log:\n{log}");
        assert!(reports.is_empty(), "{} reports about the module", reports.len());
    }
}
