//! The one sequence of every command that may change a sale: open, decide, and either count and
//! reply, or append to the outbox, commit, replicate, signal, notify and reply. Nothing foreign runs
//! between the decision and its last change, because notifications may run other modules' code.

use super::access::{self, KEY};
use super::{errors, reply};
use crate::server::call::Call;
use crate::server::info;
use crate::server::outbox::{Appended, NotTaken, Outbox};
use seckill_domain::decide::Decision;
use seckill_domain::outbox::Entry;
use seckill_domain::outcome::Outcome;
use seckill_domain::plan::Plan;
use seckill_domain::request::{Now, Request};
use seckill_domain::Sale;

/// What every command that changes a sale can answer, beside its own errors: a round that is over
/// ends first, whatever is asked, and with it come its entries.
pub const ERRORS: &[&str] =
    &[errors::INCOMPLETE, errors::EXHAUSTED, errors::OUTBOX_NOT_HERE, errors::OUTBOX_REFUSED];

/// Judges `request` by the sale at the key, makes it so and replies.
pub fn run(call: &mut Call<'_>, request: &Request<'_>) {
    let (out, outbox, now) = (call.reply(), call.outbox(), call.now());
    let name = call.args().get(KEY).copied().unwrap_or_default();
    let mut key = call.open(KEY);
    let sale = match access::sale(&mut key) {
        Ok(sale) => sale,
        Err(error) => return out.error(error),
    };
    let Decision { outcome, plan } = sale.decide(request, &now);
    let made = match &plan {
        None => None,
        Some(plan) => match make(sale, name, outbox, plan, &now) {
            Ok(made) => Some((plan, made)),
            Err(error) => return out.error(error),
        },
    };
    // Attempts are GRABs: an IMPORT is told GRANTED or REPLAY, too, but nobody tried to buy.
    if matches!(request, Request::Grab(_)) {
        sale.count(&outcome);
        info::count(&outcome);
    }
    let shown = sale.masked(outcome);
    drop(key);
    if let Some((plan, made)) = &made {
        publish(call, KEY, plan, made);
        announce(call, KEY, plan, made);
    }
    // The stored round was over and has ended. Now the request itself is judged, at the same
    // moment: at a later one that round could be over, too, and so on.
    if shown == Outcome::NextRound {
        return run(call, request);
    }
    reply::outcome(out, &shown);
}

/// What was made, beside the plan of it.
pub struct Made {
    entries: Option<Appended>,
    /// When the sweeper must look at the sale.
    look_at: Option<u64>,
}

impl Made {
    /// When the sale must be looked at, for a caller that sees to it.
    pub fn take_look(&mut self) -> Option<u64> {
        self.look_at.take()
    }
}

/// Makes what was planned: first the entries of the outbox, then the changes; or neither.
pub fn make(
    sale: &mut Sale,
    name: &[u8],
    outbox: Outbox,
    plan: &Plan<'_>,
    now: &Now,
) -> Result<Made, &'static str> {
    let entries = append(sale, name, outbox, plan)?;
    Ok(enact(sale, plan, entries, now))
}

/// Appends the entries of what was planned to the sale's outbox, if it has one.
pub fn append(
    sale: &mut Sale,
    name: &[u8],
    outbox: Outbox,
    plan: &Plan<'_>,
) -> Result<Option<Appended>, &'static str> {
    let Some(stream) = sale.outbox_after(plan) else {
        return Ok(None);
    };
    let appended = append_to(outbox, stream, &sale.entries(plan, name));
    // One that ALTER names and that takes nothing never becomes this sale's.
    if sale.terms().outbox.is_some() {
        sale.set_outbox_failed(appended.is_err());
    }
    appended.map(Some)
}

/// Makes the changes that were planned, once their entries are appended.
pub fn enact(sale: &mut Sale, plan: &Plan<'_>, entries: Option<Appended>, now: &Now) -> Made {
    let holds = sale.holds_len();
    let expired = sale.tallies().expired;
    sale.commit(plan);
    info::holds_changed(holds, sale.holds_len());
    info::expired(sale.tallies().expired - expired);
    // Rounds that are over give their memory back in steps, which the sweeper goes on with.
    let look_at = if sale.shed() { Some(now.clock_ms) } else { sale.next_look() };
    Made { entries, look_at }
}

/// Appends the entries of the INIT of a sale that comes to its key afterwards.
pub fn make_first(
    sale: &Sale,
    name: &[u8],
    outbox: Outbox,
    plan: &Plan<'_>,
) -> Result<Made, &'static str> {
    let entries = match &sale.terms().outbox {
        None => None,
        Some(stream) => Some(append_to(outbox, stream, &sale.entries(plan, name))?),
    };
    Ok(Made { entries, look_at: sale.next_due() })
}

fn append_to(outbox: Outbox, stream: &[u8], entries: &[Entry]) -> Result<Appended, &'static str> {
    outbox.append(stream, entries).map_err(|why| match why {
        NotTaken::NotHere => errors::OUTBOX_NOT_HERE,
        NotTaken::Refused => errors::OUTBOX_REFUSED,
    })
}

/// Replicates what was made to the sale at the argument `key`, entries before the change, tells who
/// watches the key, and has the sweeper look at it when it must.
pub fn publish(call: &mut Call<'_>, key: usize, plan: &Plan<'_>, made: &Made) {
    if let Some(entries) = &made.entries {
        call.replicate_outbox(entries);
    }
    call.replicate(key, plan.version(), &plan.changes);
    call.signal_modified(key);
    if let Some(deadline) = made.look_at {
        call.watch(key, deadline);
    }
}

/// Notifies of what was made, in order.
pub fn announce(call: &mut Call<'_>, key: usize, plan: &Plan<'_>, made: &Made) {
    notify(call, key, plan);
    if let Some(entries) = &made.entries {
        call.notify_outbox(entries);
    }
}

/// Notifies of what happened to the sale, in order.
pub fn notify(call: &mut Call<'_>, key: usize, plan: &Plan<'_>) {
    for event in plan.kinds().filter_map(|kind| kind.notification()) {
        call.notify(event, key);
    }
}
