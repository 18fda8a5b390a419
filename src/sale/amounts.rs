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

    /// How many of those that the round began with are left.
    pub fn undrawn(&self) -> u64 {
        self.front_len
    }

    /// Whether these are all that came back in a round that stands at `core`, after so many grants
    /// of its own, and is over. `exact`: it began with the told list and nothing else.
    pub fn leaves(&self, core: &Core, grants: u64, exact: bool) -> bool {
        let undrawn = self.begun.saturating_sub(grants);
        let units = core.available.checked_sub(self.sum);
        self.front.is_empty()
            && agrees(core, undrawn, self.len(), self.sum)
            && (!exact || self.sum_of_told(undrawn) == units)
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

    /// Whether these are all that came back in the round, which stands at `core` after so many
    /// grants of its own.
    pub fn is_all_of(&self, core: &Core, grants: u64) -> bool {
        let sum = self.amounts.iter().fold(0u64, |sum, amount| sum.saturating_add(*amount));
        agrees(core, self.begun.saturating_sub(grants), self.amounts.len() as u64, sum)
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

/// Whether a round has as many packets and units as are undrawn and as came back, those with
/// their sum. Grants take first what the round began with, so their number says what is undrawn.
fn agrees(core: &Core, undrawn: u64, returned: u64, sum: u64) -> bool {
    let units = core.available.checked_sub(sum);
    core.packets == returned.checked_add(undrawn)
        && units.is_some_and(|units| undrawn <= units && (undrawn == 0) == (units == 0))
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

#[cfg(test)]
mod tests {
    use super::*;

    const TOLD: [u64; 3] = [5, 1, 9];

    /// All amounts, one by one.
    fn drained(mut list: Amounts) -> Vec<u64> {
        std::iter::from_fn(|| list.take_first()).collect()
    }

    #[test]
    fn what_is_left_comes_before_the_next_list() {
        let mut list = Amounts::repeated(&TOLD);
        assert_eq!((list.take_first(), list.take_first()), (Some(5), Some(1)));
        list.push(1);
        let mut old = list.turn(1, true);
        assert_eq!((old.begun(), list.begun(), list.undrawn()), (3, 5, 5));
        assert_eq!((list.len(), list.sum(), list.first()), (5, 25, Some(9)));
        // Two further rounds are skipped: their lists are told in one word.
        list.turn(2, true);
        let items: Vec<Item> = list.items().collect();
        assert_eq!(items, [Item::Told(1), Item::One(1), Item::Told(9)]);
        // What comes back to the round that is over, or is taken there, is its own affair.
        old.push(5);
        assert!(old.take(1) && !old.take(9));
        assert_eq!(*old.amounts(), [5]);
        assert_eq!(drained(list), [9, 1, 5, 1, 9, 5, 1, 9, 5, 1, 9]);
    }

    #[test]
    fn what_is_left_is_dropped() {
        let mut list = Amounts::repeated(&TOLD);
        list.take_first();
        list.push(5);
        let old = list.turn(1, false);
        assert_eq!((old.begun(), old.amounts().len()), (3, 1));
        assert_eq!((list.len(), list.sum(), list.begun()), (3, 15, 3));
        assert_eq!(drained(list), TOLD);
    }

    #[test]
    fn a_turn_copies_no_amount() {
        let told = vec![7; 100_000];
        let mut list = Amounts::repeated(&told);
        let full = list.heap_bytes();
        (0..50_000).for_each(|_| _ = list.take_first());
        (0..50_000).for_each(|_| list.push(7));
        let with_back = list.heap_bytes();
        let mut old = list.turn(40_000, true);
        assert_eq!((list.len(), list.sum()), (4_000_100_000, 28_000_700_000));
        assert!(list.heap_bytes() < with_back + 200, "{} of {with_back}", list.heap_bytes());
        assert_eq!(old.heap_bytes(), 0, "it is shared");
        old.push(7);
        assert!(old.heap_bytes() >= 400_008, "and is its own once it differs");
        drop(list.turn(1, false));
        assert!(list.heap_bytes() < full + 200);
    }

    /// A small generator (xorshift64*): the same sequence every time.
    fn below(state: &mut u64, bound: u64) -> u64 {
        *state ^= *state >> 12;
        *state ^= *state << 25;
        *state ^= *state >> 27;
        (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % bound
    }

    /// Against a list that is written out. What came back begins at `back` there.
    #[test]
    fn it_is_the_list_that_it_stands_for() {
        let mut state = 77;
        for _ in 0..300 {
            let told: Vec<u64> = (0..1 + below(&mut state, 4)).map(|_| 1 + state % 3).collect();
            let (mut list, mut whole) = (Amounts::repeated(&told), told.clone());
            let (mut back, mut begun) = (whole.len(), whole.len());
            for _ in 0..60 {
                let amount = 1 + below(&mut state, 3);
                match below(&mut state, 8) {
                    0..=3 => {
                        let first = (!whole.is_empty()).then(|| whole.remove(0));
                        assert_eq!(AmountsTrial::default().take_first(&list), first);
                        assert_eq!((list.first(), list.take_first()), (first, first));
                        back = back.saturating_sub(1);
                    }
                    4 | 5 => {
                        list.push(amount);
                        whole.push(amount);
                    }
                    6 => {
                        let place = whole[back..].iter().rposition(|other| *other == amount);
                        place.into_iter().for_each(|place| _ = whole.remove(back + place));
                        assert_eq!(AmountsTrial::default().take(&list, amount), place.is_some());
                        assert_eq!(list.take(amount), place.is_some());
                    }
                    _ => {
                        let (lists, keep) = (1 + below(&mut state, 3), amount > 1);
                        let old = list.turn(lists, keep);
                        let returned: Vec<u64> = old.amounts().iter().copied().collect();
                        assert_eq!((old.begun(), returned), (begun as u64, whole[back..].to_vec()));
                        whole.truncate(if keep { whole.len() } else { 0 });
                        (0..lists).for_each(|_| whole.extend(&told));
                        (back, begun) = (whole.len(), whole.len());
                    }
                }
                assert_eq!((list.len(), list.undrawn()), (whole.len() as u64, back as u64));
                assert_eq!((list.sum(), list.begun()), (whole.iter().sum(), begun as u64));
            }
            assert_eq!(drained(list), whole);
        }
    }

    /// Several changes of one command: grabs through what was undrawn into what came back, then
    /// what comes back in between, and a reclaim that looks into all of it.
    #[test]
    fn a_trial_goes_through_the_whole_list() {
        let mut list = Amounts::repeated(&TOLD);
        list.take_first();
        list.push(4);
        let mut trial = AmountsTrial::default();
        trial.push(8);
        let firsts: Vec<_> = (0..3).map(|_| trial.take_first(&list)).collect();
        assert_eq!(firsts, [Some(1), Some(9), Some(4)]);
        assert!(!trial.take(&list, 4), "it was drawn");
        trial.push(4);
        assert!(trial.take(&list, 4));
        assert_eq!((trial.take_first(&list), trial.take_first(&list)), (Some(8), None));
        let mut trial = AmountsTrial::default();
        assert!(trial.take(&list, 4) && !trial.take(&list, 4));
        let firsts: Vec<_> = (0..3).map(|_| trial.take_first(&list)).collect();
        assert_eq!(firsts, [Some(1), Some(9), None]);
    }
}
