//! Readings of a sale from the server: its counters, its audit, its list of grants.

use std::time::{SystemTime, UNIX_EPOCH};

use redis::Connection;
use serde_json::Value;

/// Rows in one request.
const PAGE: u64 = 1_000;

/// The user and the units of one grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Winner {
    pub seq: u64,
    pub user: String,
    pub qty: u64,
    pub state: String,
}

/// One row of the server's own list of grants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub winner: Winner,
    /// Time of the grant, in Unix ms by the sale's clock.
    pub at: u64,
    /// 0 in a sale without rounds.
    pub round: u64,
}

/// A recount by the server.
#[derive(Clone, Debug)]
pub struct Audit {
    pub ok: bool,
    /// The whole status in one line.
    pub text: String,
}

/// A unique name of the sale for each run, because Redis may be shared.
pub fn name(example: &str) -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("sale:{example}:{}:{}", since.as_millis(), std::process::id())
}

pub fn status(control: &mut Connection, key: &str) -> Result<Value, String> {
    let status: String = redis::cmd("SECKILL.STATUS")
        .arg(key)
        .arg("JSON")
        .query(control)
        .map_err(|e| format!("STATUS failed: {e}"))?;
    serde_json::from_str(&status).map_err(|e| format!("STATUS is not valid JSON: {e}"))
}

pub fn number(status: &Value, path: &str) -> Result<u64, String> {
    let number = status.pointer(path).and_then(Value::as_u64);
    number.ok_or_else(|| format!("STATUS has no number {path}."))
}

/// Compares numbers of STATUS with the sums of the replies.
pub fn compare(status: &Value, expected: &[(&str, u64)]) -> Result<(), String> {
    for (path, wanted) in expected {
        if status.pointer(path).and_then(Value::as_u64) != Some(*wanted) {
            let shown = status.pointer(path).map_or("nothing".into(), Value::to_string);
            return Err(format!("STATUS says {shown} for {path}, the replies say {wanted}."));
        }
    }
    Ok(())
}

pub fn audit(control: &mut Connection, key: &str) -> Result<Audit, String> {
    let map: Vec<redis::Value> = redis::cmd("SECKILL.AUDIT")
        .arg(key)
        .query(control)
        .map_err(|e| format!("AUDIT failed: {e}"))?;
    Ok(Audit { ok: map.get(1) == Some(&redis::Value::Int(1)), text: one_line(&map) })
}

impl Audit {
    /// An error with the whole audit if it found a difference.
    pub fn check(&self) -> Result<(), String> {
        match self.ok {
            true => Ok(()),
            false => Err(format!("AUDIT found a difference: {}", self.text)),
        }
    }
}

/// Reads the whole list of grants, page by page: of one round, or of all that are kept.
pub fn rows(control: &mut Connection, key: &str, round: Option<u64>) -> Result<Vec<Row>, String> {
    let row = |row: seckill_client::Row| {
        let (seq, user, state) = (row.seq, row.user.to_string(), row.state.to_string());
        let winner = Winner { seq, user, qty: row.qty, state };
        Row { winner, at: row.at_ms, round: row.round }
    };
    Ok(grants(control, key, round)?.into_iter().map(row).collect())
}

/// All grants, with every field of their rows.
pub fn grants(
    control: &mut Connection,
    key: &str,
    round: Option<u64>,
) -> Result<Vec<seckill_client::Row>, String> {
    let (mut all, mut cursor) = (Vec::new(), 0);
    loop {
        let mut page = redis::cmd("SECKILL.WINNERS");
        page.arg(key).arg(cursor).arg("COUNT").arg(PAGE).arg("STATE").arg("ALL");
        if let Some(round) = round {
            page.arg("ROUND").arg(round);
        }
        let (next, listed): (u64, Vec<seckill_client::Row>) =
            page.query(control).map_err(|e| format!("WINNERS failed: {e}"))?;
        all.extend(listed);
        if next == 0 {
            return Ok(all);
        }
        cursor = next;
    }
}

/// A flat map as `name value, name value`.
fn one_line(map: &[redis::Value]) -> String {
    let pairs: Vec<String> =
        map.chunks(2).map(|pair| pair.iter().map(word).collect::<Vec<_>>().join(" ")).collect();
    pairs.join(", ")
}

/// A value for display: an array is shown as its elements with spaces between.
fn word(value: &redis::Value) -> String {
    match value {
        redis::Value::Array(items) if items.is_empty() => "none".into(),
        redis::Value::Array(items) => items.iter().map(word).collect::<Vec<_>>().join(" "),
        other => {
            redis::from_redis_value_ref::<String>(other).unwrap_or_else(|_| format!("{other:?}"))
        }
    }
}
