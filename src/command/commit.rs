//! The one sequence of every command that may change a sale: open, decide, and either count and
//! reply, or append to the outbox, apply, replicate, signal, notify and reply. Nothing foreign runs
//! between the decision and its last change, because notifications may run other modules' code.

use super::access::{self, KEY};
use super::{errors, reply};
use crate::sale::apply::Told;
use crate::sale::decide::Decision;
use crate::sale::effect::Change;
use crate::sale::event::Event;
use crate::sale::outbox::Entry;
use crate::sale::outcome::{Outcome, Refused, State};
use crate::sale::request::{Grab, Now, Request};
use crate::sale::serve::{Placed, Served};
use crate::sale::Sale;
use crate::server::call::Call;
use crate::server::info;
use crate::server::outbox::{Appended, NotTaken, Outbox};
use crate::server::run;

/// What every command that changes a sale can answer, beside its own errors: a round that is over
/// ends first, whatever is asked, and with it come its entries.
pub const ERRORS: &[&str] =
    &[errors::INCOMPLETE, errors::EXHAUSTED, errors::OUTBOX_NOT_HERE, errors::OUTBOX_REFUSED];

/// Judges `request`, which is no GRAB, by the sale at the key, makes it so and replies.
pub fn run(call: &mut Call<'_>, request: &Request<'_>) {
    judge(call, request, None);
}

/// As [`run`], any request, by the clock as it is now unless a `moment` is given.
fn judge(call: &mut Call<'_>, request: &Request<'_>, moment: Option<Now>) {
    let (out, outbox) = (call.reply(), call.outbox());
    let name = call.args().get(KEY).copied().unwrap_or_default();
    let mut key = call.open(KEY);
    let sale = match access::sale(&mut key) {
        Ok(sale) => sale,
        Err(error) => return out.error(error),
    };
    let now = moment.unwrap_or_else(run::now);
    let decision = sale.decide(request, &now);
    let done = finish(sale, name, outbox, &decision, &now, matches!(request, Request::Grab(_)));
    drop(key);
    conclude(call, request, &decision, done, &now);
}

/// The same for a GRAB. What a rush consists of is answered at once.
#[inline]
pub fn grab(call: &mut Call<'_>, grab: &Grab<'_>) {
    let (out, outbox) = (call.reply(), call.outbox());
    let name = call.args().get(KEY).copied().unwrap_or_default();
    let mut key = call.open(KEY);
    let sale = match access::sale(&mut key) {
        Ok(sale) => sale,
        Err(error) => return out.error(error),
    };
    let now = if sale.is_timeless() { run::unread_now() } else { run::now() };
    let found = sale.find(grab.user);
    match sale.serve(grab, found, &now) {
        Some(Served::Granted(made)) => {
            let look_at = sale.next_look();
            drop(key);
            tell_grant(call, grab, &made, look_at);
        }
        Some(served) => {
            let outcome = served.outcome();
            sale.count(&outcome);
            info::count(&outcome);
            drop(key);
            reply::outcome(out, &outcome);
        }
        None => {
            let decision = sale.decide_found(grab, found, &now);
            let done = finish(sale, name, outbox, &decision, &now, true);
            drop(key);
            conclude(call, &Request::Grab(*grab), &decision, done, &now);
        }
    }
}

/// What was made of a decision, and what the caller is shown instead of its outcome.
type Done = Result<(Option<Made>, Option<Outcome>), &'static str>;

/// Makes what was decided and counts it.
fn finish(
    sale: &mut Sale,
    name: &[u8],
    outbox: Outbox,
    decision: &Decision<'_>,
    now: &Now,
    is_attempt: bool,
) -> Done {
    let shown = match &decision.outcome {
        Outcome::Denied | Outcome::Busy => Some(sale.masked(decision.outcome.clone())),
        _ => None,
    };
    let made = match decision.changes.is_empty() {
        true => None,
        false => Some(make(sale, name, outbox, decision, now)?),
    };
    // Attempts are GRABs: an IMPORT is told GRANTED or REPLAY, too, but nobody tried to buy.
    if is_attempt {
        sale.count(&decision.outcome);
        info::count(&decision.outcome);
    }
    Ok((made, shown))
}

/// Hands on what was made, once the key is closed, and replies.
fn conclude(
    call: &mut Call<'_>,
    request: &Request<'_>,
    decision: &Decision<'_>,
    done: Done,
    now: &Now,
) {
    let out = call.reply();
    let (made, shown) = match done {
        Ok(done) => done,
        Err(error) => return out.error(error),
    };
    if let Some(made) = made {
        publish(call, KEY, &made, &decision.changes);
        announce(call, KEY, &made);
    }
    // The stored round was over and has ended. Now the request itself is judged, at the same
    // moment: at a later one that round could be over, too, and so on.
    if decision.outcome == Outcome::NextRound {
        return judge(call, request, Some(*now));
    }
    reply::outcome(out, shown.as_ref().unwrap_or(&decision.outcome));
}

