//! Red packets: amounts that the sale draws instead of the caller.
//!
//! A draw is a keyed pseudo-random function of the sale's secret and the grant's seq, reduced to a
//! range without bias. Earlier amounts tell nothing about later ones, and two nodes can't come to
//! different ones: the primary draws while it decides and the effect carries the amount. Packets
//! need no memory of their own: how many are left and what is left for them says everything, except
//! for a list, which is kept.
//!
//! PACKETS follows the double-mean method known from WeChat's red packets: each packet is uniform
//! up to twice the mean of what is left.

pub mod amounts;
mod dice;
mod law;
mod tests;

use core::hash::Hasher;

use serde::{Deserialize, Serialize};
use siphasher::sip128::{Hasher128, SipHasher24};

use crate::codec::wire;
use crate::model::balances::Balances;

pub use dice::Dice;

/// How a sale draws its amounts. Fixed at INIT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Draw {
    /// So many packets of at least `min`, uniform up to twice the mean of what is left.
    Packets {
        #[serde(deserialize_with = "wire::integer")]
        packets: u64,
        #[serde(deserialize_with = "wire::integer")]
        min: u64,
    },
    /// Uniform in `low..=high`, cut to what is available.
    Uniform {
        #[serde(deserialize_with = "wire::integer")]
        low: u64,
        #[serde(deserialize_with = "wire::integer")]
        high: u64,
    },
    /// The supply in so many equal parts; the remainder one unit each to the first ones.
    Equal {
        #[serde(deserialize_with = "wire::integer")]
        packets: u64,
    },
    /// The amounts of a list, in order. They are kept elsewhere; the fingerprint tells lists apart.
    List {
        #[serde(deserialize_with = "wire::integer")]
        amounts: u64,
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

    /// The draw as INIT was told it, for people who read; of a list only how long it is.
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
