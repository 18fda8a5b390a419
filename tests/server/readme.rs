//! Replays the sessions of the README and of docs with redis-cli and compares every line. Only
//! times, random draws, and text that a page replaces by `…` may differ. After a line that begins
//! with #, time passes: the next command is repeated until its reply is the shown one. Blocks of
//! the language `redis` are for pasting: none of their lines may be an error.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{skip, Options, Server};

const PROMPT: &str = "127.0.0.1:6390> ";
const TIME_DIGITS: usize = 13;
const ID_DIGITS: usize = 16;
/// The beginning of a block for pasting.
const PASTED: &str = "redis\n";
/// Draws whose amounts are random.
const RANDOM: [&str; 2] = ["DRAW PACKETS", "DRAW UNIFORM"];
/// Rounds take minutes: these sessions are replayed up to the first line that begins with #.
const ROUNDS: &str = " EVERY ";
const NUMBER: &str = "(integer) ";

/// A file that people read.
struct Page {
    path: PathBuf,
    text: String,
}

impl Page {
    /// The page's path, from the root of the repository.
    fn name(&self) -> String {
        let name = self.path.strip_prefix(env!("CARGO_MANIFEST_DIR")).expect("ours");
        name.to_string_lossy().into_owned()
    }
}

/// The READMEs and all pages of docs, in both languages.
fn pages() -> Vec<Page> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = |folder: &str| fs::read_dir(root.join(folder)).expect("docs");
    let docs = files("docs").chain(files("docs/zh")).map(|file| file.unwrap().path());
    let pages = docs.filter(|path| path.extension().is_some_and(|ext| ext == "md"));
    let others = ["README.md", "README.zh-CN.md", "ARCHITECTURE.md", "CONTRIBUTING.md"];
    let paths = pages.chain(others.map(|name| root.join(name)));
    let read = |path: PathBuf| Page { text: fs::read_to_string(&path).expect("text"), path };
    paths.map(read).collect()
}

/// A call of a session.
struct Call<'p> {
    command: &'p str,
    /// The lines of its reply; `None` if the page shows none.
    reply: Option<String>,
    /// Whether time passes before the call.
    is_later: bool,
}

/// The calls of one session.
struct Session<'p> {
    calls: Vec<Call<'p>>,
    is_random: bool,
}

/// Timeout for a reply after time passes.
const LATER: Duration = Duration::from_secs(20);

/// Every block of a page with a prompt, and every block for pasting.
fn sessions(page: &str) -> Vec<Session<'_>> {
    let blocks = page.split("```").skip(1).step_by(2);
    let shown = blocks.map(|block| Session {
        calls: calls(block),
        is_random: RANDOM.iter().any(|draw| block.contains(draw)),
    });
    shown.filter(|session| !session.calls.is_empty()).collect()
}

fn calls(block: &str) -> Vec<Call<'_>> {
    let call = |command, reply, is_later| Call { command, reply, is_later };
    if let Some(lines) = block.strip_prefix(PASTED) {
        return lines.lines().map(|line| call(line, None, false)).collect();
    }
    let mut calls: Vec<Call<'_>> = Vec::new();
    let mut is_later = false;
    for line in block.lines() {
        if line.starts_with('#') {
            if block.contains(ROUNDS) {
                break;
            }
            is_later = true;
        } else if let Some(command) = line.strip_prefix(PROMPT) {
            calls.push(call(command, Some(String::new()), std::mem::take(&mut is_later)));
        } else if let Some(Call { reply: Some(reply), .. }) = calls.last_mut() {
            reply.push_str(line);
            reply.push('\n');
        }
    }
    calls
}

/// Replaces numbers as long as a time by TIME, and ids of sales by ID. In a session with random
/// draws all integers become N.
fn without_chance(text: &str, is_random: bool) -> String {
    let line = |line: &str| match line.rsplit_once(NUMBER) {
        Some((before, _)) if is_random => format!("{before}{NUMBER}N\n"),
        _ => format!("{}\n", masked(line)),
    };
    text.lines().map(line).collect()
}

fn masked(line: &str) -> String {
    let mut words: Vec<String> = vec![String::new()];
    for letter in line.chars() {
        if !letter.is_ascii_alphanumeric() {
            words.extend([letter.to_string(), String::new()]);
        } else if let Some(word) = words.last_mut() {
            word.push(letter);
        }
    }
    let is_time = |w: &str| w.len() == TIME_DIGITS && w.bytes().all(|b| b.is_ascii_digit());
    let is_id = |w: &str| w.len() == ID_DIGITS && w.bytes().all(|b| b.is_ascii_hexdigit());
    let mask = |word: String| match word.as_str() {
        word if is_time(word) => "TIME".to_owned(),
        word if is_id(word) => "ID".to_owned(),
        _ => word,
    };
    words.into_iter().map(mask).collect()
}

