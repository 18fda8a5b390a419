//! The business logic: the number of coins that the app wants to give a user. The sale does not
//! know it: the call says `UPTO n`, and the sale keeps the budget. New users get more than regular
//! ones.

use seckill_crowd::plan::Click;

/// One user in this many is new.
const ONE_IS_NEW: u64 = 5;
/// Larger than any amount.
pub const COINS_BOUND: u64 = 200;

/// The kinds of users in the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// 20 to 98 coins, usually about 59.
    Regular,
    /// 100 to 198 coins, usually about 149.
    New,
}

/// All amounts of an event.
#[derive(Clone, Copy, Debug)]
pub struct Amounts {
    pub seed: u64,
}

impl Amounts {
    /// The kind of a user, equal in every round.
    pub fn kind(&self, user: u32) -> Kind {
        match mixed(self.seed ^ mixed(u64::from(user))) % ONE_IS_NEW {
            0 => Kind::New,
            _ => Kind::Regular,
        }
    }

    /// The number of coins that the app asks for. Each order of a user may ask for another amount;
    /// only the granted one counts.
    pub fn asked(&self, round: u64, click: Click) -> u64 {
        let Click { user, order } = click;
        let place = mixed(round) ^ mixed(u64::from(user)).rotate_left(1);
        let bits = mixed(self.seed ^ mixed(place.wrapping_add(u64::from(order))));
        match self.kind(user) {
            Kind::Regular => 20 + about_the_middle(39, bits),
            Kind::New => 100 + about_the_middle(49, bits),
        }
    }
}

/// 0 to twice `half`, as the sum of two dice: the middle is the most frequent.
fn about_the_middle(half: u64, bits: u64) -> u64 {
    let (one, other) = (bits >> 32, bits & u64::from(u32::MAX));
    one % (half + 1) + other % (half + 1)
}

/// A step of SplitMix64 (Steele, Lea and Flood, 2014).
fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}
