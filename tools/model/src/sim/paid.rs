//! Orders that were paid on a primary whose last changes are lost. The shop's database still has
//! them, so it imports them, also when the buyer is on the waiting list now.

use seckill_domain::outcome::State;

use super::node::Held;
use super::step::Step;
use crate::oracle::{Bytes, Op};
use crate::random::Random;

/// An order that was paid and is no longer known as paid.
#[derive(Clone, Debug)]
pub struct Paid {
    sale: usize,
    user: Bytes,
    req: Bytes,
    qty: u64,
    /// The numbers of its units, if units have numbers.
    units: Vec<u32>,
}

/// Orders that are paid in `held` but not in `next`, the sales of the new primary.
pub fn lost(held: &[Held], next: &[Held]) -> Vec<Paid> {
    let mut lost = Vec::new();
    for (sale, (old, new)) in held.iter().zip(next).enumerate() {
        let sold = old.sale.grants_after(0).filter_map(|(_, grant)| grant);
        for grant in sold.filter(|grant| grant.state == State::Sold) {
            let Some(req) = grant.req_id() else { continue };
            let known = new.sale.by_req(grant.user, req).and_then(|seq| new.sale.grant(seq));
            if known.is_none_or(|known| known.state != State::Sold) {
                let (user, req) = (grant.user.to_vec(), req.to_vec());
                let qty = old.sale.first_qty(grant.seq).unwrap_or(grant.qty);
                let numbers = old.sale.numbers().map(|numbers| numbers.of(grant.seq));
                let units = numbers.unwrap_or_default().to_vec();
                lost.push(Paid { sale, user, req, qty, units });
            }
        }
    }
    lost
}

/// The IMPORT of one paid order.
pub fn import(random: &mut Random, paid: &[Paid]) -> Step {
    let Paid { sale, user, req, qty, units } = random.pick(paid).clone();
    if !units.is_empty() {
        return Step::Ask { sale, op: Op::ImportUnits { user, units, req } };
    }
    let no_deficit = random.once_in(4);
    Step::Ask { sale, op: Op::Import { user, qty, req, at: None, no_deficit } }
}
