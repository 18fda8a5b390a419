//! The table at the end.

use std::collections::BTreeMap;

use comfy_table::{presets, CellAlignment, Table};

use crate::check::Verdict;
use crate::episode::Setting;
use crate::faults::Fault;

/// What happened under one setting.
#[derive(Debug, Default)]
pub struct Tally {
    pub episodes: u64,
    pub faults: BTreeMap<Fault, u64>,
    pub calls: u64,
    pub answers: u64,
    pub granted: u64,
    pub changed: u64,
    pub granted_lost: u64,
    pub changed_lost: u64,
    pub doubled: u64,
    pub violations: Vec<String>,
    /// The faults of the last episode, in order.
    pub last_faults: Vec<&'static str>,
}

impl Tally {
    /// Adds one sale's verdict.
    pub fn add(&mut self, sale: &str, verdict: Verdict) {
        self.granted += verdict.granted;
        self.changed += verdict.changed;
        self.granted_lost += verdict.granted_lost;
        self.changed_lost += verdict.changed_lost;
        self.doubled += verdict.doubled;
        let told = verdict.violations.into_iter().map(|what| format!("{sale}: {what}"));
        self.violations.extend(told);
    }
}

type Number = fn(&Tally) -> u64;

/// All settings side by side.
pub fn table(tallies: &[(Setting, Tally)]) -> Table {
    let mut table = Table::new();
    let header = tallies.iter().map(|(setting, _)| setting.name().to_owned());
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(std::iter::once("what".to_owned()).chain(header));
    let faults: std::collections::BTreeSet<Fault> =
        tallies.iter().flat_map(|(_, tally)| tally.faults.keys().copied()).collect();
    for fault in faults {
        let times = |tally: &Tally| tally.faults.get(&fault).copied();
        add(&mut table, fault.name(), tallies, times);
    }
    let numbers: [(&str, Number); 9] = [
        ("episodes, each with servers and sales of its own", |tally| tally.episodes),
        ("calls", |tally| tally.calls),
        ("of them answered", |tally| tally.answers),
        ("acknowledged grants", |tally| tally.granted),
        ("of them lost", |tally| tally.granted_lost),
        ("other acknowledged states of orders", |tally| tally.changed),
        ("of them lost", |tally| tally.changed_lost),
        ("doubled", |tally| tally.doubled),
        ("violations", |tally| tally.violations.len() as u64),
    ];
    for (name, number) in numbers {
        add(&mut table, name, tallies, |tally| Some(number(tally)));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn add(
    table: &mut Table,
    name: &str,
    tallies: &[(Setting, Tally)],
    number: impl Fn(&Tally) -> Option<u64>,
) {
    let cell = |(_, tally): &(Setting, Tally)| number(tally).map_or("-".into(), |n| n.to_string());
    table.add_row(std::iter::once(name.to_owned()).chain(tallies.iter().map(cell)));
}
