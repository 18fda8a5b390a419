//! The server that a reader trusts while Sentinels, or nodes of a cluster, still name a former
//! primary. The tests play the Sentinels and nodes, so that a test chooses how long they name it.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::sync::{mpsc, Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use redis::Connection;
use seckill_harness::program::Server;
use seckill_harness::server::module_path;
use seckill_harness::wait_until;

use super::killed::ask;
use crate::program::seckill;

const KEY: &str = "{sale:judge}";
const STREAM: &str = "{sale:judge}:orders";

/// A primary as witnesses name it.
#[derive(Clone)]
struct Named {
    port: u16,
    id: String,
}

/// The primary that a witness names for this time after its first question, and the primary that it
/// names then.
type Says = (Duration, Named, Named);

/// A fake witness: answers commands on one thread for each connection, until the test ends.
struct Witness {
    port: u16,
}

impl Witness {
    fn start(answer: impl Fn(u16, &[String]) -> String + Send + Sync + 'static) -> Witness {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("its number").port();
        let answer = Arc::new(answer);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let answer = Arc::clone(&answer);
                thread::spawn(move || serve(stream, |words| answer(port, words)));
            }
        });
        Witness { port }
    }

    /// A Sentinel.
    fn sentinel(says: Says) -> Witness {
        let first = OnceLock::new();
        Witness::start(move |_, words| match words[0].to_uppercase().as_str() {
            "SENTINEL" => {
                let Named { port, id } = named(&says, &first);
                let port = port.to_string();
                let fields = ["ip", "127.0.0.1", "port", &port, "runid", &id, "flags", "master"];
                format!("*8\r\n{}", fields.map(bulk).concat())
            }
            _ => "+OK\r\n".to_owned(),
        })
    }

    /// A node of a cluster that has the first slots. The named primary has all other slots.
    fn node(says: Says) -> Witness {
        let first = OnceLock::new();
        Witness::start(move |own, words| {
            let second = words.get(1).map(|word| word.to_uppercase()).unwrap_or_default();
            match (words[0].to_uppercase().as_str(), second.as_str()) {
                ("INFO", _) => bulk("redis_mode:cluster\r\nrole:master\r\n"),
                ("CLUSTER", "KEYSLOT") => ":16000\r\n".to_owned(),
                ("CLUSTER", "SLOTS") => {
                    let Named { port, id } = named(&says, &first);
                    format!("*2\r\n{}{}", range(0, 99, own, "own"), range(100, 16_383, port, &id))
                }
                _ => "+OK\r\n".to_owned(),
            }
        })
    }
}

fn named((during, before, after): &Says, first: &OnceLock<Instant>) -> Named {
    match first.get_or_init(Instant::now).elapsed() < *during {
        true => before.clone(),
        false => after.clone(),
    }
}

fn bulk(word: &str) -> String {
    format!("${}\r\n{word}\r\n", word.len())
}

fn range(from: u16, to: u16, port: u16, id: &str) -> String {
    format!("*3\r\n:{from}\r\n:{to}\r\n*3\r\n{}:{port}\r\n{}", bulk("127.0.0.1"), bulk(id))
}

/// Reads commands until the client closes the connection.
fn serve(stream: TcpStream, answer: impl Fn(&[String]) -> String) {
    let Ok(mut to) = stream.try_clone() else { return };
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    while let Some(head) = lines.next() {
        let count = head.trim_start_matches('*').parse().unwrap_or(0);
        // Before each word stands its length.
        let words: Vec<String> =
            (0..count).filter_map(|_| lines.next().and_then(|_| lines.next())).collect();
        if words.is_empty() || to.write_all(answer(&words).as_bytes()).is_err() {
            return;
        }
    }
}

/// A server with a sale, whose only grant has this user.
#[track_caller]
fn sells(settings: &[&str], user: &str) -> (Server, Connection) {
    let server = Server::start(&module_path(), settings).expect("Redis");
    let mut redis = server.connect().expect("a connection");
    if !settings.is_empty() {
        ask(&mut redis, "CLUSTER ADDSLOTSRANGE 0 16383");
        wait_until("it is up", || {
            let info: String = redis::cmd("CLUSTER").arg("INFO").query(&mut redis).expect("INFO");
            info.contains("cluster_state:ok")
        });
    }
    ask(&mut redis, &format!("SECKILL.INIT {KEY} 9 OUTBOX {STREAM}"));
    ask(&mut redis, &format!("SECKILL.GRAB {KEY} {user} REQ r"));
    (server, redis)
}

