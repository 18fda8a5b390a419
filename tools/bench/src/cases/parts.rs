//! A sale in parts: the load that a balancer causes. All servers share one core. In production N
//! servers use N cores.

use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use seckill_harness::process::{command, Process};

use super::Bench;
use crate::contenders::MODULE;
use crate::control::Control;
use crate::figures::BUSY;
use crate::rows::Rows;

const CASE: &str = "balancer of 64 parts on 8";
const NAME: &str = "s";
const UNITS: u64 = 900_000_000;

const PARTS: u16 = 64;
const SERVERS: usize = 8;
const WARM_UP: Duration = Duration::from_millis(500);
const LOOKS: Duration = Duration::from_secs(2);

pub fn run(bench: &mut Bench) -> Result<(), String> {
    for round in 0..bench.plan.few_rounds {
        bench.step(CASE, round);
        balance_once(bench)?;
    }
    Ok(())
}

/// Creates the parts: part n is at server n modulo the number of servers, as in `seckill split`.
fn set_up(bench: &Bench) -> Result<Vec<Control>, String> {
    let start = |_| bench.server(&[]);
    let mut all = (0..SERVERS).map(start).collect::<Result<Vec<Control>, String>>()?;
    for part in 0..PARTS {
        let (key, share) = (format!("{NAME}:{{p{part}}}"), UNITS / u64::from(PARTS));
        let terms = format!("PART {part} OF {PARTS} SPLIT {NAME} TOTAL {UNITS}");
        all[usize::from(part) % SERVERS].line(&format!("SECKILL.INIT {key} {share} {terms}"))?;
    }
    Ok(all)
}

fn worked(all: &mut [Control]) -> Result<f64, String> {
    all.iter_mut().map(Control::worked_seconds).sum()
}

/// Average load of one server with a balancer at its default interval, minus the load without it.
/// No buyer calls here. With buyers the balancer's work is equal, except for units that it moves.
fn balance_once(bench: &mut Bench) -> Result<(), String> {
    let mut all = set_up(bench)?;
    let idle = busy(&mut all)?;
    let urls: Vec<String> = all.iter().map(|server| server.url()).collect();
    let balancer = start_balancer(&urls.join(","))?;
    thread::sleep(WARM_UP);
    let with = busy(&mut all)?;
    if let Some(status) = balancer.ended() {
        return Err(format!("The balancer did not stay: {status}"));
    }
    bench.figures.add(CASE, MODULE, BUSY, (with - idle) * 100.0);
    Ok(())
}

fn busy(all: &mut [Control]) -> Result<f64, String> {
    let (before, start) = (worked(all)?, Instant::now());
    thread::sleep(LOOKS);
    Ok((worked(all)? - before) / start.elapsed().as_secs_f64() / all.len() as f64)
}

/// Starts `seckill split balance`, which ends when it is dropped.
fn start_balancer(urls: &str) -> Result<Process, String> {
    let here = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut balance = command(here.with_file_name("seckill").as_os_str());
    balance.args(["split", "--redis", urls, "balance", NAME]).stdin(Stdio::null());
    let process = Process::in_folder(&std::env::temp_dir(), "bench-")?;
    process.spawn(&mut balance)?;
    Ok(process)
}

/// The bar is for a server with one eighth of the parts.
pub fn rows(rows: &mut Rows<'_>) {
    let what = (CASE, "% of a server's core");
    rows.value(what, "--interval 20, nobody buys", 1.0, (CASE, BUSY, 1.0), "");
}
