//! Very many holds that fall due in the same millisecond: all are settled, and others are served
//! meanwhile.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use crate::support::bulk::grow;
use crate::support::shop::{assert_whole, clock_ms, counter, entries, number};
use crate::support::{wait_until, Server};

/// How long after INIT all holds are due: filling must be over by then.
const HOLD_MS: i64 = 4000;

/// Microseconds that each PING took, one sent every millisecond from shortly before the deadline
/// until `stopped`.
fn ping(server: &Server, deadline: i64, stopped: &AtomicBool) -> Histogram<u64> {
    let mut took = Histogram::new(3).expect("a histogram");
    let mut conn = server.conn();
    wait_until("the deadline is near", || clock_ms(&mut conn) >= deadline - 20);
    while !stopped.load(Ordering::SeqCst) {
        let sent = Instant::now();
        assert_eq!(conn.call("PING"), "+PONG");
        took.record(sent.elapsed().as_micros() as u64).expect("a latency");
        thread::sleep(Duration::from_millis(1).saturating_sub(sent.elapsed()));
    }
    took
}

/// Lets `holds` of one sale fall due at once beside a client that sends PINGs; tells how those
/// fared. `outbox`: every expiry appends an entry too.
pub fn fall_due(holds: usize, outbox: bool) -> Histogram<u64> {
    let (server, replica) = (Server::start(), Server::start());
    replica.follow(&server);
    let mut conn = server.conn();
    let told = if outbox { "OUTBOX s" } else { "" };
    assert_eq!(conn.call(&format!("SECKILL.INIT k 1000000 LIMIT 0 {told}")), "+OK");
    grow(&mut conn, "k", 0, holds, |number| format!("Gd{HOLD_MS}:user:{number}"));
    let deadline = number(&mut conn, "k", "next_deadline");
    assert!(clock_ms(&mut conn) < deadline, "filled before the deadline");
    let stopped = AtomicBool::new(false);
    let took = thread::scope(|scope| {
        let pinger = scope.spawn(|| ping(&server, deadline, &stopped));
        wait_until("all are settled", || server.info("seckill", "seckill_holds") == "0");
        let late = clock_ms(&mut conn) - deadline;
        println!("{holds} holds settled {late} ms after their deadline");
        stopped.store(true, Ordering::SeqCst);
        pinger.join().expect("the pinger")
    });
    print_distribution(&took);
    assert_eq!(counter(&mut conn, "k", "expired"), holds as i64);
    assert_eq!(number(&mut conn, "k", "available"), 1_000_000);
    replica.wait_in_sync(&server);
    assert_eq!(replica.digest("k"), server.digest("k"));
    assert_eq!(replica.info("seckill", "seckill_apply_refused"), "0");
    if outbox {
        assert_eq!(replica.digest("s"), server.digest("s"));
        let all = entries(&mut conn, "s");
        // The grants came by APPLY, which counts revs but appends nothing: they end at the INIT.
        assert_whole(&all[1..]);
        assert_eq!(all.len(), 1 + holds, "INIT, and one EXPIRE each");
    }
    server.assert_sound("k");
    took
}

fn print_distribution(took: &Histogram<u64>) {
    let ms = |value: u64| value as f64 / 1000.0;
    let quantiles = [0.5, 0.9, 0.99, 0.999].map(|q| ms(took.value_at_quantile(q)));
    let [half, ninety, p99, p999] = quantiles;
    println!(
        "PING while they were settled: {} sent, p50 {half} ms, p90 {ninety} ms, p99 {p99} ms, \
         p99.9 {p999} ms, max {} ms",
        took.len(),
        ms(took.max())
    );
}

/// A debug build on a busy machine: what counts is that PINGs come in between at all.
#[test]
fn others_are_served_while_many_holds_fall_due() {
    for outbox in [false, true] {
        let took = fall_due(10_000, outbox);
        assert!(took.len() >= 10, "{} PINGs were answered", took.len());
        assert!(took.max() < 1_000_000, "a PING took {} us", took.max());
    }
}
