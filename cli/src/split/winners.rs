//! `seckill split winners`: one list of the grants of all parts.

use std::io::{stdout, BufWriter, Write};

use clap::Args;
use redis::Value;

use super::parts::{advice, number, one, seckill, Split};

/// Which of them, and how.
#[derive(Args)]
pub struct Options {
    pub name: String,
    /// LIVE, HELD, SOLD, CANCELLED, EXPIRED, REFUNDED or ALL
    #[arg(long, default_value = "LIVE")]
    state: String,
    /// A JSON object a line instead of CSV; what is no text has U+FFFD where it is not
    #[arg(long)]
    json: bool,
}

const PAGE: &[u8] = b"1000";
const HEAD: [&str; 10] =
    ["part", "seq", "user", "qty", "state", "at", "deadline", "req", "epoch", "round"];

/// Writes a part after the other, each in the order of its grants.
///
/// # Errors
/// A sentence that says what to do.
pub fn run(mut split: Split, options: &Options) -> Result<(), String> {
    let mut list = List::begin(options.json)?;
    for part in 0..split.parts {
        let key = split.key(part);
        let mut cursor = 0;
        loop {
            let from = cursor.to_string();
            let state = options.state.as_bytes();
            let words = [key.as_bytes(), from.as_bytes(), b"COUNT", PAGE, b"STATE", state];
            let reply = one(split.call(part, &[seckill("WINNERS", &words)])?);
            let Value::Array(page) = &reply else { return Err(advice(&key, &reply)) };
            let [next, Value::Array(rows)] = page.as_slice() else {
                return Err(advice(&key, &reply));
            };
            for row in rows {
                let Value::Array(fields) = row else { return Err(advice(&key, row)) };
                list.add(part, fields)?;
            }
            cursor = number(next).unwrap_or_default();
            if cursor == 0 {
                break;
            }
        }
    }
    list.end()
}

enum List {
    Csv(Box<csv::Writer<std::io::StdoutLock<'static>>>),
    Json(BufWriter<std::io::StdoutLock<'static>>),
}

impl List {
    fn begin(is_json: bool) -> Result<List, String> {
        if is_json {
            return Ok(List::Json(BufWriter::new(stdout().lock())));
        }
        let mut csv = csv::Writer::from_writer(stdout().lock());
        csv.write_record(HEAD).map_err(|e| e.to_string())?;
        Ok(List::Csv(Box::new(csv)))
    }

    fn add(&mut self, part: usize, fields: &[Value]) -> Result<(), String> {
        match self {
            List::Csv(csv) => {
                let fields = fields.iter().map(text);
                let row = std::iter::once(part.to_string().into_bytes()).chain(fields);
                csv.write_record(row).map_err(|e| e.to_string())
            }
            List::Json(out) => {
                let row = std::iter::once(part.into()).chain(fields.iter().map(json));
                let names = HEAD.iter().map(|name| (*name).to_owned());
                let row: serde_json::Map<_, _> = names.zip(row).collect();
                writeln!(out, "{}", serde_json::Value::Object(row)).map_err(|e| e.to_string())
            }
        }
    }

    fn end(self) -> Result<(), String> {
        let written = match self {
            List::Csv(mut csv) => csv.flush(),
            List::Json(mut out) => out.flush(),
        };
        written.map_err(|e| e.to_string())
    }
}

fn text(value: &Value) -> Vec<u8> {
    match value {
        Value::Int(number) => number.to_string().into_bytes(),
        Value::BulkString(bytes) => bytes.clone(),
        _ => Vec::new(),
    }
}

fn json(value: &Value) -> serde_json::Value {
    match value {
        Value::Int(number) => (*number).into(),
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into(),
        _ => serde_json::Value::Null,
    }
}
