//! The pieces of rounds: how the next one that is kept begins, and what one has left of its list.

use super::law::{can_be_drawn, counts_all};
use super::{put_numbers, take_all, take_number};
use crate::amounts::{Amounts, Item, Returned};
use crate::bytes::{put_varint, Reader};
use crate::core::Core;
use crate::draw::Draw;
use crate::ledger::{HashKey, Ledger};
use crate::limits::{AMOUNTS_PER_PIECE, INTEGER_MAX};
use crate::lists;
use crate::outcome::Refused;
use crate::rounds::OldRound;
use crate::Sale;

impl Sale {
    /// The ledgers of all rounds that are kept, the oldest first, the stored one last.
    pub(super) fn ledgers(&self) -> impl Iterator<Item = &Ledger> {
        let older = self.rounds().into_iter().flat_map(|rounds| rounds.older.iter());
        older.map(|old| &old.ledger).chain([&self.ledger])
    }

    /// The round that is over at this place among all that are kept; `None` for the stored one.
    fn old_at(&self, place: usize) -> Option<&OldRound> {
        self.rounds()?.older.get(place)
    }

    /// How the round at this place begins: number, supply, grants before it, epochs; in a sale that
    /// repeats a list how many amounts, too.
    pub(super) fn write_turn(&self, place: usize) -> Vec<u8> {
        let mut out = Vec::new();
        let old = self.old_at(place);
        let (core, ledger) = old.map_or((&self.core, &self.ledger), |old| (&old.core, &old.ledger));
        put_numbers(&mut out, [core.round, core.supply, ledger.base()]);
        put_epochs(&mut out, ledger.epochs());
        let begun = old.and_then(|old| old.returned.as_ref()).map(Returned::begun);
        put_numbers(&mut out, begun.or(self.repeated().map(Amounts::begun)));
        out
    }

    /// What the round at this place has left of a list that every round begins with. Of a round
    /// that is over only what came back can still be asked for.
    pub(super) fn items_left(&self, place: usize) -> impl Iterator<Item = Item> + '_ {
        let list = self.repeated();
        let old = list.and_then(|_| self.old_at(place));
        let stored = list.filter(|_| old.is_none()).into_iter().flat_map(Amounts::items);
        let returned = old.and_then(|old| old.returned.as_ref()).into_iter();
        let returned = returned.flat_map(|returned| returned.amounts().iter().copied());
        returned.map(Item::One).chain(stored)
    }

    /// Some of it, from the item `first` on: each an amount, or 0 and how many of the list.
    pub(super) fn write_left(&self, place: usize, first: usize) -> Vec<u8> {
        let mut out = Vec::new();
        for item in self.items_left(place).skip(first).take(AMOUNTS_PER_PIECE) {
            match item {
                Item::One(amount) => put_varint(&mut out, amount),
                Item::Told(len) => put_numbers(&mut out, [0, len]),
            }
        }
        out
    }
}

/// Appends epochs: how many, then the first grant of each and its number.
pub fn put_epochs(out: &mut Vec<u8>, epochs: &[(u32, u64)]) {
    put_varint(out, epochs.len() as u64);
    put_numbers(out, epochs.iter().flat_map(|(first, epoch)| [(*first).into(), *epoch]));
}

/// Announces the epochs of a ledger that has no grant yet.
pub fn take_epochs(reader: &mut Reader<'_>, ledger: &mut Ledger, newest: u64) -> Option<()> {
    for _ in 0..take_number(reader)? {
        let first = u32::try_from(take_number(reader)?).ok()?;
        let epoch = take_number(reader)?;
        if epoch > newest || !ledger.expect_epoch(first, epoch) {
            return None;
        }
    }
    Some(())
}

/// How a round begins that a rewritten sale keeps.
pub struct TurnTo {
    pub round: u64,
    pub supply: u64,
    pub ledger: Ledger,
    /// Amounts of a list that it begins with; 0 in other sales.
    pub begun: u64,
}

/// Reads what [`Sale::write_turn`] wrote. `is_listed`: of a sale that repeats a list.
pub fn turn_in(piece: &[u8], key: HashKey, is_listed: bool) -> Option<TurnTo> {
    take_all(piece, |reader| {
        let (round, supply) = (take_number(reader)?, take_number(reader)?);
        let base = u32::try_from(take_number(reader)?).ok()?;
        let mut ledger = Ledger::starting(key, base, round);
        take_epochs(reader, &mut ledger, INTEGER_MAX)?;
        let begun = if is_listed { take_number(reader)? } else { 0 };
        Some(TurnTo { round, supply, ledger, begun })
    })
}

/// Checks a turn to the next round that is kept, and moves the numbers along.
pub fn check_turn(sale: &Sale, piece: &[u8], core: &mut Core) -> Result<(), Refused> {
    let list = sale.repeated();
    let next = turn_in(piece, [0; 2], list.is_some()).ok_or(Refused::Unknown)?;
    let epochs = next.ledger.epochs();
    let follows = sale.rounds().is_some()
        && next.round > core.round
        && next.ledger.base() >= core.grants
        && epochs.last().is_none_or(|(_, epoch)| *epoch <= core.epoch)
        && sale.ledger.has_only_epochs_that_granted()
        && leaves_list(sale, core)
        && sale.can_begin(next.supply, next.begun);
    if !follows {
        return Err(Refused::Law);
    }
    let (round, supply, grants) = (next.round, next.supply, next.ledger.base());
    let packets = match list {
        Some(_) => Some(next.begun),
        None => sale.terms.draw.as_ref().and_then(Draw::packets),
    };
    let available = supply;
    *core = Core { round, supply, available, held: 0, sold: 0, packets, grants, ..*core };
    let fits = counts_all(core, sale.restocks.len() as u64, sale.fences.len() as u64);
    let holds = core.is_lawful() && fits && can_be_drawn(sale, core);
    holds.then_some(()).ok_or(Refused::Law)
}

/// Whether what a round that is over has left of its list is all that came back to it.
fn leaves_list(sale: &Sale, core: &Core) -> bool {
    let exact = sale.terms.schedule.is_some_and(|schedule| !schedule.carry);
    let grants = core.grants.saturating_sub(sale.ledger.base());
    let list = sale.repeated();
    list.is_none_or(|list| lists::is_told(sale) && list.leaves(core, grants, exact))
}

/// Takes over a turn that was checked.
pub fn take_turn(sale: &mut Sale, piece: &[u8]) {
    let is_listed = sale.repeated().is_some();
    if let Some(next) = turn_in(piece, sale.ledger.key(), is_listed) {
        sale.turn(next.round, next.ledger.base() + 1, (0, false));
        sale.ledger = next.ledger;
        if let Some(list) = sale.amounts_mut().filter(|_| is_listed) {
            list.begin(next.begun);
        }
    }
}
