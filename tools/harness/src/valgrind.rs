//! Servers under valgrind's memcheck. `SECKILL_VALGRIND` names a folder for the logs. Then every
//! test server runs under valgrind, waits are longer, and servers shut down in order so that leaks
//! are found. A report about the module fails the test.
//!
//! With `SECKILL_SANITIZER` instead, server and module were built with AddressSanitizer or
//! ThreadSanitizer, which writes the logs (`.ci/memcheck`).
//!
//! Debian's server uses a shared jemalloc, which valgrind replaces by its own malloc. So it sees
//! every block. In a server with a built-in jemalloc it would find only reads of uninitialised
//! memory.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Environment variable with the folder for valgrind's logs.
pub const FOLDER: &str = "SECKILL_VALGRIND";
/// Environment variable with the folder for a sanitizer's logs.
const SANITIZER: &str = "SECKILL_SANITIZER";
/// How much longer a wait may be under valgrind. Code runs 20 to 50 times slower there, and one
/// thread at a time.
const TIMES_SLOWER: u32 = 10;
/// How much longer a wait may be with a sanitizer.
const TIMES_SLOWER_SANITIZED: u32 = 3;

const WORDS: [&str; 7] = [
    "valgrind",
    "--soname-synonyms=somalloc=libjemalloc.so.2",
    "--leak-check=full",
    "--show-leak-kinds=definite,indirect,possible",
    "--num-callers=40",
    // Threads take turns fairly. Otherwise a background thread may wait forever.
    "--fair-sched=try",
    // A killed server would leave valgrind's pipes behind.
    "--vgdb=no",
];

/// A known report about the server: its LZF compressor reads a table that it has not cleared.
const KNOWN: &str = "{\n lzf-cond\n Memcheck:Cond\n fun:lzf_compress\n}\n\
    {\n lzf-value\n Memcheck:Value8\n fun:lzf_compress\n}\n";

/// The settings of both sanitizers, without the log path. The clock library may be loaded before
/// them. A failed allocation returns null, as the server's malloc does. A server goes on after a
/// race, so its test reports all races.
const SETTINGS: [(&str, &str); 2] = [
    ("ASAN_OPTIONS", "detect_leaks=1:verify_asan_link_order=0:allocator_may_return_null=1"),
    ("TSAN_OPTIONS", "exitcode=0:history_size=7:allocator_may_return_null=1"),
];

/// The logs of one server: of all its processes, also after a restart.
#[derive(Debug)]
pub struct Logs {
    folder: PathBuf,
    name: String,
    is_sanitizers: bool,
}

/// Reports of valgrind or a sanitizer.
#[derive(Debug, Default)]
pub struct Reports {
    pub ours: Vec<String>,
    pub others: Vec<String>,
    /// Number of processes that ended under the checker.
    pub ended: usize,
}

pub fn is_on() -> bool {
    std::env::var_os(FOLDER).is_some()
}

/// The factor by which waits are longer.
pub fn times_slower() -> u32 {
    match is_on() {
        true => TIMES_SLOWER,
        false if std::env::var_os(SANITIZER).is_some() => TIMES_SLOWER_SANITIZED,
        false => 1,
    }
}

/// The length of a hold, in ms, that must not expire during a few steps of a test.
pub fn slowed(ms: u32) -> u32 {
    ms * times_slower()
}

impl Logs {
    /// Logs for a new server, if servers run under valgrind or a sanitizer.
    pub fn of_new_server() -> Option<Logs> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let folder = std::env::var_os(FOLDER);
        let is_sanitizers = folder.is_none();
        let folder = PathBuf::from(folder.or_else(|| std::env::var_os(SANITIZER))?);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Some(Logs { folder, name: format!("{}-{number}.", std::process::id()), is_sanitizers })
    }

    /// The command that runs the server's command line.
    pub fn words(&self) -> Vec<String> {
        if self.is_sanitizers {
            let log = self.folder.join(&self.name);
            let setting = |(name, value)| format!("{name}={value}:log_path={}", log.display());
            return ["env".to_owned()].into_iter().chain(SETTINGS.map(setting)).collect();
        }
        let known = self.folder.join("known.supp");
        fs::write(&known, KNOWN).expect("a file of what is known");
        let log = self.folder.join(format!("{}%p", self.name));
        let log = format!("--log-file={}", log.display());
        let known = format!("--suppressions={}", known.display());
        WORDS.map(str::to_owned).into_iter().chain([log, known]).collect()
    }

    pub fn reports(&self) -> Reports {
        match self.is_sanitizers {
            true => reports_of_sanitizer(&self.folder, &self.name),
            false => reports(&self.folder, &self.name),
        }
    }
}

/// The texts of a folder's logs whose names begin with `name`.
fn texts(folder: &Path, name: &str) -> Vec<String> {
    let logs = fs::read_dir(folder).expect("logs").map(|log| log.expect("a log"));
    let is_log = |log: &fs::DirEntry| {
        let file = log.file_name().to_string_lossy().into_owned();
        file.starts_with(name) && !file.ends_with(".supp")
    };
    let text = |log: fs::DirEntry| fs::read(log.path()).expect("a log");
    let texts = logs.filter(is_log).map(text);
    texts.map(|text| String::from_utf8_lossy(&text).into_owned()).collect()
}

/// Reports have stack traces: of the wrong use, the free and the allocation, of a leak, or of both
/// threads. AddressSanitizer's reports are paragraphs. ThreadSanitizer's end in a line.
fn reports_of_sanitizer(folder: &Path, name: &str) -> Reports {
    let mut reports = Reports::default();
    for text in texts(folder, name) {
        let is_of_threads = text.contains("WARNING: ThreadSanitizer");
        let end = if is_of_threads { "==================\n" } else { "\n\n" };
        for part in text.split(end).filter(|part| part.contains("    #0 ")) {
            reports.add(part, part.contains("libseckill"));
        }
    }
    reports
}

/// The reports in the logs of a folder whose names begin with `name`.
pub fn reports(folder: &Path, name: &str) -> Reports {
    let mut reports = Reports::default();
    for text in texts(folder, name) {
        reports.ended += usize::from(text.contains("ERROR SUMMARY"));
        // A report is a paragraph whose lines begin with the process id.
        let lines = text.lines().map(|line| line.split_once("== ").map_or("", |(_, rest)| rest));
        let text = lines.collect::<Vec<_>>().join("\n");
        let is_report = |part: &&str| part.contains("   at 0x") || part.contains("   by 0x");
        text.split("\n\n").filter(is_report).for_each(|part| reports.add(part, is_ours(part)));
    }
    reports
}

impl Reports {
    fn add(&mut self, report: &str, is_ours: bool) {
        let list = if is_ours { &mut self.ours } else { &mut self.others };
        list.push(report.to_owned());
    }
}

/// Whether a report is about the module. The server keeps a pointer behind the header of a string,
/// so valgrind calls it possibly lost. Only strings that the module allocated count.
fn is_ours(report: &str) -> bool {
    let is_asked_for = ["RM_Alloc", "RM_Calloc", "RM_Realloc"].iter().any(|it| report.contains(it));
    report.contains("seckill") && (is_asked_for || !report.contains("possibly lost"))
}
