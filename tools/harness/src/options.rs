//! Options for starting a server.

use std::ffi::{OsStr, OsString};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::other_module;
use super::process::{command_as, user_ids};

#[derive(Clone, Debug)]
pub struct Options {
    /// The folder in which the server's own folder is created.
    pub(super) place: PathBuf,
    /// A program that runs the server, such as a profiler, with its options. Empty for none.
    pub(super) through: Vec<String>,
    pub(super) lines: Vec<String>,
    base: Option<String>,
    /// Settings for the server's command line, if there is no redis.conf.
    words: Option<Vec<String>>,
    pub(super) module_args: Option<String>,
    pub(super) module_file: Option<PathBuf>,
    program: OsString,
    pub(super) has_own_clock: bool,
    is_service: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            place: std::env::temp_dir(),
            through: Vec::new(),
            lines: Vec::new(),
            base: None,
            words: None,
            module_args: Some(String::new()),
            module_file: None,
            program: server_program(),
            has_own_clock: false,
            is_service: false,
        }
    }
}

impl Options {
    pub fn new() -> Options {
        Options::default()
    }

    /// Options for other programs than tests: settings on the command line, and no redis.conf.
    pub fn of_program(module: Option<&Path>, settings: &[impl AsRef<str>]) -> Options {
        Options {
            words: Some(owned(settings)),
            module_args: module.map(|_| String::new()),
            module_file: module.map(Path::to_owned),
            ..Options::default()
        }
    }

    /// Runs `through`, followed by the server's command line.
    pub fn through(mut self, through: &[impl AsRef<str>]) -> Options {
        self.through = owned(through);
        self
    }

    /// Creates the server's folder in this one, on a disk that the caller chooses.
    pub fn below(mut self, place: &Path) -> Options {
        self.place = place.to_owned();
        self
    }

    /// Adds a line of redis.conf.
    pub fn line(mut self, line: &str) -> Options {
        self.lines.push(line.to_owned());
        self
    }

    /// Uses this redis.conf instead of the default one of tests.
    pub fn base(mut self, conf: &str) -> Options {
        self.base = Some(conf.to_owned());
        self
    }

    /// Arguments after the module's path.
    pub fn module_args(mut self, args: &str) -> Options {
        self.module_args = Some(args.to_owned());
        self
    }

    /// Loads this module file instead of the module under test.
    pub fn module_file(mut self, path: &Path) -> Options {
        self.module_file = Some(path.to_owned());
        self
    }

    /// Starts this server binary instead of the one under test.
    pub fn program(mut self, path: &Path) -> Options {
        self.program = path.into();
        self
    }

    /// Starts the server as Debian's service does: with the unit's command line, in a folder that
    /// it can't write. If root runs the tests with the system's server, the server runs as user
    /// redis, or nobody. Other server programs may be readable only by root, so they run as root.
    pub fn service(mut self) -> Options {
        self.is_service = true;
        self
    }

    pub fn without_module(mut self) -> Options {
        self.module_args = None;
        self
    }

    pub fn with_other_module(self) -> Options {
        let line = format!("loadmodule {}", other_module::path().display());
        self.line(&line)
    }

    /// Gives the server a clock that [`Server::step_clock`] sets.
    pub fn with_own_clock(mut self) -> Options {
        self.has_own_clock = true;
        self
    }

    /// The path of the module for the server. A service can't read every folder, so it gets a copy
    /// in its own.
    fn module(&self, dir: &Path) -> PathBuf {
        match (self.is_service, &self.module_file) {
            (true, _) => dir.join("libseckill.so"),
            (false, Some(file)) => file.clone(),
            (false, None) => module_path(),
        }
    }

