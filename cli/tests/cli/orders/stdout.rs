//! Lines of JSON on standard output, acknowledged by their numbers.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use redis::Value;
use seckill_harness::wait_until;

use super::killed::ask;
use crate::program::seckill;
use seckill_harness::program::Server;
use seckill_harness::server::module_path;

const KEY: &str = "sale:out";
const STREAM: &str = "sale:out:orders";

struct Lines {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
}

impl Lines {
    fn start(server: &Server) -> Lines {
        let mut program = seckill(&["orders", "--redis", &server.url(), "--to", "stdout"]);
        program.args(["--stream", STREAM, "--name", "w", "--batch", "4"]);
        program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = program.spawn().expect("it starts");
        let (to, from) = (child.stdin.take(), child.stdout.take().expect("its output"));
        Lines { child, to, from: BufReader::new(from) }
    }

    fn next(&mut self) -> serde_json::Value {
        let mut line = String::new();
        self.from.read_line(&mut line).expect("a line");
        serde_json::from_str(&line).expect("JSON")
    }

    fn acknowledge(&mut self, line: &serde_json::Value) {
        writeln!(self.to.as_mut().expect("its input"), "{}", line["line"]).expect("it listens");
    }
}

fn pending(redis: &mut redis::Connection) -> i64 {
    match ask(redis, &format!("XPENDING {STREAM} stdout")) {
        Value::Array(summary) => match summary.first() {
            Some(Value::Int(count)) => *count,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

/// Entries that were trimmed too early may be missing where the lines go. Each is told, whoever had
/// read it.
#[test]
fn a_deleted_entry_is_told() {
    let server = Server::start(&module_path(), &[]).expect("Redis");
    let mut redis = server.connect().expect("a connection");
    ask(&mut redis, &format!("SECKILL.INIT {KEY} 9 OUTBOX {STREAM}"));
    ask(&mut redis, &format!("SECKILL.GRAB {KEY} u"));
    ask(&mut redis, &format!("XGROUP CREATE {STREAM} stdout 0"));
    for reader in ["w", "dead"] {
        ask(&mut redis, &format!("XREADGROUP GROUP stdout {reader} COUNT 1 STREAMS {STREAM} >"));
    }
    let entries: Vec<(String, Value)> =
        redis::from_redis_value(ask(&mut redis, &format!("XRANGE {STREAM} - +"))).expect("entries");
    ask(&mut redis, &format!("XTRIM {STREAM} MAXLEN 0"));
    let mut lines = Lines::start(&server);
    wait_until("none is pending", || pending(&mut redis) == 0);
    drop(lines.to.take());
    let output = lines.child.wait_with_output().expect("its end");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    for (id, _) in entries {
        assert!(told.contains(&format!("{STREAM}: {id} was deleted before")), "{told}");
    }
}

/// There are seven entries. The first four are printed, and two of them are acknowledged in reverse
/// order. Then the input ends, and the next reader prints all entries that are not acknowledged.
#[test]
fn an_entry_is_acknowledged_when_the_number_of_its_line_comes_back() {
    let server = Server::start(&module_path(), &[]).expect("Redis");
    let mut redis = server.connect().expect("a connection");
    ask(&mut redis, &format!("SECKILL.INIT {KEY} 9 OUTBOX {STREAM}"));
    for user in 1..=6 {
        ask(&mut redis, &format!("SECKILL.GRAB {KEY} u{user} REQ r{user}"));
    }
    let mut first = Lines::start(&server);
    let lines: Vec<serde_json::Value> = (0..4).map(|_| first.next()).collect();
    assert_eq!((&lines[0]["event"], &lines[3]["event"]), (&"INIT".into(), &"GRANT".into()));
    assert_eq!((&lines[3]["user"], &lines[3]["data"]["rev"]), (&"u3".into(), &4.into()));
    assert_eq!(pending(&mut redis), 4);
    first.acknowledge(&lines[2]);
    first.acknowledge(&lines[0]);
    wait_until("two are acknowledged", || pending(&mut redis) == 2);
    drop(first.to.take());
    let ended = first.child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(ended.status.code() == Some(1) && said.contains("standard input has ended"), "{said}");
    let begins = format!("seckill orders: {STREAM} of {}", server.url());
    let begins = begins.replace("redis://", "").replace('/', "");
    let begins = format!("{begins} as default, into standard output, as w of group stdout\n");
    assert!(said.starts_with(&begins), "{said}");

    let mut second = Lines::start(&server);
    for rev in [2, 4, 5, 6, 7] {
        let line = second.next();
        assert_eq!(line["data"]["rev"], rev);
        second.acknowledge(&line);
    }
    wait_until("all are acknowledged", || pending(&mut redis) == 0);
    let pid = second.child.id().to_string();
    assert!(std::process::Command::new("kill").arg(&pid).status().expect("kill").success());
    assert_eq!(second.child.wait().expect("it ends").code(), Some(0));
}

/// A user name without a password is an error, and is not replaced by user default. A user without
/// a password can log in.
#[test]
fn a_user_without_a_password_logs_in_all_the_same() {
    let server = Server::start(&module_path(), &[]).expect("Redis");
    let mut redis = server.connect().expect("a connection");
    ask(&mut redis, "ACL SETUSER open on nopass ~* &* +@all");
    for (user, said) in [("nobody", "assword"), ("open", "there is no stream")] {
        let mut program = seckill(&["orders", "--redis", &server.url(), "--to", "stdout"]);
        program.args(["--stream", STREAM, "--redis-user", user]).stdin(Stdio::piped());
        let (status, text) = super::ended(program);
        assert!(status == Some(1) && text.contains(said), "{user}: {text}");
    }
}

/// A reader that begins with lines that were printed before and not acknowledged ends all the same.
#[test]
fn it_ends_while_lines_of_an_earlier_run_are_not_acknowledged() {
    let server = Server::start(&module_path(), &[]).expect("Redis");
    let mut redis = server.connect().expect("a connection");
    ask(&mut redis, &format!("SECKILL.INIT {KEY} 9 OUTBOX {STREAM}"));
    ask(&mut redis, &format!("SECKILL.GRAB {KEY} u REQ r"));
    let mut first = Lines::start(&server);
    assert_eq!(first.next()["data"]["rev"], 1);
    first.child.kill().expect("it is killed");
    first.child.wait().expect("it ends");
    let mut second = Lines::start(&server);
    assert_eq!(second.next()["data"]["rev"], 1);
    assert_eq!(second.next()["data"]["rev"], 2);
    let pid = second.child.id().to_string();
    assert!(std::process::Command::new("kill").arg(&pid).status().expect("kill").success());
    let mut status = None;
    wait_until("it ends", || {
        status = second.child.try_wait().expect("its state");
        status.is_some()
    });
    assert_eq!(status.and_then(|status| status.code()), Some(0));
    assert_eq!(pending(&mut redis), 2);
}
