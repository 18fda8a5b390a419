//! `seckill split winners`: one list of the grants of all parts.

use std::io::{stdout, BufWriter, Write};

use clap::Args;
use redis::Value;

use super::parts::{advice, number, one, seckill, Split};

/// Which of them.
#[derive(Args)]
pub struct Options {
    pub name: String,
    /// LIVE, HELD, SOLD, CANCELLED, EXPIRED, REFUNDED or ALL
    #[arg(long, default_value = "LIVE")]
    state: String,
}

const PAGE: &[u8] = b"1000";
const HEAD: &str = "part,seq,user,qty,state,at,deadline,req,epoch,round";

/// Writes CSV, a part after the other, each in the order of its grants.
///
/// # Errors
/// A sentence that says what to do.
pub fn run(mut split: Split, options: &Options) -> Result<(), String> {
    let mut out = BufWriter::new(stdout().lock());
    let written = |result: std::io::Result<()>| result.map_err(|e| e.to_string());
    written(writeln!(out, "{HEAD}"))?;
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
                let Value::Array(fields) = row else { continue };
                let fields: Vec<Vec<u8>> = fields.iter().map(field).collect();
                written(write!(out, "{part},"))?;
                written(out.write_all(&fields.join(&b","[..])))?;
                written(writeln!(out))?;
            }
            cursor = number(next).unwrap_or_default();
            if cursor == 0 {
                break;
            }
        }
    }
    written(out.flush())
}

/// As CSV has it: what has a comma, a quote or a line's end is quoted.
fn field(value: &Value) -> Vec<u8> {
    match value {
        Value::Int(number) => number.to_string().into_bytes(),
        Value::BulkString(bytes) if bytes.iter().any(|b| b",\"\r\n".contains(b)) => {
            let mut quoted = vec![b'"'];
            for byte in bytes {
                quoted.push(*byte);
                quoted.extend((*byte == b'"').then_some(b'"'));
            }
            quoted.push(b'"');
            quoted
        }
        Value::BulkString(bytes) => bytes.clone(),
        _ => Vec::new(),
    }
}
