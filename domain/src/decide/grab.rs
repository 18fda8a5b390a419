//! GRAB. [`grab`] is the contract's "Order of judgement" as code, from top to bottom.

use super::admission::{self, Admittance};
use super::pick;
use super::waitlist::{self, Turn};
use crate::draw::Dice;
use crate::effect;
use crate::ledger::record::{Asked, ReqTag};
use crate::ledger::{Grant, Lookup, Slots};
use crate::model::balances::Balances;
use crate::model::limits::GRANTS_MAX;
use crate::model::outcome::{GrantView, Mask, Misuse, Outcome, State};
use crate::plan::Planning;
use crate::request::{Amount, Grab, Wish};
use crate::state::status::Window;
use crate::waitlist::Waiter;
use crate::Sale;

/// The kind of GRAB.
#[derive(Clone, Copy)]
pub(super) struct Manner<'r> {
    /// With WAIT: if the units are gone the user waits until this time, Unix ms; 0 for no end.
    pub(super) until: Option<u64>,
    /// With ADJACENT or UNITS: the numbered units that the buyer wants.
    pub(super) wish: Option<&'r Wish>,
}

impl<'r> Manner<'r> {
    /// A plain GRAB.
    pub(super) const ALONE: Manner<'static> = Manner { until: None, wish: None };

    fn these(&self) -> Option<&'r [u32]> {
        match self.wish {
            Some(Wish::These(units)) => Some(units),
            _ => None,
        }
    }

    /// The refusal of admission that MASK shows.
    fn mask(&self, sale: &Sale) -> Mask {
        match (self.until, self.these()) {
            (Some(_), _) if waitlist::takes_waiters(sale) => Mask::Busy,
            (_, Some([first, ..])) => Mask::Taken(*first),
            _ => Mask::SoldOut,
        }
    }
}

/// The grant of a fence, as a late GRAB sees it: cancelled before it was granted.
const FENCED: GrantView = GrantView { seq: 0, qty: 0, state: State::Cancelled, deadline: 0 };

