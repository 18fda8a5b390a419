//! The amounts of DRAW LIST: what a sale has still to give, in order.
//!
//! A list is drawn from its front; what comes back goes to its end. In a sale that repeats every
//! round begins with the list that INIT was told, with CARRY behind what the round before has left.
//! Such a list is not written out: the amounts of the told list that are still to be drawn are
//! counted, because they are always the last ones of so many copies of it, and what came back in
//! earlier rounds is shared with those. So a round begins at once, however long the list is.
//!
//! A reclaim looks for its amount only among those that came back. That is the whole list: while
//! anything before them is left none of them was drawn, so the amount of every grant that is no
//! longer live is there.

use std::collections::VecDeque;
use std::sync::Arc;

use smallvec::SmallVec;

use super::core::Core;
use super::ledger::Block;

/// Amounts that a round has begun with, or that it got from the one before.
#[derive(Clone, Debug)]
enum Part {
    /// The last so many of the told list, written one behind the other as often as needed.
    Told(u64),
    /// What came back in an earlier round, but for the first ones, which were drawn.
    Carried { amounts: Arc<VecDeque<u64>>, drawn: usize },
}

/// A part of a list as a snapshot writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// The last so many of the told list.
    Told(u64),
    One(u64),
}

/// The amounts of a list that are still to be drawn.
#[derive(Clone, Debug, Default)]
pub struct Amounts {
    /// What every round begins with; empty in a sale that does not repeat.
    told: Box<[u64]>,
    told_sum: u64,
    /// How many the stored round began with.
    begun: u64,
    /// Drawn first. Ends with amounts of the told list, so that what came back stays apart.
    front: VecDeque<Part>,
    front_len: u64,
    /// What came back, and in a sale that does not repeat all the others, too.
    back: VecDeque<u64>,
    sum: u64,
}

impl Amounts {
    /// The list of a sale that repeats: every round begins with these.
    pub fn repeated(told: &[u64]) -> Amounts {
        let mut list = Amounts::default();
        list.tell(told);
        list.begin(told.len() as u64);
        list.append_told(told.len() as u64);
        list
    }

    /// The next amount.
    pub fn first(&self) -> Option<u64> {
        if self.front.is_empty() {
            return self.back.front().copied();
        }
        self.front_at(0)
    }

    /// How many are left.
    pub fn len(&self) -> u64 {
        self.front_len + self.back.len() as u64
    }

    /// Whether none is left.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Their sum.
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// Amounts of the told list, 0 in a sale that does not repeat.
    pub fn told_len(&self) -> u64 {
        self.told.len() as u64
    }

    /// The sum of the told list.
    pub fn told_sum(&self) -> u64 {
        self.told_sum
    }

    /// The told list.
    pub fn told(&self) -> &[u64] {
        &self.told
    }

    /// How many the stored round began with.
    pub fn begun(&self) -> u64 {
        self.begun
    }

    /// Says how many the stored round begins with; they follow.
    pub fn begin(&mut self, amounts: u64) {
        self.begun = amounts;
    }

    /// What came back.
    pub fn returned(&self) -> &VecDeque<u64> {
        &self.back
    }

    /// Whether these can be what came back in a round that stands at `core` and is over.
    pub fn leaves(&self, core: &Core) -> bool {
        let rest = core.packets.and_then(|packets| packets.checked_sub(self.len()));
        let units = core.available.checked_sub(self.sum);
        self.front.is_empty() && rest.zip(units).is_some_and(can_be_others)
    }

    /// Whether it ends with amounts of the told list.
    pub fn ends_with_told(&self) -> bool {
        self.back.is_empty() && matches!(self.front.back(), Some(Part::Told(_)))
    }

