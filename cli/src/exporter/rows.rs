//! The numbers of STATUS and INFO that are shown, a row each: field, name, unit, description.

use crate::metrics::Kind::{self, Counter, Gauge};

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
    pub(super) fn kind(self) -> Kind {
        match self {
            Count => Counter,
            Number | Seconds | Moment => Gauge,
        }
    }

    /// A number as Prometheus has it; `None` for a time that is not set.
    pub(super) fn shown(self, number: f64) -> Option<f64> {
        match self {
            Number | Count => Some(number),
            Moment if number == 0.0 => None,
            Seconds | Moment => Some(number / 1000.0),
        }
    }
}

/// A field, its metric name after the prefix, its unit, and its description.
pub(super) type Row = (&'static str, &'static str, As, &'static str);

/// Numbers of STATUS. Fields that a sale does not have are left out: parts and waiting lists are
/// optional.
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
/// `counters.attempts` is the sum of these answers.
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

/// Numbers of STATUS that no metric shows, because they are of no use alone. Terms other than times
/// are not shown either.
#[cfg(test)]
pub(super) const NOT_SHOWN: &[&str] = &[
    // Ids and positions, which other metrics cover.
    "version",
    "epoch",
    "round",
    "now",
    "created_at",
    "round_ends_at",
    "next_round_at",
];

pub(super) const STATES: &[&str] = &["pending", "open", "allheld", "soldout", "paused", "closed"];

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
