//! redis.conf.example starts a server unchanged, except for paths and the port. Its users may run
//! the commands that they need and no others. `make clients` tries it with real client libraries.

use std::process::{Command, Output, Stdio};

use crate::support::conf_example::{has_more, login, options};
use crate::support::server::module_path;
use crate::support::{wait_until, Conn, Server};

/// A server with the example's settings and users, started as Debian's service does.
pub fn start() -> Server {
    options().start()
}

/// Checks that permissions refuse each of these calls.
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

/// Starts the server as a SysV script or a container does: the start returns, and the pid file has
/// the server's process id.
#[test]
fn it_goes_into_the_background() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/redis.conf.example");
    let text = std::fs::read_to_string(example).expect("the example");
    let text = text
        .replace("/usr/lib/redis/modules/libseckill.so", &module_path().display().to_string())
        .replace("dir /var/lib/redis", &format!("dir {}", folder.path().display()))
        .replace("/run/redis/redis-server.pid", &path("pid"))
        .replace("/var/log/redis/redis-server.log", &path("log"))
        .replace("\nport 6379\n", &format!("\nport 0\nunixsocket {}\n", path("socket")));
    std::fs::write(path("redis.conf"), text).expect("a copy");
    let mut starts = Command::new(seckill_harness::program::server_program());
    let mut starts =
        starts.arg(path("redis.conf")).stdout(Stdio::null()).spawn().expect("it starts");
    wait_until("it comes back", || starts.try_wait().expect("its state").is_some());
    assert!(starts.wait().expect("its end").success());
    let pid = || std::fs::read_to_string(path("pid")).unwrap_or_default().trim().to_owned();
    wait_until("its process is named", || !pid().is_empty());
    let log = || std::fs::read_to_string(path("log")).unwrap_or_default();
    wait_until("it is ready", || log().contains("eady to accept connections"));
    let ended = Command::new("kill").arg(pid()).status().expect("kill runs");
    assert!(ended.success());
    wait_until("it has ended", || !std::path::Path::new(&path("pid")).exists());
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
            "SECKILL.WINNERS sale:1 0",
            "DEL sale:1",
            "EXPIRE sale:1 1",
            "ACL WHOAMI",
            "MODULE LIST",
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
    assert_done(&mut operator, &["CONFIG GET maxmemory", "BGREWRITEAOF", "CLIENT SETNAME desk"]);
    assert_refused(&mut operator, &["SECKILL.GRAB sale:1 bob", "FLUSHALL", "CONFIG SET dir /"]);
    assert_eq!(operator.call("DEL sale:1"), "1");
}

/// Checks that none of these calls is an error.
#[track_caller]
fn assert_done(conn: &mut Conn, lines: &[&str]) {
    for line in lines {
        let reply = conn.cmd(line);
        assert!(!reply.is_error(), "{line}: {reply}");
    }
}

/// User reader reads entries, settles and repairs; user operator maintains the stream.
#[test]
fn the_reader_reads_and_repairs() {
    let server = start();
    let (mut shop, mut reader) = (login(&server, "shop"), login(&server, "reader"));
    let mut operator = login(&server, "operator");
    assert_eq!(operator.call("SECKILL.INIT sale:1 9 HOLD 900000 OUTBOX sale:1:orders"), "+OK");
    assert_done(
        &mut reader,
        &["XGROUP CREATE sale:1:orders db 0 MKSTREAM", "TIME", "INFO", "CLIENT SETNAME reader"],
    );
    for user in ["a", "b", "c"] {
        assert_done(&mut shop, &[&format!("SECKILL.GRAB sale:1 {user} REQ o-{user}")]);
    }
    let read = reader.cmd("XREADGROUP GROUP db one COUNT 100 STREAMS sale:1:orders >");
    let entries = read.items()[0].items()[1].items();
    assert_eq!(entries.len(), 4, "INIT and three grants: {read}");
    let first = entries[0].items()[0].text();
    assert_eq!(reader.call(&format!("XACK sale:1:orders db {first}")), "1");
    assert_done(
        &mut reader,
        &[
            "XAUTOCLAIM sale:1:orders db two 0 0",
            "XPENDING sale:1:orders db",
            "XINFO GROUPS sale:1:orders",
            "XTRIM sale:1:orders MAXLEN 1000",
            "SECKILL.EXTEND sale:1 a 900000 REQ o-a",
            "SECKILL.CONFIRM sale:1 a REQ o-a",
            "SECKILL.REFUND sale:1 a REQ o-a",
            "SECKILL.CANCEL sale:1 b REQ o-b",
            "SECKILL.IMPORT sale:1 d 1 REQ o-d AT 1795241037000",
            "SECKILL.STATUS sale:1",
            "SECKILL.WINNERS sale:1 0 STATE ALL",
        ],
    );
    let refused = [
        "SECKILL.GRAB sale:1 x",
        "SECKILL.INIT sale:2 1",
        "SECKILL.PAUSE sale:1",
        "XREADGROUP GROUP db one STREAMS other:orders >",
        "XADD sale:1:orders * a b",
        "DEL sale:1:orders",
    ];
    assert_refused(&mut reader, &refused);
    assert_done(
        &mut operator,
        &[
            "XPENDING sale:1:orders db",
            "XINFO STREAM sale:1:orders",
            "XTRIM sale:1:orders MAXLEN 9",
        ],
    );
}

