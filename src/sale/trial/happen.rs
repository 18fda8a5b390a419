//! Moving the numbers, under the law, and telling the events.

use super::{check, Moved, Step, Trial, Witness};
use crate::sale::balances::Balances;
use crate::sale::effect::Change;
use crate::sale::event::Event;
use crate::sale::outcome::Refused;

impl Trial {
    /// Does `work` and tells its event, then the transition of the stock if there was one.
    pub(super) fn happen(
        &mut self,
        step: &mut Step<'_, '_, impl Witness>,
        event: Event,
        moved: Option<Moved>,
        work: impl FnOnce(&mut Balances) -> Result<(), Refused>,
    ) -> Result<(), Refused> {
        let before = self.balances.stock();
        work(&mut self.balances)?;
        check(self.is_lawful())?;
        self.tell(event, step.change, moved, step.seen);
        let after = self.balances.stock();
        if before != after {
            self.tell(Event::into_stock(after), step.change, None, step.seen);
        }
        Ok(())
    }

    /// Like [`Trial::happen`] for a grant that may be of an older round: then it moves that
    /// round's numbers, and the stock is not that round's.
    pub(super) fn happen_to(
        &mut self,
        step: &mut Step<'_, '_, impl Witness>,
        event: Event,
        moved: Moved,
        work: impl FnOnce(&mut Balances) -> Result<(), Refused>,
    ) -> Result<(), Refused> {
        let Some(place) = step.sale.old_place_of(moved.seq) else {
            return self.happen(step, event, Some(moved), work);
        };
        let stored = step.sale.rounds().and_then(|rounds| rounds.older.get(place));
        let stored = stored.ok_or(Refused::Law)?.balances;
        let touched = self.more().and_then(|more| more.older.get(&place));
        let mut balances = touched.copied().unwrap_or(stored);
        work(&mut balances)?;
        check(self.holds_for(&balances))?;
        self.more_mut().older.insert(place, balances);
        self.balances.rev += u64::from(self.has_outbox);
        let Balances { version, rev, t, epoch, .. } = self.balances;
        let balances = Balances { version, rev, t, epoch, ..balances };
        step.seen.see(&balances, event, step.change, Some(moved));
        Ok(())
    }

    pub(super) fn tell(
        &mut self,
        event: Event,
        change: &Change<'_>,
        moved: Option<Moved>,
        seen: &mut impl Witness,
    ) {
        self.balances.rev += u64::from(self.has_outbox);
        seen.see(&self.balances, event, change, moved);
    }

    pub(super) fn is_lawful(&self) -> bool {
        self.holds_for(&self.balances)
    }

    /// Whether the law holds for the numbers of a round.
    fn holds_for(&self, balances: &Balances) -> bool {
        let shared = match &self.draw {
            Some(draw) => draw.is_lawful(balances),
            None => balances.packets.is_none(),
        };
        shared && balances.is_lawful()
    }
}
