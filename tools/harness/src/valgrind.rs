//! Servers under valgrind's memcheck: with `SECKILL_VALGRIND`, which names a folder for its logs,
//! every server that a test starts runs there, waits are longer, servers are shut down in order so
//! that valgrind looks for what was lost, and a report about the module fails the test.
//!
//! With `SECKILL_SANITIZER` in its place servers and module were built with AddressSanitizer, which
//! writes the logs then (`.ci/memcheck`).
//!
//! Debian's server takes its memory from a shared jemalloc, which valgrind puts its own malloc in
//! place of: every block is seen. In a server that has jemalloc built in, only use of memory that
//! was never written would be found, neither leaks nor reads behind an end.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The folder for logs.
pub const FOLDER: &str = "SECKILL_VALGRIND";
/// The folder for the logs of a sanitizer.
const SANITIZER: &str = "SECKILL_SANITIZER";
/// How much slower a server may be there: valgrind alone takes 20 to 50 times as long for a piece
/// of code, and runs one thread at a time.
const TIMES_SLOWER: u32 = 10;
/// The same with a sanitizer.
const TIMES_SLOWER_SANITIZED: u32 = 3;

const WORDS: [&str; 9] = [
    "valgrind",
    "--soname-synonyms=somalloc=libjemalloc.so.2",
    "--leak-check=full",
    "--show-leak-kinds=definite,indirect,possible",
    "--num-callers=40",
    // Threads take turns: with the usual way one that works in the background may wait for ever.
    "--fair-sched=try",
    // A server that is killed would leave its pipes behind.
    "--vgdb=no",
    "--log-file",
    "--suppressions",
];

/// The server's compressor looks into a table that it has not cleared, and then at what is there.
const KNOWN: &str = "{\n lzf-cond\n Memcheck:Cond\n fun:lzf_compress\n}\n\
    {\n lzf-value\n Memcheck:Value8\n fun:lzf_compress\n}\n";

/// The sanitizer's settings, without where it logs. The library that steps the clock may be loaded
/// before it. Where a server's malloc would give no block, the sanitizer's gives none, too.
const SETTINGS: &str = "detect_leaks=1:verify_asan_link_order=0:allocator_may_return_null=1";

/// The logs of one server: of all its processes, also after it was started again.
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
    /// Processes that it saw to their end.
    pub ended: usize,
}

/// Whether servers run under valgrind.
pub fn is_on() -> bool {
    std::env::var_os(FOLDER).is_some()
}

/// How many times as long a server may take for everything.
pub fn times_slower() -> u32 {
    match is_on() {
        true => TIMES_SLOWER,
        false if std::env::var_os(SANITIZER).is_some() => TIMES_SLOWER_SANITIZED,
        false => 1,
    }
}

/// `ms` of a hold that a test must still find alive after some steps.
pub fn slowed(ms: u32) -> u32 {
    ms * times_slower()
}

impl Logs {
    /// Those of a new server, if servers run under valgrind or have AddressSanitizer.
    pub fn of_new_server() -> Option<Logs> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let folder = std::env::var_os(FOLDER);
        let is_sanitizers = folder.is_none();
        let folder = PathBuf::from(folder.or_else(|| std::env::var_os(SANITIZER))?);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Some(Logs { folder, name: format!("{}-{number}.", std::process::id()), is_sanitizers })
    }

    /// The words in front of the server's own command line.
    pub fn words(&self) -> Vec<String> {
        if self.is_sanitizers {
            let log = self.folder.join(&self.name);
            let options = format!("ASAN_OPTIONS={SETTINGS}:log_path={}", log.display());
            return vec!["env".to_owned(), options];
        }
        let known = self.folder.join("known.supp");
        fs::write(&known, KNOWN).expect("a file of what is known");
        let log = self.folder.join(format!("{}%p", self.name));
        let value = |word: &str| match word {
            "--log-file" => format!("{word}={}", log.display()),
            "--suppressions" => format!("{word}={}", known.display()),
            _ => word.to_owned(),
        };
        WORDS.into_iter().map(value).collect()
    }

    /// The reports so far.
    pub fn reports(&self) -> Reports {
        match self.is_sanitizers {
            true => reports_of_sanitizer(&self.folder, &self.name),
            false => reports(&self.folder, &self.name),
        }
    }
}

/// Reports are paragraphs with stacks: where memory was used wrongly, freed, and allocated, or was
/// lost.
fn reports_of_sanitizer(folder: &Path, name: &str) -> Reports {
    let mut reports = Reports::default();
    for log in fs::read_dir(folder).expect("logs") {
        let log = log.expect("a log");
        if !log.file_name().to_string_lossy().starts_with(name) {
            continue;
        }
        let text = String::from_utf8_lossy(&fs::read(log.path()).expect("a log")).into_owned();
        for part in text.split("\n\n").filter(|part| part.contains("    #0 ")) {
            let is_ours = part.contains("libseckill");
            let list = if is_ours { &mut reports.ours } else { &mut reports.others };
            list.push(part.to_owned());
        }
    }
    reports
}

/// The reports in the logs of a folder whose names begin with `name`.
pub fn reports(folder: &Path, name: &str) -> Reports {
    let mut reports = Reports::default();
    for log in fs::read_dir(folder).expect("logs") {
        let log = log.expect("a log");
        let is_meant = log.file_name().to_string_lossy().starts_with(name);
        if !is_meant || log.path().extension().is_some_and(|ext| ext == "supp") {
            continue;
        }
        let text = String::from_utf8_lossy(&fs::read(log.path()).expect("a log")).into_owned();
        reports.ended += usize::from(text.contains("ERROR SUMMARY"));
        // A report is a paragraph of lines behind the process's number.
        let lines = text.lines().map(|line| line.split_once("== ").map_or("", |(_, rest)| rest));
        let text = lines.collect::<Vec<_>>().join("\n");
        let is_report = |part: &&str| part.contains("   at 0x") || part.contains("   by 0x");
        for part in text.split("\n\n").filter(is_report) {
            let list = if is_ours(part) { &mut reports.ours } else { &mut reports.others };
            list.push(part.to_owned());
        }
    }
    reports
}

/// Whether a report is about the module. The server's strings are known by a pointer behind their
/// head, which valgrind calls possibly lost: of those only what the module itself asked for counts.
fn is_ours(report: &str) -> bool {
    let is_asked_for = ["RM_Alloc", "RM_Calloc", "RM_Realloc"].iter().any(|it| report.contains(it));
    report.contains("seckill") && (is_asked_for || !report.contains("possibly lost"))
}
