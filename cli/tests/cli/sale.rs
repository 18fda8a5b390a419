//! Subcommands about one sale that is not split.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use seckill_harness::launch::free_port;
use seckill_harness::{conf_example, Options, Server};

use super::program::{run, seckill};

fn ask(server: &Server, words: &[&str]) -> Output {
    let url = format!("redis://127.0.0.1:{}/", server.port());
    run(&[&["--redis", &url], words].concat())
}

/// The output of a run that succeeds.
#[track_caller]
fn said(server: &Server, words: &[&str]) -> String {
    let ran = ask(server, words);
    assert!(ran.status.success(), "{words:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).expect("text")
}

/// The error message of a run that fails.
#[track_caller]
fn refused(server: &Server, words: &[&str]) -> String {
    let ran = ask(server, words);
    assert_eq!(ran.status.code(), Some(1), "{words:?}");
    String::from_utf8(ran.stderr).expect("text")
}

/// A sale with three sold grants, one of them of a user whose id is not UTF-8, and a cancelled one.
fn sold() -> Server {
    let server = Options::new().start();
    assert_eq!(server.call("SECKILL.INIT sale 3 HOLD 60000 OUTBOX sale:orders"), "+OK");
    let mut conn = server.conn();
    for user in [&b"a,b"[..], b"c", b"\xff\xfe"] {
        for (command, more) in [("GRAB", &["REQ", "r"][..]), ("CONFIRM", &[])] {
            let name = format!("SECKILL.{command}");
            let words: Vec<&[u8]> = [name.as_bytes(), b"sale", user]
                .into_iter()
                .chain(more.iter().map(|word| word.as_bytes()))
                .collect();
            assert!(!conn.ask(&words).is_error());
        }
    }
    server
}

#[test]
fn a_sale_is_shown() {
    let server = sold();
    let status = said(&server, &["status", "sale"]);
    assert!(status.contains("\nsold ") && status.contains("granted 3, "), "{status}");
    let json: serde_json::Value =
        serde_json::from_str(&said(&server, &["status", "sale", "--json"])).expect("one object");
    assert_eq!((&json["sold"], &json["counters"]["granted"]), (&3.into(), &3.into()));
    let table = said(&server, &["watch", "sale", "--times", "1"]);
    assert!(table.contains("soldout"), "{table}");
    let csv = said_lossy(&server, &["winners", "sale", "--csv"]);
    assert!(csv.starts_with("seq,user,qty,state,at,deadline,req,epoch,round,units\n"), "{csv}");
    assert!(csv.contains("\n1,\"a,b\",1,SOLD,"), "{csv}");
    assert_eq!(said(&server, &["winners", "sale", "--state", "HELD"]).lines().count(), 1);
    assert_eq!(
        said(&server, &["audit", "sale"]),
        "OK: 3 = 0 available + 0 held + 3 sold, counted from 3 grants\n"
    );
    for command in ["status", "audit", "winners", "watch"] {
        assert_eq!(refused(&server, &[command, "no"]), "seckill: there is no sale no\n");
    }
    assert_eq!(server.call("SET text x"), "+OK");
    assert!(refused(&server, &["status", "text"]).contains("text: WRONGTYPE"));
}

fn said_lossy(server: &Server, words: &[&str]) -> String {
    String::from_utf8_lossy(&ask(server, words).stdout).into_owned()
}

/// An archive has the whole sale: restored on another server and under another name it is equal.
#[test]
fn a_sale_that_is_over_is_archived_and_comes_back() {
    let server = sold();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("sale.jsonl");
    let file = file.to_str().expect("a path");
    let told = said(&server, &["export", "sale", file]);
    assert!(told.starts_with("sale: 3 grants and 9 entries are in "), "{told}");
    assert!(refused(&server, &["export", "sale", file]).contains("is there already"));
    let text = fs::read_to_string(file).expect("the file");
    assert_eq!(text.lines().count(), 1 + 3 + 9 + 1, "{text}");
    assert!(text.contains("\"user\":\"a,b\"") && text.contains("{\"base64\":\"//4=\"}"), "{text}");
    let other = Options::new().start();
    let told = said(&other, &["import", "kept", file]);
    assert!(told.starts_with("kept: 3 grants are back. OK: 3 = 0 available"), "{told}");
    let winners = |server: &Server, name: &str| ask(server, &["winners", name]).stdout;
    assert_eq!(winners(&other, "kept"), winners(&server, "sale"));
    assert!(refused(&other, &["import", "kept", file]).contains("there is a key with this name"));
    let lines: Vec<&str> = text.lines().collect();
    let cut = |from: usize, to: usize| {
        fs::write(folder.path().join("cut"), lines[from..to].join("\n")).expect("a file");
        let cut = folder.path().join("cut");
        refused(&other, &["import", "cut", cut.to_str().expect("a path")])
    };
    assert!(cut(0, 13).contains("is not whole"));
    assert!(cut(1, 14).contains("is no archive"));
    assert!(refused(&other, &["import", "cut", "/nothing"]).contains("can't be read"));
    assert!(refused(&other, &["status", "cut"]).contains("there is no sale"));
}

/// The unit numbers of a numbered sale are listed with each grant, and restored with it.
#[test]
fn numbers_are_shown_archived_and_come_back() {
    let server = Options::new().start();
    assert_eq!(server.call("SECKILL.INIT hall 9 NUMBERED LIMIT 4 OUTBOX hall:orders"), "+OK");
    assert!(!server.cmd("SECKILL.GRAB hall u UNITS 7 3 REQ r").is_error());
    assert!(!server.cmd("SECKILL.GRAB hall v UNITS 5 REQ r").is_error());
    assert!(!server.cmd("SECKILL.REFUND hall v").is_error());
    assert_eq!(server.call("SECKILL.PAUSE hall"), "+OK");
    assert!(said(&server, &["status", "hall"]).contains("\nnumbered "));
    let rows = said(&server, &["winners", "hall", "--state", "ALL", "--json"]);
    let rows: Vec<serde_json::Value> =
        rows.lines().map(|line| serde_json::from_str(line).expect("a row")).collect();
    let units: Vec<_> = rows.iter().map(|row| &row["units"]).collect();
    assert_eq!(units, [&serde_json::json!([3, 7]), &serde_json::json!([5])]);
    assert!(said(&server, &["winners", "hall"]).trim_end().ends_with(",3 7"));
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("hall.jsonl");
    let file = file.to_str().expect("a path");
    said(&server, &["export", "hall", file]);
    let text = fs::read_to_string(file).expect("the file");
    assert!(text.contains("\"units\":[3,7]") && text.contains("\"units\":[5]"), "{text}");
    let other = Options::new().start();
    let told = said(&other, &["import", "kept", file]);
    assert!(told.ends_with("from 2 grants with 2 numbers\n"), "{told}");
    assert_eq!(other.call("SECKILL.UNITS kept 1"), "'..s...s..'");
}

#[test]
fn a_sale_that_goes_on_is_not_archived() {
    let server = Options::new().start();
    assert_eq!(server.call("SECKILL.INIT sale 3 HOLD 60000"), "+OK");
    assert!(!server.cmd("SECKILL.GRAB sale u").is_error());
    assert_eq!(server.call("SECKILL.PAUSE sale"), "+OK");
    let told = refused(&server, &["export", "sale", "/nowhere/file"]);
    assert!(told.contains("sale is paused, 1 units are held"), "{told}");
    assert!(!server.cmd("SECKILL.CANCEL sale u").is_error());
    assert!(refused(&server, &["export", "sale", "/nowhere/file"]).contains("No such file"));
}

/// A wrong password ends the program. An unreachable server may come back, so the program says so
/// and waits for it.
#[test]
fn who_waits_is_told_for_what() {
    let server = Options::new().start();
    let url = |user: &str, port: u16| format!("redis://{user}127.0.0.1:{port}/");
    let begun = Instant::now();
    let ran = run(&["--redis", &url("nobody:wrong@", server.port()), "status", "sale"]);
    let told = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert_eq!(ran.status.code(), Some(1), "{told}");
    assert!(told.contains("it refuses this user and password (WRONGPASS)"), "{told}");
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());

    let away = free_port();
    let mut waiting = seckill(&["--redis", &url("", away), "status", "sale"])
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut told = String::new();
    BufReader::new(waiting.stderr.take().expect("stderr")).read_line(&mut told).expect("a line");
    let goes_on = waiting.try_wait().expect("its state").is_none();
    waiting.kill().expect("it ends");
    waiting.wait().expect("it has ended");
    let sentence =
        format!("no Redis at 127.0.0.1:{away}: nothing listens there; it is asked again");
    assert!(told.contains(&sentence) && goes_on, "{told}");
}

