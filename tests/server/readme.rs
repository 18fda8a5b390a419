//! The README's session is real: it is replayed with redis-cli and every line is compared. Only
//! times differ from day to day.

use std::process::{Command, Stdio};

use crate::support::{Options, Server};

const README: &str = include_str!("../../README.md");
const PROMPT: &str = "127.0.0.1:6390> ";
const TIME_DIGITS: usize = 13;

/// The commands of the session, each with the lines below it.
fn session() -> Vec<(&'static str, String)> {
    let mut calls: Vec<(&str, String)> = Vec::new();
    for line in README.lines() {
        if let Some(command) = line.strip_prefix(PROMPT) {
            calls.push((command, String::new()));
        } else if line == "```" {
            if !calls.is_empty() {
                return calls;
            }
        } else if let Some((_, reply)) = calls.last_mut() {
            reply.push_str(line);
            reply.push('\n');
        }
    }
    calls
}

/// Numbers as long as a time become the word TIME.
fn without_times(text: &str) -> String {
    let is_time =
        |word: &str| word.len() == TIME_DIGITS && word.bytes().all(|b| b.is_ascii_digit());
    let masked = |word| if is_time(word) { "TIME" } else { word };
    text.split(' ')
        .map(|part| part.split('\n').map(masked).collect::<Vec<_>>().join("\n"))
        .collect::<Vec<_>>()
        .join(" ")
}

fn redis_cli(server: &Server, command: &str) -> String {
    let output = Command::new("redis-cli")
        .args(["-p", &server.port().to_string(), "--no-raw"])
        .args(command.split(' '))
        .stdin(Stdio::null())
        .output()
        .expect("redis-cli runs");
    String::from_utf8(output.stdout).expect("redis-cli prints text")
}

#[test]
fn the_session_is_what_redis_cli_shows() {
    let server = Options::new().start();
    let calls = session();
    assert!(calls.len() > 5, "the README has no session");
    for (command, reply) in calls {
        assert_eq!(without_times(&redis_cli(&server, command)), without_times(&reply), "{command}");
    }
}

#[test]
fn linked_files_exist() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    for part in README.split("](").skip(1) {
        let target = part.split(')').next().unwrap_or_default();
        assert!(root.join(target).exists(), "{target}");
    }
}
