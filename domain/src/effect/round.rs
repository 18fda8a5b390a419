//! A new round begins.

use super::*;
use crate::fields;
use crate::ledger::Ledger;
use crate::model::balances::Balances;

/// A new round begins with `supply` units. This effect is the only one of its change.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Round {
    /// The number.
    #[serde(deserialize_with = "wire::integer")]
    pub round: u64,
    /// Units to sell.
    #[serde(deserialize_with = "wire::integer")]
    pub supply: u64,
}

impl Act for Round {
    fn check(&self, checker: &mut Checker<'_>) -> Result<(), Refused> {
        let balances = &checker.draft.balances;
        let can_begin = self.round > balances.round;
        let is_full = checker.sale().rounds().is_some_and(|it| it.base_supply <= self.supply);
        let has_begun = checker.sale().terms.has_begun(self.round, balances.t);
        check(checker.alone && can_begin && is_full && has_begun)
    }

    fn plan(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        let Round { round, supply } = *self;
        let packets = draft.sale.packets_begun();
        draft.change(EventKind::Round, None, |it| {
            let (available, held, sold) = (supply, 0, 0);
            *it = Balances { round, supply, available, held, sold, packets, ..*it };
            Ok(())
        })
    }

    fn make(&self, sale: &mut Sale, _: &mut Planned<'_>) {
        let before = sale.balances.grants as u32;
        sale.start_round(Ledger::starting(sale.ledger.key(), before, self.round));
        if let Some(rounds) = sale.rounds_mut() {
            rounds.note_total();
        }
    }

    fn put<'e>(&'e self, _: &'e Sale, _: EventKind, data: &mut Vec<u8>) -> Raw<'e> {
        put_number(data, fields::ROUND.number, self.round);
        Raw::default()
    }
}
