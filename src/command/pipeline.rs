//! Commands' access to the sale at their key: [`show`] for reading, [`run`] for changing,
//! [`expire`] for the sweeper. [`super::change`] makes the changes.

use super::args::Parsed;
pub use super::change::KEY;
use super::change::{self, Made, Source, Stop};
use super::{errors, reply};
use crate::server::call::Call;
use crate::server::reply::Reply;
use crate::server::sweeper::Swept;
use seckill_domain::decide::Decision;
use seckill_domain::outcome::{Misuse, Outcome};
use seckill_domain::request::Request;
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
    Misuse::Incomplete.text(),
    Misuse::Exhausted.text(),
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
    let (now, mut shown, mut units) = (call.now(), Outcome::NextRound, None);
    // A stored round that is over ends first. Then the request is decided again at the same time:
    // at a later time that round could be over, too, and so on.
    while matches!(shown, Outcome::NextRound) {
        let made = change::one(call, &now, Source::Caller, Some(&request), |sale| {
            let decision = sale.decide(&request, &now);
            shown = decision.outcome;
            if !sale.is_plain() {
                units = sale.units_told(&decision);
            }
            decision
        });
        if let Err(why) = made {
            return out.error(why.into());
        }
    }
    reply::outcome(out, &shown, units.as_deref());
}

/// Pause before looking again at a sale that can't change: its outbox refuses entries, or it is at
/// a limit.
const RETRY_MS: u64 = 1000;

/// Due changes, for the sweeper: the next round of the sale at the call's key begins, or at most
/// `most` of its due holds expire, and waiters are served. Without `most` it only frees memory.
pub fn expire(call: &mut Call<'_>, most: Option<usize>) -> Swept {
    let (now, mut rests) = (call.now(), Swept::default());
    let retry = Some(now.clock_ms + RETRY_MS);
    let made = change::one(call, &now, Source::Sweeper, None, |sale| {
        sale.forget_look();
        let decide =
            |most| sale.decide_round(&now).unwrap_or_else(|| sale.decide_expiry(most, &now));
        let nothing = Decision { outcome: Outcome::Done, plan: None };
        let decision = most.map_or(nothing, decide);
        rests.next_look = match decision {
            Decision { outcome: Outcome::Misuse(_), .. } => retry,
            Decision { plan: None, .. } => change::look_at(sale, now.clock_ms),
            _ => None,
        };
        decision
    });
    match made {
        Ok(Some(Made { expired, next_look })) => Swept { expired: expired as usize, next_look },
        Ok(None) => rests,
        Err(Stop::NotTaken(_)) => Swept { expired: 0, next_look: retry },
        // A missing key, or one that now holds another type, needs nothing.
        Err(Stop::NoSale(_)) => Swept::default(),
    }
}
