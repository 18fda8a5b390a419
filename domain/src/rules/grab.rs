//! Judging a GRAB, in the order that the contract gives.

use crate::codec::effect::{state_at, Change, Changes, Effect, Granting, Joining};
use crate::draw::{Amounts, Dice, Draw};
use crate::ledger::record::{Asked, ReqTag};
use crate::ledger::{Holding, Lookup, Places};
use crate::model::limits::GRANTS_MAX;
use crate::model::outcome::{GrantView, Misuse, Outcome, Place, State};
use crate::request::{Amount, Grab, Now};
use crate::rules::decide::{Decision, DueHolds, Manner};
use crate::rules::waitlist::Service;
use crate::state::sale::Extras;
use crate::waitlist::{Waiter, Waitlist};
use crate::Sale;

/// A fence, as a late GRAB finds it: cancelled before it was granted.
const FENCED: GrantView = GrantView { seq: 0, qty: 0, state: State::Cancelled, deadline: 0 };

/// What else is to happen with a grant that is made in a sale with a waiting list.
struct Behind {
    /// Units of the grant.
    qty: u64,
    /// Before it: an entry of the user's own that was over, a head that is passed.
    before: Vec<Effect<'static>>,
    /// After it: what is done for those who wait. `None` where nobody is in its way: then they are
    /// served as by any other step.
    after: Option<Vec<Effect<'static>>>,
}

impl Sale {
    /// What LIMIT and GRABS still leave a user; `None` when neither limits them.
    pub fn allowance(&self, holding: &Holding) -> Option<u64> {
        let terms = &self.terms;
        if terms.grabs != 0 && u64::from(holding.live_grants) >= terms.grabs {
            return Some(0);
        }
        (terms.limit != 0).then(|| terms.limit.saturating_sub(holding.live_units))
    }

