//! `seckill orders` against real databases, killed at every point.

mod brokers;
mod judge;
mod killed;
mod lost;
mod mistakes;
mod proxy;
mod sentinels;
mod shop;
mod stdout;
mod tls;
mod units;

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use seckill_harness::wait_until;

use super::program::{run, seckill};

/// Runs a program to its end, which must come soon; returns its status and its output.
#[track_caller]
pub fn ended(mut program: Command) -> (Option<i32>, String) {
    let mut child = program.stderr(Stdio::piped()).spawn().expect("it starts");
    let (mut is_over, until) = (false, std::time::Instant::now() + GIVEN_UP_AFTER);
    wait_until("it ends", || {
        is_over = child.try_wait().expect("its state").is_some();
        is_over || std::time::Instant::now() > until
    });
    if !is_over {
        child.kill().expect("it is killed");
    }
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(is_over, "it does not end by itself: {said}");
    (output.status.code(), said)
}

/// Time limit for a program that must end with an error. The program ends at once, but its servers
/// may be slow.
const GIVEN_UP_AFTER: std::time::Duration = std::time::Duration::from_secs(20);

#[test]
fn it_prints_the_tables_that_it_needs() {
    for (url, words) in [
        ("mysql://root@localhost/shop", "user_id VARBINARY(256) NOT NULL"),
        ("mariadb://root@localhost/shop", "user_id VARBINARY(256) NOT NULL"),
        ("postgres://shop@localhost/shop", "user_id BYTEA NOT NULL"),
    ] {
        let printed = run(&["orders", "--database", url, "--print-schema"]);
        assert_eq!(printed.status.code(), Some(0));
        let text = String::from_utf8(printed.stdout).expect("text");
        assert!(text.contains(words), "{text}");
        assert_eq!(text.matches("CREATE TABLE IF NOT EXISTS").count(), 5);
    }
}

/// The start-up line: stream, server, database and user, before any connection, without a password.
#[test]
fn it_begins_with_a_line_of_what_it_does() {
    for (url, place) in [
        ("mysql://u:secret@db.invalid:3307/shop", "shop at db.invalid:3307 as u"),
        ("mariadb://u@localhost/shop?socket=/no/such", "shop at /no/such as u"),
        ("postgres://u:secret@db.invalid/shop", "shop at db.invalid:5432 as u"),
        ("postgres://u@%2Fno%2Fsuch/shop", "shop at /no/such as u"),
    ] {
        let mut program = seckill(&["orders", "--redis", "redis://r:secret@127.0.0.1:1/"]);
        program.args(["--database", url, "--stream", "a", "--stream", "b", "--name", "n"]);
        let mut child = program.stderr(Stdio::piped()).spawn().expect("it starts");
        let mut line = String::new();
        let from = child.stderr.take().expect("its errors");
        BufReader::new(from).read_line(&mut line).expect("a line");
        child.kill().expect("it is killed");
        child.wait().expect("it ends");
        let read = "a, b of 127.0.0.1:1 as r";
        assert_eq!(line, format!("seckill orders: {read}, into {place}, as n of group orders\n"));
    }
}

#[test]
fn it_says_what_it_can_not_do() {
    for (words, code, said) in [
        (&["--database", "sqlite://x", "--stream", "s"][..], 2, "--database: mysql://"),
        (&["--database", "postgres://x/y"], 2, "--stream"),
        (&["--stream", "s"], 2, "--database"),
        (&["--database", "postgres://x/y?sslmode=prefer", "--stream", "s"], 2, "verify-full"),
        (&["--database", "mysql://x/y?ssl-ca=/nothing", "--stream", "s"], 2, "/nothing: No such"),
        (&["--database", "mysql://x/y", "--stream", "s", "--table-prefix", "A;"], 2, "a to z"),
        (&["--database", "mysql://x/y", "--stream", "s", "--schema", "a`"], 2, "letters"),
        (&["--database", "postgres://x/y", "--stream", "s", "--batch", "0"], 2, "--batch"),
        (&["--database", "postgres://x/y", "--stream", "s", "--redis", "x"], 2, "--redis"),
    ] {
        let ended = run(&[&["orders"], words].concat());
        let errors = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!((ended.status.code(), errors.contains(said)), (Some(code), true), "{errors}");
    }
}
