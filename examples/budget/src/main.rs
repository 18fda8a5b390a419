//! One budget and many workers, as in a gateway for paid calls. A worker does not know the cost of
//! a call in advance: it reserves the highest cost, and afterwards keeps the real one. Workers are
//! processes, and some are killed all the time. In the end every entry and every grant is checked:
//! the budget was never exceeded, each confirmed call has kept its units, and nothing is still
//! reserved.
//! ```text
//! make demo-budget
//! cargo run --release -p budget -- --workers 100 --budget 5000000
//! ```

mod chart;
mod check;
mod worker;

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc::{channel, Sender};
use std::thread;
use std::time::{Duration, Instant};

use clap::builder::RangedI64ValueParser;
use clap::{Args, Parser, Subcommand};
use redis::Connection;
use seckill_harness::program::{exit, module_file, Server};

/// Runs workers that share a budget, kills some of them, and checks every unit.
#[derive(Parser)]
struct Options {
    #[command(flatten)]
    play: Play,
    #[command(subcommand)]
    part: Option<Part>,
}

#[derive(Args)]
struct Play {
    /// Workers that run at the same time
    #[arg(long, default_value_t = 500, value_parser = from_to(1, 5_000))]
    workers: u32,
    /// Units in the budget, which all calls share
    #[arg(long, default_value_t = 6_000_000, value_parser = from_to(1_000, 1 << 31))]
    budget: u32,
    /// Time until an unused reservation expires, in ms
    #[arg(long, default_value_t = 1_500, value_parser = from_to(300, 60_000))]
    hold_ms: u32,
    /// Interval between two kills of worker processes, in ms
    #[arg(long, default_value_t = 100, value_parser = from_to(10, 60_000))]
    kill_ms: u32,
    /// File for the picture
    #[arg(long, value_name = "FILE", default_value = "target/budget.svg")]
    svg: PathBuf,
}

#[derive(Subcommand)]
enum Part {
    /// A process of workers; the demo starts it
    #[command(hide = true)]
    Work(worker::Team),
}

fn from_to(least: i64, most: i64) -> RangedI64ValueParser<u32> {
    RangedI64ValueParser::new().range(least..=most)
}

/// The highest cost of a call, in units.
pub const MOST: u64 = 1_000;
/// The key of the budget, and the key of its outbox.
pub const KEY: &str = "budget";
pub const STREAM: &str = "budget:entries";

/// Workers of one process; they are killed together.
const TOGETHER: u32 = 20;
const SAMPLED_EVERY: Duration = Duration::from_millis(40);
const PATIENCE: Duration = Duration::from_secs(120);

type Told<T> = Result<T, String>;

/// The units at one time.
#[derive(Clone, Copy)]
pub struct Sample {
    pub at: Duration,
    pub reserved: u64,
    pub used: u64,
}

/// A confirmed call, with the number of kept units.
pub struct Kept {
    pub req: String,
    pub units: u64,
}

fn main() -> ExitCode {
    let options = Options::parse();
    exit(match &options.part {
        Some(Part::Work(team)) => worker::work(team),
        None => play(&options.play),
    })
}

fn play(options: &Play) -> Told<()> {
    seckill_harness::limits::allow_connections(options.workers as usize)?;
    let server = Server::start(&module_file(None)?, &["--save", ""])?;
    let mut conn = server.connect()?;
    let mut init = redis::cmd("SECKILL.INIT");
    init.arg(KEY).arg(options.budget).arg("LIMIT").arg(0).arg("HOLD").arg(options.hold_ms);
    init.arg("OUTBOX").arg(STREAM).query::<()>(&mut conn).map_err(told)?;
    let (tell, heard) = channel();
    let mut teams = Teams::start(options, server.url(), tell)?;
    let watched = watch(options, &mut conn, &mut teams);
    teams.end();
    let (samples, killed) = watched?;
    let kept: Vec<Kept> = heard.iter().collect();
    let found = check::all(&mut conn, u64::from(options.budget), &kept)?;
    println!("{} workers, {} processes of them killed: {found}", options.workers, killed.len());
    chart::write(&options.svg, options, &samples, &killed)?;
    println!("{} shows what was reserved and used", options.svg.display());
    Ok(())
}

