//! A server with the example configuration loads its AOF with changes of every kind, after SIGKILL
//! and after a shutdown: single commands, and the remaining transactions.

use crate::support::conf_example::{login, options};
use crate::support::shop::{number, wait_for_clock};
use crate::support::{wait_until, Conn, Options, Server};

/// Sales that must be there after a restart, followed by the keys of streams.
const SALES: [&str; 12] = [
    "sale:a",
    "sale:b",
    "sale:c",
    "sale:x",
    "sale:y",
    "sale:rounds",
    "sale:packets",
    "sale:list",
    "sale:{p0}",
    "sale:{p1}",
    "sale:gone",
    "sale:new",
];
const STREAMS: [&str; 7] = [
    "sale:a:orders",
    "sale:b:orders",
    "sale:c:orders",
    "sale:short:orders",
    "sale:rounds:orders",
    "sale:list:orders",
    "sale:new:orders",
];

/// Single commands that must succeed.
const CHANGES: [&str; 42] = [
    "SECKILL.INIT sale:a 100 HOLD 900000 LIMIT 9 OUTBOX sale:a:orders",
    "SECKILL.INIT sale:b 100 LIMIT 9 OUTBOX sale:b:orders",
    "SECKILL.INIT sale:c 100",
    "SECKILL.ALTER sale:c OUTBOX sale:c:orders",
    "SECKILL.GRAB sale:a u QTY 3 REQ o-1",
    "SECKILL.CONFIRM sale:a u REQ o-1",
    "SECKILL.REFUND sale:a u REQ o-1",
    "SECKILL.GRAB sale:a v REQ o-2",
    "SECKILL.EXTEND sale:a v 800000 REQ o-2",
    "SECKILL.CANCEL sale:a v REQ o-2",
    "SECKILL.CANCEL sale:a v REQ never",
    "SECKILL.RESTOCK sale:a 5 REQ more",
    "SECKILL.PAUSE sale:a",
    "SECKILL.RESUME sale:a",
    "SECKILL.ALTER sale:a LIMIT 8",
    "SECKILL.IMPORT sale:a lost 2 REQ o-3",
    "SECKILL.DENY sale:a ADD mallory",
    "SECKILL.ALLOW sale:a ADD alice",
    "SECKILL.MGRAB m 2 sale:a sale:b REQ m-1",
    // A deleted stream is created again before the next entry.
    "DEL sale:b:orders",
    "SECKILL.GRAB sale:b u REQ o-4",
    "MULTI",
    "SECKILL.GRAB sale:a w REQ o-5",
    "SECKILL.GRAB sale:b w REQ o-5",
    "EXEC",
    "SECKILL.INIT sale:packets 100 DRAW PACKETS 10",
    "SECKILL.GRAB sale:packets u",
    "SECKILL.INIT sale:list 1 HOLD 900000 WAITLIST 9 OUTBOX sale:list:orders",
    "SECKILL.GRAB sale:list first REQ o-6",
    "SECKILL.GRAB sale:list second REQ o-7 WAIT",
    "SECKILL.GRAB sale:list third REQ o-8 WAIT",
    "SECKILL.CANCEL sale:list first REQ o-6",
    "SECKILL.INIT sale:{p0} 5 PART 0 OF 2 SPLIT s TOTAL 10",
    "SECKILL.INIT sale:{p1} 5 PART 1 OF 2 SPLIT s TOTAL 10",
    "SECKILL.SEND sale:{p0} s 1 2",
    "SECKILL.RECEIVE sale:{p1} s 0 2",
    "SECKILL.ELSEWHERE sale:{p1} s 0 1",
    // Two sales whose holds expire in one run of background expiry.
    "SECKILL.INIT sale:x 9 HOLD 60 LIMIT 0 OUTBOX sale:short:orders",
    "SECKILL.INIT sale:y 9 HOLD 60 LIMIT 0 OUTBOX sale:short:orders",
    "SECKILL.INIT sale:gone 1",
    "SECKILL.INIT sale:new 1",
    "DEL sale:new",
];

