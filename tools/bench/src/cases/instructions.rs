//! Instructions of the server for one call, counted by callgrind. The count depends on the build
//! and the server, but not on other load. Another command makes only the server calls that the
//! module must make (its promised calls). The difference is the module's own cost.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::sale::AOF;
use super::Bench;
use crate::callgrind;
use crate::contenders::{GRANTED, PLENTY, REQ, SALE, SOLD, USER};
use crate::control::Control;
use crate::figures::{Figures, BYTES, INSTRUCTIONS, OWN};
use crate::load::{send, spread, Manner, Request, USERS};

pub const CASE: &str = "instructions of a call";

/// Server and processor for which the bars are set.
const SERVER: &str = "Redis 7.0";
const ARCH: &str = "x86_64";

/// Reduces timer work, which would grow with the length of the run.
const QUIET: [&str; 4] = ["--hz", "1", "--dynamic-hz", "no"];
const MANNER: Manner = Manner { connections: 1, pipeline: 32, pace: None };

/// Largest difference in logged bytes between a command and its promised calls, as a share.
const SAME_BYTES: f64 = 0.05;

/// One kind of call. The rest of the server's work is measured without it.
struct Kind {
    name: &'static str,
    words: &'static [&'static str],
    promised: &'static [&'static str],
    reply: &'static str,
}

/// Names in tables: the call, then its promised calls.
pub const RECOMMENDED: [&str; 2] = ["winner with REQ, HOLD and OUTBOX", "its promised calls"];
pub const WINNER: [&str; 2] = ["plain winner", "its promised calls (plain)"];
pub const SOLD_OUT: [&str; 2] = ["refusal (SOLDOUT)", "its promised calls (SOLDOUT)"];
pub const ALREADY: [&str; 2] = ["ALREADY", "its promised calls (ALREADY)"];
/// The recommended call in a sale that is a part of a split.
pub const PART: &str = "the same in a part of a split";
/// The recommended call of a sale whose waiting list is empty.
pub const LISTED: &str = "the same in a sale with a waiting list";
/// The CONFIRM of the recommended call. The no-op module has no counterpart.
pub const CONFIRM: &str = "its CONFIRM";
pub const ALL: [[&str; 2]; 4] = [RECOMMENDED, WINNER, SOLD_OUT, ALREADY];

const KINDS: [Kind; 4] = [
    Kind {
        name: RECOMMENDED[0],
        words: &["SECKILL.GRAB", SALE, USER, "REQ", REQ],
        promised: &["NOOP.HOLD", SALE, USER, "REQ", REQ],
        reply: GRANTED,
    },
    Kind {
        name: WINNER[0],
        words: &["SECKILL.GRAB", "plain", USER],
        promised: &["NOOP.GRAB", "plain", USER],
        reply: GRANTED,
    },
    Kind {
        name: SOLD_OUT[0],
        words: &["SECKILL.GRAB", "gone", USER],
        promised: &["NOOP.SOLD", "gone", USER],
        reply: "*2\r\n$7\r\nSOLDOUT",
    },
    Kind {
        name: ALREADY[0],
        words: &["SECKILL.GRAB", "mine", "me"],
        promised: &["NOOP.MINE", "mine", "me"],
        reply: "*5\r\n$7\r\nALREADY",
    },
];

pub fn run(bench: &mut Bench) -> Result<(), String> {
    bench.step(CASE, 0);
    if let Some(why) = reason_to_skip(&bench.server) {
        eprintln!("{CASE}: skipped, {why}");
        return Ok(());
    }
    let mut meter = Meter::start(bench)?;
    let supply = PLENTY.to_string();
    let init = ["SECKILL.INIT", SALE, &supply, "HOLD", "900000", "OUTBOX", "orders"];
    meter.control.tell(&init)?;
    let part = ["OUTBOX", "of-part", "PART", "0", "OF", "1", "SPLIT", "s", "TOTAL", &supply];
    let init = ["SECKILL.INIT", "part", &supply, "HOLD", "900000"];
    meter.control.tell(&[&init[..], &part].concat())?;
    for (key, supply) in [("plain", supply.as_str()), ("gone", "0"), ("mine", "1")] {
        meter.control.tell(&["SECKILL.INIT", key, supply])?;
    }
    meter.control.tell(&["SECKILL.GRAB", "mine", "me"])?;
    let mut differ = Vec::new();
    for (kind, [_, promised]) in KINDS.iter().zip(ALL) {
        let ours = meter.measure(&Request::new(kind.words, kind.reply))?;
        let theirs = meter.measure(&Request::new(kind.promised, kind.reply))?;
        ours.note_parts(&mut bench.figures, kind.name);
        for (name, count) in [(kind.name, &ours), (promised, &theirs)] {
            bench.figures.add(CASE, name, INSTRUCTIONS, count.instructions);
            bench.figures.add(CASE, name, BYTES, count.logged);
        }
        if (theirs.logged - ours.logged).abs() > SAME_BYTES * ours.logged {
            let (ours, theirs) = (ours.logged, theirs.logged);
            differ.push(format!("{} logs {ours:.0} bytes, {promised} {theirs:.0}", kind.name));
        }
    }
    // The recommended calls have made the first users winners.
    meter.users = Box::new(spread(USERS, USERS));
    let words = ["SECKILL.CONFIRM", SALE, USER, "REQ", REQ];
    let confirm = meter.measure(&Request::new(&words, SOLD))?;
    confirm.note_parts(&mut bench.figures, CONFIRM);
    bench.figures.add(CASE, CONFIRM, INSTRUCTIONS, confirm.instructions);
    meter.users = Box::new(spread(USERS, USERS).skip(meter.used));
    let list = ["OUTBOX", "of-listed", "WAITLIST", "1000"];
    let init = ["SECKILL.INIT", "listed", &supply, "HOLD", "900000"];
    meter.control.tell(&[&init[..], &list].concat())?;
    for (key, name) in [("part", PART), ("listed", LISTED)] {
        let words = ["SECKILL.GRAB", key, USER, "REQ", REQ];
        let Count { instructions, logged, .. } = meter.measure(&Request::new(&words, GRANTED))?;
        bench.figures.add(CASE, name, INSTRUCTIONS, instructions);
        bench.figures.add(CASE, name, BYTES, logged);
    }
    match differ.is_empty() {
        true => Ok(()),
        false => Err(differ.join("; ")),
    }
}

