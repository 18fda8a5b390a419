//! Tests of examples/migrate: its programs move a sale from a shop's own program to seckill, and
//! back. `make migrate-test`. The shops' programs are those of the posts, from lab/php; the old
//! server is a Redis without the module. The tests need PHP and MariaDB, so they only run on request.

// A test that can't continue panics with a message.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod again;
mod counters;
mod first;
mod frameworks;
mod halfway;
mod language;
mod locks;
mod page;
mod records;
mod tables;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::LazyLock;

use seckill_harness::server::{Options, Server};

/// Exit code of a program that found the old page selling after the move.
const LATE: i32 = 2;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folder for files of these tests. A run deletes the files of the run before.
fn files() -> &'static Path {
    static FILES: LazyLock<PathBuf> = LazyLock::new(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("migrate");
        // It fails when there is no such folder yet.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        folder
    });
    &FILES
}

/// The pages about moving: docs/migrate.md, and one for each kind of program.
fn pages() -> Vec<String> {
    let files = fs::read_dir(root().join("docs")).expect("docs").map(|file| file.unwrap().path());
    let is_one = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("migrate") && name.ends_with(".md")
    };
    let mut files: Vec<_> = files.filter(is_one).collect();
    files.sort();
    assert!(files.len() > 9, "one for each kind of program: {files:?}");
    files.iter().map(|file| fs::read_to_string(file).expect("a page")).collect()
}

/// A shop's old server, and a server with the module.
struct Move {
    old: Server,
    new: Server,
    program: &'static str,
    options: Vec<String>,
}

impl Move {
    fn of(program: &'static str, options: &[&str]) -> Move {
        let old = Options::new().without_module().start();
        let mut all = vec![format!("--old=127.0.0.1:{}", old.port())];
        all.extend(options.iter().map(|option| (*option).to_owned()));
        Move { old, new: Server::start(), program, options: all }
    }

    /// Runs the program. Returns its output.
    #[track_caller]
    fn run(&self, more: &[&str]) -> String {
        let (said, went_well) = self.try_run(self.new.port(), more);
        assert!(went_well, "{} {more:?}: {said}", self.program);
        said
    }

    fn try_run(&self, new: u16, more: &[&str]) -> (String, bool) {
        output(&mut self.program(new, more))
    }

    /// The program's output and exit code.
    fn end(&self, more: &[&str]) -> (String, i32) {
        let (text, status) = told(&mut self.program(self.new.port(), more));
        (text, status.code().expect("it was not killed"))
    }

    fn program(&self, new: u16, more: &[&str]) -> Command {
        let mut php = Command::new("php");
        php.arg(root().join("examples/migrate").join(self.program));
        let new = format!("--new=127.0.0.1:{new}");
        let name = |option: &str| option.split('=').next().map(str::to_owned);
        let is_said_again = |option: &&String| more.iter().any(|word| name(word) == name(option));
        let options = self.options.iter().chain([&new]);
        php.args(options.filter(|option| !is_said_again(option))).args(more);
        php
    }

    /// Runs the shop's old page for one buyer.
    fn before(&self, page: &str) -> String {
        let lab = root().join("lab/php");
        let prepend = format!("auto_prepend_file={}", lab.join("prepend.php").display());
        let mut php = Command::new("php");
        php.env("REDIS_PORT", self.old.port().to_string()).args(["-d", &prepend]);
        output(php.arg(lab.join(page))).0
    }

    /// Runs the new page.
    #[track_caller]
    fn after(&self, words: &[&str]) -> String {
        let (said, went_well) = self.try_after(words);
        assert!(went_well, "{words:?}: {said}");
        said
    }

    fn try_after(&self, words: &[&str]) -> (String, bool) {
        output(&mut page::command(self.new.port(), words, None))
    }

    /// `supply available held sold deficit` of the sale.
    fn books(&self, sale: &str) -> [i64; 5] {
        let status = self.new.cmd(&format!("SECKILL.STATUS {sale}"));
        ["supply", "available", "held", "sold", "deficit"].map(|name| status.field(name).int())
    }
}

fn output(command: &mut Command) -> (String, bool) {
    let (text, status) = told(command);
    (text, status.success())
}

fn told(command: &mut Command) -> (String, ExitStatus) {
    let output = command.output().expect("PHP is here: make migrate-deps");
    let text = [output.stdout, output.stderr].concat();
    (String::from_utf8_lossy(&text).into_owned(), output.status)
}
