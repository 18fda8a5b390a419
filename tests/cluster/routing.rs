//! Redirection of every command: MOVED, ASK, TRYAGAIN and CROSSSLOT, and reads from a replica.

use seckill::command::table::TABLE;

use crate::nodes::Cluster;
use crate::routed::redirection;
use crate::support::calls;
use crate::support::{wait_until, Conn, Reply};

const KEY: &str = "{drop}sale";

/// A call of each command with a key, and calls with two keys.
fn all_calls() -> impl Iterator<Item = String> {
    let of_two = [
        format!("SECKILL.INIT {KEY} 5 LIMIT 2 OUTBOX {KEY}2"),
        format!("SECKILL.ALTER {KEY} LIMIT 2 OUTBOX {KEY}2"),
        format!("SECKILL.MGRAB u 2 {KEY} {KEY}2 QTY 2"),
    ];
    calls::with_key(KEY).chain(of_two)
}

/// Whether the call only reads, as the module's table has it.
fn reads(call: &str) -> bool {
    let name = call.split(' ').next();
    TABLE.iter().any(|spec| name == Some(spec.name) && spec.flags.starts_with("readonly"))
}

/// Checks that the reply is ASK or MOVED to this port.
#[track_caller]
fn assert_sent(conn: &mut Conn, line: &str, is_ask: bool, port: u16) {
    let reply = conn.cmd(line);
    let Reply::Error(text) = &reply else { panic!("{line}: {reply}") };
    assert_eq!(redirection(text), Some((is_ask, port)), "{line}: {reply}");
}

#[test]
#[ignore = "starts six servers: make cluster-test"]
fn calls_go_where_their_keys_are() {
    let cluster = Cluster::start(15_000);
    let slot = cluster.slot(KEY);
    let owner = cluster.first_owner(slot);
    let (home, other) = (&cluster.nodes[owner], &cluster.nodes[(owner + 1) % 3]);
    let replica = &cluster.nodes[owner + 3];
    assert_eq!(home.call(&format!("SECKILL.INIT {KEY} 100 LIMIT 50")), "+OK");

    let mut conn = other.conn();
    for call in all_calls() {
        assert_sent(&mut conn, &call, false, home.port());
    }

    // A replica redirects every call, unless the client has sent READONLY.
    replica.wait_in_sync(home);
    let mut conn = replica.conn();
    assert_sent(&mut conn, &format!("SECKILL.STATUS {KEY}"), false, home.port());
    assert_eq!(conn.call("READONLY"), "+OK");
    for line in all_calls() {
        if reads(&line) {
            let reply = conn.cmd(&line);
            let sent = match &reply {
                Reply::Error(text) => redirection(text),
                _ => None,
            };
            assert_eq!(sent, None, "{line}: {reply}");
        } else {
            assert_sent(&mut conn, &line, false, home.port());
        }
    }

    let crossed = "-CROSSSLOT Keys in request don't hash to the same slot";
    let mut conn = home.conn();
    for line in [
        format!("SECKILL.MGRAB u 2 {KEY} {{other}}sale"),
        format!("SECKILL.MGRAB u 3 {KEY} {KEY}2 elsewhere QTY 1"),
        format!("SECKILL.INIT {KEY}2 5 OUTBOX {{other}}stream"),
        format!("SECKILL.ALTER {KEY} LIMIT 3 OUTBOX {{other}}stream"),
    ] {
        assert_eq!(conn.call(&line), crossed, "{line}");
    }
}

#[test]
#[ignore = "starts six servers: make cluster-test"]
fn a_slot_on_its_way_asks() {
    let cluster = Cluster::start(15_000);
    let slot = cluster.slot(KEY);
    let owner = cluster.first_owner(slot);
    let next = (owner + 1) % 3;
    let (from, to) = (&cluster.nodes[owner], &cluster.nodes[next]);
    let mut conn = from.conn();
    conn.check(&[
        (&format!("SECKILL.INIT {KEY} 100 LIMIT 50"), "+OK"),
        (&format!("SECKILL.INIT {KEY}2 100 LIMIT 50"), "+OK"),
    ]);
    let importing = format!("CLUSTER SETSLOT {slot} IMPORTING {}", cluster.id(owner));
    let migrating = format!("CLUSTER SETSLOT {slot} MIGRATING {}", cluster.id(next));
    assert_eq!((to.call(&importing), from.call(&migrating)), ("+OK".into(), "+OK".into()));
    let migrate = |key: &str| {
        let port = to.port().to_string();
        let words = ["MIGRATE", "127.0.0.1", &port, key, "0", "20000"];
        assert_eq!(from.conn().ask(&words).to_string(), "+OK");
    };
    migrate(KEY);

    // The slot is moving: ASK. The new node only serves a client that has sent ASKING.
    let grab = format!("SECKILL.GRAB {KEY} u");
    assert_sent(&mut conn, &grab, true, to.port());
    let mut far = to.conn();
    assert_sent(&mut far, &grab, false, from.port());
    assert_eq!(far.call("ASKING"), "+OK");
    assert_eq!(far.call(&grab), "['GRANTED' 1 1 'SOLD' 0 99]");
    // The two sales are on two nodes: neither node can grant both. Nor may a sale begin with a
    // stream that may still be on its way. (A server that routes by the first key sends a call whose
    // first key has moved to the new node.)
    let both = format!("SECKILL.MGRAB v 2 {KEY}2 {KEY}");
    let far_first = format!("SECKILL.MGRAB v 2 {KEY} {KEY}2");
    let begin = format!("SECKILL.INIT {KEY}3 5 OUTBOX {KEY}4");
    let split = "-TRYAGAIN Multiple keys request during rehashing of slot";
    assert_eq!(conn.call(&both), split);
    for line in [&both, &far_first, &begin] {
        assert_eq!(far.call("ASKING"), "+OK");
        assert_eq!(far.call(line), split, "{line}");
    }

    migrate(&format!("{KEY}2"));
    for node in [to, from] {
        let line = format!("CLUSTER SETSLOT {slot} NODE {}", cluster.id(next));
        assert_eq!(node.call(&line), "+OK");
    }
    assert_sent(&mut conn, &both, false, to.port());
    wait_until("the new owner serves it", || !far.cmd(&format!("SECKILL.STATUS {KEY}")).is_error());
    let row = "'SOLD' 0";
    let expected = format!("['GRANTED' [1 1 {row} 99] [2 1 {row} 98]]");
    assert_eq!(far.call(&both), expected);
}
