//! RESTOCK: units are added or withdrawn.

use crate::effect;
use crate::model::limits::{INTEGER_MAX, UNITS_MAX};
use crate::model::outcome::{Misuse, Outcome};
use crate::plan::Planning;
use crate::request::Restock;

/// Judges a RESTOCK.
pub(super) fn restock<'a>(
    plan: &mut Planning<'_, 'a>,
    restock: &Restock<'a>,
) -> Result<Outcome, Misuse> {
    let (sale, Restock { delta, req }) = (plan.sale(), *restock);
    if sale.balances.packets.is_some() {
        return Err(Misuse::DrawFixesSupply);
    }
    if let Some(known) = sale.restocks.find(req) {
        return match known.delta == delta {
            true => Ok(known.outcome()),
            false => Err(Misuse::ReqMismatch),
        };
    }
    if sale.terms.is_numbered() && delta < 0 {
        return Err(Misuse::NumberedOnlyGrows);
    }
    let balances = &sale.balances;
    let applied = if delta > 0 {
        let added = delta.unsigned_abs() - balances.deficit.min(delta.unsigned_abs());
        let put_in = sale.escrow.map_or(0, |escrow| escrow.put_in);
        if balances.supply + added > INTEGER_MAX || put_in + delta > INTEGER_MAX as i64 {
            return Err(Misuse::SupplyTooLarge);
        }
        if sale.terms.is_numbered() && balances.supply + added > UNITS_MAX {
            return Err(Misuse::TooManyUnits);
        }
        delta
    } else {
        -(delta.unsigned_abs().min(balances.available) as i64)
    };
    plan.push(effect::Restock { req, delta, applied })?;
    Ok(Outcome::Restocked { applied, available: plan.complete()? })
}
