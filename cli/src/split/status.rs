//! `seckill split status`: the parts, their sums, and the units under way.

use std::time::Duration;

use clap::Args;
use comfy_table::{presets, CellAlignment, Table};
use seckill_balance::{totals, under_way, Reading, Totals};

use super::parts::{Split, View};
use crate::print::say;
use crate::stop::Stop;

/// Options: which split is shown, and how.
#[derive(Args)]
pub struct Options {
    pub name: String,
    /// One JSON object instead of a table
    #[arg(long)]
    json: bool,
    /// Update the table every second
    #[arg(long)]
    watch: bool,
}

/// # Errors
/// An error message that says what to do.
pub fn run(mut split: Split, options: &Options) -> Result<(), String> {
    let stop = Stop::on_signals()?;
    loop {
        let views = split.read_all()?;
        let readings: Vec<Reading> = views.iter().map(|view| view.reading.clone()).collect();
        // Units that moved between two readings only look as if they were duplicated.
        let twice = split.made_twice(&readings)?.iter().map(|one| one.units).sum();
        let totals = Totals { made_twice: twice, ..totals(&readings) };
        let is_read = match options.json {
            true => say!("{}", json(&split, &views, &totals)),
            false if options.watch => say!("\x1b[2J\x1b[H{}", table(&split, &views, &totals)),
            false => say!("{}", table(&split, &views, &totals)),
        };
        if !options.watch || !is_read || stop.is_told() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_secs(1));
    }
}

fn sold(view: &View) -> u64 {
    view.number("sold")
}

fn table(split: &Split, views: &[View], totals: &Totals) -> String {
    let mut table = Table::new();
    table.load_style(presets::ASCII_BORDERS_ONLY_CONDENSED).set_header([
        "part",
        "node",
        "state",
        "available",
        "held",
        "sold",
        "deficit",
        "unmet",
        "sent",
        "received",
        "elsewhere",
    ]);
    for column in table.column_iter_mut().skip(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let sum = |of: &dyn Fn(&View) -> u64| views.iter().map(of).sum::<u64>().to_string();
    let sent = |view: &View| view.reading.sent.iter().sum::<u64>();
    let received = |view: &View| view.reading.received.iter().sum::<u64>();
    for (part, view) in views.iter().enumerate() {
        let reading = &view.reading;
        table.add_row([
            part.to_string(),
            view.node.clone(),
            view.state.clone(),
            reading.available.to_string(),
            reading.held.to_string(),
            sold(view).to_string(),
            reading.deficit.to_string(),
            view.number("unmet_units").to_string(),
            sent(view).to_string(),
            received(view).to_string(),
            reading.elsewhere.to_string(),
        ]);
    }
    table.add_row([
        "all".to_owned(),
        String::new(),
        String::new(),
        sum(&|view| view.reading.available),
        sum(&|view| view.reading.held),
        sum(&sold),
        sum(&|view| view.reading.deficit),
        sum(&|view| view.number("unmet_units")),
        sum(&sent),
        sum(&received),
        String::new(),
    ]);
    let readings: Vec<Reading> = views.iter().map(|view| view.reading.clone()).collect();
    let id = String::from_utf8_lossy(&split.id);
    let mut text = format!(
        "{}, split {id}: {} parts, {} units put in, {} under way\n{table}",
        split.name, split.parts, totals.put_in, totals.under_way
    );
    for one in under_way(&readings) {
        text += &format!("\nunder way from part {} to part {}: {}", one.from, one.to, one.units);
    }
    if totals.made_twice > 0 {
        text += &format!("\nmade twice: {}; `seckill split balance` settles it", totals.made_twice);
    }
    if totals.oversold() > 0 {
        text +=
            &format!("\nOVERSOLD: {} units are promised that nothing covers", totals.oversold());
    }
    text
}

fn json(split: &Split, views: &[View], totals: &Totals) -> serde_json::Value {
    let parts: Vec<serde_json::Value> = views
        .iter()
        .enumerate()
        .map(|(part, view)| {
            serde_json::json!({
                "part": part,
                "node": view.node,
                "state": view.state,
                "put_in": view.reading.put_in,
                "available": view.reading.available,
                "held": view.reading.held,
                "sold": sold(view),
                "deficit": view.reading.deficit,
                "elsewhere": view.reading.elsewhere,
                "unmet_units": view.number("unmet_units"),
            })
        })
        .collect();
    serde_json::json!({
        "name": split.name,
        "id": String::from_utf8_lossy(&split.id),
        "put_in": totals.put_in,
        "available": totals.available,
        "held": totals.held,
        "sold": views.iter().map(sold).sum::<u64>(),
        "deficit": totals.deficit,
        "under_way": totals.under_way,
        "made_twice": totals.made_twice,
        "oversold": totals.oversold(),
        "parts": parts,
    })
}