/// Decides a GRAB.
#[expect(clippy::too_many_lines)] // It follows the contract line by line.
pub(super) fn grab<'a>(
    plan: &mut Planning<'_, 'a>,
    grab: &Grab<'a>,
    manner: &Manner<'_>,
) -> Result<Outcome, Misuse> {
    let (sale, t) = (plan.sale(), plan.t());
    let draw = sale.terms.draw();
    if draw.is_some() && grab.amount != Amount::Unsaid {
        return Err(Misuse::DrawTakesNoAmount);
    }
    if sale.terms.is_numbered() {
        pick::check_grab(grab.amount)?;
    }

    // The user's own due holds expire.
    let user = sale.ledger.find(grab.user);
    let own_left = plan.expire_own(grab.user, &user)?;
    if own_left && sale.terms.limits_users() {
        return Ok(Outcome::ManyOwnEnding);
    }

    // The request id is known.
    let req = grab.req.map(|id| sale.ledger.find_req(grab.user, &user, id));
    match grab.req.zip(req.as_ref()).and_then(|(id, found)| known(sale, grab.user, id, found, t)) {
        None => {}
        Some(Known::Grant(grant)) => {
            let is_asked = asks_for(grab.amount, sale, &grant);
            return match is_asked && pick::asks_for(sale, manner.wish, &grant) {
                true => Ok(Outcome::Replay(grant.view_at(t))),
                false => Err(Misuse::ReqMismatch),
            };
        }
        Some(Known::Fence) => return Ok(Outcome::Replay(FENCED)),
        Some(Known::Waiter(waiter)) => {
            let is_asked = waiter.qty == grab.amount.units() && grab.amount.is_exact();
            return match is_asked && manner.these().is_none() {
                true => Ok(Outcome::Waiting(waitlist::place_of(sale, waiter.ticket))),
                false => Err(Misuse::ReqMismatch),
            };
        }
    }

    // The user has reached their limit, or is on the waiting list.
    let holding = plan.draft.holding(&sale.ledger, grab.user, &user);
    let allowance = sale.allowance(&holding).unwrap_or(u64::MAX);
    if allowance == 0 {
        if let Some(newest) = sale.ledger.newest_live(&user, t) {
            return Ok(Outcome::Already(newest.view()));
        }
    }
    if let Some(waiter) = waitlist::waiting_at(sale, grab.user, t) {
        return Ok(Outcome::Waiting(waitlist::place_of(sale, waiter.ticket)));
    }

    // The window, and the operator's pause.
    match sale.window_at(t) {
        Window::Open => {}
        Window::OpensIn(in_ms) => return Ok(Outcome::NotOpen { in_ms }),
        Window::Closed => return Ok(Outcome::Closed),
    }
    if sale.paused {
        return Ok(Outcome::Paused);
    }

    // Admission.
    match admission::admittance(sale, grab.user) {
        Admittance::Ok => {}
        Admittance::First => plan.push(effect::Admit { user: grab.user })?,
        Admittance::Denied => {
            return Ok(admission::refused(sale, manner.mask(sale), Outcome::Denied))
        }
        Admittance::Busy => return Ok(admission::refused(sale, manner.mask(sale), Outcome::Busy)),
    }

    let wanted = match grab.amount {
        Amount::UpTo(qty) => qty.min(allowance),
        amount => amount.units(),
    };
    if wanted > allowance {
        return Ok(Outcome::OverLimit { allowance });
    }

    // The quantity: a turn behind all waiters, the drawn amount, the named units, or the amount
    // asked for.
    let mut turn = None;
    let qty = if let Some(list) = waitlist::in_the_way(sale, t) {
        turn = waitlist::turn_behind(plan, list, grab, wanted)?;
        let Some(turn) = &turn else {
            let held = plan.draft.balances.may_come_back().max(1);
            return or_wait(plan, grab, manner, Outcome::SoldOut { held });
        };
        let refusal = manner.wish.and_then(|wish| pick::refusal(plan, wish, wanted));
        if let Some(refused) = refusal {
            return Ok(refused);
        }
        turn.qty
    } else if let Some(draw) = draw {
        let dice = Dice::new(&sale.secret, sale.balances.grants + 1);
        let is_enough =
            |plan: &mut Planning<'_, '_>, _| draw.is_covered(&plan.draft.balances, &dice);
        let is_cut = plan.expire_until(&sale.ledger, is_enough)?;
        let balances = &plan.draft.balances;
        match draw.amount(balances, plan.draft.first_amount(), &dice) {
            Some(qty) => qty,
            None if is_cut => return Ok(Outcome::ManyEnding),
            None => return Ok(Outcome::SoldOut { held: balances.held }),
        }
    } else if let Some(wish) = manner.wish {
        if let Some(refused) = pick::make_room(plan, wish, wanted)? {
            return Ok(refused);
        }
        wanted
    } else if plan.draft.balances.available >= wanted {
        wanted
    } else {
        let is_cut = make_room(plan, grab, wanted)?;
        match plan.draft.balances.available {
            available if available >= wanted => wanted,
            available if available > 0 && !grab.amount.is_exact() => available,
            _ if is_cut => return Ok(Outcome::ManyEnding),
            0 => {
                let held = plan.draft.balances.may_come_back();
                return or_wait(plan, grab, manner, Outcome::SoldOut { held });
            }
            available => return or_wait(plan, grab, manner, Outcome::Short { available }),
        }
    };
    if sale.balances.grants >= GRANTS_MAX {
        return Err(Misuse::GrantsFull);
    }

    // Granted. First the user's own ended entry is dropped, and the pass of the head is counted.
    plan.drop_gone(grab.user)?;
    if let Some(ticket) = turn.as_ref().and_then(|turn| turn.passed) {
        plan.push(effect::Pass { ticket })?;
    }
    let asked = match grab.amount.is_exact() && draw.is_none() {
        true => Asked::Exactly,
        // The replay of a drawn amount compares no amount, as if UPTO had been given.
        false => Asked::UpTo,
    };
    let tag = grab.req.map(|id| ReqTag { id, asked });
    let granting = effect::Grant { user: grab.user, req: tag, qty, hold_ms: sale.terms.hold_ms };
    let these = manner.these().map(pick::rising);
    let grant = plan.push_new(granting, qty, these, Slots { user, req })?;
    if let Some(Turn { served, .. }) = turn {
        plan.is_served = true;
        served.into_iter().try_for_each(|effect| plan.push_ahead(effect))?;
    }
    Ok(Outcome::Granted { grant, available: plan.complete()? })
}

