//! The example configuration starts a server as it is, but for paths and the port, and its users
//! may do what they are for and nothing else.

use crate::support::{wait_until, Conn, Options, Server};

/// Lines that a machine decides: they are replaced by the harness.
const OF_THE_MACHINE: [&str; 3] = ["loadmodule ", "bind ", "port "];

/// The example's settings and users.
pub fn options() -> Options {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/redis.conf.example");
    let example = std::fs::read_to_string(path).expect("the example");
    let is_kept = |line: &&str| !OF_THE_MACHINE.iter().any(|start| line.starts_with(start));
    let removed = example.lines().filter(|line| !is_kept(line)).count();
    assert_eq!(removed, OF_THE_MACHINE.len(), "the example loads the module and says where");
    let kept: Vec<&str> = example.lines().filter(is_kept).collect();
    Options::new().base(&kept.join("\n"))
}

/// A server with the example's settings and users.
pub fn start() -> Server {
    options().start()
}

/// A connection of one of the example's users.
pub fn login(server: &Server, user: &str) -> Conn {
    let mut conn = server.conn();
    assert_eq!(conn.call(&format!("AUTH {user} change-me-{user}")), "+OK");
    conn
}

/// Checks that permissions stop each of these calls.
#[track_caller]
pub fn assert_refused(conn: &mut Conn, lines: &[&str]) {
    for line in lines {
        let reply = conn.call(line);
        assert!(reply.starts_with("-NOPERM"), "{line}: {reply}");
    }
}

#[test]
fn nobody_is_let_in_without_a_name() {
    let server = start();
    let reply = server.call("SECKILL.STATUS sale:1");
    assert!(reply.starts_with("-NOAUTH"), "{reply}");
}

#[test]
fn the_shop_sells_and_the_operator_operates() {
    let server = start();
    let (mut shop, mut operator) = (login(&server, "shop"), login(&server, "operator"));
    operator.check(&[("SECKILL.INIT sale:1 2", "+OK")]);
    shop.check(&[
        ("PING", "+PONG"),
        ("SECKILL.GRAB sale:1 alice REQ o-1", "['GRANTED' 1 1 'SOLD' 0 1]"),
        ("SECKILL.GRAB sale:1 alice REQ o-1", "['REPLAY' 1 1 'SOLD' 0]"),
    ]);
    for line in ["SECKILL.STATUS sale:1", "SECKILL.USER sale:1 alice", "WAIT 0 0"] {
        assert!(!shop.cmd(line).is_error(), "{line}");
    }
    assert_refused(
        &mut shop,
        &[
            "SECKILL.INIT sale:2 1",
            "SECKILL.RESTOCK sale:1 1 REQ r",
            "SECKILL.PAUSE sale:1",
            "SECKILL.RESUME sale:1",
            "SECKILL.ALTER sale:1 LIMIT 9",
            "SECKILL.APPLY sale:1 2 gbob",
            "SECKILL.GRAB other:1 alice",
            "SECKILL.WINNERS sale:1 0",
            "DEL sale:1",
            "SET sale:1 x",
            "EXPIRE sale:1 1",
            "FLUSHALL",
            "FLUSHDB",
            "CONFIG GET maxmemory",
            "CONFIG SET maxmemory 1",
            "ACL WHOAMI",
            "MODULE LIST",
            "SHUTDOWN",
            "REPLICAOF NO ONE",
            "EVAL return 0",
            "KEYS *",
        ],
    );
    operator.check(&[
        ("SECKILL.RESTOCK sale:1 1 REQ r", "[1 2]"),
        ("SECKILL.PAUSE sale:1", "+OK"),
        ("SECKILL.RESUME sale:1", "+OK"),
        ("SECKILL.ALTER sale:1 LIMIT 2", "+OK"),
        ("TYPE sale:1", "+flashsale"),
    ]);
    assert!(!operator.cmd("SECKILL.WINNERS sale:1 0").is_error());
    let refused =
        ["SECKILL.APPLY sale:1 2 gbob", "SECKILL.GRAB sale:1 bob", "FLUSHALL", "CONFIG GET *"];
    assert_refused(&mut operator, &refused);
    assert_eq!(operator.call("DEL sale:1"), "1");
}

#[test]
fn monitoring_looks_and_touches_nothing() {
    let server = start();
    assert_eq!(login(&server, "operator").call("SECKILL.INIT sale:1 2"), "+OK");
    let mut monitoring = login(&server, "monitoring");
    for line in ["INFO", "INFO seckill", "SECKILL.STATUS sale:1", "SLOWLOG GET", "LATENCY LATEST"] {
        assert!(!monitoring.cmd(line).is_error(), "{line}");
    }
    let refused =
        ["SECKILL.GRAB sale:1 u", "SECKILL.PAUSE sale:1", "SECKILL.INIT sale:2 1", "DEL sale:1"];
    assert_refused(&mut monitoring, &refused);
    // Grants are events on a channel that monitoring may listen to.
    assert_eq!(monitoring.call("PSUBSCRIBE __keyevent@*"), "['psubscribe' '__keyevent@*' 1]");
    assert_eq!(login(&server, "shop").cmd("SECKILL.GRAB sale:1 u").items()[0].text(), "GRANTED");
    let event = monitoring.read().expect("an event").to_string();
    assert_eq!(event, "['pmessage' '__keyevent@*' '__keyevent@0__:seckill.grant' 'sale:1']");
}

#[test]
fn a_second_server_with_the_same_file_can_follow() {
    let (primary, replica) = (start(), start());
    assert_eq!(login(&primary, "operator").call("SECKILL.INIT sale:1 2"), "+OK");
    assert_eq!(login(&primary, "shop").cmd("SECKILL.GRAB sale:1 u").items()[0].text(), "GRANTED");
    let mut admin = login(&replica, "admin");
    assert_eq!(admin.call(&format!("REPLICAOF 127.0.0.1 {}", primary.port())), "+OK");
    wait_until("the sale arrives", || {
        let status = admin.cmd("SECKILL.STATUS sale:1");
        !status.is_error() && status.field("grants").int() == 1
    });
}

#[test]
fn grants_are_logged_and_never_evicted() {
    let server = start();
    let mut admin = login(&server, "admin");
    admin.check(&[
        ("CONFIG GET appendonly", "['appendonly' 'yes']"),
        ("CONFIG GET maxmemory-policy", "['maxmemory-policy' 'noeviction']"),
    ]);
    assert!(!server.log().contains("may evict a sale"), "no warning at load");
}
