//! A node of a cluster. Sale and stream share a slot, a missing stream may still be moving, and
//! only the owner of a slot expires holds.

use crate::support::other_module::said;
use crate::support::shop::{counter, events, number, state_of, wait_for_clock, wait_for_no_holds};
use crate::support::valgrind::slowed;
use crate::support::{wait_until, Conn, Options, Server};

const NOT_HERE: &str = "-TRYAGAIN outbox stream is not here";

/// A cluster of one node that owns every slot.
pub fn start() -> (Server, Conn) {
    start_with(Options::new())
}

fn start_with(options: Options) -> (Server, Conn) {
    let (server, mut conn) = options.line("cluster-enabled yes").start().with_conn();
    assert_eq!(conn.call("CLUSTER ADDSLOTSRANGE 0 16383"), "+OK");
    wait_until("the cluster is up", || server.call("CLUSTER INFO").contains("cluster_state:ok"));
    (server, conn)
}

#[test]
fn sale_and_stream_share_a_slot() {
    let (server, mut conn) = start();
    let crossed = "-CROSSSLOT Keys in request don't hash to the same slot";
    conn.check(&[
        ("SECKILL.INIT a 5 OUTBOX b", crossed),
        ("SECKILL.INIT {x}a 5 LIMIT 1 outbox {y}b", crossed),
        ("EXISTS {x}a {x}b", "0"),
        ("SECKILL.INIT {x}a 5 HOLD 900000 OUTBOX {x}b", "+OK"),
        ("SECKILL.INIT {x}c 5", "+OK"),
        ("SECKILL.ALTER {x}c OUTBOX {y}b", crossed),
        ("SECKILL.ALTER {x}c OUTBOX {x}b", "+OK"),
        ("SECKILL.INIT {x}d 5", "+OK"),
        ("SECKILL.ALTER {x}d OUTBOX {x}e", "+OK"),
        ("XLEN {x}e", "1"),
        ("SECKILL.INIT OUTBOX 5", "+OK"),
    ]);
    // A deleted stream is created again only by commands whose keys include it.
    conn.check(&[
        ("DEL {x}e", "1"),
        ("SECKILL.ALTER {x}d LIMIT 2", NOT_HERE),
        ("SECKILL.ALTER {x}d LIMIT 2 OUTBOX {x}e", "+OK"),
        ("XLEN {x}e", "1"),
    ]);
    assert_eq!(conn.cmd("SECKILL.GRAB {x}a u").items()[0].text(), "GRANTED");
    assert_eq!(events(&mut conn, "{x}b"), ["INIT", "ALTER", "GRANT"]);
    server.assert_sound("{x}a");
}

#[test]
fn a_missing_stream_is_not_made_anew() {
    let (server, mut conn) = start();
    let init = format!("SECKILL.INIT {{x}}a 5 HOLD {} OUTBOX {{x}}b", slowed(60));
    conn.check(&[(init.as_str(), "+OK")]);
    conn.cmd("SECKILL.GRAB {x}a u");
    let payload = conn.cmd("DUMP {x}b").bytes().to_vec();
    assert_eq!(conn.call("DEL {x}b"), "1");
    conn.check(&[
        ("SECKILL.PAUSE {x}a", NOT_HERE),
        ("SECKILL.GRAB {x}a v", NOT_HERE),
        ("EXISTS {x}b", "0"),
    ]);
    let due = number(&mut conn, "{x}a", "next_deadline");
    wait_for_clock(&mut conn, due + 100);
    assert_eq!(state_of(&mut conn, "{x}a", "u"), "HELD", "the event waits");
    assert_eq!(number(&mut conn, "{x}a", "outbox_error"), 1);
    let restore: [&[u8]; 4] = [b"RESTORE", b"{x}b", b"0", &payload];
    assert_eq!(conn.ask(&restore).to_string(), "+OK");
    wait_for_no_holds(&server, "{x}a");
    assert_eq!(events(&mut conn, "{x}b"), ["INIT", "GRANT", "EXPIRE"]);
    assert_eq!(number(&mut conn, "{x}a", "outbox_error"), 0);
    // ALTER names the stream, so it makes it, even if no term changes.
    let version = number(&mut conn, "{x}a", "version");
    for stream in ["{x}b", "{x}b"] {
        conn.check(&[("DEL {x}b", "1"), ("SECKILL.GRAB {x}a v", NOT_HERE)]);
        assert_eq!(conn.call(&format!("SECKILL.ALTER {{x}}a OUTBOX {stream}")), "+OK");
        assert_eq!(conn.call(&format!("SECKILL.ALTER {{x}}a OUTBOX {stream}")), "+OK");
        assert_eq!(events(&mut conn, "{x}b"), ["ALTER"]);
    }
    assert_eq!(number(&mut conn, "{x}a", "version"), version + 2, "once for each missing stream");
    assert_eq!(conn.cmd("SECKILL.GRAB {x}a v").items()[0].text(), "GRANTED");
}

/// A node whose slot was moved away leaves its holds to the new owner, and expires them again when
/// the slot comes back.
#[test]
fn only_the_owner_of_a_slot_lets_holds_expire() {
    let (server, mut conn) = start();
    conn.check(&[("SECKILL.INIT k 5 HOLD 400", "+OK")]);
    conn.cmd("SECKILL.GRAB k u");
    let due = number(&mut conn, "k", "next_deadline");
    let slot = conn.cmd("CLUSTER KEYSLOT k").int();
    assert_eq!(conn.call("CONFIG SET cluster-require-full-coverage no"), "+OK");
    assert_eq!(conn.call(&format!("CLUSTER DELSLOTS {slot}")), "+OK");
    wait_for_clock(&mut conn, due + 200);
    assert_eq!(server.info("seckill", "seckill_holds"), "1", "not ours to settle");
    assert_eq!(conn.call(&format!("CLUSTER ADDSLOTS {slot}")), "+OK");
    wait_until("the owner settles it", || server.info("seckill", "seckill_holds") == "0");
    wait_until("the slot is served again", || !conn.cmd("SECKILL.STATUS k").is_error());
    assert_eq!(counter(&mut conn, "k", "expired"), 1);
}

