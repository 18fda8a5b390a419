//! `seckill exporter` beside the server of redis.conf.example, as its user `monitoring`.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use seckill_harness::conf_example::{self, login};
use seckill_harness::server::module_path;
use seckill_harness::{cluster, program, wait_until, Conn, Options, Server};

use super::program::{run, seckill, Running};
use super::split::signal;

/// An exporter of the sales that match `sale:*`, as user monitoring.
#[track_caller]
pub fn exporter(server: &Server, words: &[&str]) -> Running {
    let url = format!("redis://127.0.0.1:{}/", server.port());
    let mut program = seckill(&["exporter", "--redis", &url, "--redis-user", "monitoring"]);
    program.args(["--search-every", "0", "--sale"]).args(words);
    program.env("SECKILL_REDIS_PASSWORD", "change-me-monitoring");
    Running::start(program)
}

/// A sale of three units, one sold and one held, with one refusal. A group reads its outbox.
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

/// The number of a row of the metrics' text; `row` is its name with labels.
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

/// Sales beyond --max-sales are counted and left out, until a shown sale is gone.
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

/// Each reason for seeing no sale is shown on stderr, in /health, on the page and by `seckill_up`.
#[test]
fn it_says_when_it_sees_nothing_and_why() {
    let with_users = conf_example::options().start();
    let mut operator = login(&with_users, "operator");
    assert_eq!(operator.call("SECKILL.INIT sale:1 3"), "+OK");
    let mut admin = login(&with_users, "admin");
    for user in ["noscan", "nostatus"] {
        let not = if user == "noscan" { "-scan" } else { "-seckill.status" };
        let rights = format!("~* +@all {not} on >{user}");
        assert_eq!(admin.call(&format!("ACL SETUSER {user} {rights}")), "+OK");
    }
    let bare = Options::of_program(None, &[""; 0]).run().expect("a server");
    let empty = program::Server::start(&module_path(), &[]).expect("a server");
    let users = format!("redis://127.0.0.1:{}/", with_users.port());
    let as_user = |user: &str| users.replace("//", &format!("//{user}:{user}@"));
    for (url, code, said) in [
        (bare.url(), 503, "has no module seckill: `loadmodule` is missing"),
        (as_user("noscan"), 503, "this user may not do that (NOPERM"),
        (as_user("nostatus"), 503, "may be read: NOPERM"),
        (as_user("nobody"), 503, "it refuses this user and password (WRONGPASS)"),
        (users.clone(), 503, "it wants a password: --redis-user"),
        ("redis://127.0.0.1:1/".into(), 503, "nothing listens there"),
        (empty.url(), 200, "OK, but 127.0.0.1:"),
    ] {
        let mut program = seckill(&["exporter", "--redis", &url, "--sale", "sale:*"]);
        let log = tempfile::NamedTempFile::new().expect("a file");
        program.stderr(log.reopen().expect("the file"));
        let exporter = Running::start(program);
        wait_until("it is told", || exporter.get("/health").1.contains(said));
        assert_eq!(exporter.get("/health").0, code, "{said}");
        let up = f64::from(u8::from(code == 200));
        assert_eq!(number(&exporter.get("/metrics").1, "seckill_up"), up, "{said}");
        let sentence = exporter.get("/health").1;
        let sentence = sentence.trim_end().trim_start_matches("OK, but ").to_owned();
        let (_, live) = exporter.get("/live");
        let live: serde_json::Value = serde_json::from_str(&live).expect("JSON");
        assert_eq!(live["trouble"], sentence);
        let stderr = || fs::read_to_string(log.path()).expect("what it said");
        wait_until("stderr has it", || stderr().contains(&sentence));
        assert!(
            stderr().starts_with("seckill exporter: sales sale:* of 127.0.0.1:"),
            "{}",
            stderr()
        );
    }
    let mut conn = Conn::open(empty.port()).expect("a connection");
    let exporter = Running::start(seckill(&["exporter", "--redis", &empty.url(), "--sale", "*"]));
    wait_until("there is none", || exporter.get("/health").1.ends_with("has no sale * yet\n"));
    assert_eq!(conn.call("SECKILL.INIT sale:1 3"), "+OK");
    let names = Running::start(seckill(&["exporter", "--redis", &empty.url(), "--sale", "sale:1"]));
    wait_until("one is seen", || names.get("/health") == (200, "OK\n".into()));
}

