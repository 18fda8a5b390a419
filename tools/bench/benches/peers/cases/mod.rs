//! What is measured, a case a file.

pub mod fork;
pub mod growth;
pub mod instructions;
pub mod rdb;
pub mod refusals;
pub mod unpipelined;
pub mod wins;

use indicatif::ProgressBar;

use crate::contenders::Modules;
use crate::figures::Figures;
use crate::plan::Plan;

/// What every case works with.
pub struct Bench {
    pub modules: Modules,
    pub plan: Plan,
    pub figures: Figures,
    pub progress: ProgressBar,
}

impl Bench {
    /// Tells who watches what is running now.
    pub fn step(&self, case: &str, who: &str) {
        self.progress.set_message(format!("{case}: {who}"));
        self.progress.inc(1);
    }
}

/// One case by its name.
pub struct Case {
    pub name: &'static str,
    pub run: fn(&mut Bench) -> Result<(), String>,
}

/// All cases, in the order they run.
pub const CASES: [Case; 12] = [
    Case { name: "wins", run: wins::plain },
    Case { name: "aof", run: wins::aof },
    Case { name: "replica", run: wins::replica },
    Case { name: "terms", run: wins::terms },
    Case { name: "confirm", run: wins::confirm },
    Case { name: "refusals", run: refusals::run },
    Case { name: "unpipelined", run: unpipelined::fifty },
    Case { name: "crowd", run: unpipelined::thousand },
    Case { name: "growth", run: growth::run },
    Case { name: "rdb", run: rdb::run },
    Case { name: "fork", run: fork::run },
    Case { name: "instructions", run: instructions::run },
];
