//! A redis-server with the module on a free loopback port, in a temporary folder.
//!
//! It is stopped and its folder removed when the value is dropped, also when the example fails,
//! and also on Ctrl-C or a TERM signal.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{kill_process, Pid, Signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tempfile::TempDir;

use crate::program::server_program;

const START_DEADLINE: Duration = Duration::from_secs(30);
const POLL_EVERY: Duration = Duration::from_millis(5);
/// Another program may take the free port between the moment it was found and the moment
/// redis-server binds it.
const START_ATTEMPTS: usize = 5;

/// What a signal must clean up: a process and its folder.
pub struct Running {
    pub child: Child,
    pub folder: TempDir,
}

pub type Slot = Arc<Mutex<Option<Running>>>;

pub static ALL: Mutex<Vec<Slot>> = Mutex::new(Vec::new());
pub static SIGNALS: Once = Once::new();

/// A running redis-server that belongs to this example.
pub struct Server {
    slot: Slot,
    port: u16,
    /// What the server is run by, such as a profiler with its options; mostly nothing.
    through: Vec<String>,
    program: OsString,
    module: Option<PathBuf>,
    settings: Vec<String>,
}

impl Server {
    /// Starts the server with `module` and `settings`, which are written as on its command line:
    /// `["--appendonly", "yes"]`. Returns when it answers.
    ///
    /// # Errors
    /// A sentence, with the last lines of the server's log where there is one.
    pub fn start(module: &Path, settings: &[&str]) -> Result<Server, String> {
        Server::start_through(&[], module, settings)
    }

    /// As [`Server::start`] without a module.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub fn start_without_module(settings: &[&str]) -> Result<Server, String> {
        Server::start_with(&std::env::temp_dir(), &[], None, settings)
    }

    /// As [`Server::start`], but what runs is `through` with the server's command line behind it.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub fn start_through(
        through: &[&str],
        module: &Path,
        settings: &[&str],
    ) -> Result<Server, String> {
        Server::start_below(&std::env::temp_dir(), through, module, settings)
    }

    /// As [`Server::start_through`], but its folder lies in `place`, on a disk of the caller's.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub fn start_below(
        place: &Path,
        through: &[&str],
        module: &Path,
        settings: &[&str],
    ) -> Result<Server, String> {
        Server::start_with(place, through, Some(module), settings)
    }

    fn start_with(
        place: &Path,
        through: &[&str],
        module: Option<&Path>,
        settings: &[&str],
    ) -> Result<Server, String> {
        SIGNALS.call_once(clean_up_on_signals);
        let folder = tempfile::Builder::new()
            .prefix("seckill-")
            .tempdir_in(place)
            .map_err(|e| format!("No temporary folder: {e}"))?;
        let server = Server {
            slot: Slot::default(),
            port: 0,
            through: owned(through),
            program: server_program(),
            module: module.map(Path::to_owned),
            settings: owned(settings),
        };
        lock(&ALL).push(Arc::clone(&server.slot));
        server.start_in(folder)
    }

    /// Starts in `folder`, on another port if this one was taken meanwhile.
    fn start_in(mut self, mut folder: TempDir) -> Result<Server, String> {
        let mut trouble = String::new();
        for attempt in 0..START_ATTEMPTS {
            if attempt > 0 || self.port == 0 {
                self.port = free_port()?;
            }
            match self.launch(folder) {
                Ok(()) => return Ok(self),
                Err((back, why)) => {
                    trouble = why;
                    let Some(back) = back else { break };
                    folder = back;
                    if !trouble.contains("Address already in use") {
                        break;
                    }
                }
            }
        }
        Err(trouble)
    }

    /// Launches the process and waits until it answers; gives the folder back on failure.
    fn launch(&self, folder: TempDir) -> Result<(), (Option<TempDir>, String)> {
        let log = folder.path().join("server.log");
        let launched = command_through(&self.through, &self.program)
            .args(["--bind", "127.0.0.1", "--port", &self.port.to_string()])
            .args(["--save", "", "--logfile", "server.log", "--dir"])
            .arg(folder.path())
            .args(&self.settings)
            .args(
                self.module.iter().flat_map(|file| [OsStr::new("--loadmodule"), file.as_os_str()]),
            )
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let child = match launched {
            Ok(child) => child,
            Err(e) => {
                let why = format!("{} does not start: {e}", self.program.to_string_lossy());
                return Err((Some(folder), why));
            }
        };
        *lock(&self.slot) = Some(Running { child, folder });
        self.wait_until_ready().map_err(|why| {
            let tail = last_lines(&log, 8);
            (self.stop(), format!("{why}\n{tail}"))
        })
    }

    /// Ready means: it is our own process that answers on this port, and its data is loaded.
    fn wait_until_ready(&self) -> Result<(), String> {
        let deadline = Instant::now() + START_DEADLINE;
        loop {
            if let Some(running) = lock(&self.slot).as_mut() {
                if let Ok(Some(status)) = running.child.try_wait() {
                    return Err(format!("redis-server ended at once ({status}). Its log:"));
                }
                if is_up(self.port, running.child.id()) {
                    return Ok(());
                }
            }
            if Instant::now() > deadline {
                return Err("redis-server does not answer. Its log:".into());
            }
            thread::sleep(POLL_EVERY);
        }
    }

    /// `redis://127.0.0.1:port/`
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/", self.port)
    }

    /// The loopback port it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The process id, 0 when it was stopped.
    pub fn pid(&self) -> u32 {
        lock(&self.slot).as_ref().map_or(0, |running| running.child.id())
    }

    /// A fresh connection.
    ///
    /// # Errors
    /// A sentence with what the client library says.
    pub fn connect(&self) -> Result<redis::Connection, String> {
        let client = redis::Client::open(self.url()).map_err(|e| e.to_string())?;
        client.get_connection().map_err(|e| format!("No connection to redis-server: {e}"))
    }

    /// Ends the process at once, as `kill -9` does; its files stay.
    pub fn kill(&self) {
        if let Some(running) = lock(&self.slot).as_mut() {
            end(&mut running.child);
        }
    }

    /// Stops all its threads where they are, as a machine that hangs does.
    ///
    /// # Errors
    /// A sentence when it does not run; also those of [`Server::thaw`].
    pub fn freeze(&self) -> Result<(), String> {
        self.signal(Signal::STOP)
    }

    /// Lets it go on.
    pub fn thaw(&self) -> Result<(), String> {
        self.signal(Signal::CONT)
    }

    fn signal(&self, signal: Signal) -> Result<(), String> {
        let pid = i32::try_from(self.pid()).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or("This server was stopped before.")?;
        kill_process(pid, signal).map_err(|e| format!("No signal to redis-server: {e}"))
    }

    /// Whether its process has ended.
    pub fn has_ended(&self) -> bool {
        let mut running = lock(&self.slot);
        running.as_mut().is_none_or(|running| !matches!(running.child.try_wait(), Ok(None)))
    }

    /// The folder that has its files, empty when it was stopped.
    pub fn folder(&self) -> PathBuf {
        lock(&self.slot)
            .as_ref()
            .map(|running| running.folder.path().to_owned())
            .unwrap_or_default()
    }

    /// Starts it again on the same files after [`Server::kill`], on the same port if it is free.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub fn restart(self) -> Result<Server, String> {
        match self.stop() {
            Some(folder) => {
                let again = Server {
                    slot: Arc::clone(&self.slot),
                    port: self.port,
                    through: self.through.clone(),
                    program: self.program.clone(),
                    module: self.module.clone(),
                    settings: self.settings.clone(),
                };
                drop(self);
                again.start_in(folder)
            }
            None => Err("This server was stopped before.".into()),
        }
    }

    /// Ends the process and hands out its folder.
    fn stop(&self) -> Option<TempDir> {
        let mut running = lock(&self.slot).take()?;
        end(&mut running.child);
        Some(running.folder)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop());
    }
}

