//! Very many holds fall due in one millisecond. All expire, and other clients get answers
//! meanwhile.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use seckill_model::shorthand::effect;

use crate::support::bulk::grow;
use crate::support::shop::{assert_whole, counter, entries, number};
use crate::support::valgrind::slowed;
use crate::support::{wait_until, Conn, Options, Server};

/// Number of PINGs to the idle server.
const IDLE_PINGS: u64 = 1000;
/// Milliseconds from the first INIT to the deadline of all holds; filling must end before.
const HOLD_MS: u32 = 4000;

/// Holds that fall due in one millisecond.
#[derive(Clone, Copy, Debug)]
pub struct Crowd {
    /// Number of sales.
    pub sales: usize,
    /// Holds of each sale.
    pub holds: usize,
    /// Whether the sales have an outbox.
    pub outbox: bool,
}

/// Response times of other clients.
pub struct Fared {
    /// Microseconds of each PING to the idle server.
    idle: Histogram<u64>,
    /// Microseconds of each PING while holds expired.
    pub pings: Histogram<u64>,
    /// Milliseconds from the deadline to the expiry of the last hold.
    pub settled_ms: i64,
}

impl Fared {
    /// The p99.9 of PINGs above that of the idle server, in microseconds.
    pub fn p999_above_idle_us(&self) -> u64 {
        let [idle, meanwhile] = [&self.idle, &self.pings].map(|took| took.value_at_quantile(0.999));
        meanwhile.saturating_sub(idle)
    }
}

/// Sends a PING every millisecond from the deadline until `stopped`.
fn ping(server: &Server, deadline: i64, stopped: &AtomicBool) -> Histogram<u64> {
    let mut conn = server.conn();
    wait_until("the deadline is here", || conn.clock_ms() >= deadline);
    ping_while(&mut conn, |_| !stopped.load(Ordering::SeqCst))
}

/// Sends a PING every millisecond while `goes_on` is true for the number of PINGs so far.
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

/// Creates the sales and their holds. Returns the deadline of all holds.
fn fill(conn: &mut Conn, crowd: Crowd) -> i64 {
    let mut deadline = None;
    for sale in 0..crowd.sales {
        let key = format!("k{sale}");
        let told = if crowd.outbox { format!("OUTBOX s{sale}") } else { String::new() };
        assert_eq!(conn.call(&format!("SECKILL.INIT {key} 1000000 LIMIT 0 {told}")), "+OK");
        let created = number(conn, &key, "created_at");
        let deadline = *deadline.get_or_insert(created + i64::from(slowed(HOLD_MS)));
        let span = deadline - created;
        grow(conn, &key, 0, crowd.holds, |number| effect(&format!("Gd{span}:user:{number}")));
    }
    let deadline = deadline.expect("a sale");
    assert!(conn.clock_ms() < deadline, "filled before the deadline");
    deadline
}

/// Lets a crowd of holds expire beside a client that sends PINGs. Batches have the largest size, so
/// only the time limit of a batch bounds them.
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

/// A debug build on a busy machine is slow. So this test only checks that PINGs get answers all the
/// time, and that none waits for half of it.
#[test]
fn others_are_served_while_many_holds_fall_due() {
    for (sales, holds, outbox) in [(1, 10_000, false), (1, 10_000, true), (50, 200, true)] {
        let fared = fall_due(Crowd { sales, holds, outbox });
        assert!(fared.pings.len() >= 4, "{} PINGs were answered", fared.pings.len());
        let half_us = fared.settled_ms as u64 * 1000 / 2;
        assert!(fared.pings.max() < half_us, "a PING took {} us", fared.pings.max());
    }
}