fn reason_to_skip(server: &str) -> Option<String> {
    let mut programs = ["valgrind", "vgdb"].iter();
    if let Some(missing) = programs.find(|program| {
        let mut command = Command::new(program);
        command.arg("--help").stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_err()
    }) {
        return Some(format!("{missing} is missing"));
    }
    let is_theirs = server.starts_with(SERVER) && std::env::consts::ARCH == ARCH;
    (!is_theirs).then(|| format!("the bars are for {SERVER} on {ARCH}"))
}

/// The cost of one call.
struct Count {
    instructions: f64,
    /// The module's own instructions, by the place of their code.
    parts: Vec<(String, f64)>,
    /// Bytes that the call adds to the AOF.
    logged: f64,
}

impl Count {
    fn note_parts(&self, figures: &mut Figures, kind: &str) {
        self.parts.iter().for_each(|(part, count)| figures.add(kind, part, OWN, *count));
    }
}

/// A server under callgrind.
struct Meter {
    control: Control,
    /// The file name of the module.
    module: String,
    folder: PathBuf,
    calls: u64,
    users: Box<dyn Iterator<Item = u64>>,
    /// The number of `users` that are used.
    used: usize,
    /// Dropping this removes the folder.
    _folder: tempfile::TempDir,
}

impl Meter {
    fn start(bench: &Bench) -> Result<Meter, String> {
        let kept = tempfile::tempdir().map_err(|e| format!("No temporary folder: {e}"))?;
        let folder = kept.path().to_owned();
        let out = format!("--callgrind-out-file={}", folder.join("calls").display());
        let tool = ["valgrind", "-q", "--tool=callgrind", "--instr-atstart=no", &out];
        let through = [&tool[..], &["--compress-strings=no", "--compress-pos=no"]].concat();
        let control = bench.server_with_noop(&through, &[&QUIET[..], &AOF].concat())?;
        let module = bench.module.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let users = Box::new(spread(USERS, USERS));
        let calls = bench.plan.counted_calls;
        Ok(Meter { control, module, folder, calls, users, used: 0, _folder: kept })
    }

    fn measure(&mut self, request: &Request) -> Result<Count, String> {
        // A first run pays for lookups and allocations that occur only once.
        self.call(request, self.calls / 2)?;
        let logged = self.control.info("persistence", "aof_current_size")?;
        self.tell_valgrind(&["instrumentation", "on"])?;
        self.call(request, self.calls)?;
        self.tell_valgrind(&["instrumentation", "off"])?;
        let logged = self.control.info("persistence", "aof_current_size")? - logged;
        let before = dumps(&self.folder)?;
        self.tell_valgrind(&["dump"])?;
        let after = dumps(&self.folder)?;
        let new = after.iter().find(|file| !before.contains(file));
        let text = fs::read_to_string(new.ok_or("callgrind wrote no profile")?);
        let text = text.map_err(|e| format!("No profile: {e}"))?;
        let found = callgrind::read(&text, &self.module).ok_or("callgrind's profile is cut off")?;
        let calls = self.calls as f64;
        let parts = found.parts.into_iter().map(|(part, count)| (part, count / calls)).collect();
        Ok(Count { instructions: found.total / calls, parts, logged: logged / calls })
    }

    fn call(&mut self, request: &Request, calls: u64) -> Result<(), String> {
        let users = self.users.by_ref().take(calls as usize);
        self.used += calls as usize;
        send(self.control.port(), request, users, MANNER).map(drop)
    }

    fn tell_valgrind(&self, words: &[&str]) -> Result<(), String> {
        let output = Command::new("vgdb")
            .arg(format!("--pid={}", self.control.pid()))
            .args(words)
            .stdin(Stdio::null())
            .output()
            .map_err(|e| format!("vgdb does not start: {e}"))?;
        match output.status.success() {
            true => Ok(()),
            false => Err(format!("vgdb says: {}", String::from_utf8_lossy(&output.stderr))),
        }
    }
}

fn dumps(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let files = fs::read_dir(folder).map_err(|e| format!("No profiles: {e}"))?;
    Ok(files.filter_map(|file| Some(file.ok()?.path())).collect())
}
