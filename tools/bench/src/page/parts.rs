//! The table of the module's own instructions, by the place of their code.

use comfy_table::{presets, Table};

use crate::callgrind::C_LIBRARY;
use crate::cases::instructions::{ALREADY, CASE, CONFIRM, RECOMMENDED, SOLD_OUT, WINNER};
use crate::figures::{INSTRUCTIONS, OWN};
use crate::report::Report;
use crate::rows::short;

const KINDS: [&str; 5] = [RECOMMENDED[0], WINNER[0], SOLD_OUT[0], ALREADY[0], CONFIRM];

/// Parts with fewer instructions in every column share one row.
const LITTLE: f64 = 50.0;

/// `None` if the run did not count instructions.
pub fn table(run: &Report) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for series in run.figures.series.iter().filter(|series| series.unit == OWN) {
        if series.who != C_LIBRARY && !parts.contains(&series.who.as_str()) {
            parts.push(&series.who);
        }
    }
    let of = |part: &str| -> [f64; KINDS.len()] {
        KINDS.map(|kind| run.figures.spread((kind, part), OWN).map_or(0.0, |found| found.median))
    };
    let mut rows: Vec<(&str, [f64; KINDS.len()])> =
        parts.iter().map(|part| (*part, of(part))).collect();
    let sum = |rows: &[(&str, [f64; KINDS.len()])]| -> [f64; KINDS.len()] {
        std::array::from_fn(|kind| rows.iter().map(|(_, counts)| counts[kind]).sum())
    };
    let all = sum(&rows);
    rows.sort_by(|(_, a), (_, b)| b[0].total_cmp(&a[0]));
    let (mut shown, little): (Vec<_>, Vec<_>) =
        rows.into_iter().partition(|(_, counts)| counts.iter().any(|count| *count >= LITTLE));
    shown.push(("all others", sum(&little)));
    shown.push(("**the module's own**", all));
    shown.push((C_LIBRARY, of(C_LIBRARY)));
    let whole = KINDS.map(|kind| run.figures.spread((CASE, kind), INSTRUCTIONS));
    shown.push(("the whole call, server included", whole.map(|it| it.map_or(0.0, |it| it.median))));
    let mut table = Table::new();
    let head = [&[run.server.as_str()], &KINDS[..]].concat();
    table.load_style(presets::ASCII_MARKDOWN).set_header(head);
    for (part, counts) in shown {
        let counts = counts.map(|count| short(count.round()));
        table.add_row([&[part.to_owned()], &counts[..]].concat());
    }
    (!parts.is_empty()).then(|| table.to_string())
}
