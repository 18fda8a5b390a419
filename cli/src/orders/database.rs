//! A database of any kind: the functions that the order writer needs, and the values of its rows.

use crate::connect::Failure;

/// A value of a row, written or read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Every number of the outbox fits.
    Int(i64),
    /// Bytes that users or operators chose.
    Bytes(Vec<u8>),
    /// A text of this program.
    Text(String),
    Null,
}

/// A database. In statements `@` stands before the name of a table of seckill, see `Names`.
pub trait Database {
    /// The SQL dialect of this database.
    fn dialect(&self) -> &'static Dialect;

    /// The columns of one of our tables; empty if the table is missing.
    ///
    /// # Errors
    /// The error of the database; also for the other functions.
    fn columns(&mut self, table: &str) -> Result<Vec<String>, Failure>;

    /// Runs statements that take no values and return no rows.
    fn run(&mut self, statements: &str) -> Result<(), Failure>;

    /// Runs a statement and returns the number of changed rows.
    fn change(&mut self, statement: &str, values: &[Value]) -> Result<u64, Failure>;

    /// Runs a query and returns its rows.
    fn rows(&mut self, statement: &str, values: &[Value]) -> Result<Vec<Vec<Value>>, Failure>;
}

/// The differences between databases.
pub struct Dialect {
    /// Makes tables and view where they are missing; each ends in a semicolon.
    pub schema: &'static str,
    /// The character that quotes a name.
    pub quote: char,
    /// Begins a transaction.
    pub begin: &'static str,
    /// The placeholder of the value with this number, counted from 1.
    pub place: fn(usize) -> String,
    /// The end of INSERT INTO sales: locks the row and updates the name.
    pub name_sale: &'static str,
    /// The end of INSERT INTO entries: an entry that exists changes nothing and is not counted.
    /// (IGNORE would hide real errors, too.)
    pub take_in: &'static str,
    /// The end of INSERT INTO epochs: keeps the smallest rev; counted only if the epoch is new.
    pub store_epoch: &'static str,
    /// The end of INSERT INTO orders: moves the row only to a greater (epoch, rev). `asked` becomes
    /// the largest quantity of all entries, whatever their order.
    pub move_order: &'static str,
    /// The end of INSERT INTO units: a number goes only to a greater (epoch, rev).
    pub move_unit: &'static str,
}

/// Whether an error with this SQLSTATE is permanent: of values (22), constraints (23), logging in
/// (28), names of databases (3D), of schemas (3F), of tables and columns, rights and syntax (42).
pub fn lasts(state: &str) -> bool {
    let class = state.get(..2).unwrap_or_default();
    ["22", "23", "28", "3D", "3F", "42"].contains(&class)
}

/// One statement for all rows.
pub fn insert(
    database: &mut dyn Database,
    table: &str,
    rows: impl Iterator<Item = Vec<Value>>,
    tail: &str,
) -> Result<u64, Failure> {
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
    /// The number of this value; 0 if it is no number.
    pub fn number(&self) -> u64 {
        match self {
            Value::Int(number) => u64::try_from(*number).unwrap_or_default(),
            _ => 0,
        }
    }

    /// Bytes as they are, a text as its bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        match self {
            Value::Bytes(bytes) => bytes,
            Value::Text(text) => text.into_bytes(),
            Value::Int(_) | Value::Null => Vec::new(),
        }
    }
}
