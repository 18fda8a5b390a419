//! Memory that a fork copies while the sale goes on.

use std::thread;

use super::Bench;
use crate::contenders::{Kind, SALE, SET, USER};
use crate::control::Control;
use crate::figures::BYTES;
use crate::host::{cores, OTHER_CORE};
use crate::load::USERS;
use crate::sender::{self, Manner, Template, PIPELINED};

pub const FORK: &str = "copied by a fork under load";
/// The same data, and nobody changes anything meanwhile.
pub const IDLE_FORK: &str = "copied by a fork without load";

/// Changes a second while the child saves.
const PACE: f64 = 100_000.0;
/// Longer than a save takes.
const LOAD_SECONDS: f64 = 2.0;

pub fn run(bench: &mut Bench) -> Result<(), String> {
    let winners = bench.plan.sizes[1];
    let core = OTHER_CORE.min(cores() - 1).to_string();
    let mut seats = Vec::new();
    for (kind, words) in
        [(Kind::Sadd, ["SADD", SET, USER]), (Kind::Grab, ["SECKILL.GRAB", SALE, USER])]
    {
        let mut control = kind.start(&bench.modules, &["--bgsave_cpulist", &core])?;
        kind.prepare(&mut control)?;
        let template = Template::new(&[&words]);
        sender::send(control.port(), &template, sender::spread(winners, USERS), PIPELINED)?;
        seats.push((kind, control, template));
    }
    for round in 0..bench.plan.rounds {
        for (kind, control, template) in &mut seats {
            bench.step(FORK, kind.name());
            let copied = once(control, template, round as u64)?;
            bench.figures.add(FORK, kind.name(), BYTES, copied);
            bench.figures.add(IDLE_FORK, kind.name(), BYTES, save(control)?);
        }
    }
    Ok(())
}

/// Saves in the middle of a steady load; the bytes that were copied meanwhile.
fn once(control: &mut Control, template: &Template, seed: u64) -> Result<f64, String> {
    let port = control.port();
    let manner = Manner { connections: 10, pipeline: 32, pace: Some(PACE) };
    let numbers = sender::random(seed, USERS).take((PACE * LOAD_SECONDS) as usize);
    thread::scope(|scope| {
        let load = scope.spawn(move || sender::send(port, template, numbers, manner));
        let before = control.info("stats", "total_commands_processed")?;
        while control.info("stats", "total_commands_processed")? < before + PACE / 10.0 {
            thread::sleep(std::time::Duration::from_millis(5));
        }
        let copied = save(control)?;
        let lasted = !load.is_finished();
        let sent = load.join().map_err(|_| "The load failed inside.".to_owned())?;
        let took = sent?.as_secs_f64();
        if !lasted || took > LOAD_SECONDS * 1.25 {
            return Err(format!("{FORK}: the load took {took:.1} s or ended before the save did"));
        }
        Ok(copied)
    })
}

/// Saves in a child; the bytes that were copied meanwhile.
fn save(control: &mut Control) -> Result<f64, String> {
    control.tell(&["BGSAVE"])?;
    control.wait_for("persistence", "rdb_bgsave_in_progress", "0")?;
    control.info("persistence", "rdb_last_cow_size")
}
