//! A writer that is killed with -9 at any point loses no order and stores none twice.

use std::process::Child;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use redis::{Connection, Value};
use seckill_harness::{wait_until, Random};

use super::proxy::{self, Killer};
use super::shop::{Order, Shop, Unit};
use crate::program::{seckill, Running};

/// A full run has at least this many messages; the first twenty or so create tables and group.
const POINTS_AT_LEAST: u64 = 40;
const CLAIM_AFTER_MS: &str = "60";

#[test]
#[ignore = "takes MariaDB: make orders-test"]
fn mariadb_killed_at_every_point() {
    killed_at_every_point(&Shop::with_mariadb());
}

#[test]
#[ignore = "takes MySQL 9.7: make orders-test"]
fn mysql_killed_at_every_point() {
    killed_at_every_point(&Shop::with_mysql());
}

#[test]
#[ignore = "takes PostgreSQL: make orders-test"]
fn postgres_killed_at_every_point() {
    killed_at_every_point(&Shop::with_postgres());
}

#[test]
#[ignore = "takes MariaDB: make orders-test"]
fn mariadb_killed_at_random() {
    killed_at_random(&Shop::with_mariadb());
}

#[test]
#[ignore = "takes MySQL 9.7: make orders-test"]
fn mysql_killed_at_random() {
    killed_at_random(&Shop::with_mysql());
}

#[test]
#[ignore = "takes PostgreSQL: make orders-test"]
fn postgres_killed_at_random() {
    killed_at_random(&Shop::with_postgres());
}

/// With each message that a writer sends to either server, it is killed once before the message
/// arrives and once after. Then a writer of another name, or of this name, finishes the work.
fn killed_at_every_point(shop: &Shop) {
    let killer = Arc::new(Killer::default());
    let redis_port = proxy::before(&shop.redis_socket(), &killer);
    let database_port = proxy::before(&shop.database_socket(), &killer);
    let (redis_url, database_url) =
        (format!("redis://127.0.0.1:{redis_port}/"), shop.database_at(database_port));
    let mut redis = shop.connect();
    for after in [false, true] {
        for point in 1.. {
            let key = format!("sale:{point}:{after}");
            sell(&mut redis, &key, "NUMBERED");
            killer.aim(point, after);
            killer.victim(writer(&redis_url, &database_url, &key, "first").spawn().unwrap());
            let stream = format!("{key}:orders");
            wait_until("it is killed or done", || killer.killed() || is_done(&mut redis, &stream));
            let killed = killer.killed();
            killer.end();
            // If the kill was after the message, the finisher has the dead reader's name, else
            // another name.
            let name = if after { "first" } else { "second" };
            let (to, from) = (shop.database_url(), shop.redis_url());
            let finisher = Running::start(writer(&from, &to, &key, name));
            wait_until("the rest is done", || is_done(&mut redis, &stream));
            assert_equal(shop, &mut redis, &key);
            assert_eq!(finisher.end("TERM").code(), Some(0));
            if !killed {
                println!("{} points, after: {after}", point - 1);
                assert!(point > POINTS_AT_LEAST, "{point} points");
                break;
            }
        }
    }
}

/// Two writers share the work of a running sale, and one of them is killed again and again.
fn killed_at_random(shop: &Shop) {
    let key = "sale:random";
    let stream = format!("{key}:orders");
    let mut redis = shop.connect();
    let line = format!("SECKILL.INIT {key} 1000000 LIMIT 0 HOLD 60000 OUTBOX {stream}");
    ask(&mut redis, &line);
    let (over, sent) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut random = Random(0x5EC_0111);
    thread::scope(|scope| {
        for _ in 0..2 {
            let connection = shop.connect();
            scope.spawn(|| buy(connection, key, &sent, &over));
        }
        let (from, to) = (shop.redis_url(), shop.database_url());
        let start = |name: &str| writer(&from, &to, key, name).spawn().unwrap();
        let mut writers = [start("a"), start("b")];
        let until = Instant::now() + Duration::from_secs(10);
        let mut kills = 0;
        while Instant::now() < until {
            // A random pause: the test tries random moments of the kill, and waits for no
            // condition.
            thread::sleep(Duration::from_millis(random.below(120)));
            let (at, name) = [(0, "a"), (1, "b")][usize::from(random.below(2) == 1)];
            end(&mut writers[at]);
            writers[at] = start(name);
            kills += 1;
        }
        over.store(true, Ordering::SeqCst);
        writers.iter_mut().for_each(end);
        println!("{kills} kills, {} commands", sent.load(Ordering::SeqCst));
    });
    let last = Running::start(writer(&shop.redis_url(), &shop.database_url(), key, "a"));
    // The number of entries left depends on the sales, and their speed on the disk.
    let mut before = left(&mut redis, &stream);
    while before != DONE {
        let goes_on = format!("it goes on: {before:?} to be acknowledged and to be delivered");
        wait_until(&goes_on, || left(&mut redis, &stream) != before);
        before = left(&mut redis, &stream);
    }
    assert_equal(shop, &mut redis, key);
    let (status, text) = last.get("/metrics");
    assert_eq!((status, last.get("/health").0), (200, 200));
    let row = format!("seckill_orders_up{{stream=\"{stream}\"}} 1");
    assert!(text.contains(&row), "{text}");
    assert_eq!(last.end("TERM").code(), Some(0));
}

fn end(child: &mut Child) {
    child.kill().expect("it is killed");
    child.wait().expect("it ends");
}

