//! Reads the sale, its grants and its outbox after all faults.

use redis::Connection;
use seckill_client::{Event, Id};
use seckill_crowd::sale;
use serde_json::Value as Json;

use crate::ask::command;
use crate::crowd::Open;
use crate::draws::Stock;
use crate::history::{Crowning, Entry, Evidence, Limits, Op, Promise, Row, State, Waiter};

const PAGE: u64 = 1_000;
/// Numbers of STATUS and of each entry.
const STOCK: [&str; 4] = ["supply", "available", "held", "sold"];
/// Replica and primary are compared by the server's digest of all their bytes.
const DIGEST: [&str; 2] = ["DEBUG", "DIGEST-VALUE"];

pub fn evidence(
    redis: &mut Connection,
    sale: &Open,
    promise: Promise,
    ops: Vec<Op>,
    crownings: &[Crowning],
) -> Result<Evidence, String> {
    let status = sale::status(redis, &sale.key)?;
    let number = |field: &str| status.get(field).and_then(Json::as_u64).unwrap_or(u64::MAX);
    let [supply, available, held, sold] = STOCK.map(number);
    let entries = entries(redis, &sale.stream())?;
    Ok(Evidence {
        terms: sale.terms.clone(),
        promise,
        ops,
        reigns: Crowning::reigns(crownings, &entries),
        entries,
        rows: rows(redis, &sale.key)?,
        stock: Stock { supply, available, held, sold },
        deficit: number("deficit"),
        id: status.get("id").and_then(Json::as_str).unwrap_or_default().to_owned(),
        rev: number("rev"),
        waiting: waiting(redis, &sale.key)?.into_iter().map(|(ticket, _)| ticket).collect(),
    })
}

/// The tickets of the waiters, and the end of each wait.
pub fn waiting(redis: &mut Connection, key: &str) -> Result<Vec<(u64, u64)>, String> {
    type Cells = (u64, String, u64, String, u64, u64);
    let line = format!("SECKILL.WAITERS {key} 0 COUNT {PAGE}");
    let (_, rows): (u64, Vec<Cells>) = command(line.split(' ')).query(redis).map_err(failed)?;
    Ok(rows.into_iter().map(|(ticket, .., until)| (ticket, until)).collect())
}

pub fn digests(redis: &mut Connection, sale: &Open) -> Result<Vec<String>, String> {
    let stream = sale.stream();
    let words = DIGEST.into_iter().chain([sale.key.as_str(), stream.as_str()]);
    command(words).query(redis).map_err(failed)
}

fn entries(redis: &mut Connection, stream: &str) -> Result<Vec<Entry>, String> {
    let (mut all, mut from) = (Vec::new(), "-".to_owned());
    let count = PAGE.to_string();
    loop {
        let page: Vec<(String, Event)> = command(["XRANGE", stream, &from, "+", "COUNT", &count])
            .query(redis)
            .map_err(failed)?;
        let Some((last, _)) = page.last() else { return Ok(all) };
        from = format!("({last}");
        for (id, event) in &page {
            all.push(entry(event).ok_or_else(|| format!("Entry {id} can't be read."))?);
        }
    }
}

/// A number that is left out if it is 0.
fn number_or_0(event: &Event, name: &str) -> Option<u64> {
    event.data.get(name).map_or(Some(0), Json::as_u64)
}

/// The numbers of a grant's units; empty without numbered units.
fn units(event: &Event) -> Option<Vec<u64>> {
    let Some(units) = event.data.get("units") else { return Some(Vec::new()) };
    units.as_array()?.iter().map(Json::as_u64).collect()
}

fn word<'e>(event: &'e Event, name: &str) -> Option<&'e str> {
    event.data.get(name)?.as_str()
}

fn text(id: &Option<Id>) -> Option<String> {
    id.as_ref().map(Id::to_string)
}

fn entry(told: &Event) -> Option<Entry> {
    let restock = match told.data.get("applied") {
        Some(applied) => Some((text(&told.req)?, applied.as_i64()?)),
        None => None,
    };
    let grant = match told.data.contains_key("seq") {
        true => Some(Row {
            seq: told.number("seq")?,
            user: text(&told.user)?,
            qty: told.number("qty")?,
            state: State::read(word(told, "state")?.as_bytes())?,
            at: told.number("at")?,
            deadline: number_or_0(told, "deadline")?,
            req: text(&told.req).unwrap_or_default(),
            born: told.number("born")?,
            round: number_or_0(told, "round")?,
            units: units(told)?,
        }),
        false => None,
    };
    let limits = match told.event.as_str() {
        "INIT" | "ALTER" => Some(Limits {
            limit: number_or_0(told, "limit")?,
            grabs: number_or_0(told, "grabs")?,
            hold_ms: number_or_0(told, "hold_ms")?,
            close_at: number_or_0(told, "close_at")?,
        }),
        _ => None,
    };
    let [supply, available, held, sold] = STOCK.map(|name| told.number(name));
    Some(Entry {
        event: told.event.clone(),
        id: word(told, "id")?.to_owned(),
        epoch: told.number("epoch")?,
        rev: told.number("rev")?,
        t: told.number("t")?,
        stock: Stock { supply: supply?, available: available?, held: held?, sold: sold? },
        grant,
        returned: number_or_0(told, "returned")?,
        restock,
        limits,
        round: told.number("round"),
        wait: waiter(told),
    })
}

/// The waiter in an entry with a ticket.
fn waiter(told: &Event) -> Option<Waiter> {
    Some(Waiter {
        ticket: told.number("ticket")?,
        user: text(&told.user)?,
        req: text(&told.req)?,
        qty: told.number("qty")?,
        until: number_or_0(told, "until")?,
        reason: word(told, "reason").unwrap_or_default().to_owned(),
    })
}

fn rows(redis: &mut Connection, key: &str) -> Result<Vec<Row>, String> {
    let row = |row: seckill_client::Row| Row {
        seq: row.seq,
        user: row.user.to_string(),
        qty: row.qty,
        state: row.state,
        at: row.at_ms,
        deadline: row.deadline_ms,
        req: text(&row.req).unwrap_or_default(),
        born: row.epoch,
        round: row.round,
        units: row.units.unwrap_or_default(),
    };
    Ok(sale::grants(redis, key, None)?.into_iter().map(row).collect())
}

fn failed(error: redis::RedisError) -> String {
    format!("The server answers with an error: {error}")
}
