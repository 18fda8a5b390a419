//! `seckill split winners`: one list of the grants of all parts.

use clap::Args;
use redis::Value;

use crate::grants::{List, FIELDS};

use super::parts::{advice, number, one, seckill, Split};

/// Which winners to list, and in which form.
#[derive(Args)]
pub struct Options {
    pub name: String,
    /// LIVE, HELD, SOLD, CANCELLED, EXPIRED, REFUNDED or ALL
    #[arg(long, default_value = "LIVE")]
    state: String,
    /// Write one JSON object per line instead of CSV; bytes that are not UTF-8 become U+FFFD
    #[arg(long)]
    json: bool,
}

const PAGE: &[u8] = b"1000";

/// Writes a part after the other, each in the order of its grants.
///
/// # Errors
/// An error message that says what to do.
pub fn run(mut split: Split, options: &Options) -> Result<(), String> {
    let mut list = List::begin(options.json, &[&["part"][..], &FIELDS].concat())?;
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
                let row = [&[Value::Int(part as i64)], fields.as_slice()].concat();
                list.add(&row)?;
            }
            cursor = number(next).unwrap_or_default();
            if cursor == 0 {
                break;
            }
        }
    }
    list.end()
}
