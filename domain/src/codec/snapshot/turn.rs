//! The pieces of rounds: how the next one that is kept begins.

use super::law::{can_be_drawn, counts_all};
use super::{put_numbers, take_all, take_number};
use crate::ledger::{HashKey, Ledger};
use crate::memory::bytes::{put_varint, Reader};
use crate::model::balances::Balances;
use crate::model::limits::INTEGER_MAX;
use crate::model::outcome::Refused;
use crate::rounds::past::OldRound;
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

    /// How the round at this place begins: number, supply, grants before it, epochs.
    pub(super) fn write_turn(&self, place: usize) -> Vec<u8> {
        let mut out = Vec::new();
        let old = self.old_at(place);
        let (balances, ledger) =
            old.map_or((&self.balances, &self.ledger), |old| (&old.balances, &old.ledger));
        put_numbers(&mut out, [balances.round, balances.supply, ledger.base()]);
        put_epochs(&mut out, ledger.epochs());
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
}

/// Reads what [`Sale::write_turn`] wrote.
pub fn turn_in(piece: &[u8], key: HashKey) -> Option<TurnTo> {
    take_all(piece, |reader| {
        let (round, supply) = (take_number(reader)?, take_number(reader)?);
        let base = u32::try_from(take_number(reader)?).ok()?;
        let mut ledger = Ledger::starting(key, base, round);
        take_epochs(reader, &mut ledger, INTEGER_MAX)?;
        Some(TurnTo { round, supply, ledger })
    })
}

/// Checks a turn to the next round that is kept, and moves the numbers along.
pub fn check_turn(sale: &Sale, piece: &[u8], balances: &mut Balances) -> Result<(), Refused> {
    let next = turn_in(piece, [0; 2]).ok_or(Refused::Unknown)?;
    let epochs = next.ledger.epochs();
    let follows = sale.rounds().is_some()
        && next.round > balances.round
        && next.ledger.base() >= balances.grants
        && epochs.last().is_none_or(|(_, epoch)| *epoch <= balances.epoch)
        && sale.ledger.has_only_epochs_that_granted();
    if !follows {
        return Err(Refused::Law);
    }
    let (round, supply, grants) = (next.round, next.supply, next.ledger.base());
    let packets = sale.packets_begun();
    let available = supply;
    *balances =
        Balances { round, supply, available, held: 0, sold: 0, packets, grants, ..*balances };
    let fits = counts_all(balances, sale.restocks.len() as u64, sale.fences.len() as u64);
    let holds = balances.is_lawful() && fits && can_be_drawn(sale, balances);
    holds.then_some(()).ok_or(Refused::Law)
}

/// Takes over a turn that was checked.
pub fn take_turn(sale: &mut Sale, piece: &[u8]) {
    if let Some(next) = turn_in(piece, sale.ledger.key()) {
        sale.start_round(next.round, next.ledger.base() + 1);
        sale.ledger = next.ledger;
    }
}
