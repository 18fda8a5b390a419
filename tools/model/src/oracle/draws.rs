//! Amounts that the sale draws. The oracle does not draw: it checks the sale's amount against the
//! rules.

use super::{Ask, Oracle};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Drawing {
    /// Callers name the amount.
    #[default]
    Named,
    /// DRAW PACKETS with MIN.
    Packets { packets: u64, min: u64 },
    /// DRAW UNIFORM.
    Uniform { low: u64, high: u64 },
    /// DRAW EQUAL.
    Equal { packets: u64 },
    /// DRAW LIST.
    List(&'static [u64]),
}

impl Drawing {
    /// The number of packets; `None` if they are not counted.
    pub fn packets(&self) -> Option<u64> {
        match *self {
            Drawing::Named | Drawing::Uniform { .. } => None,
            Drawing::Packets { packets, .. } | Drawing::Equal { packets } => Some(packets),
            Drawing::List(amounts) => Some(amounts.len() as u64),
        }
    }

    pub fn is_random(&self) -> bool {
        matches!(self, Drawing::Packets { .. } | Drawing::Uniform { .. })
    }

    /// The amounts of DRAW LIST; else empty.
    pub fn list(&self) -> Vec<u64> {
        match self {
            Drawing::List(amounts) => amounts.to_vec(),
            _ => Vec::new(),
        }
    }

    pub(super) fn fits(&self, supply: u64) -> bool {
        match *self {
            Drawing::Named => true,
            Drawing::Packets { packets, min } => {
                packets > 0 && min > 0 && packets.saturating_mul(min) <= supply
            }
            Drawing::Uniform { low, high } => low > 0 && low <= high,
            Drawing::Equal { packets } => packets > 0 && packets <= supply,
            Drawing::List(amounts) => {
                !amounts.is_empty()
                    && !amounts.contains(&0)
                    && amounts.iter().sum::<u64>() == supply
            }
        }
    }

    /// The draw in the form of INIT and ALTER entries.
    pub(super) fn text(&self) -> String {
        match *self {
            Drawing::Named => String::new(),
            Drawing::Packets { packets, min } => {
                format!(",\"draw\":\"PACKETS {packets} MIN {min}\"")
            }
            Drawing::Uniform { low, high } => format!(",\"draw\":\"UNIFORM {low} {high}\""),
            Drawing::Equal { packets } => format!(",\"draw\":\"EQUAL {packets}\""),
            Drawing::List(amounts) => format!(",\"draw\":\"LIST of {}\"", amounts.len()),
        }
    }
}

impl Oracle {
    /// Packets of a round that are not granted.
    pub fn packets_in(&self, round: u64) -> Option<u64> {
        if let Drawing::List(_) = self.rules.drawing {
            return Some(self.amounts.len() as u64);
        }
        let live = self.rows.iter().filter(|row| row.round == round && row.is_live()).count();
        self.rules.drawing.packets().map(|packets| packets - live as u64)
    }

    pub fn packets(&self) -> Option<u64> {
        self.packets_in(self.round)
    }

    /// The amount of the next grant, or the refusal.
    pub(super) fn draw(&mut self, allowance: u64) -> Result<u64, String> {
        let drawn = self.drawn.unwrap_or(1);
        let is_many = self.expire_until(self.round, |oracle| match oracle.packets() {
            Some(packets) => packets > 0,
            None => oracle.available() >= drawn,
        });
        let (packets, available) = (self.packets().unwrap_or(1), self.available());
        if is_many && available == 0 {
            return Err("TRYAGAIN others".into());
        }
        if packets == 0 || available == 0 {
            return Err(format!("SOLDOUT {}", self.units("HELD")));
        }
        Ask::Qty(self.amount_of(packets, available)?).within(allowance)
    }

    fn amount_of(&self, packets: u64, available: u64) -> Result<u64, String> {
        let drawn = self.drawn;
        let within = |low: u64, high: u64| {
            let is_one = |drawn: &u64| (low..=high).contains(drawn);
            drawn.filter(is_one).ok_or(format!("an amount of {low} to {high}"))
        };
        match self.rules.drawing {
            Drawing::Named => Err("named amounts".into()),
            Drawing::Packets { .. } if packets == 1 => Ok(available),
            Drawing::Packets { min, .. } => {
                let for_later = (packets - 1) * min;
                within(min, (2 * available / packets).min(available - for_later).max(min))
            }
            Drawing::Uniform { high, .. } if drawn == Some(available) => within(1, high),
            Drawing::Uniform { low, high } => within(low, high.min(available)),
            Drawing::Equal { .. } => Ok(available.div_ceil(packets)),
            Drawing::List(_) => Ok(self.amounts[0]),
        }
    }

    /// Whether an expired grant can take its amount again, the other packets still being possible.
    pub(super) fn is_free(&self, round: u64, qty: u64) -> bool {
        let Some(left) = self.available_in(round).checked_sub(qty) else { return false };
        let Some(packets) = self.packets_in(round) else { return true };
        let Some(packets) = packets.checked_sub(1) else { return false };
        if (packets == 0) != (left == 0) {
            return false;
        }
        match self.rules.drawing {
            Drawing::Packets { min, .. } => packets * min <= left,
            Drawing::Equal { packets: all } => {
                let supply = self.supply_in(round);
                (packets * (supply / all)..=packets * supply.div_ceil(all)).contains(&left)
            }
            Drawing::List(_) => self.amounts.contains(&qty),
            Drawing::Named | Drawing::Uniform { .. } => true,
        }
    }

    /// Removes an amount from the list: a new grant takes the first, another one its own.
    pub(super) fn take_amount(&mut self, qty: u64, is_new: bool) {
        let last = self.amounts.iter().rposition(|amount| *amount == qty);
        let place = if is_new && !self.amounts.is_empty() { Some(0) } else { last };
        place.into_iter().for_each(|place| _ = self.amounts.remove(place));
    }

    /// Returns an amount to the end of the list.
    pub(super) fn return_amount(&mut self, qty: u64) {
        if matches!(self.rules.drawing, Drawing::List(_)) {
            self.amounts.push(qty);
        }
    }
}
