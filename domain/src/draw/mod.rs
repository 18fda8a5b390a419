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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::effect::{Change, Effect, Granting, Importing};
    use crate::model::outcome::Outcome;
    use crate::request::terms::{Terms, TermsChange};
    use crate::request::{Amount, Grab, Import, Init, Request, Restock};
    use crate::rules::decide::decide_new;
    use crate::testing::{self, at, bytes_of, created, grab, reloaded, run, SECRET};
    use crate::Sale;

    fn init(draw: Draw, amounts: &[u64], supply: u64, hold_ms: u64) -> Init {
        let terms = Terms { limit: 0, grabs: 1, hold_ms, draw: Some(draw), ..Terms::default() };
        Init { amounts: amounts.to_vec(), ..testing::init(supply, terms) }
    }

    fn sale(draw: Draw, amounts: &[u64], supply: u64, hold_ms: u64) -> Sale {
        created(&init(draw, amounts, supply, hold_ms), 1)
    }

    fn drawn(sale: &mut Sale, user: &str, clock_ms: u64) -> u64 {
        match grab(sale, user, clock_ms) {
            Outcome::Granted { grant, .. } => grant.qty,
            other => panic!("{user}: {other:?}"),
        }
    }

    #[test]
    fn ten_million_packets_cost_nothing() {
        let packets = 10_000_000;
        let mut sale = sale(Draw::Packets { packets, min: 1 }, &[], 3 * packets, 0);
        assert!(sale.memory_bytes() < 4096);
        assert!(drawn(&mut sale, "a", 2) <= 6);
        assert_eq!(sale.balances().packets, Some(packets - 1));
    }

    /// A drawn amount above the limit could never be granted to anybody.
    #[test]
    fn a_limit_on_drawn_amounts_is_refused() {
        let list = [5, 3];
        let mut wanted = init(Draw::list(&list), &list, 8, 0);
        let mut sale = created(&wanted, 1);
        for limit in [1, 8] {
            wanted.terms.limit = limit;
            let refused = Outcome::Misuse(Misuse::DrawTakesNoLimit);
            assert_eq!(decide_new(&wanted, &at(1)).outcome, refused);
            let change = TermsChange { limit: Some(limit), ..TermsChange::default() };
            assert_eq!(run(&mut sale, &Request::Alter(change), 2), refused);
            let change = TermsChange { limit: Some(limit), ..TermsChange::default() };
            let change = Change::untimed(Effect::Alter(Box::new(change)));
            assert!(sale.apply(sale.balances().version, [change]).is_err());
        }
        let change = TermsChange { limit: Some(0), grabs: Some(2), ..TermsChange::default() };
        assert_eq!(run(&mut sale, &Request::Alter(change), 2), Outcome::Done);
        assert_eq!((drawn(&mut sale, "u", 2), drawn(&mut sale, "u", 3)), (5, 3));
    }

    #[test]
    fn a_repeated_init_is_known_by_its_list() {
        let (list, other) = ([5, 1, 9, 1], [5, 1, 1, 9]);
        let mut sale = sale(Draw::list(&list), &list, 16, 0);
        drawn(&mut sale, "a", 2);
        let again = Request::Init(init(Draw::list(&list), &list, 16, 0));
        assert_eq!(run(&mut sale, &again, 3), Outcome::Done);
        let again = Request::Init(init(Draw::list(&other), &other, 16, 0));
        assert_eq!(run(&mut sale, &again, 3), Outcome::Misuse(Misuse::SaleExists));
    }

    #[test]
    fn a_long_list_is_saved_in_bounded_pieces() {
        let list: Vec<u64> = (1..=DRAW_AMOUNTS_MAX).collect();
        let mut sale = sale(Draw::list(&list), &list, list.iter().sum(), 0);
        assert_eq!(drawn(&mut sale, "a", 2), 1);
        let pieces = bytes_of(&sale);
        assert!(pieces.len() > 20 && pieces.iter().all(|piece| piece.len() < 65_536));
        assert_eq!(bytes_of(&reloaded(&sale)), pieces);
    }

    #[test]
    fn a_broken_effect_on_a_draw_is_refused() {
        let list = [5, 3];
        let mut sale = sale(Draw::list(&list), &list, 8, 0);
        let version = sale.balances().version;
        let grant = |qty| Effect::Grant(Granting { user: b"u", req: None, qty, hold_ms: 0 });
        let restock = Effect::Restock { req: b"r", delta: 1, applied: 1 };
        let import = Effect::Import(Importing { user: b"u", req: b"r", qty: 5, at: 1 });
        for effect in [grant(3), grant(8), grant(1), restock, import] {
            let change = Change::untimed(effect.clone());
            assert!(sale.apply(version, [change]).is_err(), "{effect:?}");
        }
        assert!(sale.apply(version, [Change::untimed(grant(5))]).is_ok());
    }

    #[test]
    fn the_supply_of_packets_is_fixed_and_no_amount_is_named() {
        let mut packets = sale(Draw::Packets { packets: 3, min: 2 }, &[], 40, 0);
        let mut uniform = sale(Draw::Uniform { low: 1, high: 2 }, &[], 40, 0);
        let restock = Request::Restock(Restock { delta: 5, req: b"r" });
        let import = Import { user: b"i", qty: 50, req: b"r", at: None, no_deficit: false };
        let fixed = Outcome::Misuse(Misuse::DrawFixesSupply);
        assert_eq!(run(&mut packets, &restock, 2), fixed);
        assert_eq!(run(&mut packets, &Request::Import(import), 2), fixed);
        assert_eq!(
            run(&mut uniform, &restock, 2),
            Outcome::Restocked { applied: 5, available: 45 }
        );
        let imported = run(&mut uniform, &Request::Import(import), 2);
        assert!(matches!(imported, Outcome::Granted { .. }), "{imported:?}");
        assert_eq!(bytes_of(&reloaded(&uniform)), bytes_of(&uniform));
        for amount in [Amount::Exactly(1), Amount::UpTo(1)] {
            let grab = Request::Grab(Grab { user: b"u", amount, req: None });
            let named = run(&mut uniform, &grab, 3);
            assert_eq!(named, Outcome::Misuse(Misuse::DrawTakesNoAmount));
        }
    }

    /// Of 2^53 numbers one in 2,048 draws lies beyond the last whole multiple, and is drawn again.
    #[test]
    fn what_would_favour_a_number_is_drawn_again() {
        let size = INTEGER_MAX + 1;
        let mut again = 0;
        for seq in 0..20_000 {
            let dice = Dice::new(&SECRET, seq);
            let is_whole = |attempt: &u64| dice.bits(*attempt) < u64::MAX - u64::MAX % size;
            let attempt = (0..).find(is_whole).unwrap();
            again += u64::from(attempt > 0);
            assert_eq!(dice.range(0, INTEGER_MAX), dice.bits(attempt) % size);
            assert_eq!(dice.range(7, 7), 7);
            assert_eq!(dice.range(7, 9), 7 + dice.bits(0) % 3);
        }
        assert!((1..50).contains(&again), "{again}");
    }

    /// What a dump may say that somebody drew.
    #[test]
    fn amounts_that_a_draw_can_come_to() {
        let list = [5, 3];
        let cases = [
            (Draw::Packets { packets: 3, min: 2 }, 10, vec![2, 3, 6], vec![0, 1]),
            (Draw::Uniform { low: 2, high: 4 }, 10, vec![1, 2, 4], vec![0, 5]),
            (Draw::Equal { packets: 3 }, 10, vec![3, 4], vec![0, 2, 5]),
            (Draw::list(&list), 8, vec![3, 5], vec![0]),
        ];
        for (draw, supply, drawn, never) in cases {
            assert!(drawn.iter().all(|qty| draw.can_draw(*qty, supply)), "{draw:?}");
            assert!(!never.iter().any(|qty| draw.can_draw(*qty, supply)), "{draw:?}");
        }
    }
}
