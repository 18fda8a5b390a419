//! Runs the sessions in tests/sessions. A line is a call and its reply, `CALL -> REPLY`, in the
//! notation of [`Reply::is`]. `CALL .name -> VALUE` compares one field, and `CALL ~> REPLY` repeats
//! the call until the reply matches. Each session has its own server, and at its end AUDIT checks
//! all sales.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use crate::support::{wait_until, Conn, Reply, Server};

/// Sessions that run at once: each waits for its server most of the time.
const AT_ONCE: usize = 4;

#[test]
fn every_session_is_answered_as_it_is_written() {
    let mut files = Vec::new();
    collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sessions"), &mut files);
    assert!(files.len() > 20, "they are found");
    thread::scope(|scope| {
        for some in files.chunks(files.len().div_ceil(AT_ONCE)) {
            scope.spawn(move || some.iter().for_each(|file| play(file)));
        }
    });
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).expect("a folder").map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}

fn play(file: &Path) {
    let (name, text) = (file.display(), fs::read_to_string(file).expect("text"));
    let (server, mut conn) = Server::start().with_conn();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
        let place = format!("{name}:{}: {line}", at + 1);
        if let Some((call, expected)) = line.split_once(" ~> ") {
            wait_until(&place, || ask(&mut conn, call).is(expected));
            continue;
        }
        let (call, expected) = line.split_once(" -> ").expect(&place);
        let reply = ask(&mut conn, call);
        assert!(reply.is(expected), "{place}\nbut it is {reply}");
    }
    for key in conn.cmd("KEYS *").items() {
        if server.call(&format!("TYPE {}", key.text())) == "+flashsale" {
            server.assert_sound(&key.text());
        }
    }
}

fn ask(conn: &mut Conn, call: &str) -> Reply {
    let (call, path) = call.split_once(" .").unwrap_or((call, ""));
    let names = path.split('.').filter(|name| !name.is_empty());
    names.fold(conn.cmd(call), |reply, name| reply.field(name))
}
