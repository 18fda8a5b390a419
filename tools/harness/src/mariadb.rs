//! A MariaDB or MySQL server in a temporary folder. The server has a local socket, a TCP port only
//! on request, and reads no system settings. Dropping the value ends the server and removes its
//! folder.

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::process::{command, Process};

/// Reads no settings of the system. Uses little memory, but syncs every transaction to disk at
/// COMMIT, as a shop needs.
const SETTINGS: [&str; 4] = [
    "--innodb-buffer-pool-size=32M",
    "--innodb-flush-log-at-trx-commit=1",
    "--performance-schema=OFF",
    "--skip-name-resolve",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Maker {
    MariaDb,
    /// The MySQL version that `.ci/servers` downloads.
    MySql,
}

/// The folder name of that MySQL.
const MYSQL: &str = "mysql-9.7.4";

pub struct MariaDb {
    process: Process,
    socket: PathBuf,
}

impl MariaDb {
    /// Makes an empty database in a new folder, starts the server and returns when it answers.
    pub fn start() -> Result<MariaDb, String> {
        MariaDb::start_with(&["--skip-networking"])
    }

    /// Starts the server with these settings, which may name a port of the loopback interface.
    pub fn start_with(settings: &[&str]) -> Result<MariaDb, String> {
        MariaDb::start_by(Maker::MariaDb, settings)
    }

    pub fn mysql_with(settings: &[&str]) -> Result<MariaDb, String> {
        MariaDb::start_by(Maker::MySql, settings)
    }

    fn start_by(maker: Maker, settings: &[&str]) -> Result<MariaDb, String> {
        let process = Process::in_folder(&std::env::temp_dir(), "seckill-db-")?;
        let folder = process.folder();
        let (data, socket) = (folder.join("data"), folder.join("sock"));
        let log = folder.join("server.log");
        make_empty(maker, &data)?;
        let mut command = configured(maker, command(&server(maker)?), &data);
        command.args(settings).args([flag("--socket=", &socket), flag("--log-error=", &log)]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        process.spawn(&mut command)?;
        process.wait_until_up(&log, || greets(&socket))?;
        Ok(MariaDb { process, socket })
    }

    /// The URL `mysql://root@localhost/name?socket=...`.
    pub fn url(&self, name: &str) -> String {
        format!("mysql://root@localhost/{name}?socket={}", self.socket.display())
    }

    /// The data folder; MySQL also writes its own TLS keys there.
    pub fn data(&self) -> PathBuf {
        self.process.folder().join("data")
    }

    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// The process id; 0 after it was stopped.
    pub fn pid(&self) -> u32 {
        self.process.pid().unwrap_or(0)
    }
}

fn server(maker: Maker) -> Result<OsString, String> {
    if maker == Maker::MariaDb {
        return Ok(program("mariadbd"));
    }
    let home = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let cache = home("SECKILL_SERVERS")
        .or_else(|| home("XDG_CACHE_HOME").map(|cache| cache.join("seckill-servers")))
        .or_else(|| home("HOME").map(|home| home.join(".cache/seckill-servers")));
    let server = cache.map(|cache| cache.join(MYSQL).join("server"));
    let server = server.filter(|server| server.is_file());
    let none = format!("There is no MySQL here. Fetch it with: .ci/servers {MYSQL}");
    server.map(PathBuf::into_os_string).ok_or(none)
}

fn make_empty(maker: Maker, data: &Path) -> Result<(), String> {
    let (program, own): (_, &[&str]) = match maker {
        Maker::MariaDb => (
            program("mariadb-install-db"),
            &["--auth-root-authentication-method=normal", "--skip-test-db"],
        ),
        Maker::MySql => (server(maker)?, &["--initialize-insecure"]),
    };
    let mut command = configured(maker, Command::new(program), data);
    let made = command.args(own).stdin(Stdio::null()).output().map_err(|e| {
        format!("There is no MariaDB here ({e}). Install it with: make orders-deps")
    })?;
    if made.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&made.stderr).trim().to_owned();
    Err(format!("an empty database can't be made: {said}"))
}

/// Sets the user: as root the server refuses to run without this setting.
fn configured(maker: Maker, mut command: Command, data: &Path) -> Command {
    // At its start a server deletes old files in its temporary folder, so it gets its own.
    let temporary = data.parent().unwrap_or(data);
    let own: &[&str] = match maker {
        Maker::MariaDb => &["--no-defaults", "--innodb-log-file-size=8M"],
        // The wrapper script already passes --no-defaults, which must be the first option.
        Maker::MySql => &["--innodb-redo-log-capacity=16M", "--mysqlx=OFF"],
    };
    command.args(own).args(SETTINGS).args([flag("--datadir=", data), flag("--tmpdir=", temporary)]);
    if rustix::process::geteuid().is_root() {
        command.arg("--user=root");
    }
    command
}

fn flag(name: &str, path: &Path) -> OsString {
    let mut flag = OsString::from(name);
    flag.push(path);
    flag
}

/// The path of a program. Debian keeps servers in folders that are in the PATH of root only.
fn program(name: &str) -> OsString {
    let in_sbin = Path::new("/usr/sbin").join(name);
    if in_sbin.is_file() {
        in_sbin.into()
    } else {
        name.into()
    }
}

/// Whether the server greets a new connection.
fn greets(socket: &Path) -> bool {
    let Ok(mut stream) = UnixStream::connect(socket) else { return false };
    let patient = stream.set_read_timeout(Some(Duration::from_secs(5)));
    patient.is_ok() && stream.read(&mut [0; 1]).is_ok_and(|bytes| bytes == 1)
}
