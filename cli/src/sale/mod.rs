//! Subcommands about one sale that is not split: its state, its winners, its audit, and its
//! archive. In a cluster they go to the node that has the sale.

mod archive;
mod show;

use std::path::PathBuf;

use clap::Args;
use redis::{Cmd, Value};

use crate::connect::Server;
use crate::grants::{List, FIELDS};
use crate::print::say;
use crate::split::{advice, number, one, pairs, said, seckill, Nodes};

pub use archive::{export, import};
pub use show::{status, watch};

/// Which sale.
#[derive(Args)]
pub struct Name {
    /// The sale's key
    name: String,
}

/// Which sale, and how it is shown.
#[derive(Args)]
pub struct Status {
    /// The sale's key
    name: String,
    /// One JSON object instead of lines
    #[arg(long)]
    json: bool,
}

/// Which sales.
#[derive(Args)]
pub struct Watch {
    /// Keys of sales
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
    /// Number of updates; 0: until it is stopped
    #[arg(long, default_value_t = 0, value_name = "N")]
    times: u64,
}

/// Which grants, and how they are written.
#[derive(Args)]
pub struct Winners {
    /// The sale's key
    name: String,
    /// LIVE, HELD, SOLD, CANCELLED, EXPIRED, REFUNDED or ALL
    #[arg(long, default_value = "LIVE")]
    state: String,
    /// Write CSV (the default)
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Write one JSON object per line instead of CSV; bytes that are not UTF-8 become U+FFFD
    #[arg(long)]
    json: bool,
}

/// Which sale, and where its archive is.
#[derive(Args)]
pub struct Archive {
    /// The sale's key
    name: String,
    /// The file of the archive
    file: PathBuf,
}

/// A sale and the nodes that may have it.
struct Sale {
    nodes: Nodes,
    name: String,
}

/// Rows asked for in one call.
const PAGE: &[u8] = b"1000";

impl Sale {
    fn of(server: &Server, name: &str) -> Result<Sale, String> {
        Ok(Sale { nodes: Nodes::new(server.targets()?), name: name.to_owned() })
    }

    /// # Errors
    /// An error message if no node answers, or the error that a node replied.
    fn call(&mut self, command: Cmd) -> Result<Value, String> {
        let reply = one(self.nodes.call(&self.name, 0, &[command])?);
        match &reply {
            Value::ServerError(error) if error.code() == "NOSALE" => {
                Err(format!("there is no sale {}", self.name))
            }
            Value::ServerError(_) => Err(advice(&self.name, &reply)),
            _ => Ok(reply),
        }
    }

    fn ask(&mut self, command: &str, words: &[&[u8]]) -> Result<Value, String> {
        let name = self.name.clone();
        self.call(seckill(command, &[&[name.as_bytes()], words].concat()))
    }

    /// STATUS as names and values.
    fn status(&mut self) -> Result<Vec<(String, Value)>, String> {
        Ok(pairs(&self.ask("STATUS", &[])?))
    }

    /// Each grant with this state; `take` gets its row.
    fn grants(
        &mut self,
        state: &str,
        mut take: impl FnMut(&[Value]) -> Result<(), String>,
    ) -> Result<(), String> {
        let mut cursor = 0;
        loop {
            let from = cursor.to_string();
            let words = [from.as_bytes(), b"COUNT", PAGE, b"STATE", state.as_bytes()];
            let reply = self.ask("WINNERS", &words)?;
            let Value::Array(page) = &reply else { return Err(said(&reply)) };
            let [next, Value::Array(rows)] = page.as_slice() else { return Err(said(&reply)) };
            for row in rows {
                let Value::Array(fields) = row else { return Err(said(row)) };
                take(fields)?;
            }
            cursor = number(next).unwrap_or_default();
            if cursor == 0 {
                return Ok(());
            }
        }
    }
}

/// Writes the grants of a sale.
///
/// # Errors
/// An error message with the reason.
pub fn winners(server: &Server, options: &Winners) -> Result<(), String> {
    let mut list = List::begin(options.json, &[&FIELDS[..], &["units"]].concat())?;
    let mut sale = Sale::of(server, &options.name)?;
    // A sale that is not numbered has no units, and a CSV has a field for each name.
    sale.grants(&options.state, |row| match row.len() {
        9 if !options.json => list.add(&[row, &[Value::Nil]].concat()),
        _ => list.add(row),
    })?;
    list.end()
}

/// Recounts a sale.
///
/// # Errors
/// A message for each number that differs from the grants.
pub fn audit(server: &Server, options: &Name) -> Result<(), String> {
    let mut sale = Sale::of(server, &options.name)?;
    say!("{}", sale.audit()?);
    Ok(())
}

impl Sale {
    /// The result of AUDIT as a sentence.
    ///
    /// # Errors
    /// An error where the sale's books do not add up.
    fn audit(&mut self) -> Result<String, String> {
        let fields = pairs(&self.ask("AUDIT", &[])?);
        let field = |name: &str| fields.iter().find(|(field, _)| field == name).map(|(_, v)| v);
        let count = |name: &str| field(name).and_then(number).unwrap_or_default();
        if count("ok") == 1 {
            // A sale with NUMBERED.
            let numbers = field("units").and_then(number);
            let numbers = numbers.map(|units| format!(" with {units} numbers"));
            return Ok(format!(
                "OK: {} = {} available + {} held + {} sold, counted from {} grants{}",
                count("supply"),
                count("available"),
                count("held"),
                count("sold"),
                count("grants"),
                numbers.unwrap_or_default()
            ));
        }
        let differences = match field("differences") {
            Some(Value::Array(rows)) => rows.as_slice(),
            _ => &[],
        };
        let row = |row: &Value| match row {
            Value::Array(row) => match row.as_slice() {
                [name, stored, counted] => format!(
                    "{}: {} is stored, the grants say {}",
                    text(name),
                    text(stored),
                    text(counted)
                ),
                _ => said(&Value::Array(row.clone())),
            },
            other => said(other),
        };
        Err(differences.iter().map(row).collect::<Vec<_>>().join("\n"))
    }
}

fn text(value: &Value) -> String {
    match crate::grants::json(value) {
        serde_json::Value::String(text) => text,
        other => other.to_string(),
    }
}
