//! GRAB in a sale whose units have numbers: the choice of a buyer's units.

mod tests;

use crate::ledger::Grant;
use crate::model::limits::UNITS_PER_GRANT_MAX;
use crate::model::outcome::{Misuse, Outcome};
use crate::numbers::{Numbers, UnitList};
use crate::plan::Planning;
use crate::request::{Amount, Pick, Wish};
use crate::units::Free;
use crate::Sale;

/// Checks a GRAB with ADJACENT or UNITS before anything else is judged.
pub(super) fn check_pick(sale: &Sale, pick: &Pick<'_>) -> Result<(), Misuse> {
    let numbers = sale.numbers().ok_or(Misuse::NotNumbered)?;
    if pick.waits {
        return Err(Misuse::PickTakesNoWait);
    }
    match &pick.wish {
        Wish::Adjacent => Ok(()),
        Wish::These(units) => check_units(numbers, units),
    }
}

/// Checks that a sale has these numbers, and that one grant can have this many.
pub(super) fn check_units(numbers: &Numbers, units: &[u32]) -> Result<(), Misuse> {
    check_amount(units.len() as u64)?;
    match units.iter().all(|unit| (1..=numbers.units().len()).contains(unit)) {
        true => Ok(()),
        false => Err(Misuse::NoSuchUnit),
    }
}

/// Checks the amount of a GRAB of numbered units.
pub(super) fn check_grab(amount: Amount) -> Result<(), Misuse> {
    match amount.is_exact() {
        true => check_amount(amount.units()),
        false => Err(Misuse::NumberedTakesNoUpTo),
    }
}

fn check_amount(qty: u64) -> Result<(), Misuse> {
    match qty <= UNITS_PER_GRANT_MAX as u64 {
        true => Ok(()),
        false => Err(Misuse::TooManyAtOnce),
    }
}

/// Whether a request for these units, in any order, repeats the request of this grant.
pub(super) fn asks_for(sale: &Sale, wish: Option<&Wish>, grant: &Grant<'_>) -> bool {
    match (wish, sale.numbers()) {
        (Some(Wish::These(units)), Some(numbers)) => rising(units) == numbers.first_of(grant.seq),
        _ => true,
    }
}

/// The numbers in ascending order, in which a grant stores them.
pub(super) fn rising(units: &[u32]) -> UnitList {
    let mut rising = UnitList::from_slice(units);
    rising.sort_unstable();
    rising
}

/// Expires due holds of others until the wish of a GRAB for `qty` units can be met. Returns the
/// refusal if it can't.
pub(super) fn make_room(
    plan: &mut Planning<'_, '_>,
    wish: &Wish,
    qty: u64,
) -> Result<Option<Outcome>, Misuse> {
    if let Wish::These(units) = wish {
        return make_free(plan, units);
    }
    let balances = &plan.draft.balances;
    let can_be = qty <= balances.available + balances.held;
    // An expired hold can only make runs that contain one of its numbers.
    let has_run = |plan: &mut Planning<'_, '_>, last: Option<u64>| match last {
        None => u64::from(plan.draft.longest_run()) >= qty,
        Some(seq) => plan.draft.is_in_run(seq, qty),
    };
    match can_be && plan.expire_until(&plan.sale().ledger, has_run)? {
        true => Ok(Some(Outcome::ManyEnding)),
        false => Ok(refusal(plan, wish, qty)),
    }
}

/// Expires due holds that have one of these numbers. Returns the refusal if a number is not free.
pub(super) fn make_free(
    plan: &mut Planning<'_, '_>,
    units: &[u32],
) -> Result<Option<Outcome>, Misuse> {
    match plan.expire_holders(units)? {
        true => Ok(Some(Outcome::ManyEnding)),
        false => Ok(taken(plan, units)),
    }
}

fn taken(plan: &Planning<'_, '_>, units: &[u32]) -> Option<Outcome> {
    plan.draft.first_taken(units).map(|unit| Outcome::Taken { unit })
}

/// The refusal of a wish that the free numbers can't meet.
pub(super) fn refusal(plan: &mut Planning<'_, '_>, wish: &Wish, qty: u64) -> Option<Outcome> {
    match wish {
        Wish::These(units) => taken(plan, units),
        Wish::Adjacent => match u64::from(plan.draft.longest_run()) {
            longest if longest >= qty => None,
            0 => Some(Outcome::SoldOut { held: plan.draft.balances.may_come_back() }),
            available => Some(Outcome::Short { available }),
        },
    }
}
