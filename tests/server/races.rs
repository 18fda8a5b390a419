//! CANCEL, CONFIRM, REFUND, RECLAIM and expiry meet on the same orders from many connections. Each
//! unit comes back once, and every order follows the contract's transitions.

use std::collections::{HashMap, HashSet};
use std::thread;

use crate::support::shop::{
    assert_whole, counter, entries, number, state_of, wait_for_no_holds, Entry,
};
use crate::support::{Random, Server};

const CLIENTS: u64 = 8;

/// Transitions of an order: from a state, by a command, to a state.
const WAYS: [(&str, &str, &str); 8] = [
    ("", "GRANT", "HELD"),
    ("HELD", "EXTEND", "HELD"),
    ("HELD", "CONFIRM", "SOLD"),
    ("HELD", "CANCEL", "CANCELLED"),
    ("HELD", "EXPIRE", "EXPIRED"),
    ("SOLD", "REFUND", "REFUNDED"),
    ("EXPIRED", "RECLAIM", "SOLD"),
    ("EXPIRED", "RECLAIM-REFUSED", "EXPIRED for good"),
];

/// Follows every order through the entries and counts returned units.
fn follow(all: &[Entry]) -> HashMap<i64, String> {
    let mut states: HashMap<i64, String> = HashMap::new();
    for entry in all.iter().filter(|entry| entry.has("seq")) {
        let (seq, event) = (entry.number("seq"), entry.text("event"));
        let from = states.get(&seq).map_or("", String::as_str);
        let way = WAYS.iter().find(|way| way.0 == from && way.1 == event);
        let way = way.unwrap_or_else(|| panic!("seq {seq} went from {from} by {event}"));
        assert!(way.2.starts_with(entry.text("state")), "{entry:?}");
        states.insert(seq, way.2.to_owned());
    }
    states
}

/// Eight clients use the same orders, about `orders` at a time, while the orders' holds expire.
/// Returns the events that occurred.
pub fn race(orders: u64, steps: u64, seed: u64) -> HashSet<String> {
    let (server, replica) = Server::pair();
    let mut conn = server.conn();
    // Fewer units than buyers, so some grabs and some late payments find none.
    let supply = orders * 4;
    let init = format!("SECKILL.INIT k {supply} HOLD 15 LIMIT 1 OUTBOX s");
    assert_eq!(conn.call(&init), "+OK");
    thread::scope(|scope| {
        for number in 0..CLIENTS {
            let mut conn = server.conn();
            scope.spawn(move || {
                let mut random = Random(seed * 100 + number);
                for step in 0..steps {
                    // All clients use a few users at a time, and then the next ones.
                    let user = step / 4 + random.below(orders);
                    let line = match random.below(8) {
                        0 => format!("SECKILL.CONFIRM k u{user} REQ o"),
                        1 if step % 4 == 0 => format!("SECKILL.CANCEL k u{user} REQ o"),
                        2 => format!("SECKILL.REFUND k u{user} REQ o"),
                        3 => format!("SECKILL.CONFIRM k u{user} REQ o RECLAIM"),
                        4 => format!("SECKILL.EXTEND k u{user} 30 REQ o"),
                        5 => format!("SECKILL.CONFIRM k u{user} SEQ {} RECLAIM", 1 + step / 8),
                        _ => format!("SECKILL.GRAB k u{user} REQ o"),
                    };
                    let reply = conn.cmd(&line);
                    assert!(!reply.is_error(), "{line}: {reply}");
                }
            });
        }
    });
    wait_for_no_holds(&server, "k");
    let all = entries(&mut conn, "s");
    assert_whole(&all);
    let states = follow(&all);
    let sold = states.values().filter(|state| *state == "SOLD").count() as i64;
    assert_eq!(number(&mut conn, "k", "sold"), sold);
    assert_eq!(number(&mut conn, "k", "available"), supply as i64 - sold);
    assert_eq!(number(&mut conn, "k", "grants"), states.len() as i64);
    for (event, name) in [
        ("EXPIRE", "expired"),
        ("CANCEL", "cancelled"),
        ("REFUND", "refunded"),
        ("RECLAIM", "reclaimed"),
    ] {
        let count = all.iter().filter(|entry| entry.text("event") == event).count() as i64;
        assert_eq!(counter(&mut conn, "k", name), count, "{name}");
    }
    server.assert_sound("k");
    replica.assert_follows(&server, &["k", "s"]);
    all.iter().map(|entry| entry.text("event").to_owned()).collect()
}

#[test]
fn each_unit_returns_once() {
    // Which events occur depends on timing: races repeat until all have occurred.
    let mut seen = HashSet::new();
    for seed in 1..=20 {
        seen.extend(race(60, 1000, seed));
        if WAYS[..7].iter().all(|way| seen.contains(way.1)) {
            return;
        }
    }
    panic!("in twenty races only these took part: {seen:?}");
}

/// One order at its deadline: each client sends another command, and exactly one succeeds.
#[test]
fn one_order_is_settled_once() {
    let (server, mut conn) = Server::start().with_conn();
    assert_eq!(conn.call("SECKILL.INIT k 1 HOLD 25 OUTBOX s"), "+OK");
    for round in 0..40 {
        conn.cmd(&format!("SECKILL.GRAB k u{round} REQ o"));
        let told: Vec<[String; 2]> = thread::scope(|scope| {
            let settle = |deed| {
                let mut conn = server.conn();
                let line = format!("SECKILL.{deed} k u{round} REQ o");
                scope.spawn(move || [(); 2].map(|()| conn.cmd(&line).items()[0].text()))
            };
            let clients = ["CONFIRM", "CANCEL", "CONFIRM", "CANCEL"].map(settle);
            clients.into_iter().map(|client| client.join().expect("a client")).collect()
        });
        let stands = state_of(&mut conn, "k", &format!("u{round}"));
        assert!(told.iter().flatten().all(|state| *state == stands), "{stands}: {told:?}");
        conn.cmd(&format!("SECKILL.REFUND k u{round} REQ o"));
        assert_eq!(number(&mut conn, "k", "available"), 1, "round {round}");
    }
    follow(&entries(&mut conn, "s"));
    server.assert_sound("k");
}
