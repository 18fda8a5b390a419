//! The picture: units of each part over time, without a balancer and with one.

use std::path::Path;

use seckill_chart::units::{self, Run};

use super::{Outcome, Setting};

/// Writes the picture of two runs of one setting.
///
/// # Errors
/// A message that says what failed.
pub fn write(file: &Path, setting: &Setting, runs: [(&str, &Outcome); 2]) -> Result<(), String> {
    let title = format!("Units by part: {} parts, {} units", setting.parts, setting.units);
    let below = format!(
        "Simulated, {:.0} calls a second; the most asked part is asked {:.1} times as much as the \
         least",
        setting.calls,
        (1.0 + setting.skew) / (1.0 - setting.skew)
    );
    let runs = runs.map(|(name, run)| Run { name, samples: &run.samples, seconds: run.seconds });
    units::write(file, &title, &below, &runs)
}
