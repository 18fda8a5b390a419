//! The metrics of a snapshot. The tables below have all names.

use std::collections::{BTreeMap, BTreeSet};

use super::read::{Group, Sale, Snapshot};
use crate::metrics::Kind::{Counter, Gauge};
use crate::metrics::{self, flag, Family, Kind, Labels, Shown};

/// The unit of a number: Prometheus has base units, for example seconds.
#[derive(Clone, Copy)]
pub(super) enum As {
    /// A number that may fall.
    Number,
    /// A number that only grows.
    Count,
    /// Milliseconds, of a span or since 1970.
    Seconds,
    /// Seconds, where 0 stands for none.
    Moment,
}

use As::{Count, Moment, Number, Seconds};

impl As {
    fn kind(self) -> Kind {
        match self {
            Count => Counter,
            Number | Seconds | Moment => Gauge,
        }
    }

    /// A number as Prometheus has it; `None` for a moment that there is not.
    fn shown(self, number: f64) -> Option<f64> {
        match self {
            Number | Count => Some(number),
            Moment if number == 0.0 => None,
            Seconds | Moment => Some(number / 1000.0),
        }
    }
}

/// A field, its metric name after the prefix, its unit, and its sentence.
pub(super) type Row = (&'static str, &'static str, As, &'static str);

/// Before the names of what is said of a sale, of a group of its outbox, and of the server.
const SALE: &str = "seckill_sale_";
const GROUP: &str = "seckill_sale_outbox_group_";
const SERVER: &str = "seckill_server_";

/// Numbers of STATUS. What a sale has not is left out: parts and lists are options.
pub(super) const OF_STATUS: &[Row] = &[
    ("supply", "supply_units", Number, "Units the sale has in all: available, held and sold."),
    ("available", "available_units", Number, "Units that the next buyers can get."),
    ("held", "held_units", Number, "Units that buyers hold and have not paid yet."),
    ("sold", "sold_units", Number, "Units that are sold for good."),
    (
        "deficit",
        "deficit_units",
        Number,
        "Units promised to buyers that the sale does not have: restock or refund.",
    ),
    ("winners", "winners", Number, "Users who hold or bought at least one unit."),
    ("grants", "grants", Count, "Successful grabs, whatever became of them later."),
    ("rev", "outbox_written", Count, "Entries the sale has written to its outbox."),
    (
        "next_deadline",
        "next_deadline_timestamp_seconds",
        Moment,
        "Unix time at which the hold that ends first runs out.",
    ),
    ("open_at", "open_timestamp_seconds", Moment, "Unix time at which the sale opens."),
    ("close_at", "close_timestamp_seconds", Moment, "Unix time at which the sale closes."),
    (
        "last_grant_at",
        "last_grant_timestamp_seconds",
        Moment,
        "Unix time of the newest successful grab.",
    ),
    (
        "outbox_error",
        "outbox_error",
        Number,
        "1 while the outbox takes no entry and nothing can be sold, else 0.",
    ),
    (
        "fences_dropped",
        "fences_dropped",
        Count,
        "Cancelled request ids that were forgotten early: there were too many to keep.",
    ),
    ("packets", "packets", Number, "Red packets that are left to draw."),
    (
        "elsewhere",
        "elsewhere_units",
        Number,
        "Of a part of a split sale: units that the other parts may still have.",
    ),
    (
        "unmet_units",
        "unmet_units",
        Count,
        "Of a part of a split sale: units asked for here that it could not give.",
    ),
    (
        "put_in",
        "put_in_units",
        Number,
        "Of a part of a split sale: units it was made or restocked with.",
    ),
    ("sent", "sent_units", Count, "Of a part of a split sale: units sent to other parts."),
    (
        "received",
        "received_units",
        Count,
        "Of a part of a split sale: units received from other parts.",
    ),
    ("waiting", "waiting", Number, "Users on the waiting list."),
    ("waiting_units", "waiting_units", Number, "Units that the users on the list ask for."),
    (
        "offered",
        "offers",
        Number,
        "Offers to users of the list that are neither accepted nor over.",
    ),
    (
        "waiting_since",
        "waiting_since_timestamp_seconds",
        Moment,
        "Unix time at which the user who waits longest joined the list.",
    ),
];

/// The counters of changes, by kind. Every other counter is an answer to GRAB or MGRAB, and
/// `counters.attempts` is the sum of those.
pub(super) const CHANGES: &[&str] = &[
    "confirmed",
    "cancelled",
    "expired",
    "refunded",
    "reclaimed",
    "imported",
    "trimmed",
    "offers",
    "dropped",
];

/// Numbers of STATUS that are of no use by themselves. Terms of the sale that are no moments are
/// not shown either.
#[cfg(test)]
pub(super) const NOT_SHOWN: &[&str] = &[
    // Ids and positions: what they count is shown by others.
    "version",
    "epoch",
    "round",
    "now",
    "created_at",
    "round_ends_at",
    "next_round_at",
];

const STATES: &[&str] = &["pending", "open", "allheld", "soldout", "paused", "closed"];

/// Numbers of INFO.
pub(super) const OF_INFO: &[Row] = &[
    ("seckill_sales", "sales", Number, "Sales that are keys of this server."),
    ("seckill_holds", "holds", Number, "Grants of all sales that are held and not paid yet."),
    (
        "seckill_expiry_lag_ms",
        "expiry_lag_seconds",
        Seconds,
        "How late the hold that expired last was given back.",
    ),
    (
        "seckill_expiry_lag_max_ms",
        "expiry_lag_max_seconds",
        Seconds,
        "How late a hold was given back at worst since the server started.",
    ),
    (
        "seckill_sweeper_backlog",
        "sweeper_backlog",
        Number,
        "Sales with holds that are due and not yet given back.",
    ),
    ("seckill_expired", "expired", Count, "Holds that ran out unpaid."),
    ("seckill_waiters", "waiting", Number, "Users on waiting lists of all sales."),
    ("seckill_offers", "offers", Count, "Offers made to users of waiting lists."),
    (
        "seckill_dropped",
        "dropped",
        Count,
        "Users who left a waiting list without an offer: too late, or no longer allowed.",
    ),
    (
        "seckill_apply_refused",
        "apply_refused",
        Count,
        "Changes of its primary or its log that this node refused: it differs and must be synced.",
    ),
    (
        "seckill_outbox_refused",
        "outbox_refused",
        Count,
        "Outbox entries this node left out: it differs from its primary and must be synced.",
    ),
    ("uptime_in_seconds", "uptime_seconds", Number, "Seconds since the server started."),
    ("connected_clients", "clients", Number, "Client connections that are open."),
    ("maxclients", "clients_max", Number, "Client connections that may be open."),
    (
        "rejected_connections",
        "rejected_connections",
        Count,
        "Client connections refused because too many were open.",
    ),
    ("used_memory", "memory_bytes", Number, "Memory the server uses."),
    (
        "maxmemory",
        "memory_max_bytes",
        Number,
        "Memory at which it refuses new grants; 0 is no limit.",
    ),
    ("evicted_keys", "evicted_keys", Count, "Keys the server removed to make room."),
    ("total_commands_processed", "commands", Count, "Commands the server has carried out."),
    ("used_cpu_sys", "cpu_system_seconds", Count, "Processor time the system used for it."),
    ("used_cpu_user", "cpu_user_seconds", Count, "Processor time the server itself used."),
    (
        "aof_delayed_fsync",
        "aof_delayed_fsync",
        Count,
        "Times the disk was too slow for appendfsync everysec.",
    ),
    ("connected_slaves", "replicas", Number, "Replicas that are connected to this server."),
    (
        "master_last_io_seconds_ago",
        "primary_silent_seconds",
        Number,
        "Of a replica: seconds since its primary was heard; -1 while they are not connected.",
    ),
];

/// INFO fields for something that works, each with the value that means "works".
pub(super) const WELL: &[(&str, &str, &str, &str)] = &[
    ("aof_last_write_status", "ok", "aof_write_ok", "1 while the log can be written, else 0."),
    (
        "aof_last_bgrewrite_status",
        "ok",
        "aof_rewrite_ok",
        "1 if the last rewrite of the log went well, else 0.",
    ),
    ("rdb_last_bgsave_status", "ok", "rdb_save_ok", "1 if the last snapshot was written, else 0."),
    (
        "master_link_status",
        "up",
        "primary_link_up",
        "Of a replica: 1 while it is connected to its primary, else 0.",
    ),
];

/// Further numbers of a sale.
const OF_SALE: &[Shown<Sale>] = &[
    // A hold that is due and still there. 0 when none is.
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
    ("lag_entries", Gauge, "Entries no reader of the group was given yet.", |group| {
        group.lag.map(|lag| lag as f64)
    }),
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
    ("sales_unreadable", Gauge, "Sales that were found and that this user may not read.", |all| {
        Some(all.unreadable as f64)
    }),
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

/// Every metric of a server; without a reading only the one that says so.
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

/// The answers that are counted, of the names of counters: a newer module has more.
fn answers<'n>(names: impl Iterator<Item = &'n String>) -> Vec<&'n str> {
    let names: BTreeSet<&str> = names.map(String::as_str).collect();
    let is_answer = |name: &&str| *name != "attempts" && !CHANGES.contains(name);
    names.into_iter().filter(is_answer).collect()
}

/// The answers that INFO counts: the numbers of the module that are no others.
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