    /// The command line of a server on this port in this folder. Writes its redis.conf first.
    pub(super) fn command(&self, port: u16, dir: &Path) -> Command {
        let program = self.program.as_os_str();
        let words: Vec<&OsStr> = self.through.iter().map(OsStr::new).chain([program]).collect();
        let user = self.is_service.then(|| service_user(dir, program)).flatten();
        let mut command = command_as(user, &words);
        if self.has_own_clock {
            set_clock(dir, 0);
            command.env("CLOCK_STEP_FILE", clock_file(dir));
            command.env("LD_PRELOAD", other_module::built("clock_step"));
        }
        match &self.words {
            Some(words) => {
                command.args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--save", ""]);
                command.arg("--dir").arg(dir).args(words);
                let module = self.module_file.iter();
                command.args(module.flat_map(|file| ["--loadmodule".as_ref(), file.as_os_str()]));
            }
            None => {
                let conf = dir.join("redis.conf");
                fs::write(&conf, self.conf(port, dir)).expect("a configuration file");
                command.arg(conf).current_dir(dir);
            }
        }
        if self.is_service {
            command.args(["--supervised", "systemd", "--daemonize", "no"]).current_dir("/");
        }
        command
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

fn owned(words: &[impl AsRef<str>]) -> Vec<String> {
    words.iter().map(|word| word.as_ref().to_owned()).collect()
}

/// Sets the clock of the server in this folder to the machine's clock plus `ms`.
pub(super) fn set_clock(dir: &Path, ms: i64) {
    // Not truncated first, because the server has the file mapped.
    let mut options = OpenOptions::new();
    let options = options.create(true).truncate(false).write(true);
    let mut file = options.open(clock_file(dir)).expect("a clock");
    file.write_all(&(ms * 1000).to_ne_bytes()).expect("the clock is set");
}

fn clock_file(dir: &Path) -> PathBuf {
    dir.join("clock")
}

/// Default settings: no automatic snapshots, DEBUG for digests, and no delay before a full resync.
const OWN_SETTINGS: [&str; 4] = [
    "save \"\"",
    "enable-debug-command yes",
    "repl-diskless-sync no",
    "repl-diskless-sync-delay 0",
];

/// The server program: that of `SECKILL_TEST_SERVER`, or redis-server of the PATH. A wrapper script
/// must `exec` the server, because tests kill the process that they started.
pub fn server_program() -> OsString {
    std::env::var_os("SECKILL_TEST_SERVER").unwrap_or_else(|| "redis-server".into())
}

/// The module file: the one that the caller or `SECKILL_MODULE` names, or the one beside this
/// program. The path is absolute, because redis-server needs that.
pub fn module_file(named: Option<PathBuf>) -> Result<PathBuf, String> {
    let file = match named.or_else(|| std::env::var_os("SECKILL_MODULE").map(PathBuf::from)) {
        Some(file) => file,
        None => beside_this_program()?,
    };
    file.canonicalize().map_err(|_| {
        format!("There is no module at {}. Build it with: cargo build --release", file.display())
    })
}

/// The module file beside this program. Benches and tests lie in a subfolder that has a module
/// file, too.
fn beside_this_program() -> Result<PathBuf, String> {
    let name = format!("{}seckill{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let here = std::env::current_exe().map_err(|e| format!("Where am I? {e}"))?;
    Ok(here.with_file_name(name))
}

/// The module under test.
#[track_caller]
pub fn module_path() -> PathBuf {
    module_file(None).unwrap_or_else(|sentence| panic!("{sentence}"))
}

/// The user for the service, after its folder and a copy of the module were given to that user.
/// `None` for the user that runs the tests.
fn service_user(dir: &Path, program: &OsStr) -> Option<(u32, u32)> {
    fs::copy(module_path(), dir.join("libseckill.so")).expect("a copy of the module");
    let is_found_on_the_path = Path::new(program).components().count() == 1;
    if !is_found_on_the_path || !rustix::process::geteuid().is_root() {
        return None;
    }
    let (user, group) = user_ids("redis").or_else(|| user_ids("nobody")).expect("a user to be");
    let inside = fs::read_dir(dir).expect("the folder").map(|file| file.expect("a file").path());
    for path in inside.chain([dir.to_owned()]) {
        std::os::unix::fs::chown(path, Some(user), Some(group)).expect("the owner changes");
    }
    Some((user, group))
}
