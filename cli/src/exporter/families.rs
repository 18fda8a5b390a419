//! The metrics of a snapshot. Their names are in the tables below and in `rows`.

use std::collections::{BTreeMap, BTreeSet};

use super::read::{Group, Sale, Snapshot};
use super::rows::{As::Seconds, Row, CHANGES, OF_INFO, OF_STATUS, STATES, WELL};
use crate::metrics::Kind::{Counter, Gauge};
use crate::metrics::{self, flag, Family, Labels, Shown};

/// Prefixes of metrics: of a sale, of a consumer group of its outbox, and of the server.
const SALE: &str = "seckill_sale_";
const GROUP: &str = "seckill_sale_outbox_group_";
const SERVER: &str = "seckill_server_";

/// Further numbers of a sale.
const OF_SALE: &[Shown<Sale>] = &[
    (
        "expiry_lag_seconds",
        Gauge,
        "How long a hold has been due that still holds its units; 0 when none is.",
        |sale| {
            let (now, due) = (*sale.numbers.get("now")?, *sale.numbers.get("next_deadline")?);
            Seconds.shown(if due == 0 { 0 } else { (now - due).max(0) } as f64)
        },
    ),
    ("outbox_entries", Gauge, "Entries that are kept in the outbox stream.", |sale| {
        Some(sale.outbox.as_ref()?.length as f64)
    }),
    ("outbox_groups", Gauge, "Consumer groups of the outbox; 0: nobody reads it.", |sale| {
        Some(sale.outbox.as_ref()?.groups.len() as f64)
    }),
];

/// Numbers of each consumer group of the outbox.
const OF_GROUP: &[Shown<Group>] = &[
    ("consumers", Gauge, "Readers that have joined the group.", |group| {
        Some(group.consumers as f64)
    }),
    ("pending_entries", Gauge, "Entries a reader was given and has not acknowledged.", |group| {
        Some(group.pending as f64)
    }),
    (
        "lag_entries",
        Gauge,
        "Entries no reader of the group was given yet; all entries if the server can't tell.",
        |group| Some(group.lag as f64),
    ),
    (
        "delivered_timestamp_seconds",
        Gauge,
        "Unix time at which the newest entry was written that a reader was given.",
        |group| Seconds.shown(group.delivered_ms as f64),
    ),
];

/// Numbers of the exporter itself.
const OF_EXPORTER: &[Shown<Snapshot>] = &[
    ("sales", Gauge, "Sales that this exporter shows.", |all| Some(all.sales.len() as f64)),
    (
        "sales_unreadable",
        Gauge,
        "Sales that were found and that this user may not read, or not their outbox.",
        |all| Some(all.unreadable as f64),
    ),
    (
        "sales_left_out",
        Gauge,
        "Sales that were found and are not shown: --max-sales is too small.",
        |all| Some(all.left_out as f64),
    ),
    ("read_seconds", Gauge, "Seconds it took to read the server.", |all| {
        Some(all.took.as_secs_f64())
    }),
];

/// Every metric of a server; without a reading only the metric that reports this.
pub fn all(
    snapshot: Option<&Snapshot>,
    is_up: bool,
    replicas: &BTreeMap<String, Option<String>>,
) -> Vec<Family> {
    let none = Labels::new;
    let version = vec![("version", env!("CARGO_PKG_VERSION").to_owned())];
    let help = "1 while the server answers, has the module and lets its sales be seen, else 0.";
    let mut all = vec![
        info("seckill_exporter_build_info", "Version of the exporter.", &[(version, &())]),
        Family::of("seckill_up", Gauge, help, &[(none(), &is_up)], |is_up| Some(flag(*is_up))),
    ];
    let Some(snapshot) = snapshot else { return all };
    let rows =
        replicas.iter().map(|(address, module)| (vec![("replica", address.clone())], module));
    all.push(Family::of(
        "seckill_server_replica_has_module",
        Gauge,
        "Of each replica that could be asked: 1 if it has the module, 0 if it copies nothing of a \
         sale and still counts for WAIT.",
        &rows.collect::<Vec<_>>(),
        |module| Some(flag(module.is_some())),
    ));
    all.extend(of(snapshot));
    all.retain(|family| !family.rows.is_empty());
    all
}

/// Everything that is in `snapshot`.
fn of(snapshot: &Snapshot) -> Vec<Family> {
    let server = [(Labels::new(), snapshot)];
    let sales = snapshot.sales.iter().map(|sale| (vec![("sale", sale.name.clone())], sale));
    let sales: Vec<_> = sales.collect();
    let mut all = of_server(snapshot, &server);
    all.extend(metrics::families("seckill_exporter_", OF_EXPORTER, &server));
    all.extend(of_sales(&sales));
    all.extend(metrics::families(GROUP, OF_GROUP, &groups(&sales)));
    all
}

const ATTEMPTS: &str = "Calls of GRAB and MGRAB, by what they were answered.";

/// The numbers of `rows` that each of `all` has.
fn fields<T>(
    prefix: &str,
    rows: &[Row],
    all: &[(Labels, &T)],
    number: impl Fn(&T, &str) -> Option<f64>,
) -> Vec<Family> {
    let family = |&(field, name, show, help): &Row| {
        let shown = |one: &T| show.shown(number(one, field)?);
        Family::of(format!("{prefix}{name}"), show.kind(), help, all, shown)
    };
    rows.iter().map(family).collect()
}

