//! Starts a server on a free port of the loopback interface and waits until it answers.

use std::fs::{self, OpenOptions};
use std::net::TcpListener;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use super::client::Conn;
use super::process::{last_lines_of, Process};
use super::random::Random;
use super::reply::Reply;
use super::wait::holds_in_time;

/// Ports below the kernel's ephemeral ports, so that no outgoing connection uses one.
const PORTS: Range<u64> = 10_000..32_000;
const PORT_ATTEMPTS: usize = 20;

/// The reason why a server did not start.
#[derive(Debug)]
pub struct Failure {
    /// The exit status, if the server started at all.
    pub ended: Option<ExitStatus>,
    /// The server exited by itself. Otherwise it was killed, because it did not answer in time.
    pub by_itself: bool,
    /// The server's log, or the reason why it did not start.
    pub log: String,
}

/// Lines of the log in a message.
const LOG_LINES: usize = 8;

impl From<Failure> for String {
    fn from(failure: Failure) -> String {
        let why = match failure.ended {
            Some(status) if failure.by_itself => {
                format!("redis-server ended at once ({status}). Its log:\n")
            }
            Some(_) => "redis-server does not answer. Its log:\n".to_owned(),
            None => String::new(),
        };
        why + &last_lines_of(&failure.log, LOG_LINES)
    }
}

pub fn log_file(folder: &Path) -> PathBuf {
    folder.join("server.log")
}

pub fn log(folder: &Path) -> String {
    let bytes = fs::read(log_file(folder)).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Starts the server that `command` makes for a port. Tries the port `first` first. Returns the
/// port on which the server answers.
pub fn launch(
    process: &Process,
    first: Option<u16>,
    command: impl Fn(u16) -> Command,
) -> Result<u16, Failure> {
    let not_started = |log| Failure { ended: None, by_itself: false, log };
    let mut first = first;
    for _ in 0..PORT_ATTEMPTS {
        let port = first.take().unwrap_or_else(free_port);
        let logged = log(process.folder()).len();
        let mut command = command(port);
        redirect(&mut command, process.folder()).map_err(not_started)?;
        process.spawn(&mut command).map_err(not_started)?;
        let up = holds_in_time(|| {
            process.ended().is_some() || process.pid().is_some_and(|pid| answers(port, pid))
        });
        let by_itself = process.ended().is_some();
        if up && !by_itself {
            return Ok(port);
        }
        let ended = process.kill();
        let log = log(process.folder()).split_off(logged);
        // Another program may take a free port before the server binds it.
        if !log.contains("Address already in use") {
            return Err(Failure { ended, by_itself, log });
        }
    }
    Err(not_started(format!("no free port in {PORT_ATTEMPTS} attempts")))
}

/// Appends the command's output to the log; a server without a log file writes there.
fn redirect(command: &mut Command, folder: &Path) -> Result<(), String> {
    let log = OpenOptions::new().create(true).append(true).open(log_file(folder));
    let both = log.and_then(|log| Ok((log.try_clone()?, log)));
    let (out, errors) = both.map_err(|error| format!("No log file: {error}"))?;
    command.stdin(Stdio::null()).stdout(out).stderr(errors);
    Ok(())
}

/// Whether process `pid` answers PING on this port. A server that still loads its data refuses
/// PING.
fn answers(port: u16, pid: u32) -> bool {
    let Ok(mut conn) = Conn::open(port) else { return false };
    let asked = conn.try_ask(&["INFO", "server"]);
    let Ok(Reply::Bulk(info)) = asked else {
        // A server with a password is up; the test that set the password logs in itself.
        return matches!(asked, Ok(Reply::Error(text)) if text.starts_with(b"NOAUTH"));
    };
    let pong = conn.try_ask(&["PING"]);
    let mine = format!("process_id:{pid}");
    let is_mine = String::from_utf8_lossy(&info).lines().any(|line| line == mine);
    is_mine && matches!(pong, Ok(Reply::Simple(text)) if text == b"PONG")
}

pub fn connect(port: u16) -> Result<redis::Connection, String> {
    let client = redis::Client::open(format!("redis://127.0.0.1:{port}/"));
    let connection = client.and_then(|client| client.get_connection());
    connection.map_err(|e| format!("No connection to redis-server: {e}"))
}

/// Finds a free port. Two programs may find the same one; then the second server fails to bind, and
/// its caller tries the next port.
pub fn free_port() -> u16 {
    static STEP: AtomicU64 = AtomicU64::new(0);
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970");
    let step = STEP.fetch_add(1, Ordering::Relaxed);
    let mut random = Random(since.as_nanos() as u64 ^ u64::from(std::process::id()) << 32 ^ step);
    loop {
        let port = (PORTS.start + random.below(PORTS.end - PORTS.start)) as u16;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}
