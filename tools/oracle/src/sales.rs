//! Sales for tests that are about something else, and the clock they are judged by.

use seckill_domain::decide::decide_new;
use seckill_domain::outcome::Outcome;
use seckill_domain::request::{Init, Now, Request, Terms};
use seckill_domain::Sale;

use super::world::commit;

/// The first run of a primary, at this Unix ms.
pub fn at(clock_ms: u64) -> Now {
    Now { clock_ms, node_epoch: 1 }
}

/// A sale of `supply` units under `terms`, made at 1.
pub fn created(supply: u64, terms: Terms) -> Sale {
    let secret = *b"0123456789abcdef";
    let init = Init { supply, terms, amounts: Vec::new(), id: 1, secret };
    decide_new(&init, &at(1), [1, 2]).expect("a sale").1
}

/// Judges and applies.
pub fn run(sale: &mut Sale, request: &Request<'_>, clock_ms: u64) -> Outcome {
    let decision = sale.decide(request, &at(clock_ms)).unwrap();
    commit(sale, &decision);
    decision.outcome
}
