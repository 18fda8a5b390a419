//! The hourly event that once paid fifteen times its budget, as one sale: 500 connections and a
//! budget of 1,000,000 coins for each round. The sums agree in every read.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread;

use crate::support::shop::{number, wait_for_clock};
use crate::support::wait::SetAtEnd;
use crate::support::{wait_until, Conn, Random, Reply, Server};

const BUDGET: i64 = 1_000_000;
const CONNECTIONS: usize = 500;
const ROUNDS: i64 = 3;
/// Largest amount for one user.
const AMOUNT_MAX: u64 = 1_200;
/// Users of a connection; two connections ask for each user.
const USERS: usize = 80;
const PERIOD_MS: i64 = 3000;
const LASTS_MS: i64 = 2500;

/// The grants of a round and the numbers of STATUS, read in one transaction.
fn look(conn: &mut Conn, round: i64) -> (Reply, Vec<(String, i64, i64)>) {
    conn.check(&[("MULTI", "+OK"), ("SECKILL.STATUS k", "+QUEUED")]);
    let listed = conn.call(&format!("SECKILL.WINNERS k 0 COUNT 10000 ROUND {round}"));
    assert_eq!(listed, "+QUEUED");
    let both = conn.cmd("EXEC");
    let (status, page) = (both.items()[0].clone(), both.items()[1].clone());
    let mut rows: Vec<Reply> = page.items()[1].items().to_vec();
    // A round that has ended does not change, so it can be read page by page.
    let mut cursor = page.items()[0].int();
    assert!(cursor == 0 || status.field("round").int() > round, "a round fits a page");
    while cursor != 0 {
        let line = format!("SECKILL.WINNERS k {cursor} COUNT 10000 ROUND {round}");
        let page = conn.cmd(&line);
        rows.extend(page.items()[1].items().iter().cloned());
        cursor = page.items()[0].int();
    }
    let told = |row: &Reply| {
        assert_eq!(row.items()[8], Reply::Int(round), "{row}");
        (row.items()[1].text(), row.items()[2].int(), row.items()[0].int())
    };
    (status, rows.iter().map(told).collect())
}

/// The grants of one connection: seq, user and amount.
type Grants = Vec<(i64, String, i64)>;

/// Grabs for all users of this connection, each with an amount that the caller computed.
fn buy(conn: &mut Conn, number: usize, round: i64, paid: &AtomicI64) -> Grants {
    let mut random = Random(round as u64 * 1000 + number as u64);
    let mut grants = Grants::new();
    for step in 0..USERS {
        let (user, most) = (number / 2 * USERS + step, 1 + random.below(AMOUNT_MAX));
        let reply = conn.cmd(&format!("SECKILL.GRAB k u{user} UPTO {most}"));
        match reply.items()[0].text().as_str() {
            "GRANTED" => {
                let (seq, qty) = (reply.items()[1].int(), reply.items()[2].int());
                assert!((1..=most as i64).contains(&qty), "{reply}");
                paid.fetch_add(qty, Ordering::SeqCst);
                grants.push((seq, format!("u{user}"), qty));
            }
            "ALREADY" => {}
            "SOLDOUT" | "NOTOPEN" => break,
            other => panic!("{other}"),
        }
    }
    grants
}

/// Reads again and again while others buy: the budget is never exceeded, and every list adds up.
fn watch(conn: &mut Conn, round: i64, paid: &AtomicI64, stopped: &AtomicBool) -> u64 {
    let mut looks = 0;
    while !stopped.load(Ordering::SeqCst) {
        let before = paid.load(Ordering::SeqCst);
        let (status, rows) = look(conn, round);
        let listed: i64 = rows.iter().map(|(_, qty, _)| qty).sum();
        assert!(listed <= BUDGET, "{listed} of round {round}");
        assert!(before <= listed, "{before} were promised, {listed} are listed");
        if status.field("round").int() == round {
            assert_eq!(status.field("sold").int(), listed);
            assert_eq!(status.field("available").int(), BUDGET - listed);
            assert_eq!(status.field("winners").int(), rows.len() as i64, "one grant each");
        }
        looks += 1;
    }
    looks
}

/// One round of the event.
fn play(server: &Server, conns: &mut [Conn], round: i64) {
    let (paid, stopped) = (AtomicI64::new(0), AtomicBool::new(false));
    let (grants, looks) = thread::scope(|scope| {
        let (paid, stopped) = (&paid, &stopped);
        let watcher = scope.spawn(move || watch(&mut server.conn(), round, paid, stopped));
        let ended = SetAtEnd(stopped);
        let buyers: Vec<_> = conns
            .iter_mut()
            .enumerate()
            .map(|(number, conn)| scope.spawn(move || buy(conn, number, round, paid)))
            .collect();
        let grants: Grants =
            buyers.into_iter().flat_map(|buyer| buyer.join().expect("a buyer")).collect();
        drop(ended);
        (grants, watcher.join().expect("the watcher"))
    });
    let (_, rows) = look(&mut server.conn(), round);
    let listed: HashMap<i64, (String, i64)> =
        rows.into_iter().map(|(user, qty, seq)| (seq, (user, qty))).collect();
    let users: HashSet<&String> = listed.values().map(|(user, _)| user).collect();
    assert_eq!(users.len(), listed.len(), "one grant per user and round");
    // On a slow machine a grant may belong to the next round.
    let mine: Vec<_> = grants.iter().filter(|(seq, ..)| listed.contains_key(seq)).collect();
    assert_eq!(mine.len(), listed.len(), "whoever is listed was told");
    assert!(mine.iter().all(|(seq, user, qty)| listed[seq] == (user.clone(), *qty)));
    let total: i64 = listed.values().map(|(_, qty)| qty).sum();
    let told = paid.into_inner();
    println!("round {round}: {told} told, {total} listed, {} users, {looks} looks", users.len());
    assert!(total <= BUDGET && looks > 0);
    let is_alone = mine.len() == grants.len();
    assert!(!is_alone || total == told, "replies say {told}, the list {total}");
}

#[test]
fn five_hundred_connections_never_overspend_a_round() {
    let (server, mut conn) = Server::start().with_conn();
    let first = conn.clock_ms() + 1000;
    let offset = first - 1000 * PERIOD_MS;
    let terms = format!("LIMIT 0 GRABS 1 EVERY {PERIOD_MS} OFFSET {offset} LASTS {LASTS_MS}");
    assert_eq!(conn.call(&format!("SECKILL.INIT k {BUDGET} {terms}")), "+OK");
    let mut conns: Vec<Conn> = (0..CONNECTIONS).map(|_| server.conn()).collect();
    let from = 1000 + (conn.clock_ms() - first).max(-1) / PERIOD_MS + 1;
    for round in from..from + ROUNDS {
        let start = first + (round - 1000) * PERIOD_MS;
        assert!(conn.clock_ms() < start + LASTS_MS, "the machine is too slow for the rounds");
        wait_for_clock(&mut conn, start);
        wait_until("the round has begun", || number(&mut conn, "k", "round") >= round);
        play(&server, &mut conns, round);
        server.assert_sound("k");
    }
    let totals = conn.cmd("SECKILL.ROUNDS k");
    for total in totals.items() {
        let sold = total.items()[2].int();
        assert!(sold <= BUDGET, "{total}");
    }
    let spent = totals.items().iter().filter(|total| total.items()[2].int() == BUDGET).count();
    assert!(spent >= 2, "rounds were spent to the last coin: {totals}");
}
