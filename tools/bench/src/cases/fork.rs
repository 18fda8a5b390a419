//! Memory that is copied between fork and end of a save while the sale continues.

use std::thread;
use std::time::Duration;

use seckill_crowd::screen::thousands;

use super::Bench;
use crate::contenders::{sadd, GRANTED, MODULE, PLENTY, SADD, SALE, USER};
use crate::control::Control;
use crate::figures::BYTES;
use crate::host::{cores, OTHER_CORE};
use crate::load::{send, spread, Manner, Request, PIPELINED, USERS};
use crate::rows::{Rows, DIRECT};

const FORK: &str = "copied by a fork";

/// Changes a second while the child saves.
const PACE: f64 = 100_000.0;
/// Seconds of load: longer than a save takes.
const LOAD_SECONDS: f64 = 2.0;
const PACED: Manner = Manner { connections: 10, pipeline: 32, pace: Some(PACE) };

pub fn run(bench: &mut Bench) -> Result<(), String> {
    let [_, winners, _] = bench.plan.sizes;
    let core = OTHER_CORE.min(cores() - 1).to_string();
    let grab = || Request::new(&["SECKILL.GRAB", SALE, USER], GRANTED);
    for round in 0..bench.plan.few_rounds {
        bench.step(FORK, round);
        for (who, request) in [(SADD, sadd()), (MODULE, grab())] {
            let mut control = bench.server(&["--bgsave_cpulist", &core])?;
            control.tell(&["SECKILL.INIT", SALE, PLENTY])?;
            let mut users = spread(USERS, USERS);
            send(control.port(), &request, users.by_ref().take(winners as usize), PIPELINED)?;
            let copied = once(&mut control, &request, users)?;
            bench.figures.add(FORK, who, BYTES, copied);
        }
    }
    Ok(())
}

/// Saves in the middle of a steady load. Returns the bytes that were copied during the save.
fn once(
    control: &mut Control,
    request: &Request,
    users: impl Iterator<Item = u64> + Send,
) -> Result<f64, String> {
    let port = control.port();
    let users = users.take((PACE * LOAD_SECONDS) as usize);
    thread::scope(|scope| {
        let load = scope.spawn(move || send(port, request, users, PACED));
        let before = control.info("stats", "total_commands_processed")?;
        while control.info("stats", "total_commands_processed")? < before + PACE / 10.0 {
            thread::sleep(Duration::from_millis(5));
        }
        control.tell(&["BGSAVE"])?;
        control.wait_for("persistence", "rdb_bgsave_in_progress", "0")?;
        let lasted = !load.is_finished();
        let sent = load.join().map_err(|_| "The load failed inside.".to_owned())?;
        let took = sent?.as_secs_f64();
        if !lasted || took > LOAD_SECONDS * 1.25 {
            return Err(format!("{FORK}: the load took {took:.1} s or ended before the save did"));
        }
        control.info("persistence", "rdb_last_cow_size")
    })
}

pub fn rows(rows: &mut Rows<'_>) {
    let winners = thousands(rows.plan.sizes[1]);
    let setting = format!("{DIRECT}, {winners} winners, 100,000 grants/s meanwhile");
    rows.value((FORK, "MB; a set's"), &setting, None, (FORK, BYTES, 1e6), SADD);
}
