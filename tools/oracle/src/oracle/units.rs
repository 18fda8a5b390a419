//! Numbered units, searched one by one.

use super::{Ask, Deed, Drawing, Keeper, Moment, Oracle, Row};

/// Most units of a sale with numbers, and of one of its grants.
const UNITS_MAX: u64 = 10_000_000;
const GRANT_MAX: u64 = 100;

/// The numbers that a GRAB asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    Adjacent,
    These(Vec<u64>),
}

impl Row {
    /// The numbers at the end of a reply; empty without numbered units.
    fn numbers(&self) -> String {
        format!(" {:?}", self.units)
    }
}

impl Oracle {
    /// Whether a sale can have a supply of this size.
    pub(super) fn fits_numbers(supply: u64, is_numbered: bool) -> bool {
        !is_numbered || supply <= UNITS_MAX
    }

    /// State of each number, from the first on: `.` free, `h` held, `s` sold.
    pub fn map(&self) -> String {
        let state = |unit| match self.owner(unit).map(|row| row.state) {
            None => '.',
            Some("HELD") => 'h',
            Some(_) => 's',
        };
        (1..=self.supply).map(state).collect()
    }

    fn owner(&self, unit: u64) -> Option<&Row> {
        self.rows.iter().find(|row| row.is_live() && row.units.contains(&unit))
    }

    /// Adds the grant's numbers to a reply.
    pub(super) fn with_numbers(&self, reply: String) -> String {
        let words: Vec<&str> = reply.split(' ').collect();
        let seq = match words[0] {
            _ if !self.rules.numbered => return reply,
            "GRANTED" | "ALREADY" | "REPLAY" => words[1],
            "HELD" | "SOLD" | "CANCELLED" | "EXPIRED" | "REFUNDED" | "NOGRANT" => words[1],
            _ => return reply,
        };
        let seq: usize = seq.parse().unwrap_or(0);
        let none = || " []".to_owned();
        reply + &seq.checked_sub(1).map_or_else(none, |place| self.rows[place].numbers())
    }

