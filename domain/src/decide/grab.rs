//! Decides a GRAB, in the order of the contract.

use crate::codec::effect::{Effect, Granting, Joining};
use crate::decide::waitlist::Service;
use crate::decide::Manner;
use crate::draw::{Dice, Draw};
use crate::ledger::record::{Asked, ReqTag};
use crate::ledger::{Holding, Lookup, Places};
use crate::model::balances::Balances;
use crate::model::limits::GRANTS_MAX;
use crate::model::outcome::{state_at, GrantView, Misuse, Outcome, Place, State};
use crate::plan::Planning;
use crate::request::{Amount, Grab, Now};
use crate::waitlist::Waitlist;
use crate::Sale;

/// The grant of a fence, as a late GRAB sees it: cancelled before it was granted.
const FENCED: GrantView = GrantView { seq: 0, qty: 0, state: State::Cancelled, deadline: 0 };

/// Effects before and after a grant, in a sale with a waiting list or admission.
#[derive(Default)]
struct Aside {
    /// Whether ADMIT lets the user in with this call, even if it is refused otherwise.
    admits: bool,
    /// Before the grant: the user's own entry that is over is dropped, and a head is passed.
    before: Vec<Effect<'static>>,
    /// After a grant past a non-empty waiting list: offers and drops. Without these, waiters are
    /// served as in any other step.
    after: Option<Vec<Effect<'static>>>,
}

impl Sale {
    /// Units that LIMIT and GRABS still allow a user; `None` without these limits.
    pub fn allowance(&self, holding: &Holding) -> Option<u64> {
        let terms = &self.terms;
        if terms.grabs != 0 && u64::from(holding.live_grants) >= terms.grabs {
            return Some(0);
        }
        (terms.limit != 0).then(|| terms.limit.saturating_sub(holding.live_units))
    }

