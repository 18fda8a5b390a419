//! What a draw promises: what INIT can keep of it, and what holds after every change.

use super::Draw;
use crate::model::balances::Balances;
use crate::model::limits::{DRAW_AMOUNTS_MAX, GRANTS_MAX};
use crate::model::outcome::Misuse;

impl Draw {
    /// Whether a sale of `supply` can keep what this promises. `amounts` are those of the list.
    pub fn check(&self, supply: u64, amounts: &[u64]) -> Result<(), Misuse> {
        self.check_numbers(supply)?;
        match self {
            Draw::List { .. } if amounts.contains(&0) => Err(Misuse::DrawAmountZero),
            Draw::List { .. } => {
                let sum = amounts.iter().try_fold(0u64, |sum, amount| sum.checked_add(*amount));
                let told = sum == Some(supply);
                told.then_some(()).ok_or(Misuse::DrawSumDiffers)
            }
            _ => Ok(()),
        }
    }

    /// [`Draw::check`] without the amounts of a list, which a rewritten sale no longer has.
    pub fn check_numbers(&self, supply: u64) -> Result<(), Misuse> {
        let packets = self.packets();
        match *self {
            _ if packets == Some(0) => Err(Misuse::DrawNoPackets),
            Draw::List { amounts, .. } if amounts > DRAW_AMOUNTS_MAX => {
                Err(Misuse::DrawListTooLong)
            }
            _ if packets.is_some_and(|packets| packets > GRANTS_MAX) => {
                Err(Misuse::DrawTooManyPackets)
            }
            Draw::Packets { min: 0, .. } => Err(Misuse::DrawMinZero),
            Draw::Packets { packets, min }
                if u128::from(packets) * u128::from(min) > supply.into() =>
            {
                Err(Misuse::DrawSupplyTooSmall)
            }
            Draw::Equal { packets } if packets > supply => Err(Misuse::DrawSupplyTooSmall),
            Draw::Uniform { low: 0, .. } => Err(Misuse::DrawAmountZero),
            Draw::Uniform { low, high } if low > high => Err(Misuse::DrawRangeEmpty),
            _ => Ok(()),
        }
    }

    /// Whether the packets left share what is available: none is left over, none goes empty.
    pub fn is_lawful(&self, balances: &Balances) -> bool {
        let (Some(packets), available) = (balances.packets, balances.available) else {
            return self.packets().is_none();
        };
        // Their supply is fixed, so nothing was ever promised beyond it.
        if balances.deficit > 0 {
            return false;
        }
        let (packets_wide, available_wide) = (u128::from(packets), u128::from(available));
        match *self {
            Draw::Uniform { .. } => false,
            _ if (packets == 0) != (available == 0) => false,
            Draw::Packets { min, .. } => packets_wide * u128::from(min) <= available_wide,
            Draw::Equal { packets: all } => {
                let share = balances.supply / all.max(1);
                let most = balances.supply.div_ceil(all.max(1));
                packets_wide * u128::from(share) <= available_wide
                    && available_wide <= packets_wide * u128::from(most)
            }
            Draw::List { .. } => packets <= available,
        }
    }

    /// Whether a grant of `qty` can have been drawn in a sale of `supply`.
    pub fn can_draw(&self, qty: u64, supply: u64) -> bool {
        match *self {
            Draw::Packets { min, .. } => qty >= min,
            Draw::Uniform { high, .. } => (1..=high).contains(&qty),
            Draw::Equal { packets: all } => {
                let all = all.max(1);
                qty == supply / all || qty == supply.div_ceil(all)
            }
            Draw::List { .. } => qty > 0,
        }
    }
}
