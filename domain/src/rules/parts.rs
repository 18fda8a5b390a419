//! Judging what is asked of a part of a split: whose user it is, and how units move between it and
//! the other parts.

use crate::codec::effect::Effect;
use crate::model::balances::{Balances, Escrow};
use crate::model::limits::INTEGER_MAX;
use crate::model::outcome::{Misuse, Outcome};
use crate::request::{Elsewhere, Now, Receive, Request, Send};
use crate::rules::decide::Decision;
use crate::state::part::PartView;
use crate::Sale;

impl Sale {
    /// Whether a request names a user of another part.
    #[inline]
    pub(super) fn is_of_other_part(&self, request: &Request<'_>) -> bool {
        match request {
            Request::Grab(grab) => !self.is_home(grab.user),
            Request::Wait(wait) => !self.is_home(wait.grab.user),
            Request::Settle(settle) => !self.is_home(settle.user),
            Request::Import(import) => !self.is_home(import.user),
            Request::List(change) => !change.users.iter().all(|user| self.is_home(user)),
            Request::Init(_) | Request::Restock(_) | Request::Alter(_) => false,
            Request::Pause | Request::Resume => false,
            Request::Send(_) | Request::Receive(_) | Request::Elsewhere(_) => false,
        }
    }

    pub(super) fn decide_send<'a>(&self, send: &Send<'a>, now: &Now) -> Decision<'a> {
        let (to, escrow) = match self.other_part(send.split, send.to) {
            Ok(both) => both,
            Err(misuse) => return Decision::misuse(misuse),
        };
        let Balances { available, deficit, .. } = self.balances;
        let sent = self.pairs.get(to).sent;
        let units = match send.total.checked_sub(sent) {
            Some(units) if send.owed => units,
            // While anybody waits here, what is here is theirs.
            Some(_) if self.waiters().is_some() => 0,
            Some(units) => units.min(available),
            None => 0,
        };
        let owed = units.saturating_sub(available);
        let (total, left) = (sent + units, available - (units - owed));
        let outcome = Outcome::Moved { total, available: left };
        // The present total again goes to the replicas, so that a WAIT behind it covers the first.
        if units == 0 && send.total != sent {
            return Decision::refuse(outcome);
        }
        if escrow.sent + units > INTEGER_MAX || deficit + owed > INTEGER_MAX {
            return Decision::misuse(Misuse::MovedTooMany);
        }
        self.change(outcome, Effect::Send { to, total, owed }, now)
    }

    pub(super) fn decide_receive<'a>(&self, receive: &Receive<'a>, now: &Now) -> Decision<'a> {
        let (from, escrow) = match self.other_part(receive.split, receive.from) {
            Ok(both) => both,
            Err(misuse) => return Decision::misuse(misuse),
        };
        let Balances { supply, available, deficit, .. } = self.balances;
        let (total, received) = (receive.total, self.pairs.get(from).received);
        if total <= received {
            return Decision::refuse(Outcome::Moved { total: received, available });
        }
        let units = total - received;
        let added = units - deficit.min(units);
        if supply + added > INTEGER_MAX || escrow.received + units > INTEGER_MAX {
            return Decision::misuse(Misuse::MovedTooMany);
        }
        let outcome = Outcome::Moved { total, available: available + added };
        self.change(outcome, Effect::Receive { from, total }, now)
    }

    /// The other part that is meant, and what moves.
    fn other_part(&self, id: &[u8], part: u64) -> Result<(u16, Escrow), Misuse> {
        let PartView { split, escrow, .. } = self.part_of(id)?;
        Ok((split.other(part).ok_or(Misuse::NotAnotherPart)?, escrow))
    }

    /// The sale as a part of the split with this id.
    fn part_of(&self, id: &[u8]) -> Result<PartView<'_>, Misuse> {
        let part = self.part().ok_or(Misuse::NotAPart)?;
        match *part.split.id == *id {
            true => Ok(part),
            false => Err(Misuse::NotThisSplit),
        }
    }

    pub(super) fn decide_elsewhere<'a>(&self, told: &Elsewhere<'a>, now: &Now) -> Decision<'a> {
        let escrow = match self.part_of(told.split) {
            Ok(part) => part.escrow,
            Err(misuse) => return Decision::misuse(misuse),
        };
        let Elsewhere { units, pass, .. } = *told;
        let known = self.balances.elsewhere;
        if (pass, units) <= (escrow.pass, known) {
            let (units, pass) = (known, escrow.pass);
            return Decision::refuse(Outcome::Elsewhere { units, pass });
        }
        self.change(Outcome::Elsewhere { units, pass }, Effect::Elsewhere { units, pass }, now)
    }
}