/// Kills and collects one child that this program started.
pub fn end(child: &mut Child) {
    // Both fail only if it has ended already.
    let _ = child.kill();
    let _ = child.wait();
}

/// Default handling of a signal would skip every destructor and leave servers running.
pub fn clean_up_on_signals() {
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM, SIGHUP]) else { return };
    thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            for slot in lock(&ALL).iter() {
                if let Some(mut running) = lock(slot).take() {
                    end(&mut running.child);
                }
            }
            std::process::exit(128 + signal);
        }
    });
}

/// A poisoned lock means that another thread failed; cleaning up matters more then, not less.
pub fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn free_port() -> Result<u16, String> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(|e| format!("No free loopback port: {e}"))
}

/// Whether the process `pid` answers here; PING is refused while a server loads its data.
fn is_up(port: u16, pid: u32) -> bool {
    let connection = redis::Client::open(format!("redis://127.0.0.1:{port}/"))
        .and_then(|client| client.get_connection_with_timeout(Duration::from_secs(5)));
    let Ok(mut connection) = connection else { return false };
    let info = redis::cmd("INFO").arg("server").query::<String>(&mut connection);
    let mine = format!("process_id:{pid}");
    info.is_ok_and(|info| info.lines().any(|line| line == mine))
        && redis::cmd("PING").query::<String>(&mut connection).is_ok()
}

/// setpriv asks the kernel to end the server together with this program, even when that is killed
/// in a way that no program can handle. Where it is missing, the rest still cleans up.
pub fn command(program: &OsStr) -> Command {
    command_through(&[], program)
}

fn command_through(through: &[String], program: &OsStr) -> Command {
    let through = through.iter().map(OsStr::new);
    let mut words = through.chain([program]);
    let setpriv = OsStr::new("/usr/bin/setpriv");
    let mut command = match Path::new(setpriv).is_file() {
        true => {
            let mut command = Command::new(setpriv);
            command.args(["--pdeathsig", "KILL", "--"]);
            command
        }
        false => Command::new(words.next().unwrap_or(program)),
    };
    command.args(words);
    command
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

pub fn last_lines(file: &Path, count: usize) -> String {
    let text = fs::read_to_string(file).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}
