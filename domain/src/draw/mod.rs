//! Red packets: amounts that the sale draws instead of the caller.
//!
//! A draw is a keyed pseudo-random function of the sale's secret and the grant's seq, reduced to a
//! range without bias. Earlier amounts reveal nothing of later ones, and two nodes can't come to
//! different ones: the primary draws while it decides and the effect carries the amount. Packets
//! need no memory of their own: how many are left and what is left for them says everything, except
//! for a list, which is kept.
//!
//! PACKETS follows the double-mean method known from WeChat's red packets: each packet is uniform
//! up to twice the mean of what is left.

pub(crate) mod amounts;
mod tests;

use core::hash::Hasher;

use serde::{Deserialize, Serialize};
use siphasher::sip128::{Hasher128, SipHasher24};

use crate::model::balances::Balances;
use crate::model::keyed::{keyed, Purpose};
use crate::model::limits::{DRAW_AMOUNTS_MAX, GRANTS_MAX, INTEGER_MAX};
use crate::model::outcome::Misuse;
use crate::model::wire;

/// How a sale draws its amounts. Fixed at INIT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Draw {
    /// So many packets of at least `min`, uniform up to twice the mean of what is left.
    Packets {
        /// How many packets there are.
        #[serde(deserialize_with = "wire::integer")]
        packets: u64,
        /// The least amount of each.
        #[serde(deserialize_with = "wire::integer")]
        min: u64,
    },
    /// Uniform in `low..=high`, cut to what is available.
    Uniform {
        /// The least amount.
        #[serde(deserialize_with = "wire::integer")]
        low: u64,
        /// The largest amount.
        #[serde(deserialize_with = "wire::integer")]
        high: u64,
    },
    /// The supply in so many equal parts; the remainder one unit each to the first ones.
    Equal {
        /// How many packets there are.
        #[serde(deserialize_with = "wire::integer")]
        packets: u64,
    },
    /// The amounts of a list, in order. They are kept elsewhere; the fingerprint tells lists apart.
    List {
        /// How many there are.
        #[serde(deserialize_with = "wire::integer")]
        amounts: u64,
        /// A hash of all of them.
        fingerprint: [u8; 16],
    },
}

impl Draw {
    /// A draw from this list.
    pub fn list(amounts: &[u64]) -> Draw {
        let mut hasher = SipHasher24::new();
        amounts.iter().for_each(|amount| hasher.write(&amount.to_le_bytes()));
        let fingerprint = hasher.finish128().as_bytes();
        Draw::List { amounts: amounts.len() as u64, fingerprint }
    }

    /// How many packets there are in all; `None` when the sale counts none.
    pub fn packets(&self) -> Option<u64> {
        match *self {
            Draw::Packets { packets, .. } | Draw::Equal { packets } => Some(packets),
            Draw::List { amounts, .. } => Some(amounts),
            Draw::Uniform { .. } => None,
        }
    }

    /// The draw as INIT named it, for people who read; of a list only how long it is.
    pub fn text(&self) -> String {
        match *self {
            Draw::Packets { packets, min } => format!("PACKETS {packets} MIN {min}"),
            Draw::Uniform { low, high } => format!("UNIFORM {low} {high}"),
            Draw::Equal { packets } => format!("EQUAL {packets}"),
            Draw::List { amounts, .. } => format!("LIST of {amounts}"),
        }
    }

    /// Whether amounts come from a list.
    pub fn is_list(&self) -> bool {
        matches!(self, Draw::List { .. })
    }

    /// Whether there is enough for the next draw, so that no due hold is needed.
    pub fn is_covered(&self, balances: &Balances, dice: &Dice) -> bool {
        match *self {
            Draw::Uniform { low, high } => balances.available >= dice.range(low, high),
            _ => balances.packets.is_some_and(|packets| packets > 0),
        }
    }

    /// The next amount; `None` when no packet or nothing is left. `first` is the list's first.
    pub fn amount(&self, balances: &Balances, first: Option<u64>, dice: &Dice) -> Option<u64> {
        let (packets, available) = (balances.packets.unwrap_or(1), balances.available);
        if packets == 0 || available == 0 {
            return None;
        }
        match *self {
            Draw::Packets { .. } if packets == 1 => Some(available),
            Draw::Packets { min, .. } => {
                // The law says that every packet left gets its minimum, so neither bound is
                // below it; twice what is available stays far below 64 bits.
                let later = (packets - 1).saturating_mul(min);
                let most = (2 * available / packets).min(available.saturating_sub(later));
                Some(dice.range(min, most.max(min)))
            }
            Draw::Uniform { low, high } => Some(dice.range(low, high).min(available)),
            // The first ones have got the remainder when what is left divides evenly.
            Draw::Equal { .. } => Some(available.div_ceil(packets)),
            Draw::List { .. } => first,
        }
    }
}

/// What a draw promises: what INIT can keep of it, and what holds after every change.
impl Draw {
    /// Whether a sale of `supply` can keep what this promises. `amounts` are those of the list.
    pub fn check(&self, supply: u64, amounts: &[u64]) -> Result<(), Misuse> {
        self.check_numbers(supply)?;
        match self {
            Draw::List { .. } if amounts.contains(&0) => Err(Misuse::DrawAmountZero),
            Draw::List { .. } => {
                let sum = amounts.iter().try_fold(0u64, |sum, amount| sum.checked_add(*amount));
                let adds_up = sum == Some(supply);
                adds_up.then_some(()).ok_or(Misuse::DrawSumDiffers)
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

/// The draws of one grant.
#[derive(Clone, Copy, Debug)]
pub struct Dice<'s> {
    secret: &'s [u8; 16],
    seq: u64,
}

impl<'s> Dice<'s> {
    /// The draws of the grant `seq` in the sale with this secret.
    pub fn new(secret: &'s [u8; 16], seq: u64) -> Self {
        Dice { secret, seq }
    }

    /// 64 uniform bits, others for every attempt.
    fn bits(&self, attempt: u64) -> u64 {
        let numbers = [&self.seq.to_le_bytes()[..], &attempt.to_le_bytes()];
        keyed(self.secret, Purpose::Draw, &numbers)
    }

    /// A uniform number in `low..=high`, at most 2^53 of them. What lies beyond the last whole
    /// multiple of the range is drawn again, so that no number is favoured.
    pub fn range(&self, low: u64, high: u64) -> u64 {
        let size = high.saturating_sub(low).min(INTEGER_MAX) + 1;
        let whole = u64::MAX - u64::MAX % size;
        let mut attempt = 0;
        loop {
            let bits = self.bits(attempt);
            if bits < whole {
                return low + bits % size;
            }
            attempt += 1;
        }
    }
}
