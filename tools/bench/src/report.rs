//! Reports of runs, and the file that keeps one for each server.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::cases;
use crate::figures::Figures;
use crate::host::Host;
use crate::plan::{Plan, FULL, QUICK};
use crate::rows::Row;

/// Load average above which the machine was not idle.
const QUIET_LOAD: f64 = 0.5;

/// All figures of one server, also for other programs to read.
#[derive(Deserialize, Serialize)]
pub struct Report {
    /// Name and version of the server, such as `Redis 7.0.15`.
    pub server: String,
    pub module: String,
    pub host: Host,
    pub is_quick: bool,
    /// Seconds of the whole run, and of each of its cases.
    pub seconds: f64,
    pub cases: Vec<Took>,
    pub figures: Figures,
}

/// The duration of a case.
#[derive(Deserialize, Serialize)]
pub struct Took {
    pub case: String,
    pub seconds: f64,
    /// Runnable processes before the case (load average of one minute).
    pub load_before: f64,
    pub cpu: String,
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
        cases::rows(&self.figures, &self.plan(), &self.server)
    }

    /// How many bars hold, with server, machine and time.
    pub fn sentence(&self) -> String {
        let holds: Vec<bool> = self.rows().iter().filter_map(|row| row.holds).collect();
        let held = holds.iter().filter(|holds| **holds).count();
        let Host { cores, kernel, .. } = &self.host;
        let (cpus, busy) = (self.cpus(), self.busy());
        format!(
            "{}: {held} of {} bars hold ({cores} cores of {cpus}, Linux {kernel}, {:.0} s{busy}).",
            self.server,
            holds.len(),
            self.seconds
        )
    }

    /// The processors, with the cases that ran on another one than most.
    fn cpus(&self) -> String {
        let of = |(cpu, cases): (&str, Option<String>)| match cases {
            None => cpu.to_owned(),
            Some(cases) => format!("{cases}: {cpu}"),
        };
        let all = self.cases_by(|took| took.cpu.as_str()).into_iter().map(of);
        all.collect::<Vec<_>>().join("; ")
    }

    /// Load average before the runs of these cases, if the machine was not idle.
    fn busy(&self) -> String {
        let runs = self.cases_by(|took| took.load_before).into_iter();
        let loud = runs.filter(|(load, _)| *load > QUIET_LOAD);
        let of = |(load, cases): (f64, Option<String>)| {
            let of = cases.map_or(String::new(), |cases| format!(" {cases}"));
            format!("; load of the machine before{of}: {load}")
        };
        loud.map(of).collect()
    }

    /// Groups the cases by a key. The largest group has `None` instead of names.
    fn cases_by<'r, K: PartialEq>(
        &'r self,
        key: impl Fn(&'r Took) -> K,
    ) -> Vec<(K, Option<String>)> {
        let mut groups: Vec<(K, Vec<&str>)> = Vec::new();
        for took in &self.cases {
            let of = key(took);
            match groups.iter_mut().find(|(known, _)| *known == of) {
                Some((_, cases)) => cases.push(&took.case),
                None => groups.push((of, vec![&took.case])),
            }
        }
        groups.sort_by_key(|(_, cases)| std::cmp::Reverse(cases.len()));
        let named = |(place, (of, cases)): (usize, (K, Vec<&str>))| {
            (of, (place > 0).then(|| cases.join(", ")))
        };
        groups.into_iter().enumerate().map(named).collect()
    }
}

/// The runs, one for each server, ordered by name.
#[derive(Default, Deserialize)]
pub struct Runs {
    pub runs: Vec<Report>,
}

impl Runs {
    /// Reads the runs; empty if the file is missing.
    pub fn read(file: &Path) -> Result<Runs, String> {
        match fs::read_to_string(file) {
            Ok(text) => serde_json::from_str(&text)
                .map_err(|e| format!("{} is not of now: {e}", file.display())),
            Err(_) => Ok(Runs::default()),
        }
    }

    pub fn newest_redis(&self) -> Option<&Report> {
        self.runs.iter().rfind(|run| run.server.starts_with("Redis "))
    }

    /// Replaces the last run of that server. Cases that did not run this time are kept.
    pub fn put(&mut self, mut report: Report) {
        let old = self.runs.iter().position(|run| run.server == report.server);
        if let Some(old) = old.map(|place| self.runs.remove(place)) {
            report.figures.keep_others_of(old.figures);
            let ran = |took: &Took| report.cases.iter().any(|new| new.case == took.case);
            let kept: Vec<Took> = old.cases.into_iter().filter(|took| !ran(took)).collect();
            report.cases.extend(kept);
            report.seconds = report.cases.iter().map(|took| took.seconds).sum();
        }
        self.runs.push(report);
        self.runs.sort_by(|a, b| a.server.cmp(&b.server));
    }

    /// Writes the runs, one series a line.
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
