//! `seckill exporter` beside the server of redis.conf.example, as its user `monitoring`.

use seckill_harness::conf_example::{self, login};
use seckill_harness::server::module_path;
use seckill_harness::{program, wait_until, Conn, Server};

use super::program::{run, seckill, Running};

/// An exporter of what matches `sale`, as user monitoring.
#[track_caller]
pub fn exporter(server: &Server, words: &[&str]) -> Running {
    let url = format!("redis://127.0.0.1:{}/", server.port());
    let mut program = seckill(&["exporter", "--redis", &url, "--redis-user", "monitoring"]);
    program.args(["--search-every", "0", "--sale"]).args(words);
    program.env("SECKILL_REDIS_PASSWORD", "change-me-monitoring");
    Running::start(program)
}

/// A sale of three units in an outbox that a group reads: one sold, one held, one refused.
#[track_caller]
fn sell(server: &Server) -> Conn {
    let mut operator = login(server, "operator");
    let terms = "SECKILL.INIT sale:1 3 LIMIT 2 HOLD 600000 OUTBOX sale:1:orders";
    assert_eq!(operator.call(terms), "+OK");
    assert_eq!(login(server, "reader").call("XGROUP CREATE sale:1:orders db 0"), "+OK");
    let mut shop = login(server, "shop");
    for line in ["GRAB sale:1 a", "CONFIRM sale:1 a", "GRAB sale:1 b", "GRAB sale:1 b QTY 2"] {
        assert!(!shop.cmd(&format!("SECKILL.{line}")).is_error());
    }
    operator
}

/// The number of a row, which is named as the text has it.
#[track_caller]
pub fn number(text: &str, row: &str) -> f64 {
    let rest = text.lines().find_map(|line| line.strip_prefix(row)?.strip_prefix(' '));
    let number = rest.and_then(|number| number.parse().ok());
    number.unwrap_or_else(|| panic!("no {row} in:\n{text}"))
}

#[test]
fn a_sale_is_found_and_shown() {
    let server = conf_example::options().start();
    let mut operator = sell(&server);
    let exporter = exporter(&server, &["sale:*"]);
    wait_until("the sale is found", || exporter.get("/metrics").1.contains("sale=\"sale:1\""));
    let (status, text) = exporter.get("/metrics");
    assert_eq!(status, 200);
    for (row, expected) in [
        ("seckill_up", 1.0),
        ("seckill_sale_supply_units{sale=\"sale:1\"}", 3.0),
        ("seckill_sale_available_units{sale=\"sale:1\"}", 1.0),
        ("seckill_sale_held_units{sale=\"sale:1\"}", 1.0),
        ("seckill_sale_sold_units{sale=\"sale:1\"}", 1.0),
        ("seckill_sale_attempts_total{sale=\"sale:1\",outcome=\"granted\"}", 2.0),
        ("seckill_sale_attempts_total{sale=\"sale:1\",outcome=\"overlimit\"}", 1.0),
        ("seckill_sale_changes_total{sale=\"sale:1\",change=\"confirmed\"}", 1.0),
        ("seckill_sale_state{sale=\"sale:1\",state=\"open\"}", 1.0),
        ("seckill_sale_state{sale=\"sale:1\",state=\"paused\"}", 0.0),
        ("seckill_sale_outbox_entries{sale=\"sale:1\"}", 4.0),
        ("seckill_sale_outbox_group_lag_entries{sale=\"sale:1\",group=\"db\"}", 4.0),
        ("seckill_sale_outbox_group_pending_entries{sale=\"sale:1\",group=\"db\"}", 0.0),
        ("seckill_sale_expiry_lag_seconds{sale=\"sale:1\"}", 0.0),
        ("seckill_server_apply_refused_total", 0.0),
        ("seckill_server_evicts_sales", 0.0),
        ("seckill_exporter_sales_unreadable", 0.0),
    ] {
        assert_eq!(number(&text, row), expected, "{row}");
    }
    assert_eq!(operator.call("DEL sale:1"), "1");
    wait_until("it is gone", || !exporter.get("/metrics").1.contains("sale=\"sale:1\""));
}

/// Beyond the bound sales are counted and left out, until one of those that are shown is gone.
#[test]
fn no_more_are_shown_than_may_be() {
    let server = conf_example::options().start();
    let mut operator = login(&server, "operator");
    for sale in ["sale:a", "sale:b"] {
        assert_eq!(operator.call(&format!("SECKILL.INIT {sale} 3")), "+OK");
    }
    let exporter = exporter(&server, &["sale:*", "--max-sales", "1"]);
    let left_out = || number(&exporter.get("/metrics").1, "seckill_exporter_sales_left_out");
    wait_until("both are found", || left_out() == 1.0);
    let is_shown = |sale: &str| exporter.get("/metrics").1.contains(&format!("sale=\"{sale}\""));
    assert_eq!((is_shown("sale:a"), is_shown("sale:b")), (true, false));
    assert_eq!(operator.call("DEL sale:a"), "1");
    wait_until("the other one takes its place", || is_shown("sale:b") && left_out() == 0.0);
}

/// A server that is away is shown as away, and is found again.
#[test]
fn a_server_may_come_and_go() {
    let server = program::Server::start(&module_path(), &[]).expect("a server");
    let words = ["exporter", "--redis", &server.url(), "--sale", "sale:1"];
    let exporter = Running::start(seckill(&words));
    assert_eq!(exporter.get("/health"), (200, "OK\n".into()));
    server.kill();
    wait_until("it is seen", || exporter.get("/health").0 == 503);
    let (status, text) = exporter.get("/metrics");
    assert_eq!((status, number(&text, "seckill_up")), (200, 0.0));
    let _server = server.restart().expect("the server again");
    wait_until("it is back", || exporter.get("/health").0 == 200);
    assert_eq!(number(&exporter.get("/metrics").1, "seckill_up"), 1.0);
}

#[test]
fn it_stops_when_told_and_says_what_it_lacks() {
    let server = conf_example::options().start();
    let running = exporter(&server, &["sale:*"]);
    assert_eq!(running.get("/nothing").0, 404);
    assert_eq!(running.end("TERM").code(), Some(0));
    let version = run(&["--version"]);
    assert_eq!(version.stdout, concat!("seckill ", env!("CARGO_PKG_VERSION"), "\n").as_bytes());
    assert_eq!(run(&["exporter"]).status.code(), Some(2));
    let nowhere = run(&["exporter", "--sale", "a", "--web.listen-address", "256.0.0.1:1"]);
    assert_eq!(nowhere.status.code(), Some(1));
}
