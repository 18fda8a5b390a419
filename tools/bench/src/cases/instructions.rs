//! Instructions of the server for one call, counted by callgrind. The count depends on the build
//! and the server, but not on other load.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::sale::AOF;
use super::Bench;
use crate::contenders::{GRANTED, IS_SOLD_OUT, PLENTY, REQ, SALE, USER};
use crate::control::Control;
use crate::figures::INSTRUCTIONS;
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
const MANNER: Manner = Manner { connections: 1, pipeline: 32, pace: None };

/// A GRAB by its name, its words after the command, the begin of its reply, and the most
/// instructions that it may take.
type Kind = (&'static str, &'static [&'static str], &'static str, f64);

const KINDS: [Kind; 3] = [
    (RECOMMENDED, &[SALE, USER, "REQ", REQ], GRANTED, 30_000.0),
    ("plain winner", &["plain", USER], GRANTED, 17_000.0),
    ("refusal (SOLDOUT)", &["gone", USER], IS_SOLD_OUT, 6_000.0),
];

const RECOMMENDED: &str = "winner with REQ, HOLD and OUTBOX";
/// The recommended call in a sale that is a part of a split.
const PART: &str = "the same in a part of a split";

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
    let part: Kind = (PART, &["part", USER, "REQ", REQ], GRANTED, 0.0);
    for (name, words, reply, _) in KINDS.into_iter().chain([part]) {
        let request = Request::new(&[&["SECKILL.GRAB"], words].concat(), reply);
        bench.figures.add(CASE, name, INSTRUCTIONS, meter.measure(&request)?);
    }
    Ok(())
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
        let settings = [&QUIET[..], &AOF].concat();
        let control = Control::start_through(&tool, Some(&bench.module), &settings)?;
        let users = Box::new(spread(USERS, USERS));
        let calls = bench.plan.counted_calls;
        Ok(Meter { control, folder, calls, users })
    }

    /// The instructions of one call.
    fn measure(&mut self, request: &Request) -> Result<f64, String> {
        // A first run pays for lookups and allocations that occur only once.
        self.call(request, self.calls / 2)?;
        self.tell_valgrind(&["instrumentation", "on"])?;
        self.call(request, self.calls)?;
        self.tell_valgrind(&["instrumentation", "off"])?;
        let before = dumps(self.folder.path())?;
        self.tell_valgrind(&["dump"])?;
        let after = dumps(self.folder.path())?;
        let new = after.iter().find(|file| !before.contains(file));
        let text = fs::read_to_string(new.ok_or("callgrind wrote no profile")?);
        let text = text.map_err(|e| format!("No profile: {e}"))?;
        let mut totals = text.lines().filter_map(|line| line.strip_prefix("totals: "));
        let total = totals.next().and_then(|total| total.trim().parse::<f64>().ok());
        Ok(total.ok_or("callgrind's profile is cut off")? / self.calls as f64)
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
    for (name, _, _, bar) in KINDS {
        let found = rows.figures.spread((CASE, name), INSTRUCTIONS);
        let what = (name, "instructions of the whole call");
        rows.add(what, SETTING, Some(Bar::AtMost(bar)), found);
    }
    let found = rows.figures.difference(INSTRUCTIONS, (CASE, PART), (CASE, RECOMMENDED));
    let what = (PART, "instructions added to a whole sale's");
    rows.add(what, SETTING, Some(Bar::AtMost(150.0)), found);
}
