//! What the writer asks of a database, whichever it is, and the one transaction that takes entries
//! in.
//!
//! What makes it exact:
//! - `entries` has the unique key (id, epoch, rev), so an entry that comes again changes nothing.
//! - An order moves only to an entry with a greater (epoch, rev), so entries may come in any order.
//! - `epochs` knows the first rev of every epoch. An epoch that began at rev R says that what older
//!   epochs did from R on is lost: Redis went on from before it.

use std::collections::BTreeMap;

use super::entry::{Entry, Grant};

/// What goes into a row and comes out of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Every number of the outbox fits.
    Int(i64),
    /// What users and operators chose.
    Bytes(Vec<u8>),
    /// Words of ours.
    Text(String),
    Null,
}

/// A database that has the tables.
pub trait Database {
    /// How this one writes what SQL leaves open.
    fn dialect(&self) -> &'static Dialect;

    /// Runs statements that take no values and give nothing back.
    ///
    /// # Errors
    /// A sentence with what the database says; so those of the others.
    fn run(&mut self, statements: &str) -> Result<(), String>;

    /// How many rows changed.
    fn change(&mut self, statement: &str, values: &[Value]) -> Result<u64, String>;

    /// The rows that were asked for.
    fn rows(&mut self, statement: &str, values: &[Value]) -> Result<Vec<Vec<Value>>, String>;
}

/// What differs between databases.
pub struct Dialect {
    /// Makes tables and view where they are missing; each ends in a semicolon.
    pub schema: &'static str,
    /// Begins a transaction.
    pub begin: &'static str,
    /// How the value with this number, from 1 on, is written in a statement.
    pub place: fn(usize) -> String,
    /// Behind INSERT INTO sales: takes the row's lock and its new name.
    pub name_sale: &'static str,
    /// Behind INSERT INTO entries: one that is there already changes nothing and is not counted.
    /// (To ignore all errors would hide real mistakes.)
    pub take_in: &'static str,
    /// Behind INSERT INTO epochs: the smallest rev stays; counted only if it is a new one.
    pub learn_epoch: &'static str,
    /// Behind INSERT INTO orders: a row moves to a greater (epoch, rev) only.
    pub move_order: &'static str,
}

/// What a batch did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Entries that were not there.
    pub new: u64,
    /// It showed that Redis has lost something.
    pub lost: bool,
}

/// Takes all `entries` of a stream in, in one transaction.
///
/// # Errors
/// A sentence with what the database says. Nothing is written then, but when the connection broke
/// at the commit nobody knows: the same entries may be written again.
pub fn write(
    database: &mut dyn Database,
    stream: &[u8],
    entries: &[Entry],
) -> Result<Written, String> {
    database.run(database.dialect().begin)?;
    let written = take_in(database, stream, entries)?;
    database.run("COMMIT")?;
    Ok(written)
}

fn take_in(
    database: &mut dyn Database,
    stream: &[u8],
    entries: &[Entry],
) -> Result<Written, String> {
    let dialect = database.dialect();
    // Every transaction takes these locks first, in the order of the ids, so that two writers
    // neither judge the same sale at once nor wait for each other.
    let sales: BTreeMap<&str, &[u8]> =
        entries.iter().map(|entry| (entry.id.as_str(), entry.sale.as_slice())).collect();
    let rows = sales.iter().map(|(id, name)| vec![text(id), bytes(name), bytes(stream)]);
    insert(database, "sales (id, name, stream)", rows, dialect.name_sale)?;

    let columns = "entries (id, epoch, rev, event, born, seq)";
    let new = insert(database, columns, entries.iter().map(row_of), dialect.take_in)?;
    let mut firsts: BTreeMap<(&str, u64), u64> = BTreeMap::new();
    for Entry { id, epoch, rev, .. } in entries {
        let first = firsts.entry((id, *epoch)).or_insert(*rev);
        *first = (*first).min(*rev);
    }
    move_orders(database, entries)?;
    let mut lost = 0;
    for id in sales.keys() {
        if in_doubt(database, id, &firsts)? {
            lost += change(database, MARK_LOST, id)?;
            change(database, CLOSE_HELD, id)?;
        }
    }
    Ok(Written { new, lost: lost > 0 })
}

