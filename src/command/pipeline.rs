//! Commands' access to the sale at their key: [`show`] for reading, [`run`] for changing,
//! [`expire`] for the sweeper. [`super::change`] makes the changes.

use super::args::Parsed;
pub use super::change::KEY;
use super::change::{self, Attempt, Source};
use super::{errors, reply};
use crate::server::call::{Call, Reply};
use crate::server::sweeper::Swept;
use seckill_domain::decide::Decision;
use seckill_domain::outcome::Outcome;
use seckill_domain::request::{Now, Request};
use seckill_domain::Sale;

/// Calls `show` with the sale at the key, or replies the error. Leaves no trace.
pub fn show<T>(call: &mut Call<'_>, asked: Parsed<T>, show: impl FnOnce(&Sale, T, Reply<'_>)) {
    let reply = call.reply();
    let asked = match asked {
        Ok(asked) => asked,
        Err(error) => return error.reply(reply),
    };
    match call.view(KEY).sale() {
        Ok(sale) => show(sale, asked, reply),
        Err(why) => reply.error(why.into()),
    }
}

/// Errors that every command with changes can reply, beside its own: a round that is over ends
/// first, and its entries are appended.
pub const ERRORS: &[&str] = &[
    errors::INCOMPLETE,
    errors::EXHAUSTED,
    errors::OUTBOX_NOT_HERE,
    errors::OUTBOX_REFUSED,
    errors::BEING_CHANGED,
];

/// Decides `request` for the sale at the key, commits the plan and replies; or replies that there
/// is no sale.
pub fn run(call: &mut Call<'_>, request: Parsed<Request<'_>>) {
    let out = call.reply();
    let request = match request {
        Ok(request) => request,
        Err(error) => return error.reply(out),
    };
    let now = call.now();
    loop {
        match take(call, &request, &now) {
            // The stored round was over and has ended. The request is decided again at the same
            // time: at a later time that round could be over, too, and so on.
            Ok(Outcome::NextRound) => {}
            Ok(outcome) => return reply::outcome(out, &outcome),
            Err(error) => return out.error(error),
        }
    }
}

/// Decides the request once and commits the plan. Returns the outcome for the caller.
fn take(call: &mut Call<'_>, request: &Request<'_>, now: &Now) -> Result<Outcome, &'static str> {
    let outbox = call.outbox();
    let mut key = call.open(KEY);
    let sale = key.sale()?;
    let Decision { outcome, plan } = &sale.decide(request, now);
    let shown = sale.masked(request, *outcome);
    // GRAB is an attempt to buy. IMPORT also leads to GRANTED or REPLAY, but is no attempt.
    let attempt = match request {
        Request::Grab(grab) => Some(Attempt { outcome, amount: grab.amount }),
        Request::Wait(wait) => Some(Attempt { outcome, amount: wait.grab.amount }),
        _ => None,
    };
    let Some(plan) = plan else {
        change::commit(sale, None, attempt, None, now);
        return Ok(shown);
    };
    let named = match request {
        Request::Alter(change) => change.outbox.as_deref(),
        _ => None,
    };
    let stream = sale.outbox_after(plan).map(|name| outbox.stream(name, named == Some(name)));
    let committed = match &stream {
        None => {
            let committed = change::commit(sale, Some(plan), attempt, None, now);
            drop(key);
            committed
        }
        Some(stream) => {
            drop(key);
            change::commit_one(call, plan, attempt, stream, now, Source::Here)?
        }
    };
    change::finish(call, plan, &committed, Source::Here);
    Ok(shown)
}

/// Pause before looking again at a sale that can't change: its outbox refuses entries, or it is at
/// a limit.
const RETRY_MS: u64 = 1000;

/// Due changes, for the sweeper: the next round of the sale at the call's key begins, or at most
/// `most` of its due holds expire, and waiters are served. Without `most` it only frees memory.
pub fn expire(call: &mut Call<'_>, most: Option<usize>) -> Swept {
    let (now, outbox) = (call.now(), call.outbox());
    let mut key = call.open(KEY);
    // A missing key, or one that now holds another type, needs nothing.
    let Ok(sale) = key.sale() else {
        return Swept::default();
    };
    sale.forget_look();
    let Some(most) = most else {
        return Swept { expired: 0, next_look: change::look_at(sale, now.clock_ms) };
    };
    let decision = sale.decide_round(&now).unwrap_or_else(|| sale.decide_expiry(most, &now));
    if matches!(decision.outcome, Outcome::Misuse(_)) {
        return Swept { expired: 0, next_look: Some(now.clock_ms + RETRY_MS) };
    }
    let Some(plan) = &decision.plan else {
        return Swept { expired: 0, next_look: change::look_at(sale, now.clock_ms) };
    };
    let stream = sale.outbox_after(plan).map(|name| outbox.stream(name, false));
    let committed = match &stream {
        None => {
            let committed = change::commit(sale, Some(plan), None, None, &now);
            drop(key);
            Ok(committed)
        }
        Some(stream) => {
            drop(key);
            change::commit_one(call, plan, None, stream, &now, Source::Here)
        }
    };
    let Ok(mut committed) = committed else {
        return Swept { expired: 0, next_look: Some(now.clock_ms + RETRY_MS) };
    };
    // The sweeper keeps the deadline itself.
    let swept = Swept { expired: committed.expired as usize, next_look: committed.look_at.take() };
    change::finish(call, plan, &committed, Source::Here);
    swept
}