#[test]
fn a_wrong_server_is_a_sentence() {
    let bare = Options::of_program(None, &[""; 0]).run().expect("a server");
    let with_users = conf_example::options().start();
    let users = format!("redis://127.0.0.1:{}/", with_users.port());
    for (url, said) in [
        (bare.url(), "seckill: s: the node does not have the module seckill"),
        (users, "Give --redis-user and --redis-password-file"),
    ] {
        let ran = run(&["--redis", &url, "status", "s"]);
        let told = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(ran.status.code() == Some(1) && told.contains(said), "{told}");
    }
}

#[test]
fn a_wrong_address_is_a_sentence() {
    let ran = run(&["--redis", "me:secret@nonsense", "status", "sale"]);
    let told = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert_eq!(ran.status.code(), Some(2), "{told}");
    assert!(told.contains("redis://host:port/database") && !told.contains("secret"), "{told}");
}

/// The completion script completes commands and options in a shell.
#[test]
fn shells_can_complete_it() {
    for (shell, words) in [
        ("bash", &["complete -F _seckill", "--max-sales", "exporter"][..]),
        ("zsh", &["#compdef seckill", "--max-sales", "exporter"]),
        ("fish", &["complete -c seckill", "max-sales", "exporter"]),
    ] {
        let ran = seckill(&["completions", shell]).output().expect("it runs");
        let text = String::from_utf8(ran.stdout).expect("text");
        assert!(words.iter().all(|word| text.contains(word)), "{shell}: {text}");
    }
    let bash = seckill(&["completions", "bash"]).output().expect("it runs").stdout;
    let file = tempfile::NamedTempFile::new().expect("a file");
    fs::write(file.path(), bash).expect("the file");
    let script = format!(
        "source {}; COMP_WORDS=(seckill exp); COMP_CWORD=1; _seckill seckill exp seckill; \
         echo ${{COMPREPLY[@]}}",
        file.path().display()
    );
    let ran = std::process::Command::new("bash").args(["-c", &script]).output().expect("bash");
    let completed = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert_eq!(completed, "exporter export\n", "{}", String::from_utf8_lossy(&ran.stderr));
}

/// Two archives may differ behind the last dot only, and no other file is written to.
#[test]
fn an_archive_is_written_beside_no_other_file() {
    let server = sold();
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("a path").to_owned();
    fs::write(at("e.part"), "of somebody").expect("a file");
    said(&server, &["export", "sale", &at("e.a")]);
    assert_eq!(fs::read_to_string(at("e.part")).expect("the file"), "of somebody");
    assert!(!fs::exists(at("e.a.part")).expect("an answer"));
    fs::write(at("e.b.part"), "of another export").expect("a file");
    let told = refused(&server, &["export", "sale", &at("e.b")]);
    assert!(told.contains("e.b.part is there already"), "{told}");
    assert_eq!(fs::read_to_string(at("e.b.part")).expect("the file"), "of another export");
}
