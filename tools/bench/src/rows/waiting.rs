//! The rows of the waiting list.

use seckill_crowd::screen::thousands;

use super::{beside, Bar, Rows, DIRECT};
use crate::cases::{growth, instructions, waiting};
use crate::contenders::MODULE;
use crate::figures::{
    Spread, BYTES, HUNDREDTH_NS, INSTRUCTIONS, MIDDLE_NS, MIDDLE_US, MS, NS, ROUND_TRIP_US, US,
};
use crate::plan::Plan;

impl Rows<'_> {
    pub(super) fn waiting(&mut self, plan: &Plan) {
        let [_, many, _] = plan.sizes;
        let found = self.figures.spread((waiting::MEMORY, MODULE), BYTES);
        let setting = format!("{DIRECT}, {} waiting", thousands(many));
        let what = (waiting::MEMORY, "bytes, without its ids");
        self.add(what, &setting, Some(Bar::AtMost(60.0)), found);
        let bar = Some(Bar::AtMost(2.0));
        for deed in waiting::DEEDS {
            for (percentile, unit, bar) in [("p99.9", US, bar), ("p50", MIDDLE_US, None)] {
                let figure = format!("{percentile} of server time");
                self.of_length((deed, &figure), DIRECT, (unit, "us"), bar, many);
            }
        }
        self.place(plan, bar);
        let place = |who| (waiting::RETURN, who);
        let found = self.figures.difference(MS, place(MODULE), place(waiting::IDLE));
        let what = ("100,000 wait, 10,000 units come back", "p99.9 of a PING, ms above idle; idle");
        self.add(what, "no AOF, no replica, a PING a ms", Some(Bar::AtMost(10.0)), found);
        let idle = self.figures.spread(place(waiting::IDLE), MS);
        self.last(|row| row.note = beside(idle));
        let found = self.with_empty_list();
        let what = (instructions::LISTED, "instructions added to a sale without a list");
        self.add(what, "AOF everysec, P32, c1, nobody waits", None, found);
    }

    /// PLACE, timed by a module that calls it and by a client: both are finer than the server's
    /// statistics.
    fn place(&mut self, plan: &Plan, bar: Option<Bar>) {
        let [_, many, _] = plan.sizes;
        let short = waiting::case(waiting::PLACE, waiting::FEW);
        let setting = format!("{DIRECT}, called {} times by a module", thousands(plan.calls));
        let percentiles =
            [("p99.9", NS, bar), ("p99", HUNDREDTH_NS, None), ("p50", MIDDLE_NS, None)];
        for (percentile, unit, bar) in percentiles {
            let what = (waiting::PLACE, &*format!("{percentile} by a module's clock"));
            self.of_length(what, &setting, (unit, "ns"), bar, many);
            let noop = beside(self.figures.spread((&short, growth::NOOP), unit));
            self.last(|row| {
                row.figure.push_str("; a no-op command's ns");
                row.note.push_str(&noop);
            });
        }
        let what = (waiting::PLACE, "p99.9 of a round trip");
        self.of_length(what, &format!("{DIRECT}, P1, c1"), (ROUND_TRIP_US, "us"), None, many);
    }

    /// The time in a list of `many` entries divided by the time in a short list, with both times.
    fn of_length(
        &mut self,
        (deed, figure): (&str, &str),
        setting: &str,
        (unit, name): (&str, &str),
        bar: Option<Bar>,
        many: u64,
    ) {
        let [short, all] = [waiting::FEW, many].map(|waiting| waiting::case(deed, waiting));
        let what = format!("{deed}, {} waiting", thousands(many));
        let figure =
            format!("{figure}, divided by that with {}; {name}; control", thousands(waiting::FEW));
        let found = self.figures.ratio(unit, (&all, MODULE), (&short, MODULE));
        let took = beside(self.figures.spread((&all, MODULE), unit));
        let control = self.figures.ratio(unit, (&short, waiting::TWIN), (&short, MODULE));
        self.add((&what, &figure), setting, bar, found);
        self.last(|row| row.note = format!("{took}{}", beside(control)));
    }

    /// The cost of an empty waiting list for a GRAB.
    fn with_empty_list(&self) -> Option<Spread> {
        let case = instructions::CASE;
        let (listed, plain) = (instructions::LISTED, instructions::RECOMMENDED[0]);
        self.figures.difference(INSTRUCTIONS, (case, listed), (case, plain))
    }
}
