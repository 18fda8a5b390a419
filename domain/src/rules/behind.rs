//! A GRAB while others wait, or of one who would wait: nobody jumps the list.

use crate::codec::effect::{Change, Changes, Effect, Waiting};
use crate::model::limits::INTEGER_MAX;
use crate::model::outcome::{Misuse, Outcome, Place, State};
use crate::request::{Amount, Grab, Now};
use crate::rules::decide::Decision;
use crate::rules::expiry::DueHolds;
use crate::rules::waitlist::Service;
use crate::Sale;

/// What else is to happen with a grant that is made while others wait.
pub(crate) struct Behind {
    /// Before it: an entry of the user's own that was over, a head that is passed.
    before: Vec<Effect<'static>>,
    /// After it: what is done for those who wait.
    after: Vec<Effect<'static>>,
}

impl Behind {
    /// All that happens, the grant in its place.
    pub(crate) fn changes<'a>(self, due: &DueHolds<'_, 'a>, grant: Effect<'a>) -> Changes<'a> {
        let mut changes = due.changes(None);
        let effects = self.before.into_iter().chain([grant]).chain(self.after);
        changes.extend(effects.map(Change::untimed));
        changes
    }
}

impl Sale {
    /// The answer to a request id that waits: its entry as it stands at `t`.
    pub(crate) fn judge_waiting_req(&self, grab: &Grab<'_>, t: u64) -> Option<Outcome> {
        let req = grab.req?;
        let waiter = self.waiting_at(grab.user, t).filter(|waiter| waiter.req == req)?;
        let same = match grab.amount {
            Amount::Unsaid => waiter.qty == 1,
            Amount::Exactly(qty) => waiter.qty == qty,
            Amount::UpTo(_) => false,
        };
        Some(match same {
            true => Outcome::Waiting(self.place_of(waiter.ticket)),
            false => Outcome::Misuse(Misuse::ReqMismatch),
        })
    }

    /// The answer to another GRAB of a user who waits at `t`.
    pub(crate) fn judge_waiting(&self, user: &[u8], t: u64) -> Option<Outcome> {
        let waiter = self.waiting_at(user, t)?;
        Some(Outcome::Waiting(self.place_of(waiter.ticket)))
    }

    fn place_of(&self, ticket: u64) -> Place {
        let nowhere = Place { ticket, ahead: 0, units_ahead: 0 };
        self.waitlist().map_or(nowhere, |list| list.place(ticket))
    }

    /// The place of a user who waits, as it is stored.
    pub fn place(&self, user: &[u8]) -> Option<Place> {
        self.waiters()?.place_of(user)
    }

    /// Judges a grab as an entry behind all that wait: granted only if such an entry would be
    /// offered its units now.
    pub(crate) fn judge_behind(
        &self,
        grab: &Grab<'_>,
        allowance: u64,
        due: &DueHolds<'_, '_>,
        t: u64,
    ) -> Result<(u64, Behind), Outcome> {
        let wanted = match grab.amount {
            Amount::Unsaid => 1,
            Amount::Exactly(qty) => qty,
            Amount::UpTo(qty) => qty.min(allowance),
        };
        if wanted > allowance {
            return Err(Outcome::OverLimit { allowance });
        }
        let refused = Outcome::SoldOut { held: self.may_return(&due.balances).max(1) };
        let Some(list) = self.waiters() else { return Err(refused) };
        let mut service = Service::new(self, list, t, *due.balances);
        due.seqs.iter().for_each(|seq| service.note_moved(*seq, State::Expired));
        let mut before = Vec::new();
        if let Some((ticket, reason)) = self.gone_at(grab.user, t) {
            service.leave_out(ticket);
            before.push(Effect::Drop { ticket, reason });
        }
        let is_done = service.run(false);
        let available = service.balances.available;
        let qty = match grab.amount {
            Amount::UpTo(_) => wanted.min(available),
            _ => wanted,
        };
        if !is_done || qty == 0 || qty > available {
            return Err(refused);
        }
        if let Some(head) = service.head() {
            // What is due may be what the head waits for.
            let others = self.ledger.holds().due(t).nth(due.seqs.len());
            if others.is_some() || !service.may_pass(&head) {
                return Err(refused);
            }
            before.push(Effect::Pass { ticket: head.ticket });
        }
        Ok((qty, Behind { before, after: service.into_effects() }))
    }

    /// Whether a GRAB with WAIT is more than one without.
    pub(crate) fn takes_waiters(&self) -> bool {
        self.terms.waitlist.is_some_and(|list| list.max > 0)
    }

    /// A GRAB with WAIT that came too late: its user joins the list, if they can.
    pub(crate) fn decide_join<'a>(
        &self,
        grab: &Grab<'a>,
        until: u64,
        due: &DueHolds<'_, 'a>,
        refused: Outcome,
        now: &Now,
    ) -> Decision<'a> {
        let refuse = |outcome| self.change_after(due, outcome, None, None, now);
        let (t, list) = (self.time(now), self.waitlist());
        let (Some(list), Some(req)) = (list, grab.req) else { return refuse(refused) };
        let qty = match grab.amount {
            Amount::Exactly(qty) => qty,
            Amount::Unsaid | Amount::UpTo(_) => 1,
        };
        // Who waits until a moment that has passed does not wait.
        if until != 0 && until <= t {
            return refuse(refused);
        }
        if qty > due.balances.supply {
            return refuse(Outcome::Short { available: due.balances.available });
        }
        let gone = self.gone_at(grab.user, t);
        let max = self.terms.waitlist.map_or(0, |terms| terms.max);
        if list.len() - u64::from(gone.is_some()) >= max || !list.has_room() {
            return refuse(Outcome::Busy);
        }
        let ticket = list.totals.last_ticket + 1;
        if ticket > INTEGER_MAX {
            return Decision::misuse(Misuse::Exhausted);
        }
        let mut place = list.place(ticket);
        let mut changes = due.changes(None);
        if let Some((gone, reason)) = gone {
            let qty = list.get(gone).map_or(0, |waiter| waiter.qty);
            place.ahead -= 1;
            place.units_ahead -= qty.min(place.units_ahead);
            changes.push(Change::untimed(Effect::Drop { ticket: gone, reason }));
        }
        let waiting = Waiting { ticket, user: grab.user, req, qty, until };
        changes.push(Change::untimed(Effect::Wait(waiting)));
        self.changes(Outcome::Waiting(place), changes, None, now)
    }
}