/// Whether something of this sale may be lost: the first rev of an epoch was learnt, or there are
/// entries of an epoch that is over.
fn in_doubt(
    database: &mut dyn Database,
    id: &str,
    firsts: &BTreeMap<(&str, u64), u64>,
) -> Result<bool, String> {
    let of_sale = || firsts.iter().filter(|((of, _), _)| *of == id);
    let rows = of_sale().map(|((_, epoch), first)| vec![text(id), int(*epoch), int(*first)]);
    let tail = database.dialect().learn_epoch;
    let learnt = insert(database, "epochs (id, epoch, first_rev)", rows, tail)?;
    let asked = "SELECT MAX(epoch) FROM epochs WHERE id = ";
    let asked = format!("{asked}{}", (database.dialect().place)(1));
    let newest = database.rows(&asked, &[text(id)])?.into_iter().flatten().next();
    let is_over = |epoch: u64| newest.as_ref().is_some_and(|newest| *newest != int(epoch));
    Ok(learnt > 0 || of_sale().any(|((_, epoch), _)| is_over(*epoch)))
}

/// Each order of the batch once, as its newest entry has it: no statement may move a row twice.
fn move_orders(database: &mut dyn Database, entries: &[Entry]) -> Result<(), String> {
    let mut newest: BTreeMap<(&str, u64, u64), (&Entry, &Grant)> = BTreeMap::new();
    for entry in entries {
        let Some(grant) = &entry.grant else { continue };
        let place = newest.entry((&entry.id, grant.born, grant.seq)).or_insert((entry, grant));
        if (entry.epoch, entry.rev) > (place.0.epoch, place.0.rev) {
            *place = (entry, grant);
        }
    }
    if newest.is_empty() {
        return Ok(());
    }
    let rows = newest.into_values().map(|(entry, grant)| {
        vec![
            text(&entry.id),
            int(grant.born),
            int(grant.seq),
            bytes(&grant.user),
            int(grant.qty),
            text(&grant.state),
            int(grant.at),
            int(grant.deadline),
            bytes(&grant.req),
            int(entry.epoch),
            int(entry.rev),
        ]
    });
    let columns = "orders (id, born, seq, user_id, qty, state, at, deadline, req, epoch, rev)";
    let tail = database.dialect().move_order;
    insert(database, columns, rows, tail).map(drop)
}

fn row_of(Entry { event, id, epoch, rev, grant, .. }: &Entry) -> Vec<Value> {
    let of_grant =
        |number: fn(&Grant) -> u64| grant.as_ref().map_or(Value::Null, |grant| int(number(grant)));
    let (born, seq) = (of_grant(|grant| grant.born), of_grant(|grant| grant.seq));
    vec![text(id), int(*epoch), int(*rev), text(event), born, seq]
}

/// One statement for all rows.
fn insert(
    database: &mut dyn Database,
    table: &str,
    rows: impl Iterator<Item = Vec<Value>>,
    tail: &str,
) -> Result<u64, String> {
    let place = database.dialect().place;
    let (mut values, mut places) = (Vec::new(), Vec::new());
    for row in rows {
        let numbers = values.len() + 1..=values.len() + row.len();
        places.push(format!("({})", numbers.map(place).collect::<Vec<_>>().join(", ")));
        values.extend(row);
    }
    let statement = format!("INSERT INTO {table} VALUES {} {tail}", places.join(", "));
    database.change(&statement, &values)
}

/// A statement that is told the sale.
fn change(database: &mut dyn Database, statement: &str, id: &str) -> Result<u64, String> {
    let statement = statement.replace(":id", &(database.dialect().place)(1));
    database.change(&statement, &[text(id)])
}

/// An order is lost if the last that is known of it is.
const MARK_LOST: &str = "UPDATE orders SET lost = TRUE
    WHERE id = :id AND lost = FALSE AND EXISTS (SELECT 1 FROM epochs AS p
        WHERE p.id = orders.id AND p.epoch > orders.epoch AND p.first_rev <= orders.rev)";

/// A hold of which Redis knows nothing any more is over: nobody paid, and its unit is free.
const CLOSE_HELD: &str = "UPDATE orders SET state = 'CLOSED', deadline = 0
    WHERE id = :id AND lost = TRUE AND state = 'HELD' AND NOT EXISTS (
        SELECT 1 FROM kept AS k
        WHERE k.id = orders.id AND k.born = orders.born AND k.seq = orders.seq)";

pub fn int(number: u64) -> Value {
    // No number of the outbox is above 2^53.
    Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

pub fn text(word: &str) -> Value {
    Value::Text(word.to_owned())
}

pub fn bytes(chosen: &[u8]) -> Value {
    Value::Bytes(chosen.to_owned())
}

impl Value {
    /// A number; 0 where there is none.
    pub fn number(&self) -> u64 {
        match self {
            Value::Int(number) => u64::try_from(*number).unwrap_or_default(),
            _ => 0,
        }
    }

    /// Bytes, and words as theirs.
    pub fn into_bytes(self) -> Vec<u8> {
        match self {
            Value::Bytes(bytes) => bytes,
            Value::Text(text) => text.into_bytes(),
            Value::Int(_) | Value::Null => Vec::new(),
        }
    }
}
