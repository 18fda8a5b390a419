//! INIT and ALTER: the terms of a sale.

use crate::effect::{self, Change, Effect};
use crate::ledger::HashKey;
use crate::model::outcome::{Misuse, Outcome};
use crate::plan::{Plan, Planning};
use crate::request::{Init, Now, TermsChange};
use crate::Sale;

/// Decides an INIT for a missing key: the plan, and the sale it is for. `key` keys the hashes of
/// its indexes.
pub fn decide_new(init: &Init, now: &Now, key: HashKey) -> Result<(Plan<'static>, Sale), Misuse> {
    check(init)?;
    let effect = Effect::Init(Box::new(effect::Init {
        id: init.id,
        secret: init.secret,
        supply: init.supply,
        terms: init.terms.clone(),
        amounts: init.amounts.clone(),
    }));
    let change = Change { elapsed_ms: now.clock_ms, epoch: Some(now.node_epoch), effect };
    // The terms were checked, so only the clock can be beyond its limit.
    Plan::first(change, Some(now.node_epoch), key).map_err(|_| Misuse::Exhausted)
}

/// Whether a sale can have this supply and these terms.
fn check(init: &Init) -> Result<(), Misuse> {
    init.terms.check()?;
    init.terms.check_supply(init.supply, &init.amounts)
}

/// Decides an INIT for an existing sale. INIT never resets a sale: with the arguments of the first
/// INIT it is a retry.
pub(super) fn again(sale: &Sale, init: &Init) -> Result<Outcome, Misuse> {
    check(init)?;
    match init.supply == sale.initial_supply && init.terms == *sale.initial_terms {
        true => Ok(Outcome::Done),
        false => Err(Misuse::SaleExists),
    }
}

/// Judges an ALTER.
pub(super) fn alter(plan: &mut Planning<'_, '_>, change: &TermsChange) -> Result<Outcome, Misuse> {
    let sale = plan.sale();
    let (wanted, set) = (&change.outbox, &sale.terms.outbox);
    if wanted.is_some() && set.is_some() && wanted != set {
        return Err(Misuse::OutboxSet);
    }
    let terms = sale.terms.altered(change);
    sale.check_terms(&terms)?;
    if terms != sale.terms || change.remakes_outbox {
        let mut change = Box::new(change.clone());
        if change.admission.sample.is_some() {
            change.admission.sample = Some(terms.admission.sample);
        }
        plan.push(effect::Alter(change))?;
    }
    Ok(Outcome::Done)
}
