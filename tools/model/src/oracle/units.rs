//! Numbered units, searched one by one.

use super::{Ask, Deed, Drawing, Keeper, Oracle, Row};

/// Most units of a sale with numbers, and of one of its grants.
pub(super) const UNITS_MAX: u64 = 10_000_000;
const GRANT_MAX: u64 = 100;

/// The numbers that a GRAB asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    Adjacent,
    These(Vec<u64>),
}

impl Oracle {
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
        let seq: usize = match words[0] {
            _ if !self.rules.numbered => return reply,
            "GRANTED" | "ALREADY" | "REPLAY" | "HELD" | "SOLD" | "CANCELLED" | "EXPIRED"
            | "REFUNDED" | "NOGRANT" => words[1].parse().unwrap_or(0),
            _ => return reply,
        };
        let row = seq.checked_sub(1).map(|place| &self.rows[place]);
        reply + &row.map_or(" []".to_owned(), |row| format!(" {:?}", row.units))
    }

    /// Fails if the arguments of a GRAB alone refuse it.
    pub(super) fn check_grab(&self, ask: Ask) -> Result<(), String> {
        match ask {
            _ if !self.rules.numbered && self.wish.is_some() => Err("NOTNUMBERED".into()),
            _ if !self.rules.numbered => Ok(()),
            Ask::UpTo(_) => Err("ERR upto".into()),
            Ask::Qty(qty) if qty > GRANT_MAX => Err("ERR many".into()),
            _ => self.check_units(&self.wished()),
        }
    }

    fn check_units(&self, units: &[u64]) -> Result<(), String> {
        let is_one = |unit: &u64| (1..=self.supply).contains(unit);
        match units.iter().all(is_one) {
            _ if units.len() as u64 > GRANT_MAX => Err("ERR many".into()),
            true => Ok(()),
            false => Err("ERR no unit".into()),
        }
    }

    /// Fails if the arguments of an IMPORT alone refuse it.
    pub(super) fn check_import(&self, units: &[u64], qty: u64) -> Result<(), String> {
        match self.rules.numbered {
            _ if self.rules.drawing.packets().is_some() => Err("ERR fixed".into()),
            _ if self.rules.every.is_some() => Err("ERR rounds".into()),
            false if units.is_empty() => Ok(()),
            false => Err("NOTNUMBERED".into()),
            true if units.len() as u64 != qty => Err("ERR units".into()),
            true => self.check_units(units),
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
        match &self.wish {
            Some(Wish::These(units)) => sorted(units),
            _ => self.lowest(qty),
        }
    }

    /// The lowest run of this length; if there is none, the lowest numbers.
    pub(super) fn lowest(&self, qty: u64) -> Vec<u64> {
        if !self.rules.numbered {
            return Vec::new();
        }
        let runs = self.runs();
        match runs.iter().find(|(_, length)| *length >= qty) {
            Some((first, _)) => (*first..first + qty).collect(),
            None => {
                let free = runs.iter().flat_map(|(first, length)| *first..first + length);
                free.take(qty as usize).collect()
            }
        }
    }

    /// Expires due holds that have one of these numbers.
    pub(super) fn expire_owners(&mut self, units: &[u64]) {
        let has = |row: &Row| row.units.iter().any(|unit| units.contains(unit));
        self.due(has).into_iter().for_each(|seq| _ = self.expire_other(seq));
    }

    /// The quantity of a GRAB with UNITS or ADJACENT.
    pub(super) fn amount_wished(&mut self, ask: Ask, allowance: u64) -> Result<u64, String> {
        let qty = ask.within(allowance)?;
        if self.wants_these() {
            self.expire_owners(&self.wished());
        } else if qty <= self.available() + self.units("HELD")
            && self.expire_until(self.round, |oracle| oracle.longest() >= qty)
        {
            return Err("TRYAGAIN others".into());
        }
        self.check_wish(qty).map(|()| qty)
    }

    /// Fails if the wish of the current command can't be met now.
    pub(super) fn check_wish(&self, qty: u64) -> Result<(), String> {
        match &self.wish {
            None => Ok(()),
            Some(Wish::These(units)) => self.check_free(units),
            Some(Wish::Adjacent) => match self.longest() {
                longest if longest >= qty => Ok(()),
                0 => Err(format!("SOLDOUT {}", self.may_come_back())),
                longest => Err(format!("SHORT {longest}")),
            },
        }
    }

    /// Fails if one of these numbers is taken.
    pub(super) fn check_free(&self, units: &[u64]) -> Result<(), String> {
        let taken = units.iter().find(|unit| self.owner(**unit).is_some());
        taken.map_or(Ok(()), |unit| Err(format!("TAKEN {unit}")))
    }

    /// Whether an IMPORT of a known request repeats its grant.
    pub(super) fn repeats_import(&self, row: &Row, units: &[u64], qty: u64) -> bool {
        match self.rules.numbered {
            true => units.iter().all(|unit| row.first_units.contains(unit)),
            false => row.first == qty,
        }
    }

    /// The grant of a repeated IMPORT: a due hold of numbers has expired.
    pub(super) fn without_due_numbers(&mut self, row: Row) -> Row {
        if self.rules.numbered && row.is_due(self.time()) {
            self.expire(row.seq);
        }
        self.row(row.seq).clone()
    }

    /// The numbers of the grant after an IMPORT, if the added numbers are free.
    pub(super) fn import_units(
        &mut self,
        units: &[u64],
        known: Option<&Row>,
    ) -> Result<Vec<u64>, String> {
        let has = known.filter(|row| row.is_live()).map_or(Vec::new(), |row| row.units.clone());
        let further: Vec<u64> = units.iter().copied().filter(|unit| !has.contains(unit)).collect();
        self.expire_owners(&further);
        self.check_free(&further)?;
        Ok(sorted(&[has, further].concat()))
    }

    /// Fails if the arguments of a KEEP alone refuse it.
    pub(super) fn check_keep(&self, deed: Deed) -> Result<(), String> {
        let is_counted = self.rules.drawing == Drawing::Named && !self.rules.numbered;
        match (deed, &self.wish) {
            (Deed::Keep(..), Some(_)) if self.rules.numbered => self.check_units(&self.wished()),
            (Deed::Keep(..), Some(_)) => Err("NOTNUMBERED".into()),
            (Deed::Keep(..), None) if !is_counted => Err("ERR keep".into()),
            _ => Ok(()),
        }
    }

    /// KEEP UNITS as a KEEP of the row's units that it names. Fails if none would be kept.
    pub(super) fn counted(&self, deed: Deed, row: &Row) -> Result<Deed, String> {
        let (Deed::Keep(by, _), Some(Wish::These(units))) = (deed, &self.wish) else {
            return Ok(deed);
        };
        let left = row.units.iter().filter(|unit| units.contains(unit)).count() as u64;
        let state = if by == Keeper::Refund { "SOLD" } else { "HELD" };
        match left > 0 || row.state != state {
            true => Ok(Deed::Keep(by, left)),
            false => Err("ERR none kept".into()),
        }
    }
}

pub(super) fn sorted(units: &[u64]) -> Vec<u64> {
    let mut units = units.to_vec();
    units.sort_unstable();
    units
}
