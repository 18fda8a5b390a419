//! What the server says when all is quiet: the sale, its grants and its outbox.

use std::collections::HashMap;
use std::str::FromStr;

use redis::{Connection, Value};
use serde_json::Value as Json;

use crate::ask::command;
use crate::crowd::Open;
use crate::history::{Entry, Evidence, Limits, Op, Promise, Reign, Row, State, Stock};

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
    reigns: &[Reign],
) -> Result<Evidence, String> {
    let status = status(redis, &sale.key)?;
    let number = |field: &str| status.get(field).and_then(Json::as_u64).unwrap_or(u64::MAX);
    Ok(Evidence {
        terms: sale.terms.clone(),
        promise,
        ops,
        reigns: reigns.to_vec(),
        entries: entries(redis, &sale.stream())?,
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
    })
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
            all.push(entry(Fields(fields)).ok_or_else(|| format!("Entry {id} can't be read."))?);
        }
    }
}

/// What an entry of the outbox says, by name.
struct Fields<'a>(&'a HashMap<String, String>);

impl Fields<'_> {
    fn text(&self, name: &str) -> Option<String> {
        self.0.get(name).cloned()
    }

    fn number<N: FromStr>(&self, name: &str) -> Option<N> {
        self.0.get(name)?.parse().ok()
    }
}

fn entry(fields: Fields<'_>) -> Option<Entry> {
    let restock = match fields.number("applied") {
        Some(applied) => Some((fields.text("req")?, applied)),
        None => None,
    };
    let grant = match fields.0.get("seq") {
        Some(_) => Some(Row {
            seq: fields.number("seq")?,
            user: fields.text("user")?,
            qty: fields.number("qty")?,
            state: State::read(&fields.text("state")?)?,
            at: fields.number("at")?,
            deadline: fields.number("deadline")?,
            req: fields.text("req")?,
            born: fields.number("born")?,
            round: fields.number("round")?,
        }),
        None => None,
    };
    let limits = match fields.0.get("limit") {
        Some(_) => Some(Limits {
            limit: fields.number("limit")?,
            grabs: fields.number("grabs")?,
            hold_ms: fields.number("hold_ms")?,
            close_at: fields.number("close_at")?,
        }),
        None => None,
    };
    Some(Entry {
        event: fields.text("event")?,
        id: fields.text("id")?,
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
