//! Commands' access to the sale at their key: [`show`] for reading, [`run`] for changing,
//! [`expire`] for the sweeper. [`super::change`] makes the changes.

use super::args::Parsed;
pub use super::change::KEY;
use super::change::{self, Done, Made, Source, Stop};
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

/// Errors that every command with changes can reply, besides its own: a round that is over ends
/// first and appends entries.
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
    let now = call.now();
    // If the current round is over, it ends first. Then the request is decided again with the time
    // unchanged. With a later time the next round could be over, too, and so on.
    loop {
        let decide = |sale: &mut Sale| sale.decide(&request, &now);
        match change::one(call, &now, Source::Caller, Some(&request), decide) {
            Ok(Done { outcome: Some(outcome), units, .. }) => {
                return reply::outcome(out, &outcome, units.as_deref());
            }
            Ok(Done { outcome: None, .. }) => {}
            Err(why) => return out.error(why.into()),
        }
    }
}

/// Pause before the next look at a sale that can't change now, because its outbox refuses entries
/// or the sale is at a limit.
const RETRY_MS: u64 = 1000;

/// Makes due changes of the sale at the call's key, for the sweeper. The next round begins, or at
/// most `most` due holds expire and waiters are served. Without `most` it only frees memory.
pub fn expire(call: &mut Call<'_>, most: Option<usize>) -> Swept {
    let (now, mut rests) = (call.now(), Swept::default());
    let retry = Some(now.clock_ms + RETRY_MS);
    let made = change::one(call, &now, Source::Sweeper, None, |sale| {
        sale.forget_look();
        let nothing = Decision { outcome: Outcome::Done, plan: None };
        let decided = most.map_or(Ok(nothing), |most| {
            sale.decide_round(&now).unwrap_or_else(|| sale.decide_expiry(most, &now))
        });
        rests.next_look = match decided {
            Ok(Decision { outcome: Outcome::Misuse(_), .. }) => retry,
            Ok(Decision { plan: None, .. }) => change::look_at(sale, now.clock_ms),
            _ => None,
        };
        decided
    });
    match made.map(|done| done.made) {
        Ok(Some(Made { expired, next_look })) => Swept { expired: expired as usize, next_look },
        Ok(None) => rests,
        Err(Stop::NotTaken(_)) => Swept { expired: 0, next_look: retry },
        // A missing key, or one that now holds another type, needs nothing.
        Err(Stop::NoSale(_)) => Swept::default(),
    }
}