/// Replaces each reply line that matches a line of the page by that line.
fn without_what_is_left_out(found: &str, written: &str) -> String {
    let mut written = written.lines();
    let lines = found.lines().map(|line| match written.next() {
        Some(shown) if fits(line, shown) => format!("{shown}\n"),
        _ => format!("{line}\n"),
    });
    lines.collect()
}

/// Whether the line contains the pieces around each `…` of `shown`, in order.
fn fits(line: &str, shown: &str) -> bool {
    let mut pieces = shown.split('…');
    let (Some(first), Some(last)) = (pieces.next(), pieces.next_back()) else { return false };
    let rest = line.strip_prefix(first).and_then(|rest| rest.strip_suffix(last));
    let rest = pieces.try_fold(rest, |rest, piece| Some(rest?.split_once(piece).map(|it| it.1)));
    rest.flatten().is_some()
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
fn every_session_is_what_redis_cli_shows() {
    let mut replayed = Vec::new();
    for page in pages() {
        let sessions = sessions(&page.text);
        if sessions.is_empty() {
            continue;
        }
        let path = &page.path;
        let server = Options::new().line("appendonly yes").start();
        for Session { calls, is_random } in sessions {
            for Call { command, reply, is_later } in calls {
                let Some(reply) = reply else {
                    assert_pasted(&server, command, path);
                    continue;
                };
                let written = without_chance(&reply, is_random);
                let shown = || {
                    let found = without_chance(&redis_cli(&server, command), is_random);
                    without_what_is_left_out(&found, &written)
                };
                let end = Instant::now() + if is_later { LATER } else { Duration::ZERO };
                let mut found = shown();
                while found != written && Instant::now() < end {
                    found = shown();
                }
                assert_eq!(found, written, "{command} in {}", path.display());
            }
        }
        replayed.push(page.name());
    }
    let docs = [
        "start",
        "commands",
        "red-packets",
        "admission",
        "failover",
        "outbox",
        "migrate-more",
        "faq",
        "holds",
    ];
    let english = docs.map(|page| format!("docs/{page}.md"));
    let chinese = docs.map(|page| format!("docs/zh/{page}.md"));
    let both = ["README.md", "README.zh-CN.md"].map(str::to_owned);
    for page in english.into_iter().chain(chinese).chain(both) {
        assert!(replayed.contains(&page), "{page} has no session");
    }
}

/// Checks that a pasted line is no error. Commands of newer servers are skipped on older ones.
#[track_caller]
fn assert_pasted(server: &Server, command: &str, path: &Path) {
    let shown = redis_cli(server, command);
    let name = command.split(' ').next().unwrap_or_default();
    if name == "WAITAOF" && shown.starts_with("(error) ERR unknown command") {
        skip(&format!("this server does not know {command}"));
        return;
    }
    assert!(!shown.starts_with("(error)"), "{command} in {}: {shown}", path.display());
}

/// No command stands in a block of another language, and no command has a comment after it.
#[test]
fn what_can_be_pasted_is_marked() {
    for Page { path, text } in pages() {
        if path.ends_with("commands.md") {
            continue;
        }
        let path = path.display();
        for block in text.split("```").skip(1).step_by(2) {
            let (language, lines) = block.split_once('\n').unwrap_or_default();
            let is_command = |line: &str| language == "redis" || line.starts_with("SECKILL.");
            for line in lines.lines().filter(|line| is_command(line)) {
                assert_eq!(language, "redis", "{line} in {path}");
                assert!(!line.contains(" #") && !line.contains("  "), "{line} in {path}");
            }
        }
    }
}

#[test]
fn linked_files_exist() {
    for Page { path, text } in pages() {
        let folder = path.parent().expect("a folder");
        for part in text.split("](").skip(1) {
            let target = part.split([')', '#']).next().unwrap_or_default();
            let elsewhere = target.starts_with("http");
            assert!(elsewhere || folder.join(target).exists(), "{target} in {}", path.display());
        }
    }
}

/// Each path between backticks that begins with a folder of this repository exists.
#[test]
fn named_files_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for Page { path, text } in pages() {
        for name in text.split('`').skip(1).step_by(2) {
            let is_ours = ["src/", "domain/", "tests/", "tools/", "docs/"];
            let is_path = is_ours.iter().any(|folder| name.starts_with(folder));
            if is_path && !name.contains([' ', '{', '*', '\n']) {
                assert!(root.join(name).exists(), "{name} in {}", path.display());
            }
        }
    }
}
