//! Sales and clock for tests whose subject is something else.

use seckill_domain::decide::decide_new;
use seckill_domain::outcome::Outcome;
use seckill_domain::request::{Init, Now, Request, Terms};
use seckill_domain::Sale;

use super::world::commit;

/// A primary in its first epoch at this time (Unix ms).
pub fn at(clock_ms: u64) -> Now {
    Now { clock_ms, node_epoch: 1 }
}

/// A sale of `supply` units under `terms`, created at time 1.
pub fn created(supply: u64, terms: Terms) -> Sale {
    let secret = *b"0123456789abcdef";
    let init = Init { supply, terms, amounts: Vec::new(), id: 1, secret };
    decide_new(&init, &at(1), [1, 2]).expect("a sale").1
}

/// Decides a request and applies its changes.
pub fn run(sale: &mut Sale, request: &Request<'_>, clock_ms: u64) -> Outcome {
    let decision = sale.decide(request, &at(clock_ms)).unwrap();
    commit(sale, &decision);
    decision.outcome
}
