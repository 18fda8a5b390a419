//! Saving a snapshot and loading it: time, and bytes for each winner.

use std::fs;
use std::path::Path;
use std::time::Instant;

use super::Bench;
use crate::contenders::{Kind, SALE, SET};
use crate::control::Control;
use crate::figures::{BYTES, MS};
use crate::load::USERS;
use crate::sender::{self, Template, PIPELINED};

pub const SAVE: &str = "RDB save";
pub const LOAD: &str = "RDB load";

pub fn run(bench: &mut Bench) -> Result<(), String> {
    let winners = bench.plan.sizes[1];
    let mut seats = Vec::new();
    for (kind, key) in [(Kind::Sadd, SET), (Kind::Grab, SALE)] {
        let mut control = kind.start(&bench.modules, &[])?;
        let words = kind.prepare(&mut control)?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let template = Template::new(&[&words]);
        sender::send(control.port(), &template, sender::spread(winners, USERS), PIPELINED)?;
        seats.push((kind, key, control));
    }
    for _ in 0..bench.plan.rounds {
        for (kind, key, control) in &mut seats {
            bench.step(SAVE, kind.name());
            once(bench, *kind, control, winners)?;
            let there: u64 = control.ask(&["EXISTS", key])?;
            if there != 1 || kind.winners(control)? != Some(winners as f64) {
                return Err(format!("{}: the snapshot lost something", kind.name()));
            }
        }
    }
    Ok(())
}

fn once(bench: &mut Bench, kind: Kind, control: &mut Control, winners: u64) -> Result<(), String> {
    let who = kind.name();
    let start = Instant::now();
    control.tell(&["SAVE"])?;
    bench.figures.add(SAVE, who, MS, start.elapsed().as_secs_f64() * 1e3);
    let (_, folder): (String, String) = control.ask(&["CONFIG", "GET", "dir"])?;
    let file = fs::metadata(Path::new(&folder).join("dump.rdb"));
    let bytes = file.map_err(|e| format!("No snapshot: {e}"))?.len();
    bench.figures.add(SAVE, who, BYTES, bytes as f64 / winners as f64);
    // Flushed before, so that loading is not charged for freeing what was there.
    control.tell(&["FLUSHALL", "SYNC"])?;
    let start = Instant::now();
    control.tell(&["DEBUG", "RELOAD", "NOSAVE"])?;
    bench.figures.add(LOAD, who, MS, start.elapsed().as_secs_f64() * 1e3);
    Ok(())
}
