//! The cost of the exporter, measured on the server that it reads.

use std::io::{Read, Write};
use std::net::TcpStream;
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

/// 100 sales with outboxes among 100,000 other keys. First Prometheus alone reads every five
/// seconds, which is often; then an open page also reads every second. The exporter searches all
/// the time.
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
    let exporter = exporter(&server, &["--search-every", "0"]);
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

/// The server's load in percent of one core, while `ask` is called every second.
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
        // The cost is measured over time that passes.
        thread::sleep(Duration::from_secs(1));
    }
    100.0 * (spent() - before) / start.elapsed().as_secs_f64()
}

/// 2,000 browsers that get the stock of a sale cause no more calls to Redis than one.
#[test]
#[ignore = "takes 2,000 connections: make watch-test"]
fn two_thousand_viewers_cost_no_more_than_one() {
    let server = Options::new().start();
    all(&server, &["SECKILL.INIT sale:1 1000000 LIMIT 0"]);
    let exporter = exporter(&server, &["--stock"]);
    wait_until("it is found", || exporter.get("/stock/sale:1").0 == 200);
    let view = |_| {
        let mut stream = TcpStream::connect(("127.0.0.1", exporter.port)).expect("a connection");
        let ask = "GET /stock/sale:1 HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n";
        stream.write_all(ask.as_bytes()).expect("a request");
        stream
    };
    let mut viewers: Vec<TcpStream> = vec![view(0)];
    let one = calls_while_it_sells(&server);
    viewers.extend((1..2_000).map(view));
    let many = calls_while_it_sells(&server);
    println!("calls of SECKILL.STATUS in 10 s: {one} for one viewer, {many} for 2,000");
    assert!(many <= one + 1, "{many} calls, {one} for one viewer");
    let last = format!("\"available\":{}", server.cmd("SECKILL.STATUS sale:1").items()[5].int());
    for viewer in &mut viewers {
        let mut heard = String::new();
        let mut some = [0; 4_096];
        while !heard.contains(&last) {
            let count = viewer.read(&mut some).expect("an event");
            assert!(count > 0, "it ended: {heard}");
            heard.push_str(&String::from_utf8_lossy(&some[..count]));
        }
    }
}

/// The number of STATUS calls in ten seconds, with ten changes of the sale a second.
fn calls_while_it_sells(server: &Server) -> u64 {
    let calls = || -> u64 {
        let line = server.info("commandstats", "cmdstat_SECKILL.STATUS");
        let calls = line.split(',').find_map(|field| field.strip_prefix("calls="));
        calls.map_or(0, |calls| calls.parse().expect("a number"))
    };
    let before = calls();
    for _ in 0..100 {
        all(server, &["SECKILL.GRAB sale:1 u"]);
        // The cost is measured over a span of time.
        thread::sleep(Duration::from_millis(100));
    }
    calls() - before
}
