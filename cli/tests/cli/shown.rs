//! Output of `seckill split`: numbers of a balancer, lists and states.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use seckill_harness::{wait_until, Options};

use super::exporter::number;
use super::program::{seckill, Running};
use super::split::{create, signal, split, users_of};

/// The numbers of a balancer that waits for a frozen replica, until the replica continues.
#[test]
fn a_balancer_shows_its_numbers() {
    let server = Options::new().start();
    create(&server);
    let replica = Options::new().start();
    replica.follow(&server);
    assert_eq!(server.call("SECKILL.SEND s:{p0} s 1 5"), "[5 996]");
    assert_eq!(server.call("SECKILL.RECEIVE s:{p3} s 2 7"), "[7 1007]");
    replica.wait_in_sync(&server);
    signal(replica.pid(), "STOP");
    let url = format!("redis://127.0.0.1:{}/", server.port());
    let words = ["split", "--redis", &url, "balance", "s", "--interval", "5"];
    let waits = Running::start(seckill(&words));
    let row = |name: &str| number(&waits.get("/metrics").1, &format!("seckill_split_{name}"));
    wait_until("it has given up waiting", || {
        waits.get("/metrics").1.contains("silent_nodes{")
            && row("silent_nodes{split=\"s\"}") == 1.0
            && row("available_units{split=\"s\",part=\"2\"}") == 993.0
    });
    assert!(row("failed_waits_total{split=\"s\"}") >= 1.0);
    assert_eq!(row("under_way_units{split=\"s\"}"), 5.0);
    signal(replica.pid(), "CONT");
    wait_until("it goes on", || row("under_way_units{split=\"s\"}") == 0.0);
    for (name, expected) in [
        ("available_units{split=\"s\",part=\"1\"}", 1_005.0),
        ("available_units{split=\"s\",part=\"2\"}", 993.0),
        ("silent_nodes{split=\"s\"}", 0.0),
        ("made_twice_pairs_total{split=\"s\"}", 1.0),
        ("moved_units_total{split=\"s\"}", 0.0),
        ("up{split=\"s\"}", 1.0),
    ] {
        assert_eq!(row(name), expected, "{name}");
    }
    assert!(row("lag_seconds{split=\"s\"}") < 10.0);
    assert_eq!(waits.get("/health"), (200, "OK\n".into()));
    assert_eq!(server.call("DEL s:{p3}"), "1");
    wait_until("it fails", || waits.get("/health").0 == 503);
    assert_eq!(row("up{split=\"s\"}"), 0.0);
    assert_eq!(waits.end("TERM").code(), Some(0));
}

/// Grabs are shown as demand, and the units that the balancer moves are counted.
#[test]
fn demand_and_what_was_moved_are_shown() {
    let server = Options::new().start();
    create(&server);
    let url = format!("redis://127.0.0.1:{}/", server.port());
    let words = ["split", "--redis", &url, "balance", "s", "--interval", "5"];
    let balancer = Running::start(seckill(&words));
    let users = users_of(&server, 0);
    let mut turn = 0;
    wait_until("units moved", || {
        turn += 1;
        server.cmd(&format!("SECKILL.GRAB s:{{p0}} {} UPTO 10", users[turn % users.len()]));
        let text = balancer.get("/metrics").1;
        text.contains("moved_units_total{")
            && number(&text, "seckill_split_moved_units_total{split=\"s\"}") > 0.0
            && number(&text, "seckill_split_demand_units_per_second{split=\"s\",part=\"0\"}") > 0.0
    });
    let text = balancer.get("/metrics").1;
    assert_eq!(number(&text, "seckill_split_demand_units_per_second{split=\"s\",part=\"1\"}"), 0.0);
    assert_eq!(balancer.end("TERM").code(), Some(0));
}

#[test]
fn winners_are_written_as_csv_and_as_json() {
    let server = Options::new().start();
    create(&server);
    let user = "a,\"b\"";
    let home = server.cmd(&format!("SECKILL.HOME {user} 4")).int();
    let grab = server.cmd(&format!("SECKILL.GRAB s:{{p{home}}} {user} QTY 3 REQ r-1"));
    assert_eq!(grab.items()[0].text(), "GRANTED");
    let csv = split(&server, &["winners", "s"]);
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines[0], "part,seq,user,qty,state,at,deadline,req,epoch,round");
    assert!(lines[1].starts_with(&format!("{home},1,\"a,\"\"b\"\"\",3,SOLD,")), "{csv}");
    let json = split(&server, &["winners", "s", "--json"]);
    let row: serde_json::Value = serde_json::from_str(json.trim_end()).expect("one object");
    assert_eq!(row["user"], user);
    assert_eq!((&row["part"], &row["qty"]), (&home.into(), &3.into()));
    assert_eq!((&row["state"], &row["req"]), (&"SOLD".into(), &"r-1".into()));
    assert_eq!(row["round"], 0);
}

/// One JSON object a line, until the program is stopped.
#[test]
fn status_is_watched_as_json() {
    let server = Options::new().start();
    create(&server);
    let url = format!("redis://127.0.0.1:{}/", server.port());
    let mut watch = seckill(&["split", "--redis", &url, "status", "s", "--json", "--watch"]);
    let mut watch = watch.stdout(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(watch.stdout.take().expect("its output")).lines();
    for sold in [0, 2] {
        let line = lines.next().expect("a line").expect("text");
        let status: serde_json::Value = serde_json::from_str(&line).expect("one object");
        assert_eq!(status["sold"], sold);
        let user = &users_of(&server, 0)[0];
        server.cmd(&format!("SECKILL.GRAB s:{{p0}} {user} QTY 2"));
    }
    signal(watch.id(), "TERM");
    assert_eq!(watch.wait().expect("its end").code(), Some(0));
}