/// Reads until the budget can't pay for another call and nothing is reserved. Kills processes
/// meanwhile.
fn watch(
    options: &Play,
    conn: &mut Connection,
    teams: &mut Teams,
) -> Told<(Vec<Sample>, Vec<Duration>)> {
    let began = Instant::now();
    let (mut samples, mut killed) = (Vec::new(), Vec::new());
    let mut next_kill = Duration::from_millis(options.kill_ms.into());
    loop {
        let [available, reserved, used] = numbers(conn)?;
        let at = began.elapsed();
        samples.push(Sample { at, reserved, used });
        if available + reserved + used != u64::from(options.budget) {
            return Err(format!("{available} + {reserved} + {used} is not the budget"));
        }
        if available < MOST && reserved == 0 {
            return Ok((samples, killed));
        }
        if at > PATIENCE {
            return Err(format!("{available} are left after {PATIENCE:?}"));
        }
        // The last processes are not killed, so that they use all units that killed processes had
        // reserved.
        if at >= next_kill && available >= MOST {
            teams.kill_one()?;
            killed.push(at);
            next_kill = at + Duration::from_millis(options.kill_ms.into());
        }
        thread::sleep(SAMPLED_EVERY);
    }
}

fn numbers(conn: &mut Connection) -> Told<[u64; 3]> {
    let status: String =
        redis::cmd("SECKILL.STATUS").arg(KEY).arg("JSON").query(conn).map_err(told)?;
    let status: serde_json::Value = serde_json::from_str(&status).map_err(|e| e.to_string())?;
    Ok(["available", "held", "sold"].map(|name| status[name].as_u64().unwrap_or(u64::MAX)))
}

/// The running processes.
struct Teams {
    url: String,
    running: Vec<(Child, u32)>,
    /// Number of started processes, used in the names of calls.
    started: u32,
    /// Dropped at the end, so that the receiver sees the end of the channel.
    tell: Option<Sender<Kept>>,
    /// Random number that chooses the killed process.
    drawn: u64,
}

impl Teams {
    fn start(options: &Play, url: String, tell: Sender<Kept>) -> Told<Teams> {
        let (running, tell) = (Vec::new(), Some(tell));
        let mut teams = Teams { url, running, started: 0, tell, drawn: 1 };
        for first in (0..options.workers).step_by(TOGETHER as usize) {
            teams.start_one(TOGETHER.min(options.workers - first))?;
        }
        Ok(teams)
    }

    fn start_one(&mut self, workers: u32) -> Told<()> {
        self.started += 1;
        let program = std::env::current_exe().map_err(|e| e.to_string())?;
        let mut command = Command::new(program);
        command.args(["work", &self.url, &self.started.to_string(), &workers.to_string()]);
        command.stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|e| format!("No workers can be started: {e}"))?;
        if let (Some(says), Some(tell)) = (child.stdout.take(), self.tell.clone()) {
            thread::spawn(move || {
                for line in BufReader::new(says).lines().map_while(Result::ok) {
                    let Some((req, units)) = line.split_once(' ') else { continue };
                    let Ok(units) = units.parse() else { continue };
                    let _ = tell.send(Kept { req: req.to_owned(), units });
                }
            });
        }
        self.running.push((child, workers));
        Ok(())
    }

    /// Kills one process at any point of its work, and starts another one.
    fn kill_one(&mut self) -> Told<()> {
        self.drawn = self.drawn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let place = (self.drawn >> 33) as usize % self.running.len();
        let (child, workers) = self.running.swap_remove(place);
        end(child);
        self.start_one(workers)
    }

    fn end(&mut self) {
        self.running.drain(..).for_each(|(child, _)| end(child));
        self.tell = None;
    }
}

impl Drop for Teams {
    fn drop(&mut self) {
        self.end();
    }
}

fn end(mut child: Child) {
    // Fails only if the process has already exited.
    let _ = child.kill();
    let _ = child.wait();
}

pub fn told(error: redis::RedisError) -> String {
    format!("The server says: {error}")
}