pub fn writer(redis: &str, database: &str, key: &str, name: &str) -> std::process::Command {
    let stream = format!("{key}:orders");
    let words = ["orders", "--redis", redis, "--database", database, "--stream", &stream];
    let mut program = seckill(&words);
    program.args(["--name", name, "--batch", "5", "--claim-after-ms", CLAIM_AFTER_MS]);
    program
}

/// Sixteen entries: grants that are paid, given back, refunded, held, and sold out.
pub fn sell(redis: &mut Connection, key: &str, terms: &str) {
    ask(redis, &format!("SECKILL.INIT {key} 6 {terms} HOLD 60000 OUTBOX {key}:orders"));
    for user in 1..=6 {
        ask(redis, &format!("SECKILL.GRAB {key} user-{user} REQ r{user}"));
    }
    for line in ["CONFIRM 1", "CONFIRM 2", "CANCEL 3", "CONFIRM 4", "REFUND 4", "EXTEND 5 70000"] {
        let mut words = line.split(' ');
        let (verb, user) = (words.next().unwrap(), words.next().unwrap());
        let rest: Vec<&str> = words.collect();
        ask(redis, &format!("SECKILL.{verb} {key} user-{user} {}", rest.join(" ")));
    }
}

fn buy(mut redis: Connection, key: &str, sent: &AtomicU64, over: &AtomicBool) {
    while !over.load(Ordering::SeqCst) {
        let at = sent.fetch_add(1, Ordering::SeqCst);
        ask(&mut redis, &format!("SECKILL.GRAB {key} u{} REQ r{at}", at % 100));
        let verb = ["CONFIRM", "CANCEL", "CONFIRM"][at as usize % 3];
        ask(&mut redis, &format!("SECKILL.{verb} {key} u{} REQ r{at}", at % 100));
        // The database is slower than Redis, and the test needs kills, not many entries.
        thread::sleep(Duration::from_millis(2));
    }
}

#[track_caller]
pub fn ask(redis: &mut Connection, line: &str) -> Value {
    let mut command = redis::Cmd::new();
    for word in line.split_whitespace() {
        command.arg(word);
    }
    command.query(redis).unwrap_or_else(|e| panic!("{line}: {e}"))
}

/// XPENDING and lag of a stream whose entries are all delivered and acknowledged.
const DONE: Option<[Value; 2]> = Some([Value::Int(0), Value::Int(0)]);

/// Whether all entries are delivered and acknowledged.
pub fn is_done(redis: &mut Connection, stream: &str) -> bool {
    left(redis, stream) == DONE
}

/// Whether all entries are delivered.
pub fn is_read(redis: &mut Connection, stream: &str) -> bool {
    left(redis, stream).is_some_and(|[_, lag]| lag == Value::Int(0))
}

/// The number of entries that are not acknowledged, and that are not delivered.
fn left(redis: &mut Connection, stream: &str) -> Option<[Value; 2]> {
    let groups: Vec<Vec<Value>> =
        redis::cmd("XINFO").arg("GROUPS").arg(stream).query(redis).ok()?;
    let [group] = groups.as_slice() else { return None };
    let number = |name: &str| {
        let name = Value::BulkString(name.as_bytes().to_vec());
        let pair = group.chunks_exact(2).find(|pair| pair[0] == name);
        pair.map(|pair| pair[1].clone())
    };
    Some([number("pending")?, number("lag")?])
}

/// The database has each entry once and each grant as Redis has it.
#[track_caller]
pub fn assert_equal(shop: &Shop, redis: &mut Connection, key: &str) {
    let Value::BulkString(text) = ask(redis, &format!("SECKILL.STATUS {key} JSON")) else {
        panic!("no status");
    };
    let status: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
    let (id, rev) = (status["id"].as_str().expect("an id"), status["rev"].as_u64().unwrap());
    assert_eq!(shop.entries(id), (rev, rev, rev), "{key}");
    let (orders, units) = winners(redis, key);
    assert_eq!(shop.orders(id), orders, "{key}");
    assert_eq!(shop.units(id), units, "{key}");
}

/// All grants, and the numbers of those that are live.
fn winners(redis: &mut Connection, key: &str) -> (Vec<Order>, Vec<Unit>) {
    type Row = (u64, Vec<u8>, u64, Vec<u8>, u64, u64, Option<Vec<u8>>, u64);
    let (mut all, mut units, mut cursor) = (Vec::new(), Vec::new(), 0_u64);
    loop {
        let reply = ask(redis, &format!("SECKILL.WINNERS {key} {cursor} COUNT 1000 STATE ALL"));
        let (next, rows): (u64, Vec<Vec<Value>>) = redis::from_redis_value(reply).expect("rows");
        for mut row in rows {
            let numbers: Vec<u64> = match row.get(9) {
                Some(numbers) => redis::from_redis_value(numbers.clone()).expect("numbers"),
                None => Vec::new(),
            };
            row.truncate(8);
            let row: Row = redis::from_redis_value(Value::Array(row)).expect("a row");
            let (seq, user, qty, state, at, deadline, req, born) = row;
            if matches!(state.as_slice(), b"HELD" | b"SOLD") {
                units.extend(numbers.iter().map(|number| (*number, seq, born, state.clone())));
            }
            all.push((seq, user, qty, state, at, deadline, req.unwrap_or_default(), born));
        }
        if next == 0 {
            units.sort();
            return (all, units);
        }
        cursor = next;
    }
}
