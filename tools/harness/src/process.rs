//! A process in a temporary folder of its own.
//!
//! Dropping the value ends the process and removes its folder, also after a panic, Ctrl-C or
//! SIGTERM. If this program is killed, the kernel kills the process, too.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::process::{kill_process, Pid, Signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tempfile::TempDir;

use super::wait::holds_within;

/// Longest start of a database.
const START_DEADLINE: Duration = Duration::from_secs(60);

/// A process and its folder, for the signal handler.
struct Running {
    child: Option<Child>,
    /// The folder is removed when this is dropped.
    _folder: TempDir,
}

type Slot = Arc<Mutex<Option<Running>>>;

static ALL: Mutex<Vec<Slot>> = Mutex::new(Vec::new());
static SIGNALS: Once = Once::new();

/// A folder, and the process that runs in it, if any.
pub struct Process {
    slot: Slot,
    folder: PathBuf,
}

impl Process {
    /// Creates a folder in `place` whose name begins with `prefix`. No process runs yet.
    pub fn in_folder(place: &Path, prefix: &str) -> Result<Process, String> {
        SIGNALS.call_once(clean_up_on_signals);
        let folder = tempfile::Builder::new().prefix(prefix).tempdir_in(place);
        let temporary = folder.map_err(|error| format!("No temporary folder: {error}"))?;
        let folder = temporary.path().to_owned();
        let slot = Slot::new(Mutex::new(Some(Running { child: None, _folder: temporary })));
        lock(&ALL).push(Arc::clone(&slot));
        Ok(Process { slot, folder })
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Starts the command. An earlier process must have ended.
    pub fn spawn(&self, command: &mut Command) -> Result<(), String> {
        let program = command.get_program().to_string_lossy().into_owned();
        let child =
            command.spawn().map_err(|error| format!("{program} does not start: {error}"))?;
        if let Some(running) = lock(&self.slot).as_mut() {
            running.child = Some(child);
        }
        Ok(())
    }

    fn with_child<T>(&self, body: impl FnOnce(&mut Child) -> T) -> Option<T> {
        lock(&self.slot).as_mut()?.child.as_mut().map(body)
    }

    /// The process id, until its exit status was read.
    pub fn pid(&self) -> Option<u32> {
        self.with_child(|child| child.id())
    }

    /// The exit status, if the process has exited by itself.
    pub fn ended(&self) -> Option<ExitStatus> {
        self.with_child(|child| child.try_wait().ok().flatten()).flatten()
    }

    /// Waits until the process answers. An error has the end of its log.
    pub fn wait_until_up(&self, log: &Path, answers: impl Fn() -> bool) -> Result<(), String> {
        let up = holds_within(START_DEADLINE, || self.ended().is_some() || answers());
        match self.ended() {
            None if up => Ok(()),
            None => Err(format!("It does not answer. Its log:\n{}", last_lines(log, 8))),
            Some(status) => {
                Err(format!("It ended at once ({status}). Its log:\n{}", last_lines(log, 8)))
            }
        }
    }

    /// Kills the process with SIGKILL and returns its exit status. The files stay.
    pub fn kill(&self) -> Option<ExitStatus> {
        let mut child = lock(&self.slot).as_mut()?.child.take()?;
        // Kill fails only if the process has already exited.
        let _ = child.kill();
        child.wait().ok()
    }

    pub fn signal(&self, signal: Signal) -> Result<(), String> {
        let pid = self.pid().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
        let pid = pid.ok_or("This process was stopped before.")?;
        kill_process(pid, signal).map_err(|error| format!("No signal to a process: {error}"))
    }

    /// Kills the children of the process with SIGKILL. Returns whether there were any.
    pub fn kill_children(&self) -> bool {
        let pid = self.pid().unwrap_or(0);
        let all =
            fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        let all = all.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?));
        // Fails for a child that has exited in the meantime.
        all.filter(|child| kill_process(*child, Signal::KILL).is_ok()).count() > 0
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        lock(&ALL).retain(|slot| !Arc::ptr_eq(slot, &self.slot));
        drop(lock(&self.slot).take());
    }
}

/// Ends all servers on a signal. The default handling of a signal would run no destructor.
fn clean_up_on_signals() {
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM, SIGHUP]) else { return };
    thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            for slot in lock(&ALL).iter() {
                let Some(running) = lock(slot).take() else { continue };
                if let Some(mut child) = running.child {
                    // Kill fails only if the process has already exited.
                    let _ = child.kill();
                    let _ = child.wait();
                }
            }
            std::process::exit(128 + signal);
        }
    });
}

/// The ids of this machine's user and of their group.
pub fn user_ids(name: &str) -> Option<(u32, u32)> {
    let users = fs::read_to_string("/etc/passwd").ok()?;
    let line = users.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    let mut fields = line.split(':').skip(1).map(str::parse);
    Some((fields.next()?.ok()?, fields.next()?.ok()?))
}

/// Locks a mutex, also if a thread panicked while holding it: cleaning up is needed then.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A command whose process ends together with this program.
pub fn command(program: &OsStr) -> Command {
    command_as(None, &[program])
}

/// The command line `words`, run by this user and group if they are given. setpriv asks the kernel
/// to kill the process when the thread that started it ends, even by SIGKILL. If setpriv is
/// missing, the other ways to clean up still work.
pub fn command_as(user: Option<(u32, u32)>, words: &[&OsStr]) -> Command {
    let setpriv = Path::new("/usr/bin/setpriv");
    if !setpriv.is_file() {
        let mut command = Command::new(words[0]);
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

/// The last lines of a file; empty if it is missing.
pub fn last_lines(file: &Path, count: usize) -> String {
    let text = fs::read(file).unwrap_or_default();
    last_lines_of(&String::from_utf8_lossy(&text), count)
}

pub fn last_lines_of(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}
