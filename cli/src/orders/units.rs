//! The numbers of a numbered sale, each with the order that has it.
//!
//! Entries come in any order. So an order has the numbers of its newest known entry. A number
//! belongs to the order of the newest entry that names it.

use std::collections::{BTreeMap, BTreeSet};

use super::database::{insert, int, text, Database, Value};
use super::entry::{Entry, Grant};
use crate::connect::Failure;

/// Rows of one INSERT: a batch may name more numbers than a statement can have values.
const AT_ONCE: usize = 100;

/// Frees the numbers of holds that Redis does not know any more.
pub const FREE_CLOSED: &str = "DELETE FROM @units WHERE id = :id AND (born, seq) IN (
        SELECT o.born, o.seq FROM @orders AS o
        WHERE o.id = #units.id AND o.lost = TRUE AND o.state = 'CLOSED')";

/// The numbers as `orders` has them: JSON, and NULL in a sale that is not numbered.
pub fn text_of(grant: &Grant) -> Value {
    let list = |units: &Vec<u64>| {
        let numbers: Vec<String> = units.iter().map(u64::to_string).collect();
        Value::Text(format!("[{}]", numbers.join(",")))
    };
    grant.units.as_ref().map_or(Value::Null, list)
}

/// The numbers in a text of unit numbers.
pub fn of_text(text: &[u8]) -> Vec<u64> {
    serde_json::from_slice(text).unwrap_or_default()
}

/// An entry that moves a grant of a numbered sale.
struct Move<'e> {
    entry: &'e Entry,
    grant: &'e Grant,
    units: &'e [u64],
}

/// Gives numbers to the orders whose newest entry is one of these, and removes numbers that the
/// orders no longer have. Called when `orders` is written, in the same transaction.
///
/// # Errors
/// The error of the database.
pub fn follow(database: &mut dyn Database, entries: &[Entry]) -> Result<(), Failure> {
    let mut sales: BTreeMap<&str, Vec<Move>> = BTreeMap::new();
    for entry in entries {
        let Some(grant) = &entry.grant else { continue };
        let Some(units) = &grant.units else { continue };
        sales.entry(&entry.id).or_default().push(Move { entry, grant, units });
    }
    for (id, mut moves) in sales {
        let moved = last_moves(database, id, &moves)?;
        moves.retain(|Move { entry, grant, .. }| {
            moved.contains(&[grant.born, grant.seq, entry.epoch, entry.rev])
        });
        if moves.is_empty() {
            continue;
        }
        let (orders, values) = these(database, id, orders_of(&moves));
        database.change(&format!("DELETE FROM @units WHERE {orders}"), &values)?;
        give(database, id, &moves)?;
    }
    Ok(())
}

fn orders_of(moves: &[Move]) -> BTreeSet<(u64, u64)> {
    moves.iter().map(|Move { grant, .. }| (grant.born, grant.seq)).collect()
}

/// A condition for these orders of a sale, as born and seq, and its values.
pub fn these(
    database: &dyn Database,
    id: &str,
    orders: BTreeSet<(u64, u64)>,
) -> (String, Vec<Value>) {
    let place = database.dialect().place;
    let mut values = vec![text(id)];
    let mut each = Vec::with_capacity(orders.len());
    // Not (born, seq) IN (...), for which MariaDB uses no index.
    for (born, seq) in orders {
        each.push(format!(
            "born = {} AND seq = {}",
            place(values.len() + 1),
            place(values.len() + 2)
        ));
        values.extend([int(born), int(seq)]);
    }
    (format!("id = {} AND ({})", place(1), each.join(" OR ")), values)
}

/// The current born, seq, epoch and rev of each of these orders.
fn last_moves(
    database: &mut dyn Database,
    id: &str,
    moves: &[Move],
) -> Result<BTreeSet<[u64; 4]>, Failure> {
    let (orders, values) = these(database, id, orders_of(moves));
    let asked = format!("SELECT born, seq, epoch, rev FROM @orders WHERE {orders}");
    let rows = database.rows(&asked, &values)?;
    let row = |row: Vec<Value>| <[Value; 4]>::try_from(row).ok();
    Ok(rows.into_iter().filter_map(row).map(|row| row.map(|value| value.number())).collect())
}

/// Adds a row for each number of the live orders.
fn give(database: &mut dyn Database, id: &str, moves: &[Move]) -> Result<(), Failure> {
    // One statement may not move a row twice, and two of the entries may name one number.
    let mut newest: BTreeMap<u64, (&Entry, &Grant)> = BTreeMap::new();
    for Move { entry, grant, units } in moves.iter().filter(|one| one.grant.is_live()) {
        for unit in *units {
            let place = newest.entry(*unit).or_insert((entry, grant));
            if (entry.epoch, entry.rev) > (place.0.epoch, place.0.rev) {
                *place = (entry, grant);
            }
        }
    }
    let rows: Vec<Vec<Value>> = newest
        .into_iter()
        .map(|(unit, (entry, grant))| {
            let [born, seq] = [grant.born, grant.seq].map(int);
            let [epoch, rev] = [entry.epoch, entry.rev].map(int);
            vec![text(id), int(unit), born, seq, text(&grant.state), epoch, rev]
        })
        .collect();
    let columns = "@units (id, number, born, seq, state, epoch, rev)";
    let tail = database.dialect().move_unit;
    for some in rows.chunks(AT_ONCE) {
        insert(database, columns, some.iter().cloned(), tail)?;
    }
    Ok(())
}
