//! What of a snapshot Prometheus is shown, under which names. The tables below are the whole of it.

use super::read::{Group, Sale, Snapshot};
use crate::metrics::Kind::{Counter, Gauge};
use crate::metrics::{self, flag, Family, Kind, Labels, Shown};

/// How a number is to be shown: Prometheus has base units, seconds among them.
#[derive(Clone, Copy)]
pub(super) enum As {
    /// It may go down.
    Number,
    /// It only grows.
    Count,
    /// Milliseconds, of a span or since 1970.
    Seconds,
    /// As `Seconds`, but 0 stands for none.
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

/// A field, the name that it is shown under behind a prefix, and what it is.
pub(super) type Row = (&'static str, &'static str, As, &'static str);

/// Before the names of what is said of a sale, of a group of its outbox, and of the server.
const SALE: &str = "seckill_sale_";
const GROUP: &str = "seckill_sale_outbox_group_";
const SERVER: &str = "seckill_server_";

/// Numbers of STATUS. What a sale has not is left out: parts and lists are options.
pub(super) const OF_STATUS: &[Row] = &[
    ("supply", "supply_units", Number, "All units of the sale."),
    ("available", "available_units", Number, "Units that can be granted."),
    ("held", "held_units", Number, "Units in held grants."),
    ("sold", "sold_units", Number, "Units in sold grants."),
    ("deficit", "deficit_units", Number, "Units promised beyond the supply."),
    ("winners", "winners", Number, "Users with a live grant."),
    ("grants", "grants", Count, "Grants, whatever came of them."),
    ("version", "version", Number, "Counts every change of the sale."),
    ("rev", "outbox_rev", Number, "Numbers the outbox entries of the sale."),
    ("epoch", "epoch", Number, "Grows with every restart and promotion."),
    ("next_deadline", "next_deadline_timestamp_seconds", Moment, "When the next hold runs out."),
    ("open_at", "open_timestamp_seconds", Moment, "When it opens."),
    ("close_at", "close_timestamp_seconds", Moment, "When it closes."),
    ("last_grant_at", "last_grant_timestamp_seconds", Moment, "When the newest grant was made."),
    ("outbox_error", "outbox_error", Number, "1: no entry can be appended."),
    ("fences_dropped", "fences_dropped", Count, "Fences forgotten early."),
    ("packets", "packets", Number, "Packets left to draw."),
    ("round", "round", Number, "The round that is stored."),
    ("elsewhere", "elsewhere_units", Number, "Units other parts may have."),
    ("unmet_units", "unmet_units", Count, "Units that were refused here."),
    ("put_in", "put_in_units", Number, "Units this part was given."),
    ("sent", "sent_units", Count, "Units this part sent to others."),
    ("received", "received_units", Count, "Units this part got from others."),
    ("waiting", "waiting", Number, "Entries of the waiting list."),
    ("waiting_units", "waiting_units", Number, "Units that they ask for."),
    ("offered", "offers", Number, "Offers that stand."),
    ("waiting_since", "waiting_since_timestamp_seconds", Moment, "When the oldest entry joined."),
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
    ("seckill_sales", "sales", Number, "Sales on this server."),
    ("seckill_holds", "holds", Number, "Live holds on this server."),
    (
        "seckill_expiry_lag_ms",
        "expiry_lag_seconds",
        Seconds,
        "How long after its time the last due hold expired.",
    ),
    (
        "seckill_expiry_lag_max_ms",
        "expiry_lag_max_seconds",
        Seconds,
        "The longest of these since the start.",
    ),
    (
        "seckill_sweeper_backlog",
        "sweeper_backlog",
        Number,
        "Sales with something due that nobody has come to.",
    ),
    ("seckill_expired", "expired", Count, "Holds that expired here."),
    ("seckill_waiters", "waiting", Number, "Entries of waiting lists."),
    ("seckill_offers", "offers", Count, "Offers that were made here."),
    ("seckill_dropped", "dropped", Count, "Entries dropped here."),
    (
        "seckill_apply_refused",
        "apply_refused",
        Count,
        "Changes from a primary or a log that were refused: must be 0.",
    ),
    (
        "seckill_outbox_refused",
        "outbox_refused",
        Count,
        "Entries that their stream did not take: must be 0.",
    ),
    ("uptime_in_seconds", "uptime_seconds", Number, "Since the start."),
    ("connected_clients", "clients", Number, "Connections of clients."),
    ("maxclients", "clients_max", Number, "Connections that may be."),
    ("rejected_connections", "rejected_connections", Count, "Connections that were one too many."),
    ("used_memory", "memory_bytes", Number, "Memory in use."),
    ("maxmemory", "memory_max_bytes", Number, "Its limit; 0 is none."),
    ("evicted_keys", "evicted_keys", Count, "Keys that were evicted."),
    ("total_commands_processed", "commands", Count, "Commands that were processed."),
    ("used_cpu_sys", "cpu_system_seconds", Count, "CPU of the system."),
    ("used_cpu_user", "cpu_user_seconds", Count, "CPU of the server."),
    ("connected_slaves", "replicas", Number, "Replicas that are there."),
    (
        "master_last_io_seconds_ago",
        "primary_silent_seconds",
        Number,
        "Since the primary was heard of; -1 while the link is down.",
    ),
];

/// Words of INFO that say that something is well, and the word for it.
pub(super) const WELL: &[(&str, &str, &str, &str)] = &[
    ("aof_last_write_status", "ok", "aof_write_ok", "1: the log can be written."),
    (
        "aof_last_bgrewrite_status",
        "ok",
        "aof_rewrite_ok",
        "1: the last rewrite of the log went well.",
    ),
    ("rdb_last_bgsave_status", "ok", "rdb_save_ok", "1: the last snapshot went well."),
    ("master_link_status", "up", "primary_link_up", "1: the primary is near."),
];

/// What a sale says besides.
const OF_SALE: &[Shown<Sale>] = &[
    // A hold that is due and still there. 0 when none is.
    ("expiry_lag_seconds", Gauge, "How long a hold has been due.", |sale| {
        let (now, due) = (*sale.numbers.get("now")?, *sale.numbers.get("next_deadline")?);
        Seconds.shown(if due == 0 { 0 } else { (now - due).max(0) } as f64)
    }),
    ("outbox_entries", Gauge, "Entries in the outbox stream.", |sale| {
        Some(sale.outbox.as_ref()?.length as f64)
    }),
];

/// Of each group of its outbox.
const OF_GROUP: &[Shown<Group>] = &[
    ("consumers", Gauge, "Consumers of the group.", |group| Some(group.consumers as f64)),
    ("pending_entries", Gauge, "Entries that were delivered and not acknowledged.", |group| {
        Some(group.pending as f64)
    }),
    ("lag_entries", Gauge, "Entries that were not delivered.", |group| {
        group.lag.map(|lag| lag as f64)
    }),
    (
        "delivered_timestamp_seconds",
        Gauge,
        "When the newest entry that was delivered happened.",
        |group| Seconds.shown(group.delivered_ms as f64),
    ),
];

/// Of the exporter itself.
const OF_EXPORTER: &[Shown<Snapshot>] = &[
    ("sales", Gauge, "Sales that this exporter reads.", |all| Some(all.sales.len() as f64)),
    ("sales_unreadable", Gauge, "Sales that were found and could not be read.", |all| {
        Some(all.unreadable as f64)
    }),
    ("sales_left_out", Gauge, "Sales that were found beyond --max-sales.", |all| {
        Some(all.left_out as f64)
    }),
    ("read_seconds", Gauge, "How long it took to read the server.", |all| {
        Some(all.took.as_secs_f64())
    }),
];

/// Everything that is shown of `snapshot`; what has no rows is left out.
pub fn of(snapshot: &Snapshot) -> Vec<Family> {
    let server = [(Labels::new(), snapshot)];
    let sales = snapshot.sales.iter().map(|sale| (vec![("sale", sale.name.clone())], sale));
    let sales: Vec<_> = sales.collect();
    let mut all = of_server(snapshot, &server);
    all.extend(metrics::families("seckill_exporter_", OF_EXPORTER, &server));
    all.extend(of_sales(&sales));
    all.extend(metrics::families(GROUP, OF_GROUP, &groups(&sales)));
    all.retain(|family| !family.rows.is_empty());
    all
}

const ATTEMPTS: &str = "Judged calls of GRAB and MGRAB.";

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

fn of_server(snapshot: &Snapshot, server: &[(Labels, &Snapshot)]) -> Vec<Family> {
    let number = |all: &Snapshot, field: &str| all.info.get(field)?.parse().ok();
    let mut all = fields(SERVER, OF_INFO, server, number);
    for &(field, word, name, help) in WELL {
        let is_well = |all: &Snapshot| all.info.get(field).map(|said| flag(said == word));
        all.push(Family::of(format!("{SERVER}{name}"), Gauge, help, server, is_well));
    }
    let outcomes = ("outcome", OUTCOMES);
    let count = |all: &Snapshot, outcome: &str| number(all, &format!("seckill_{outcome}"));
    let name = "seckill_server_attempts";
    all.push(Family::by_word(name, Counter, ATTEMPTS, outcomes, server, count));
    let help = "1: at the limit of memory the server may remove a sale.";
    let evicts = |all: &Snapshot| Some(flag(all.evicts()));
    all.push(Family::of("seckill_server_evicts_sales", Gauge, help, server, evicts));
    let said = |field: &str| snapshot.info.get(field).cloned().unwrap_or_default();
    let labels = vec![
        ("module_version", said("seckill_version")),
        ("server_version", [said("valkey_version"), said("redis_version")].join(" ")),
        ("role", said("role")),
        ("mode", said("redis_mode")),
        ("eviction", said("maxmemory_policy")),
    ];
    all.push(info("seckill_server_info", "What runs there.", &[(labels, snapshot)]));
    all
}

/// What is said by labels alone.
pub fn info<T>(name: &str, help: &'static str, all: &[(Labels, &T)]) -> Family {
    Family::of(name, Gauge, help, all, |_| Some(1.0))
}

fn of_sales(sales: &[(Labels, &Sale)]) -> Vec<Family> {
    let number = |sale: &Sale, field: &str| sale.numbers.get(field).map(|number| *number as f64);
    let count = |sale: &Sale, name: &str| sale.counters.get(name).map(|count| *count as f64);
    let mut all = fields(SALE, OF_STATUS, sales, number);
    for (name, help, words) in [
        ("seckill_sale_attempts", ATTEMPTS, ("outcome", OUTCOMES)),
        ("seckill_sale_changes", "Changes of grants other than granting.", ("change", CHANGES)),
    ] {
        all.push(Family::by_word(name, Counter, help, words, sales, count));
    }
    let word = |sale: &Sale, field: &str| sale.words.get(field).cloned().unwrap_or_default();
    let is_in = |sale: &Sale, state: &str| Some(flag(word(sale, "state") == state));
    let (help, states) = ("1 at the state that the sale is in.", ("state", STATES));
    all.push(Family::by_word("seckill_sale_state", Gauge, help, states, sales, is_in));
    let described = sales.iter().map(|(labels, sale)| {
        let stream = sale.stream.as_deref().map(String::from_utf8_lossy).unwrap_or_default();
        let more = [("id", word(sale, "id")), ("outbox", stream.into_owned())];
        ([labels.as_slice(), &more].concat(), *sale)
    });
    all.push(info("seckill_sale_info", "Which sale it is.", &described.collect::<Vec<_>>()));
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
