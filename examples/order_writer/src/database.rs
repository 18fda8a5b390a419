//! The shop's side of the outbox: four tables, and one transaction that takes entries in.
//!
//! What makes it exact:
//! - `entries` has the unique key (id, epoch, rev), so an entry that comes again changes nothing.
//! - An order moves only to an entry with a greater (epoch, rev), so entries may come in any order.
//! - `epochs` knows the first rev of every epoch. An epoch that began at rev R says that what older
//!   epochs did from R on is lost: Redis went on from before it.

use std::collections::BTreeSet;

use mysql::prelude::Queryable;
use mysql::{params, Conn, Transaction, TxOpts};

use super::entry::{Entry, Grant};

/// Users, request ids and names of sales are bytes, compared byte by byte.
const TABLES: [&str; 5] = [
    "CREATE TABLE IF NOT EXISTS sales (
        id CHAR(16) CHARACTER SET ascii COLLATE ascii_bin PRIMARY KEY,
        name BLOB NOT NULL)",
    "CREATE TABLE IF NOT EXISTS epochs (
        id CHAR(16) CHARACTER SET ascii COLLATE ascii_bin,
        epoch BIGINT UNSIGNED, first_rev BIGINT UNSIGNED NOT NULL,
        PRIMARY KEY (id, epoch))",
    "CREATE TABLE IF NOT EXISTS entries (
        id CHAR(16) CHARACTER SET ascii COLLATE ascii_bin,
        epoch BIGINT UNSIGNED, rev BIGINT UNSIGNED,
        event VARCHAR(32) NOT NULL, born BIGINT UNSIGNED, seq BIGINT UNSIGNED,
        PRIMARY KEY (id, epoch, rev), KEY (id, born, seq))",
    "CREATE TABLE IF NOT EXISTS orders (
        id CHAR(16) CHARACTER SET ascii COLLATE ascii_bin,
        born BIGINT UNSIGNED, seq BIGINT UNSIGNED,
        user VARBINARY(256) NOT NULL, qty BIGINT UNSIGNED NOT NULL,
        state VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
        at BIGINT UNSIGNED NOT NULL, deadline BIGINT UNSIGNED NOT NULL,
        req VARBINARY(128) NOT NULL,
        epoch BIGINT UNSIGNED NOT NULL, rev BIGINT UNSIGNED NOT NULL,
        lost BOOLEAN NOT NULL DEFAULT FALSE,
        PRIMARY KEY (id, born, seq), KEY (id, user, req), KEY (lost, id))",
    // What Redis still knows: entries that no later epoch has disowned.
    "CREATE OR REPLACE VIEW kept AS SELECT * FROM entries AS e WHERE NOT EXISTS (
        SELECT 1 FROM epochs AS p
        WHERE p.id = e.id AND p.epoch > e.epoch AND p.first_rev <= e.rev)",
];

/// Every transaction takes this lock first, so two writers never judge the same sale at once.
const LOCK_SALE: &str = "INSERT INTO sales (id, name) VALUES (:id, :sale)
    ON DUPLICATE KEY UPDATE name = :sale";

/// One row changed: new. None: it was here before. (INSERT IGNORE would hide real mistakes.)
const TAKE_IN: &str = "INSERT INTO entries (id, epoch, rev, event, born, seq)
    VALUES (:id, :epoch, :rev, :event, :born, :seq) ON DUPLICATE KEY UPDATE id = id";

/// Entries may come in any order, so the first rev of an epoch is the smallest seen. It changes the
/// row only if this is a new epoch or an earlier rev of it.
const LEARN_EPOCH: &str = "INSERT INTO epochs (id, epoch, first_rev) VALUES (:id, :epoch, :rev)
    ON DUPLICATE KEY UPDATE first_rev = LEAST(first_rev, :rev)";

