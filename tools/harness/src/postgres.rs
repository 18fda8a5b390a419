//! A PostgreSQL server in a temporary folder. The server has a local socket, a TCP port only on
//! request, and is no service of the system. Dropping the value ends the server and removes its
//! folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::process::{command, command_as, user_ids, Process};

/// The folder in which Debian keeps the programs of each version.
const VERSIONS: &str = "/usr/lib/postgresql";

pub struct Postgres {
    process: Process,
    /// The port; also a part of the socket's name.
    port: u16,
}

const PORT: u16 = 5432;

impl Postgres {
    /// Makes an empty database in a new folder, starts the server and returns when it answers.
    pub fn start() -> Result<Postgres, String> {
        Postgres::start_with(PORT, &["listen_addresses="], |_| Ok(()))
    }

    /// Starts the server on this port with these settings, which name its addresses. `prepare` gets
    /// the folder before the start, to write files that the settings name.
    pub fn start_with(
        port: u16,
        settings: &[&str],
        prepare: impl FnOnce(&Path) -> Result<(), String>,
    ) -> Result<Postgres, String> {
        let programs = programs()?;
        let process = Process::in_folder(&std::env::temp_dir(), "seckill-pg-")?;
        let folder = process.folder();
        let (data, log) = (folder.join("data"), folder.join("server.log"));
        let user = user_of(folder)?;
        let initdb = programs.join("initdb");
        let mut made = command_as(user, &[initdb.as_os_str()]);
        made.args(["--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-locale", "-D"]);
        let made = made.arg(&data).stdin(Stdio::null()).output();
        let made = made.map_err(|e| format!("initdb does not start: {e}"))?;
        if !made.status.success() {
            let said = String::from_utf8_lossy(&made.stderr).trim().to_owned();
            return Err(format!("initdb failed: {said}"));
        }
        prepare(folder)?;
        for file in fs::read_dir(folder).into_iter().flatten().flatten() {
            give(&file.path(), user)?;
        }
        let server = programs.join("postgres");
        let logged = fs::File::create(&log).map_err(|e| format!("No log file: {e}"))?;
        let mut command = command_as(user, &[server.as_os_str()]);
        command.arg("-D").arg(&data).arg("-k").arg(folder).args(["-p", &port.to_string()]);
        command.args(settings.iter().flat_map(|setting| ["-c", setting]));
        // Paths in settings are relative to this folder.
        command.current_dir(&data);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(logged);
        process.spawn(&mut command)?;
        let database = Postgres { process, port };
        let is_ready = programs.join("pg_isready");
        database.process.wait_until_up(&log, || database.answers(&is_ready))?;
        Ok(database)
    }

    /// The URL `postgres://postgres@folder/name`.
    pub fn url(&self, name: &str) -> String {
        let folder = self.folder().to_string_lossy().replace('/', "%2F");
        format!("postgres://postgres@{folder}:{}/{name}", self.port)
    }

    pub fn folder(&self) -> &Path {
        self.process.folder()
    }

    pub fn socket(&self) -> PathBuf {
        self.folder().join(format!(".s.PGSQL.{}", self.port))
    }

    fn answers(&self, is_ready: &Path) -> bool {
        let mut asked = command(is_ready.as_os_str());
        asked.arg("-h").arg(self.folder()).args(["-p", &self.port.to_string()]);
        let status = asked.stdin(Stdio::null()).stdout(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    }
}

/// The programs of the newest installed version.
fn programs() -> Result<PathBuf, String> {
    let versions = fs::read_dir(VERSIONS).into_iter().flatten().flatten();
    let programs = versions.map(|version| version.path().join("bin"));
    programs
        .filter(|programs| programs.join("initdb").is_file())
        .max()
        .ok_or_else(|| "There is no PostgreSQL here. Install it with: make orders-test".into())
}

/// PostgreSQL refuses to run as root. Then user postgres runs it and owns the folder.
fn user_of(folder: &Path) -> Result<Option<(u32, u32)>, String> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let user = user_ids("postgres").ok_or("There is no user postgres.")?;
    give(folder, Some(user))?;
    Ok(Some(user))
}

/// Gives a file to the user of the server.
fn give(file: &Path, user: Option<(u32, u32)>) -> Result<(), String> {
    let Some((user, group)) = user else { return Ok(()) };
    std::os::unix::fs::chown(file, Some(user), Some(group))
        .map_err(|e| format!("{}: {e}", file.display()))
}
