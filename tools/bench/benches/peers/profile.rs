//! Where the server's main thread spends its time under the loads whose bars are hard: what
//! `perf record` sees, by function, and summed up by whose code it is.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{kill_process, Pid, Signal};

use crate::cases::{refusals, wins, Bench};
use crate::contenders::{Kind, LATE, SALE, USER};
use crate::control::Control;
use crate::load::{Load, USERS};
use crate::sender::{self, Template, PIPELINED};

/// Samples a second.
const FREQUENCY: &str = "4000";
/// Functions that are named for each load.
const NAMED: usize = 15;
/// perf needs so long before it sees anything.
const ATTACH: Duration = Duration::from_millis(300);
const SAVES: usize = 15;
const LOADS: usize = 8;

/// One function's share of the time.
pub struct Share {
    pub percent: f64,
    pub of: Owner,
    pub function: String,
}

/// Whose code it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    Server,
    Kernel,
    Module,
    Libraries,
}

pub const OWNERS: [Owner; 4] = [Owner::Server, Owner::Kernel, Owner::Module, Owner::Libraries];

impl Owner {
    pub fn name(self) -> &'static str {
        match self {
            Owner::Server => "server",
            Owner::Kernel => "kernel",
            Owner::Module => "module",
            Owner::Libraries => "libraries",
        }
    }

    fn of(object: &str) -> Owner {
        match object {
            name if name.starts_with("redis-") || name.starts_with("valkey-") => Owner::Server,
            name if name.starts_with("libseckill") => Owner::Module,
            name if name.starts_with('[') && name != "[vdso]" => Owner::Kernel,
            _ => Owner::Libraries,
        }
    }
}

/// The time under one load, largest share first.
pub struct Profile {
    pub load: &'static str,
    pub shares: Vec<Share>,
}

impl Profile {
    /// Percent of the time in this code.
    pub fn sum(&self, of: Owner) -> f64 {
        self.shares.iter().filter(|share| share.of == of).map(|share| share.percent).sum()
    }

    /// The functions that take the most.
    pub fn named(&self) -> &[Share] {
        &self.shares[..self.shares.len().min(NAMED)]
    }
}

/// A server that is ready, and what is done to it.
struct Scene {
    load: &'static str,
    set_up: fn(&Bench) -> Result<Control, String>,
    run: fn(&Bench, &mut Control) -> Result<(), String>,
}

const SCENES: [Scene; 8] = [
    Scene { load: "SADD", set_up: |b| Kind::Sadd.start(&b.modules, &[]), run: sadd },
    Scene { load: "winning GRAB", set_up: |b| Kind::Grab.start(&b.modules, &[]), run: win },
    Scene {
        load: "winning GRAB, AOF everysec",
        set_up: |b| Kind::Grab.start(&b.modules, &wins::AOF_SETTINGS),
        run: win,
    },
    Scene { load: "sold-out GRAB", set_up: sold_out, run: |b, c| call(b, c, LATE, USERS, 4) },
    Scene { load: "ALREADY", set_up: sold_out, run: |b, c| call(b, c, USER, b.plan.sizes[1], 3) },
    Scene {
        load: "1,000 connections, no pipeline, GRAB",
        set_up: |b| Kind::Grab.start(&b.modules, &[]),
        run: crowd,
    },
    Scene { load: "SAVE", set_up: filled, run: save },
    Scene { load: "DEBUG RELOAD NOSAVE", set_up: filled, run: reload },
];

/// Profiles all of them.
///
/// # Errors
/// A sentence.
pub fn all(bench: &Bench) -> Result<Vec<Profile>, String> {
    let folder = tempfile::tempdir().map_err(|e| format!("No temporary folder: {e}"))?;
    let file = folder.path().join("perf.data");
    let mut profiles = Vec::new();
    for scene in &SCENES {
        bench.step("profile", scene.load);
        let mut control = (scene.set_up)(bench)?;
        let perf = Perf::start(control.pid(), &file)?;
        (scene.run)(bench, &mut control)?;
        let shares = perf.finish()?;
        profiles.push(Profile { load: scene.load, shares });
    }
    Ok(profiles)
}

