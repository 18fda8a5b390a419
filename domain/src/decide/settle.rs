//! CONFIRM, CANCEL, EXTEND, REFUND: actions on a grant.

use super::{pick, waitlist};
use crate::effect::{self, Effect};
use crate::ledger::{Grant, Lookup};
use crate::model::outcome::{GrantView, Misuse, Outcome, State};
use crate::numbers::UnitList;
use crate::plan::Planning;
use crate::request::{Deed, Keeper, Kept, Settle, UnitKind, Which};
use crate::Sale;

/// Judges a CONFIRM, CANCEL, EXTEND or REFUND.
pub(super) fn settle<'a>(
    plan: &mut Planning<'_, 'a>,
    settle: &Settle<'a>,
) -> Result<Outcome, Misuse> {
    let (sale, t) = (plan.sale(), plan.t());
    if let Deed::Keep { kept, .. } = settle.deed {
        check_keep(sale, kept)?;
    }

    // The user's own due holds expire.
    let user = sale.ledger.find(settle.user);
    let own_left = plan.expire_own(settle.user, &user)?;

    let Some(grant) = which(sale, settle, &user)? else {
        return match (settle.deed, settle.which) {
            (Deed::Cancel, Which::Req(req)) => cancel_ahead(plan, settle.user, req),
            _ => Ok(Outcome::NoGrant),
        };
    };
    let (seq, stands) = (grant.seq, grant.view_at(t));
    if let Deed::Keep { by, kept } = settle.deed {
        return keep(plan, stands, by, kept);
    }
    let effect = match (settle.deed, stands.state) {
        (Deed::Confirm { reclaim: true }, State::Expired) => {
            return reclaim(plan, &grant, own_left);
        }
        (Deed::Confirm { .. }, State::Held) => {
            Effect::Settle(effect::Settle { seq, to: State::Sold })
        }
        (Deed::Cancel, State::Held) => Effect::Settle(effect::Settle { seq, to: State::Cancelled }),
        (Deed::Refund, State::Sold) => Effect::Settle(effect::Settle { seq, to: State::Refunded }),
        (Deed::Extend { ms }, State::Held) if t + ms > stands.deadline => {
            Effect::Extend(effect::Extend { seq, ms })
        }
        _ => return Ok(Outcome::Stands(stands)),
    };
    Ok(Outcome::Stands(plan.push_about(effect)?))
}

/// Checks a KEEP before anything else is judged.
#[cold]
fn check_keep(sale: &Sale, kept: Kept<'_>) -> Result<(), Misuse> {
    match (kept, &sale.terms.kind) {
        (Kept::AtMost(_), UnitKind::Counted) => Ok(()),
        (Kept::AtMost(_), UnitKind::Drawn(_)) => Err(Misuse::DrawTakesNoKeep),
        (Kept::AtMost(_), UnitKind::Numbered) => Err(Misuse::NumberedTakesNoKeep),
        (Kept::These(units), _) => {
            pick::check_units(sale.numbers().ok_or(Misuse::NotNumbered)?, units)
        }
    }
}

/// KEEP: the grant keeps some of its units and gives the rest back.
#[cold]
fn keep(
    plan: &mut Planning<'_, '_>,
    stands: GrantView,
    by: Keeper,
    kept: Kept<'_>,
) -> Result<Outcome, Misuse> {
    let GrantView { seq, qty, state, .. } = stands;
    let to = match (by, state) {
        (Keeper::Confirm, State::Held) | (Keeper::Refund, State::Sold) => State::Sold,
        (Keeper::Cancel, State::Held) => State::Held,
        _ => return Ok(Outcome::Stands(stands)),
    };
    let mut left = UnitList::new();
    let returned = match kept {
        Kept::AtMost(units) => qty.saturating_sub(units),
        Kept::These(units) => {
            left = plan.draft.units_of(seq);
            left.retain(|unit| units.contains(unit));
            qty - left.len() as u64
        }
    };
    let trim = effect::Trim { seq, returned, to };
    let stands = match returned {
        0 if state == to => stands,
        0 => plan.push_about(effect::Settle { seq, to })?,
        _ if matches!(kept, Kept::AtMost(_)) => plan.push_about(trim)?,
        _ if left.is_empty() => return Err(Misuse::KeepsNoUnit),
        _ => plan.push_about(Box::new(effect::TrimNumbered { units: left, of: trim }))?,
    };
    Ok(Outcome::Stands(stands))
}

