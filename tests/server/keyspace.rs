//! A sale is a key like others: it can be renamed, moved, swapped, expired and deleted, but not
//! copied. Also keyspace notifications.

use seckill_model::shorthand::effect;

use crate::support::bulk::grow;
use crate::support::shop::{counter, wait_for_no_holds};
use crate::support::{wait_until, Conn, Options, Reply, Server};

/// Number of sales in the module's memory.
fn sales(server: &Server) -> String {
    server.info("seckill", "seckill_sales")
}

/// A sale with this many grants, filled fast.
fn big(conn: &mut Conn, key: &str, grants: usize) {
    assert_eq!(conn.call(&format!("SECKILL.INIT {key} 10000000")), "+OK");
    grow(conn, key, 0, grants, |number| effect(&format!("guser:{number}")));
}

#[test]
fn a_sale_can_be_renamed_moved_and_swapped() {
    let (server, mut conn) = Server::start().with_conn();
    conn.check(&[
        ("SECKILL.INIT k 9", "+OK"),
        ("SECKILL.GRAB k a", "['GRANTED' 1 1 'SOLD' 0 8]"),
        ("RENAME k l", "+OK"),
        ("SECKILL.GRAB k b", "-NOSALE"),
        ("SECKILL.GRAB l a", "['ALREADY' 1 1 'SOLD' 0]"),
        ("SECKILL.GRAB l b", "['GRANTED' 2 1 'SOLD' 0 7]"),
        ("SECKILL.INIT other 1", "+OK"),
        ("RENAMENX l other", "0"),
        ("MOVE l 3", "1"),
        ("SECKILL.GRAB l c", "-NOSALE"),
        ("SELECT 3", "+OK"),
        ("SECKILL.GRAB l c", "['GRANTED' 3 1 'SOLD' 0 6]"),
        ("SWAPDB 3 5", "+OK"),
        ("SECKILL.GRAB l d", "-NOSALE"),
        ("SELECT 5", "+OK"),
        ("SECKILL.GRAB l d", "['GRANTED' 4 1 'SOLD' 0 5]"),
        ("OBJECT ENCODING l", "'raw'"),
        ("SCAN 0 TYPE flashsale", "['0' ['l']]"),
        ("RENAME l k", "+OK"),
    ]);
    let audit = conn.cmd("SECKILL.AUDIT k");
    assert_eq!((audit.field("ok"), audit.field("winners")), (Reply::Int(1), Reply::Int(4)));
    assert_eq!(sales(&server), "2");
}

#[test]
fn a_sale_is_never_copied() {
    let (server, mut conn) = Server::start().with_conn();
    assert_eq!(conn.call("SECKILL.INIT k 9"), "+OK");
    for line in ["COPY k l", "COPY k k DB 1", "COPY k l REPLACE"] {
        assert_eq!(conn.call(line), "-ERR not supported for this module key", "{line}");
    }
    conn.check(&[("EXISTS l", "0"), ("SECKILL.GRAB k a", "['GRANTED' 1 1 'SOLD' 0 8]")]);
    assert_eq!(sales(&server), "1");
}

// Rules: 2d60
#[test]
fn a_sale_can_expire() {
    let (server, mut conn) = Server::start().with_conn();
    conn.check(&[
        ("SECKILL.INIT k 9 OUTBOX s", "+OK"),
        ("EXPIRE k 100", "1"),
        ("SECKILL.GRAB k a", "['GRANTED' 1 1 'SOLD' 0 8]"),
        ("SECKILL.ALTER k HOLD 900000", "+OK"),
    ]);
    assert_eq!(conn.cmd("SECKILL.GRAB k h").items()[3].text(), "HELD");
    let left = conn.cmd("PTTL k").int();
    assert!((1..=100_000).contains(&left), "a grant keeps the key's time: {left}");
    conn.check(&[("PERSIST k", "1"), ("TTL k", "-1"), ("PEXPIRE k 20", "1")]);
    wait_until("the key expires", || server.call("EXISTS k") == "0");
    wait_until("its memory is freed", || sales(&server) == "0");
    conn.check(&[
        ("XLEN s", "4"),
        ("SECKILL.GRAB k b", "-NOSALE"),
        ("SECKILL.CONFIRM k h", "-NOSALE"),
        ("SECKILL.INIT k 2", "+OK"),
        ("SECKILL.GRAB k a", "['GRANTED' 1 1 'SOLD' 0 1]"),
    ]);
}