/// Changes of every kind.
#[track_caller]
fn change(conn: &mut Conn) {
    for line in CHANGES {
        let reply = conn.cmd(line);
        assert!(!reply.is_error(), "{line}: {reply}");
    }
    // One round ends soon, and the next one after a day. A call begins the next round, unless
    // background expiry has begun it.
    let (day, over) = (86_400_000, conn.clock_ms() + 1_000);
    let rounds = format!("EVERY {day} OFFSET {} OUTBOX sale:rounds:orders", over % day);
    assert_eq!(conn.call(&format!("SECKILL.INIT sale:rounds 9 HOLD 900000 {rounds}")), "+OK");
    assert!(!conn.cmd("SECKILL.GRAB sale:rounds u").is_error());
    conn.check(&[("PEXPIRE sale:c:orders 1", "1"), ("PEXPIRE sale:gone 1", "1")]);
    wait_for_clock(conn, over);
    assert!(!conn.cmd("SECKILL.GRAB sale:rounds v").is_error());
    // The TTL of the stream and of the sale is over.
    assert!(!conn.cmd("SECKILL.GRAB sale:c u").is_error());
    assert_eq!(conn.call("SECKILL.INIT sale:gone 5 OUTBOX sale:new:orders"), "+OK");
    assert_eq!(conn.call("SECKILL.INIT sale:new 5 OUTBOX sale:new:orders"), "+OK");
    // In one transaction, so that both are due at one time.
    let grabs = ["MULTI", "SECKILL.GRAB sale:x u", "SECKILL.GRAB sale:y u", "EXEC"];
    grabs.iter().for_each(|line| assert!(!conn.cmd(line).is_error(), "{line}"));
    let is_over = |conn: &mut Conn, sale| number(conn, sale, "held") == 0;
    wait_until("the holds are over", || is_over(conn, "sale:x") && is_over(conn, "sale:y"));
}

/// The state that a restart must keep.
#[track_caller]
fn picture(server: &Server) -> Vec<String> {
    let mut conn = login(server, "admin");
    let mut lines = Vec::new();
    for sale in SALES {
        let audit = conn.cmd(&format!("SECKILL.AUDIT {sale}"));
        assert_eq!(audit.field("ok").int(), 1, "{sale}: {audit}");
        lines.push(format!("{sale} {audit} {}", conn.call(&format!("DEBUG DIGEST-VALUE {sale}"))));
    }
    for stream in STREAMS {
        let entries = conn.call(&format!("XRANGE {stream} - +"));
        assert!(entries.len() > 100, "{stream}: {entries}");
        lines.push(format!("{stream} {entries}"));
    }
    let info = conn.cmd("INFO seckill").text();
    for name in ["seckill_apply_refused", "seckill_outbox_refused"] {
        assert!(info.contains(&format!("{name}:0\r\n")), "{name}: {info}");
    }
    lines
}

/// The example's options, with the DEBUG command for digests.
fn start() -> Server {
    options().line("enable-debug-command yes").start()
}

#[track_caller]
fn wait_for_load(conn: &mut Conn) {
    wait_until("the log is loaded", || conn.call("PING") == "+PONG");
}

/// While the disk is slow the server delays its writes to the AOF.
#[track_caller]
fn wait_for_write(conn: &mut Conn) {
    wait_until("the log is written", || {
        conn.cmd("INFO persistence").text().contains("aof_buffer_length:0\r\n")
    });
}

/// Restarts the server in both ways, with more changes before each restart, and compares the state.
#[track_caller]
fn assert_survives(mut server: Server, more: impl Fn(&mut Conn, u32)) {
    for turn in 0..4 {
        more(&mut login(&server, "admin"), turn);
        let before = picture(&server);
        wait_for_write(&mut login(&server, "admin"));
        match turn % 2 {
            0 => server.kill9(),
            _ => {
                let _ = login(&server, "admin").try_ask(&["SHUTDOWN"]);
                wait_until("the server has ended", || Conn::open(server.port()).is_err());
                server.kill9();
            }
        }
        server.start_again();
        wait_for_load(&mut login(&server, "admin"));
        for (now, before) in picture(&server).iter().zip(&before) {
            assert_eq!(now, before, "restart {turn}");
        }
        assert!(!server.log().contains("AOF-loading-client"), "{}", server.log());
    }
}

#[test]
fn the_example_loads_all_that_it_has_logged() {
    let server = start();
    change(&mut login(&server, "admin"));
    assert!(!server.log().contains("user default may not"), "{}", server.log());
    assert_survives(server, |conn, turn| {
        for line in [
            format!("SECKILL.MGRAB m 2 sale:a sale:b REQ more-{turn}"),
            format!("SECKILL.RESTOCK sale:rounds 1 REQ {turn}"),
            format!("SECKILL.RESTOCK sale:list 1 REQ {turn}"),
        ] {
            let reply = conn.cmd(&line);
            assert!(!reply.is_error(), "{line}: {reply}");
        }
    });
}

