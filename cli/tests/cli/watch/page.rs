//! The page that the exporter serves, in a real browser.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use seckill_harness::server::Options;
use seckill_harness::Server;

use super::{all, exporter};
use crate::program::get;

/// Time for which the browser shows the page.
const LOOKS: Duration = Duration::from_secs(12);

#[test]
#[ignore = "takes Chromium: make watch-test"]
fn the_page_shows_numbers_and_curves() {
    let server = Options::new().start();
    all(
        &server,
        &[
            "SECKILL.INIT sale:phone 4000 LIMIT 0 HOLD 1500",
            "SECKILL.INIT sale:ticket 900 LIMIT 0 OUTBOX sale:ticket:orders",
            "XGROUP CREATE sale:ticket:orders db 0",
            // Markup in a sale's name is shown as text.
            "SECKILL.INIT x:<b>&\"bold\"</b> 5",
            "SECKILL.INIT sale:short 1",
            "SECKILL.IMPORT sale:short u 3 REQ r",
        ],
    );
    let exporter = exporter(&server, &["--search-every", "0"]);
    let over = AtomicBool::new(false);
    let address = format!("http://127.0.0.1:{}/", slow_copy(exporter.port));
    let dom = thread::scope(|scope| {
        scope.spawn(|| sell(&server, &over));
        let dom = browser(&["--dump-dom"], &address);
        over.store(true, Ordering::SeqCst);
        dom
    });
    for expected in [
        "data-sale=\"sale:phone\"",
        "<span class=\"name\">sale:ticket</span>",
        "<span class=\"name\">x:&lt;b&gt;&amp;\"bold\"&lt;/b&gt;</span>",
        "data-unit=\"supply\">4,000</span>",
        "<span class=\"wrong\">2 units are promised that are not there</span>",
        "class=\"state soldout\"",
        "4 of 4 sales",
        "<dt>hold_ms</dt><dd>2 s</dd>",
        "<dt>granted</dt>",
        "<dt>oldest hold ",
        "text-anchor=\"middle\"",
    ] {
        assert!(dom.contains(expected), "no {expected} in:\n{dom}");
    }
    assert!(dom.contains(&format!("<b id=\"server\">127.0.0.1:{}</b>", server.port())));
    assert!(!dom.contains("<b>&amp;\"bold\""), "a name became markup:\n{dom}");
    let first = dom.split("data-sale=\"").nth(1).expect("a line");
    assert!(first.starts_with("sale:short"), "trouble is on top: {first}");
    // The curve of available units of sale:phone has many points, and goes down.
    let card = dom.split("data-sale=\"sale:phone\"").nth(1).expect("the card");
    let card = card.split("</details>").next().expect("its end");
    let path = card.split("<path class=\"available\" d=\"M").nth(1).expect("a curve");
    let points: Vec<&str> = path.split('"').next().unwrap().split('L').collect();
    let heights: Vec<f64> =
        points.iter().map(|point| point.split(' ').nth(1).unwrap().parse().unwrap()).collect();
    assert!(heights.len() >= 5, "{points:?}");
    assert!(heights.last() > heights.first(), "further down is less: {heights:?}");
}

/// The picture of docs/watch.md, of a rush: fifty connections that do nothing but GRAB, for a minute.
#[test]
#[ignore = "takes Chromium and a minute: make watch-test WATCH=docs"]
fn the_picture_of_the_docs() {
    let picture = std::env::var_os("SECKILL_PICTURE").filter(|path| !path.is_empty());
    let Some(picture) = picture else {
        println!("no picture is taken: make watch-test WATCH=docs");
        return;
    };
    let server = Options::new().start();
    all(
        &server,
        &[
            "SECKILL.INIT sale:phone 600000 HOLD 20000 OUTBOX sale:phone:orders",
            "XGROUP CREATE sale:phone:orders db 0",
            "SECKILL.INIT sale:ticket 60000",
            "SECKILL.INIT sale:sneaker 200000 LIMIT 2",
            "SECKILL.PAUSE sale:sneaker",
            "SECKILL.INIT sale:tea 20000 OUTBOX sale:tea:orders",
            "SECKILL.GRAB sale:tea early",
        ],
    );
    let exporter = exporter(&server, &["--search-every", "0"]);
    let address = format!("http://127.0.0.1:{}/", slow_copy(exporter.port));
    let port = server.port().to_string();
    let rush = |sale: &str, count: &str| {
        let words = ["-p", &port, "-c", "25", "-r", "1000000000", "-n", count];
        let mut benchmark = Command::new("redis-benchmark");
        benchmark.args(words).args(["SECKILL.GRAB", sale, "u__rand_int__"]);
        benchmark.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        benchmark.spawn().expect("redis-benchmark starts")
    };
    let mut rushes = [rush("sale:phone", "100000000"), rush("sale:ticket", "500000")];
    // The exporter's own history comes every fifteen seconds.
    thread::sleep(3 * LOOKS);
    let picture = format!("--screenshot={}", picture.to_string_lossy());
    browser(&[&picture, "--window-size=1400,900"], &address);
    for rush in &mut rushes {
        rush.kill().expect("it is ended");
        rush.wait().expect("its end");
    }
}

/// Some tens of buyers a second buy, and a third of the holds is paid. The tickets are soon sold
/// out.
fn sell(server: &Server, over: &AtomicBool) {
    let mut conn = server.conn();
    for user in 0.. {
        if over.load(Ordering::SeqCst) {
            return;
        }
        conn.cmd(&format!("SECKILL.GRAB sale:phone u{user} QTY 3 REQ r"));
        conn.cmd(&format!("SECKILL.GRAB sale:ticket u{user} QTY 5"));
        if user % 3 == 0 {
            conn.cmd(&format!("SECKILL.CONFIRM sale:phone u{user}"));
        }
        // Slows the rush down, so that the page can show it.
        thread::sleep(Duration::from_millis(15));
    }
}

/// A headless browser takes its picture as soon as the page has loaded. So this server adds a slow
/// image to the page. All other answers come from the exporter.
fn slow_copy(exporter: u16) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("its number").port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || answer(stream, exporter));
        }
    });
    port
}

fn answer(mut stream: TcpStream, exporter: u16) {
    let mut line = String::new();
    let read = BufReader::new(&stream).read_line(&mut line);
    let path = line.split(' ').nth(1).unwrap_or("/").to_owned();
    if read.is_err() || path == "/slow" {
        thread::sleep(LOOKS);
    }
    let (status, mut body) = get(exporter, &path);
    let kind = match path.as_str() {
        "/" => {
            // The page's script clicks the line as soon as it appears.
            body.push_str(
                "<img src=\"/slow\" alt=\"\"><script>setInterval(() => { const line = \
                 document.querySelector('[data-sale=\"sale:phone\"]'); \
                 if (line) line.open = true; }, 500)</script>",
            );
            "text/html; charset=utf-8"
        }
        "/page.js" => "text/javascript; charset=utf-8",
        _ => "application/json",
    };
    let length = body.len();
    let head = format!("HTTP/1.1 {status} x\r\nContent-Type: {kind}\r\nContent-Length: {length}");
    // A browser that has gone needs no answer.
    let _ = write!(stream, "{head}\r\nConnection: close\r\n\r\n{body}");
}

/// The browser's figures after it has shown the page for a while.
#[track_caller]
fn browser(words: &[&str], address: &str) -> String {
    let profile = tempfile::tempdir().expect("a folder");
    let ran = Command::new("chromium")
        .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .args(words)
        .arg(address)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .expect("chromium runs");
    String::from_utf8_lossy(&ran.stdout).into_owned()
}