/// Another thread of the server frees sales while holds of another sale are made and expire. A
/// server frees a sale of more than 64 blocks in that way, and each RESTOCK counts as one.
#[test]
fn sales_are_freed_by_another_thread() {
    let (server, mut conn) = Server::start().with_conn();
    assert_eq!(conn.call("SECKILL.INIT held 1000 HOLD 20"), "+OK");
    for round in 1..=3 {
        big(&mut conn, "k", 10_000);
        for number in 0..100 {
            assert!(!conn.cmd(&format!("SECKILL.RESTOCK k 1 REQ r{number}")).is_error());
        }
        assert_eq!(conn.call("UNLINK k"), "1");
        for user in 0..50 {
            let grant = conn.cmd(&format!("SECKILL.GRAB held u{round}:{user}"));
            assert_eq!(grant.items()[3].text(), "HELD");
        }
        let freed = || server.info("memory", "lazyfreed_objects") == round.to_string();
        wait_until("another thread has freed the sale", freed);
        assert_eq!(sales(&server), "1");
    }
    wait_for_no_holds(&server, "held");
    assert_eq!(counter(&mut conn, "held", "expired"), 150);
    server.assert_sound("held");
}

/// Another thread of the server frees large sales. Then memory and the number of sales are as
/// before.
#[test]
fn deleted_sales_are_freed() {
    let (server, mut conn) = Options::new().line("latency-tracking no").start().with_conn();
    let used =
        |conn: &mut Conn| -> f64 { conn.info("memory", "used_memory").parse().expect("bytes") };
    big(&mut conn, "warm", 20_000);
    assert_eq!(conn.call("DEL warm"), "1");
    let before = used(&mut conn);
    for how in ["DEL a b", "UNLINK a b", "FLUSHALL ASYNC", "FLUSHALL SYNC", "FLUSHDB ASYNC", "SET"]
    {
        big(&mut conn, "a", 50_000);
        big(&mut conn, "b", 1000);
        assert_eq!(sales(&server), "2");
        assert!(used(&mut conn) > before + 1_000_000.0);
        if how == "SET" {
            conn.check(&[("SET a x", "+OK"), ("SET b x", "+OK"), ("DEL a b", "2")]);
        } else {
            assert!(!conn.cmd(how).is_error(), "{how}");
        }
        wait_until(&format!("{how} frees the sales"), || sales(&server) == "0");
        wait_until(&format!("{how} frees their memory"), || used(&mut conn) < before + 100_000.0);
    }
}

fn listener(server: &Server, pattern: &str) -> Conn {
    assert_eq!(server.call("CONFIG SET notify-keyspace-events KEd"), "+OK");
    let mut conn = server.conn();
    assert_eq!(
        conn.call(&format!("PSUBSCRIBE {pattern}")),
        format!("['psubscribe' '{pattern}' 1]")
    );
    conn
}

/// The events since the last call: the end of the channel, and the message. `number` marks the end
/// of this call, because a replica also gets messages that are published on its primary.
fn events(listener: &mut Conn, server: &Server, channel: &str, number: usize) -> Vec<String> {
    let end = format!("end of look {number} in {}", server.port());
    server.conn().ask(&["PUBLISH", &format!("{channel}end"), &end]);
    let mut events = Vec::new();
    loop {
        let message = listener.read().expect("a message");
        let (place, what) = (message.items()[2].text(), message.items()[3].text());
        let place = place.trim_start_matches(channel).to_owned();
        match place == "end" {
            true if what == end => return events,
            true => {}
            false => events.push(format!("{place} {what}")),
        }
    }
}

