//! What of a snapshot Prometheus is shown, under which names. The tables below are the whole of it.

use super::read::{Outbox, Sale, Snapshot};
use crate::metrics::{Family, Kind, Labels};

/// How a number is to be shown: Prometheus has base units, seconds among them.
#[derive(Clone, Copy)]
pub(super) enum As {
    Number,
    /// Milliseconds, of a span or since 1970.
    Seconds,
    /// As `Seconds`, but 0 stands for none.
    Moment,
}

use As::{Moment, Number, Seconds};
use Kind::{Counter, Gauge};

/// A field, the name that it is shown under, and what it is.
pub(super) type Row = (&'static str, &'static str, Kind, As, &'static str);

/// Numbers of STATUS. What a sale has not is left out: parts and lists are options.
pub(super) const OF_STATUS: &[Row] = &[
    ("supply", "seckill_sale_supply_units", Gauge, Number, "All units of the sale."),
    ("available", "seckill_sale_available_units", Gauge, Number, "Units that can be granted."),
    ("held", "seckill_sale_held_units", Gauge, Number, "Units in held grants."),
    ("sold", "seckill_sale_sold_units", Gauge, Number, "Units in sold grants."),
    ("deficit", "seckill_sale_deficit_units", Gauge, Number, "Units promised beyond the supply."),
    ("winners", "seckill_sale_winners", Gauge, Number, "Users with a live grant."),
    ("grants", "seckill_sale_grants", Counter, Number, "Grants, whatever came of them."),
    ("version", "seckill_sale_version", Gauge, Number, "Counts every change of the sale."),
    ("rev", "seckill_sale_outbox_rev", Gauge, Number, "Numbers the outbox entries of the sale."),
    ("epoch", "seckill_sale_epoch", Gauge, Number, "Grows with every restart and promotion."),
    (
        "next_deadline",
        "seckill_sale_next_deadline_timestamp_seconds",
        Gauge,
        Moment,
        "When the next hold runs out.",
    ),
    ("open_at", "seckill_sale_open_timestamp_seconds", Gauge, Moment, "When it opens."),
    ("close_at", "seckill_sale_close_timestamp_seconds", Gauge, Moment, "When it closes."),
    (
        "last_grant_at",
        "seckill_sale_last_grant_timestamp_seconds",
        Gauge,
        Moment,
        "When the newest grant was made.",
    ),
    ("outbox_error", "seckill_sale_outbox_error", Gauge, Number, "1: no entry can be appended."),
    ("fences_dropped", "seckill_sale_fences_dropped", Counter, Number, "Fences forgotten early."),
    ("packets", "seckill_sale_packets", Gauge, Number, "Packets left to draw."),
    ("round", "seckill_sale_round", Gauge, Number, "The round that is stored."),
    ("elsewhere", "seckill_sale_elsewhere_units", Gauge, Number, "Units other parts may have."),
    ("unmet_units", "seckill_sale_unmet_units", Counter, Number, "Units that were refused here."),
    ("put_in", "seckill_sale_put_in_units", Gauge, Number, "Units this part was given."),
    ("sent", "seckill_sale_sent_units", Counter, Number, "Units this part sent to others."),
    (
        "received",
        "seckill_sale_received_units",
        Counter,
        Number,
        "Units this part got from others.",
    ),
    ("waiting", "seckill_sale_waiting", Gauge, Number, "Entries of the waiting list."),
    ("waiting_units", "seckill_sale_waiting_units", Gauge, Number, "Units that they ask for."),
    ("offered", "seckill_sale_offers", Gauge, Number, "Offers that stand."),
    (
        "waiting_since",
        "seckill_sale_waiting_since_timestamp_seconds",
        Gauge,
        Moment,
        "When the oldest entry joined.",
    ),
];

/// What `counters.attempts` is the sum of.
pub(super) const OUTCOMES: &[&str] = &[
    "granted",
    "already",
    "replayed",
    "overlimit",
    "soldout",
    "short",
    "notopen",
    "closed",
    "paused",
    "denied",
    "busy",
    "waiting",
];

/// The other counters: changes by kind.
pub(super) const CHANGES: &[&str] = &[
    "confirmed",
    "cancelled",
    "expired",
    "refunded",
    "reclaimed",
    "imported",
    "offers",
    "dropped",
];

/// Numbers of STATUS that are terms of the sale, or of no use by themselves.
#[cfg(test)]
pub(super) const NOT_SHOWN: &[&str] = &[
    "limit",
    "grabs",
    "hold_ms",
    "now",
    "created_at",
    "round_ends_at",
    "next_round_at",
    "part",
    "parts",
    "waitlist",
    "offer_ms",
    "overtake",
];

const STATES: &[&str] = &["pending", "open", "allheld", "soldout", "paused", "closed"];

/// Numbers of INFO.
pub(super) const OF_INFO: &[Row] = &[
    ("seckill_sales", "seckill_server_sales", Gauge, Number, "Sales on this server."),
    ("seckill_holds", "seckill_server_holds", Gauge, Number, "Live holds on this server."),
    (
        "seckill_expiry_lag_ms",
        "seckill_server_expiry_lag_seconds",
        Gauge,
        Seconds,
        "How long after its time the last due hold expired.",
    ),
    (
        "seckill_expiry_lag_max_ms",
        "seckill_server_expiry_lag_max_seconds",
        Gauge,
        Seconds,
        "The longest of these since the start.",
    ),
    (
        "seckill_sweeper_backlog",
        "seckill_server_sweeper_backlog",
        Gauge,
        Number,
        "Sales with something due that nobody has come to.",
    ),
    ("seckill_expired", "seckill_server_expired", Counter, Number, "Holds that expired here."),
    ("seckill_waiters", "seckill_server_waiting", Gauge, Number, "Entries of waiting lists."),
    ("seckill_offers", "seckill_server_offers", Counter, Number, "Offers that were made here."),
    ("seckill_dropped", "seckill_server_dropped", Counter, Number, "Entries dropped here."),
    (
        "seckill_apply_refused",
        "seckill_server_apply_refused",
        Counter,
        Number,
        "Changes from a primary or a log that were refused: must be 0.",
    ),
    (
        "seckill_outbox_refused",
        "seckill_server_outbox_refused",
        Counter,
        Number,
        "Entries that their stream did not take: must be 0.",
    ),
    ("uptime_in_seconds", "seckill_server_uptime_seconds", Gauge, Number, "Since the start."),
    ("connected_clients", "seckill_server_clients", Gauge, Number, "Connections of clients."),
    ("maxclients", "seckill_server_clients_max", Gauge, Number, "Connections that may be."),
    (
        "rejected_connections",
        "seckill_server_rejected_connections",
        Counter,
        Number,
        "Connections that were one too many.",
    ),
    ("used_memory", "seckill_server_memory_bytes", Gauge, Number, "Memory in use."),
    ("maxmemory", "seckill_server_memory_max_bytes", Gauge, Number, "Its limit; 0 is none."),
    ("evicted_keys", "seckill_server_evicted_keys", Counter, Number, "Keys that were evicted."),
    (
        "total_commands_processed",
        "seckill_server_commands",
        Counter,
        Number,
        "Commands that were processed.",
    ),
    ("used_cpu_sys", "seckill_server_cpu_system_seconds", Counter, Number, "CPU of the system."),
    ("used_cpu_user", "seckill_server_cpu_user_seconds", Counter, Number, "CPU of the server."),
    ("connected_slaves", "seckill_server_replicas", Gauge, Number, "Replicas that are there."),
    (
        "master_last_io_seconds_ago",
        "seckill_server_primary_silent_seconds",
        Gauge,
        Number,
        "Since the primary was heard of; -1 while the link is down.",
    ),
];

/// Words of INFO that say that something is well, and the word for it.
pub(super) const WELL: &[(&str, &str, &str, &str)] = &[
    ("aof_last_write_status", "ok", "seckill_server_aof_write_ok", "1: the log can be written."),
    (
        "aof_last_bgrewrite_status",
        "ok",
        "seckill_server_aof_rewrite_ok",
        "1: the last rewrite of the log went well.",
    ),
    (
        "rdb_last_bgsave_status",
        "ok",
        "seckill_server_rdb_save_ok",
        "1: the last snapshot went well.",
    ),
    ("master_link_status", "up", "seckill_server_primary_link_up", "1: the primary is near."),
];

/// Everything that is shown of `snapshot`; what has no rows is left out.
pub fn of(snapshot: &Snapshot) -> Vec<Family> {
    let mut all = of_server(snapshot);
    for &(field, name, kind, show, help) in OF_STATUS {
        let rows = rows(snapshot, |sale| shown(*sale.numbers.get(field)?, show));
        all.push(Family { name, help, kind, rows });
    }
    all.push(counted(snapshot, "seckill_sale_attempts", ATTEMPTS, "outcome", OUTCOMES));
    all.push(counted(snapshot, "seckill_sale_changes", CHANGED, "change", CHANGES));
    all.extend(of_sales(snapshot));
    all.extend(of_groups(snapshot));
    all.retain(|family| !family.rows.is_empty());
    all
}

const ATTEMPTS: &str = "Judged calls of GRAB and MGRAB.";
const CHANGED: &str = "Changes of grants other than granting.";

/// A number as Prometheus has it; `None` for a moment that there is not.
fn shown(number: i64, show: As) -> Option<f64> {
    match show {
        Number => Some(number as f64),
        Moment if number == 0 => None,
        Seconds | Moment => Some(number as f64 / 1000.0),
    }
}

fn gauge(name: &'static str, help: &'static str, rows: Vec<(Labels, f64)>) -> Family {
    Family { name, help, kind: Gauge, rows }
}

fn alone(name: &'static str, help: &'static str, number: f64) -> Family {
    gauge(name, help, vec![(Vec::new(), number)])
}

fn of_server(snapshot: &Snapshot) -> Vec<Family> {
    let text = |field: &str| snapshot.info.get(field);
    let mut all = Vec::new();
    for &(field, name, kind, show, help) in OF_INFO {
        let number = text(field).and_then(|text| text.parse::<f64>().ok());
        let number = match show {
            Number => number,
            Seconds | Moment => number.map(|ms| ms / 1000.0),
        };
        let rows = number.map(|number| (Vec::new(), number)).into_iter().collect();
        all.push(Family { name, help, kind, rows });
    }
    for &(field, word, name, help) in WELL {
        if let Some(said) = text(field) {
            all.push(alone(name, help, f64::from(u8::from(said == word))));
        }
    }
    let outcomes = OUTCOMES.iter().filter_map(|outcome| {
        let count = text(&format!("seckill_{outcome}"))?.parse().ok()?;
        Some((vec![("outcome", (*outcome).to_owned())], count))
    });
    let (name, rows) = ("seckill_server_attempts", outcomes.collect());
    all.push(Family { name, help: ATTEMPTS, kind: Counter, rows });
    let evicts = f64::from(u8::from(snapshot.evicts()));
    let help = "1: at the limit of memory the server may remove a sale.";
    all.push(alone("seckill_server_evicts_sales", help, evicts));
    let said = |field: &str| text(field).cloned().unwrap_or_default();
    let labels = vec![
        ("module_version", said("seckill_version")),
        ("server_version", [said("valkey_version"), said("redis_version")].join(" ")),
        ("role", said("role")),
        ("mode", said("redis_mode")),
        ("eviction", said("maxmemory_policy")),
    ];
    all.push(gauge("seckill_server_info", "What runs there.", vec![(labels, 1.0)]));
    let Snapshot { sales, unreadable, left_out, took, .. } = snapshot;
    let known = "Sales that this exporter reads.";
    all.push(alone("seckill_exporter_sales", known, sales.len() as f64));
    let bad = "Sales that were found and could not be read.";
    all.push(alone("seckill_exporter_sales_unreadable", bad, *unreadable as f64));
    let more = "Sales that were found beyond --max-sales.";
    all.push(alone("seckill_exporter_sales_left_out", more, *left_out as f64));
    let time = "How long it took to read the server.";
    all.push(alone("seckill_exporter_read_seconds", time, took.as_secs_f64()));
    all
}

/// One row for each sale for which there is a number.
fn rows(snapshot: &Snapshot, number: impl Fn(&Sale) -> Option<f64>) -> Vec<(Labels, f64)> {
    let row = |sale: &Sale| Some((vec![("sale", sale.name.clone())], number(sale)?));
    snapshot.sales.iter().filter_map(row).collect()
}

/// One row for each sale and counter.
fn counted(
    snapshot: &Snapshot,
    name: &'static str,
    help: &'static str,
    label: &'static str,
    counters: &[&str],
) -> Family {
    let mut rows = Vec::new();
    for sale in &snapshot.sales {
        for counter in counters {
            if let Some(count) = sale.counters.get(*counter) {
                let labels = vec![("sale", sale.name.clone()), (label, (*counter).to_owned())];
                rows.push((labels, *count as f64));
            }
        }
    }
    Family { name, help, kind: Counter, rows }
}

fn of_sales(snapshot: &Snapshot) -> Vec<Family> {
    let mut states = Vec::new();
    let mut infos = Vec::new();
    for sale in &snapshot.sales {
        let name = || ("sale", sale.name.clone());
        let word = |field: &str| sale.words.get(field).cloned().unwrap_or_default();
        for state in STATES {
            let is_it = f64::from(u8::from(word("state") == *state));
            states.push((vec![name(), ("state", (*state).to_owned())], is_it));
        }
        let stream = sale.stream.as_deref().map(String::from_utf8_lossy).unwrap_or_default();
        let labels = vec![name(), ("id", word("id")), ("outbox", stream.into_owned())];
        infos.push((labels, 1.0));
    }
    // A hold that is due and still there. 0 when none is.
    let lag = rows(snapshot, |sale| {
        let (now, due) = (*sale.numbers.get("now")?, *sale.numbers.get("next_deadline")?);
        shown(if due == 0 { 0 } else { (now - due).max(0) }, Seconds)
    });
    let length = rows(snapshot, |sale| Some(sale.outbox.as_ref()?.length as f64));
    vec![
        gauge("seckill_sale_state", "1 at the state that the sale is in.", states),
        gauge("seckill_sale_info", "Which sale it is.", infos),
        gauge("seckill_sale_expiry_lag_seconds", "How long a hold has been due.", lag),
        gauge("seckill_sale_outbox_entries", "Entries in the outbox stream.", length),
    ]
}

fn of_groups(snapshot: &Snapshot) -> Vec<Family> {
    let mut families = [
        gauge("seckill_sale_outbox_group_consumers", "Consumers of the group.", Vec::new()),
        gauge(
            "seckill_sale_outbox_group_pending_entries",
            "Entries that were delivered and not acknowledged.",
            Vec::new(),
        ),
        gauge(
            "seckill_sale_outbox_group_lag_entries",
            "Entries that were not delivered.",
            Vec::new(),
        ),
        gauge(
            "seckill_sale_outbox_group_delivered_timestamp_seconds",
            "When the newest entry that was delivered happened.",
            Vec::new(),
        ),
    ];
    for sale in &snapshot.sales {
        for group in sale.outbox.iter().flat_map(|Outbox { groups, .. }| groups) {
            let labels = vec![("sale", sale.name.clone()), ("group", group.name.clone())];
            let numbers = [
                Some(group.consumers as f64),
                Some(group.pending as f64),
                group.lag.map(|lag| lag as f64),
                Some(group.delivered_ms as f64 / 1000.0),
            ];
            for (family, number) in families.iter_mut().zip(numbers) {
                family.rows.extend(number.map(|number| (labels.clone(), number)));
            }
        }
    }
    families.into()
}
