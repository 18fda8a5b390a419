//! Red packets: the sale draws the amounts, not the caller.
//!
//! A draw is a keyed pseudo-random function of the sale's secret and the grant's seq, reduced to a
//! range without bias. Earlier amounts reveal nothing of later ones. Nodes can't differ: the
//! primary draws while it decides, and the effect carries the amount. Packets need no memory of
//! their own: the numbers of packets and of units left are enough. Only a list is kept.
//!
//! PACKETS follows the double-mean method known from WeChat's red packets: each packet is
//! uniform up to twice the mean of the rest.

mod tests;

use core::hash::Hasher;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher24;
use siphasher::sip128::{self, Hasher128};

use crate::memory::tree_bytes;
use crate::model::balances::Balances;
use crate::model::limits::{DRAW_AMOUNTS_MAX, GRANTS_MAX, INTEGER_MAX};
use crate::model::outcome::Misuse;
use crate::model::wire;

/// The kinds of draws of a sale. Fixed at INIT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Draw {
    /// A fixed number of packets of at least `min`, each uniform up to twice the mean of the rest.
    Packets {
        /// Number of packets.
        #[serde(deserialize_with = "wire::integer")]
        packets: u64,
        /// The smallest amount of a packet.
        #[serde(deserialize_with = "wire::integer")]
        min: u64,
    },
    /// Uniform in `low..=high`, limited to the available units.
    Uniform {
        /// The smallest amount.
        #[serde(deserialize_with = "wire::integer")]
        low: u64,
        /// The largest amount.
        #[serde(deserialize_with = "wire::integer")]
        high: u64,
    },
    /// The supply in equal packets; the first packets get one unit of the remainder each.
    Equal {
        /// Number of packets.
        #[serde(deserialize_with = "wire::integer")]
        packets: u64,
    },
    /// The amounts of a list, in order. The list is kept elsewhere; the fingerprint identifies it.
    List {
        /// Number of amounts.
        #[serde(deserialize_with = "wire::integer")]
        amounts: u64,
        /// A hash of all amounts.
        fingerprint: [u8; 16],
    },
}

impl Draw {
    /// A draw from this list.
    pub fn list(amounts: &[u64]) -> Draw {
        let mut hasher = sip128::SipHasher24::new();
        amounts.iter().for_each(|amount| hasher.write(&amount.to_le_bytes()));
        let fingerprint = hasher.finish128().as_bytes();
        Draw::List { amounts: amounts.len() as u64, fingerprint }
    }

    /// Number of packets in all; `None` if the sale has no fixed number.
    pub fn packets(&self) -> Option<u64> {
        match *self {
            Draw::Packets { packets, .. } | Draw::Equal { packets } => Some(packets),
            Draw::List { amounts, .. } => Some(amounts),
            Draw::Uniform { .. } => None,
        }
    }

    /// The draw as INIT named it, for people to read; a list is shown by its length.
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

    /// Whether enough is available for the next draw, so that no due hold need expire for it.
    pub fn is_covered(&self, balances: &Balances, dice: &Dice) -> bool {
        match *self {
            Draw::Uniform { low, high } => balances.available >= dice.range(low, high),
            _ => balances.packets.is_some_and(|packets| packets > 0),
        }
    }

    /// The next amount; `None` if no packet or no unit is left. `first` is the list's first amount.
    pub fn amount(&self, balances: &Balances, first: Option<u64>, dice: &Dice) -> Option<u64> {
        let (packets, available) = (balances.packets.unwrap_or(1), balances.available);
        if packets == 0 || available == 0 {
            return None;
        }
        match *self {
            Draw::Packets { .. } if packets == 1 => Some(available),
            Draw::Packets { min, .. } => {
                // The law guarantees each packet left its minimum, so neither bound is below the
                // minimum. Twice the available units stay far below 64 bits.
                let later = (packets - 1).saturating_mul(min);
                let most = (2 * available / packets).min(available.saturating_sub(later));
                Some(dice.range(min, most.max(min)))
            }
            Draw::Uniform { low, high } => Some(dice.range(low, high).min(available)),
            // The first packets have got the remainder once the rest divides evenly.
            Draw::Equal { .. } => Some(available.div_ceil(packets)),
            Draw::List { .. } => first,
        }
    }
}

