//! Compares MariaDB with `SECKILL.WINNERS`, row by row.

use mysql::prelude::Queryable;
use mysql::{params, Conn};
use redis::Connection;
use seckill_crowd::sale;

use crate::{number, status};

/// One order, in the database or in Redis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    pub seq: u64,
    pub user: String,
    pub qty: u64,
    pub state: String,
    pub at: u64,
    pub deadline: u64,
    pub req: String,
    pub born: u64,
}

/// The compared counts, which are equal.
pub struct Equal {
    pub orders: Vec<Order>,
    pub entries: u64,
}

impl Equal {
    /// Number of orders in `state`.
    pub fn count(&self, state: &str) -> usize {
        self.orders.iter().filter(|order| order.state == state).count()
    }
}

/// Checks that the database has every entry of the stream, without a gap. Its orders that are not
/// lost must be the grants of Redis, and AUDIT must find no difference.
///
/// # Errors
/// The first difference, as a message.
pub fn compare(redis: &mut Connection, database: &mut Conn, key: &str) -> Result<Equal, String> {
    let status = status(redis, key)?;
    let id = status.get("id").and_then(|id| id.as_str()).unwrap_or_default().to_owned();
    let entries = entries(database, &id)?;
    if entries != number(&status, "/rev") {
        let told = number(&status, "/rev");
        return Err(format!("The outbox told {told} entries, the database has {entries}."));
    }
    let (stored, orders) = (orders(database, &id)?, winners(redis, key)?);
    for (i, grant) in orders.iter().enumerate() {
        if stored.get(i) != Some(grant) {
            return Err(format!("Redis has {grant:?}, the database {:?}.", stored.get(i)));
        }
    }
    if let Some(more) = stored.get(orders.len()) {
        return Err(format!("The database has {more:?}, Redis has no such grant."));
    }
    let sold = |order: &&Order| order.state == "SOLD";
    let units: u64 = orders.iter().filter(sold).map(|order| order.qty).sum();
    if units != number(&status, "/sold") {
        return Err(format!("{units} units are sold, STATUS says {}.", number(&status, "/sold")));
    }
    Ok(Equal { orders, entries })
}

/// Number of the stream's entries in the database. The entries' revs must be 1, 2, 3 and so on.
fn entries(database: &mut Conn, id: &str) -> Result<u64, String> {
    let counted: Option<(u64, u64, u64)> = database
        .exec_first(
            "SELECT COUNT(*), COUNT(DISTINCT rev), COALESCE(MAX(rev), 0) FROM seckill_kept
            WHERE id = :id",
            params! { id },
        )
        .map_err(failed)?;
    let (rows, revs, last) = counted.unwrap_or_default();
    if rows != revs || revs != last {
        return Err(format!("The database has {rows} entries, {revs} revs, the last is {last}."));
    }
    Ok(rows)
}

fn orders(database: &mut Conn, id: &str) -> Result<Vec<Order>, String> {
    database
        .exec_map(
            "SELECT seq, user_id, qty, state, at, deadline, req, born FROM seckill_orders
            WHERE id = :id AND lost = FALSE ORDER BY seq, born",
            params! { id },
            |(seq, user, qty, state, at, deadline, req, born)| Order {
                seq,
                user,
                qty,
                state,
                at,
                deadline,
                req,
                born,
            },
        )
        .map_err(failed)
}

/// All grants of the sale, in any state.
fn winners(redis: &mut Connection, key: &str) -> Result<Vec<Order>, String> {
    let order = |row: seckill_client::Row| Order {
        seq: row.seq,
        user: row.user.to_string(),
        qty: row.qty,
        state: row.state.to_string(),
        at: row.at_ms,
        deadline: row.deadline_ms,
        req: row.req.map(|req| req.to_string()).unwrap_or_default(),
        born: row.epoch,
    };
    Ok(sale::grants(redis, key, None)?.into_iter().map(order).collect())
}

/// Lost orders of a sale in `state`.
///
/// # Errors
/// The error message of the database.
pub fn lost(database: &mut Conn, id: &str, state: &str) -> Result<u64, String> {
    let count = database.exec_first(
        "SELECT COUNT(*) FROM seckill_orders WHERE id = :id AND lost = TRUE AND state = :state",
        params! { id, state },
    );
    count.map(Option::unwrap_or_default).map_err(failed)
}

fn failed(error: mysql::Error) -> String {
    format!("The database says: {error}")
}
