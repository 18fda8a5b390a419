//! The rows of kept rounds.

use seckill_crowd::screen::thousands;

use super::{beside, Bar, Rows, DIRECT};
use crate::cases::rounds::{case, ASKED, FEW, MANY};
use crate::contenders::MODULE;
use crate::figures::US;

impl Rows<'_> {
    pub(super) fn rounds(&mut self) {
        for (what, ..) in ASKED {
            let most = if what.starts_with("WINNERS") { 1.5 } else { 2.0 };
            let [few, many] = [FEW, MANY].map(|rounds| case(what, rounds));
            let found = self.figures.ratio(US, (&many, MODULE), (&few, MODULE));
            let took = beside(self.figures.spread((&many, MODULE), US));
            let name = format!("{what}, {} rounds kept", thousands(MANY));
            let figure = format!("server time, divided by that with {FEW}; us");
            self.add((&name, &figure), DIRECT, Some(Bar::AtMost(most)), found);
            self.last(|row| row.note = took);
        }
    }
}