/// Guarantees of a draw, checked at INIT and after every change.
impl Draw {
    /// Whether a sale of `supply` can guarantee this draw. `amounts` are those of the list.
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

    /// Whether the packets left can share the available units: no unit is left over, no packet goes
    /// empty.
    pub fn is_lawful(&self, balances: &Balances) -> bool {
        let (Some(packets), available) = (balances.packets, balances.available) else {
            return self.packets().is_none();
        };
        // A sale with packets has a fixed supply, so nothing was ever promised beyond it.
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

    /// Whether a draw can have granted `qty` in a sale of `supply`.
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

/// The random numbers of one grant.
#[derive(Clone, Copy, Debug)]
pub struct Dice<'s> {
    secret: &'s [u8; 16],
    seq: u64,
}

impl<'s> Dice<'s> {
    /// The random numbers of grant `seq` in the sale with this secret.
    pub fn new(secret: &'s [u8; 16], seq: u64) -> Self {
        Dice { secret, seq }
    }

    /// 64 uniform bits, different for every attempt.
    fn bits(&self, attempt: u64) -> u64 {
        let numbers = [&self.seq.to_le_bytes()[..], &attempt.to_le_bytes()];
        keyed(self.secret, Purpose::Draw, &numbers)
    }

    /// A uniform number in `low..=high`, a range of at most 2^53 numbers. Bits beyond the last
    /// whole multiple of the range are drawn again, so that no number is favoured.
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

/// Purpose of a hash under a sale's secret. The purpose is the first hashed byte, so two purposes
/// never hash equal bytes.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
pub(crate) enum Purpose {
    Draw = b'd',
    Modulo = b'm',
    Sample = b's',
}

/// 64 uniform bits for the concatenated `parts`, by SipHash-2-4 (Aumasson and Bernstein, 2012).
/// SipHash is a keyed pseudo-random function: nobody can guess an amount, or choose an id that
/// passes SAMPLE. All nodes get equal bits. The function is inlined into its callers, whose number
/// of parts is constant, because SAMPLE hashes on every call.
#[inline(always)]
pub(crate) fn keyed(secret: &[u8; 16], purpose: Purpose, parts: &[&[u8]]) -> u64 {
    let mut hasher = SipHasher24::new_with_key(secret);
    hasher.write(&[purpose as u8]);
    parts.iter().for_each(|part| hasher.write(part));
    hasher.finish()
}

/// Bytes of one node of a tree of pairs of numbers: eleven entries and a head.
const NODE_BYTES: usize = 192;

/// The amounts of DRAW LIST that a sale has still to give, in order.
///
/// Amounts are drawn from the front; a returned amount goes to the end. A late payment takes an
/// amount equal to its own, the last one. Only the returned amounts are searched, which is enough.
/// Returned amounts come last, so none was drawn while an earlier amount is left. So the amount of
/// every grant that is no longer live is among them. Returned amounts are indexed by position and
/// by amount, so each step is O(log n).
#[derive(Clone, Debug, Default)]
pub struct Amounts {
    /// Amounts of INIT that nobody has drawn; they come before all others.
    initial: VecDeque<u64>,
    /// Returned amounts, and all amounts of a loaded list, by position.
    returned: BTreeMap<u64, u64>,
    /// The returned amounts, each with its position, by amount.
    by_amount: BTreeSet<(u64, u64)>,
    /// The position of the next returned amount.
    next_index: u64,
    sum: u64,
}

impl Amounts {
    /// The next amount.
    pub fn first(&self) -> Option<u64> {
        let returned = || self.returned.first_key_value().map(|(_, amount)| amount);
        self.initial.front().or_else(returned).copied()
    }

    /// Number of amounts left.
    pub fn len(&self) -> u64 {
        (self.initial.len() + self.returned.len()) as u64
    }

    /// Whether no amount is left.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Sum of the amounts left.
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// Whether an amount equal to `amount` was returned.
    pub fn contains(&self, amount: u64) -> bool {
        self.indexes_of(amount).next().is_some()
    }

    /// All amounts left, in order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.initial.iter().chain(self.returned.values()).copied()
    }

    /// Positions of the returned amounts equal to `amount`, in order.
    fn indexes_of(&self, amount: u64) -> impl DoubleEndedIterator<Item = u64> + '_ {
        self.by_amount.range((amount, 0)..=(amount, u64::MAX)).map(|(_, index)| *index)
    }

