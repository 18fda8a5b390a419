//! The web server of exporter and orders under attack: it keeps answering with little load.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use seckill_harness::server::module_path;
use seckill_harness::{program, wait_until};

use super::program::{run, seckill, Running};

/// An exporter of a server that has one sale; the server ends with the value.
fn exporter(words: &[&str]) -> (program::Server, Running) {
    let server = program::Server::start(&module_path(), &[]).expect("a server");
    let url = server.url();
    let all = [&["exporter", "--redis", &url, "--sale", "sale:1"], words].concat();
    let exporter = Running::start(seckill(&all));
    (server, exporter)
}

/// A number of /proc/PID/status.
#[track_caller]
fn status(running: &Running, name: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{}/status", running.pid())).expect("its status");
    let line = text.lines().find_map(|line| line.strip_prefix(name)).expect("the line");
    line.split_whitespace().nth(1).expect("a number").parse().expect("a number")
}

/// The duration of an ordinary request.
#[track_caller]
fn answer_time(running: &Running) -> Duration {
    let asked = Instant::now();
    assert_eq!(running.get("/metrics").0, 200);
    asked.elapsed()
}

/// Reads until the other side closes, or until no byte comes within `patience`.
fn rest(stream: &mut TcpStream, patience: Duration) -> (String, bool) {
    stream.set_read_timeout(Some(patience)).expect("a time limit");
    let mut text = Vec::new();
    let closed = stream.read_to_end(&mut text).is_ok();
    (String::from_utf8_lossy(&text).into_owned(), closed)
}

/// A thousand clients send half a head. No client gets a thread, others are answered meanwhile, and
/// all connections are closed after the time limit.
#[test]
fn half_open_connections_cost_no_thread_and_end() {
    let (_server, exporter) = exporter(&[]);
    let open = |_| {
        let mut stream = TcpStream::connect(("127.0.0.1", exporter.port)).expect("a connection");
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHo").expect("half a head");
        stream
    };
    let mut half: Vec<TcpStream> = (0..1_000).map(open).collect();
    assert!(answer_time(&exporter) < Duration::from_secs(2));
    assert!(status(&exporter, "Threads") < 16);
    let files = || fs::read_dir(format!("/proc/{}/fd", exporter.pid())).expect("files").count();
    wait_until("they are closed", || files() < 60);
    let (_, closed) = rest(&mut half[0], Duration::from_secs(1));
    assert!(closed);
}

/// A header line of 64 MB is refused long before its end, and takes no memory.
#[test]
fn a_head_without_end_is_refused() {
    let (_server, exporter) = exporter(&[]);
    let before = status(&exporter, "VmHWM");
    let mut stream = TcpStream::connect(("127.0.0.1", exporter.port)).expect("a connection");
    stream.write_all(b"GET /metrics HTTP/1.1\r\nX-Long: ").expect("a head");
    let piece = vec![b'a'; 64 * 1024];
    let sent = (0..1_024).take_while(|_| stream.write_all(&piece).is_ok()).count();
    assert!(sent < 1_024, "all 64 MB were taken");
    assert!(status(&exporter, "VmHWM") - before < 4_096, "kB of memory");
    assert!(answer_time(&exporter) < Duration::from_secs(2));
}

/// A request with a body is answered before the body arrives, and the connection is closed.
#[test]
fn slow_bodies_are_not_waited_for() {
    let (_server, exporter) = exporter(&[]);
    for (method, expected) in [("POST", "HTTP/1.1 405"), ("GET", "HTTP/1.1 200")] {
        let mut stream = TcpStream::connect(("127.0.0.1", exporter.port)).expect("a connection");
        write!(stream, "{method} /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nx")
            .expect("a head");
        let (text, closed) = rest(&mut stream, Duration::from_secs(9));
        assert!(text.starts_with(expected), "{method}: {text}");
        assert!(closed, "{method}: it is still open");
    }
}

/// A connection may be idle between two requests, but only for a limited time.
#[test]
fn a_connection_that_asks_nothing_ends() {
    let (_server, exporter) = exporter(&[]);
    let mut stream = TcpStream::connect(("127.0.0.1", exporter.port)).expect("a connection");
    for _ in 0..2 {
        write!(stream, "GET /health HTTP/1.1\r\nHost: x\r\n\r\n").expect("a request");
    }
    let (text, closed) = rest(&mut stream, Duration::from_secs(9));
    assert_eq!(text.matches("HTTP/1.1 200").count(), 2, "{text}");
    assert!(closed);
}

/// The format of the answer, by the request's Accept, and the figures of the process in it.
#[test]
fn accept_decides_which_text() {
    let (_server, exporter) = exporter(&[]);
    let ask = |accept: &str| {
        let mut stream = TcpStream::connect(("127.0.0.1", exporter.port)).expect("a connection");
        write!(
            stream,
            "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAccept: {accept}\r\n\r\n"
        )
        .expect("a request");
        rest(&mut stream, Duration::from_secs(9)).0
    };
    for accept in ["*/*", "text/plain;version=0.0.4;q=1,*/*;q=0.1"] {
        let text = ask(accept);
        assert!(text.contains("content-type: text/plain; version=0.0.4"), "{text}");
        assert!(text.contains("# TYPE process_cpu_seconds_total counter\n"), "{text}");
        assert!(!text.contains("# EOF"), "{text}");
    }
    let text = ask("application/openmetrics-text;version=1.0.0,text/plain;q=0.5");
    assert!(text.contains("content-type: application/openmetrics-text; version=1.0.0"), "{text}");
    assert!(text.contains("# TYPE process_cpu_seconds counter\n"), "{text}");
    assert!(text.ends_with("# EOF\n"), "{text}");
    for name in ["resident_memory_bytes", "open_fds", "max_fds", "start_time_seconds"] {
        assert!(text.contains(&format!("\nprocess_{name} ")), "{name}");
    }
}

/// A port alone means all addresses, IPv4 and IPv6.
#[test]
fn a_port_alone_is_an_address() {
    let server = program::Server::start(&module_path(), &[]).expect("a server");
    let url = server.url();
    let words = ["exporter", "--redis", &url, "--sale", "a"];
    let exporter = Running::start_at(seckill(&words), "");
    assert_eq!(exporter.get("/health").0, 200);
}

/// Options of the connection may stand on either side of the subcommand; errors in them are
/// reported like any other wrong option.
#[test]
fn connection_options_stand_anywhere() {
    let server = program::Server::start(&module_path(), &[]).expect("a server");
    let url = server.url();
    for words in [
        ["--redis", &url, "split", "status", "s"],
        ["split", "--redis", &url, "status", "s"],
        ["split", "status", "s", "--redis", &url],
    ] {
        let ran = run(&words);
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert_eq!(ran.status.code(), Some(1), "{words:?}: {said}");
        assert!(said.contains("s:{p0}"), "it asked that server: {said}");
    }
    for words in [
        &["--redis", "http://x", "split", "status", "s"][..],
        &["split", "status", "s", "--redis", "redis://a:x/"],
        &["split", "status", "s", "--redis", "unix:///a", "--tls"],
        &["split", "status", "s", "--cacert", "x"],
        &["--tls", "split", "status", "s", "--cert", "x"],
        &["exporter", "--sale", "s", "--web.listen-address", "nonsense"],
        &["orders", "--to", "stdout", "--stream", "s", "--web.listen-address", "[::1]:x"],
        &["split", "balance", "s", "--metrics", "127.0.0.1"],
    ] {
        let ran = run(words);
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert_eq!(ran.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.starts_with("error: "), "{said}");
    }
}