/// Tells everybody of a grant that was made at once.
#[inline]
fn tell_grant(call: &mut Call<'_>, grab: &Grab<'_>, made: &Placed, look_at: Option<u64>) {
    let outcome = Served::Granted(*made).outcome();
    info::count(&outcome);
    info::holds_changed(0, u64::from(made.grant.state == State::Held));
    hand_on(call, KEY, made.version, &[made.change(grab)], look_at);
    if let Some(event) = Event::Grant.notification() {
        call.notify(event, KEY);
    }
    reply::outcome(call.reply(), &outcome);
}

/// What was made, and what is still to be told of it.
pub struct Made {
    /// The version that the first change followed.
    version: u64,
    entries: Option<Appended>,
    told: Told,
    /// When the sweeper must look at the sale.
    look_at: Option<u64>,
}

impl Made {
    /// When the sale must be looked at, for a caller that sees to it.
    pub fn take_look(&mut self) -> Option<u64> {
        self.look_at.take()
    }
}

/// Makes what was decided: first the entries of the outbox, then the changes; or neither.
pub fn make(
    sale: &mut Sale,
    name: &[u8],
    outbox: Outbox,
    decision: &Decision<'_>,
    now: &Now,
) -> Result<Made, &'static str> {
    let entries = append(sale, name, outbox, decision)?;
    enact(sale, decision, entries, now)
}

/// Appends the entries of what was decided to the sale's outbox, if it has one.
pub fn append(
    sale: &mut Sale,
    name: &[u8],
    outbox: Outbox,
    decision: &Decision<'_>,
) -> Result<Option<Appended>, &'static str> {
    let changes = &decision.changes;
    let Some(stream) = sale.outbox_after(changes).filter(|_| !changes.is_empty()) else {
        return Ok(None);
    };
    let appended = append_to(outbox, stream, sale.entries(name, changes));
    // One that ALTER names and that takes nothing never becomes this sale's.
    if sale.terms().outbox.is_some() {
        sale.set_outbox_failed(appended.is_err());
    }
    appended.map(Some)
}

/// Makes the changes that were decided, once their entries are appended. It is not refused then:
/// deciding looked at the same bounds, and nothing came between.
pub fn enact(
    sale: &mut Sale,
    decision: &Decision<'_>,
    entries: Option<Appended>,
    now: &Now,
) -> Result<Made, &'static str> {
    let changes = &decision.changes;
    let (version, holds) = (sale.balances().version, sale.holds_len());
    let expired = sale.tallies().expired;
    let told = sale.commit(changes, now.run).map_err(|_| errors::EXHAUSTED)?;
    info::holds_changed(holds, sale.holds_len());
    info::expired(sale.tallies().expired - expired);
    // Rounds that are over give their memory back in steps, which the sweeper goes on with.
    let look_at = if sale.shed() { Some(now.clock_ms) } else { sale.next_look() };
    Ok(Made { version, entries, told, look_at })
}

/// Makes a sale at its key from the INIT that was decided.
pub fn make_first(
    sale: &Sale,
    name: &[u8],
    outbox: Outbox,
    init: &Change<'_>,
    told: Told,
) -> Result<Made, &'static str> {
    let entries = match &sale.terms().outbox {
        None => None,
        Some(stream) => Some(append_to(outbox, stream, sale.first_entries(name, init))?),
    };
    Ok(Made { version: 0, entries, told, look_at: sale.next_due() })
}

fn append_to(
    outbox: Outbox,
    stream: &[u8],
    entries: Result<Vec<Entry>, Refused>,
) -> Result<Appended, &'static str> {
    let entries = entries.map_err(|_| errors::OUTBOX_REFUSED)?;
    outbox.append(stream, &entries).map_err(|why| match why {
        NotTaken::NotHere => errors::OUTBOX_NOT_HERE,
        NotTaken::Refused => errors::OUTBOX_REFUSED,
    })
}

/// Replicates what was made to the sale at the argument `key`, entries before the change, and
/// tells who watches the key.
pub fn publish(call: &mut Call<'_>, key: usize, made: &Made, changes: &[Change<'_>]) {
    if let Some(entries) = &made.entries {
        call.replicate_outbox(entries);
    }
    hand_on(call, key, made.version, changes, made.look_at);
}

/// Replicates changes, tells who watches the key, and has the sweeper look at it when it must.
#[inline]
fn hand_on(
    call: &mut Call<'_>,
    key: usize,
    version: u64,
    changes: &[Change<'_>],
    look_at: Option<u64>,
) {
    call.replicate(key, version, changes);
    call.signal_modified(key);
    if let Some(deadline) = look_at {
        call.watch(key, deadline);
    }
}

/// Notifies of what was made, in order.
pub fn announce(call: &mut Call<'_>, key: usize, made: &Made) {
    tell(call, key, &made.told);
    if let Some(entries) = &made.entries {
        call.notify_outbox(entries);
    }
}

/// Notifies of what happened to the sale, in order.
pub fn tell(call: &mut Call<'_>, key: usize, told: &Told) {
    for event in told.iter().filter_map(|event| event.notification()) {
        call.notify(event, key);
    }
}