    /// Judges a GRAB.
    pub(crate) fn decide_grab<'a>(
        &self,
        grab: &Grab<'a>,
        manner: Manner,
        now: &Now,
    ) -> Decision<'a> {
        let t = self.time(now);
        let draws = self.terms.draw.is_some();
        if draws && grab.amount != Amount::Unsaid {
            return Decision::misuse(Misuse::DrawTakesNoAmount);
        }
        let user = self.ledger.find(grab.user);
        let mut due = self.own_due(grab.user, &user, manner, t);
        if due.own_left && self.terms.limits_users() {
            return self.change_after(&due, Outcome::ManyOwnEnding, [], None, now);
        }
        let req = grab.req.map(|req| self.ledger.find_req(grab.user, &user, req));
        let replay = grab.req.zip(req).and_then(|(id, req)| self.judge_replay(grab, id, &req, t));
        let mut behind = None;
        let judged = match replay {
            Some(outcome) => Err(outcome),
            None => self.judge_grab(grab, &user, manner, &mut due, &mut behind, t),
        };
        let qty = match judged {
            Ok(qty) => qty,
            Err(outcome) => return self.decide_refusal(grab, manner, &due, outcome, now),
        };
        let asked = match grab.amount {
            Amount::UpTo(_) => Asked::UpTo,
            // A replay of a drawn amount compares none, as if the caller had asked for any.
            Amount::Unsaid if draws => Asked::UpTo,
            Amount::Exactly(_) | Amount::Unsaid => Asked::Exactly,
        };
        let tag = grab.req.map(|id| ReqTag { id, asked });
        let granting = Granting { user: grab.user, req: tag, qty, hold_ms: self.terms.hold_ms };
        let (state, deadline) = state_at(granting.hold_ms, t);
        let available = due.balances.available - qty;
        let grant = GrantView { seq: self.balances.grants + 1, qty, state, deadline };
        let outcome = Outcome::Granted { grant, available };
        let places = Places { user, req };
        let effect = Effect::Grant(granting);
        match behind {
            // Nearly always. A grant alone makes nothing possible for those who wait.
            None if due.is_empty() => {
                let changes = Changes::from_buf([Change::untimed(effect)]);
                self.planned(outcome, changes, Some(&places), now)
            }
            None => self.change_after(&due, outcome, Some(effect), Some(&places), now),
            Some(behind) => {
                let effects = behind.before.into_iter().chain([effect]);
                let Some(after) = behind.after else {
                    return self.change_after(&due, outcome, effects, Some(&places), now);
                };
                let mut changes = due.changes();
                changes.extend(effects.chain(after).map(Change::untimed));
                self.planned(outcome, changes, Some(&places), now)
            }
        }
    }

    /// What becomes of a GRAB that gets nothing: with WAIT who comes too late joins the list.
    #[inline]
    fn decide_refusal<'a>(
        &self,
        grab: &Grab<'a>,
        manner: Manner,
        due: &DueHolds<'_, 'a>,
        outcome: Outcome,
        now: &Now,
    ) -> Decision<'a> {
        match (outcome, manner) {
            (Outcome::Misuse(_), _) => Decision::refuse(outcome),
            (Outcome::SoldOut { .. } | Outcome::Short { .. }, Manner::OrWait { until })
                if self.takes_waiters() =>
            {
                self.decide_join(grab, until, due, outcome, now)
            }
            _ => self.change_after(due, outcome, [], None, now),
        }
    }

    /// How many units the user gets, or what refuses them.
    fn judge_grab<'a>(
        &self,
        grab: &Grab<'a>,
        found: &Lookup,
        manner: Manner,
        due: &mut DueHolds<'_, 'a>,
        behind: &mut Option<Box<Behind>>,
        t: u64,
    ) -> Result<u64, Outcome> {
        let mut holding = self.ledger.holding(found);
        if !due.is_empty() {
            holding = due.left_of(holding, &self.ledger);
        }
        let allowance = self.allowance(&holding);
        if allowance == Some(0) {
            if let Some(newest) = self.ledger.newest_live(found, t) {
                return Err(Outcome::Already(newest.view()));
            }
        }
        let allowance = allowance.unwrap_or(u64::MAX);
        let others = match &self.extras {
            // In a plain sale nobody waits, and everybody may ask.
            None => self.judge_time(t).map(|()| None)?,
            Some(extras) => self.judge_user(extras, grab.user, due, t)?,
        };
        let wanted = match grab.amount {
            Amount::Unsaid => 1,
            Amount::Exactly(qty) => qty,
            Amount::UpTo(qty) => qty.min(allowance),
        };
        if wanted > allowance {
            return Err(Outcome::OverLimit { allowance });
        }
        let qty = match (others, &self.terms.draw) {
            (Some(list), _) => behind.insert(self.judge_behind(list, grab, wanted, due, t)?).qty,
            (None, Some(draw)) => self.judge_draw(draw, grab.user, manner, due, t)?,
            (None, None) if due.balances.available >= wanted => wanted,
            (None, None) => self.judge_shortage(grab, wanted, manner, due, t)?,
        };
        if self.balances.grants >= GRANTS_MAX {
            return Err(Outcome::Misuse(Misuse::GrantsFull));
        }
        if self.extras.is_some() && behind.is_none() {
            let before: Vec<_> = self.drop_gone(grab.user, t).into_iter().collect();
            *behind = (!before.is_empty()).then(|| Box::new(Behind { qty, before, after: None }));
        }
        Ok(qty)
    }

    /// Whether this user may ask now; and who else waits, if anybody does.
    #[cold]
    fn judge_user<'a>(
        &self,
        extras: &Extras,
        user: &'a [u8],
        due: &mut DueHolds<'_, 'a>,
        t: u64,
    ) -> Result<Option<&Waitlist>, Outcome> {
        if let Some(waiter) = self.waiting_at(user, t) {
            return Err(Outcome::Waiting(self.place_of(waiter.ticket)));
        }
        self.judge_time(t)?;
        if self.judge_admission(extras, user)? {
            due.admits = Some(user);
        }
        Ok(self.in_the_way(t))
    }

    /// How many units are there once due holds of others have made room, or what refuses the grab:
    /// fewer than `wanted` are available.
    #[inline]
    fn judge_shortage(
        &self,
        grab: &Grab<'_>,
        wanted: u64,
        manner: Manner,
        due: &mut DueHolds<'_, '_>,
        t: u64,
    ) -> Result<u64, Outcome> {
        let takes_less = matches!(grab.amount, Amount::UpTo(_));
        // More than there can be is known at once.
        let can_be = takes_less || wanted <= due.balances.available + due.balances.held;
        let most = manner.expiries().others;
        let is_enough = |due: &DueHolds<'_, '_>| due.balances.available >= wanted;
        let is_bounded =
            can_be && self.expire_until(&self.ledger, due, grab.user, most, t, is_enough);
        match due.balances.available {
            available if available >= wanted => Ok(wanted),
            available if takes_less && available > 0 => Ok(available),
            _ if is_bounded => Err(Outcome::ManyEnding),
            0 => Err(Outcome::SoldOut { held: due.balances.may_come_back() }),
            available => Err(Outcome::Short { available }),
        }
    }

    /// The amount that the sale draws for this grab, or what refuses it.
    fn judge_draw(
        &self,
        draw: &Draw,
        user: &[u8],
        manner: Manner,
        due: &mut DueHolds<'_, '_>,
        t: u64,
    ) -> Result<u64, Outcome> {
        let dice = Dice::new(&self.secret, self.balances.grants + 1);
        let most = manner.expiries().others;
        let is_enough = |due: &DueHolds<'_, '_>| draw.is_covered(&due.balances, &dice);
        let is_bounded = self.expire_until(&self.ledger, due, user, most, t, is_enough);
        // What comes back goes to the end of a list: it is the first only if nothing is before it.
        let returned = || due.seqs.iter().find_map(|seq| self.ledger.grant(*seq));
        let first = self.amounts().and_then(Amounts::first);
        let first = first.or_else(|| returned().map(|grant| grant.qty));
        let refusal = match is_bounded {
            true => Outcome::ManyEnding,
            false => Outcome::SoldOut { held: due.balances.held },
        };
        draw.amount(&due.balances, first, &dice).ok_or(refusal)
    }

    /// The answer to a request id that is known: its grant as it stands at `t`.
    fn judge_replay(&self, grab: &Grab<'_>, req: &[u8], found: &Lookup, t: u64) -> Option<Outcome> {
        let is_fenced = || !self.fences.is_empty() && self.fences.stands(grab.user, req, t);
        let seq = match (found.seq(), &self.extras) {
            // A plain sale has no older round, and nobody waits.
            (None, None) => return is_fenced().then_some(Outcome::Replay(FENCED)),
            (None, Some(_)) => self.older_by_req(grab.user, req, found),
            (seq, _) => seq,
        };
        let Some(grant) = seq.and_then(|seq| self.grant(seq)) else {
            return match is_fenced() {
                true => Some(Outcome::Replay(FENCED)),
                false => self.judge_waiting_req(grab, t),
            };
        };
        let same = match (grab.amount, grant.req?.asked) {
            (Amount::Unsaid, _) if self.terms.draw.is_some() => true,
            (Amount::UpTo(_), Asked::UpTo | Asked::Either) => true,
            (Amount::Exactly(_) | Amount::Unsaid, Asked::UpTo) | (Amount::UpTo(_), _) => false,
            (Amount::Exactly(qty), _) => qty == grant.qty,
            (Amount::Unsaid, _) => grant.qty == 1,
        };
        if !same {
            return Some(Outcome::Misuse(Misuse::ReqMismatch));
        }
        Some(Outcome::Replay(grant.view_at(t)))
    }
}

