//! The table at the end.

use std::collections::{BTreeMap, HashSet};

use comfy_table::{presets, CellAlignment, Table};

use crate::check::Verdict;
use crate::faults::Fault;
use crate::history::{Deed, Evidence, Kind, Op};
use crate::setting::Setting;
use crate::sometimes::Met;

/// Counts of one setting.
#[derive(Debug, Default)]
pub struct Tally {
    pub episodes: u64,
    pub faults: BTreeMap<Fault, u64>,
    pub calls: u64,
    pub by_module: u64,
    pub answers: u64,
    pub granted: u64,
    pub changed: u64,
    pub granted_lost: u64,
    pub changed_lost: u64,
    pub doubled: u64,
    /// The longest time before a power cut from which changes were lost, in ms.
    pub tail_ms: u64,
    pub violations: Vec<String>,
    /// Counts of outbox entries other than plain grants.
    pub told: Told,
    /// Situations that a long run must meet.
    pub met: Met,
    /// The faults of the last episode, in order.
    pub last_faults: Vec<&'static str>,
}

/// Counts of some kinds of entries.
#[derive(Debug, Default)]
pub struct Told {
    /// Grants by MGRAB; each MGRAB makes two or three.
    pub joint: u64,
    /// Amounts of red packets.
    pub drawn: u64,
    pub imported: u64,
    /// Imports that caused a deficit.
    pub beyond: u64,
    pub altered: u64,
    pub rounds: u64,
    /// Users who joined a waiting list, and their offers.
    pub waited: u64,
    pub offered: u64,
}

impl Told {
    fn note(&mut self, sale: &Evidence) {
        let is_joint = |op: &&Op| op.deed == Deed::Mgrab;
        let joint: HashSet<_> =
            sale.ops.iter().filter(is_joint).map(|op| (&op.user, &op.req)).collect();
        let is_drawn = matches!(sale.terms.kind, Kind::Drawn(_));
        let mut supply = 0;
        for entry in &sale.entries {
            let order = entry.grant.as_ref().map(|row| (&row.user, &row.req));
            match entry.event.as_str() {
                "GRANT" => {
                    self.joint += u64::from(order.is_some_and(|order| joint.contains(&order)));
                    self.drawn += u64::from(is_drawn);
                }
                "IMPORT" => {
                    self.imported += 1;
                    self.beyond += u64::from(entry.stock.supply > supply);
                }
                "ALTER" => self.altered += 1,
                "ROUND" => self.rounds += 1,
                "WAIT" => self.waited += 1,
                "OFFER" => self.offered += 1,
                _ => {}
            }
            supply = entry.stock.supply;
        }
    }
}

impl Tally {
    /// Counts the events of a sale.
    pub fn note(&mut self, sale: &Evidence) {
        self.told.note(sale);
        self.met.note(sale);
    }

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

/// Situations that no setting has reached.
pub fn unmet(tallies: &[(Setting, Tally)]) -> Vec<&'static str> {
    let is_unmet = |name: &&str| tallies.iter().all(|(_, tally)| tally.met.0.get(name) == Some(&0));
    Met::default().0.into_keys().filter(is_unmet).collect()
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
    let numbers: [(&str, Number); 19] = [
        ("episodes, each with servers and sales of its own", |tally| tally.episodes),
        ("calls", |tally| tally.calls),
        ("of them made by another module in the server", |tally| tally.by_module),
        ("of them answered", |tally| tally.answers),
        ("acknowledged grants", |tally| tally.granted),
        ("of them lost", |tally| tally.granted_lost),
        ("other acknowledged states of orders", |tally| tally.changed),
        ("of them lost", |tally| tally.changed_lost),
        ("longest time lost by a power failure, ms", |tally| tally.tail_ms),
        ("grants by MGRAB, all or none", |tally| tally.told.joint),
        ("amounts drawn", |tally| tally.told.drawn),
        ("rounds begun", |tally| tally.told.rounds),
        ("entries on a waiting list", |tally| tally.told.waited),
        ("offers to them", |tally| tally.told.offered),
        ("IMPORTs", |tally| tally.told.imported),
        ("of them beyond the supply", |tally| tally.told.beyond),
        ("ALTERs", |tally| tally.told.altered),
        ("doubled", |tally| tally.doubled),
        ("violations", |tally| tally.violations.len() as u64),
    ];
    for (name, number) in numbers {
        add(&mut table, name, tallies, |tally| Some(number(tally)));
    }
    for name in Met::default().0.into_keys() {
        add(&mut table, name, tallies, |tally| tally.met.0.get(name).copied());
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