/// One exporter of two servers. Each has its own metrics, and no client can make the exporter call
/// another server.
#[test]
fn several_servers_are_scraped_by_name() {
    let servers = [1, 2].map(|_| program::Server::start(&module_path(), &[]).expect("a server"));
    let mut addresses = Vec::new();
    for (at, server) in servers.iter().enumerate() {
        let mut conn = Conn::open(server.port()).expect("a connection");
        assert_eq!(conn.call(&format!("SECKILL.INIT sale {}", at + 5)), "+OK");
        addresses.push(format!("127.0.0.1:{}", server.port()));
    }
    let urls = format!("{},{}", servers[0].url(), servers[1].url());
    let exporter = Running::start(seckill(&["exporter", "--redis", &urls, "--sale", "sale"]));
    let row = "seckill_sale_supply_units{sale=\"sale\"}";
    assert_eq!(number(&exporter.get("/metrics").1, row), 5.0);
    for (address, supply) in addresses.iter().zip([5.0, 6.0]) {
        let (_, text) = exporter.get(&format!("/scrape?target={address}"));
        assert_eq!(number(&text, row), supply);
        let (status, _) = exporter.get(&format!("/health?target=redis://{address}/"));
        assert_eq!(status, 200);
    }
    let (_, live) = exporter.get(&format!("/live?target={}", addresses[1]));
    let live: serde_json::Value = serde_json::from_str(&live).expect("JSON");
    assert_eq!(live["target"], addresses[1]);
    assert_eq!(exporter.get("/scrape?target=127.0.0.1:1").0, 404);
    assert_eq!(exporter.get("/scrape").0, 400);
}

/// Of the primaries of a cluster one has a sale that is named. At the others that is no fault.
#[test]
fn a_sale_of_another_primary_is_not_missed() {
    let settings = ["--cluster-enabled", "yes"];
    let start = || program::Server::start(&module_path(), &settings).expect("a server");
    let nodes = [start(), start()];
    let ports = nodes.each_ref().map(|node| (node.port(), node.port() + 10_000));
    cluster::form(&ports, 2).expect("a cluster");
    let mut has = Vec::new();
    for node in &nodes {
        let mut conn = Conn::open(node.port()).expect("a connection");
        has.push(conn.call("SECKILL.INIT sale 9") == "+OK");
        let exporter =
            Running::start(seckill(&["exporter", "--redis", &node.url(), "--sale", "sale"]));
        assert_eq!(exporter.get("/health").0, 200);
        let text = exporter.get("/metrics").1;
        assert_eq!(number(&text, "seckill_up"), 1.0);
        assert_eq!(number(&text, "seckill_exporter_sales_unreadable"), 0.0);
    }
    has.sort_unstable();
    assert_eq!(has, [false, true]);
}