    /// Adds an amount at the end.
    pub fn push(&mut self, amount: u64) {
        self.returned.insert(self.next_index, amount);
        self.by_amount.insert((amount, self.next_index));
        self.next_index += 1;
        self.sum = self.sum.saturating_add(amount);
    }

    /// Takes the first amount out.
    pub fn take_first(&mut self) -> Option<u64> {
        let returned = || {
            let (index, amount) = self.returned.pop_first()?;
            self.by_amount.remove(&(amount, index));
            Some(amount)
        };
        let amount = self.initial.pop_front().or_else(returned)?;
        self.sum = self.sum.saturating_sub(amount);
        Some(amount)
    }

    /// Removes the last returned amount equal to `amount`. False if there is none.
    pub fn remove(&mut self, amount: u64) -> bool {
        let Some(index) = self.indexes_of(amount).next_back() else { return false };
        self.returned.remove(&index);
        self.by_amount.remove(&(amount, index));
        self.sum = self.sum.saturating_sub(amount);
        true
    }

    /// Approximate bytes of heap in use.
    pub fn heap_bytes(&self) -> usize {
        let initial = self.initial.capacity() * size_of::<u64>();
        initial + 2 * tree_bytes(self.returned.len(), NODE_BYTES)
    }

    /// Approximate number of heap blocks: the cost of freeing the list.
    pub fn heap_blocks(&self) -> usize {
        1 + 2 * tree_bytes(self.returned.len(), NODE_BYTES) / NODE_BYTES
    }
}

impl FromIterator<u64> for Amounts {
    fn from_iter<I: IntoIterator<Item = u64>>(amounts: I) -> Self {
        let initial: VecDeque<u64> = amounts.into_iter().collect();
        let sum = initial.iter().fold(0u64, |sum, amount| sum.saturating_add(*amount));
        Amounts { initial, sum, ..Amounts::default() }
    }
}

/// The effect of planned changes on a list, without a copy of it.
#[derive(Clone, Debug, Default)]
pub struct PlannedAmounts {
    /// Number of INIT's amounts that the plan draws.
    initial: usize,
    /// All returned amounts at positions below this one are drawn or taken by the plan.
    drawn_to: u64,
    /// Further positions whose amounts the plan takes.
    taken: BTreeSet<u64>,
    /// Amounts that the plan returns and has not taken again.
    back: Amounts,
}

impl PlannedAmounts {
    /// Takes the first amount.
    pub fn take_first(&mut self, list: &Amounts) -> Option<u64> {
        if let Some(amount) = list.initial.get(self.initial) {
            self.initial += 1;
            return Some(*amount);
        }
        let left = list.returned.range(self.drawn_to..);
        for (index, amount) in left {
            self.drawn_to = index + 1;
            if !self.taken.remove(index) {
                return Some(*amount);
            }
        }
        self.back.take_first()
    }

    /// Puts an amount at the end.
    pub fn push(&mut self, amount: u64) {
        self.back.push(amount);
    }

    /// Removes the last returned amount equal to `amount`. False if there is none.
    pub fn remove(&mut self, list: &Amounts, amount: u64) -> bool {
        if self.back.remove(amount) {
            return true;
        }
        self.index_of(list, amount).is_some_and(|index| self.taken.insert(index))
    }

    /// The first amount.
    pub fn first(&self, list: &Amounts) -> Option<u64> {
        if let Some(amount) = list.initial.get(self.initial) {
            return Some(*amount);
        }
        let mut left = list.returned.range(self.drawn_to..);
        let returned = left.find(|(index, _)| !self.taken.contains(index));
        returned.map(|(_, amount)| *amount).or_else(|| self.back.first())
    }

    /// Whether an amount equal to `amount` was returned.
    pub fn contains(&self, list: &Amounts, amount: u64) -> bool {
        self.back.contains(amount) || self.index_of(list, amount).is_some()
    }

    /// The position of the last amount equal to `amount` among those returned before the plan.
    fn index_of(&self, list: &Amounts, amount: u64) -> Option<u64> {
        let left = list.indexes_of(amount).rev().take_while(|index| *index >= self.drawn_to);
        left.into_iter().find(|index| !self.taken.contains(index))
    }
}
