//! The base of a sale: everything but its lists, and the beginning of each kept round.

use serde::{Deserialize, Deserializer, Serialize};

use super::pieces::{can_be_drawn, counts_all};
use super::{completes, list_size};
use crate::admission::LISTS;
use crate::draw::Amounts;
use crate::ledger::{HashKey, Ledger};
use crate::model::balances::{Balances, Escrow};
use crate::model::limits::{ROUND_TOTALS_MAX, UNITS_MAX};
use crate::model::outcome::Refused;
use crate::model::wire;
use crate::request::Terms;
use crate::rounds::{Rounds, Total};
use crate::state::status::Tallies;
use crate::waitlist::Totals;
use crate::Sale;

/// A sale without its lists, and the counts and sums of its lists.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Base {
    id: u64,
    secret: [u8; 16],
    /// The numbers of the whole sale.
    pub(super) balances: Balances,
    #[serde(deserialize_with = "wire::moment")]
    created_at: u64,
    paused: bool,
    #[serde(deserialize_with = "wire::integer")]
    pub(super) initial_supply: u64,
    #[serde(deserialize_with = "wire::integer")]
    pub(super) winners: u64,
    #[serde(deserialize_with = "wire::integer")]
    pub(super) restocks: u64,
    #[serde(deserialize_with = "wire::integer")]
    pub(super) fences: u64,
    #[serde(deserialize_with = "wire::integer")]
    fences_dropped: u64,
    #[serde(deserialize_with = "wire::integer")]
    pub(super) amounts: u64,
    /// For every list: the users on it, and its entries with removed users included.
    pub(super) lists: [(u64, u64); LISTS.len()],
    /// The number of pieces after the base.
    #[serde(deserialize_with = "wire::integer")]
    pieces: u64,
    tallies: Tallies,
    /// The beginning of the oldest kept round; in a sale without rounds, of the only one.
    pub(super) start: RoundStart,
    pub(super) rounds: Option<RoundsOver>,
    pub(super) initial_terms: Terms,
    terms: Terms,
    /// The escrow, if the sale is a part of a split.
    pub(super) escrow: Option<Escrow>,
    /// The number of parts that this part has exchanged units with.
    #[serde(deserialize_with = "wire::integer")]
    pub(super) pairs: u64,
    /// The waiting list, if the sale has one.
    pub(super) waitlist: Option<ListStart>,
    /// The number of trimmed grants whose first quantity is kept.
    #[serde(deserialize_with = "wire::integer")]
    pub(super) trims: u64,
}

/// A waiting list without its entries.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct ListStart {
    /// The number of waiters.
    #[serde(deserialize_with = "wire::integer")]
    pub(super) waiting: u64,
    totals: Totals,
}

/// State of the rounds that are over, in a sale with rounds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct RoundsOver {
    #[serde(deserialize_with = "wire::integer")]
    base_supply: u64,
    #[serde(deserialize_with = "totals")]
    pub(super) totals: Vec<Total>,
}

fn totals<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Total>, D::Error> {
    // The current round is listed, too.
    wire::sequence(from, ROUND_TOTALS_MAX - 1, Some::<Total>)
}

impl Base {
    /// The base, followed by `pieces` pieces.
    pub(super) fn of(sale: &Sale, pieces: u64) -> Base {
        let totals = |rounds: &Rounds| rounds.totals.iter().copied().collect();
        let over = |rounds: &Rounds| RoundsOver {
            base_supply: rounds.base_supply,
            totals: totals(rounds),
        };
        Base {
            id: sale.id,
            secret: sale.secret,
            // Pieces that this sale still awaits are announced again: the copy awaits them, too.
            balances: Balances { version: sale.balances.version + sale.awaits, ..sale.balances },
            created_at: sale.created_at,
            paused: sale.paused,
            initial_supply: sale.initial_supply,
            winners: sale.ledger.winners(),
            restocks: sale.restocks.len() as u64,
            fences: sale.fences.len() as u64,
            fences_dropped: sale.fences.dropped(),
            amounts: sale.amounts().map_or(0, Amounts::len),
            lists: LISTS.map(|list| list_size(sale, list)),
            pieces: pieces + sale.awaits,
            tallies: sale.tallies,
            start: RoundStart::of(sale, 0),
            rounds: sale.rounds().map(over),
            initial_terms: (*sale.initial_terms).clone(),
            terms: sale.terms.clone(),
            escrow: sale.escrow,
            pairs: sale.pairs.as_slice().len() as u64,
            waitlist: sale
                .waitlist()
                .map(|list| ListStart { waiting: list.len(), totals: list.totals }),
            trims: sale.trims_len(),
        }
    }

