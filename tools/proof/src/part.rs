//! A part as the contract describes it, small enough for the search: each grant has one unit.

use seckill_balance::{share, Reading};

use super::{Broken, PARTS};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Part {
    pub put_in: u8,
    pub supply: u8,
    pub available: u8,
    pub sold: u8,
    pub deficit: u8,
    pub sent: [u8; PARTS],
    pub received: [u8; PARTS],
    pub elsewhere: u8,
    pub pass: u8,
    pub paused: bool,
    /// Number of times that units had come back when the pass that reported 0 began, and when it
    /// ended. Only the laws use these.
    pub sold_began: u8,
    pub sold_ended: u8,
    /// Begin of the last pass that reported units on other parts.
    pub raised_as_of: u8,
}

/// An ELSEWHERE, with the number of times that units had come back when its pass began and ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tell {
    pub part: u8,
    pub elsewhere: u8,
    pub pass: u8,
    pub began: u8,
    pub ended: u8,
}

impl Tell {
    /// What the balancer tells, with the number of times that units had come back.
    pub fn of(told: &seckill_balance::Told, began: u8, ended: u8) -> Tell {
        let (part, elsewhere, pass) = (told.part as u8, told.elsewhere as u8, told.pass as u8);
        Tell { part, elsewhere, pass, began, ended }
    }
}

impl Part {
    /// A part with its share of `total`.
    pub fn with_share(total: u8, at: usize) -> Part {
        let units = share(u64::from(total), PARTS, at) as u8;
        let elsewhere = (total - units).max(1);
        Part { put_in: units, supply: units, available: units, elsewhere, ..Part::default() }
    }

    /// A lost part before its repair: no units, and paused.
    pub fn empty(total: u8) -> Part {
        Part { elsewhere: total, paused: true, ..Part::default() }
    }

    pub fn grab(&mut self) {
        self.available -= 1;
        self.sold += 1;
    }

    /// A unit is refunded; it reduces a deficit first.
    pub fn refund(&mut self) {
        self.sold -= 1;
        self.available += 1;
        self.pay();
    }

    /// Returns the current total, and whether anything was replicated.
    pub fn send(&mut self, to: usize, total: u8, owed: bool, broken: Option<Broken>) -> (u8, bool) {
        let asked = total.saturating_sub(self.sent[to]);
        let units = asked.min(self.available);
        let repeated = total == self.sent[to] && broken != Some(Broken::RepeatLeavesNoTrace);
        self.available -= units;
        self.supply -= units;
        self.sent[to] += units;
        self.elsewhere += units;
        if owed {
            self.deficit += asked - units;
            self.sent[to] += asked - units;
        }
        (self.sent[to], units > 0 || repeated || (owed && asked > 0))
    }

    pub fn receive(&mut self, from: usize, total: u8, broken: Option<Broken>) {
        let units = match broken {
            Some(Broken::ReceiveAdds) => total,
            _ => total.saturating_sub(self.received[from]),
        };
        self.received[from] += units;
        self.add(units);
    }

    pub fn restock(&mut self, units: u8) {
        self.put_in += units;
        self.add(units);
    }

    /// IMPORT of units that are sold in the shop's database.
    pub fn import(&mut self, units: u8) {
        let here = units.min(self.available);
        self.available -= here;
        self.supply += units - here;
        self.deficit += units - here;
        self.sold += units;
    }

    pub fn tell(&mut self, told: &Tell, broken: Option<Broken>) {
        let is_newer = (told.pass, told.elsewhere) > (self.pass, self.elsewhere);
        if !is_newer && broken != Some(Broken::NoPass) {
            return;
        }
        (self.pass, self.elsewhere) = (told.pass, told.elsewhere);
        match told.elsewhere {
            0 => (self.sold_began, self.sold_ended) = (told.began, told.ended),
            _ => self.raised_as_of = self.raised_as_of.max(told.began),
        }
    }

    fn add(&mut self, units: u8) {
        self.supply += units;
        self.available += units;
        self.pay();
    }

    fn pay(&mut self) {
        let paid = self.deficit.min(self.available);
        self.deficit -= paid;
        self.supply -= paid;
        self.available -= paid;
    }

    /// Whether a refused buyer is told that no part has units.
    pub fn says_all_sold(&self) -> bool {
        self.available == 0 && self.elsewhere == 0
    }

    /// The laws of one part.
    pub fn is_lawful(&self) -> bool {
        let sum = |totals: &[u8; PARTS]| totals.iter().map(|one| u16::from(*one)).sum::<u16>();
        let (supply, deficit) = (u16::from(self.supply), u16::from(self.deficit));
        self.supply == self.available + self.sold
            && supply + sum(&self.sent) == u16::from(self.put_in) + sum(&self.received) + deficit
    }

    pub fn reading(&self) -> Reading {
        let widen = |totals: &[u8; PARTS]| totals.iter().map(|one| u64::from(*one)).collect();
        Reading {
            put_in: i64::from(self.put_in),
            available: u64::from(self.available),
            held: 0,
            deficit: u64::from(self.deficit),
            elsewhere: u64::from(self.elsewhere),
            pass: u64::from(self.pass),
            sent: widen(&self.sent),
            received: widen(&self.received),
        }
    }
}
