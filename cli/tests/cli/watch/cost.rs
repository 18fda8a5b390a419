//! What a server pays for being watched.

use std::thread;
use std::time::{Duration, Instant};

use seckill_harness::program::server_program;
use seckill_harness::server::Options;
use seckill_harness::{wait_until, Server};

use super::{all, exporter};
use crate::exporter::number;

const SALES: usize = 100;
const OTHER_KEYS: usize = 100_000;
const LOOK_FOR: Duration = Duration::from_secs(20);

/// 100 sales with outboxes among 100,000 other keys; a Prometheus that asks every five seconds, which
/// is often. The same with a page that is open, which asks every second.
#[test]
#[ignore = "takes a minute and an idle machine: make watch-test"]
fn the_server_pays_half_a_percent_at_most() {
    let server = Options::new().line("enable-debug-command yes").start();
    all(&server, &[&format!("DEBUG POPULATE {OTHER_KEYS}")]);
    for sale in 0..SALES {
        let init = format!("SECKILL.INIT sale:{sale} 9 OUTBOX sale:{sale}:orders");
        let group = format!("XGROUP CREATE sale:{sale}:orders db 0");
        all(&server, &[&init, &group, &format!("SECKILL.GRAB sale:{sale} u")]);
    }
    let idle = cpu_percent(&server, || {});
    let exporter = exporter(&server, &[]);
    let seen = || number(&exporter.get("/metrics").1, "seckill_exporter_sales");
    wait_until("all are found", || seen() == SALES as f64);
    let mut asked = Instant::now();
    let scraped = cpu_percent(&server, || {
        if asked.elapsed() > Duration::from_secs(5) {
            asked = Instant::now();
            exporter.get("/metrics");
        }
    });
    let open = cpu_percent(&server, || drop(exporter.get("/live")));
    println!(
        "{:?}: {SALES} sales, {OTHER_KEYS} keys: idle {idle:.2} % of a core, \
         scraped every 5 s {scraped:.2} %, page open {open:.2} %",
        server_program()
    );
    assert!(scraped - idle < 0.5, "scraped {scraped}, idle {idle}");
    assert!(open - idle < 0.5, "page open {open}, idle {idle}");
}

/// Of one core, while `ask` is called every second.
fn cpu_percent(server: &Server, mut ask: impl FnMut()) -> f64 {
    let spent = || -> f64 {
        ["used_cpu_sys", "used_cpu_user"]
            .iter()
            .map(|field| server.info("cpu", field).parse::<f64>().expect("seconds"))
            .sum()
    };
    let (start, before) = (Instant::now(), spent());
    while start.elapsed() < LOOK_FOR {
        ask();
        // What is measured is time that goes by.
        thread::sleep(Duration::from_secs(1));
    }
    100.0 * (spent() - before) / start.elapsed().as_secs_f64()
}