/// docs/mistakes.md: with only the new line in redis.conf a server with data starts empty. If the
/// AOF was enabled by CONFIG SET before, it has all data.
#[test]
fn a_log_is_switched_on_before_its_line_is_written() {
    for is_first in [false, true] {
        let mut server = Options::new().start();
        assert_eq!(server.call("SECKILL.INIT s 5"), "+OK");
        if is_first {
            assert_eq!(server.call("CONFIG SET appendonly yes"), "+OK");
            wait_until("the log has all", || {
                ["aof_rewrite_in_progress", "aof_rewrite_scheduled"]
                    .iter()
                    .all(|name| server.info("persistence", name) == "0")
            });
        }
        server.stop(true);
        server.add_line("appendonly yes");
        server.start_again();
        assert_eq!(server.call("EXISTS s"), u8::from(is_first).to_string());
    }
}

/// User default of the example refuses all logins, as the example says.
#[test]
fn a_user_with_all_rights_that_is_off_lets_nobody_in() {
    let server = start();
    server.conn().check(&[("PING", "-NOAUTH Authentication required.")]);
    for password in ["\"\"", "default", "nopass"] {
        let reply = server.call(&format!("AUTH default {password}"));
        assert!(reply.starts_with("-WRONGPASS"), "{reply}");
    }
}

/// Writes a transaction to the AOF and loads it with this line about user default. Returns whether
/// the transaction was lost.
#[track_caller]
fn lost_of_transactions(default: &str) -> (bool, Server) {
    let admin = "user admin on nopass ~* &* +@all";
    let mut server = Options::new().line("appendonly yes").line(admin).start();
    let mut conn = server.conn();
    conn.check(&[("SECKILL.INIT k 9 OUTBOX s", "+OK"), ("SECKILL.INIT l 9 OUTBOX t", "+OK")]);
    assert!(!conn.cmd("SECKILL.MGRAB u 2 k l").is_error());
    wait_for_write(&mut conn);
    server.kill9();
    server.add_line(default);
    server.start_again();
    let mut conn = server.conn();
    conn.check(&[("AUTH admin any", "+OK")]);
    wait_for_load(&mut conn);
    let grants = number(&mut conn, "k", "grants");
    (grants == 0, server)
}

const WARNING: &str = "user default may not run every command";

/// The warning is logged on servers that lose a transaction, and on no others. On a new server
/// version this test shows which kind it is.
#[test]
fn the_log_warns_where_transactions_are_lost() {
    let (is_lost, server) = lost_of_transactions("user default off");
    server.wait_for_log("Server initialized");
    let warned = server.log().contains(WARNING);
    assert_eq!(warned, is_lost, "lost {is_lost}, warned {warned}: {}", server.log());
    // A sale with an outbox needs no transaction, so its change is never lost.
    let mut conn = server.conn();
    conn.check(&[("AUTH admin any", "+OK"), ("EXISTS k s", "2")]);
    let (is_lost, server) = lost_of_transactions("user default off resetpass ~* &* +@all");
    assert!(!is_lost && !server.log().contains(WARNING), "{}", server.log());
}

/// If the AOF is off, the warning comes when it is enabled. Without an AOF there is no warning.
#[test]
fn the_log_warns_before_anything_can_be_lost() {
    let start = |log: &str| {
        let admin = "user admin on nopass ~* &* +@all";
        Options::new().line(log).line(admin).line("user default off").start()
    };
    let has_fault = lost_of_transactions("user default off").0;
    let server = start("appendonly yes");
    if has_fault {
        server.wait_for_log(WARNING);
        assert_eq!(server.log().matches(WARNING).count(), 1);
    }
    let others = [start("appendonly no"), start("appendonly yes")];
    let mut conn = others[1].conn();
    conn.check(&[("AUTH admin any", "+OK"), ("SECKILL.INIT k 1", "+OK")]);
    let now = conn.clock_ms();
    wait_for_clock(&mut conn, now + 300);
    assert!(!others[0].log().contains(WARNING), "without a log nothing is lost");
    assert_eq!(others[1].log().contains(WARNING), has_fault);
}
