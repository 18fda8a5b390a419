//! A sale with numbered units: the numbers that buyers ask for, and the owner of each number by the
//! outbox.

use std::collections::HashMap;

use seckill_random::Random;

use crate::history::{Kind, Row};

/// The amount of a GRAB of numbered units: a quantity, an ADJACENT quantity, or UNITS.
pub fn amount(supply: u64, random: &mut Random) -> String {
    let qty = 1 + random.below(4);
    match random.below(3) {
        0 => format!(" QTY {qty}"),
        1 => format!(" QTY {qty} ADJACENT"),
        _ => {
            // Users who want one row ask for the same few seats.
            let first = 1 + random.below(supply - 3) / 5 * 5;
            let units: Vec<String> = (first..first + qty).map(|unit| unit.to_string()).collect();
            format!(" UNITS {}", units.join(" "))
        }
    }
}

/// The amount of an IMPORT of numbered units: a quantity, or the numbers if they are known.
pub fn imported(kind: &Kind, amount: &str) -> String {
    match (kind, amount.strip_prefix(" UNITS ")) {
        (Kind::Numbered, Some(units)) => {
            format!("{} UNITS {units}", units.split(' ').count())
        }
        _ => amount.rsplit(' ').next().filter(|qty| !qty.is_empty()).unwrap_or("1").to_owned(),
    }
}

/// The numbers that an order names.
pub fn named(kind: &Kind, amount: &str) -> Vec<u64> {
    match (kind, amount.strip_prefix(" UNITS ")) {
        (Kind::Numbered, Some(units)) => units.split(' ').flat_map(str::parse).collect(),
        _ => Vec::new(),
    }
}

/// Whether KEEP is possible for an order: its numbers must be known.
pub fn takes_keep(kind: &Kind, units: &[u64]) -> bool {
    !matches!(kind, Kind::Numbered) || !units.is_empty()
}

/// The argument of KEEP: a quantity, or that many of the order's first numbers.
pub fn kept(kind: &Kind, units: &[u64], qty: u64) -> String {
    match kind {
        Kind::Numbered => {
            let kept: Vec<String> = units.iter().take(qty as usize).map(u64::to_string).collect();
            format!("UNITS {}", kept.join(" "))
        }
        _ => qty.to_string(),
    }
}

/// The grant of each number.
#[derive(Debug, Default)]
pub struct Seats(HashMap<u64, u64>);

impl Seats {
    /// Records a grant after an entry; `before` is its state before, if it existed.
    pub fn read(&mut self, kind: &Kind, before: Option<&Row>, row: &Row) -> Result<(), String> {
        let qty = if matches!(kind, Kind::Numbered) { row.qty } else { 0 };
        if row.units.len() as u64 != qty {
            return Err(format!("{qty} units have the numbers {:?}.", row.units));
        }
        if before.is_some_and(|before| before.state.is_live()) {
            self.0.retain(|_, owner| *owner != row.seq);
        }
        if !row.state.is_live() {
            return Ok(());
        }
        for unit in &row.units {
            if let Some(other) = self.0.insert(*unit, row.seq) {
                return Err(format!(
                    "DOUBLED: unit {unit} is of grant {} and of grant {other}.",
                    row.seq
                ));
            }
        }
        Ok(())
    }
}