    /// The refusal of a GRAB that its arguments alone decide.
    pub(super) fn bad_grab(&self, ask: Ask) -> Option<&'static str> {
        if self.wish.is_some() && !self.rules.numbered {
            return Some("NOTNUMBERED");
        }
        if !self.rules.numbered {
            return None;
        }
        let these = match &self.wish {
            Some(Wish::These(units)) => &units[..],
            _ => &[],
        };
        match ask {
            Ask::UpTo(_) => Some("ERR upto"),
            Ask::Qty(qty) if qty > GRANT_MAX => Some("ERR many"),
            _ => self.bad_units(these),
        }
    }

    fn bad_units(&self, units: &[u64]) -> Option<&'static str> {
        let is_one = |unit: &u64| (1..=self.supply).contains(unit);
        match units.iter().all(is_one) {
            _ if units.len() as u64 > GRANT_MAX => Some("ERR many"),
            true => None,
            false => Some("ERR no unit"),
        }
    }

    pub(super) fn bad_import(&self, units: &[u64], qty: u64) -> Option<&'static str> {
        match self.rules.numbered {
            false if units.is_empty() => None,
            false => Some("NOTNUMBERED"),
            true if units.len() as u64 != qty => Some("ERR units"),
            true => self.bad_units(units),
        }
    }

    /// Whether a repeated request asks for equal numbers.
    pub(super) fn suits_wish(&self, row: &Row) -> bool {
        match &self.wish {
            Some(Wish::These(units)) => sorted(units) == row.first_units,
            _ => true,
        }
    }

    /// The numbers that the current command names.
    pub(super) fn wished(&self) -> Vec<u64> {
        match &self.wish {
            Some(Wish::These(units)) => units.clone(),
            _ => Vec::new(),
        }
    }

    pub(super) fn wants_these(&self) -> bool {
        matches!(self.wish, Some(Wish::These(_)))
    }

    /// The first of these numbers that is taken.
    pub(super) fn taken_of(&self, units: &[u64]) -> Option<u64> {
        units.iter().copied().find(|unit| self.owner(*unit).is_some())
    }

    /// Runs of free numbers: first number and length.
    fn runs(&self) -> Vec<(u64, u64)> {
        let mut runs: Vec<(u64, u64)> = Vec::new();
        for unit in (1..=self.supply).filter(|unit| self.owner(*unit).is_none()) {
            match runs.last_mut() {
                Some((first, length)) if *first + *length == unit => *length += 1,
                _ => runs.push((unit, 1)),
            }
        }
        runs
    }

    fn longest(&self) -> u64 {
        self.runs().into_iter().map(|(_, length)| length).max().unwrap_or(0)
    }

    /// The numbers that a grant of `qty` units gets.
    pub(super) fn choose(&self, qty: u64) -> Vec<u64> {
        if !self.rules.numbered {
            return Vec::new();
        }
        if let Some(Wish::These(units)) = &self.wish {
            return sorted(units);
        }
        self.lowest(qty)
    }

    /// The lowest run of this length; if there is none, the lowest numbers.
    pub(super) fn lowest(&self, qty: u64) -> Vec<u64> {
        if !self.rules.numbered {
            return Vec::new();
        }
        match self.runs().into_iter().find(|(_, length)| *length >= qty) {
            Some((first, _)) => (first..first + qty).collect(),
            None => {
                let free = (1..=self.supply).filter(|unit| self.owner(*unit).is_none());
                free.take(qty as usize).collect()
            }
        }
    }

    /// Expires due holds that have one of these numbers.
    pub(super) fn expire_owners(&mut self, units: &[u64], now: Moment) {
        let t = self.time(now);
        let has = |row: &Row| row.units.iter().any(|unit| units.contains(unit));
        let due: Vec<u64> = self.due(t, has).into_iter().map(|row| row.seq).collect();
        due.into_iter().for_each(|seq| self.expire(seq, now));
    }

    /// The quantity of a GRAB with UNITS or ADJACENT.
    pub(super) fn amount_wished(
        &mut self,
        ask: Ask,
        allowance: Option<u64>,
        now: Moment,
    ) -> Result<u64, String> {
        let (Some(wish), Ask::Qty(qty)) = (self.wish.clone(), ask) else {
            return self.amount(ask, allowance, now);
        };
        if let Some(allowance) = allowance.filter(|allowance| qty > *allowance) {
            return Err(format!("OVERLIMIT {allowance}"));
        }
        match &wish {
            Wish::These(units) => self.expire_owners(units, now),
            Wish::Adjacent if qty <= self.available() + self.units("HELD") => {
                if self.expire_until(self.round, now, |oracle| oracle.longest() >= qty) {
                    return Err("TRYAGAIN others".into());
                }
            }
            Wish::Adjacent => {}
        }
        self.wish_met(&wish, qty).map(|()| qty)
    }

    /// Whether the wish can be met now, or the refusal.
    pub(super) fn wish_met(&self, wish: &Wish, qty: u64) -> Result<(), String> {
        match wish {
            Wish::These(units) => match self.taken_of(units) {
                Some(unit) => Err(format!("TAKEN {unit}")),
                None => Ok(()),
            },
            Wish::Adjacent => match self.longest() {
                longest if longest >= qty => Ok(()),
                0 => Err(format!("SOLDOUT {}", self.may_come_back())),
                longest => Err(format!("SHORT {longest}")),
            },
        }
    }

    /// MASK for numbered units: a user who is not admitted gets TAKEN with the first number asked
    /// for.
    pub(super) fn masked(&self, reply: String) -> String {
        match (&self.wish, reply.as_str()) {
            (Some(Wish::These(units)), "DENIED" | "BUSY") if self.rules.gates.mask => {
                format!("TAKEN {}", units[0])
            }
            _ => self.rules.gates.masked(reply),
        }
    }

    /// Whether an IMPORT of a known request repeats its grant.
    pub(super) fn repeats_import(&self, row: &Row, units: &[u64], qty: u64) -> bool {
        match self.rules.numbered {
            true => units.iter().all(|unit| row.first_units.contains(unit)),
            false => row.first == qty,
        }
    }

    /// The numbers of the grant after an IMPORT, if the added numbers are free.
    pub(super) fn import_units(
        &mut self,
        units: &[u64],
        known: Option<&Row>,
        now: Moment,
    ) -> Result<Vec<u64>, String> {
        let has = known.filter(|row| row.is_live()).map_or(Vec::new(), |row| row.units.clone());
        let further: Vec<u64> = units.iter().copied().filter(|unit| !has.contains(unit)).collect();
        self.expire_owners(&further, now);
        match self.taken_of(&further) {
            Some(unit) => Err(format!("TAKEN {unit}")),
            None => Ok(sorted(&[has, further].concat())),
        }
    }

    /// The refusal of a KEEP that its arguments alone decide.
    pub(super) fn bad_keep(&self, deed: Deed) -> Option<&'static str> {
        let is_counted = self.rules.drawing == Drawing::Named && !self.rules.numbered;
        match (deed, &self.wish) {
            (Deed::Keep(..), Some(Wish::These(units))) if self.rules.numbered => {
                self.bad_units(units)
            }
            (Deed::Keep(..), Some(_)) => Some("NOTNUMBERED"),
            (Deed::Keep(..), None) if !is_counted => Some("ERR keep"),
            _ => None,
        }
    }

    /// KEEP UNITS as a KEEP of a quantity: the number of the row's units that it names. `None` if
    /// no unit would be kept.
    pub(super) fn counted(&self, deed: Deed, row: &Row) -> Option<Deed> {
        let (Deed::Keep(by, _), Some(Wish::These(units))) = (deed, &self.wish) else {
            return Some(deed);
        };
        let left = row.units.iter().filter(|unit| units.contains(unit)).count() as u64;
        let state = if by == Keeper::Refund { "SOLD" } else { "HELD" };
        (left > 0 || row.state != state).then_some(Deed::Keep(by, left))
    }

    /// Adds the grant's numbers to an entry.
    pub(super) fn told_numbers(&self, row: &Row) -> String {
        if !self.rules.numbered {
            return String::new();
        }
        format!(",\"units\":{}", row.numbers().replace(' ', ""))
    }
}

pub(super) fn sorted(units: &[u64]) -> Vec<u64> {
    let mut units = units.to_vec();
    units.sort_unstable();
    units
}
