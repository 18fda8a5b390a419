//! How a round begins that a snapshot keeps.

use serde::{Deserialize, Deserializer, Serialize};

use super::law::{can_be_drawn, counts_all};
use crate::ledger::{HashKey, Ledger};
use crate::model::balances::Balances;
use crate::model::outcome::Refused;
use crate::model::wire;
use crate::Sale;

/// How a round begins, before any of its grants.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RoundStart {
    #[serde(deserialize_with = "wire::integer")]
    pub(super) round: u64,
    #[serde(deserialize_with = "wire::integer")]
    pub(super) supply: u64,
    /// Grants of the rounds before it.
    pub(super) grants_before: u32,
    /// First grant and number of each epoch that granted in it.
    #[serde(deserialize_with = "epochs")]
    pub(super) epochs: Vec<(u32, u64)>,
}

fn epochs<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<(u32, u64)>, D::Error> {
    wire::several(from, u32::MAX as usize, |(first, wire::Integer(epoch))| Some((first, epoch)))
}

impl Sale {
    /// The ledgers of all rounds that are kept, the oldest first, the stored one last.
    pub(super) fn ledgers(&self) -> impl Iterator<Item = &Ledger> {
        let older = self.rounds().into_iter().flat_map(|rounds| rounds.older.iter());
        older.map(|old| &old.ledger).chain([&self.ledger])
    }

    /// How the round begins that is at this place among all that are kept.
    pub(super) fn round_start(&self, place: usize) -> RoundStart {
        let old = self.rounds().and_then(|rounds| rounds.older.get(place));
        let stored = (&self.balances, &self.ledger);
        let (balances, ledger) = old.map_or(stored, |old| (&old.balances, &old.ledger));
        RoundStart {
            round: balances.round,
            supply: balances.supply,
            grants_before: ledger.base() as u32,
            epochs: ledger.epochs().to_vec(),
        }
    }

    /// Puts the stored round aside and begins the one that follows it, which was checked.
    pub(crate) fn follow_round(&mut self, next: &RoundStart) {
        self.start_round(next.round, u64::from(next.grants_before) + 1);
        if let Some(ledger) = next.ledger(self.ledger.key()) {
            self.ledger = ledger;
        }
    }
}

impl RoundStart {
    /// Whether it is how a sale without rounds begins.
    pub(super) fn is_first(&self, supply: u64) -> bool {
        (self.round, self.grants_before, self.supply) == (0, 0, supply)
    }

    /// Its ledger, which awaits its grants. `None` when its epochs can't have granted in turn.
    pub(super) fn ledger(&self, key: HashKey) -> Option<Ledger> {
        let mut ledger = Ledger::starting(key, self.grants_before, self.round);
        let ascends = |(first, epoch): &(u32, u64)| ledger.expect_epoch(*first, *epoch);
        self.epochs.iter().all(ascends).then_some(ledger)
    }

    /// The numbers of a sale at its beginning; what is not of a round is as in `sale`.
    pub(super) fn balances(&self, sale: &Balances, packets: Option<u64>) -> Balances {
        let RoundStart { round, supply, grants_before, .. } = *self;
        let (available, held, sold, grants) = (supply, 0, 0, grants_before.into());
        Balances { round, supply, available, held, sold, packets, grants, ..*sale }
    }

    /// Checks that it can be the next round that `sale` keeps, and moves the numbers along.
    pub(crate) fn check(&self, sale: &Sale, balances: &mut Balances) -> Result<(), Refused> {
        let follows = sale.rounds().is_some()
            && self.round > balances.round
            && u64::from(self.grants_before) >= balances.grants
            && self.epochs.last().is_none_or(|(_, epoch)| *epoch <= balances.epoch)
            && self.ledger(sale.ledger.key()).is_some()
            && sale.ledger.has_only_epochs_that_granted();
        *balances = self.balances(balances, sale.packets_begun());
        let fits = counts_all(balances, sale.restocks.len() as u64, sale.fences.len() as u64);
        match follows && fits && can_be_drawn(sale, balances) {
            true => Ok(()),
            false => Err(Refused::Law),
        }
    }
}
