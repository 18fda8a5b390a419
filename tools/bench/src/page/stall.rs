//! The table of the longest waits beside each command at its largest work.

use comfy_table::Table;

use crate::cases::stall::{above_idle, names, BAR_MS};
use crate::page::{new_table, ABSENT};
use crate::report::Report;
use crate::rows::short;

/// `None` if no run measured them.
pub fn table(runs: &[&Report]) -> Option<Table> {
    let plan = runs.first()?.plan();
    let mut table = new_table(vec!["wait of a PING: p99.9; longest, ms above idle"], runs);
    let mut is_measured = false;
    for name in names(&plan) {
        let cell = |run: &&Report| match above_idle(&run.figures, &name) {
            None => ABSENT.to_owned(),
            Some([p999, longest]) => {
                let mark = if longest.median > BAR_MS { "**" } else { "" };
                let (most, longest) = (short(longest.most), short(longest.median));
                format!("{}; {mark}{longest}{mark} (to {most})", short(p999.median))
            }
        };
        let cells: Vec<String> = runs.iter().map(cell).collect();
        is_measured |= cells.iter().any(|cell| cell != ABSENT);
        table.add_row([name].into_iter().chain(cells));
    }
    is_measured.then_some(table)
}