/// Seq of the requested grant; `None` if the user does not have it.
fn which<'s>(
    sale: &'s Sale,
    settle: &Settle<'_>,
    user: &Lookup,
) -> Result<Option<Grant<'s>>, Misuse> {
    let seq = match settle.which {
        Which::Seq(seq) => Some(seq),
        Which::Req(req) => sale.by_req_of(settle.user, user, req),
        Which::Only => only_grant(sale, settle.user)?,
    };
    let grant = seq.and_then(|seq| sale.grant(seq));
    Ok(grant.filter(|grant| grant.user == settle.user))
}

/// Seq of the user's only kept grant, in any round.
fn only_grant(sale: &Sale, user: &[u8]) -> Result<Option<u64>, Misuse> {
    let mut grants = sale.grants_of(user);
    match (grants.next(), grants.next()) {
        (Some(_), Some(_)) => Err(Misuse::Ambiguous),
        (only, _) => Ok(only.map(|grant| grant.seq)),
    }
}

/// A CANCEL of a request without a grant: its GRAB has not arrived yet, or waits on the list.
/// Leaves a fence.
fn cancel_ahead<'a>(
    plan: &mut Planning<'_, 'a>,
    user: &'a [u8],
    req: &'a [u8],
) -> Result<Outcome, Misuse> {
    let (sale, t) = (plan.sale(), plan.t());
    if let Some(waiter) = waitlist::waiting_at(sale, user, t).filter(|waiter| waiter.req == req) {
        plan.push(effect::Leave { ticket: waiter.ticket })?;
    } else if sale.waiter_of(user, req).is_some() {
        // An entry that is over: a later ALTER of CLOSEAT must not bring it back.
        plan.drop_gone(user)?;
    }
    if !sale.fences.stands(user, req, t) {
        plan.push(effect::Fence { user, req })?;
    }
    Ok(Outcome::Fenced)
}

/// CONFIRM RECLAIM: a late payment. The units are taken again if they are free and the allowance
/// permits. Otherwise the grant is forfeited, so that the refund can't be undone by a later retry.
/// `own_left`: more of the user's own holds are due.
fn reclaim(
    plan: &mut Planning<'_, '_>,
    grant: &Grant<'_>,
    own_left: bool,
) -> Result<Outcome, Misuse> {
    let (sale, seq, qty) = (plan.sale(), grant.seq, grant.qty);
    let is_left = grant.is_due(plan.t()) && !plan.draft.has_moved(seq);
    if own_left && (is_left || sale.terms.limits_users()) {
        return Ok(Outcome::ManyOwnEnding);
    }
    // An older round has its own numbers and limits.
    let ledger = sale.ledger_with(seq);
    let holding = plan.draft.holding(ledger, grant.user, &ledger.find(grant.user));
    let balances = plan.draft.numbers_of(seq);
    // More units than can become available are refused at once.
    let permitted = sale.allowance(&holding).is_none_or(|allowance| qty <= allowance)
        && qty <= balances.available + balances.held;
    let is_free = |plan: &mut Planning<'_, '_>| plan.draft.can_retake(seq, qty);
    let is_cut = match sale.numbers() {
        _ if !permitted => false,
        // Only holds that have this grant's numbers can help, so no others are expired.
        Some(numbers) => plan.expire_holders(&numbers.of(seq))? && !is_free(plan),
        None => plan.expire_until(ledger, |plan, _| is_free(plan))?,
    };
    if is_cut {
        return Ok(Outcome::ManyEnding);
    }
    let stands = match permitted && is_free(plan) {
        true => plan.push_about(effect::Reclaim { seq })?,
        // The reply shows the grant as EXPIRED.
        false => {
            let stands = plan.push_about(effect::Settle { seq, to: State::Forfeited })?;
            GrantView { state: State::Expired, ..stands }
        }
    };
    Ok(Outcome::Stands(stands))
}
