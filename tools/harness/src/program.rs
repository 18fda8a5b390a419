//! Shared parts of programs that start servers: the choice of server and module, the server itself,
//! and the exit code. A failure is a sentence.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use rustix::process::Signal;

use super::launch::launch;
use super::process::{command_as, last_lines_of, Process};

/// Lines of a log that a failure shows.
const LOG_LINES: usize = 8;

/// Connections of a server besides those of a crowd.
const OTHER_CLIENTS: usize = 32;

/// The exit code of a program: 0, or 1 after the sentence that says why.
pub fn exit(outcome: Result<(), String>) -> ExitCode {
    exit_told(outcome.map(|()| true))
}

/// The exit code of a program that has printed its failures itself.
pub fn exit_told(outcome: Result<bool, String>) -> ExitCode {
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(sentence) => {
            eprintln!("FAILED: {sentence}");
            ExitCode::FAILURE
        }
    }
}

/// The server to start: what `SECKILL_TEST_SERVER` names, or the one on the path. A wrapper script
/// must `exec` it, because the process started here is the one that is killed.
pub fn server_program() -> OsString {
    std::env::var_os("SECKILL_TEST_SERVER").unwrap_or_else(|| "redis-server".into())
}

/// The module file next to this program's own binary, or the one that the caller or
/// `SECKILL_MODULE` names; always absolute, because redis-server takes no other.
///
/// # Errors
/// A sentence that says where it was looked for.
pub fn module_file(named: Option<PathBuf>) -> Result<PathBuf, String> {
    let file = match named.or_else(|| std::env::var_os("SECKILL_MODULE").map(PathBuf::from)) {
        Some(file) => file,
        None => beside_this_program()?,
    };
    file.canonicalize().map_err(|_| {
        format!("There is no module at {}. Build it with: cargo build --release", file.display())
    })
}

/// A server for a crowd of this many connections, durable as a shop would have it: what is answered
/// is in the log file, synced every second.
///
/// # Errors
/// As [`Server::start`].
pub fn server_for_crowd(module: &Path, connections: usize) -> Result<Server, String> {
    let max_clients = (connections + OTHER_CLIENTS).to_string();
    Server::start(
        module,
        &["--appendonly", "yes", "--maxclients", &max_clients, "--tcp-backlog", "4096"],
    )
}

/// Programs lie beside the module, benches and tests in a folder below it that has one too.
fn beside_this_program() -> Result<PathBuf, String> {
    let name = format!("{}seckill{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let here = std::env::current_exe().map_err(|e| format!("Where am I? {e}"))?;
    Ok(here.with_file_name(name))
}

/// A running server, mostly with a module, in a temporary folder.
pub struct Server {
    process: Process,
    port: u16,
    /// The command that runs the server, such as a profiler with its options; mostly none.
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
        let mut server = Server {
            process: Process::in_folder(place, "seckill-")?,
            port: 0,
            through: owned(through),
            program: server_program(),
            module: module.map(Path::to_owned),
            settings: owned(settings),
        };
        server.launch(None)?;
        Ok(server)
    }

    fn launch(&mut self, first_port: Option<u16>) -> Result<(), String> {
        let through = self.through.iter().map(OsStr::new);
        let words: Vec<&OsStr> = through.chain([self.program.as_os_str()]).collect();
        let launched = launch(&self.process, first_port, |port| {
            let mut command = command_as(None, &words);
            command
                .args(["--bind", "127.0.0.1", "--port", &port.to_string()])
                .args(["--save", "", "--dir"])
                .arg(self.process.folder())
                .args(&self.settings)
                .args(
                    self.module.iter().flat_map(|file| ["--loadmodule".as_ref(), file.as_os_str()]),
                );
            command
        });
        self.port = launched.map_err(|failure| {
            let why = match failure.ended {
                Some(status) if failure.by_itself => {
                    format!("redis-server ended at once ({status}). Its log:\n")
                }
                Some(_) => "redis-server does not answer. Its log:\n".to_owned(),
                None => String::new(),
            };
            why + &last_lines_of(&failure.log, LOG_LINES)
        })?;
        Ok(())
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
        self.process.pid().unwrap_or(0)
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
        self.process.kill();
    }

    /// Stops all its threads where they are, as a machine that hangs does.
    ///
    /// # Errors
    /// A sentence when it does not run; also those of [`Server::thaw`].
    pub fn freeze(&self) -> Result<(), String> {
        self.process.signal(Signal::STOP)
    }

    /// Lets it go on.
    ///
    /// # Errors
    /// A sentence when it does not run.
    pub fn thaw(&self) -> Result<(), String> {
        self.process.signal(Signal::CONT)
    }

    /// Ends the processes that it has forked, as `kill -9` does. Whether there were any.
    pub fn kill_children(&self) -> bool {
        self.process.kill_children()
    }

    /// Whether its process has ended, by itself or by [`Server::kill`].
    pub fn has_ended(&self) -> bool {
        self.process.pid().is_none() || self.process.ended().is_some()
    }

    /// The folder that has its files.
    pub fn folder(&self) -> PathBuf {
        self.process.folder().to_owned()
    }

    /// Starts it again on the same files, on the same port if it is free; ends it before if it
    /// runs.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub fn restart(mut self) -> Result<Server, String> {
        self.process.kill();
        self.launch(Some(self.port))?;
        Ok(self)
    }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
