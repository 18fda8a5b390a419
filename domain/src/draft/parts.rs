//! Units of a part of a split in a draft.

use super::Draft;
use crate::model::balances::Escrow;
use crate::model::event::EventKind;
use crate::model::outcome::Refused;

impl Draft<'_> {
    /// Sends units to another part. Does nothing if they were sent before.
    pub(crate) fn send(&mut self, to: u16, total: u64, owed: u64) -> Result<(), Refused> {
        let units = total.checked_sub(self.sale.pairs.get(to).sent).ok_or(Refused::Law)?;
        match (units, owed) {
            (0, 0) => Ok(()),
            _ => {
                self.escrow_mut()?.send(units)?;
                self.change(EventKind::Send, None, |it| it.send(units, owed))
            }
        }
    }

    /// Receives units from another part.
    pub(crate) fn receive(&mut self, from: u16, total: u64) -> Result<(), Refused> {
        let before = self.sale.pairs.get(from).received;
        let units = total.checked_sub(before).filter(|units| *units > 0).ok_or(Refused::Law)?;
        self.escrow_mut()?.receive(units)?;
        self.change(EventKind::Receive, None, |it| it.add(units))
    }

    /// Sets the units that the other parts may still have, found by the balancer's pass `pass`.
    pub(crate) fn set_elsewhere(&mut self, elsewhere: u64, pass: u64) -> Result<(), Refused> {
        let known = self.balances.elsewhere;
        let escrow = self.escrow_mut()?;
        if (pass, elsewhere) <= (escrow.pass, known) {
            return Err(Refused::Law);
        }
        escrow.pass = pass;
        self.change(None, None, |it| {
            it.elsewhere = elsewhere;
            Ok(())
        })
    }

    /// The part's escrow, to be changed. Refused if the sale is not a part.
    pub(super) fn escrow_mut(&mut self) -> Result<&mut Escrow, Refused> {
        let stored = self.sale.escrow.ok_or(Refused::Law)?;
        Ok(self.touched_mut().escrow.get_or_insert(stored))
    }
}
