//! A list of grants as CSV or as JSON lines, on standard output.

use std::io::{stdout, BufWriter, Write};

use redis::Value;

use crate::print::ListOut;

/// The columns of a grant row of WINNERS, in order. A numbered sale has a last column `units`.
pub const FIELDS: [&str; 9] =
    ["seq", "user", "qty", "state", "at", "deadline", "req", "epoch", "round"];

/// A list that is being written.
pub enum List {
    Csv(Box<csv::Writer<ListOut>>),
    Json(Vec<&'static str>, BufWriter<ListOut>),
}

impl List {
    /// Begins with the names of the columns.
    ///
    /// # Errors
    /// An error message if writing fails; also for the other functions.
    pub fn begin(is_json: bool, names: &[&'static str]) -> Result<List, String> {
        if is_json {
            return Ok(List::Json(names.to_vec(), BufWriter::new(ListOut(stdout().lock()))));
        }
        let out = ListOut(stdout().lock());
        let mut csv = csv::WriterBuilder::new().flexible(true).from_writer(out);
        csv.write_record(names).map_err(|e| e.to_string())?;
        Ok(List::Csv(Box::new(csv)))
    }

    /// One row.
    pub fn add(&mut self, fields: &[Value]) -> Result<(), String> {
        match self {
            List::Csv(csv) => csv.write_record(fields.iter().map(text)).map_err(|e| e.to_string()),
            List::Json(names, out) => {
                let names = names.iter().map(|name| (*name).to_owned());
                let row: serde_json::Map<_, _> = names.zip(fields.iter().map(json)).collect();
                writeln!(out, "{}", serde_json::Value::Object(row)).map_err(|e| e.to_string())
            }
        }
    }

    /// Writes the rest of the list.
    pub fn end(self) -> Result<(), String> {
        let written = match self {
            List::Csv(mut csv) => csv.flush(),
            List::Json(_, mut out) => out.flush(),
        };
        written.map_err(|e| e.to_string())
    }
}

fn text(value: &Value) -> Vec<u8> {
    match value {
        Value::Int(number) => number.to_string().into_bytes(),
        Value::BulkString(bytes) => bytes.clone(),
        Value::Array(items) => {
            let items = items.iter().map(text);
            items.collect::<Vec<_>>().join(&b' ')
        }
        _ => Vec::new(),
    }
}

/// The value as JSON; a byte that is not UTF-8 becomes U+FFFD.
pub fn json(value: &Value) -> serde_json::Value {
    match value {
        Value::Int(number) => (*number).into(),
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into(),
        Value::SimpleString(text) => text.as_str().into(),
        Value::Array(items) => items.iter().map(json).collect(),
        _ => serde_json::Value::Null,
    }
}
