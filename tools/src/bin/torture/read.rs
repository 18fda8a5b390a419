//! What the server says when all is quiet: the sale, its grants and its outbox.

use std::collections::HashMap;

use redis::{Connection, Value};
use serde_json::Value as Json;

use crate::ask::command;
use crate::crowd::Open;
use crate::draws::Stock;
use crate::history::{Crowning, Entry, Evidence, Limits, Op, Promise, Row, State};
use crate::list::Waiter;

const PAGE: u64 = 1_000;
/// The replica and the primary are compared by what the server itself thinks of all their bytes.
const DIGEST: [&str; 2] = ["DEBUG", "DIGEST-VALUE"];

/// Gathers all that the checker needs.
///
/// # Errors
/// A sentence when the server says something that can't be read; also those of other functions.
pub fn evidence(
    redis: &mut Connection,
    sale: &Open,
    promise: Promise,
    ops: Vec<Op>,
    crownings: &[Crowning],
) -> Result<Evidence, String> {
    let status = status(redis, &sale.key)?;
    let number = |field: &str| status.get(field).and_then(Json::as_u64).unwrap_or(u64::MAX);
    let entries = entries(redis, &sale.stream())?;
    Ok(Evidence {
        terms: sale.terms.clone(),
        promise,
        ops,
        reigns: Crowning::reigns(crownings, &entries),
        entries,
        rows: rows(redis, &sale.key)?,
        stock: Stock {
            supply: number("supply"),
            available: number("available"),
            held: number("held"),
            sold: number("sold"),
        },
        deficit: number("deficit"),
        id: status.get("id").and_then(Json::as_str).unwrap_or_default().to_owned(),
        rev: number("rev"),
        waiting: waiting(redis, &sale.key)?.into_iter().map(|(ticket, _)| ticket).collect(),
    })
}

/// The tickets of those who wait, and until when each does.
pub fn waiting(redis: &mut Connection, key: &str) -> Result<Vec<(u64, u64)>, String> {
    type Cells = (u64, String, u64, String, u64, u64);
    let line = format!("SECKILL.WAITERS {key} 0 COUNT {PAGE}");
    let (_, rows): (u64, Vec<Cells>) = command(line.split(' ')).query(redis).map_err(failed)?;
    Ok(rows.into_iter().map(|(ticket, .., until)| (ticket, until)).collect())
}

/// STATUS as JSON.
pub fn status(redis: &mut Connection, key: &str) -> Result<Json, String> {
    let text: String = command(["SECKILL.STATUS", key, "JSON"]).query(redis).map_err(failed)?;
    serde_json::from_str(&text).map_err(|e| format!("STATUS can't be read: {e}"))
}

/// Whether AUDIT finds the sale right, and what it says.
pub fn audit(redis: &mut Connection, key: &str) -> Result<(bool, String), String> {
    let audit: Vec<Value> = command(["SECKILL.AUDIT", key]).query(redis).map_err(failed)?;
    Ok((audit.get(1) == Some(&Value::Int(1)), format!("{audit:?}")))
}

/// The digests of the sale and of its outbox.
pub fn digests(redis: &mut Connection, sale: &Open) -> Result<Vec<String>, String> {
    let stream = sale.stream();
    let words = DIGEST.into_iter().chain([sale.key.as_str(), stream.as_str()]);
    command(words).query(redis).map_err(failed)
}

/// The whole stream, page by page.
fn entries(redis: &mut Connection, stream: &str) -> Result<Vec<Entry>, String> {
    let (mut all, mut from) = (Vec::new(), "-".to_owned());
    let count = PAGE.to_string();
    loop {
        let page: Vec<(String, HashMap<String, String>)> =
            command(["XRANGE", stream, &from, "+", "COUNT", &count])
                .query(redis)
                .map_err(failed)?;
        let Some((last, _)) = page.last() else { return Ok(all) };
        from = format!("({last}");
        for (id, fields) in &page {
            let entry = Fields::of(fields).and_then(|fields| entry(&fields));
            all.push(entry.ok_or_else(|| format!("Entry {id} can't be read."))?);
        }
    }
}