/// The map of a numbered sale for buyers: in pages, to all viewers, and never more than one page.
#[test]
fn the_numbers_of_a_sale_are_told() {
    let server = program::Server::start(&module_path(), &[]).expect("a server");
    let mut conn = Conn::open(server.port()).expect("a connection");
    assert_eq!(conn.call("SECKILL.INIT sale:hall 10003 NUMBERED LIMIT 9 HOLD 60000"), "+OK");
    assert_eq!(conn.call("SECKILL.INIT sale:phone 5"), "+OK");
    assert!(!conn.cmd("SECKILL.GRAB sale:hall u UNITS 2 10002").is_error());
    assert!(!conn.cmd("SECKILL.CONFIRM sale:hall u").is_error());
    assert!(!conn.cmd("SECKILL.GRAB sale:hall v UNITS 10001").is_error());
    let url = server.url();
    let words = ["exporter", "--redis", &url, "--sale", "sale:*", "--stock"];
    let on = Running::start(seckill(&words));
    wait_until("it is found", || on.get("/stock/sale:hall").0 == 200);
    let units = |query: &str| {
        let stock: serde_json::Value =
            serde_json::from_str(&on.get(&format!("/stock/sale:hall{query}")).1).expect("JSON");
        stock["units"].as_str().map(str::to_owned)
    };
    assert_eq!(units(""), None, "only who asks is told");
    assert!(units("?units=1").is_some_and(|map| map.len() == 10_000 && map.starts_with(".s..")));
    assert_eq!(units("?units=10001").as_deref(), Some("hs."));
    for (query, status) in [("hall?units=2", 400), ("hall?units=x", 400), ("hall?units=20001", 404)]
        .into_iter()
        .chain([("phone?units=1", 404)])
    {
        assert_eq!(on.get(&format!("/stock/sale:{query}")).0, status, "{query}");
    }
    let rounded = Running::start(seckill(&[&words[..], &["--stock-round", "5"]].concat()));
    wait_until("it is found", || rounded.get("/stock/sale:hall").0 == 200);
    assert_eq!(rounded.get("/stock/sale:hall?units=1").0, 400, "it would tell exact numbers");

    let mut stream = TcpStream::connect(("127.0.0.1", on.port)).expect("a connection");
    write!(
        stream,
        "GET /stock/sale:hall?units=10001 HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n"
    )
    .expect("a request");
    let mut heard = String::new();
    let mut hears = |words: &str| {
        let mut some = [0; 4_096];
        while !heard.contains(words) {
            let count = stream.read(&mut some).expect("an event");
            assert!(count > 0, "it ended: {heard}");
            heard.push_str(&String::from_utf8_lossy(&some[..count]));
        }
    };
    hears("\"units\":\"hs.\"");
    assert!(!conn.cmd("SECKILL.GRAB sale:hall w UNITS 10003").is_error());
    hears("\"units\":\"hsh\"");
}

/// `/stock`, the stock for buyers' pages: off by default, rounded up, and cached.
#[test]
fn stock_is_told_when_it_is_switched_on() {
    let server = program::Server::start(&module_path(), &[]).expect("a server");
    let mut conn = Conn::open(server.port()).expect("a connection");
    assert_eq!(conn.call("SECKILL.INIT sale:\u{79d2} 13 HOLD 60000"), "+OK");
    assert!(!conn.cmd("SECKILL.GRAB sale:\u{79d2} u").is_error());
    let url = server.url();
    let words = ["exporter", "--redis", &url, "--sale", "sale:*"];
    let off = Running::start(seckill(&words));
    assert_eq!(off.get("/stock/sale:%E7%A7%92").0, 404);
    let on = Running::start(seckill(&[&words[..], &["--stock", "--stock-round", "5"]].concat()));
    wait_until("it is found", || on.get("/stock/sale:%E7%A7%92").0 == 200);
    let stock = |query: &str| {
        let (_, body) = on.get(&format!("/stock/sale:%E7%A7%92{query}"));
        let stock: serde_json::Value = serde_json::from_str(&body).expect("JSON");
        ["available", "held", "round"].map(|field| stock[field].as_u64().expect("a number"))
    };
    assert_eq!(stock(""), [15, 5, 5]);
    assert_eq!(stock("?round=2"), [15, 5, 5], "not finer than the operator has it");
    assert_eq!(stock("?round=100"), [100, 100, 100]);
    assert_eq!(on.get("/stock/sale:nothing").0, 404);
    assert_eq!(on.get("/stock/sale:%E7%A7%92?round=0").0, 400);
    let mut stream = TcpStream::connect(("127.0.0.1", on.port)).expect("a connection");
    write!(
        stream,
        "GET /stock/sale:%E7%A7%92 HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n"
    )
    .expect("a request");
    let mut lines = BufReader::new(stream).lines().map(|line| line.expect("a line"));
    let mut event = || -> serde_json::Value {
        let data = lines.find_map(|line| line.strip_prefix("data: ").map(str::to_owned));
        serde_json::from_str(&data.expect("an event")).expect("JSON")
    };
    assert_eq!(event()["available"], 15);
    assert!(!conn.cmd("SECKILL.RESTOCK sale:\u{79d2} 20 REQ r").is_error());
    assert_eq!(event()["available"], 35);
}

