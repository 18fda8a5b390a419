//! A run, and the file that keeps one of each server.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::figures::Figures;
use crate::host::Host;
use crate::plan::{Plan, FULL, QUICK};
use crate::rows::{self, Row};

/// Above this, something else runs on the machine.
const QUIET_LOAD: f64 = 0.5;

/// All there is of one server, for whoever wants to compute something else.
#[derive(Deserialize, Serialize)]
pub struct Report {
    /// The server, `Redis 7.0.15`.
    pub server: String,
    pub module: String,
    pub host: Host,
    pub is_quick: bool,
    /// Seconds of the whole run, and of each of its cases.
    pub seconds: f64,
    pub cases: Vec<Took>,
    pub figures: Figures,
}

/// How long a case took.
#[derive(Deserialize, Serialize)]
pub struct Took {
    pub case: String,
    pub seconds: f64,
    /// Runnable processes before it, the average of one minute.
    #[serde(default)]
    pub load_before: f64,
}

impl Report {
    pub fn plan(&self) -> Plan {
        if self.is_quick {
            QUICK
        } else {
            FULL
        }
    }

    pub fn rows(&self) -> Vec<Row> {
        rows::all(&self.figures, &self.plan(), &self.server)
    }

    /// How many bars hold, where and when.
    pub fn sentence(&self) -> String {
        let holds: Vec<bool> = self.rows().iter().filter_map(|row| row.holds).collect();
        let held = holds.iter().filter(|holds| **holds).count();
        let Host { cores, cpu, kernel, .. } = &self.host;
        let busy = self.busy();
        format!(
            "{}: {held} of {} bars hold ({cores} cores of {cpu}, Linux {kernel}, {:.0} s{busy}).",
            self.server,
            holds.len(),
            self.seconds
        )
    }

    /// Other work on the machine: the load before the runs that these cases are of, where it was
    /// not quiet. Most cases are of one run, and need no names.
    fn busy(&self) -> String {
        let mut runs: Vec<(f64, Vec<&str>)> = Vec::new();
        for Took { case, load_before, .. } in &self.cases {
            match runs.iter_mut().find(|(load, _)| load == load_before) {
                Some((_, cases)) => cases.push(case),
                None => runs.push((*load_before, vec![case])),
            }
        }
        runs.sort_by_key(|(_, cases)| std::cmp::Reverse(cases.len()));
        let mut text = String::new();
        for (place, (load, cases)) in runs.iter().enumerate() {
            if *load > QUIET_LOAD {
                let of = if place == 0 { String::new() } else { format!(" {}", cases.join(", ")) };
                text += &format!("; load of the machine before{of}: {load}");
            }
        }
        text
    }
}

/// Runs, one of each server, in the order of their names.
#[derive(Default, Deserialize)]
pub struct Runs {
    pub runs: Vec<Report>,
}

impl Runs {
    /// Reads the runs; none where there is no file.
    ///
    /// # Errors
    /// A sentence when the file is of another version of this program.
    pub fn read(file: &Path) -> Result<Runs, String> {
        match fs::read_to_string(file) {
            Ok(text) => serde_json::from_str(&text)
                .map_err(|e| format!("{} is not of now: {e}", file.display())),
            Err(_) => Ok(Runs::default()),
        }
    }

    /// Puts a run in the place of that server's last one, which keeps the cases that did not run
    /// this time.
    pub fn put(&mut self, mut report: Report) {
        let old = self.runs.iter().position(|run| run.server == report.server);
        if let Some(old) = old.map(|place| self.runs.remove(place)) {
            report.figures.keep_others_of(old.figures);
            let ran = |took: &Took| report.cases.iter().any(|new| new.case == took.case);
            let mut kept: Vec<Took> = old.cases.into_iter().filter(|took| !ran(took)).collect();
            // Once only the load before all cases was kept.
            for took in kept.iter_mut().filter(|took| took.load_before == 0.0) {
                took.load_before = old.host.load_before;
            }
            report.cases.extend(kept);
            report.seconds = report.cases.iter().map(|took| took.seconds).sum();
        }
        self.runs.push(report);
        self.runs.sort_by(|a, b| a.server.cmp(&b.server));
    }

    /// Writes them, a series a line.
    ///
    /// # Errors
    /// A sentence.
    pub fn write(&self, file: &Path) -> Result<(), String> {
        let mut text = String::new();
        for run in &self.runs {
            text += if text.is_empty() { "{\"runs\":[\n" } else { ",\n" };
            let json = serde_json::to_string(run).map_err(|e| e.to_string())?;
            text += &json.replace("{\"case\":", "\n{\"case\":");
        }
        text += "\n]}\n";
        fs::write(file, text).map_err(|e| format!("No figures written: {e}"))
    }
}
