//! How a sale begins, and a round of it.

use super::{check, Step, Trial, Witness};
use crate::sale::balances::Balances;
use crate::sale::draw::Draw;
use crate::sale::effect::{Change, Effect, Start};
use crate::sale::event::Event;
use crate::sale::limits::AMOUNTS_PER_PIECE;
use crate::sale::outcome::Refused;

impl Trial {
    /// Starts a sale with its first change.
    pub fn of_new(change: &Change<'_>, seen: &mut impl Witness) -> Result<Trial, Refused> {
        let Effect::Init(start) = &change.effect else {
            return Err(Refused::Place);
        };
        let Start { supply, terms, amounts, .. } = &**start;
        terms.check().map_err(|_| Refused::Law)?;
        if let Some(draw) = &terms.draw {
            draw.check(*supply, amounts).map_err(|_| Refused::Law)?;
        }
        let is_list = terms.draw.as_ref().is_some_and(Draw::is_list);
        check(terms.draw == is_list.then(|| Draw::list(amounts)).or(terms.draw))?;
        check(is_list || amounts.is_empty())?;
        let packets = terms.draw.as_ref().and_then(Draw::packets);
        let balances =
            Balances { supply: *supply, available: *supply, packets, ..Balances::default() };
        let mut trial = Trial::with(balances, terms);
        trial.balances.begin(change)?;
        trial.balances.round =
            terms.schedule.map_or(0, |schedule| schedule.round_at(trial.balances.t));
        // A list counts a version for each of its pieces, which a rewritten log counts too.
        trial.balances.version += amounts.len().div_ceil(AMOUNTS_PER_PIECE) as u64;
        check(trial.is_lawful())?;
        trial.tell(Event::Init, change, None, seen);
        Ok(trial)
    }

    /// A new round, with all its units available.
    pub(super) fn round(
        &mut self,
        step: &mut Step<'_, '_, impl Witness>,
        round: u64,
        supply: u64,
    ) -> Result<(), Refused> {
        let schedule = step.sale.terms.schedule.as_ref().ok_or(Refused::Law)?;
        check(round > self.balances.round && round <= schedule.round_at(self.balances.t))?;
        let packets = self.draw.as_ref().and_then(Draw::packets);
        self.happen(step, Event::Round, None, |balances| {
            let (available, held, sold) = (supply, 0, 0);
            *balances = Balances { round, supply, available, held, sold, packets, ..*balances };
            Ok(())
        })
    }
}
