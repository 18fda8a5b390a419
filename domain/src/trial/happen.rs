//! Moving the numbers, under the law, and telling the events.

use super::{check, Moved, Step, Trial, Witness};
use crate::core::Core;
use crate::effect::Change;
use crate::event::Event;
use crate::outcome::Refused;

impl Trial {
    /// Does `work` and tells its event, then the transition of the stock if there was one.
    pub(super) fn happen(
        &mut self,
        step: &mut Step<'_, '_, impl Witness>,
        event: Event,
        moved: Option<Moved>,
        work: impl FnOnce(&mut Core) -> Result<(), Refused>,
    ) -> Result<(), Refused> {
        let before = self.core.stock();
        work(&mut self.core)?;
        check(self.is_lawful())?;
        self.tell(event, step.change, moved, step.seen);
        let after = self.core.stock();
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
        work: impl FnOnce(&mut Core) -> Result<(), Refused>,
    ) -> Result<(), Refused> {
        let Some(place) = step.sale.old_place_of(moved.seq) else {
            return self.happen(step, event, Some(moved), work);
        };
        let stored = step.sale.rounds().and_then(|rounds| rounds.older.get(place));
        let stored = stored.ok_or(Refused::Law)?.core;
        let touched = self.more().and_then(|more| more.older.get(&place));
        let mut core = touched.copied().unwrap_or(stored);
        work(&mut core)?;
        check(self.holds_for(&core))?;
        self.more_mut().older.insert(place, core);
        self.core.rev += u64::from(self.has_outbox);
        let Core { version, rev, t, epoch, .. } = self.core;
        let core = Core { version, rev, t, epoch, ..core };
        step.seen.see(&core, event, step.change, Some(moved));
        Ok(())
    }

    pub(super) fn tell(
        &mut self,
        event: Event,
        change: &Change<'_>,
        moved: Option<Moved>,
        seen: &mut impl Witness,
    ) {
        self.core.rev += u64::from(self.has_outbox);
        seen.see(&self.core, event, change, moved);
    }

    pub(super) fn is_lawful(&self) -> bool {
        self.holds_for(&self.core)
    }

    /// Whether the law holds for the numbers of a round.
    fn holds_for(&self, core: &Core) -> bool {
        let shared = match &self.draw {
            Some(draw) => draw.is_lawful(core),
            None => core.packets.is_none(),
        };
        shared && core.is_lawful()
    }
}