    /// Decides a GRAB.
    pub(super) fn judge_grab<'a>(
        &self,
        grab: &Grab<'a>,
        manner: Manner,
        plan: &mut Planning<'_, 'a>,
    ) -> Result<Outcome, Misuse> {
        let t = plan.t();
        let draws = self.terms.draw.is_some();
        if draws && grab.amount != Amount::Unsaid {
            return Err(Misuse::DrawTakesNoAmount);
        }
        let user = self.ledger.find(grab.user);
        let own_left = plan.expire_own(grab.user, &user, manner.expiries().own)?;
        if own_left && self.terms.limits_users() {
            return Ok(Outcome::ManyOwnEnding);
        }
        let req = grab.req.map(|req| self.ledger.find_req(grab.user, &user, req));
        if let Some((id, found)) = grab.req.zip(req.as_ref()) {
            if let Some(known) = self.judge_replay(grab, id, found, t) {
                return Ok(known);
            }
        }
        let mut aside: Option<Aside> = None;
        let judged = self.judge_qty(grab, &user, manner, plan, &mut aside);
        if aside.as_ref().is_some_and(|aside| aside.admits) {
            plan.push(Effect::Admit { user: grab.user })?;
        }
        let qty = match (judged, manner) {
            (Ok(qty), _) => qty,
            (
                Err(outcome @ (Outcome::SoldOut { .. } | Outcome::Short { .. })),
                Manner::OrWait { until },
            ) if self.takes_waiters() => return self.judge_join(grab, until, outcome, plan),
            (Err(outcome), _) => return Ok(outcome),
        };
        let asked = match grab.amount {
            Amount::UpTo(_) => Asked::UpTo,
            // The replay of a drawn amount compares no amount, as if UPTO had been given.
            Amount::Unsaid if draws => Asked::UpTo,
            Amount::Exactly(_) | Amount::Unsaid => Asked::Exactly,
        };
        let tag = grab.req.map(|id| ReqTag { id, asked });
        let hold_ms = self.terms.hold_ms;
        let granting = Granting { user: grab.user, req: tag, qty, hold_ms };
        let (effect, places) = (Effect::Grant(granting), Places { user, req });
        match aside {
            None => plan.push_new(effect, places)?,
            Some(aside) => {
                aside.before.into_iter().try_for_each(|effect| plan.push(effect))?;
                plan.push_new(effect, places)?;
                plan.is_served = aside.after.is_some();
                let mut after = aside.after.into_iter().flatten();
                after.try_for_each(|effect| plan.push(effect))?;
            }
        }
        let (state, deadline) = state_at(hold_ms, t);
        let grant = GrantView { seq: self.balances.grants + 1, qty, state, deadline };
        Ok(Outcome::Granted { grant, available: 0 })
    }

    /// The number of units for the user, or the refusal.
    #[inline(always)]
    fn judge_qty(
        &self,
        grab: &Grab<'_>,
        found: &Lookup,
        manner: Manner,
        plan: &mut Planning<'_, '_>,
        aside: &mut Option<Aside>,
    ) -> Result<u64, Outcome> {
        let t = plan.t();
        let holding = plan.draft.holding(&self.ledger, grab.user, found);
        let allowance = self.allowance(&holding);
        if allowance == Some(0) {
            if let Some(newest) = self.ledger.newest_live(found, t) {
                return Err(Outcome::Already(newest.view()));
            }
        }
        let allowance = allowance.unwrap_or(u64::MAX);
        // A plain sale has no waiters and admits everybody.
        let others = match self.is_plain() {
            true => self.judge_time(t).map(|()| None)?,
            false => self.judge_user(grab.user, aside.insert(Aside::default()), t)?,
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
            (Some(list), _) => self.judge_behind(list, grab, wanted, plan, aside)?,
            (None, Some(draw)) => self.judge_draw(draw, manner, plan)?,
            (None, None) if plan.draft.balances.available >= wanted => wanted,
            (None, None) => self.judge_shortage(grab, wanted, manner, plan)?,
        };
        if self.balances.grants >= GRANTS_MAX {
            return Err(Outcome::Misuse(Misuse::GrantsFull));
        }
        if let Some(aside) = aside.as_mut().filter(|aside| aside.after.is_none()) {
            aside.before.extend(self.drop_gone(grab.user, t));
        }
        Ok(qty)
    }

    /// Checks that this user is admitted; returns the waiting list, if anybody is on it.
    #[cold]
    fn judge_user(
        &self,
        user: &[u8],
        aside: &mut Aside,
        t: u64,
    ) -> Result<Option<&Waitlist>, Outcome> {
        if let Some(waiter) = self.waiting_at(user, t) {
            return Err(Outcome::Waiting(self.place_of(waiter.ticket)));
        }
        self.judge_time(t)?;
        aside.admits = self.judge_admission(user)?;
        Ok(self.in_the_way(t))
    }

    /// The units available after due holds of others have expired, or the refusal if fewer than
    /// `wanted` are.
    #[inline(always)]
    fn judge_shortage(
        &self,
        grab: &Grab<'_>,
        wanted: u64,
        manner: Manner,
        plan: &mut Planning<'_, '_>,
    ) -> Result<u64, Outcome> {
        let takes_less = matches!(grab.amount, Amount::UpTo(_));
        // A request for more than can become available is refused at once.
        let can_be =
            takes_less || wanted <= plan.draft.balances.available + plan.draft.balances.held;
        let most = manner.expiries().others;
        let is_enough = |plan: &Planning<'_, '_>| plan.draft.balances.available >= wanted;
        let is_bounded = can_be && plan.expire_until(&self.ledger, most, is_enough)?;
        match plan.draft.balances.available {
            available if available >= wanted => Ok(wanted),
            available if takes_less && available > 0 => Ok(available),
            _ if is_bounded => Err(Outcome::ManyEnding),
            0 => Err(Outcome::SoldOut { held: plan.draft.balances.may_come_back() }),
            available => Err(Outcome::Short { available }),
        }
    }

    /// The drawn amount for this grab, or the refusal.
    fn judge_draw(
        &self,
        draw: &Draw,
        manner: Manner,
        plan: &mut Planning<'_, '_>,
    ) -> Result<u64, Outcome> {
        let dice = Dice::new(&self.secret, self.balances.grants + 1);
        let most = manner.expiries().others;
        let is_enough = |plan: &Planning<'_, '_>| draw.is_covered(&plan.draft.balances, &dice);
        let is_bounded = plan.expire_until(&self.ledger, most, is_enough)?;
        let balances = plan.draft.balances;
        let refusal = match is_bounded {
            true => Outcome::ManyEnding,
            false => Outcome::SoldOut { held: balances.held },
        };
        draw.amount(&balances, plan.draft.first_amount(), &dice).ok_or(refusal)
    }

    /// The reply to a known request id: its grant's state at `t`, or an error if the arguments
    /// differ.
    fn judge_replay(&self, grab: &Grab<'_>, req: &[u8], found: &Lookup, t: u64) -> Option<Outcome> {
        let is_fenced = || !self.fences.is_empty() && self.fences.stands(grab.user, req, t);
        let seq = match (found.seq(), &self.extras) {
            // A plain sale has neither an older round nor waiters.
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

/// GRABs while others wait, and GRABs of waiters: nobody jumps the queue.
impl Sale {
    /// The reply to a request id on the waiting list: its place at `t`.
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

    /// The place of a user on the list; none if their entry counts as gone.
    pub fn place(&self, user: &[u8], now: &Now) -> Option<Place> {
        let (waiter, place) = self.waiters()?.place_of(user)?;
        self.drop_reason(&waiter, self.time(now)).is_none().then_some(place)
    }

    /// Drops this user's entry if it counts as gone at `t`.
    fn drop_gone(&self, user: &[u8], t: u64) -> Option<Effect<'static>> {
        let (waiter, reason) = self.gone_at(user, t)?;
        Some(Effect::Drop { ticket: waiter.ticket, reason })
    }

    /// Decides a grab as if the user joined the list's end: granted only if that entry would be
    /// offered its units now.
    #[cold]
    fn judge_behind(
        &self,
        list: &Waitlist,
        grab: &Grab<'_>,
        wanted: u64,
        plan: &mut Planning<'_, '_>,
        aside: &mut Option<Aside>,
    ) -> Result<u64, Outcome> {
        let t = plan.t();
        let refused = Outcome::SoldOut { held: plan.draft.balances.may_come_back().max(1) };
        let due_before = plan.draft.moved_len();
        // The offers and drops that would follow if nothing was granted.
        let mut ahead = plan.clone();
        let dropped = self.drop_gone(grab.user, t);
        dropped.iter().try_for_each(|effect| ahead.push(effect.clone()))?;
        let done = ahead.changes().len();
        let mut service = Service::new(&mut ahead, list);
        let is_done = service.run(false)?;
        let available = service.balances().available;
        let qty = match grab.amount {
            Amount::UpTo(_) => wanted.min(available),
            _ => wanted,
        };
        if !is_done || qty == 0 || qty > available {
            return Err(refused);
        }
        let mut passed = None;
        if let Some(head) = service.head() {
            // The head may be waiting for due holds.
            let others = self.ledger.holds().due(t).nth(due_before);
            if others.is_some() || !service.may_pass(&head) {
                return Err(refused);
            }
            passed = Some(Effect::Pass { ticket: head.ticket });
        }
        let aside = aside.get_or_insert_with(Aside::default);
        aside.before = dropped.into_iter().chain(passed).collect();
        aside.after = Some(ahead.of_list(done).collect());
        Ok(qty)
    }

    /// Whether GRAB's WAIT has an effect: the sale takes waiters.
    pub(crate) fn takes_waiters(&self) -> bool {
        self.terms.waitlist.is_some_and(|list| list.max > 0)
    }

    /// GRAB with WAIT when the units are gone: the user joins the list, if possible.
    #[cold]
    fn judge_join<'a>(
        &self,
        grab: &Grab<'a>,
        until: u64,
        refused: Outcome,
        plan: &mut Planning<'_, 'a>,
    ) -> Result<Outcome, Misuse> {
        let (t, list) = (plan.t(), self.waitlist());
        let (Some(list), Some(req)) = (list, grab.req) else { return Ok(refused) };
        let qty = match grab.amount {
            Amount::Exactly(qty) => qty,
            Amount::Unsaid | Amount::UpTo(_) => 1,
        };
        // An UNTIL in the past: the user does not join.
        if until != 0 && until <= t {
            return Ok(refused);
        }
        let Balances { supply, available, .. } = plan.draft.balances;
        if qty > supply {
            return Ok(Outcome::Short { available });
        }
        let gone = self.gone_at(grab.user, t).map(|(waiter, _)| waiter);
        if self.is_full(list, gone.as_ref(), t) {
            return Ok(Outcome::Busy);
        }
        let ticket = list.totals.last_ticket + 1;
        let place = list.place(ticket, gone);
        if let Some(drop) = self.drop_gone(grab.user, t) {
            plan.push(drop)?;
        }
        plan.push(Effect::Wait(Joining { ticket, user: grab.user, req, qty, until }))?;
        Ok(Outcome::Waiting(place))
    }
}
