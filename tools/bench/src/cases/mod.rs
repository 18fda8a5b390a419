//! The cases of the bench, one file each.

pub mod crowd;
pub mod forms;
pub mod growth;
pub mod instructions;
pub mod memory;
pub mod others;
pub mod parts;
pub mod rounds;
pub mod sale;
pub mod stall;
pub mod units;
pub mod waiting;

use std::path::PathBuf;
use std::time::Instant;

use crate::control::Control;
use crate::figures::{Figures, Place, BUSY, PER_SECOND, SERVER_US};
use crate::load::{send, Manner, Request};
use crate::plan::Plan;
use crate::rows::{Row, Rows};

/// Settings that all cases use.
pub struct Bench {
    pub module: PathBuf,
    /// The file of the no-op module: its commands decide nothing.
    pub noop: PathBuf,
    /// Name and version of the server, such as `Redis 7.0.15`.
    pub server: String,
    pub plan: Plan,
    pub figures: Figures,
    pub start: Instant,
}

impl Bench {
    /// Prints the name of the running case, also without a terminal.
    pub fn step(&self, case: &str, round: usize) {
        let seconds = self.start.elapsed().as_secs();
        eprintln!("{}:{:02}  {case}, round {}", seconds / 60, seconds % 60, round + 1);
    }

    pub fn server(&self, settings: &[&str]) -> Result<Control, String> {
        Control::start(&[], Some(&self.module), settings)
    }

    pub fn server_with_noop(&self, through: &[&str], settings: &[&str]) -> Result<Control, String> {
        let noop = self.noop.to_string_lossy();
        let settings = [settings, &["--loadmodule", &noop]].concat();
        Control::start(through, Some(&self.module), &settings)
    }

    /// Sends a load, and adds the server's time for a call, the calls a second, and how busy the
    /// server was.
    pub fn measure(
        &mut self,
        (case, who): Place<'_>,
        control: &mut Control,
        request: &Request,
        numbers: impl Iterator<Item = u64>,
        manner: Manner,
    ) -> Result<(), String> {
        let before = control.worked_seconds()?;
        let mut calls = 0.0;
        let took = send(control.port(), request, numbers.inspect(|_| calls += 1.0), manner)?;
        let (worked, took) = (control.worked_seconds()? - before, took.as_secs_f64());
        self.figures.add(case, who, SERVER_US, worked / calls * 1e6);
        self.figures.add(case, who, PER_SECOND, calls / took);
        self.figures.add(case, who, BUSY, worked / took);
        Ok(())
    }
}

pub struct Case {
    pub name: &'static str,
    pub run: fn(&mut Bench) -> Result<(), String>,
}

/// All cases in the order in which they run.
pub const CASES: [Case; 15] = [
    Case { name: "recommended", run: sale::recommended },
    Case { name: "plain", run: sale::plain },
    Case { name: "io-threads", run: sale::io_threads },
    Case { name: "crowd", run: crowd::run },
    Case { name: "others", run: others::run },
    Case { name: "instructions", run: instructions::run },
    Case { name: "parts", run: parts::run },
    Case { name: "memory", run: memory::run },
    Case { name: "forms", run: forms::run },
    Case { name: "growth", run: growth::run },
    Case { name: "waiting", run: waiting::run },
    Case { name: "rounds", run: rounds::run },
    Case { name: "units", run: units::run },
    Case { name: "stall", run: |bench| stall::run(bench, &stall::COUNTED) },
    Case { name: "stall-units", run: |bench| stall::run(bench, &stall::NUMBERED) },
];

pub fn rows(figures: &Figures, plan: &Plan, server: &str) -> Vec<Row> {
    let is_redis_7 = server.starts_with("Redis 7.0");
    let mut rows = Rows { figures, plan, is_redis_7, all: Vec::new() };
    let of_cases = [
        sale::rows,
        instructions::rows,
        growth::rows,
        forms::rows,
        others::rows,
        waiting::rows,
        rounds::rows,
        units::rows,
        parts::rows,
    ];
    of_cases.iter().for_each(|of| of(&mut rows));
    rows.all
}
