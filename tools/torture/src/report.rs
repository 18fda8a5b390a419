//! The table at the end.

use std::collections::{BTreeMap, BTreeSet};

use comfy_table::{presets, CellAlignment, Table};

use crate::check::Verdict;
use crate::faults::Fault;
use crate::setting::Setting;
use crate::sometimes::{names, Met};

#[derive(Debug, Default)]
pub struct Tally {
    pub episodes: u64,
    pub faults: BTreeMap<Fault, u64>,
    pub calls: u64,
    pub by_module: u64,
    pub answers: u64,
    /// Of all sales together.
    pub verdict: Verdict,
    /// The longest time before a power cut from which changes were lost, in ms.
    pub tail_ms: u64,
    pub met: Met,
    /// The faults of the last episode, in order.
    pub last_faults: Vec<&'static str>,
}

/// Rare situations that no setting has reached.
pub fn unmet(tallies: &[(Setting, Tally)]) -> Vec<&'static str> {
    let is_met = |name: &str| tallies.iter().any(|(_, tally)| tally.met.times(name) > 0);
    names().filter(|name| name.starts_with("sometimes") && !is_met(name)).collect()
}

type Number = fn(&Tally) -> u64;

pub fn table(tallies: &[(Setting, Tally)]) -> Table {
    let mut table = Table::new();
    let header = tallies.iter().map(|(setting, _)| setting.name().to_owned());
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(std::iter::once("what".to_owned()).chain(header));
    let faults: BTreeSet<Fault> =
        tallies.iter().flat_map(|(_, tally)| tally.faults.keys().copied()).collect();
    let mut add = |name: &str, number: &dyn Fn(&Tally) -> Option<u64>| {
        let numbers = tallies.iter().map(|(_, tally)| number(tally));
        let cells = numbers.map(|number| number.map_or("-".to_owned(), |it| it.to_string()));
        table.add_row(std::iter::once(name.to_owned()).chain(cells));
    };
    for fault in faults {
        add(fault.name(), &|tally| tally.faults.get(&fault).copied());
    }
    let numbers: [(&str, Number); 11] = [
        ("episodes, each with servers and sales of its own", |tally| tally.episodes),
        ("calls", |tally| tally.calls),
        ("of them made by another module in the server", |tally| tally.by_module),
        ("of them answered", |tally| tally.answers),
        ("acknowledged grants", |tally| tally.verdict.granted),
        ("of them lost", |tally| tally.verdict.granted_lost),
        ("other acknowledged states of orders", |tally| tally.verdict.changed),
        ("of them lost", |tally| tally.verdict.changed_lost),
        ("longest time lost by a power failure, ms", |tally| tally.tail_ms),
        ("doubled", |tally| tally.verdict.doubled),
        ("violations", |tally| tally.verdict.violations.len() as u64),
    ];
    for (name, number) in numbers {
        add(name, &|tally| Some(number(tally)));
    }
    for name in names() {
        add(name, &|tally| Some(tally.met.times(name)));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}