    /// All that are left, in order.
    pub fn items(&self) -> impl Iterator<Item = Item> + '_ {
        let parts = self.front.iter().flat_map(|part| {
            let (told, carried) = match part {
                Part::Told(len) => (Some(Item::Told(*len)), None),
                Part::Carried { amounts, drawn } => (None, Some(amounts.iter().skip(*drawn))),
            };
            told.into_iter().chain(carried.into_iter().flatten().copied().map(Item::One))
        });
        parts.chain(self.back.iter().copied().map(Item::One))
    }

    /// Adds an amount at the end.
    pub fn push(&mut self, amount: u64) {
        self.back.push_back(amount);
        self.sum = self.sum.saturating_add(amount);
    }

    /// Takes the first amount out.
    pub fn take_first(&mut self) -> Option<u64> {
        let first = match self.front.is_empty() {
            true => self.back.pop_front()?,
            false => self.take_front()?,
        };
        self.sum = self.sum.saturating_sub(first);
        Some(first)
    }

    fn take_front(&mut self) -> Option<u64> {
        let first = self.front_at(0)?;
        let is_over = match self.front.front_mut()? {
            Part::Told(len) => {
                *len -= 1;
                *len == 0
            }
            Part::Carried { amounts, drawn } => {
                *drawn += 1;
                *drawn >= amounts.len()
            }
        };
        if is_over {
            self.front.pop_front();
        }
        self.front_len -= 1;
        Some(first)
    }

    /// The amount at a place before those that came back.
    fn front_at(&self, mut place: u64) -> Option<u64> {
        for part in &self.front {
            let len = match part {
                Part::Told(len) => *len,
                Part::Carried { amounts, drawn } => (amounts.len() - drawn) as u64,
            };
            let Some(further) = place.checked_sub(len) else { return self.part_at(part, place) };
            place = further;
        }
        None
    }

    fn part_at(&self, part: &Part, place: u64) -> Option<u64> {
        match part {
            Part::Told(len) => {
                let from_end = (len - place - 1) % self.told_len().max(1);
                self.told.iter().rev().nth(from_end as usize).copied()
            }
            Part::Carried { amounts, drawn } => amounts.get(drawn + place as usize).copied(),
        }
    }

    /// Takes out the last amount that is `amount`. False when none came back that is.
    pub fn take(&mut self, amount: u64) -> bool {
        let taken = take_last(&mut self.back, amount);
        self.sum = self.sum.saturating_sub(if taken { amount } else { 0 });
        taken
    }

    /// Adds to the told list.
    pub fn tell(&mut self, amounts: &[u64]) {
        let mut told = std::mem::take(&mut self.told).into_vec();
        told.extend_from_slice(amounts);
        self.told = told.into();
        self.told_sum = self.told.iter().fold(0, |sum, amount| amount.saturating_add(sum));
    }

    /// Sum of the last so many of the told list; `None` when it is beyond 64 bits.
    pub fn sum_of_told(&self, len: u64) -> Option<u64> {
        let whole = len.checked_div(self.told_len())?;
        let rest = (len % self.told_len()) as usize;
        let rest = self.told.iter().rev().take(rest).sum::<u64>();
        self.told_sum.checked_mul(whole)?.checked_add(rest)
    }

    /// Adds the last so many of the told list at the end.
    pub fn append_told(&mut self, len: u64) {
        self.carry();
        match self.front.back_mut() {
            // Those there end where the told list does.
            Some(Part::Told(last)) => *last += len,
            _ => self.front.push_back(Part::Told(len)),
        }
        self.front_len += len;
        self.sum = self.sum.saturating_add(self.sum_of_told(len).unwrap_or(u64::MAX));
    }

    /// What came back will be drawn before what follows. Shared with whoever keeps the result.
    fn carry(&mut self) -> Arc<VecDeque<u64>> {
        let amounts = Arc::new(std::mem::take(&mut self.back));
        if !amounts.is_empty() {
            self.front_len += amounts.len() as u64;
            self.front.push_back(Part::Carried { amounts: Arc::clone(&amounts), drawn: 0 });
        }
        amounts
    }

    /// The stored round is over: the next begins with the told list `lists` times, behind what is
    /// left if that is kept. The result is what the round that is over needs of its list.
    pub fn turn(&mut self, lists: u64, keep: bool) -> Returned {
        let returned = Returned { begun: self.begun, amounts: self.carry() };
        if !keep {
            self.front.clear();
            (self.front_len, self.sum) = (0, 0);
        }
        let told = self.told_len().saturating_mul(lists);
        if told > 0 {
            self.append_told(told);
        }
        self.begun = self.front_len;
        returned
    }

    /// The block of the told list, for a defragmenter that moves it.
    pub fn block_mut(&mut self) -> Option<Block<'_>> {
        (!self.told.is_empty()).then_some(Block::Slots(&mut self.told))
    }

    /// Bytes of heap in use.
    pub fn heap_bytes(&self) -> usize {
        let carried = self.front.iter().map(|part| match part {
            Part::Told(_) => 0,
            Part::Carried { amounts, .. } => bytes_of(amounts),
        });
        (self.told.len() + self.back.capacity()) * size_of::<u64>()
            + self.front.capacity() * size_of::<Part>()
            + carried.sum::<usize>()
    }

    /// Blocks of heap in use: what freeing costs.
    pub fn heap_blocks(&self) -> usize {
        3 + self.front.len()
    }
}

