//! The rows of numbered units.

use seckill_crowd::screen::thousands;

use super::{beside, Bar, Rows, DIRECT};
use crate::cases::{sale, units};
use crate::contenders::{MODULE, SCRIPT};
use crate::figures::{BYTES, MIDDLE_US, US};
use crate::plan::Plan;

impl Rows<'_> {
    pub(super) fn units(&mut self, plan: &Plan) {
        for what in [units::NAMED, units::LOWEST] {
            self.times(what, sale::LOGGED, SCRIPT, Some(3.0));
        }
        let [few, _, many] = plan.sizes;
        for deed in units::DEEDS {
            let [small, large] = [few, many].map(|seats| units::of_size(deed, seats));
            let bar = Some(Bar::AtMost(3.0));
            for (percentile, unit, bar) in [("p99.9", US, bar), ("p50", MIDDLE_US, None)] {
                let found = self.figures.ratio(unit, (&large, MODULE), (&small, MODULE));
                let took = beside(self.figures.spread((&large, MODULE), unit));
                let what = format!("{deed}, {} numbers", thousands(many));
                let figure = format!(
                    "{percentile} of server time, divided by that with {}; us",
                    thousands(few)
                );
                self.add((&what, &figure), &format!("{DIRECT}, half are taken"), bar, found);
                self.last(|row| row.note = took);
            }
        }
        let found = self.figures.spread((units::MEMORY, MODULE), BYTES);
        let found = found.map(|bytes| bytes.in_parts_of(1.0 / 8.0));
        let setting = format!("{DIRECT}, {} numbers", thousands(many));
        self.add((units::MEMORY, "bits"), &setting, Some(Bar::AtMost(6.0)), found);
    }
}