/// What an entry of the outbox says.
struct Fields<'a> {
    raw: &'a HashMap<String, String>,
    data: Json,
}

impl Fields<'_> {
    fn of(raw: &HashMap<String, String>) -> Option<Fields<'_>> {
        Some(Fields { raw, data: serde_json::from_str(raw.get("data")?).ok()? })
    }

    /// A field as it came.
    fn raw(&self, name: &str) -> Option<String> {
        self.raw.get(name).cloned()
    }

    fn has(&self, key: &str) -> bool {
        self.data.get(key).is_some()
    }

    fn word(&self, key: &str) -> Option<&str> {
        self.data.get(key)?.as_str()
    }

    fn number(&self, key: &str) -> Option<u64> {
        self.data.get(key)?.as_u64()
    }

    /// A number that is left out where it is 0.
    fn number_or_0(&self, key: &str) -> Option<u64> {
        if self.has(key) {
            self.number(key)
        } else {
            Some(0)
        }
    }
}

fn entry(fields: &Fields<'_>) -> Option<Entry> {
    let restock = match fields.data.get("applied") {
        Some(applied) => Some((fields.raw("req")?, applied.as_i64()?)),
        None => None,
    };
    let grant = match fields.has("seq") {
        true => Some(Row {
            seq: fields.number("seq")?,
            user: fields.raw("user")?,
            qty: fields.number("qty")?,
            state: State::read(fields.word("state")?)?,
            at: fields.number("at")?,
            deadline: fields.number_or_0("deadline")?,
            req: fields.raw("req").unwrap_or_default(),
            born: fields.number("born")?,
            round: fields.number_or_0("round")?,
        }),
        false => None,
    };
    let event = fields.raw("event")?;
    let limits = match event.as_str() {
        "INIT" | "ALTER" => Some(Limits {
            limit: fields.number_or_0("limit")?,
            grabs: fields.number_or_0("grabs")?,
            hold_ms: fields.number_or_0("hold_ms")?,
            close_at: fields.number_or_0("close_at")?,
        }),
        _ => None,
    };
    Some(Entry {
        event,
        id: fields.word("id")?.to_owned(),
        epoch: fields.number("epoch")?,
        rev: fields.number("rev")?,
        t: fields.number("t")?,
        stock: Stock {
            supply: fields.number("supply")?,
            available: fields.number("available")?,
            held: fields.number("held")?,
            sold: fields.number("sold")?,
        },
        grant,
        restock,
        limits,
        round: fields.number("round"),
        wait: waiter(fields),
    })
}

/// Who waits, or waited, in an entry that has a ticket.
fn waiter(fields: &Fields<'_>) -> Option<Waiter> {
    Some(Waiter {
        ticket: fields.number("ticket")?,
        user: fields.raw("user")?,
        req: fields.raw("req")?,
        qty: fields.number("qty")?,
        until: fields.number_or_0("until")?,
        reason: fields.word("reason").unwrap_or_default().to_owned(),
    })
}

/// Every grant, whatever became of it.
fn rows(redis: &mut Connection, key: &str) -> Result<Vec<Row>, String> {
    type Cells = (u64, String, u64, String, u64, u64, Option<String>, u64, u64);
    let (mut all, mut cursor) = (Vec::new(), 0);
    loop {
        let line = format!("SECKILL.WINNERS {key} {cursor} COUNT {PAGE} STATE ALL");
        let (next, page): (u64, Vec<Cells>) =
            command(line.split(' ')).query(redis).map_err(failed)?;
        for (seq, user, qty, state, at, deadline, req, born, round) in page {
            let state = State::read(&state).ok_or("WINNERS has an unknown state.")?;
            let req = req.unwrap_or_default();
            all.push(Row { seq, user, qty, state, at, deadline, req, born, round });
        }
        if next == 0 {
            return Ok(all);
        }
        cursor = next;
    }
}

fn failed(error: redis::RedisError) -> String {
    format!("The server answers with an error: {error}")
}
