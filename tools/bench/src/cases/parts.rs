//! A sale in parts: the cost of a GRAB with all parts on one server or on several, and the load
//! that a balancer causes. All servers share one core and take turns, so the cases compare
//! processor time. In production N servers use N cores.

use std::num::NonZeroU16;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use seckill_domain::parts::home_of;
use seckill_harness::process::command;

use super::Bench;
use crate::contenders::{GRANTED, MODULE, PLENTY, REQ, USER};
use crate::control::Control;
use crate::figures::{BUSY, SERVER_US};
use crate::load::{send, spread, Request, NUMBER, PIPELINED, USERS};

/// Numbers of servers that hold the 16 parts.
pub const SERVERS: [usize; 4] = [1, 2, 4, 8];
const PARTS: NonZeroU16 = NonZeroU16::new(16).expect("some");
const NAME: &str = "s";

/// Number of parts of a balancer, all on one server or on eight.
pub const BALANCED: u16 = 64;
pub const SPREAD_OVER: [usize; 2] = [8, 1];
const WARM_UP: Duration = Duration::from_millis(500);
const LOOKS: Duration = Duration::from_secs(2);

/// The name of the GRAB case with the parts on this many servers.
pub fn grabs(servers: usize) -> String {
    format!("GRAB REQ of a split sale, {PARTS} parts on {servers}")
}

/// The name of the balancer case with the parts on this many servers.
pub fn balanced(servers: usize) -> String {
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
        let (key, share) = (key(part), (PLENTY / 64).to_string());
        let (part_text, of) = (part.to_string(), parts.to_string());
        let init = ["SECKILL.INIT", &key, &share, "PART", &part_text, "OF", &of];
        let total = PLENTY.to_string();
        let split = ["SPLIT", NAME, "TOTAL", &total];
        all[usize::from(part) % servers].tell(&[&init[..], &split].concat())?;
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
        let user = USER.replace(NUMBER, &format!("{number:012}"));
        homes[usize::from(home_of(user.as_bytes(), PARTS))].push(number);
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
    let urls: Vec<String> =
        all.iter().map(|server| format!("redis://127.0.0.1:{}/", server.port())).collect();
    let balancer = Balancer::start(&urls.join(","))?;
    thread::sleep(WARM_UP);
    let with = busy(&mut all)?;
    balancer.end()?;
    bench.figures.add(&balanced(servers), MODULE, BUSY, (with - idle) * 100.0);
    Ok(())
}

fn busy(all: &mut [Control]) -> Result<f64, String> {
    let (before, start) = (worked(all)?, Instant::now());
    thread::sleep(LOOKS);
    Ok((worked(all)? - before) / start.elapsed().as_secs_f64() / all.len() as f64)
}

/// A running `seckill split balance`; dropping it ends the process.
struct Balancer(Child);

impl Balancer {
    fn start(urls: &str) -> Result<Balancer, String> {
        let here = std::env::current_exe().map_err(|error| error.to_string())?;
        let program: PathBuf = here.with_file_name("seckill");
        let mut balance: Command = command(program.as_os_str());
        balance.args(["split", "--redis", urls, "balance", NAME]);
        let child = balance.stdin(Stdio::null()).spawn();
        let what = |error| format!("{} does not start: {error}", program.display());
        child.map(Balancer).map_err(what)
    }

    /// Ends the balancer. An error if it had already exited.
    fn end(mut self) -> Result<(), String> {
        match self.0.try_wait() {
            Ok(None) => Ok(()),
            ended => Err(format!("The balancer did not stay: {ended:?}")),
        }
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        // Both calls fail only if the process has already exited.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