    /// The sale at its beginning: all units available, no grant made.
    pub(crate) fn begin(&self, key: HashKey) -> Result<Sale, Refused> {
        let mut sale = Sale::blank(self.id, self.secret, self.terms.clone(), key);
        sale.ledger = self.start.ledger(key).ok_or(Refused::Law)?;
        sale.fences.set_dropped(self.fences_dropped);
        sale.initial_supply = self.initial_supply;
        sale.initial_terms = Box::new(self.initial_terms.clone());
        sale.created_at = self.created_at;
        sale.paused = self.paused;
        sale.tallies = self.tallies;
        if let Some(over) = &self.rounds {
            let mut rounds = Box::new(Rounds::default());
            rounds.base_supply = over.base_supply;
            rounds.totals = over.totals.clone().into();
            sale.extras_mut().rounds = Some(rounds);
        }
        if let (Some(list), Some(start)) = (sale.waitlist_mut(), &self.waitlist) {
            list.totals = start.totals;
        }
        // The INIT is a change, too, and comes before the pieces.
        let version = self.balances.version.checked_sub(self.pieces).filter(|it| *it > 0);
        let (version, packets) = (version.ok_or(Refused::Law)?, sale.packets_begun());
        sale.balances = self.start.balances(&Balances { version, ..self.balances }, packets);
        sale.escrow = self.escrow;
        sale.awaits = self.pieces;
        self.check(&sale)?;
        sale.begin_numbers(self.start.supply);
        Ok(sale)
    }

    /// The number of winners, if each of them has one grant.
    pub(crate) fn single_grants(&self) -> Option<u64> {
        (self.winners == self.balances.grants).then_some(self.winners)
    }

    /// Whether `sale`, with all its pieces or awaiting some, agrees with this base.
    pub(crate) fn announces(&self, sale: &Sale) -> bool {
        let version = self.balances.version.saturating_sub(sale.awaits);
        sale.balances == Balances { version, ..self.balances }
            && sale.escrow == self.escrow
            && sale.ledger.winners() == self.winners
            && sale.restocks.len() as u64 == self.restocks
            && sale.fences.len() as u64 == self.fences
            && sale.amounts().map_or(0, Amounts::len) == self.amounts
            && sale.pairs.as_slice().len() as u64 == self.pairs
            && sale.trims_len() == self.trims
            && LISTS.map(|list| list_size(sale, list)) == self.lists
            && sale.waitlist().map(|list| list.len()) == self.waitlist.map(|list| list.waiting)
            && sale.ledger.all_epochs_granted(self.balances.grants)
    }

    /// Whether a sale that begins as `sale` can have this base.
    fn check(&self, sale: &Sale) -> Result<(), Refused> {
        let (stated, begun) = (&self.balances, &sale.balances);
        let numbers_hold = stated.is_lawful(self.escrow.as_ref())
            && self.created_at <= stated.t
            && counts_all(stated, self.restocks, self.fences)
            && counts_all(begun, 0, 0);
        let terms_hold = self.terms.check().is_ok()
            && self.initial_terms.check().is_ok()
            && self.initial_terms.schedule == self.terms.schedule
            && self.initial_terms.split == self.terms.split
            && self.initial_terms.is_numbered() == self.terms.is_numbered()
            && (!self.terms.is_numbered() || self.numbers_hold())
            && self.terms.split.is_some() == self.escrow.is_some()
            && self
                .terms
                .split
                .as_ref()
                .is_none_or(|it| it.check_share(self.initial_supply).is_ok())
            && self.waitlist.is_some() == self.terms.waitlist.is_some()
            && draw_holds(sale, self);
        let is_complete = sale.awaits > 0 || completes(sale, None, begun);
        match numbers_hold && terms_hold && self.rounds_hold() && is_complete {
            true => Ok(()),
            false => Err(Refused::Law),
        }
    }

    /// Whether the units of this base can have numbers.
    fn numbers_hold(&self) -> bool {
        let Balances { supply, deficit, .. } = self.balances;
        supply <= UNITS_MAX && self.initial_supply <= supply && deficit == 0
    }

