//! The rows of grants on disk.

use seckill_crowd::screen::thousands;

use super::{beside, Bar, Rows, DIRECT, PIPELINED};
use crate::cases::forms::{file, load, save, KINDS, LOG};
use crate::contenders::{MODULE, SADD};
use crate::figures::{BYTES, MS};
use crate::plan::Plan;

/// Bars for the three kinds of ids: file size, and time to save and to load. The time bars are for
/// one kind only.
const FILES: [f64; 3] = [0.55, 0.85, 0.95];
const SAVES: [Option<f64>; 3] = [Some(1.3), None, None];
const LOADS: [Option<f64>; 3] = [Some(1.0), None, None];

impl Rows<'_> {
    pub(super) fn forms(&mut self, plan: &Plan) {
        let setting = format!("AOF everysec, {PIPELINED}");
        let figure = "bytes in the AOF, divided by SADD's; SADD's";
        self.beside_set(("plain winner", figure), &setting, (LOG, BYTES), 1.0, Some(1.6));
        let [_, winners, _] = plan.sizes;
        let setting = format!("{DIRECT}, {} winners", thousands(winners));
        let bars = FILES.into_iter().zip(SAVES).zip(LOADS);
        for (ids, ((of_file, of_save), of_load)) in KINDS.iter().zip(bars) {
            let what = format!("file of {}", ids.name);
            let figure = "bytes, divided by a set's; the set's MB";
            self.beside_set((&what, figure), &setting, (&file(ids), BYTES), 1e6, Some(of_file));
            for (name, case, bar) in [("SAVE", save(ids), of_save), ("load", load(ids), of_load)] {
                let what = format!("{name} of {}", ids.name);
                let figure = "server time, divided by a set's; the set's ms";
                self.beside_set((&what, figure), &setting, (&case, MS), 1.0, bar);
            }
        }
    }

    /// A sale's figure divided by a set's, followed by the set's figure divided by `scale`.
    fn beside_set(
        &mut self,
        what: (&str, &str),
        setting: &str,
        (case, unit): (&str, &str),
        scale: f64,
        bar: Option<f64>,
    ) {
        let found = self.figures.ratio(unit, (case, MODULE), (case, SADD));
        let set = self.figures.spread((case, SADD), unit).map(|set| set.in_parts_of(scale));
        self.add(what, setting, bar.map(Bar::AtMost), found);
        self.last(|row| row.note = beside(set));
    }
}
