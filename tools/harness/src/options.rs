//! How a test's server is to be started.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use super::other_module;
use super::program::server_program;

/// How a server is to be started.
#[derive(Clone, Debug)]
pub struct Options {
    pub(super) lines: Vec<String>,
    base: Option<String>,
    pub(super) module_args: Option<String>,
    pub(super) module_file: Option<PathBuf>,
    pub(super) program: OsString,
    pub(super) has_own_clock: bool,
    pub(super) is_service: bool,
}

impl Default for Options {
    fn default() -> Self {
        let module_args = Some(String::new());
        let program = server_program();
        let (lines, base, has_own_clock, is_service) = (Vec::new(), None, false, false);
        let module_file = None;
        Options { lines, base, module_args, module_file, program, has_own_clock, is_service }
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

    /// Loads this file instead of the module under test.
    pub fn module_file(mut self, path: &Path) -> Options {
        self.module_file = Some(path.to_owned());
        self
    }

    /// Starts this server binary instead of the one under test.
    pub fn program(mut self, path: &Path) -> Options {
        self.program = path.into();
        self
    }

    /// Starts the server as Debian's service does: with the unit's command line, in a folder it may
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

    /// Where the server finds the module: a service may not read every folder, but its own.
    fn module(&self, dir: &Path) -> PathBuf {
        match (self.is_service, &self.module_file) {
            (true, _) => dir.join("libseckill.so"),
            (false, Some(file)) => file.clone(),
            (false, None) => module_path(),
        }
    }

    /// The configuration file for a server on this port in this folder.
    pub(super) fn conf(&self, port: u16, dir: &Path) -> String {
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

/// The user that runs the service, after its folder, with a copy of the module, was given to that
/// user. `None`: the user that runs the tests.
pub(super) fn service_user(dir: &Path, program: &OsStr) -> Option<(u32, u32)> {
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
