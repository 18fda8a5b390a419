//! Dashboards, alerts and docs name exactly the metrics of the exporter.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use seckill_domain::outcome::OUTCOMES;
use seckill_domain::terms::TERMS;
use seckill_harness::server::Options;
use seckill_harness::wait_until;

use super::families::{all, answers_of_info};
use super::find::Names;
use super::read::{self, Group, Outbox, Sale, Snapshot};
use super::rows::{CHANGES, NOT_SHOWN, OF_INFO, OF_STATUS, WELL};
use super::target::{self, Sight};
use crate::connect::{connect, Target};
use crate::metrics::{Family, Kind};
use crate::stop::Stop;
use crate::{orders, split};

/// A snapshot of a server and a sale with every possible field.
fn everything() -> Snapshot {
    let mut sale = Sale { stream: Some(b"s".to_vec()), ..Sale::default() };
    sale.numbers = OF_STATUS.iter().map(|row| (row.0.to_owned(), 1)).collect();
    sale.numbers.insert("now".into(), 1);
    let counters = ["granted", "soldout"].iter().chain(CHANGES);
    sale.counters = counters.map(|name| ((*name).to_owned(), 1)).collect();
    let groups = vec![Group::default()];
    sale.outbox = Some(Outbox { length: 1, groups });
    let numbers = OF_INFO.iter().map(|row| (row.0.to_owned(), "1".to_owned()));
    let words = WELL.iter().map(|row| (row.0.to_owned(), row.1.to_owned()));
    let outcomes = [("seckill_granted".to_owned(), "1".to_owned())];
    let info = numbers.chain(words).chain(outcomes).collect();
    Snapshot { info, sales: vec![sale], ..Snapshot::default() }
}

/// Every metric name of this program, as Prometheus has it.
fn names() -> BTreeSet<String> {
    let replicas = [("10.0.0.2:6379".to_owned(), None)].into();
    let all = all(Some(&everything()), true, &replicas)
        .into_iter()
        .chain(orders::families())
        .chain(split::families(&[]));
    let name = |family: Family| match family.kind {
        Kind::Counter => format!("{}_total", family.name),
        Kind::Gauge => family.name,
    };
    all.map(name).collect()
}

fn text(path: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
}

/// Words that begin with the prefix of the exporter's metrics.
fn named(text: &str) -> BTreeSet<&str> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let is_ours = |word: &&str| {
        let rest = word.strip_prefix("seckill_");
        rest.is_some_and(|rest| {
            ["sale_", "server_", "exporter_", "orders_", "split_", "up"]
                .iter()
                .any(|part| rest.starts_with(part))
        })
    };
    words.filter(is_ours).collect()
}

/// Every metric of dashboards and alerts exists, and the docs page lists all metrics.
#[test]
fn what_is_named_is_shown() {
    let names = names();
    for path in [
        "packaging/prometheus/alerts.yml",
        "packaging/prometheus/alerts_test.yml",
        "packaging/grafana/seckill.json",
        "docs/watch.md",
    ] {
        let text = text(path);
        let named = named(&text);
        assert!(named.len() > 10, "they are found in {path}: {named:?}");
        for name in named {
            assert!(names.contains(name), "{name} in {path}");
        }
    }
    let page = text("docs/watch.md");
    let missing: Vec<_> =
        names.iter().filter(|name| !named(&page).contains(name.as_str())).collect();
    assert_eq!(missing, Vec::<&String>::new(), "missing in docs/watch.md");
}

/// Otherwise each backup would be a replica that is missed for a day.
#[test]
fn a_backup_is_no_replica() {
    let mut snapshot = everything();
    let lines = [
        ("slave0", "ip=10.0.0.2,port=6379,state=online,offset=9,lag=0"),
        ("slave1", "ip=10.0.0.9,port=0,state=send_bulk,offset=0,lag=0"),
    ];
    snapshot.info.extend(lines.map(|(name, text)| (name.to_owned(), text.to_owned())));
    let all = all(Some(&snapshot), true, &BTreeMap::new());
    let replicas = all.iter().find(|family| family.name == "seckill_server_replicas");
    assert_eq!(replicas.map(|family| family.rows[0].1), Some(1.0));
}

/// Each alert has a case in the file that promtool runs in `make watch-test`.
#[test]
fn every_alert_has_its_case() {
    let after = |text: &str, mark: &str| -> BTreeSet<String> {
        let lines = text.lines().filter_map(|line| line.trim().strip_prefix(mark));
        lines.map(str::to_owned).collect()
    };
    let alerts = after(&text("packaging/prometheus/alerts.yml"), "- alert: ");
    let fired = after(&text("packaging/prometheus/alerts_test.yml"), "- alertname: ");
    assert!(alerts.len() > 10, "they are found: {alerts:?}");
    assert_eq!(alerts, fired);
    let headings = after(&text("docs/watch.md"), "### ");
    assert_eq!(alerts, headings, "each has its runbook");
    let runbooks = after(&text("packaging/prometheus/alerts.yml"), "runbook_url: ");
    let page = "/usr/share/doc/seckill/watch.md";
    let expected = alerts.iter().map(|alert| format!("{page}#{}", alert.to_lowercase()));
    assert_eq!(runbooks, expected.collect());
}