/// While others wait, or of one who would wait: nobody jumps the list.
impl Sale {
    /// The answer to a request id that waits: its entry as it stands at `t`.
    #[cold]
    fn judge_waiting_req(&self, grab: &Grab<'_>, t: u64) -> Option<Outcome> {
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

    fn place_of(&self, ticket: u64) -> Place {
        let nowhere = Place { ticket, ahead: 0, units_ahead: 0 };
        self.waitlist().map_or(nowhere, |list| list.place(ticket, None))
    }

    /// The place of a user who waits; none once their entry is judged as gone.
    pub fn place(&self, user: &[u8], now: &Now) -> Option<Place> {
        let (waiter, place) = self.waiters()?.place_of(user)?;
        self.drop_reason(&waiter, self.time(now)).is_none().then_some(place)
    }

    /// Takes the entry of this user off the list if it is judged as gone at `t`.
    fn drop_gone(&self, user: &[u8], t: u64) -> Option<Effect<'static>> {
        let (waiter, reason) = self.gone_at(user, t)?;
        Some(Effect::Drop { ticket: waiter.ticket, reason })
    }

    /// Judges a grab as an entry behind all that wait: granted only if such an entry would be
    /// offered its units now.
    fn judge_behind(
        &self,
        list: &Waitlist,
        grab: &Grab<'_>,
        wanted: u64,
        due: &DueHolds<'_, '_>,
        t: u64,
    ) -> Result<Box<Behind>, Outcome> {
        let refused = Outcome::SoldOut { held: due.balances.may_come_back().max(1) };
        let mut service = Service::new(self, list, t, *due.balances);
        let mut before = Vec::new();
        if let Some((Waiter { ticket, .. }, reason)) = self.gone_at(grab.user, t) {
            service.off.insert(ticket);
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
        Ok(Box::new(Behind { qty, before, after: Some(service.effects) }))
    }

    /// Whether a GRAB with WAIT is more than one without.
    pub(crate) fn takes_waiters(&self) -> bool {
        self.terms.waitlist.is_some_and(|list| list.max > 0)
    }

    /// A GRAB with WAIT that came too late: its user joins the list, if they can.
    #[cold]
    fn decide_join<'a>(
        &self,
        grab: &Grab<'a>,
        until: u64,
        due: &DueHolds<'_, 'a>,
        refused: Outcome,
        now: &Now,
    ) -> Decision<'a> {
        let refuse = |outcome| self.change_after(due, outcome, [], None, now);
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
        let gone = self.gone_at(grab.user, t).map(|(waiter, _)| waiter);
        if self.is_full(list, gone.as_ref(), t) {
            return refuse(Outcome::Busy);
        }
        let ticket = list.totals.last_ticket + 1;
        let place = list.place(ticket, gone);
        let dropped = self.drop_gone(grab.user, t);
        let joins = Effect::Wait(Joining { ticket, user: grab.user, req, qty, until });
        let effects = dropped.into_iter().chain([joins]);
        self.change_after(due, Outcome::Waiting(place), effects, None, now)
    }
}
