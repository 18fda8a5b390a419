//! What happens by itself: holds expire that are due, rounds begin. The sweeper does it, sale by
//! sale.

use super::access::{self, KEY};
use super::commit;
use crate::server::call::Call;
use crate::server::sweeper::Swept;
use seckill_domain::outcome::Outcome;
use seckill_domain::outcome::Outcome;

/// How long a sale is left alone that can't change: its outbox takes no entry, or it is at a bound.
const RETRY_MS: u64 = 1000;

/// Lets at most `most` due holds expire of the sale at the call's key, or begins its next round.
pub fn run(call: &mut Call<'_>, most: usize) -> Swept {
    let (now, outbox) = (call.now(), call.outbox());
    let name = call.args().get(KEY).copied().unwrap_or_default();
    let mut key = call.open(KEY);
    // A key that is gone, or that holds something else by now, costs this look and no more.
    let Ok(sale) = access::sale(&mut key) else {
        return Swept::default();
    };
    sale.forget_look();
    let decision = sale.decide_round(&now).unwrap_or_else(|| sale.decide_expiry(most, &now));
    if matches!(decision.outcome, Outcome::Misuse(_)) {
        return Swept { settled: 0, next_look: Some(now.clock_ms + RETRY_MS) };
    }
    let Some(plan) = &decision.plan else {
        let next_look = if sale.shed() { Some(now.clock_ms) } else { sale.next_look() };
        return Swept { settled: 0, next_look };
    };
    let before = sale.holds_len();
    match commit::make(sale, name, outbox, plan, &now) {
        Ok(mut made) => {
            let settled = before.saturating_sub(sale.holds_len()) as usize;
            // The sweeper keeps the hint itself: it comes back to this sale in its turn.
            let next_look = made.take_look();
            drop(key);
            commit::publish(call, KEY, plan, &made);
            commit::announce(call, KEY, plan, &made);
            Swept { settled, next_look }
        }
        Err(_) => Swept { settled: 0, next_look: Some(now.clock_ms + RETRY_MS) },
    }
}
