//! Promotions while holds expire: a replica never expires a hold, a promoted replica continues
//! where its primary stopped, and nothing is lost.

use std::collections::HashMap;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::support::shop::{
    assert_whole, counter, entries, number, wait_for_clock, wait_for_no_holds,
};
use crate::support::valgrind::slowed;
use crate::support::{wait_until, Conn, Server};

#[track_caller]
fn assert_equal(one: &Server, other: &Server) {
    assert_eq!(one.digest("k"), other.digest("k"));
    assert_eq!(one.digest("s"), other.digest("s"));
    assert_eq!(one.picture("k"), other.picture("k"));
    for server in [one, other] {
        server.assert_took_all();
        server.assert_sound("k");
    }
}

pub fn signal(server: &Server, name: &str) {
    let pid = server.pid().to_string();
    let sent = Command::new("kill").args([name, &pid]).status();
    assert!(sent.is_ok_and(|status| status.success()), "kill {name}");
}

fn hold(conn: &mut Conn, count: usize) {
    for step in 0..count {
        let reply = conn.cmd(&format!("SECKILL.GRAB k u{step} REQ o"));
        assert_eq!(reply.items()[3].text(), "HELD");
    }
}

/// While its primary is stopped, a replica shows due holds as held.
#[test]
fn a_replica_lets_nothing_expire() {
    let (primary, replica) = Server::pair();
    let mut conn = primary.conn();
    let init = format!("SECKILL.INIT k 50 HOLD {} OUTBOX s", slowed(300));
    conn.check(&[(init.as_str(), "+OK")]);
    hold(&mut conn, 20);
    let due = conn.cmd("SECKILL.USER k u19").items()[2].items()[0].items()[5].int();
    replica.wait_in_sync(&primary);
    let digest = primary.digest("k");
    signal(&primary, "-STOP");
    let mut far = replica.conn();
    wait_for_clock(&mut far, due + 300);
    assert_eq!((number(&mut far, "k", "held"), replica.digest("k")), (20, digest));
    signal(&primary, "-CONT");
    wait_for_no_holds(&primary, "k");
    replica.wait_in_sync(&primary);
    assert_eq!(counter(&mut far, "k", "expired"), 20);
    assert_equal(&primary, &replica);
}

#[test]
fn a_promoted_replica_expires_what_its_primary_would_have() {
    let (mut primary, replica, last) = (Server::start(), Server::start(), Server::start());
    replica.follow(&primary);
    last.follow(&replica);
    let mut conn = primary.conn();
    conn.check(&[("SECKILL.INIT k 50 HOLD 1500 OUTBOX s", "+OK")]);
    hold(&mut conn, 20);
    for step in 0..10 {
        let settle = ["CONFIRM", "CANCEL"][step % 2];
        assert!(!conn.cmd(&format!("SECKILL.{settle} k u{step}")).is_error());
    }
    conn.cmd("SECKILL.EXTEND k u19 900000");
    let epoch = number(&mut conn, "k", "epoch");
    replica.wait_in_sync(&primary);
    last.wait_in_sync(&replica);
    primary.kill9();
    assert_eq!(replica.call("REPLICAOF NO ONE"), "+OK");
    let mut far = replica.conn();
    let deadline = number(&mut far, "k", "next_deadline");
    assert!(far.clock_ms() < deadline, "promoted in mid-hold");
    assert_eq!(number(&mut far, "k", "held"), 10);
    wait_until("all but the extended one ran out", || number(&mut far, "k", "held") == 1);
    for (name, count) in [("expired", 9), ("confirmed", 5), ("cancelled", 5)] {
        assert_eq!(counter(&mut far, "k", name), count, "{name}");
    }
    assert!(number(&mut far, "k", "epoch") > epoch, "another run, another epoch");
    last.wait_in_sync(&replica);
    assert_equal(&replica, &last);
    let all = entries(&mut far, "s");
    assert_whole(&all);
    assert_eq!(all.iter().filter(|entry| entry.number("epoch") > epoch).count(), 9);
}

/// An order's last answered state, and whether its last command got no answer.
type Told = (String, bool);

/// A buyer at the current primary.
fn buy(ports: [u16; 2], stopped: &AtomicBool, name: &str) -> HashMap<String, Told> {
    let mut told = HashMap::new();
    let mut conns = ports.map(|port| Conn::open(port).expect("a connection"));
    let mut step = 0;
    while !stopped.load(Ordering::SeqCst) {
        step += 1;
        let user = format!("{name}-{step}");
        for conn in &mut conns {
            let reply = conn.cmd(&format!("SECKILL.GRAB k {user} REQ o"));
            if reply.is_error() || reply.items()[0].text() != "GRANTED" {
                continue;
            }
            let before = told.insert(user.clone(), ("HELD".to_owned(), false));
            assert!(before.is_none(), "{user} was granted twice: the first grant was lost");
            let deed = ["CONFIRM", "CANCEL", "EXTEND"][step % 3];
            let span = if deed == "EXTEND" { "50" } else { "" };
            let reply = conn.cmd(&format!("SECKILL.{deed} k {user} {span}"));
            let last = match reply.is_error() {
                true => ("HELD".to_owned(), true),
                false => (reply.items()[0].text(), false),
            };
            told.insert(user.clone(), last);
        }
    }
    told
}

#[test]
fn a_failover_loses_nothing() {
    hand_over(4);
}

/// FAILOVER between two servers, back and forth, while holds fall due.
pub fn hand_over(rounds: usize) {
    let (one, two) = Server::pair();
    one.conn().check(&[("SECKILL.INIT k 1000000 HOLD 60 OUTBOX s", "+OK")]);
    let stopped = AtomicBool::new(false);
    let told = thread::scope(|scope| {
        let ports = [one.port(), two.port()];
        let buyers = ["a", "b"].map(|name| {
            let stopped = &stopped;
            scope.spawn(move || buy(ports, stopped, name))
        });
        for round in 0..rounds {
            let (from, to) = if round % 2 == 0 { (&one, &two) } else { (&two, &one) };
            let grants = number(&mut from.conn(), "k", "grants");
            wait_until("buyers are busy", || number(&mut from.conn(), "k", "grants") > grants + 50);
            let line = format!("FAILOVER TO 127.0.0.1 {}", to.port());
            assert_eq!(from.call(&line), "+OK");
            wait_until("the other is the primary", || {
                to.info("replication", "role") == "master"
                    && from.info("replication", "role") == "slave"
                    && from.info("replication", "master_link_status") == "up"
            });
        }
        stopped.store(true, Ordering::SeqCst);
        buyers.map(|buyer| buyer.join().expect("a buyer")).into_iter().flatten()
    });
    wait_for_no_holds(&one, "k");
    two.wait_in_sync(&one);
    assert_equal(&one, &two);
    let all = entries(&mut one.conn(), "s");
    assert_whole(&all);
    assert_eq!(all.len() as i64, number(&mut one.conn(), "k", "rev"));
    let rows = one.picture("k");
    let mut count = 0;
    for (user, (state, is_in_doubt)) in told {
        let row = rows.iter().find(|row| row.contains(&format!(" '{user}' ")));
        let row = row.unwrap_or_else(|| panic!("{user} is lost"));
        let state = if state == "HELD" { "EXPIRED" } else { &state };
        // A hold whose CONFIRM or CANCEL got no reply because of the failover may be settled.
        let cut_off = is_in_doubt && (row.contains("'SOLD'") || row.contains("'CANCELLED'"));
        assert!(row.contains(&format!("'{state}'")) || cut_off, "{user} was told {state}: {row}");
        count += 1;
    }
    assert!(count > 200, "{count} orders");
}
