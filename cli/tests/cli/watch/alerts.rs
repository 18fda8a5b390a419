//! The alerts, in the distribution's Prometheus.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use seckill_harness::{wait_until, Options};
use serde_json::Value;

use super::{all, exporter};
use crate::program::{get, Running};

/// The path of a program that `make watch-test` has installed.
fn installed(name: &str) -> PathBuf {
    let folder = std::env::var_os("SECKILL_PROMETHEUS").expect("SECKILL_PROMETHEUS: a folder");
    Path::new(&folder).join(name)
}

fn rules() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/prometheus")
}

#[test]
#[ignore = "takes Prometheus: make watch-test"]
fn promtool_is_content() {
    for words in [["check", "rules", "alerts.yml"], ["test", "rules", "alerts_test.yml"]] {
        let ran = Command::new(installed("promtool")).args(words).current_dir(rules()).output();
        let ran = ran.expect("promtool runs");
        let said = [ran.stdout, ran.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        assert!(ran.status.success() && said.concat().contains("SUCCESS"), "{said:?}");
    }
}

/// Without problems no alert fires. Then one server gets every possible problem, and every alert
/// fires. Only the delay before an alert fires is left out.
#[test]
#[ignore = "takes Prometheus: make watch-test"]
fn alerts_fire_when_something_is_wrong_and_not_before() {
    let mut server = Options::new().start();
    // A replica that is attached before the first sale stays in sync without a copy of data.
    let primary = format!("127.0.0.1 {}", server.port());
    let bare = Options::of_program(None, &["--replicaof", &primary]).run().expect("a server");
    // INFO has no line of a replica before the replica has connected.
    let replicas = || server.cmd("INFO replication").text().to_owned();
    wait_until("it is in sync", || replicas().contains("state=online"));
    all(
        &server,
        &[
            "SECKILL.INIT well 9 OUTBOX well:orders",
            "XGROUP CREATE well:orders db 0",
            "XREADGROUP GROUP db a STREAMS well:orders >",
            "XACK well:orders db 0-1",
        ],
    );
    let exporter = exporter(&server, &["--search-every", "0"]);
    let folder = tempfile::tempdir().expect("a folder");
    let prometheus = Prometheus::start(folder.path(), exporter.port);
    let taken = "count_over_time(seckill_sale_supply_units[1m])";
    wait_until("three rounds have been read", || prometheus.number(taken) >= 3.0);
    // One entry was delivered and is not acknowledged: each alert about that fires at once.
    let firing = |names: &[&str]| {
        // No seckill orders is scraped here.
        let all = names.iter().chain(&["SeckillOrdersAbsent"]).map(|name| (*name).to_owned());
        prometheus.firing() == all.collect()
    };
    wait_until("they fire", || firing(&["SeckillOutboxStuck", "SeckillReplicaWithoutModule"]));
    drop(bare);
    let entries = server.cmd("XPENDING well:orders db - + 9");
    let id = entries.items()[0].items()[0].text().to_owned();
    all(&server, &[&format!("XACK well:orders db {id}")]);
    wait_until("only the replica is missed", || firing(&["SeckillReplicaMissing"]));

    all(
        &server,
        &[
            "CONFIG SET maxmemory-policy allkeys-lru maxmemory 1gb",
            "SECKILL.INIT short 0",
            "SECKILL.IMPORT short u 2 REQ r",
            "SECKILL.INIT stuck 5 OUTBOX stuck:orders",
            "XGROUP CREATE stuck:orders db 0",
            "SECKILL.INIT broken 5 OUTBOX broken:orders",
            "DEL broken:orders",
            "SET broken:orders x",
            "SECKILL.INIT unread 5 OUTBOX unread:orders",
            "SECKILL.GRAB unread u",
            "SECKILL.INIT twin 5",
            "EVAL return(redis.call('RESTORE','twin2','0',redis.call('DUMP','twin'))) 0",
            "SECKILL.INIT late 5 HOLD 300",
            "SECKILL.GRAB late u",
        ],
    );
    assert!(server.cmd("SECKILL.GRAB broken u").is_error());
    assert!(server.cmd("SECKILL.APPLY well 99 x").is_error());
    all(&server, &["CLIENT PAUSE 600000 WRITE"]);
    let expected = [
        "SeckillApplyRefused",
        "SeckillDeficit",
        "SeckillEvictingPolicy",
        "SeckillExpiryLag",
        "SeckillOutboxError",
        "SeckillOutboxStuck",
        "SeckillOutboxUnread",
        "SeckillReplicaMissing",
        "SeckillSaleTwice",
    ];
    wait_until("they fire", || firing(&expected));
    server.kill9();
    wait_until("the server is missed", || prometheus.firing().contains("SeckillDown"));
    exporter.end("KILL");
    wait_until("so is the exporter", || prometheus.firing().contains("SeckillExporterDown"));
}

struct Prometheus(Running);

impl Prometheus {
    /// Asks the exporter every second.
    fn start(folder: &Path, exporter: u16) -> Prometheus {
        let text = fs::read_to_string(rules().join("alerts.yml")).expect("the rules");
        let at_once = text.lines().filter(|line| !line.trim().starts_with("for: "));
        let rules = at_once.collect::<Vec<_>>().join("\n");
        let config = format!(
            "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\n\
             rule_files: [alerts.yml]\n\
             scrape_configs:\n  - job_name: seckill\n    static_configs:\n      \
             - targets: ['127.0.0.1:{exporter}']\n"
        );
        for (name, text) in [("alerts.yml", rules), ("prometheus.yml", config)] {
            fs::write(folder.join(name), text).expect("a file");
        }
        let mut program = seckill_harness::process::command(installed("prometheus").as_os_str());
        program.arg("--config.file").arg(folder.join("prometheus.yml"));
        program.arg("--storage.tsdb.path").arg(folder.join("data"));
        program.stdin(Stdio::null()).stderr(Stdio::null());
        Prometheus(Running::start(program))
    }

    fn ask(&self, path: &str) -> Value {
        let (_, body) = get(self.0.port, path);
        serde_json::from_str(&body).unwrap_or_default()
    }

    /// The first value of an expression, 0 while there is none.
    fn number(&self, expression: &str) -> f64 {
        let expression = expression.replace('[', "%5B").replace(']', "%5D");
        let reply = self.ask(&format!("/api/v1/query?query={expression}"));
        let value = reply.pointer("/data/result/0/value/1").and_then(Value::as_str);
        value.and_then(|number| number.parse().ok()).unwrap_or_default()
    }

    /// The names of the alerts that fire.
    fn firing(&self) -> BTreeSet<String> {
        let reply = self.ask("/api/v1/alerts");
        let alerts = reply.pointer("/data/alerts").and_then(Value::as_array).cloned();
        let firing = alerts.unwrap_or_default().into_iter().filter(|a| a["state"] == "firing");
        firing.filter_map(|a| a["labels"]["alertname"].as_str().map(str::to_owned)).collect()
    }
}
