//! The short report.

use comfy_table::Table;
use serde_json::Value;

use crate::check::ServerSide;
use crate::pay::{Habit, Paid};
use seckill_crowd::heard::Heard;
use seckill_crowd::screen::{align_right, table};
use seckill_crowd::Experience;

const WINNERS_SHOWN: usize = 5;

/// Prints the answers, their speed, and the server's data.
pub fn print(experience: &Experience, heard: &Heard, server: &ServerSide) {
    println!("{}\n", answers(heard));
    println!("{}\n", speed(experience));
    println!("First winners (SECKILL.WINNERS):");
    println!("{}\n", winners(server));
    println!("SECKILL.STATUS:");
    println!("{}\n", status(&server.status));
    println!("SECKILL.AUDIT: {}\n", server.audit.text);
}

/// Prints the states of all holds, and the server's data.
pub fn print_paid(paid: &Paid, server: &ServerSide) {
    println!("{}\n", endings(paid));
    println!("Took {:.1} s.\n", paid.took.as_secs_f64());
    println!("SECKILL.STATUS:");
    println!("{}\n", status(&server.status));
    println!("SECKILL.AUDIT: {}\n", server.audit.text);
}

fn endings(paid: &Paid) -> Table {
    let mut table = table(&["what happened", "times", "in the end"]);
    let rows = [
        (paid.count(Habit::Pays, "SOLD"), "paid in time", "SOLD"),
        (paid.count(Habit::Cancels, "CANCELLED"), "cancelled", "CANCELLED, unit came back"),
        (paid.count(Habit::Forgets, "EXPIRED"), "forgot to pay", "EXPIRED, unit came back"),
        (paid.count(Habit::PaysLate, "SOLD"), "paid late, a unit was free", "SOLD (RECLAIM)"),
        (paid.count(Habit::PaysLate, "EXPIRED"), "paid late, none was free", "EXPIRED, to refund"),
        (paid.waits, "all units held, asked again later", "SOLDOUT, some held"),
        (paid.too_late, "came when all was sold", "SOLDOUT 0"),
    ];
    for (times, what, end) in rows {
        table.add_row([what, &times.to_string(), end]);
    }
    align_right(&mut table, 1);
    table
}

fn answers(heard: &Heard) -> Table {
    let mut table = table(&["answer", "clicks", "meaning"]);
    let rows = [
        ("GRANTED", heard.granted, "yours"),
        ("REPLAY", heard.replayed, "the same order again: told once more what it got"),
        ("ALREADY", heard.already, "another order of a user who has a unit"),
        ("SOLDOUT", heard.soldout, "nothing left"),
    ];
    for (answer, clicks, meaning) in rows {
        table.add_row([answer, &clicks.to_string(), meaning]);
    }
    let unexpected = heard.unexpected + heard.notopen;
    if unexpected > 0 {
        table.add_row(["unexpected", &unexpected.to_string(), "must not happen"]);
    }
    align_right(&mut table, 1);
    table
}

fn speed(experience: &Experience) -> Table {
    let seconds = experience.took.as_secs_f64();
    let ms = |micros: u64| format!("{:.1} ms", micros as f64 / 1000.0);
    let latency = &experience.latency;
    let mut table = table(&["time", "grabs/s", "p50", "p99", "max"]);
    table.add_row([
        format!("{seconds:.3} s"),
        format!("{:.0}", experience.answers.len() as f64 / seconds.max(1e-9)),
        ms(latency.value_at_quantile(0.5)),
        ms(latency.value_at_quantile(0.99)),
        ms(latency.max()),
    ]);
    table
}

fn winners(server: &ServerSide) -> Table {
    let mut table = table(&["seq", "user", "qty", "state"]);
    for winner in server.winners.iter().take(WINNERS_SHOWN) {
        table.add_row([
            &winner.seq.to_string(),
            &winner.user,
            &winner.qty.to_string(),
            &winner.state,
        ]);
    }
    align_right(&mut table, 0);
    table
}

fn status(status: &Value) -> Table {
    let mut table = table(&["field", "value"]);
    for field in ["state", "supply", "available", "held", "sold", "winners"] {
        table.add_row([field.to_owned(), shown(status.get(field))]);
    }
    let counters = status.get("counters").and_then(Value::as_object);
    for (name, value) in counters.into_iter().flatten().filter(|(_, value)| **value != 0) {
        table.add_row([format!("counters.{name}"), shown(Some(value))]);
    }
    table
}

/// Strings without their quotes.
fn shown(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => "-".into(),
    }
}
