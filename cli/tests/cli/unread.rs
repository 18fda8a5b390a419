//! Output without a reader, or on a full disk.

use std::fs::OpenOptions;
use std::io::pipe;
use std::process::{Output, Stdio};

use seckill_harness::{wait_until, Options};

use super::program::{run, seckill, Running};

/// Runs the program with its standard output closed at the other end.
fn unread(words: &[&str]) -> Output {
    let (reader, writer) = pipe().expect("a pipe");
    drop(reader);
    let mut child =
        seckill(words).stdout(writer).stderr(Stdio::piped()).spawn().expect("it starts");
    wait_until(&format!("it ends: {words:?}"), || child.try_wait().expect("its state").is_some());
    child.wait_with_output().expect("how it ended")
}

/// A closed output, as by `| head -1`, is no error. The exit code is that of a full output, and
/// stderr stays empty.
#[test]
fn a_reader_may_leave() {
    let server = Options::new().start();
    let url = format!("redis://127.0.0.1:{}/", server.port());
    assert_eq!(server.call("SECKILL.INIT sale 3 HOLD 60000"), "+OK");
    assert!(!server.cmd("SECKILL.GRAB sale u").is_error());
    for words in [
        &["--help"][..],
        &["completions", "bash"],
        &["completions", "zsh"],
        &["completions", "fish"],
        &["check"],
        &["status", "sale"],
        &["status", "sale", "--json"],
        &["winners", "sale"],
        &["winners", "sale", "--json"],
        &["audit", "sale"],
        &["orders", "--print-schema", "--database", "postgres://u@h/d", "--stream", "s"],
        &["split", "create", "p", "--supply", "30", "--parts", "2", "LIMIT", "0"],
        &["split", "status", "p"],
        &["split", "winners", "p"],
        &["split", "audit", "p"],
        &["split", "pause", "p"],
    ] {
        let words = [&["--redis", &url], words].concat();
        let ran = unread(&words);
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        // The first run has made or changed the sale: a second run would differ.
        let again = run(&words);
        let as_read = if words.contains(&"create") { Some(0) } else { again.status.code() };
        assert_eq!(ran.status.code(), as_read, "{words:?}: {said}");
        assert!(!said.contains("panicked") && !said.contains("pipe"), "{words:?}: {said}");
    }
    // Both commands go on until they are stopped, or until standard output is closed.
    for words in [&["watch", "sale"][..], &["split", "status", "p", "--watch"]] {
        let ran = unread(&[&["--redis", &url], words].concat());
        assert_eq!((ran.status.code(), ran.stderr), (Some(0), Vec::new()), "{words:?}");
    }
}

#[test]
fn a_full_disk_is_said() {
    let server = Options::new().start();
    let url = format!("redis://127.0.0.1:{}/", server.port());
    assert_eq!(server.call("SECKILL.INIT sale 3"), "+OK");
    for words in [&["status", "sale"][..], &["winners", "sale"], &["completions", "zsh"]] {
        let full = OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
        let words = [&["--redis", &url], words].concat();
        let ran = seckill(&words).stdout(full).output().expect("it runs");
        let said = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(1), "{words:?}: {said}");
        assert!(said.starts_with("seckill: ") && said.contains("No space left"), "{said}");
    }
}

/// An exporter keeps running after the reader of its standard error has gone.
#[test]
fn a_server_needs_no_reader_of_its_log() {
    let redis = Options::new().start();
    let url = format!("redis://127.0.0.1:{}/", redis.port());
    let (reader, writer) = pipe().expect("a pipe");
    drop(reader);
    let mut program = seckill(&["--redis", &url, "exporter", "--sale", "sale"]);
    program.stderr(writer);
    let exporter = Running::start(program);
    assert!(exporter.get("/metrics").1.contains("seckill_up 1"));
    // The exporter logs this error, but its standard error is closed at the other end.
    drop(redis);
    wait_until("it sees that Redis is away", || exporter.get("/health").0 == 503);
    assert!(exporter.get("/metrics").1.contains("seckill_up 0"));
}
