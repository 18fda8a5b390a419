//! Rows 32, 41, 42, 46: programs that use the outbox and notifications: an order writer and a
//! cache.

use std::sync::atomic::Ordering;
use std::time::Duration;

use redis::Value;
use seckill_client::Outcome;

use crate::buyer::Buyer;
use crate::contender::Needs;
use crate::contender::{Contender, BASE, MODULE};
use crate::strategies::module::{grab, init, status, told, S01};
use crate::told::{lost, Books, Reason::*, Rush, Stop, Told, Verdict};

const STREAM: &str = "sale:events";

/// Entries in the form of XREADGROUP: the stream id, then names and values.
type Entries = Vec<(String, Vec<String>)>;

/// Orders through the outbox (rows 32, 41): a writer puts every grant into MariaDB. The writer is
/// killed again and again between its COMMIT and its XACK.
pub const S03: Contender = Contender {
    id: "S03",
    rows: "32, 41",
    steps: "GRAB … REQ id (OUTBOX); writer: XREADGROUP, INSERT, COMMIT, XACK, killed now and then",
    needs: Needs { sql: true, module: true },
    set_up: |b, stock| {
        b.run("DELETE FROM grants")?;
        init(b, stock, &["OUTBOX", STREAM])?;
        b.ask::<()>(&["XGROUP", "CREATE", STREAM, "writers", "0"])
    },
    books: |b| {
        // Killed writers are restarted.
        while write(b, "0")? + write(b, ">")? > 0 {}
        let books = status(b)?;
        let rows = b.number("SELECT COUNT(*) FROM grants")? as u64;
        Ok(Books { records: Some(rows), ..books })
    },
    helper: Some(|b| {
        let mut batches = 0;
        loop {
            // A restarted writer first reads entries that it had not acknowledged.
            let wrote = write(b, "0")? + write(b, ">")?;
            batches += 1;
            if b.gate.is_held() && batches == 2 || wrote == 0 && b.buyers_are_gone() {
                return Ok(Verdict::Done);
            }
            if wrote == 0 {
                b.pause(Duration::from_millis(1));
            }
        }
    }),
    marked: &[],
    ..S01
};

/// Writes one batch in one transaction. In a rush every third writer dies before its XACK.
fn write(b: &mut Buyer, from: &str) -> Result<usize, Stop> {
    let read: Option<Vec<(String, Entries)>> =
        b.ask(&["XREADGROUP", "GROUP", "writers", "w", "COUNT", "50", "STREAMS", STREAM, from])?;
    let entries: Entries = read.into_iter().flatten().flat_map(|(_, entries)| entries).collect();
    if entries.is_empty() {
        return Ok(0);
    }
    b.begin()?;
    for (_, fields) in &entries {
        if let Some(row) = grant_row(fields) {
            b.run(&format!(
                "INSERT IGNORE INTO grants (id, epoch, rev, user, qty) VALUES ({row})"
            ))?;
        }
    }
    b.commit()?;
    if !b.gate.is_held() && b.mt_rand(1, 3) == 1 {
        return Ok(entries.len()); // killed: nothing is acknowledged
    }
    let mut words = vec!["XACK", STREAM, "writers"];
    words.extend(entries.iter().map(|(id, _)| id.as_str()));
    b.ask::<u64>(&words)?;
    Ok(entries.len())
}

/// The only function that knows the form of an entry: fields, and the JSON object `data`.
fn grant_row(fields: &[String]) -> Option<String> {
    let raw = |name: &str| fields.chunks_exact(2).find(|f| f[0] == name).map(|f| f[1].as_str());
    let data: serde_json::Value = serde_json::from_str(raw("data").unwrap_or("{}")).ok()?;
    let in_data = |name: &str| data.get(name).map(|v| v.to_string().trim_matches('"').to_owned());
    let field = |name: &str| raw(name).map(str::to_owned).or_else(|| in_data(name));
    let [event, user, id] = [field("event")?, field("user")?, field("id")?];
    let [epoch, rev, qty] = [field("epoch")?, field("rev")?, field("qty")?];
    (event == "GRANT").then(|| format!("'{id}', {epoch}, {rev}, '{user}', {qty}"))
}

/// Rejection by user, and a cache that is invalidated (rows 42, 46): SAMPLE decides by the user id.
/// An application server keeps `SOLDOUT 0` until the module notifies that units are available.
pub const S06: Contender = Contender {
    id: "S06",
    rows: "42, 46",
    steps:
        "cached?; GRAB … REQ id (SAMPLE); SOLDOUT 0: cache; meanwhile RESTOCK, notification clears",
    needs: MODULE,
    set_up: |b, stock| {
        b.ask::<()>(&["CONFIG", "SET", "notify-keyspace-events", "Kd"])?;
        b.house.cached_at.store(0, Ordering::SeqCst);
        init(b, stock, &["SAMPLE", if b.rush.supply < 100 { "1000" } else { "500" }])
    },
    buy: |b| {
        // A cached answer is valid for one generation; a notification begins the next one. A buyer
        // without an answer may have a unit, which only the module knows.
        let (generation, cached) = b.step(|b| {
            let generation = b.house.generation.load(Ordering::SeqCst);
            let cached = b.house.cached_at.load(Ordering::SeqCst) == generation + 1;
            let cached = cached && !b.resent;
            Ok(((generation, cached), move || format!("cached as sold out? -> {cached}")))
        })?;
        if cached {
            return lost(SoldOut);
        }
        let reply = grab(b, &[])?;
        if reply.outcome == Outcome::SoldOut && reply.held == Some(0) {
            b.house.cached_at.store(generation + 1, Ordering::SeqCst);
        }
        told(&reply)
    },
    helper: Some(restock_and_hear),
    rush: Rush { supply: 100, ..BASE.rush },
    marked: &[],
    ..S01
};

/// Adds units and waits for the notification that every application server gets. The restock counts
/// as done only then, because servers don't know of it earlier.
fn restock_and_hear(b: &mut Buyer) -> Told {
    let mut ears = b.second_connection()?;
    let mut ears = ears.as_pubsub();
    ears.subscribe("__keyspace@0__:sale")?;
    let units = if b.gate.is_held() { 2 } else { 10 };
    while !b.gate.is_held() && status(b)?.counter > Some(0) && !b.buyers_are_gone() {
        b.pause(Duration::from_millis(1));
    }
    let req = format!("truck-{}", b.unlike());
    b.ask::<Value>(&["SECKILL.RESTOCK", "sale", &units.to_string(), "REQ", &req])?;
    b.step(|b| {
        while ears.get_message()?.get_payload::<String>()? != "seckill.restock" {}
        b.house.generation.fetch_add(1, Ordering::SeqCst);
        Ok(((), || "hears seckill.restock: forgets the cache".into()))
    })?;
    Ok(Verdict::Restocked(units))
}