const SESSION: [(&str, &[&str]); 17] = [
    ("SECKILL.INIT k 2 LIMIT 0", &["seckill.init"]),
    ("SECKILL.INIT k 2 LIMIT 0", &[]),
    ("SECKILL.GRAB k a", &["seckill.grant"]),
    ("SECKILL.GRAB k b REQ o", &["seckill.grant", "seckill.soldout"]),
    ("SECKILL.GRAB k b REQ o", &[]),
    ("SECKILL.GRAB k c", &[]),
    ("SECKILL.RESTOCK k -1 REQ r0", &["seckill.restock"]),
    ("SECKILL.RESTOCK k 3 REQ r1", &["seckill.restock", "seckill.available"]),
    ("SECKILL.RESTOCK k 3 REQ r1", &[]),
    ("SECKILL.RESTOCK k -1 REQ r2", &["seckill.restock"]),
    ("SECKILL.PAUSE k", &["seckill.pause"]),
    ("SECKILL.PAUSE k", &[]),
    ("SECKILL.RESUME k", &["seckill.resume"]),
    ("SECKILL.ALTER k LIMIT 5", &["seckill.alter"]),
    ("SECKILL.ALTER k LIMIT 5", &[]),
    ("SECKILL.RESTOCK k -9 REQ r3", &["seckill.restock", "seckill.soldout"]),
    ("SECKILL.INIT empty 0", &["seckill.init"]),
];

/// Holds: each stock transition is notified once, for every way of the units.
const HOLDS: [(&str, &[&str]); 18] = [
    ("SECKILL.INIT h 2 LIMIT 0 HOLD 900000", &["seckill.init"]),
    ("SECKILL.GRAB h a REQ o", &["seckill.grant"]),
    ("SECKILL.GRAB h b", &["seckill.grant", "seckill.allheld"]),
    ("SECKILL.GRAB h c", &[]),
    ("SECKILL.EXTEND h b 950000", &["seckill.extend"]),
    ("SECKILL.EXTEND h b 1", &[]),
    ("SECKILL.CONFIRM h a", &["seckill.confirm"]),
    ("SECKILL.CONFIRM h a", &[]),
    ("SECKILL.CANCEL h b", &["seckill.cancel", "seckill.available"]),
    ("SECKILL.CANCEL h c REQ never", &[]),
    ("SECKILL.GRAB h d", &["seckill.grant", "seckill.allheld"]),
    ("SECKILL.CONFIRM h d", &["seckill.confirm", "seckill.soldout"]),
    ("SECKILL.IMPORT h e 1 REQ i", &["seckill.import"]),
    ("SECKILL.REFUND h a", &["seckill.refund"]),
    ("SECKILL.REFUND h d", &["seckill.refund", "seckill.available"]),
    ("SECKILL.GRAB h f", &["seckill.grant", "seckill.allheld"]),
    ("SECKILL.RESTOCK h 1 REQ r", &["seckill.restock", "seckill.available"]),
    ("SECKILL.RESTOCK h -1 REQ r2", &["seckill.restock", "seckill.allheld"]),
];

/// Grants that are returned in part.
const PARTS: [(&str, &[&str]); 8] = [
    ("SECKILL.INIT p 4 LIMIT 0 HOLD 900000", &["seckill.init"]),
    ("SECKILL.GRAB p a QTY 4 REQ o", &["seckill.grant", "seckill.allheld"]),
    ("SECKILL.CANCEL p a REQ o KEEP 3", &["seckill.trim", "seckill.available"]),
    ("SECKILL.CANCEL p a REQ o KEEP 3", &[]),
    ("SECKILL.CONFIRM p a REQ o KEEP 2", &["seckill.confirm"]),
    ("SECKILL.GRAB p b QTY 2", &["seckill.grant", "seckill.allheld"]),
    ("SECKILL.REFUND p a REQ o KEEP 1", &["seckill.trim", "seckill.available"]),
    ("SECKILL.REFUND p a REQ o KEEP 2", &[]),
];