fn by_run_id((server, redis): &mut (Server, Connection)) -> Named {
    let info: String = redis::cmd("INFO").arg("server").query(redis).expect("INFO");
    let id = info.lines().find_map(|line| line.strip_prefix("run_id:")).expect("an id");
    Named { port: server.port(), id: id.to_owned() }
}

/// Runs a reader until it has printed a grant, and returns the users of the printed grants.
#[track_caller]
fn told(words: &[&str]) -> Vec<String> {
    let mut program = seckill(&["orders", "--to", "stdout", "--stream", STREAM, "--name", "w"]);
    program.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = program.spawn().expect("it starts");
    let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    let (sender, receiver) = mpsc::channel();
    let reader = thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            let entry: serde_json::Value = serde_json::from_str(&line).expect("JSON");
            if let Some(user) = entry["user"].as_str().filter(|_| entry["event"] == "GRANT") {
                sender.send(user.to_owned()).expect("it listens");
            }
        }
    });
    let mut users = Vec::new();
    wait_until("a grant is told", || {
        users.extend(receiver.try_recv());
        !users.is_empty()
    });
    child.kill().expect("it ends");
    child.wait().expect("its end");
    reader.join().expect("its end");
    users.extend(receiver.try_iter());
    users
}

/// The users whose grants a reader with these Sentinels prints.
#[track_caller]
fn told_by_sentinels(says: [Says; 3]) -> Vec<String> {
    let trio = says.map(Witness::sentinel);
    let addresses = trio.map(|one| format!("127.0.0.1:{}", one.port)).join(",");
    told(&["--sentinel", &addresses])
}

/// For 1.5 s all Sentinels name the old primary, as real ones do until they know of a failover.
#[test]
fn who_is_named_for_a_moment_is_not_believed() {
    let (mut old, mut new) = (sells(&[], "stale"), sells(&[], "true"));
    let says = (Duration::from_millis(1_500), by_run_id(&mut old), by_run_id(&mut new));
    let users = told_by_sentinels([says.clone(), says.clone(), says]);
    assert_eq!(users, ["true"]);
}

/// For 5 s two Sentinels name the old primary and one names the new one.
#[test]
fn nobody_is_believed_while_they_do_not_agree() {
    let (mut old, mut new) = (sells(&[], "stale"), sells(&[], "true"));
    let (old, new) = (by_run_id(&mut old), by_run_id(&mut new));
    let late = (Duration::from_secs(5), old, new.clone());
    let users = told_by_sentinels([(Duration::ZERO, new.clone(), new), late.clone(), late]);
    assert_eq!(users, ["true"]);
}

/// Another process than the Sentinels know: the server was restarted at its address.
#[test]
fn another_process_at_the_address_that_is_named_is_not_believed() {
    let (mut old, mut new) = (sells(&[], "stale"), sells(&[], "true"));
    let (before, new) = (by_run_id(&mut old), by_run_id(&mut new));
    let restarted = Named { id: "0".repeat(40), ..before };
    let says = (Duration::from_secs(4), restarted, new);
    let users = told_by_sentinels([says.clone(), says.clone(), says]);
    assert_eq!(users, ["true"]);
}

/// A former primary reports itself as the primary until other nodes reach it; they also name it for
/// 1.5 s.
#[test]
fn a_node_that_was_the_primary_is_not_believed() {
    let cluster = ["--cluster-enabled", "yes"];
    let by_node = |(server, redis): &mut (Server, Connection)| {
        let id = redis::cmd("CLUSTER").arg("MYID").query(redis).expect("an id");
        Named { port: server.port(), id }
    };
    let (mut old, mut new) = (sells(&cluster, "stale"), sells(&cluster, "true"));
    let says = (Duration::from_millis(1_500), by_node(&mut old), by_node(&mut new));
    let node = Witness::node(says);
    let users = told(&["--redis", &format!("redis://127.0.0.1:{}/", node.port)]);
    assert_eq!(users, ["true"]);
}
