//! What happens by itself: holds expire that are due, rounds begin. The sweeper does it, sale by
//! sale.

use super::pipeline::KEY;
use super::pipeline::{self, Task};
use crate::server::call::Call;
use crate::server::sweeper::Swept;
use seckill_domain::outcome::Outcome;

/// How long a sale is left alone that can't change: its outbox takes no entry, or it is at a bound.
const RETRY_MS: u64 = 1000;

/// Lets at most `most` due holds expire of the sale at the call's key, or begins its next round.
pub fn run(call: &mut Call<'_>, most: usize) -> Swept {
    let (now, outbox) = (call.now(), call.outbox());
    let mut key = call.open(KEY);
    // A key that is gone, or that holds something else by now, costs this look and no more.
    let Ok(sale) = key.sale() else {
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
    let stream = sale.outbox_after(plan).map(|name| outbox.stream(name, false));
    drop(key);
    let task = Task { arg: KEY, plan: Some(plan), attempt: None, stream };
    let Ok(mut committed) = pipeline::commit_one(call, &task, &now) else {
        return Swept { settled: 0, next_look: Some(now.clock_ms + RETRY_MS) };
    };
    // The sweeper keeps the deadline itself.
    let swept = Swept { settled: committed.settled as usize, next_look: committed.look_at.take() };
    call.replicate(KEY, plan, &committed);
    call.signal(KEY, &committed);
    call.notify(KEY, plan, &committed);
    swept
}