/// The sweeper asks the server whether this node serves a key. No sale replies an error to that,
/// which the server would count. A part of a split has an error for the users of other parts.
#[test]
fn a_sweep_is_no_error() {
    let (server, mut conn) = start();
    let inits = ["PART 0 OF 2 SPLIT s TOTAL 9", "PART 1 OF 2 SPLIT s TOTAL 9", "EVERY 100000"];
    for (part, (init, user)) in inits.iter().zip(["dave", "alice", "alice"]).enumerate() {
        let line = format!("SECKILL.INIT k{part} 3 HOLD {} {init}", slowed(60));
        conn.check(&[(line.as_str(), "+OK")]);
        assert_eq!(conn.cmd(&format!("SECKILL.GRAB k{part} {user}")).items()[3].text(), "HELD");
    }
    let errors = conn.cmd("INFO errorstats").text();
    (0..inits.len()).for_each(|part| wait_for_no_holds(&server, &format!("k{part}")));
    assert_eq!(conn.cmd("INFO errorstats").text(), errors);
}

/// The module asks the server about keys by calls. Keys whose time is over are deleted in these,
/// and what another module writes at that event is replicated and logged like any write.
#[test]
fn what_others_write_while_the_server_is_asked_is_logged() {
    let options = Options::new().with_other_module().line("appendonly yes");
    let (server, mut conn) = start_with(options);
    conn.check(&[
        ("DEBUG SET-ACTIVE-EXPIRE 0", "+OK"),
        ("SECKILL.INIT {x}s 5", "+OK"),
        ("SET {x}o text", "+OK"),
        ("PEXPIRE {x}o 20", "1"),
        ("OTHER.ONCE expired {x}o SECKILL.GRAB {x}s a", "+OK"),
    ]);
    let over = conn.clock_ms() + 21;
    wait_for_clock(&mut conn, over);
    // A call with several keys: the server is asked whether this node serves all of them.
    assert_eq!(conn.call("SECKILL.INIT {x}k 5 OUTBOX {x}o"), "+OK");
    assert_eq!(said(&mut conn), ["['GRANTED' 1 1 'SOLD' 0 4]"]);
    // A sweep: the server is asked whether this node serves the sale.
    let hold = i64::from(slowed(400));
    let init = format!("SECKILL.INIT {{x}}h 5 HOLD {hold}");
    conn.check(&[(&init, "+OK"), ("OTHER.ONCE expired {x}h SECKILL.GRAB {x}s b", "+OK")]);
    let due = conn.cmd("SECKILL.GRAB {x}h u").items()[4].int();
    assert_eq!(conn.call(&format!("PEXPIREAT {{x}}h {}", due - hold / 2)), "1");
    wait_until("the sweeper finds that its time is over", || said(&mut conn).len() == 2);
    let digest = server.call("DEBUG DIGEST");
    assert_eq!(server.call("DEBUG LOADAOF"), "+OK");
    assert_eq!(server.call("DEBUG DIGEST"), digest);
    server.assert_took_all();
    server.assert_sound("{x}s");
}

/// A cluster of one node whose operator has taken commands away.
fn without(renamed: &[&str]) -> (Server, Conn) {
    let lines: Vec<String> =
        renamed.iter().map(|name| format!("rename-command {name} \"\"")).collect();
    start_with(Options::new().line(&lines.join("\n")))
}

/// What can't be checked without EXISTS is refused, and the log says so.
#[test]
fn several_keys_in_a_cluster_need_exists() {
    const REFUSED: &str = "-ERR EXISTS is not there (rename-command): in a cluster a call with \
        several keys needs it";
    let (server, mut conn) = without(&["EXISTS"]);
    server.wait_for_log("EXISTS is not there (rename-command)");
    conn.check(&[
        ("SECKILL.INIT {x}a 2 OUTBOX {x}b", REFUSED),
        ("SECKILL.INIT {x}a 2", "+OK"),
        ("SECKILL.INIT {x}c 2", "+OK"),
        ("SECKILL.ALTER {x}a OUTBOX {x}b", REFUSED),
        ("SECKILL.MGRAB u 2 {x}a {x}c", REFUSED),
        ("SECKILL.MGRAB u 1 {x}a", "['GRANTED' [1 1 'SOLD' 0 1]]"),
    ]);
}

/// The module calls no other server command, so operators may rename commands.
#[test]
fn renamed_commands_are_not_missed() {
    let (server, mut conn) = without(&["XINFO", "XGROUP", "XADD", "DEL"]);
    server.wait_for_log("XINFO is not there (rename-command)");
    let init = format!("SECKILL.INIT {{x}}a 2 HOLD {} OUTBOX {{x}}b", slowed(100));
    conn.check(&[(init.as_str(), "+OK")]);
    for user in ["a", "b"] {
        assert_eq!(conn.cmd(&format!("SECKILL.GRAB {{x}}a {user}")).items()[0].text(), "GRANTED");
    }
    wait_for_no_holds(&server, "{x}a");
    let told = ["INIT", "GRANT", "GRANT", "ALLHELD", "EXPIRE", "EXPIRE", "AVAILABLE"];
    let mut events = events(&mut conn, "{x}b");
    events[4..].sort_unstable();
    let mut expected = told.to_vec();
    expected[4..].sort_unstable();
    assert_eq!(events, expected);
}
