//! The rows of the waiting list.

use seckill_crowd::screen::thousands;

use super::{beside, Bar, Rows, DIRECT};
use crate::cases::{instructions, waiting};
use crate::contenders::MODULE;
use crate::figures::{Spread, BYTES, INSTRUCTIONS, MIDDLE_US, MS, US};
use crate::plan::Plan;

impl Rows<'_> {
    pub(super) fn waiting(&mut self, plan: &Plan) {
        let [_, many, _] = plan.sizes;
        let found = self.figures.spread((waiting::MEMORY, MODULE), BYTES);
        let setting = format!("{DIRECT}, {} waiting", thousands(many));
        let what = (waiting::MEMORY, "bytes beside its ids'");
        self.add(what, &setting, Some(Bar::AtMost(60.0)), found);
        for deed in waiting::DEEDS {
            let [short, all] = [waiting::FEW, many].map(|waiting| waiting::case(deed, waiting));
            let what = format!("{deed}, {} waiting", thousands(many));
            let bar = Some(Bar::AtMost(2.0));
            for (percentile, unit, bar) in [("p99.9", US, bar), ("p50", MIDDLE_US, None)] {
                let found = self.figures.ratio(unit, (&all, MODULE), (&short, MODULE));
                let few = thousands(waiting::FEW);
                let figure = format!("{percentile} in the server, to {few}'s; us; control");
                let took = beside(self.figures.spread((&all, MODULE), unit));
                let control = self.figures.ratio(unit, (&short, waiting::TWIN), (&short, MODULE));
                self.add((&what, &figure), DIRECT, bar, found);
                self.last(|row| row.note = format!("{took}{}", beside(control)));
            }
        }
        let place = |who| (waiting::RETURN, who);
        let found = self.figures.difference(MS, place(MODULE), place(waiting::IDLE));
        let what =
            ("100,000 wait, 10,000 units come back", "ms of a PING's p99.9 above idle; idle");
        self.add(what, "no AOF, no replica, a PING a ms", Some(Bar::AtMost(10.0)), found);
        let idle = self.figures.spread(place(waiting::IDLE), MS);
        self.last(|row| row.note = beside(idle));
        let found = self.with_empty_list();
        let what = (instructions::LISTED, "instructions more than in a sale without one");
        self.add(what, "AOF everysec, P32, c1, nobody waits", None, found);
    }

    /// What a list on which nobody waits costs a GRAB.
    fn with_empty_list(&self) -> Option<Spread> {
        let case = instructions::CASE;
        let (listed, plain) = (instructions::LISTED, instructions::RECOMMENDED[0]);
        self.figures.difference(INSTRUCTIONS, (case, listed), (case, plain))
    }
}