/// An unreachable server is shown as such, and is read again when it is back.
#[test]
fn a_server_may_come_and_go() {
    let server = program::Server::start(&module_path(), &[]).expect("a server");
    let words = ["exporter", "--redis", &server.url(), "--sale", "sale:1"];
    let exporter = Running::start(seckill(&words));
    assert_eq!(exporter.get("/health").0, 200);
    server.kill();
    wait_until("it is seen", || exporter.get("/health").0 == 503);
    let (status, text) = exporter.get("/metrics");
    assert_eq!((status, number(&text, "seckill_up")), (200, 0.0));
    let _server = server.restart().expect("the server again");
    wait_until("it is back", || exporter.get("/health").0 == 200);
    assert_eq!(number(&exporter.get("/metrics").1, "seckill_up"), 1.0);
}

/// Prometheus waits 5 s for an answer. Within that time it is told of a server that hangs.
#[test]
fn a_server_that_hangs_is_told_in_time() {
    let server = Options::new().start();
    let url = format!("redis://127.0.0.1:{}/", server.port());
    let exporter = Running::start(seckill(&["exporter", "--redis", &url, "--sale", "sale:*"]));
    let up = || {
        let asked = Instant::now();
        let (_, text) = exporter.get("/metrics");
        assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
        number(&text, "seckill_up")
    };
    wait_until("it is searched", || exporter.get("/health").1.ends_with("no sale sale:* yet\n"));
    assert_eq!(up(), 1.0);
    signal(server.pid(), "STOP");
    wait_until("it is seen", || up() == 0.0);
    // Once on the connection that hangs, then on a new one.
    assert_eq!([up(), up(), up()], [0.0; 3]);
    signal(server.pid(), "CONT");
    wait_until("it is back", || up() == 1.0);
}

/// An outbox that the user may not read has no metrics, so an alert must say so.
#[test]
fn an_outbox_that_may_not_be_read_is_counted() {
    let server = conf_example::options().start();
    let mut admin = login(&server, "admin");
    let exporter = exporter(&server, &["sale:*"]);
    for (sale, outbox, unreadable) in
        [("sale:1", "sale:1:orders", 0.0), ("sale:2", "elsewhere:orders", 1.0)]
    {
        assert_eq!(admin.call(&format!("SECKILL.INIT {sale} 3 OUTBOX {outbox}")), "+OK");
        let row = format!("seckill_sale_supply_units{{sale=\"{sale}\"}}");
        wait_until("it is found", || exporter.get("/metrics").1.contains(&row));
        let text = exporter.get("/metrics").1;
        assert_eq!(number(&text, "seckill_exporter_sales_unreadable"), unreadable);
        assert_eq!(number(&text, "seckill_up"), 1.0);
    }
}

/// After an XDEL in front of a group a server does not know how many entries the group has to read.
/// A reader that stands still is seen all the same.
#[test]
fn entries_to_read_are_shown_after_one_was_deleted() {
    let server = Options::new().start();
    let stream = "s:orders";
    assert_eq!(server.call(&format!("SECKILL.INIT s 9 OUTBOX {stream}")), "+OK");
    assert_eq!(server.call(&format!("XGROUP CREATE {stream} db 0")), "+OK");
    for user in ["a", "b"] {
        assert!(!server.cmd(&format!("SECKILL.GRAB s {user}")).is_error());
    }
    let entries = server.cmd(&format!("XRANGE {stream} - +"));
    let second = entries.items()[1].items()[0].text().to_owned();
    assert_eq!(server.call(&format!("XDEL {stream} {second}")), "1");
    let url = format!("redis://127.0.0.1:{}/", server.port());
    let exporter = Running::start(seckill(&["exporter", "--redis", &url, "--sale", "s"]));
    let row = "seckill_sale_outbox_group_lag_entries{sale=\"s\",group=\"db\"}";
    assert_eq!(number(&exporter.get("/metrics").1, row), 2.0);
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
