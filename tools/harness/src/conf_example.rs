//! Starts servers from redis.conf.example.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::server::{Options, Server};
use super::{Conn, Reply};

/// Settings that depend on the machine: the harness replaces them.
const OF_THE_MACHINE: [&str; 7] = [
    "loadmodule /usr/lib/redis/modules/libseckill.so",
    "bind 127.0.0.1",
    "port 6379",
    "dir /var/lib/redis",
    "daemonize yes",
    "pidfile /run/redis/redis-server.pid",
    "logfile /var/log/redis/redis-server.log",
];

/// The text of the example. For servers with more commands than 7.0 it has the added line from its
/// own instructions.
#[track_caller]
pub fn text() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../redis.conf.example");
    let example = fs::read_to_string(&path).expect("the example");
    if !has_more(&mut Server::start().conn()) {
        return example;
    }
    let advice = example.lines().find_map(|line| line.strip_prefix("#     sed -i '"));
    let script = advice.and_then(|rest| rest.strip_suffix("' redis.conf")).expect("the line");
    let edited = Command::new("sed").arg(script).arg(path).output().expect("sed runs");
    String::from_utf8(edited.stdout).expect("text")
}

/// Whether a server has commands that the example's instructions add.
#[track_caller]
pub fn has_more(conn: &mut Conn) -> bool {
    conn.cmd("COMMAND INFO WAITAOF").items()[0] != Reply::Nil
}

/// Options of a server with the example's settings and users, started as Debian's service does.
#[track_caller]
pub fn options() -> Options {
    let example = text();
    let is_kept = |line: &&str| !OF_THE_MACHINE.contains(line);
    let removed = example.lines().filter(|line| !is_kept(line)).count();
    assert_eq!(removed, OF_THE_MACHINE.len(), "the example loads the module and says where");
    let kept: Vec<&str> = example.lines().filter(is_kept).collect();
    Options::new().base(&kept.join("\n")).service()
}

/// A connection that is logged in as one of the example's users.
#[track_caller]
pub fn login(server: &Server, user: &str) -> Conn {
    let mut conn = server.conn();
    assert_eq!(conn.call(&format!("AUTH {user} change-me-{user}")), "+OK");
    conn
}
