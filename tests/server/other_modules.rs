//! Another module in the server calls the commands in ways that no client can.

use crate::support::other_module::said;
use crate::support::shop::{counter, number, state_of, wait_for_no_holds};
use crate::support::valgrind::slowed;
use crate::support::{Options, ReplicationStream, Server};

fn start() -> Server {
    Options::new().with_other_module().start()
}

/// Calls from a module's thread that holds the server's lock: replies, errors and effects are
/// equal, and the holds expire in the background.
#[test]
fn a_call_from_another_modules_thread_is_one_like_any_other() {
    let (server, replica) = (start(), Server::start());
    replica.follow(&server);
    let mut conn = server.conn();
    let init = format!("OTHER.THREAD SECKILL.INIT k 10 HOLD {}", slowed(300));
    conn.check(&[
        (&init, "+OK"),
        ("OTHER.THREAD SECKILL.GRAB k thread", "['GRANTED' 1 1 'HELD' T 9]"),
        ("SECKILL.GRAB k client", "['GRANTED' 2 1 'HELD' T 8]"),
        ("OTHER.THREAD SECKILL.GRAB none u", "-NOSALE"),
    ]);
    wait_for_no_holds(&server, "k");
    for user in ["thread", "client"] {
        assert_eq!(state_of(&mut conn, "k", user), "EXPIRED");
    }
    assert_eq!(counter(&mut conn, "k", "expired"), 2);
    replica.assert_follows(&server, &["k"]);
    server.assert_sound("k");
}

/// Calls from inside a notification: the inner call sees the change of the outer one.
#[test]
fn a_call_from_inside_a_notification_is_one_like_any_other() {
    let (server, replica) = (start(), Server::start());
    replica.follow(&server);
    let mut conn = server.conn();
    conn.check(&[
        ("SECKILL.INIT k 10", "+OK"),
        ("OTHER.ON seckill.grant k SECKILL.GRAB k inner", "+OK"),
        ("SECKILL.GRAB k outer", "['GRANTED' 1 1 'SOLD' 0 9]"),
        ("SECKILL.GRAB k other", "['GRANTED' 3 1 'SOLD' 0 7]"),
    ]);
    let again = "['ALREADY' 2 1 'SOLD' 0]";
    assert_eq!(said(&mut conn), ["['GRANTED' 2 1 'SOLD' 0 8]", again]);
    replica.assert_follows(&server, &["k"]);
    server.assert_sound("k");
}

/// The sales of an MGRAB are notified after all of them are replicated. So the effects of calls
/// made then come last on every node.
#[test]
fn several_sales_are_told_of_when_all_are_replicated() {
    let (server, replica) = (start(), Server::start());
    replica.follow(&server);
    let mut conn = server.conn();
    let mut stream = ReplicationStream::attach(&server);
    for outbox in ["", " OUTBOX o"] {
        conn.check(&[
            ("OTHER.OFF", "+OK"),
            ("DEL x y o", if outbox.is_empty() { "0" } else { "2" }),
            (&format!("SECKILL.INIT x 5{outbox}"), "+OK"),
            (&format!("SECKILL.INIT y 5{outbox}"), "+OK"),
            ("OTHER.ON seckill.grant x SECKILL.GRAB y inner", "+OK"),
        ]);
        stream.taken(&server);
        let granted = "['GRANTED' [1 1 'SOLD' 0 4] [1 1 'SOLD' 0 4]]";
        assert_eq!(conn.call("SECKILL.MGRAB outer 2 x y"), granted);
        assert_eq!(said(&mut conn), ["['GRANTED' 2 1 'SOLD' 0 3]"]);
        let applied = stream.taken(&server).into_iter().filter(|words| words.len() > 2);
        let keys: Vec<String> =
            applied.map(|words| String::from_utf8_lossy(&words[1]).into_owned()).collect();
        assert_eq!(keys, ["x", "y", "y"], "the parts, then what was called");
        replica.assert_follows(&server, &["x", "y"]);
    }
    assert_eq!(replica.digest("o"), server.digest("o"));
}