#[test]
fn the_dashboard_is_whole() {
    let board: serde_json::Value =
        serde_json::from_str(&text("packaging/grafana/seckill.json")).expect("JSON");
    let panels = board["panels"].as_array().expect("panels");
    let variables = board["templating"]["list"].as_array().expect("variables");
    let variables: Vec<_> = variables.iter().map(|v| v["name"].as_str().unwrap()).collect();
    assert_eq!(variables, ["datasource", "instance", "sale"]);
    let ids: BTreeSet<_> = panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), panels.len(), "no id twice");
    for panel in panels.iter().filter(|panel| panel["type"] != "row") {
        let place = &panel["gridPos"];
        let [x, w] = ["x", "w"].map(|name| place[name].as_u64().expect("a place"));
        assert!(w > 0 && x + w <= 24, "{place}");
        for target in panel["targets"].as_array().expect("targets") {
            let expression = target["expr"].as_str().expect("an expression");
            assert!(!named(expression).is_empty(), "{expression}");
        }
    }
}

/// Every field of STATUS and INFO is shown, or is in the list of fields that are not shown.
#[test]
fn every_number_of_a_server_is_known() {
    let server = Options::new().start();
    let terms = "20 EVERY 60000 LIMIT 1 HOLD 9 OUTBOX s:orders";
    assert_eq!(server.call(&format!("SECKILL.INIT s {terms}")), "+OK");
    assert_eq!(server.call("SECKILL.INIT p 20 DRAW PACKETS 5"), "+OK");
    assert_eq!(server.call("SECKILL.INIT n 20 NUMBERED"), "+OK");
    let url = format!("redis://127.0.0.1:{}/", server.port());
    let mut redis = connect(&Target::Address(redis::Client::open(url).unwrap())).unwrap();
    let names: Names = [b"s".to_vec(), b"p".to_vec(), b"n".to_vec()].into();
    let snapshot = read::snapshot(&mut redis, &names, 9).expect("a snapshot");
    assert_eq!((snapshot.sales.len(), snapshot.unreadable), (3, 0));
    let shown = |field: &str| OF_STATUS.iter().any(|row| row.0 == field);
    let terms = TERMS.iter().filter(|term| term.section().is_some());
    let terms = terms.filter_map(|term| term.field).map(|(name, _)| name);
    let terms: Vec<_> = terms.filter(|name| !name.ends_with("_at")).collect();
    for sale in &snapshot.sales {
        for field in sale.numbers.keys().map(String::as_str) {
            let is_none = NOT_SHOWN.contains(&field) || terms.contains(&field);
            assert!(shown(field) != is_none, "STATUS {field}");
        }
        let answers: Vec<_> = OUTCOMES.iter().map(|row| row.counter.to_str().unwrap()).collect();
        for counter in sale.counters.keys().map(String::as_str).filter(|c| *c != "attempts") {
            assert!(answers.contains(&counter) != CHANGES.contains(&counter), "{counter}");
        }
    }
    let answers: BTreeSet<_> = OUTCOMES.iter().map(|row| row.counter.to_str().unwrap()).collect();
    assert_eq!(BTreeSet::from_iter(answers_of_info(&snapshot.info)), answers);
}

/// A reading has the sales that were known at its start, so before the end of the first search it
/// can't report that there are no sales.
#[test]
fn a_reading_before_the_end_of_the_search_does_not_say_that_there_is_no_sale() {
    let server = Options::new().start();
    assert_eq!(server.call("SECKILL.INIT s:1 20"), "+OK");
    let url = format!("redis://127.0.0.1:{}/", server.port());
    let address = Target::Address(redis::Client::open(url).unwrap());
    let target = target::Target::of(address, &["s:*".to_owned()], 9);
    let early = target.now();
    let stop = Stop::on_signals().expect("signals");
    thread::scope(|scope| {
        scope.spawn(|| target.sales.look(&target.server, Duration::from_secs(1), &stop));
        wait_until("the search ends", || target.sales.are_searched());
        stop.tell();
    });
    let looks = format!("looking for sales at {}", target.name);
    assert_eq!(target.sight(&early), Sight::NoSale(looks));
    wait_until("a newer reading has it", || target.sight(&target.now()) == Sight::Clear);
}