fn sadd(bench: &Bench, control: &mut Control) -> Result<(), String> {
    let words = Kind::Sadd.prepare(control)?;
    Load::pipelined(bench.plan.wins).run(control, &words).map(drop)
}

fn win(bench: &Bench, control: &mut Control) -> Result<(), String> {
    let words = Kind::Grab.prepare(control)?;
    Load::pipelined(bench.plan.wins).run(control, &words).map(drop)
}

fn crowd(bench: &Bench, control: &mut Control) -> Result<(), String> {
    let words = Kind::Grab.prepare(control)?;
    Load::unpipelined(2 * bench.plan.crowd_calls, 1_000).run(control, &words).map(drop)
}

fn sold_out(bench: &Bench) -> Result<Control, String> {
    refusals::sold_out(bench, bench.plan.sizes[1], &["SECKILL.GRAB", SALE, USER])
}

fn call(
    bench: &Bench,
    control: &mut Control,
    user: &str,
    users: u64,
    times: u64,
) -> Result<(), String> {
    let load = Load { users, ..Load::pipelined(times * bench.plan.calls) };
    load.run(control, &["SECKILL.GRAB", SALE, user]).map(drop)
}

/// As many winners as the snapshots that are measured have.
fn filled(bench: &Bench) -> Result<Control, String> {
    let mut control = Kind::Grab.start(&bench.modules, &[])?;
    let words = Kind::Grab.prepare(&mut control)?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let users = sender::spread(bench.plan.sizes[1], USERS);
    sender::send(control.port(), &Template::new(&[&words]), users, PIPELINED)?;
    Ok(control)
}

fn save(_: &Bench, control: &mut Control) -> Result<(), String> {
    (0..SAVES).try_for_each(|_| control.tell(&["SAVE"]))
}

fn reload(_: &Bench, control: &mut Control) -> Result<(), String> {
    control.tell(&["SAVE"])?;
    (0..LOADS).try_for_each(|_| control.tell(&["DEBUG", "RELOAD", "NOSAVE"]))
}

/// perf, watching one process.
struct Perf {
    child: Child,
    file: PathBuf,
}

impl Perf {
    fn start(pid: u32, file: &Path) -> Result<Perf, String> {
        let mut command = Command::new("perf");
        command.args(["record", "-q", "-e", "cpu-clock", "-F", FREQUENCY]);
        command.args(["-p", &pid.to_string(), "-o"]).arg(file);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().map_err(|e| format!("perf does not start: {e}"))?;
        std::thread::sleep(ATTACH);
        Ok(Perf { child, file: file.to_owned() })
    }

    /// Stops it and reads what it saw.
    fn finish(mut self) -> Result<Vec<Share>, String> {
        let ended = kill_process(Pid::from_child(&self.child), Signal::INT);
        ended.map_err(|e| format!("perf can't be stopped: {e}"))?;
        self.child.wait().map_err(|e| format!("perf does not end: {e}"))?;
        let mut command = Command::new("perf");
        command.args(["report", "--stdio", "--no-children", "-g", "none", "-q", "-t", "\t"]);
        command.args(["--sort", "dso,symbol", "-F", "overhead,dso,symbol", "-i"]).arg(&self.file);
        let output = command.output().map_err(|e| format!("perf does not report: {e}"))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut shares: Vec<Share> = text.lines().filter_map(share).collect();
        shares.sort_by(|a, b| b.percent.total_cmp(&a.percent));
        match shares.is_empty() {
            true => Err(format!("perf saw nothing: {}", String::from_utf8_lossy(&output.stderr))),
            false => Ok(shares),
        }
    }
}

/// A line of the report: `percent`, object and function with a mark before it.
fn share(line: &str) -> Option<Share> {
    let mut fields = line.split('\t').map(str::trim);
    let percent = fields.next()?.trim_end_matches('%').parse().ok()?;
    let of = Owner::of(fields.next()?);
    let function = fields.next()?;
    let function = function.split_once("] ").map_or(function, |(_, name)| name);
    Some(Share { percent, of, function: function.to_owned() })
}
