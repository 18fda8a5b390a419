//! Very many holds that fall due in the same millisecond: all are settled, and others are served
//! meanwhile.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use seckill_oracle::shorthand::effect;

use crate::support::bulk::grow;
use crate::support::shop::{assert_whole, counter, entries, number};
use crate::support::{wait_until, Conn, Options, Server};

/// PINGs that show how an idle server answers.
const IDLE_PINGS: u64 = 1000;
/// How long after the first INIT all holds are due: filling must be over by then.
const HOLD_MS: i64 = 4000;

/// Many holds that fall due in the same millisecond.
#[derive(Clone, Copy, Debug)]
pub struct Crowd {
    /// Sales that the holds are spread over.
    pub sales: usize,
    /// Holds of each sale.
    pub holds: usize,
    /// Whether every expiry appends an entry too.
    pub outbox: bool,
}

/// How others fared meanwhile.
pub struct Fared {
    /// Microseconds that each PING took while nothing else was done.
    idle: Histogram<u64>,
    /// Microseconds that each PING took meanwhile.
    pub pings: Histogram<u64>,
    /// How long after their deadline the last hold was settled, in ms.
    pub settled_ms: i64,
}

impl Fared {
    /// How much longer than in an idle server one PING of a thousand took, in microseconds.
    pub fn p999_above_idle_us(&self) -> u64 {
        let [idle, meanwhile] = [&self.idle, &self.pings].map(|took| took.value_at_quantile(0.999));
        meanwhile.saturating_sub(idle)
    }
}

/// Sends a PING every millisecond, from the deadline on until `stopped`.
fn ping(server: &Server, deadline: i64, stopped: &AtomicBool) -> Histogram<u64> {
    let mut conn = server.conn();
    wait_until("the deadline is here", || conn.clock_ms() >= deadline);
    ping_while(&mut conn, |_| !stopped.load(Ordering::SeqCst))
}

/// Sends a PING every millisecond while `goes_on`, which is given the number sent, says so.
fn ping_while(conn: &mut Conn, goes_on: impl Fn(u64) -> bool) -> Histogram<u64> {
    let mut took = Histogram::new(3).expect("a histogram");
    while goes_on(took.len()) {
        let sent = Instant::now();
        assert_eq!(conn.call("PING"), "+PONG");
        took.record(sent.elapsed().as_micros() as u64).expect("a latency");
        thread::sleep(Duration::from_millis(1).saturating_sub(sent.elapsed()));
    }
    took
}

/// Makes the sales and their holds; returns the deadline of all of them.
fn fill(conn: &mut Conn, crowd: Crowd) -> i64 {
    let mut deadline = None;
    for sale in 0..crowd.sales {
        let key = format!("k{sale}");
        let told = if crowd.outbox { format!("OUTBOX s{sale}") } else { String::new() };
        assert_eq!(conn.call(&format!("SECKILL.INIT {key} 1000000 LIMIT 0 {told}")), "+OK");
        let created = number(conn, &key, "created_at");
        let deadline = *deadline.get_or_insert(created + HOLD_MS);
        let span = deadline - created;
        grow(conn, &key, 0, crowd.holds, |number| effect(&format!("Gd{span}:user:{number}")));
    }
    let deadline = deadline.expect("a sale");
    assert!(conn.clock_ms() < deadline, "filled before the deadline");
    deadline
}

/// Lets a crowd of holds fall due beside a client that sends PINGs. Batches are as large as can be,
/// so that it is their time that bounds them.
pub fn fall_due(crowd: Crowd) -> Fared {
    let server = Options::new().module_args("sweep-batch 100000").start();
    let replica = Server::start();
    replica.follow(&server);
    let mut conn = server.conn();
    let idle = ping_while(&mut conn, |sent| sent < IDLE_PINGS);
    let deadline = fill(&mut conn, crowd);
    let stopped = AtomicBool::new(false);
    let fared = thread::scope(|scope| {
        let pinger = scope.spawn(|| ping(&server, deadline, &stopped));
        wait_until("all are settled", || server.info("seckill", "seckill_holds") == "0");
        let settled_ms = conn.clock_ms() - deadline;
        stopped.store(true, Ordering::SeqCst);
        Fared { idle, pings: pinger.join().expect("the pinger"), settled_ms }
    });
    print_distribution(crowd, &fared);
    replica.wait_in_sync(&server);
    for sale in 0..crowd.sales {
        assert_settled(&server, &replica, sale, crowd);
    }
    replica.assert_took_all();
    fared
}

#[track_caller]
fn assert_settled(server: &Server, replica: &Server, sale: usize, crowd: Crowd) {
    let (key, stream, mut conn) = (format!("k{sale}"), format!("s{sale}"), server.conn());
    assert_eq!(counter(&mut conn, &key, "expired"), crowd.holds as i64);
    assert_eq!(number(&mut conn, &key, "available"), 1_000_000);
    assert_eq!(replica.digest(&key), server.digest(&key));
    server.assert_sound(&key);
    if crowd.outbox {
        assert_eq!(replica.digest(&stream), server.digest(&stream));
        let all = entries(&mut conn, &stream);
        assert_whole(&all);
        assert_eq!(all.len(), 1 + 2 * crowd.holds, "INIT, and a GRANT and an EXPIRE each");
    }
}

fn print_distribution(crowd: Crowd, fared: &Fared) {
    let (pings, ms) = (&fared.pings, |value: u64| value as f64 / 1000.0);
    let [half, ninety, p99, p999] =
        [0.5, 0.9, 0.99, 0.999].map(|quantile| ms(pings.value_at_quantile(quantile)));
    println!("{crowd:?} settled {} ms after the deadline", fared.settled_ms);
    println!("  p99.9 of PINGs before: {} ms", ms(fared.idle.value_at_quantile(0.999)));
    println!(
        "  {} PINGs meanwhile: p50 {half} ms, p90 {ninety} ms, p99 {p99} ms, p99.9 {p999} ms, \
         max {} ms",
        pings.len(),
        ms(pings.max())
    );
}

/// A debug build on a busy machine is slow in everything: what counts is that PINGs are answered
/// all the while, none of them waiting for half of it.
#[test]
fn others_are_served_while_many_holds_fall_due() {
    for (sales, holds, outbox) in [(1, 10_000, false), (1, 10_000, true), (50, 200, true)] {
        let fared = fall_due(Crowd { sales, holds, outbox });
        assert!(fared.pings.len() >= 4, "{} PINGs were answered", fared.pings.len());
        let half_us = fared.settled_ms as u64 * 1000 / 2;
        assert!(fared.pings.max() < half_us, "a PING took {} us", fared.pings.max());
    }
}
