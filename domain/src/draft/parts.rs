//! A part of a split as it would stand.

use super::Draft;
use crate::model::balances::Escrow;
use crate::model::event::EventKind;
use crate::model::outcome::Refused;

impl Draft<'_> {
    /// Units go to another part. Nothing happens when they have gone before.
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

    /// Units come from another part.
    pub(crate) fn receive(&mut self, from: u16, total: u64) -> Result<(), Refused> {
        let before = self.sale.pairs.get(from).received;
        let units = total.checked_sub(before).filter(|units| *units > 0).ok_or(Refused::Law)?;
        self.escrow_mut()?.receive(units)?;
        self.change(EventKind::Receive, None, |it| it.add(units))
    }

    /// A pass over all parts tells what the others may still have.
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

    /// What a part was given and has moved, to be changed. Refused in a sale that is no part.
    pub(super) fn escrow_mut(&mut self) -> Result<&mut Escrow, Refused> {
        let stored = self.sale.escrow.ok_or(Refused::Law)?;
        Ok(self.touched_mut().escrow.get_or_insert(stored))
    }
}
