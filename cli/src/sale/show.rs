//! `seckill status` and `seckill watch`.

use std::time::{Duration, Instant};

use comfy_table::{presets, CellAlignment, Table};
use redis::Value;
use serde_json::Map;

use super::{text, Sale, Status, Watch};
use crate::connect::Server;
use crate::grants::json;
use crate::print::say;
use crate::split::{number, pairs};
use crate::stop::Stop;

/// All fields of STATUS, one a line.
///
/// # Errors
/// An error message if the sale does not exist, or the server does not answer.
pub fn status(server: &Server, options: &Status) -> Result<(), String> {
    let fields = Sale::of(server, &options.name)?.status()?;
    if options.json {
        say!("{}", serde_json::Value::Object(object(&fields)));
        return Ok(());
    }
    let width = fields.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    for (name, value) in &fields {
        match pairs(value).as_slice() {
            [] => say!("{name:width$}  {}", text(value)),
            nested => {
                let nested = nested.iter().map(|(name, value)| format!("{name} {}", text(value)));
                say!("{name:width$}  {}", nested.collect::<Vec<_>>().join(", "))
            }
        };
    }
    Ok(())
}

/// STATUS as a JSON object; its maps become objects, too.
pub fn object(fields: &[(String, Value)]) -> Map<String, serde_json::Value> {
    let field = |(name, value): &(String, Value)| {
        let nested = pairs(value);
        let value = match nested.is_empty() {
            true => json(value),
            false => serde_json::Value::Object(object(&nested)),
        };
        (name.clone(), value)
    };
    fields.iter().map(field).collect()
}

const HEAD: [&str; 8] =
    ["sale", "state", "available", "held", "sold", "supply", "winners", "GRAB/s"];

/// Prints a table of sales every second.
///
/// # Errors
/// As `status`, for any of them.
pub fn watch(server: &Server, options: &Watch) -> Result<(), String> {
    let stop = Stop::on_signals()?;
    let sales = options.names.iter().map(|name| Sale::of(server, name));
    let mut sales: Vec<(Sale, Option<(Instant, i64)>)> =
        sales.map(|sale| Ok((sale?, None))).collect::<Result<_, String>>()?;
    let mut shown = 0;
    while !stop.is_told() {
        let mut table = Table::new();
        table.load_style(presets::ASCII_BORDERS_ONLY_CONDENSED).set_header(HEAD);
        for column in table.column_iter_mut().skip(2) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        for (sale, last) in &mut sales {
            let status = sale.status()?;
            let field = |name: &str| status.iter().find(|(f, _)| f == name).map(|(_, v)| v);
            let attempts = field("counters").map(pairs).unwrap_or_default();
            let attempts = attempts.iter().find(|(name, _)| name == "attempts");
            let attempts = attempts.and_then(|(_, count)| number(count)).unwrap_or_default();
            let rate = match *last {
                None => "-".to_owned(),
                Some((at, before)) => {
                    let passed = at.elapsed().as_secs_f64().max(0.001);
                    format!("{:.0}", (attempts - before).max(0) as f64 / passed)
                }
            };
            *last = Some((Instant::now(), attempts));
            let fields = HEAD[1..7].iter().map(|name| field(name).map_or_else(String::new, text));
            table.add_row(std::iter::once(sale.name.clone()).chain(fields).chain([rate]));
        }
        // A terminal shows each reading in the place of the last one; a single reading stays in the
        // scrollback.
        let home = if options.times == 1 { "" } else { "\x1b[2J\x1b[H" };
        let is_read = say!("{home}{table}");
        shown += 1;
        if shown == options.times || !is_read {
            return Ok(());
        }
        std::thread::sleep(Duration::from_secs(1));
    }
    Ok(())
}