/// The meaning of a request id that the sale knows.
enum Known<'s> {
    /// A grant that is kept.
    Grant(Grant<'s>),
    /// A CANCEL came before its GRAB.
    Fence,
    /// An entry of the waiting list.
    Waiter(Waiter<'s>),
}

/// The grant, fence or entry of this user's request id at `t`, if there is one. `found` is the
/// user's lookup in the ledger of the current round.
#[inline]
fn known<'s>(sale: &'s Sale, user: &[u8], id: &[u8], found: &Lookup, t: u64) -> Option<Known<'s>> {
    let is_fenced = || !sale.fences.is_empty() && sale.fences.stands(user, id, t);
    let seq = match (found.seq(), sale.is_plain()) {
        // A plain sale has neither an older round nor waiters.
        (None, true) => return is_fenced().then_some(Known::Fence),
        (None, false) => sale.older_by_req(user, id, found),
        (seq, _) => seq,
    };
    match seq.and_then(|seq| sale.grant(seq)) {
        Some(grant) => Some(Known::Grant(grant)),
        None if is_fenced() => Some(Known::Fence),
        None => {
            let waiter = waitlist::waiting_at(sale, user, t);
            waiter.filter(|waiter| waiter.req == id).map(Known::Waiter)
        }
    }
}

/// Whether a request for `amount` repeats the request of this grant.
fn asks_for(amount: Amount, sale: &Sale, grant: &Grant<'_>) -> bool {
    let asked = grant.req.map(|req| req.asked);
    match amount {
        Amount::Unsaid if sale.terms.draw().is_some() => true,
        Amount::UpTo(_) => matches!(asked, Some(Asked::UpTo | Asked::Either)),
        exact => asked != Some(Asked::UpTo) && sale.first_qty(grant.seq) == Some(exact.units()),
    }
}

/// Expires due holds of others until `wanted` units are available. Returns whether the limit of a
/// call was reached.
#[inline(always)]
fn make_room(plan: &mut Planning<'_, '_>, grab: &Grab<'_>, wanted: u64) -> Result<bool, Misuse> {
    let Balances { available, held, .. } = plan.draft.balances;
    // A request for more than can become available is refused at once.
    let can_be = !grab.amount.is_exact() || wanted <= available + held;
    let is_enough = |plan: &mut Planning<'_, '_>, _| plan.draft.balances.available >= wanted;
    Ok(can_be && plan.expire_until(&plan.sale().ledger, is_enough)?)
}

/// The answer to a GRAB that comes too late: with WAIT its user joins the list, if they can.
#[inline(always)]
fn or_wait<'a>(
    plan: &mut Planning<'_, 'a>,
    grab: &Grab<'a>,
    manner: &Manner<'_>,
    refused: Outcome,
) -> Result<Outcome, Misuse> {
    match (manner.until, grab.req) {
        (Some(until), Some(req)) if waitlist::takes_waiters(plan.sale()) => {
            join(plan, grab, req, until, refused)
        }
        _ => Ok(refused),
    }
}

#[cold]
fn join<'a>(
    plan: &mut Planning<'_, 'a>,
    grab: &Grab<'a>,
    req: &'a [u8],
    until: u64,
    refused: Outcome,
) -> Result<Outcome, Misuse> {
    let (sale, t, qty) = (plan.sale(), plan.t(), grab.amount.units());
    let Some(list) = sale.waitlist() else { return Ok(refused) };
    let Balances { supply, available, .. } = plan.draft.balances;
    if qty > supply {
        return Ok(Outcome::Short { available });
    }
    let gone = waitlist::gone_at(sale, grab.user, t).map(|(waiter, _)| waiter);
    if waitlist::is_full(sale, list, gone.as_ref(), t) {
        return Ok(Outcome::Busy);
    }
    let ticket = list.totals.last_ticket + 1;
    let place = list.place(ticket, gone);
    plan.drop_gone(grab.user)?;
    plan.push(effect::Join { ticket, user: grab.user, req, qty, until })?;
    Ok(Outcome::Waiting(place))
}
