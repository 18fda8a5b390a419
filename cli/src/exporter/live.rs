//! The data of the page: one line for each sale, and all details of one sale.

use serde_json::{json, Value};

use super::read::{Outbox, Sale, Snapshot};
use super::target::{Sight, Target};
use super::JSON;
use crate::web::Answer;

/// An outbox with this many unread entries is behind, as in the alert SeckillOutboxBehind.
const BEHIND: u64 = 10_000;

/// A hold that is overdue by this time is late, as in the alert SeckillExpiryLag.
const LATE_MS: i64 = 5_000;

/// The server and its sales; `at_ms` identifies the reading.
pub fn of(target: &Target, all: &[Target]) -> Answer {
    let read = target.for_pages();
    let trouble = match target.sight(&read) {
        Sight::Clear => Value::Null,
        Sight::NoSale(why) | Sight::Blind(why) => why.into(),
    };
    let names: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
    let mut live = json!({ "target": target.name, "targets": names, "trouble": trouble });
    if let Ok(snapshot) = &read {
        live["at_ms"] = snapshot.at_ms.into();
        live["server"] = server(snapshot);
        live["left_out"] = snapshot.left_out.into();
        live["sales"] = snapshot.sales.iter().map(line).collect();
    }
    Answer::of(if read.is_ok() { 200 } else { 503 }, JSON, live.to_string())
}

fn server(snapshot: &Snapshot) -> Value {
    let text = |field: &str| snapshot.info.get(field).map_or("", String::as_str);
    let number = |field: &str| text(field).parse::<f64>().unwrap_or_default();
    let (name, version) = snapshot.software();
    json!({
        "version": format!("{name} {version}"),
        "role": text("role"),
        "module": text("seckill_version"),
        "memory": number("used_memory"),
        "memory_max": number("maxmemory"),
        "clients": number("connected_clients"),
        "cpu": number("used_cpu_sys") + number("used_cpu_user"),
        "apply_refused": number("seckill_apply_refused"),
        "outbox_refused": number("seckill_outbox_refused"),
        "evicts": snapshot.evicts(),
    })
}

fn number(sale: &Sale, field: &str) -> i64 {
    sale.numbers.get(field).copied().unwrap_or_default()
}

fn line(sale: &Sale) -> Value {
    let counter = |field: &str| sale.counters.get(field).copied().unwrap_or_default();
    json!({
        "name": sale.name,
        "state": sale.words.get("state"),
        "supply": number(sale, "supply"),
        "available": number(sale, "available"),
        "held": number(sale, "held"),
        "sold": number(sale, "sold"),
        "attempts": counter("attempts"),
        "trouble": troubles(sale),
    })
}

/// Messages about problems of a sale; most sales have none.
fn troubles(sale: &Sale) -> Vec<String> {
    let mut all = Vec::new();
    let deficit = number(sale, "deficit");
    if deficit > 0 {
        all.push(format!("{deficit} units are promised that are not there"));
    }
    if number(sale, "outbox_error") > 0 {
        all.push("the outbox takes no entry: nothing can be sold".into());
    }
    if let Some(outbox) = &sale.outbox {
        if outbox.groups.is_empty() && outbox.length > 0 {
            all.push("nobody reads the outbox".into());
        }
        let unread = unread(outbox);
        if unread > BEHIND {
            all.push(format!("{unread} outbox entries are not read"));
        }
    }
    let due = number(sale, "next_deadline");
    if due > 0 && number(sale, "now") - due > LATE_MS {
        all.push("a hold is due and still holds its units".into());
    }
    all
}

/// Unread entries of the slowest group.
fn unread(outbox: &Outbox) -> u64 {
    let of = outbox.groups.iter().map(|group| group.lag + group.pending);
    of.max().unwrap_or_default()
}

/// One sale with its history: `[at_ms, available, held, sold, attempts]` a point.
pub fn sale(target: &Target, name: &str) -> Option<Answer> {
    let snapshot = target.for_pages().ok()?;
    let sale = snapshot.sales.iter().find(|sale| sale.name == name)?;
    let outbox = sale.outbox.as_ref().map(|outbox| {
        let groups = outbox.groups.iter().map(|group| {
            json!({
                "name": group.name,
                "consumers": group.consumers,
                "pending": group.pending,
                "lag": group.lag,
                "delivered_ms": group.delivered_ms,
            })
        });
        json!({ "length": outbox.length, "groups": groups.collect::<Vec<_>>() })
    });
    let history = target.history.lock().map(|history| history.of(name)).unwrap_or_default();
    let points = history
        .iter()
        .map(|point| json!([point.at_ms, point.available, point.held, point.sold, point.attempts]));
    let whole = json!({
        "name": sale.name,
        "at_ms": snapshot.at_ms,
        "numbers": sale.numbers,
        "words": sale.words,
        "counters": sale.counters,
        "stream": sale.stream.as_deref().map(String::from_utf8_lossy),
        "outbox": outbox,
        "history": points.collect::<Vec<_>>(),
    });
    Some(Answer::ok(JSON, whole.to_string()))
}