/// Another module's calls from inside a notification are in the AOF. While the AOF is loaded the
/// module gets these notifications again, and its calls change nothing.
#[test]
fn a_log_is_loaded_as_it_is_whatever_another_module_calls() {
    let mut server = Options::new().with_other_module().line("appendonly yes").start();
    let mut conn = server.conn();
    conn.check(&[
        ("SECKILL.INIT k 10 LIMIT 2", "+OK"),
        ("OTHER.ON seckill.grant k SECKILL.GRAB k inner", "+OK"),
        ("SECKILL.GRAB k outer", "['GRANTED' 1 1 'SOLD' 0 9]"),
        ("SECKILL.GRAB k other", "['GRANTED' 3 1 'SOLD' 0 7]"),
    ]);
    let digest = server.digest("k");
    assert_eq!(said(&mut conn).len(), 2);
    assert_eq!(conn.call("DEBUG LOADAOF"), "+OK");
    let changed = "-TRYAGAIN sale is being changed";
    assert_eq!(said(&mut conn)[2..], [changed; 4]);
    assert_eq!(server.digest("k"), digest);
    assert_eq!(server.info("seckill", "seckill_apply_refused"), "0");
    conn.check(&[("SECKILL.GRAB k last", "['GRANTED' 5 1 'SOLD' 0 5]"), ("OTHER.OFF", "+OK")]);
    let digest = server.digest("k");
    server.stop(false);
    server.start_again();
    assert_eq!(server.digest("k"), digest);
    server.assert_sound("k");
}

/// The server checks only the flags of a module's call, and treats a call from inside a
/// notification as the primary's. Before this was fixed, a replica replied `GRANTED` and had
/// another sale.
#[test]
fn a_replica_stays_as_its_primary_is_whatever_another_module_calls() {
    let (server, replica) = (Server::start(), start());
    let mut conn = server.conn();
    conn.check(&[
        ("SECKILL.INIT k 20 HOLD 900000 LIMIT 9", "+OK"),
        ("SECKILL.INIT l 20 LIMIT 9", "+OK"),
    ]);
    replica.follow(&server);
    let mut other = replica.conn();
    let readonly = "-READONLY You can't write against a read only replica.";
    let lines = ["GRAB k u", "MGRAB u 2 k l", "CANCEL k a", "PAUSE k", "CONFIRM k a", "INIT t 5"];
    for how in ["OTHER.CALL", "OTHER.THREAD"] {
        for line in lines {
            assert_eq!(other.call(&format!("{how} SECKILL.{line}")), readonly, "{how} {line}");
        }
        assert_eq!(other.call(&format!("{how} SECKILL.USER k u")), "[9 'OK' []]", "reads go on");
    }
    for flags in ["E!", "E", "SE!"] {
        other.check(&[
            ("OTHER.OFF", "+OK"),
            (&format!("OTHER.FLAGS {flags}"), "+OK"),
            ("OTHER.ON seckill.grant k SECKILL.GRAB k inner", "+OK"),
        ]);
        for line in ["SECKILL.GRAB k a", "MULTI", "SECKILL.GRAB k a", "SECKILL.GRAB l b", "EXEC"] {
            assert!(!conn.cmd(line).is_error(), "{line}");
        }
        assert!(!conn.cmd("SECKILL.MGRAB c 2 l k").is_error());
        replica.wait_in_sync(&server);
        assert_eq!(said(&mut other), [readonly; 3], "{flags}");
        assert_eq!(replica.call("DEBUG DIGEST"), server.call("DEBUG DIGEST"), "{flags}");
        assert_eq!(replica.info("seckill", "seckill_apply_refused"), "0", "{flags}");
    }
    assert_eq!(number(&mut conn, "k", "grants"), 9);
    other.check(&[
        ("OTHER.FLAGS E!", "+OK"),
        ("CONFIG SET replica-read-only no", "+OK"),
        ("OTHER.CALL SECKILL.GRAB l writer", "['GRANTED' 7 1 'SOLD' 0 13]"),
        ("CONFIG SET replica-read-only yes", "+OK"),
        ("OTHER.THREAD SECKILL.GRAB l writer", readonly),
        ("REPLICAOF NO ONE", "+OK"),
        ("OTHER.THREAD SECKILL.GRAB l late", "['GRANTED' 8 1 'SOLD' 0 12]"),
    ]);
    replica.assert_sound("l");
}
