//! The one sequence of every command that may change a sale: open, decide, and either count and
//! reply, or apply, replicate, signal, notify and reply. Nothing foreign runs between the decision
//! and its last change, because notifications may run other modules' code.

use super::access::{self, KEY};
use super::reply;
use crate::sale::core::Stock;
use crate::sale::effect::Change;
use crate::sale::request::Request;
use crate::server::call::Call;
use crate::server::info;
use crate::server::key::Mode;

/// Judges `request` by the sale at the key, makes it so and replies.
pub fn run(call: &mut Call<'_>, request: &Request<'_>) {
    let (now, out) = (call.now(), call.reply());
    let mut key = call.open(KEY, Mode::Write);
    let sale = match access::sale(&mut key) {
        Ok(sale) => sale,
        Err(error) => return out.error(error),
    };
    let decision = sale.decide(request, &now);
    sale.count(&decision.outcome);
    if !decision.changes.is_empty() {
        let (version, before) = (sale.core().version, sale.core().stock());
        sale.commit(&decision.changes, now.run);
        let after = sale.core().stock();
        drop(key);
        publish(call, version, &decision.changes);
        announce(call, &decision.changes, Some(before), after);
    }
    info::count(&decision.outcome);
    reply::outcome(out, &decision.outcome);
}

/// Replicates changes that were made here and follow `version`, and tells who watches the key.
pub fn publish(call: &mut Call<'_>, version: u64, changes: &[Change<'_>]) {
    call.replicate(KEY, version, changes);
    call.signal_modified(KEY);
}

/// Notifies of changes and, last, of where the stock went to. `before` is `None` for a new sale:
/// its stock was nowhere before, so it did not go anywhere.
pub fn announce(call: &mut Call<'_>, changes: &[Change<'_>], before: Option<Stock>, after: Stock) {
    for event in changes.iter().filter_map(|change| change.effect.event()) {
        call.notify(event, KEY);
    }
    if before.is_some_and(|before| before != after) {
        call.notify(stock_event(after), KEY);
    }
}

fn stock_event(stock: Stock) -> &'static str {
    match stock {
        Stock::Available => "seckill.available",
        Stock::AllHeld => "seckill.allheld",
        Stock::SoldOut => "seckill.soldout",
    }
}
