//! Spawning servers with the module. A server lives in a folder of its own on a free port of the
//! loopback interface and dies with its test, also when the test panics or is killed.
//!
//! `SECKILL_TEST_SERVER` names another server binary (a wrapper script must `exec` it, because the
//! process started here is the one that is killed), `SECKILL_MODULE` another module file;
//! `SECKILL_VALGRIND` has them run under valgrind, see there.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::process::{kill_process, Pid, Signal};
use tempfile::TempDir;

use super::client::Conn;
use super::other_module;
use super::program::server_program;
use super::random::Random;
use super::reply::Reply;
use super::valgrind::Logs;
use super::wait::{holds_in_time, wait_until};

/// Ports below those that the kernel gives to outgoing connections, so that no client of another
/// test sits on one.
const PORTS: std::ops::Range<u64> = 10_000..32_000;
const PORT_ATTEMPTS: usize = 20;
const LOG_TAIL_LINES: usize = 40;

/// How a server is to be started.
#[derive(Clone, Debug)]
pub struct Options {
    lines: Vec<String>,
    base: Option<String>,
    module_args: Option<String>,
    program: OsString,
    has_own_clock: bool,
    is_service: bool,
}

impl Default for Options {
    fn default() -> Self {
        let module_args = Some(String::new());
        let program = server_program();
        let (lines, base, has_own_clock, is_service) = (Vec::new(), None, false, false);
        Options { lines, base, module_args, program, has_own_clock, is_service }
    }
}

impl Options {
    /// The settings that every test server has.
    pub fn new() -> Options {
        Options::default()
    }

    /// Adds a line of redis.conf.
    pub fn line(mut self, line: &str) -> Options {
        self.lines.push(line.to_owned());
        self
    }

    /// Starts from this redis.conf instead of the tests' own.
    pub fn base(mut self, conf: &str) -> Options {
        self.base = Some(conf.to_owned());
        self
    }

    /// Arguments behind the module's path.
    pub fn module_args(mut self, args: &str) -> Options {
        self.module_args = Some(args.to_owned());
        self
    }

    /// Starts this server binary instead of the one under test.
    pub fn program(mut self, path: &Path) -> Options {
        self.program = path.into();
        self
    }

    /// Starts it as Debian's service does: with the unit's command line, in a folder where it may
    /// not write, and as user redis (nobody where there is none) when root runs the tests with the
    /// system's own server. Another one may lie where only root can read it.
    pub fn service(mut self) -> Options {
        self.is_service = true;
        self
    }

    /// Leaves the module out.
    pub fn without_module(mut self) -> Options {
        self.module_args = None;
        self
    }

    /// Loads the tests' other module too.
    pub fn with_other_module(self) -> Options {
        let line = format!("loadmodule {}", other_module::path().display());
        self.line(&line)
    }

    /// Gives the server a clock that [`Server::step_clock`] sets.
    pub fn with_own_clock(mut self) -> Options {
        self.has_own_clock = true;
        self
    }

    /// Starts a server.
    #[track_caller]
    pub fn start(self) -> Server {
        match self.try_start() {
            Ok(server) => server,
            Err(log) => panic!("the server did not start; its log:\n{log}"),
        }
    }

    /// Starts a server, or tells what it logged when it did not come up.
    pub fn try_start(self) -> Result<Server, String> {
        let dir = tempfile::tempdir().expect("a folder for the server");
        let (options, valgrind) = (self, Logs::of_new_server());
        let mut server = Server { child: None, port: 0, dir, options, ended: None, valgrind };
        server.launch()?;
        Ok(server)
    }

    /// Where the server finds the module: a service may not read every folder, but its own.
    fn module(&self, dir: &Path) -> PathBuf {
        match self.is_service {
            true => dir.join("libseckill.so"),
            false => module_path(),
        }
    }

    fn conf(&self, port: u16, dir: &Path) -> String {
        let mut lines = match &self.base {
            Some(base) => vec![base.clone()],
            None => OWN_SETTINGS.iter().map(|line| (*line).to_owned()).collect(),
        };
        if let Some(args) = &self.module_args {
            lines.push(format!("loadmodule {} {args}", self.module(dir).display()));
        }
        lines.extend(self.lines.iter().cloned());
        lines.push(format!("bind 127.0.0.1\nport {port}\ndir {}\n", dir.display()));
        lines.join("\n")
    }
}

/// No snapshots by themselves, DEBUG for digests, and replicas that attach without delay.
const OWN_SETTINGS: [&str; 4] = [
    "save \"\"",
    "enable-debug-command yes",
    "repl-diskless-sync no",
    "repl-diskless-sync-delay 0",
];

/// A running server.
pub struct Server {
    child: Option<Child>,
    port: u16,
    dir: TempDir,
    options: Options,
    /// How it ended when it did not come up.
    ended: Option<ExitStatus>,
    /// When it runs under valgrind.
    valgrind: Option<Logs>,
}

