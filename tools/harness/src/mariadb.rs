//! A MariaDB of its own in a temporary folder: only a local socket, no port, no service of the
//! system. It ends, and its folder goes, together with the value or the program.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::process::{command, last_lines, Process};

const START_DEADLINE: Duration = Duration::from_secs(60);
const POLL_EVERY: Duration = Duration::from_millis(10);

/// No file of the system's own settings is read. Small, but as durable as a shop needs it: every
/// transaction is forced to the disk when it is committed.
const SETTINGS: [&str; 6] = [
    "--no-defaults",
    "--innodb-log-file-size=8M",
    "--innodb-buffer-pool-size=32M",
    "--innodb-flush-log-at-trx-commit=1",
    "--performance-schema=OFF",
    "--skip-name-resolve",
];

/// A running MariaDB that belongs to this program.
pub struct MariaDb {
    process: Process,
    socket: PathBuf,
}

impl MariaDb {
    /// Makes an empty database in a new folder, starts the server and returns when it answers.
    ///
    /// # Errors
    /// A sentence, with the last lines of the server's log where there is one.
    pub fn start() -> Result<MariaDb, String> {
        let process = Process::in_folder(&std::env::temp_dir(), "seckill-db-")?;
        let folder = process.folder();
        let (data, socket) = (folder.join("data"), folder.join("sock"));
        let log = folder.join("server.log");
        make_empty(&data)?;
        process.spawn(
            configured(command(&program("mariadbd")), &data)
                .arg("--skip-networking")
                .args([flag("--socket=", &socket), flag("--log-error=", &log)])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null()),
        )?;
        let database = MariaDb { process, socket };
        database.wait_until_ready().map_err(|why| format!("{why}\n{}", last_lines(&log, 8)))?;
        Ok(database)
    }

    /// `mysql://root@localhost/name?socket=...`
    pub fn url(&self, name: &str) -> String {
        format!("mysql://root@localhost/{name}?socket={}", self.socket.display())
    }

    /// Its local socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// The process id, 0 when it was stopped.
    pub fn pid(&self) -> u32 {
        self.process.pid().unwrap_or(0)
    }

    /// Ready means that it greets who connects.
    fn wait_until_ready(&self) -> Result<(), String> {
        let deadline = Instant::now() + START_DEADLINE;
        while Instant::now() < deadline {
            if let Some(status) = self.process.ended() {
                return Err(format!("mariadbd ended at once ({status}). Its log:"));
            }
            if greets(&self.socket) {
                return Ok(());
            }
            thread::sleep(POLL_EVERY);
        }
        Err("mariadbd does not answer. Its log:".into())
    }
}

fn make_empty(data: &Path) -> Result<(), String> {
    let made = configured(Command::new(program("mariadb-install-db")), data)
        .args(["--auth-root-authentication-method=normal", "--skip-test-db"])
        .stdin(Stdio::null())
        .output()
        .map_err(|e| {
            format!("There is no MariaDB here ({e}). Install it with: make orders-deps")
        })?;
    if made.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&made.stderr).trim().to_owned();
    Err(format!("mariadb-install-db failed: {said}"))
}

/// MariaDB refuses to run as root unless it is told to.
fn configured(mut command: Command, data: &Path) -> Command {
    // At its start a server deletes what looks left over in its folder for temporary files.
    let temporary = data.parent().unwrap_or(data);
    command.args(SETTINGS).args([flag("--datadir=", data), flag("--tmpdir=", temporary)]);
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

/// Debian keeps servers where only root's PATH looks.
fn program(name: &str) -> OsString {
    let in_sbin = Path::new("/usr/sbin").join(name);
    if in_sbin.is_file() {
        in_sbin.into_os_string()
    } else {
        OsStr::new(name).to_owned()
    }
}

fn greets(socket: &Path) -> bool {
    let Ok(mut stream) = UnixStream::connect(socket) else { return false };
    let patient = stream.set_read_timeout(Some(Duration::from_secs(5)));
    patient.is_ok() && stream.read(&mut [0; 1]).is_ok_and(|bytes| bytes == 1)
}
