//! The one sequence of every command that may change a sale: open, decide, and either count and
//! reply, or append to the outbox, apply, replicate, signal, notify and reply. Nothing foreign runs
//! between the decision and its last change, because notifications may run other modules' code.

use super::access::{self, KEY};
use super::{errors, reply};
use crate::sale::apply::Told;
use crate::sale::decide::Decision;
use crate::sale::effect::Change;
use crate::sale::outbox::Entry;
use crate::sale::outcome::Refused;
use crate::sale::request::{Now, Request};
use crate::sale::Sale;
use crate::server::call::Call;
use crate::server::info;
use crate::server::key::Mode;
use crate::server::outbox::{Appended, NotTaken, Outbox};
use crate::server::run;

/// Judges `request` by the sale at the key, makes it so and replies.
pub fn run(call: &mut Call<'_>, request: &Request<'_>) {
    let (out, outbox) = (call.reply(), call.outbox());
    let name = call.args().get(KEY).copied().unwrap_or_default();
    let mut key = call.open(KEY, Mode::Write);
    let sale = match access::sale(&mut key) {
        Ok(sale) => sale,
        Err(error) => return out.error(error),
    };
    let now = match request {
        Request::Grab(_) if sale.is_timeless() => run::unread_now(),
        _ => run::now(),
    };
    let decision = sale.decide(request, &now);
    // Attempts are GRABs: an IMPORT is told GRANTED or REPLAY, too, but nobody tried to buy.
    let is_attempt = matches!(request, Request::Grab(_));
    let made = match decision.changes.is_empty() {
        true => None,
        false => match make(sale, name, outbox, &decision, &now) {
            Ok(made) => Some(made),
            Err(error) => return out.error(error),
        },
    };
    if is_attempt {
        sale.count(&decision.outcome);
        info::count(&decision.outcome);
    }
    drop(key);
    if let Some(made) = made {
        publish(call, &made, &decision.changes);
        announce(call, &made);
    }
    reply::outcome(out, &decision.outcome);
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
    let changes = &decision.changes;
    let entries = match sale.outbox_after(changes) {
        None => None,
        Some(stream) => {
            let appended = append(outbox, stream, sale.entries(name, changes));
            // One that ALTER names and that takes nothing never becomes this sale's.
            if sale.terms().outbox.is_some() {
                sale.set_outbox_failed(appended.is_err());
            }
            Some(appended?)
        }
    };
    let (version, holds) = (sale.core().version, sale.ledger().holds().len());
    let expired = sale.tallies().expired;
    let told = sale.commit(changes, now.run).map_err(|_| errors::EXHAUSTED)?;
    info::holds_changed(holds, sale.ledger().holds().len());
    info::expired(sale.tallies().expired - expired);
    Ok(Made { version, entries, told, look_at: sale.next_look() })
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
        Some(stream) => Some(append(outbox, stream, sale.first_entries(name, init))?),
    };
    Ok(Made { version: 0, entries, told, look_at: None })
}

fn append(
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

/// Replicates what was made here, entries before the change, and tells who watches the key.
pub fn publish(call: &mut Call<'_>, made: &Made, changes: &[Change<'_>]) {
    if let Some(entries) = &made.entries {
        call.replicate_outbox(entries);
    }
    call.replicate(KEY, made.version, changes);
    call.signal_modified(KEY);
    if let Some(deadline) = made.look_at {
        call.watch(KEY, deadline);
    }
}

/// Notifies of what was made, in order.
pub fn announce(call: &mut Call<'_>, made: &Made) {
    tell(call, &made.told);
    if let Some(entries) = &made.entries {
        call.notify_outbox(entries);
    }
}

/// Notifies of what happened to the sale, in order.
pub fn tell(call: &mut Call<'_>, told: &Told) {
    for event in told.iter().filter_map(|event| event.notification()) {
        call.notify(event, KEY);
    }
}