    fn rounds_hold(&self) -> bool {
        let (start, stated) = (&self.start, &self.balances);
        let newest_epoch = start.epochs.last().map_or(0, |(_, epoch)| *epoch);
        let follows = self.terms.schedule.is_some() == self.rounds.is_some()
            && start.round <= stated.round
            && u64::from(start.grants_before) <= stated.grants
            && newest_epoch <= stated.epoch;
        let fits = match &self.rounds {
            Some(over) => {
                let draw = self.terms.draw();
                stated.deficit == 0
                    && over.totals.is_sorted_by(|a, b| a.round < b.round)
                    && self.terms.has_begun(stated.round, stated.t)
                    && draw.is_none_or(|draw| draw.check_numbers(over.base_supply).is_ok())
            }
            None => stated.round == 0 && start.is_first(stated.supply),
        };
        follows && fits
    }
}

/// Whether the packets of a base fit its terms.
fn draw_holds(sale: &Sale, base: &Base) -> bool {
    let Some(draw) = sale.terms.draw() else {
        return base.balances.packets.is_none() && base.amounts == 0;
    };
    let list = if draw.is_list() { base.balances.packets.unwrap_or(0) } else { 0 };
    sale.initial_terms.kind == sale.terms.kind
        && draw.check_numbers(base.initial_supply).is_ok()
        && draw.is_lawful(&base.balances)
        && draw.is_lawful(&sale.balances)
        // Fewer amounts are possible only in a sale that awaits pieces; its last piece checks that.
        && base.amounts <= list
}

/// The beginning of a round, before its grants.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RoundStart {
    #[serde(deserialize_with = "wire::integer")]
    pub(super) round: u64,
    #[serde(deserialize_with = "wire::integer")]
    pub(super) supply: u64,
    /// Grants in earlier rounds.
    pub(super) grants_before: u32,
    /// For each epoch with grants in this round: its first grant and its number.
    #[serde(deserialize_with = "epochs")]
    pub(super) epochs: Vec<(u32, u64)>,
}

fn epochs<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<(u32, u64)>, D::Error> {
    wire::sequence(from, u32::MAX as usize, |(first, wire::Integer(epoch))| Some((first, epoch)))
}

impl RoundStart {
    /// The beginning of the round at this index among all kept rounds.
    pub(super) fn of(sale: &Sale, index: usize) -> RoundStart {
        let old = sale.rounds().and_then(|rounds| rounds.older.get(index));
        let current = (&sale.balances, &sale.ledger);
        let (balances, ledger) = old.map_or(current, |old| (&old.balances, &old.ledger));
        RoundStart {
            round: balances.round,
            supply: balances.supply,
            grants_before: ledger.base() as u32,
            epochs: ledger.epochs().to_vec(),
        }
    }

    /// Puts the current round of a sale aside and begins this one, which was checked.
    pub(crate) fn make(&self, sale: &mut Sale) {
        if let Some(ledger) = self.ledger(sale.ledger.key()) {
            sale.start_round(ledger);
        }
    }

    /// Whether this is the beginning of a sale without rounds.
    pub(super) fn is_first(&self, supply: u64) -> bool {
        (self.round, self.grants_before, self.supply) == (0, 0, supply)
    }

    /// An empty ledger that awaits the round's grants. `None` if its epochs are inconsistent.
    pub(super) fn ledger(&self, key: HashKey) -> Option<Ledger> {
        let mut ledger = Ledger::starting(key, self.grants_before, self.round);
        let ascends = |(first, epoch): &(u32, u64)| ledger.expect_epoch(*first, *epoch);
        self.epochs.iter().all(ascends).then_some(ledger)
    }

    /// The numbers of a sale at the round's beginning; numbers not of the round are as in `sale`.
    pub(super) fn balances(&self, sale: &Balances, packets: Option<u64>) -> Balances {
        let RoundStart { round, supply, grants_before, .. } = *self;
        let (available, held, sold, grants) = (supply, 0, 0, grants_before.into());
        Balances { round, supply, available, held, sold, packets, grants, ..*sale }
    }

    /// Checks that this can be the next kept round of `sale`, and updates `balances`.
    pub(crate) fn check(&self, sale: &Sale, balances: &mut Balances) -> Result<(), Refused> {
        let follows = sale.rounds().is_some()
            && self.round > balances.round
            && sale.terms.has_begun(self.round, balances.t)
            && u64::from(self.grants_before) >= balances.grants
            && self.epochs.last().is_none_or(|(_, epoch)| *epoch <= balances.epoch)
            && self.ledger(sale.ledger.key()).is_some()
            && sale.ledger.all_epochs_granted(balances.grants)
            && sale.ledger.last_trim() <= balances.grants;
        *balances = self.balances(balances, sale.packets_begun());
        let fits = counts_all(balances, sale.restocks.len() as u64, sale.fences.len() as u64);
        match follows && fits && can_be_drawn(sale, balances) {
            true => Ok(()),
            false => Err(Refused::Law),
        }
    }
}