impl Server {
    /// A server with nothing special.
    #[track_caller]
    pub fn start() -> Server {
        Options::new().start()
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The folder that it keeps its files in.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Its process id.
    #[track_caller]
    pub fn pid(&self) -> u32 {
        self.child.as_ref().expect("the server runs").id()
    }

    /// A new connection.
    #[track_caller]
    pub fn conn(&self) -> Conn {
        Conn::open(self.port).unwrap_or_else(|error| panic!("no connection: {error}"))
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

    /// Its clock, Unix milliseconds.
    #[track_caller]
    pub fn clock_ms(&self) -> i64 {
        let time = self.cmd("TIME");
        let part = |place: usize| time.items()[place].text().parse::<i64>().expect("a number");
        part(0) * 1000 + part(1) / 1000
    }

    /// Sets its clock so many milliseconds off the machine's.
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
        let kept = |name: &str| name != "now" && name != "counters";
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

    /// Checks that AUDIT finds nothing wrong.
    #[track_caller]
    pub fn assert_sound(&self, key: &str) {
        let audit = self.cmd(&format!("SECKILL.AUDIT {key}"));
        assert_eq!(audit.field("ok"), Reply::Int(1), "AUDIT {key} says {audit}");
    }

    /// One value of INFO.
    #[track_caller]
    pub fn info(&self, section: &str, name: &str) -> String {
        info_of(&mut self.conn(), section, name)
    }

    /// All it has logged.
    pub fn log(&self) -> String {
        let bytes = fs::read(self.dir().join("log")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
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
        let mut child = self.child.take().expect("the server runs");
        child.kill().expect("a signal to the server");
        child.wait().expect("the server ends");
    }

    /// Stops the server in an orderly way. With `save`, it writes its snapshot first.
    #[track_caller]
    pub fn stop(&mut self, save: bool) {
        let how = if save { "SAVE" } else { "NOSAVE" };
        let _ = self.conn().try_ask(&["SHUTDOWN", how]);
        let mut child = self.child.take().expect("the server runs");
        let ended = holds_in_time(|| matches!(child.try_wait(), Ok(Some(_))));
        self.child = (!ended).then_some(child);
        assert!(ended, "the server did not shut down");
    }

    /// Adds a line of redis.conf for the next start.
    pub fn add_line(&mut self, line: &str) {
        self.options.lines.push(line.to_owned());
    }

    /// Starts a stopped server again in its folder, perhaps on another port.
    #[track_caller]
    pub fn start_again(&mut self) {
        if let Err(log) = self.launch() {
            panic!("the server did not start again; its log:\n{log}");
        }
    }

    /// As [`Server::start_again`], but tells the log when the server did not come up.
    pub fn try_start_again(&mut self) -> Result<(), String> {
        self.launch()
    }

    /// How the server ended when it last did not come up.
    pub fn ended(&self) -> Option<ExitStatus> {
        self.ended
    }

    /// Starts on port after port until one is free.
    fn launch(&mut self) -> Result<(), String> {
        for _ in 0..PORT_ATTEMPTS {
            self.port = next_port();
            let logged = self.log().len();
            self.spawn();
            if self.wait_for_pong() {
                return Ok(());
            }
            if let Some(mut child) = self.child.take() {
                let _ = child.kill();
                self.ended = child.wait().ok();
            }
            let log = self.log().split_off(logged);
            if !log.contains("Address already in use") {
                return Err(log);
            }
        }
        Err(format!("no free port in {PORT_ATTEMPTS} attempts"))
    }

    fn spawn(&mut self) {
        let conf = self.dir().join("redis.conf");
        fs::write(&conf, self.options.conf(self.port, self.dir())).expect("a configuration file");
        let log = OpenOptions::new().create(true).append(true).open(self.dir().join("log"));
        let log: File = log.expect("a log file");
        let program = &self.options.program;
        let through = self.valgrind.as_ref().map_or(Vec::new(), Logs::words);
        let words: Vec<OsString> =
            through.into_iter().map(OsString::from).chain([program.clone()]).collect();
        let user = self.options.is_service.then(|| service_user(self.dir(), program)).flatten();
        let mut command = command_that_dies_with_us(user, &words);
        if self.options.has_own_clock {
            self.step_clock(0);
            command.env("CLOCK_STEP_FILE", self.clock_file());
            command.env("LD_PRELOAD", other_module::clock_step());
        }
        command.arg(conf).current_dir(self.dir()).stdin(Stdio::null());
        if self.options.is_service {
            command.args(["--supervised", "systemd", "--daemonize", "no"]).current_dir("/");
        }
        command.stderr(log.try_clone().expect("a second handle of the log")).stdout(log);
        let child = command.spawn();
        self.child = Some(child.unwrap_or_else(|error| panic!("{}: {error}", program.display())));
    }

    /// Whether the process started here, and no other on that port, comes to answer PING.
    fn wait_for_pong(&mut self) -> bool {
        let Some(mut child) = self.child.take() else { return false };
        let (port, pid) = (self.port, child.id().to_string());
        let mut ended = false;
        let up = holds_in_time(|| {
            ended = !matches!(child.try_wait(), Ok(None));
            ended || answers(port, &pid)
        });
        self.child = Some(child);
        up && !ended
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let ended = self.child.as_mut().and_then(|child| child.try_wait().ok().flatten());
        if let Some(mut child) = self.child.take() {
            if self.valgrind.is_some() && ended.is_none() {
                end_in_order(&mut child);
            }
            let _ = child.kill();
            let _ = child.wait();
        }
        let log = self.log();
        if std::thread::panicking() {
            let lines: Vec<&str> = log.lines().collect();
            let tail = &lines[lines.len().saturating_sub(LOG_TAIL_LINES)..];
            eprintln!("--- log of the server on port {} ---\n{}", self.port, tail.join("\n"));
            return;
        }
        if let Some(status) = ended {
            panic!("the server ended by itself ({status}); its log:\n{log}");
        }
        // A panic of the module is caught and logged. Every test is a test that there is none.
        assert!(!log.contains("failed inside"), "the module panicked; the log:\n{log}");
        let reports = self.valgrind.as_ref().map_or(Vec::new(), |logs| logs.reports().ours);
        assert!(reports.is_empty(), "valgrind reports:\n{}", reports.join("\n\n"));
    }
}

/// Asks a server to shut down, as an operator's system does, and waits until it has.
fn end_in_order(child: &mut Child) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let asked = pid.is_some_and(|pid| kill_process(pid, Signal::TERM).is_ok());
    asked.then(|| holds_in_time(|| !matches!(child.try_wait(), Ok(None))));
}

/// One value of INFO over `conn`.
#[track_caller]
pub fn info_of(conn: &mut Conn, section: &str, name: &str) -> String {
    let info = conn.cmd(&format!("INFO {section}")).text();
    let line = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("no {name} in INFO {section}:\n{info}")).to_owned()
}

/// The module under test: the one built together with this test binary.
pub fn module_path() -> PathBuf {
    if let Some(path) = std::env::var_os("SECKILL_MODULE") {
        return fs::canonicalize(&path).unwrap_or_else(|error| {
            panic!("SECKILL_MODULE names {}: {error}", path.to_string_lossy())
        });
    }
    let test = std::env::current_exe().expect("the path of this test");
    let path = test.with_file_name("libseckill.so");
    assert!(path.is_file(), "no module at {}: build it or set SECKILL_MODULE", path.display());
    path
}

/// Whom a service runs as, once its folder with a copy of the module in it is theirs; `None` is
/// whoever runs the tests.
fn service_user(dir: &Path, program: &OsStr) -> Option<(u32, u32)> {
    fs::copy(module_path(), dir.join("libseckill.so")).expect("a copy of the module");
    let is_found_on_the_path = Path::new(program).components().count() == 1;
    if !is_found_on_the_path || !rustix::process::geteuid().is_root() {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").expect("the users of this machine");
    let ids = |name: &str| {
        let line = users.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        let mut fields = line.split(':').skip(1).map(str::parse);
        Some((fields.next()?.ok()?, fields.next()?.ok()?))
    };
    let (user, group) = ids("redis").or_else(|| ids("nobody")).expect("a user to be");
    let inside = fs::read_dir(dir).expect("the folder").map(|file| file.expect("a file").path());
    for path in inside.chain([dir.to_owned()]) {
        std::os::unix::fs::chown(path, Some(user), Some(group)).expect("the owner changes");
    }
    Some((user, group))
}

/// The server's command line. setpriv asks the kernel to kill the server when the thread that
/// spawned it ends, so that nothing is left behind when a test process is killed.
fn command_that_dies_with_us(user: Option<(u32, u32)>, words: &[OsString]) -> Command {
    let setpriv = Path::new("/usr/bin/setpriv");
    if !setpriv.is_file() {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        return command;
    }
    let mut command = Command::new(setpriv);
    command.args(["--pdeathsig", "KILL"]);
    if let Some((user, group)) = user {
        let (user, group) = (user.to_string(), group.to_string());
        command.args(["--reuid", &user, "--regid", &group, "--clear-groups"]);
    }
    command.arg("--").args(words);
    command
}

fn answers(port: u16, pid: &str) -> bool {
    let Ok(mut conn) = Conn::open(port) else { return false };
    let asked = conn.try_ask(&["INFO", "server"]);
    let Ok(Reply::Bulk(info)) = asked else {
        // A server that asks for a password is up; it is told apart by its own test.
        return matches!(asked, Ok(Reply::Error(text)) if text.starts_with(b"NOAUTH"));
    };
    let pong = conn.try_ask(&["PING"]);
    let mine = format!("process_id:{pid}");
    let is_mine = String::from_utf8_lossy(&info).lines().any(|line| line == mine);
    is_mine && matches!(pong, Ok(Reply::Simple(text)) if text == b"PONG")
}

/// A port nobody listens on a moment ago. Two test processes may pick the same: then the second
/// server fails to bind, and the next port is tried.
fn next_port() -> u16 {
    static STEP: AtomicU64 = AtomicU64::new(0);
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970");
    let step = STEP.fetch_add(1, Ordering::Relaxed);
    let mut random = Random(since.as_nanos() as u64 ^ u64::from(std::process::id()) << 32 ^ step);
    loop {
        let port = (PORTS.start + random.below(PORTS.end - PORTS.start)) as u16;
        if std::net::TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}