/// Commands that client libraries send at connect, and the shop's WAIT.
#[test]
fn libraries_may_introduce_themselves() {
    let server = start();
    let has_more = has_more(&mut login(&server, "admin"));
    for user in ["shop", "reader", "operator", "monitoring"] {
        let mut conn = login(&server, user);
        assert_done(&mut conn, &["CLIENT SETNAME app-1", "INFO", "PING", "SELECT 0"]);
        if has_more {
            assert_done(&mut conn, &["CLIENT SETINFO LIB-NAME library"]);
        }
        assert_refused(&mut conn, &["CLIENT LIST", "CLIENT NO-EVICT on"]);
    }
    if has_more {
        assert_done(&mut login(&server, "shop"), &["WAITAOF 1 0 9000"]);
    }
}

/// The advice for a crash: redis-cli with a user name, -e, and a password in its environment.
#[test]
fn redis_cli_rewrites_the_log_as_the_operator() {
    let server = start();
    let rewrite = |password: &str| -> Output {
        Command::new("redis-cli")
            .args(["-p", &server.port().to_string()])
            .args(["-e", "--user", "operator", "BGREWRITEAOF"])
            .env("REDISCLI_AUTH", password)
            .stdin(Stdio::null())
            .output()
            .expect("redis-cli runs")
    };
    assert!(!rewrite("wrong").status.success(), "a refusal shows");
    let before = server.log().matches("Background AOF rewrite finished successfully").count();
    let done = rewrite("change-me-operator");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    wait_until("the log is rewritten", || {
        server.log().matches("Background AOF rewrite finished successfully").count() > before
    });
}

#[test]
fn monitoring_looks_and_touches_nothing() {
    let server = start();
    let mut operator = login(&server, "operator");
    assert_eq!(operator.call("SECKILL.INIT sale:1 2 OUTBOX sale:1:orders"), "+OK");
    let mut monitoring = login(&server, "monitoring");
    let looks = ["INFO", "INFO seckill", "SECKILL.STATUS sale:1", "SLOWLOG GET", "LATENCY LATEST"];
    assert_done(&mut monitoring, &looks);
    assert_done(&mut monitoring, &["XLEN sale:1:orders", "XINFO GROUPS sale:1:orders"]);
    assert_refused(&mut monitoring, &["XRANGE sale:1:orders - +", "XINFO STREAM sale:1:orders"]);
    assert_done(&mut monitoring, &["SCAN 0", "CLIENT SETNAME dashboard"]);
    let refused =
        ["SECKILL.GRAB sale:1 u", "SECKILL.PAUSE sale:1", "SECKILL.INIT sale:2 1", "DEL sale:1"];
    assert_refused(&mut monitoring, &refused);
    // PSUBSCRIBE needs a pattern of the file. SUBSCRIBE needs a channel that matches one.
    for (listen, channel) in [
        ("PSUBSCRIBE", "__keyevent@*__:*"),
        ("PSUBSCRIBE", "__keyevent@*__:seckill.*"),
        ("PSUBSCRIBE", "__keyevent@0__:*"),
        ("PSUBSCRIBE", "__keyevent@0__:seckill.*"),
        ("SUBSCRIBE", "__keyevent@0__:seckill.soldout"),
    ] {
        for user in ["monitoring", "operator"] {
            let reply = login(&server, user).call(&format!("{listen} {channel}"));
            assert_eq!(reply, format!("['{}' '{channel}' 1]", listen.to_lowercase()), "{user}");
        }
    }
    assert_refused(&mut monitoring, &["PSUBSCRIBE *", "SUBSCRIBE orders"]);
    // Grants are events on a channel that user monitoring may read.
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
