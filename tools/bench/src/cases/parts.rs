//! A sale in parts: the cost of a GRAB with all parts on one server or on several, and the load
//! that a balancer causes. All servers share one core and take turns, so the cases compare
//! processor time. In production N servers use N cores.

use std::num::NonZeroU16;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use seckill_domain::parts::home_of;
use seckill_harness::process::{command, Process};

use super::Bench;
use crate::contenders::{GRANTED, MODULE, REQ, USER};
use crate::control::Control;
use crate::figures::{BUSY, SERVER_US};
use crate::load::{numbered, send, spread, Request, PIPELINED, USERS};
use crate::rows::{Rows, LOADED};

/// Numbers of servers that hold the 16 parts.
const SERVERS: [usize; 4] = [1, 2, 4, 8];
const PARTS: NonZeroU16 = NonZeroU16::new(16).expect("some");
const NAME: &str = "s";
const UNITS: u64 = 900_000_000;

/// Number of parts of a balancer, all on one server or on eight.
const BALANCED: u16 = 64;
const SPREAD_OVER: [usize; 2] = [8, 1];
const WARM_UP: Duration = Duration::from_millis(500);
const LOOKS: Duration = Duration::from_secs(2);

/// The name of the GRAB case with the parts on this many servers.
fn grabs(servers: usize) -> String {
    format!("GRAB REQ of a split sale, {PARTS} parts on {servers}")
}

/// The name of the balancer case with the parts on this many servers.
fn balanced(servers: usize) -> String {
    format!("balancer of {BALANCED} parts on {servers}")
}

pub fn run(bench: &mut Bench) -> Result<(), String> {
    for round in 0..bench.plan.few_rounds {
        for servers in SERVERS {
            bench.step(&grabs(servers), round);
            grab_once(bench, servers)?;
        }
        for servers in SPREAD_OVER {
            bench.step(&balanced(servers), round);
            balance_once(bench, servers)?;
        }
    }
    Ok(())
}

/// Creates the parts: part n is at server n modulo the number of servers, as in `seckill split`.
fn set_up(bench: &Bench, servers: usize, parts: u16) -> Result<Vec<Control>, String> {
    let start = |_| bench.server(&[]);
    let mut all = (0..servers).map(start).collect::<Result<Vec<Control>, String>>()?;
    for part in 0..parts {
        let (key, share) = (key(part), UNITS / 64);
        let terms = format!("PART {part} OF {parts} SPLIT {NAME} TOTAL {UNITS}");
        all[usize::from(part) % servers].line(&format!("SECKILL.INIT {key} {share} {terms}"))?;
    }
    Ok(all)
}

fn key(part: u16) -> String {
    format!("{NAME}:{{p{part}}}")
}

fn grab_once(bench: &mut Bench, servers: usize) -> Result<(), String> {
    let mut all = set_up(bench, servers, PARTS.get())?;
    let mut homes: Vec<Vec<u64>> = vec![Vec::new(); PARTS.get().into()];
    for number in spread(bench.plan.calls, USERS) {
        homes[usize::from(home_of(numbered(USER, number).as_bytes(), PARTS))].push(number);
    }
    let before = worked(&mut all)?;
    for (part, users) in homes.into_iter().enumerate() {
        let key = key(part as u16);
        let request = Request::new(&["SECKILL.GRAB", &key, USER, "REQ", REQ], GRANTED);
        send(all[part % servers].port(), &request, users.into_iter(), PIPELINED)?;
    }
    let took = (worked(&mut all)? - before) / bench.plan.calls as f64;
    bench.figures.add(&grabs(servers), MODULE, SERVER_US, took * 1e6);
    Ok(())
}

/// Sum of processor seconds of all servers.
fn worked(all: &mut [Control]) -> Result<f64, String> {
    all.iter_mut().map(Control::worked_seconds).sum()
}

/// Average load of one server with a balancer at its default interval, minus the load without it.
/// No buyer calls here. With buyers the balancer's work is equal, except for units that it moves.
fn balance_once(bench: &mut Bench, servers: usize) -> Result<(), String> {
    let mut all = set_up(bench, servers, BALANCED)?;
    let idle = busy(&mut all)?;
    let urls: Vec<String> = all.iter().map(|server| server.url()).collect();
    let balancer = start_balancer(&urls.join(","))?;
    thread::sleep(WARM_UP);
    let with = busy(&mut all)?;
    if let Some(status) = balancer.ended() {
        return Err(format!("The balancer did not stay: {status}"));
    }
    bench.figures.add(&balanced(servers), MODULE, BUSY, (with - idle) * 100.0);
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
    for servers in SERVERS {
        let (case, setting) = (grabs(servers), format!("no AOF, {LOADED}; servers take turns"));
        let what = (&*case, "server time per call, us");
        rows.value(what, &setting, None, (&case, SERVER_US, 1.0), "");
    }
    for servers in SPREAD_OVER {
        let (case, bar) = (balanced(servers), (servers > 1).then_some(1.0));
        let what = (&*case, "% of a server's core");
        rows.value(what, "--interval 20, nobody buys", bar, (&case, BUSY, 1.0), "");
    }
}
