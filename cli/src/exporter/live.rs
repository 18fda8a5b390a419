//! A snapshot as the page reads it.

use serde_json::{json, Value};

use super::read::{Sale, Snapshot};

/// The server and its sales; `at_ms` tells one reading from the next.
pub fn of(snapshot: &Snapshot) -> Value {
    let text = |field: &str| snapshot.info.get(field).map_or("", String::as_str);
    let number = |field: &str| text(field).parse::<f64>().unwrap_or_default();
    let (name, version) = match text("valkey_version") {
        "" => ("Redis", text("redis_version")),
        version => ("Valkey", version),
    };
    json!({
        "at_ms": snapshot.at_ms,
        "server": {
            "version": format!("{name} {version}"),
            "role": text("role"),
            "module": text("seckill_version"),
            "memory": number("used_memory"),
            "clients": number("connected_clients"),
            "cpu": number("used_cpu_sys") + number("used_cpu_user"),
            "apply_refused": number("seckill_apply_refused"),
            "outbox_refused": number("seckill_outbox_refused"),
            "evicts": snapshot.evicts(),
        },
        "sales": snapshot.sales.iter().map(sale).collect::<Vec<_>>(),
    })
}

fn sale(sale: &Sale) -> Value {
    let number = |field: &str| sale.numbers.get(field).copied().unwrap_or_default();
    let counter = |field: &str| sale.counters.get(field).copied().unwrap_or_default();
    // Of the group that is furthest behind.
    let behind = sale.outbox.iter().flat_map(|outbox| &outbox.groups);
    let behind = behind.map(|group| group.lag.unwrap_or_default() + group.pending).max();
    json!({
        "name": sale.name,
        "state": sale.words.get("state"),
        "supply": number("supply"),
        "available": number("available"),
        "held": number("held"),
        "sold": number("sold"),
        "deficit": number("deficit"),
        "grants": number("grants"),
        "attempts": counter("attempts"),
        "granted": counter("granted"),
        "unread": behind,
    })
}