impl FromIterator<u64> for Amounts {
    fn from_iter<I: IntoIterator<Item = u64>>(amounts: I) -> Self {
        let mut list = Amounts::default();
        amounts.into_iter().for_each(|amount| list.push(amount));
        list
    }
}

/// What a round that is over keeps of its list: the amounts that came back. Those before them
/// can't be drawn any more; the numbers of the round count them.
#[derive(Clone, Debug, Default)]
pub struct Returned {
    begun: u64,
    /// Shared with the round that it was carried to, until either changes.
    amounts: Arc<VecDeque<u64>>,
}

impl Returned {
    /// How many amounts the round began with.
    pub fn begun(&self) -> u64 {
        self.begun
    }

    /// What came back.
    pub fn amounts(&self) -> &VecDeque<u64> {
        &self.amounts
    }

    /// Whether so many amounts, which are so many units, can be these and others.
    pub fn fits(&self, amounts: u64, units: u64) -> bool {
        let sum = self.amounts.iter().try_fold(0u64, |sum, amount| sum.checked_add(*amount));
        let others = amounts.checked_sub(self.amounts.len() as u64);
        let rest = sum.and_then(|sum| units.checked_sub(sum));
        others.zip(rest).is_some_and(can_be_others)
    }

    /// Adds an amount at the end.
    pub fn push(&mut self, amount: u64) {
        Arc::make_mut(&mut self.amounts).push_back(amount);
    }

    /// Takes out the last amount that is `amount`. False when there is none.
    pub fn take(&mut self, amount: u64) -> bool {
        take_last(Arc::make_mut(&mut self.amounts), amount)
    }

    /// Bytes of heap in use; what is shared is counted where it is still to be drawn.
    pub fn heap_bytes(&self) -> usize {
        match Arc::strong_count(&self.amounts) {
            1 => bytes_of(&self.amounts),
            _ => 0,
        }
    }
}

/// Whether so many amounts can be so many units.
fn can_be_others((amounts, units): (u64, u64)) -> bool {
    amounts <= units && (amounts == 0) == (units == 0)
}

fn bytes_of(amounts: &VecDeque<u64>) -> usize {
    size_of::<VecDeque<u64>>() + amounts.capacity() * size_of::<u64>()
}

fn take_last(list: &mut VecDeque<u64>, amount: u64) -> bool {
    let place = list.iter().rposition(|other| *other == amount);
    place.and_then(|place| list.remove(place)).is_some()
}

/// What changes that are tried would do to a list, without copying it: a grab takes from its
/// front, what comes back goes to its end. Only a reclaim, which is rare, looks into it.
#[derive(Clone, Debug, Default)]
pub struct AmountsTrial {
    taken: u64,
    back: SmallVec<[u64; 2]>,
    /// All that came back, from the first reclaim on.
    whole: Option<VecDeque<u64>>,
}

impl AmountsTrial {
    /// Takes the first amount.
    pub fn take_first(&mut self, list: &Amounts) -> Option<u64> {
        let first = match (self.taken.checked_sub(list.front_len), &mut self.whole) {
            (None, _) => list.front_at(self.taken)?,
            (Some(_), Some(whole)) => return whole.pop_front(),
            (Some(place), None) => {
                let place = place as usize;
                let from_back = |place: usize| self.back.get(place).copied();
                let listed = list.back.get(place).copied();
                listed.or_else(|| from_back(place.checked_sub(list.back.len())?))?
            }
        };
        self.taken += 1;
        Some(first)
    }

    /// Puts an amount at the end.
    pub fn push(&mut self, amount: u64) {
        match &mut self.whole {
            Some(whole) => whole.push_back(amount),
            None => self.back.push(amount),
        }
    }

    /// Takes that very amount. False when it is not there.
    pub fn take(&mut self, list: &Amounts, amount: u64) -> bool {
        let taken = self.taken.saturating_sub(list.front_len);
        self.take_of(&list.back, taken as usize, amount)
    }

    /// The same in a round that is over.
    pub fn take_old(&mut self, list: &Returned, amount: u64) -> bool {
        self.take_of(&list.amounts, 0, amount)
    }

    fn take_of(&mut self, list: &VecDeque<u64>, taken: usize, amount: u64) -> bool {
        let tried = &self.back;
        let whole = self
            .whole
            .get_or_insert_with(|| list.iter().chain(tried.iter()).skip(taken).copied().collect());
        take_last(whole, amount)
    }
}
