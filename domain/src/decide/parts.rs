//! SEND, RECEIVE, ELSEWHERE: units move between the parts of a split.

use super::waitlist;
use crate::effect;
use crate::model::balances::{Balances, Escrow};
use crate::model::limits::INTEGER_MAX;
use crate::model::outcome::{Misuse, Outcome};
use crate::plan::Planning;
use crate::request::{Elsewhere, Receive, Send};
use crate::state::status::PartView;
use crate::Sale;

/// Judges a SEND.
pub(super) fn send<'a>(plan: &mut Planning<'_, 'a>, send: &Send<'a>) -> Result<Outcome, Misuse> {
    let sale = plan.sale();
    let (to, escrow) = other_part(sale, send.split, send.to)?;
    let Balances { available, deficit, .. } = sale.balances;
    let sent = sale.pairs.get(to).sent;
    let units = match send.total.checked_sub(sent) {
        Some(units) if send.owed => units,
        // While the waiting list has waiters, available units are reserved for them.
        Some(_) if waitlist::does_anybody_wait(sale, plan.t()) => 0,
        Some(units) => units.min(available),
        None => 0,
    };
    let owed = units.saturating_sub(available);
    let total = sent + units;
    // An equal total is replicated again, so that a WAIT after it covers the first SEND.
    if units == 0 && send.total != sent {
        return Ok(Outcome::Moved { total, available });
    }
    if escrow.sent + units > INTEGER_MAX || deficit + owed > INTEGER_MAX {
        return Err(Misuse::MovedTooMany);
    }
    plan.push(effect::Send { to, total, owed })?;
    Ok(Outcome::Moved { total, available: plan.complete()? })
}

/// Judges a RECEIVE.
pub(super) fn receive<'a>(
    plan: &mut Planning<'_, 'a>,
    receive: &Receive<'a>,
) -> Result<Outcome, Misuse> {
    let sale = plan.sale();
    let (from, escrow) = other_part(sale, receive.split, receive.from)?;
    let Balances { supply, available, deficit, .. } = sale.balances;
    let (total, received) = (receive.total, sale.pairs.get(from).received);
    if total <= received {
        return Ok(Outcome::Moved { total: received, available });
    }
    let units = total - received;
    let added = units - deficit.min(units);
    if supply + added > INTEGER_MAX || escrow.received + units > INTEGER_MAX {
        return Err(Misuse::MovedTooMany);
    }
    plan.push(effect::Receive { from, total })?;
    Ok(Outcome::Moved { total, available: plan.complete()? })
}

/// Judges an ELSEWHERE.
pub(super) fn elsewhere<'a>(
    plan: &mut Planning<'_, 'a>,
    request: &Elsewhere<'a>,
) -> Result<Outcome, Misuse> {
    let sale = plan.sale();
    let escrow = this_part(sale, request.split)?.escrow;
    let Elsewhere { units, pass, .. } = *request;
    let known = sale.balances.elsewhere;
    if (pass, units) <= (escrow.pass, known) {
        return Ok(Outcome::Elsewhere { units: known, pass: escrow.pass });
    }
    plan.push(effect::Elsewhere { units, pass })?;
    Ok(Outcome::Elsewhere { units, pass })
}

/// The other part of the request, and this part's escrow.
fn other_part(sale: &Sale, id: &[u8], part: u64) -> Result<(u16, Escrow), Misuse> {
    let PartView { split, escrow, .. } = this_part(sale, id)?;
    Ok((split.other(part).ok_or(Misuse::NotAnotherPart)?, escrow))
}

/// This sale as a part of the split with this id.
fn this_part<'s>(sale: &'s Sale, id: &[u8]) -> Result<PartView<'s>, Misuse> {
    let part = sale.part().ok_or(Misuse::NotAPart)?;
    match *part.split.id == *id {
        true => Ok(part),
        false => Err(Misuse::NotThisSplit),
    }
}
