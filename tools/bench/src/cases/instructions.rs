//! Instructions of the server for one call, counted by callgrind. The count depends on the build
//! and the server, but not on other load. Another command makes only the server calls that the
//! module must make (its promised calls). The difference is the module's own cost.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::sale::AOF;
use super::Bench;
use crate::contenders::{GRANTED, IS_SOLD_OUT, PLENTY, REQ, SALE, USER};
use crate::control::Control;
use crate::figures::{Spread, INSTRUCTIONS};
use crate::load::{send, spread, Manner, Request, USERS};
use crate::rows::{Bar, Rows};

const CASE: &str = "instructions of a call";

/// Server and processor for which the bars are set.
const SERVER: &str = "Redis 7.0";
const ARCH: &str = "x86_64";

/// Reduces timer work, which would grow with the length of the run.
const QUIET: [&str; 4] = ["--hz", "1", "--dynamic-hz", "no"];
/// Terms of the recommended sales; the name of the outbox follows.
const HOLD: &str = "HOLD 900000 OUTBOX";
const MANNER: Manner = Manner { connections: 1, pipeline: 32 };

/// Largest difference in logged bytes between a command and its promised calls, as a share.
const SAME_BYTES: f64 = 0.05;

/// Names in tables: the call, then its promised calls.
const RECOMMENDED: [&str; 2] = ["winner with REQ, HOLD and OUTBOX", "its promised calls"];
const WINNER: [&str; 2] = ["plain winner", "its promised calls (plain)"];
const SOLD_OUT: [&str; 2] = ["refusal (SOLDOUT)", "its promised calls (SOLDOUT)"];
/// The recommended call in a sale that is a part of a split.
const PART: &str = "the same in a part of a split";

/// A call of GRAB, with the no-op command that makes its promised calls.
struct Kind {
    names: [&'static str; 2],
    noop: &'static str,
    words: &'static [&'static str],
    reply: &'static str,
    /// Most instructions that the module may add.
    bar: f64,
}

const KINDS: [Kind; 3] = [
    Kind {
        names: RECOMMENDED,
        noop: "NOOP.HOLD",
        words: &[SALE, USER, "REQ", REQ],
        reply: GRANTED,
        bar: 3_500.0,
    },
    Kind {
        names: WINNER,
        noop: "NOOP.GRAB",
        words: &["plain", USER],
        reply: GRANTED,
        bar: 1_800.0,
    },
    Kind {
        names: SOLD_OUT,
        noop: "NOOP.SOLD",
        words: &["gone", USER],
        reply: IS_SOLD_OUT,
        bar: 700.0,
    },
];

pub fn run(bench: &mut Bench) -> Result<(), String> {
    bench.step(CASE, 0);
    if let Some(why) = reason_to_skip(&bench.server) {
        eprintln!("{CASE}: skipped, {why}");
        return Ok(());
    }
    let mut meter = Meter::start(bench)?;
    for line in [
        format!("SECKILL.INIT {SALE} {PLENTY} {HOLD} orders"),
        format!("SECKILL.INIT part {PLENTY} {HOLD} of-part PART 0 OF 1 SPLIT s TOTAL {PLENTY}"),
        format!("SECKILL.INIT plain {PLENTY}"),
        "SECKILL.INIT gone 0".into(),
    ] {
        meter.control.line(&line)?;
    }
    let mut differ = Vec::new();
    for Kind { names: [name, promised], noop, words, reply, .. } in KINDS {
        let mut count =
            |command| meter.measure(&Request::new(&[&[command], words].concat(), reply));
        let (ours, theirs) = (count("SECKILL.GRAB")?, count(noop)?);
        bench.figures.add(CASE, name, INSTRUCTIONS, ours.instructions);
        bench.figures.add(CASE, promised, INSTRUCTIONS, theirs.instructions);
        if (theirs.logged - ours.logged).abs() > SAME_BYTES * ours.logged {
            let (ours, theirs) = (ours.logged, theirs.logged);
            differ.push(format!("{name} logs {ours:.0} bytes, {promised} {theirs:.0}"));
        }
    }
    let words = ["SECKILL.GRAB", "part", USER, "REQ", REQ];
    let part = meter.measure(&Request::new(&words, GRANTED))?;
    bench.figures.add(CASE, PART, INSTRUCTIONS, part.instructions);
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
    /// Bytes that the call adds to the AOF.
    logged: f64,
}

/// A server under callgrind.
struct Meter {
    control: Control,
    /// Where callgrind writes.
    folder: TempDir,
    calls: u64,
    users: Box<dyn Iterator<Item = u64>>,
}

impl Meter {
    fn start(bench: &Bench) -> Result<Meter, String> {
        let folder = tempfile::tempdir().map_err(|e| format!("No temporary folder: {e}"))?;
        let out = format!("--callgrind-out-file={}", folder.path().join("calls").display());
        let tool = ["valgrind", "-q", "--tool=callgrind", "--instr-atstart=no", &out];
        let control = bench.server_with_noop(&tool, &[&QUIET[..], &AOF].concat())?;
        let users = Box::new(spread(USERS, USERS));
        let calls = bench.plan.counted_calls;
        Ok(Meter { control, folder, calls, users })
    }

    fn measure(&mut self, request: &Request) -> Result<Count, String> {
        // A first run pays for lookups and allocations that occur only once.
        self.call(request, self.calls / 2)?;
        let logged = self.control.info("persistence", "aof_current_size")?;
        self.tell_valgrind(&["instrumentation", "on"])?;
        self.call(request, self.calls)?;
        self.tell_valgrind(&["instrumentation", "off"])?;
        let logged = self.control.info("persistence", "aof_current_size")? - logged;
        let before = dumps(self.folder.path())?;
        self.tell_valgrind(&["dump"])?;
        let after = dumps(self.folder.path())?;
        let new = after.iter().find(|file| !before.contains(file));
        let text = fs::read_to_string(new.ok_or("callgrind wrote no profile")?);
        let text = text.map_err(|e| format!("No profile: {e}"))?;
        let mut totals = text.lines().filter_map(|line| line.strip_prefix("totals: "));
        let total = totals.next().and_then(|total| total.trim().parse::<f64>().ok());
        let (total, calls) = (total.ok_or("callgrind's profile is cut off")?, self.calls as f64);
        Ok(Count { instructions: total / calls, logged: logged / calls })
    }

    fn call(&mut self, request: &Request, calls: u64) -> Result<(), String> {
        let users = self.users.by_ref().take(calls as usize);
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

pub fn rows(rows: &mut Rows<'_>) {
    const SETTING: &str = "AOF everysec, P32, c1";
    for Kind { names: [name, promised], bar, .. } in KINDS {
        let note = rows.beside((CASE, name), INSTRUCTIONS);
        let figure = "instructions added by the module; of the whole call";
        let bar = Some(Bar::AtMost(bar));
        rows.add((name, figure), SETTING, bar, added(rows, name, promised)).note = note;
    }
    let what = (PART, "instructions added to a whole sale's");
    rows.add(what, SETTING, Some(Bar::AtMost(150.0)), added(rows, PART, RECOMMENDED[0]));
}

/// Instructions of a call beyond those of another.
fn added(rows: &Rows<'_>, of: &str, to: &str) -> Option<Spread> {
    rows.figures.difference(((CASE, of), INSTRUCTIONS), ((CASE, to), INSTRUCTIONS))
}
