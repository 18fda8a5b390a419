//! Letting holds expire that are due: what the sweeper does with one sale.

use super::access::{self, KEY};
use super::commit;
use crate::server::call::Call;
use crate::server::key::Mode;
use crate::server::sweeper::Swept;

/// How long a sale is left alone whose outbox takes no entry.
const RETRY_MS: u64 = 1000;

/// Lets at most `most` due holds expire of the sale at the call's key.
pub fn run(call: &mut Call<'_>, most: usize) -> Swept {
    let (now, outbox) = (call.now(), call.outbox());
    let name = call.args().get(KEY).copied().unwrap_or_default();
    let mut key = call.open(KEY, Mode::Write);
    // A key that is gone, or that holds something else by now, costs this look and no more.
    let Ok(sale) = access::sale(&mut key) else {
        return Swept::default();
    };
    sale.forget_look();
    let decision = sale.decide_expiry(most, &now);
    if decision.changes.is_empty() {
        return Swept { settled: 0, next_look: sale.next_look() };
    }
    let before = sale.ledger().holds().len();
    match commit::make(sale, name, outbox, &decision, &now) {
        Ok(mut made) => {
            let settled = before - sale.ledger().holds().len();
            // The sweeper keeps the hint itself: it comes back to this sale in its turn.
            let next_look = made.take_look();
            drop(key);
            commit::publish(call, KEY, &made, &decision.changes);
            commit::announce(call, KEY, &made);
            Swept { settled, next_look }
        }
        Err(_) => Swept { settled: 0, next_look: Some(now.clock_ms + RETRY_MS) },
    }
}