#[test]
fn watchers_are_told_of_every_change_and_of_nothing_else() {
    let (server, replica) = Server::pair();
    let mut by_key = listener(&server, "__keyspace@0__:*");
    let mut by_event = listener(&server, "__keyevent@0__:*");
    let mut on_replica = listener(&replica, "__keyspace@0__:*");
    for (number, (line, expected)) in SESSION.into_iter().chain(HOLDS).chain(PARTS).enumerate() {
        let key = line.split(' ').nth(1).expect("a key");
        assert!(!server.cmd(line).is_error(), "{line}");
        let of_key: Vec<String> = expected.iter().map(|event| format!("{key} {event}")).collect();
        let seen = events(&mut by_key, &server, "__keyspace@0__:", number);
        assert_eq!(seen, of_key, "after {line}");
        let of_event: Vec<String> = expected.iter().map(|event| format!("{event} {key}")).collect();
        let seen = events(&mut by_event, &server, "__keyevent@0__:", number);
        assert_eq!(seen, of_event, "after {line}");
        replica.wait_in_sync(&server);
        let seen = events(&mut on_replica, &replica, "__keyspace@0__:", number);
        assert_eq!(seen, of_key, "on the replica after {line}");
    }
}

/// Events come after the change: a listener that reads at once sees the new state.
#[test]
fn an_event_comes_after_the_change() {
    let server = Server::start();
    assert_eq!(server.call("SECKILL.INIT k 1"), "+OK");
    let mut listener = listener(&server, "__keyevent@0__:seckill.soldout");
    let mut buyer = server.conn();
    buyer.send(&["SECKILL.GRAB", "k", "a"]).expect("the server takes a command");
    let message = listener.read().expect("a message");
    assert_eq!(message.items()[3].text(), "k");
    assert_eq!(server.cmd("SECKILL.STATUS k").field("state").text(), "soldout");
    assert_eq!(buyer.read().expect("a reply").to_string(), "['GRANTED' 1 1 'SOLD' 0 0]");
}

/// A batch of background expiry is notified once, on the primary and its replica, also if each hold
/// has an entry.
#[test]
fn watchers_are_told_once_of_a_batch() {
    let server = Server::sleeping();
    let replica = Server::start();
    replica.follow(&server);
    let mut conn = server.conn();
    assert_eq!(conn.call("SECKILL.INIT k 3 HOLD 50 OUTBOX s"), "+OK");
    let mut here = listener(&server, "__keyspace@0__:*");
    let mut there = listener(&replica, "__keyspace@0__:*");
    conn.cmd("SECKILL.GRAB k a");
    let last_due = conn.cmd("SECKILL.GRAB k b").items()[4].int();
    wait_until("both are due", || conn.clock_ms() >= last_due);
    assert_eq!(conn.call("CONFIG SET seckill.sweep-interval-ms 10"), "+OK");
    wait_until("both have run out", || server.info("seckill", "seckill_holds") == "0");
    replica.wait_in_sync(&server);
    let expected = ["k seckill.grant", "k seckill.grant", "k seckill.expire"];
    assert_eq!(events(&mut here, &server, "__keyspace@0__:", 0), expected);
    assert_eq!(events(&mut there, &replica, "__keyspace@0__:", 0), expected);
}

/// Expiries are notified on the primary and its replica.
#[test]
fn watchers_are_told_when_the_clock_gives_back() {
    let (server, replica) = Server::pair();
    assert_eq!(server.call("SECKILL.INIT k 2 HOLD 250 LIMIT 0"), "+OK");
    let mut here = listener(&server, "__keyspace@0__:*");
    let mut there = listener(&replica, "__keyspace@0__:*");
    assert_eq!(server.conn().cmd("SECKILL.GRAB k a QTY 2").items()[0].text(), "GRANTED");
    wait_until("it has run out", || server.info("seckill", "seckill_holds") == "0");
    replica.wait_in_sync(&server);
    let expected =
        ["k seckill.grant", "k seckill.allheld", "k seckill.expire", "k seckill.available"];
    assert_eq!(events(&mut here, &server, "__keyspace@0__:", 0), expected);
    assert_eq!(events(&mut there, &replica, "__keyspace@0__:", 0), expected);
}
