//! AUDIT of a large sale runs while other clients change the sale. AUDIT does not report changes of
//! other clients as differences.

use seckill_model::shorthand::effect;

use crate::support::{bulk, wait_until, Conn, Reply, Server};

/// Enough grants for an audit of many steps.
const GRANTS: usize = 300_000;

/// A server with a sale of this many grants at `k`, each of another user.
fn full() -> Server {
    let (server, mut conn) = Server::start().with_conn();
    assert_eq!(conn.call(&format!("SECKILL.INIT k {} LIMIT 9", 2 * GRANTS)), "+OK");
    bulk::grow(&mut conn, "k", 0, GRANTS, |user| effect(&format!("gu{user}")));
    server
}

fn blocked(server: &Server) -> String {
    server.info("clients", "blocked_clients")
}

/// A client that waits for the reply of AUDIT.
fn auditing(server: &Server, others: usize) -> Conn {
    let mut conn = server.conn();
    conn.send(&["SECKILL.AUDIT", "k"]).unwrap();
    wait_until("the audit is under way", || blocked(server) == (others + 1).to_string());
    conn
}

fn versions(audit: &Reply) -> [i64; 2] {
    let version = audit.field("version");
    [version.items()[0].int(), version.items()[1].int()]
}

// Rules: 7542
#[test]
fn an_audit_lets_others_change_the_sale() {
    let server = full();
    let mut buyer = server.conn();
    let mut auditor = auditing(&server, 0);
    let mut rounds = 0;
    while blocked(&server) == "1" {
        for user in [rounds, GRANTS - 1 - rounds] {
            let refund = buyer.cmd(&format!("SECKILL.REFUND k u{user}"));
            assert_eq!(refund.items()[0].text(), "REFUNDED");
        }
        let grab = buyer.cmd(&format!("SECKILL.GRAB k u{} QTY 2", GRANTS / 2 + rounds));
        assert_eq!(grab.items()[0].text(), "GRANTED");
        rounds += 1;
        assert!(rounds < GRANTS / 2, "an audit ends");
    }
    let audit = auditor.read().unwrap();
    assert_eq!(audit.field("ok").int(), 1, "{audit}");
    let [begun, ended] = versions(&audit);
    assert!(rounds > 3 && begun == 1 + GRANTS as i64 && ended > begun, "{rounds}: {audit}");
    server.assert_sound("k");
}

/// Several audits run one after the other. A caller that can't be blocked gets its reply in one
/// step.
// Rules: 9cab
#[test]
fn audits_wait_for_each_other_but_transactions_for_none() {
    let server = full();
    let mut auditors = [auditing(&server, 0), auditing(&server, 1), auditing(&server, 2)];
    let mut conn = server.conn();
    assert_eq!(conn.call("SECKILL.INIT small 5"), "+OK");
    assert_eq!(conn.cmd("SECKILL.AUDIT small").field("ok").int(), 1);
    conn.check(&[("MULTI", "+OK"), ("SECKILL.AUDIT k", "+QUEUED")]);
    assert_eq!(conn.cmd("EXEC").items()[0].field("grants").int(), GRANTS as i64);
    let script = "return redis.call('SECKILL.AUDIT', KEYS[1])[4]";
    assert_eq!(conn.ask(&["EVAL", script, "1", "k"]), Reply::Int(GRANTS as i64));
    for auditor in &mut auditors {
        let audit = auditor.read().unwrap();
        assert_eq!((audit.field("ok").int(), audit.field("grants").int()), (1, GRANTS as i64));
    }
    assert_eq!(blocked(&server), "0");
}

/// The sale is deleted or replaced during an audit, and the reply of AUDIT.
#[test]
fn a_sale_that_goes_ends_its_audit() {
    let nosale = "-NOSALE no sale at this key (the key is the first argument)";
    let again = "-TRYAGAIN sale is being changed";
    let wrong = "-WRONGTYPE Operation against a key holding the wrong kind of value";
    for (calls, told) in [
        (&["DEL k"][..], nosale),
        (&["RENAME k o"], nosale),
        (&["FLUSHALL ASYNC"], nosale),
        (&["MULTI", "DEL k", "SET k v", "EXEC"], wrong),
        (&["MULTI", "DEL k", "SECKILL.INIT k 5", "EXEC"], again),
    ] {
        let server = full();
        let mut conn = server.conn();
        let bytes = conn.call("MEMORY USAGE k");
        let mut auditor = auditing(&server, 0);
        for call in calls {
            assert!(!conn.cmd(call).is_error(), "{call}");
        }
        assert_eq!(auditor.read().unwrap().to_string(), told, "{calls:?}");
        if calls == ["RENAME k o"] {
            assert_eq!(conn.call("MEMORY USAGE o"), bytes, "nothing is left of it");
            assert_eq!(conn.cmd("SECKILL.AUDIT o").field("ok").int(), 1);
        }
        assert_eq!(blocked(&server), "0");
    }
}

#[test]
fn an_audit_goes_on_in_the_database_that_its_sale_is_in() {
    let server = full();
    let mut auditor = auditing(&server, 0);
    assert_eq!(server.call("SWAPDB 0 1"), "+OK");
    let audit = auditor.read().unwrap();
    assert_eq!((audit.field("ok").int(), audit.field("grants").int()), (1, GRANTS as i64));
}

#[test]
fn an_auditor_that_goes_leaves_nothing() {
    let server = full();
    let before: i64 = server.info("memory", "used_memory").parse().unwrap();
    for _ in 0..5 {
        drop(auditing(&server, 0));
        wait_until("nobody waits", || blocked(&server) == "0");
    }
    let mut auditor = auditing(&server, 0);
    // A change of its role makes a server unblock its clients.
    assert_eq!(server.call("REPLICAOF 127.0.0.1 1"), "+OK");
    assert!(auditor.read().unwrap().to_string().starts_with("-UNBLOCKED"));
    assert_eq!(server.call("REPLICAOF NO ONE"), "+OK");
    assert_eq!(server.cmd("SECKILL.AUDIT k").field("ok").int(), 1);
    wait_until("its memory is given back", || {
        let now: i64 = server.info("memory", "used_memory").parse().unwrap();
        now < before + (4 << 20)
    });
}