/// The answers to GRAB among the `names` of counters; a newer module may have more.
fn answers<'n>(names: impl Iterator<Item = &'n String>) -> Vec<&'n str> {
    let names: BTreeSet<&str> = names.map(String::as_str).collect();
    let is_answer = |name: &&str| *name != "attempts" && !CHANGES.contains(name);
    names.into_iter().filter(is_answer).collect()
}

/// The answers that INFO counts: each number of the module that is not in `OF_INFO`.
pub(super) fn answers_of_info(info: &BTreeMap<String, String>) -> Vec<&str> {
    let is_other =
        |field: &str| field == "seckill_version" || OF_INFO.iter().any(|row| row.0 == field);
    let fields = info.keys().filter(|field| !is_other(field));
    fields.filter_map(|field| field.strip_prefix("seckill_")).collect()
}

fn of_server(snapshot: &Snapshot, server: &[(Labels, &Snapshot)]) -> Vec<Family> {
    let number = |all: &Snapshot, field: &str| all.info.get(field)?.parse().ok();
    let mut all = fields(SERVER, OF_INFO, server, number);
    for &(field, word, name, help) in WELL {
        let is_well = |all: &Snapshot| all.info.get(field).map(|said| flag(said == word));
        all.push(Family::of(format!("{SERVER}{name}"), Gauge, help, server, is_well));
    }
    let answers = answers_of_info(&snapshot.info);
    let outcomes = ("outcome", answers.as_slice());
    let count = |all: &Snapshot, outcome: &str| number(all, &format!("seckill_{outcome}"));
    let name = "seckill_server_attempts";
    all.push(Family::by_word(name, Counter, ATTEMPTS, outcomes, server, count));
    let help = "1 if the server may remove a sale when memory is short, else 0.";
    let evicts = |all: &Snapshot| Some(flag(all.evicts()));
    all.push(Family::of("seckill_server_evicts_sales", Gauge, help, server, evicts));
    let help = "Replicas that are connected to this server, without backups.";
    let replicas = |all: &Snapshot| Some(all.replicas().len() as f64);
    all.push(Family::of("seckill_server_replicas", Gauge, help, server, replicas));
    let said = |field: &str| snapshot.info.get(field).cloned().unwrap_or_default();
    let labels = vec![
        ("module_version", said("seckill_version")),
        ("server", snapshot.software().0.to_lowercase()),
        ("server_version", snapshot.software().1.to_owned()),
        ("role", said("role")),
        ("mode", said("redis_mode")),
        ("eviction", said("maxmemory_policy")),
    ];
    all.push(info(
        "seckill_server_info",
        "Always 1; the labels tell what runs there and how.",
        &[(labels, snapshot)],
    ));
    all
}

/// An info metric: constant 1 with labels.
fn info<T>(name: &str, help: &'static str, all: &[(Labels, &T)]) -> Family {
    Family::of(name, Gauge, help, all, |_| Some(1.0))
}

fn of_sales(sales: &[(Labels, &Sale)]) -> Vec<Family> {
    let number = |sale: &Sale, field: &str| sale.numbers.get(field).map(|number| *number as f64);
    let count = |sale: &Sale, name: &str| sale.counters.get(name).map(|count| *count as f64);
    let mut all = fields(SALE, OF_STATUS, sales, number);
    let answers = answers(sales.iter().flat_map(|(_, sale)| sale.counters.keys()));
    for (name, help, words) in [
        ("seckill_sale_attempts", ATTEMPTS, ("outcome", answers.as_slice())),
        (
            "seckill_sale_changes",
            "Changes of grants after they were made, by kind.",
            ("change", CHANGES),
        ),
    ] {
        all.push(Family::by_word(name, Counter, help, words, sales, count));
    }
    let word = |sale: &Sale, field: &str| sale.words.get(field).cloned().unwrap_or_default();
    let is_in = |sale: &Sale, state: &str| Some(flag(word(sale, "state") == state));
    let (help, states) = ("1 at the state the sale is in, 0 at the others.", ("state", STATES));
    all.push(Family::by_word("seckill_sale_state", Gauge, help, states, sales, is_in));
    let described = sales.iter().map(|(labels, sale)| {
        let stream = sale.stream.as_deref().map(String::from_utf8_lossy).unwrap_or_default();
        let epoch = sale.numbers.get("epoch").map(i64::to_string).unwrap_or_default();
        let more = [("id", word(sale, "id")), ("epoch", epoch), ("outbox", stream.into_owned())];
        ([labels.as_slice(), &more].concat(), *sale)
    });
    all.push(info(
        "seckill_sale_info",
        "Always 1; the labels tell which sale it is and where its outbox is.",
        &described.collect::<Vec<_>>(),
    ));
    all.extend(metrics::families(SALE, OF_SALE, sales));
    all
}

/// The groups of all outboxes.
fn groups<'a>(sales: &[(Labels, &'a Sale)]) -> Vec<(Labels, &'a Group)> {
    let mut all = Vec::new();
    for (labels, sale) in sales {
        for group in sale.outbox.iter().flat_map(|outbox| &outbox.groups) {
            all.push(([labels.as_slice(), &[("group", group.name.clone())]].concat(), group));
        }
    }
    all
}
