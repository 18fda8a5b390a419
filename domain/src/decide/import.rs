//! IMPORT: a grant that the shop's database knows and Redis lost is entered again.

use super::{pick, waitlist};
use crate::draft::without;
use crate::effect;
use crate::ledger::{Grant, Slots};
use crate::model::limits::{GRANTS_MAX, INTEGER_MAX};
use crate::model::outcome::{Misuse, Outcome, State};
use crate::numbers::{Numbers, UnitList};
use crate::plan::Planning;
use crate::request::Import;
use crate::Sale;

/// Judges an IMPORT.
pub(super) fn import<'a>(
    plan: &mut Planning<'_, 'a>,
    import: &Import<'a>,
) -> Result<Outcome, Misuse> {
    let (sale, t) = (plan.sale(), plan.t());
    let Import { user, qty, req, at, units, .. } = *import;
    if sale.balances.packets.is_some() {
        return Err(Misuse::DrawFixesSupply);
    }
    if sale.terms.schedule.is_some() {
        return Err(Misuse::RoundsTakeNoImport);
    }
    check_units(sale, import)?;
    let found = sale.ledger.find(user);
    let known = sale.ledger.find_req(user, &found, req);
    if let Some(grant) = known.seq().and_then(|seq| sale.ledger.grant(seq)) {
        return import_again(plan, &grant, import);
    }
    // A waiter with this request id must have asked for the same quantity; the import removes the
    // entry.
    if waitlist::waiting_at(sale, user, t).is_some_and(|it| it.req == req && it.qty != qty) {
        return Err(Misuse::ReqMismatch);
    }
    if let Some(refused) = cover(plan, import, qty)? {
        return Ok(refused);
    }
    if sale.balances.grants >= GRANTS_MAX {
        return Err(Misuse::GrantsFull);
    }
    if sale.waiter_of(user, req).is_some() {
        plan.drop_gone(user)?;
    }
    let effect = effect::Import { user, req, qty, at: at.unwrap_or(t) };
    let (these, slots) = (pick::rising(units), Slots { user: found, req: Some(known) });
    let grant = plan.push_new(effect, qty, Some(these), slots)?;
    Ok(Outcome::Granted { grant, available: plan.complete()? })
}

/// Checks the numbers that an import names: one for each unit if the sale's units have numbers,
/// else none.
fn check_units(sale: &Sale, import: &Import<'_>) -> Result<(), Misuse> {
    match sale.numbers() {
        None if import.units.is_empty() => Ok(()),
        None => Err(Misuse::NotNumbered),
        Some(_) if import.units.len() as u64 != import.qty => Err(Misuse::ImportNeedsUnits),
        Some(numbers) => pick::check_units(numbers, import.units),
    }
}

/// Judges the IMPORT of a grant that is known by its request id.
fn import_again(
    plan: &mut Planning<'_, '_>,
    grant: &Grant<'_>,
    import: &Import<'_>,
) -> Result<Outcome, Misuse> {
    if let Some(numbers) = plan.sale().numbers() {
        return import_numbers_again(plan, numbers, grant, import);
    }
    if plan.sale().ledger.first_qty(grant) != import.qty {
        return Err(Misuse::ReqMismatch);
    }
    let has = match grant.state {
        State::Sold | State::Refunded => return Ok(Outcome::Replay(grant.view())),
        State::Held => grant.qty,
        State::Cancelled | State::Expired | State::Forfeited => 0,
    };
    if let Some(refused) = cover(plan, import, import.qty - has)? {
        return Ok(refused);
    }
    Ok(Outcome::Replay(plan.push_about(effect::Reimport { seq: grant.seq })?))
}

/// A repeated IMPORT in a sale whose units have numbers. The request names some of the grant's
/// first numbers, and the grant gets these in addition to the numbers that it holds. A due hold
/// holds none: it expires first.
fn import_numbers_again(
    plan: &mut Planning<'_, '_>,
    numbers: &Numbers,
    grant: &Grant<'_>,
    import: &Import<'_>,
) -> Result<Outcome, Misuse> {
    let named = pick::rising(import.units);
    if !without(&named, &numbers.first_of(grant.seq)).is_empty() {
        return Err(Misuse::ReqMismatch);
    }
    let stands = grant.view_at(plan.t());
    if stands.state != grant.state {
        plan.expire(grant.seq)?;
    }
    let mut units = match stands.state {
        State::Sold | State::Refunded => return Ok(Outcome::Replay(stands)),
        State::Held => numbers.of(grant.seq),
        State::Cancelled | State::Expired | State::Forfeited => UnitList::new(),
    };
    let further = import.units.iter().filter(|unit| !units.contains(unit)).copied();
    let further: UnitList = further.collect();
    if let Some(refused) = pick::make_free(plan, &further)? {
        return Ok(refused);
    }
    units.extend(further);
    let effect = effect::ReimportNumbered { units: pick::rising(&units), seq: grant.seq };
    Ok(Outcome::Replay(plan.push_about(Box::new(effect))?))
}

/// The refusal of an import if `units` more are not available and may not be promised beyond the
/// supply.
fn cover(
    plan: &mut Planning<'_, '_>,
    import: &Import<'_>,
    units: u64,
) -> Result<Option<Outcome>, Misuse> {
    if plan.sale().numbers().is_some() {
        return pick::make_free(plan, import.units);
    }
    let balances = &plan.draft.balances;
    let missing = units.saturating_sub(balances.available);
    // A part's deficit may exceed its supply.
    match missing {
        0 => Ok(None),
        _ if import.no_deficit => Ok(Some(Outcome::Short { available: balances.available })),
        _ if balances.supply.max(balances.deficit) + missing > INTEGER_MAX => {
            Err(Misuse::SupplyTooLarge)
        }
        _ => Ok(None),
    }
}
