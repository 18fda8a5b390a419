//! Shared parts of programs that start servers: the paths of server and module, the server itself,
//! and the exit code. An error is a message for people.

use std::path::Path;
use std::process::{ExitCode, ExitStatus};

use rustix::process::Signal;

use super::client::info_field;
use super::launch::{self, launch, Failure};
pub use super::options::{module_file, server_program, Options};
use super::process::Process;

/// Connections of a server besides the crowd's.
const OTHER_CLIENTS: usize = 32;

/// The exit code of a program: 0, or 1 after the error is printed.
pub fn exit(outcome: Result<(), String>) -> ExitCode {
    exit_told(outcome.map(|()| true))
}

/// The exit code of a program that has already printed its errors.
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

/// Family and version numbers of `redis-7.0.15` or `Redis 7.0.15`. `None` without a version, and
/// for other programs than Redis and Valkey.
pub fn release(name: &str) -> Option<(String, Vec<u32>)> {
    let (family, version) = name.split_once(['-', ' '])?;
    let family = family.to_ascii_lowercase();
    let numbers = version.split('.').map(str::parse).collect::<Result<_, _>>().ok()?;
    matches!(family.as_str(), "redis" | "valkey").then_some((family, numbers))
}

/// A server for a crowd of this many connections, with the durability that a shop needs: an AOF,
/// synced every second.
pub fn server_for_crowd(module: &Path, connections: usize) -> Result<Server, String> {
    let max_clients = (connections + OTHER_CLIENTS).to_string();
    Server::start(
        module,
        &["--appendonly", "yes", "--maxclients", &max_clients, "--tcp-backlog", "4096"],
    )
}

/// A running server in a temporary folder, usually with a module.
pub struct Server {
    pub(super) process: Process,
    port: u16,
    pub(super) options: Options,
}

impl Server {
    /// Starts the server with `module` and `settings`, such as `["--appendonly", "yes"]`. Returns
    /// when the server answers.
    pub fn start(module: &Path, settings: &[&str]) -> Result<Server, String> {
        Options::of_program(Some(module), settings).run()
    }

    /// A server that is not started yet.
    pub(super) fn new(options: Options) -> Result<Server, String> {
        let process = Process::in_folder(&options.place, "seckill-")?;
        Ok(Server { process, port: 0, options })
    }

    pub(super) fn launch(&mut self, first_port: Option<u16>) -> Result<(), Failure> {
        let command = |port| self.options.command(port, self.process.folder());
        self.port = launch(&self.process, first_port, command)?;
        Ok(())
    }

    /// The URL `redis://127.0.0.1:port/`.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/", self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The process id; 0 after it was stopped.
    pub fn pid(&self) -> u32 {
        self.process.pid().unwrap_or(0)
    }

    pub fn connect(&self) -> Result<redis::Connection, String> {
        launch::connect(self.port)
    }

    /// Name and version of the server, such as `Redis 7.0.15`.
    pub fn title(&self) -> Result<String, String> {
        let info = redis::cmd("INFO").arg("server").query::<String>(&mut self.connect()?);
        let info = info.map_err(|e| format!("INFO failed: {e}"))?;
        Ok(match (info_field(&info, "valkey_version"), info_field(&info, "redis_version")) {
            (Some(version), _) => format!("Valkey {version}"),
            (None, version) => format!("Redis {}", version.unwrap_or_default()),
        })
    }

    /// Kills the process with SIGKILL and returns its exit status. The files stay.
    pub fn kill(&self) -> Option<ExitStatus> {
        self.process.kill()
    }

    /// Stops all threads of the server (SIGSTOP), as if the machine hung.
    pub fn freeze(&self) -> Result<(), String> {
        self.process.signal(Signal::STOP)
    }

    /// Continues a frozen server (SIGCONT).
    pub fn thaw(&self) -> Result<(), String> {
        self.process.signal(Signal::CONT)
    }

    /// Kills the server's children with SIGKILL. Returns whether there were any.
    pub fn kill_children(&self) -> bool {
        self.process.kill_children()
    }

    /// Whether the process has ended, by itself or by [`Server::kill`].
    pub fn has_ended(&self) -> bool {
        self.process.pid().is_none() || self.process.ended().is_some()
    }

    pub fn folder(&self) -> &Path {
        self.process.folder()
    }

    /// Starts the server again with its files, on its old port if that is free. A running server is
    /// killed first.
    pub fn restart(mut self) -> Result<Server, String> {
        self.process.kill();
        self.launch(Some(self.port))?;
        Ok(self)
    }
}

impl Options {
    /// Starts the server for a program.
    pub fn run(self) -> Result<Server, String> {
        let mut server = Server::new(self)?;
        server.launch(None)?;
        Ok(server)
    }
}