/// `epoch` and `rev` come last, because MariaDB assigns from left to right.
const MOVE_ORDER: &str = "INSERT INTO orders
    (id, born, seq, user, qty, state, at, deadline, req, epoch, rev) VALUES
    (:id, :born, :seq, :user, :qty, :state, :at, :deadline, :req, :epoch, :rev)
    ON DUPLICATE KEY UPDATE
    state = IF((:epoch, :rev) > (epoch, rev), :state, state),
    deadline = IF((:epoch, :rev) > (epoch, rev), :deadline, deadline),
    lost = IF((:epoch, :rev) > (epoch, rev), FALSE, lost),
    rev = IF((:epoch, :rev) > (epoch, rev), :rev, rev),
    epoch = GREATEST(epoch, :epoch)";

/// An order is lost if the last that is known of it is.
const MARK_LOST: &str = "UPDATE orders AS o SET lost = TRUE
    WHERE o.id = :id AND o.lost = FALSE AND EXISTS (SELECT 1 FROM epochs AS p
        WHERE p.id = o.id AND p.epoch > o.epoch AND p.first_rev <= o.rev)";

/// A hold of which Redis knows nothing any more is over: nobody paid, and its unit is free.
const CLOSE_HELD: &str = "UPDATE orders AS o SET o.state = 'CLOSED', o.deadline = 0
    WHERE o.id = :id AND o.lost = TRUE AND o.state = 'HELD' AND NOT EXISTS (
        SELECT 1 FROM kept AS k WHERE k.id = o.id AND k.born = o.born AND k.seq = o.seq)";

/// Makes the tables where they are missing.
///
/// # Errors
/// A sentence with what the database says; also those of [`write`].
pub fn prepare(database: &mut Conn) -> Result<(), String> {
    TABLES.iter().try_for_each(|table| database.query_drop(table)).map_err(failed)
}

/// Takes all `entries` in, in one transaction. True when they showed that Redis has lost something.
pub fn write(database: &mut Conn, entries: &[Entry]) -> Result<bool, String> {
    let mut transaction = database.start_transaction(TxOpts::default()).map_err(failed)?;
    let lost = take_in(&mut transaction, entries).map_err(failed)?;
    transaction.commit().map_err(failed)?;
    Ok(lost)
}

fn take_in(transaction: &mut Transaction<'_>, entries: &[Entry]) -> mysql::Result<bool> {
    // In the order of their ids, so that two writers can't wait for each other's locks.
    let sales: BTreeSet<(&str, &[u8])> =
        entries.iter().map(|entry| (entry.id.as_str(), entry.sale.as_slice())).collect();
    for (id, sale) in sales {
        transaction.exec_drop(LOCK_SALE, params! { "id" => id, "sale" => sale })?;
    }
    let mut doubtful = BTreeSet::new();
    for entry in entries {
        if take_in_one(transaction, entry)? {
            doubtful.insert(entry.id.as_str());
        }
    }
    let mut lost = 0;
    for id in doubtful {
        transaction.exec_drop(MARK_LOST, params! { "id" => id })?;
        lost += transaction.affected_rows();
        transaction.exec_drop(CLOSE_HELD, params! { "id" => id })?;
    }
    Ok(lost > 0)
}

/// True when something may be lost: the first rev of an epoch was learnt, or the entry is of an
/// epoch that is over.
fn take_in_one(transaction: &mut Transaction<'_>, entry: &Entry) -> mysql::Result<bool> {
    let Entry { event, id, epoch, rev, grant, .. } = entry;
    let (born, seq) = (grant.as_ref().map(|g| g.born), grant.as_ref().map(|g| g.seq));
    transaction.exec_drop(TAKE_IN, params! { id, epoch, rev, event, born, seq })?;
    if transaction.affected_rows() == 0 {
        return Ok(false);
    }
    transaction.exec_drop(LEARN_EPOCH, params! { id, epoch, rev })?;
    let learnt = transaction.affected_rows() > 0;
    if let Some(Grant { born, seq, user, qty, state, at, deadline, req }) = grant {
        transaction.exec_drop(
            MOVE_ORDER,
            params! { id, born, seq, user, qty, state, at, deadline, req, epoch, rev },
        )?;
    }
    let newest: Option<u64> = transaction
        .exec_first("SELECT MAX(epoch) FROM epochs WHERE id = :id", params! { id })?
        .flatten();
    Ok(learnt || newest > Some(*epoch))
}

fn failed(error: mysql::Error) -> String {
    format!("the database says: {error}")
}
