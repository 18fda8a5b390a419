//! The one sequence of every command that may change a sale.
//!
//! 1. The sale is opened and decides; what is to change is planned, entries and all. [`begin`]
//! 2. Where entries are to be appended the sale is closed and the stream is made ready, in which
//!    code of other modules may run and call any command. [`outbox::ready`]
//! 3. The sale is opened again. If it is another one by now, or has changed, nothing happens.
//!    Else the entries are appended and the plan is made, which can't fail. [`complete`]
//! 4. Commands are handed over, entries first. Nothing foreign runs from 3 until here. [`publish`]
//! 5. Notifications are sent, in which foreign code may run again, and the reply. [`announce`]

use super::access::{self, KEY};
use super::{errors, reply};
use crate::server::call::Call;
use crate::server::info;
use crate::server::key::{Key, Slot};
use crate::server::outbox::{self, Appended, NotTaken, Outbox, Stream};
use crate::server::run;
use seckill_domain::apply::Told;
use seckill_domain::decide::Decision;
use seckill_domain::effect::Change;
use seckill_domain::event::Event;
use seckill_domain::outbox::Entry;
use seckill_domain::outcome::{Outcome, State};
use seckill_domain::plan::Plan;
use seckill_domain::request::{Grab, Now, Request};
use seckill_domain::serve::{Placed, Served};
use seckill_domain::Sale;

/// What every command that changes a sale can answer, beside its own errors: a round that is over
/// ends first, whatever is asked, and with it come its entries.
pub const ERRORS: &[&str] = &[
    errors::INCOMPLETE,
    errors::EXHAUSTED,
    errors::OUTBOX_NOT_HERE,
    errors::OUTBOX_REFUSED,
    errors::BEING_CHANGED,
];

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
    let is_attempt = matches!(request, Request::Grab(_));
    let named = match request {
        Request::Alter(change) => change.outbox.as_deref(),
        _ => None,
    };
    let case = Case { decision: &decision, now: &now, is_attempt };
    let shown = shown(sale, &decision.outcome);
    let step = begin(sale, name, outbox, named, &case);
    drop(key);
    conclude(call, request, step, &case, shown);
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
            let case = Case { decision: &decision, now: &now, is_attempt: true };
            let shown = shown(sale, &decision.outcome);
            let step = begin(sale, name, outbox, None, &case);
            drop(key);
            conclude(call, &Request::Grab(*grab), step, &case, shown);
        }
    }
}

/// What the caller is shown instead of the outcome, if anything.
fn shown(sale: &Sale, outcome: &Outcome) -> Option<Outcome> {
    matches!(outcome, Outcome::Denied | Outcome::Busy).then(|| sale.masked(outcome.clone()))
}

/// Completes what was begun once the key is closed, tells everybody of it and replies.
fn conclude(
    call: &mut Call<'_>,
    request: &Request<'_>,
    step: Result<Step<'_>, &'static str>,
    case: &Case<'_, '_>,
    shown: Option<Outcome>,
) {
    let out = call.reply();
    let made = match step.and_then(|step| complete(call, step, case)) {
        Ok(made) => made,
        Err(error) => return out.error(error),
    };
    if let Some(made) = made {
        publish(call, KEY, &made, &case.decision.changes);
        announce(call, KEY, &made);
    }
    // The stored round was over and has ended. Now the request itself is judged, at the same
    // moment: at a later one that round could be over, too, and so on.
    if case.decision.outcome == Outcome::NextRound {
        return judge(call, request, Some(*case.now));
    }
    reply::outcome(out, shown.as_ref().unwrap_or(&case.decision.outcome));
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

/// What was decided of a sale, and when.
pub struct Case<'c, 'a> {
    pub decision: &'c Decision<'a>,
    pub now: &'c Now,
    /// Attempts are GRABs: an IMPORT is told GRANTED or REPLAY, too, but nobody tried to buy.
    pub is_attempt: bool,
}

/// How far a decision has come while its sale was open.
pub enum Step<'c> {
    /// Nothing is to change.
    Nothing,
    /// It is made: there is no entry to append.
    Made(Made<'c>),
    /// Its stream comes first.
    Planned(Planned<'c>),
}

/// What is to be made of a sale, and where its entries go if there are any.
pub struct Planned<'c> {
    plan: Plan,
    stream: Option<Stream<'c>>,
}

/// What was made, and what is still to be told of it.
pub struct Made<'c> {
    /// The version that the first change followed.
    version: u64,
    entries: Option<Appended<'c>>,
    told: Told,
    /// Holds that ended.
    pub settled: u64,
    /// When the sweeper must look at the sale.
    look_at: Option<u64>,
}

impl<'c> Made<'c> {
    /// What the INIT of `sale` came to.
    pub fn first(sale: &Sale, entries: Option<Appended<'c>>, told: Told) -> Self {
        Made { version: 0, entries, told, settled: 0, look_at: sale.next_due() }
    }

    /// When the sale must be looked at, for a caller that sees to it.
    pub fn take_look(&mut self) -> Option<u64> {
        self.look_at.take()
    }
}

/// Plans what was decided of the open sale, and makes it at once when no entry is to be appended.
/// `named` is the stream that the command names as a key, if it does.
pub fn begin<'c>(
    sale: &mut Sale,
    name: &[u8],
    outbox: Outbox<'c>,
    named: Option<&[u8]>,
    case: &Case<'_, '_>,
) -> Result<Step<'c>, &'static str> {
    if case.decision.changes.is_empty() {
        count(sale, case);
        return Ok(Step::Nothing);
    }
    let planned = plan(sale, name, outbox, named, &case.decision.changes)?;
    Ok(match planned.stream {
        Some(_) => Step::Planned(planned),
        None => Step::Made(enact(sale, planned.plan, None, case)),
    })
}

/// Plans `changes` of the open sale.
pub fn plan<'c>(
    sale: &Sale,
    name: &[u8],
    outbox: Outbox<'c>,
    named: Option<&[u8]>,
    changes: &[Change<'_>],
) -> Result<Planned<'c>, &'static str> {
    let plan = sale.plan_changes(name, changes).map_err(|_| errors::EXHAUSTED)?;
    let stream = sale.outbox_after(changes).filter(|_| !plan.entries.is_empty());
    let stream = stream.map(|stream| outbox.stream(stream, named == Some(stream)));
    Ok(Planned { plan, stream })
}

/// Completes what was begun: the sale at the key is closed by now.
pub fn complete<'c>(
    call: &mut Call<'_>,
    step: Step<'c>,
    case: &Case<'_, '_>,
) -> Result<Option<Made<'c>>, &'static str> {
    match step {
        Step::Nothing => Ok(None),
        Step::Made(made) => Ok(Some(made)),
        Step::Planned(planned) => {
            let planned = [planned];
            ready(call, &[KEY], &planned)?;
            let keys = vec![call.open(KEY)];
            let made = enact_all(keys, planned.into(), std::slice::from_ref(case))?;
            Ok(made.into_iter().next())
        }
    }
}

/// Sees to it that the streams of all that is `planned` are there and take its entries. The sales
/// at the arguments `keys` are closed: foreign code may run in it.
pub fn ready(
    call: &mut Call<'_>,
    keys: &[usize],
    planned: &[Planned<'_>],
) -> Result<(), &'static str> {
    let with_stream = keys.iter().zip(planned).filter(|(_, planned)| planned.stream.is_some());
    let (keys, planned): (Vec<usize>, Vec<&Planned<'_>>) = with_stream.unzip();
    let streams = planned.iter().filter_map(|planned| planned.stream.as_ref());
    let wanted: Vec<(&Stream<'_>, usize)> =
        streams.zip(planned.iter().map(|planned| planned.plan.entries.len())).collect();
    let Err((place, why)) = outbox::ready(&wanted) else { return Ok(()) };
    let failed = (keys.get(place), planned.get(place), why != NotTaken::Changed);
    if let (Some(key), Some(planned), true) = failed {
        if let Some(sale) = same_sale(&mut call.open(*key), &planned.plan) {
            note_outbox(sale, true);
        }
    }
    Err(not_taken(why))
}

/// The sale at the key, if it is still the one that was planned for.
fn same_sale<'k>(key: &'k mut Key<'_>, plan: &Plan) -> Option<&'k mut Sale> {
    access::sale(key).ok().filter(|sale| plan.is_for(sale))
}

/// Remembers whether the sale's outbox took its last entries. One that ALTER names and that takes
/// nothing never becomes this sale's.
fn note_outbox(sale: &mut Sale, failed: bool) {
    if sale.terms().outbox.is_some() {
        sale.set_outbox_failed(failed);
    }
}

fn not_taken(why: NotTaken) -> &'static str {
    match why {
        NotTaken::NotHere => errors::OUTBOX_NOT_HERE,
        NotTaken::Refused => errors::OUTBOX_REFUSED,
        NotTaken::Changed => errors::BEING_CHANGED,
    }
}

/// Makes what was planned of the sales at `keys`: all entries first, then all changes; or nothing.
/// Nothing foreign runs in it.
pub fn enact_all<'c>(
    mut keys: Vec<Key<'_>>,
    planned: Vec<Planned<'c>>,
    cases: &[Case<'_, '_>],
) -> Result<Vec<Made<'c>>, &'static str> {
    let (plans, streams): (Vec<Plan>, Vec<Option<Stream<'c>>>) =
        planned.into_iter().map(|Planned { plan, stream }| (plan, stream)).unzip();
    let Some(mut open) = outbox::open_all(streams) else {
        // A stream was there and is not: its time to live was over just now, foreign code ran, and
        // nothing is known of the values of the open keys. So the server is not led to them.
        keys.into_iter().for_each(Key::abandon);
        return Err(errors::BEING_CHANGED);
    };
    let sales = keys.iter_mut().zip(&plans).map(|(key, plan)| same_sale(key, plan));
    let Some(mut sales) = sales.collect::<Option<Vec<&mut Sale>>>() else {
        return Err(errors::BEING_CHANGED);
    };
    for ((sale, plan), open) in sales.iter_mut().zip(&plans).zip(&mut open) {
        let Some(open) = open else { continue };
        let appended = open.append(&plan.entries);
        note_outbox(sale, appended.is_err());
        appended.map_err(not_taken)?;
    }
    let entries = open.into_iter().map(|open| open.and_then(outbox::OpenStream::close));
    let parts = sales.into_iter().zip(plans).zip(entries).zip(cases);
    Ok(parts.map(|(((sale, plan), entries), case)| enact(sale, plan, entries, case)).collect())
}

/// Makes what was planned of the open sale, once its entries are appended.
fn enact<'c>(
    sale: &mut Sale,
    plan: Plan,
    entries: Option<Appended<'c>>,
    case: &Case<'_, '_>,
) -> Made<'c> {
    let (version, holds) = (sale.core().version, sale.holds_len());
    let (expired, changes) = (sale.tallies().expired, &case.decision.changes);
    let told = sale.commit_plan(changes, plan, case.now.run);
    info::holds_changed(holds, sale.holds_len());
    info::expired(sale.tallies().expired - expired);
    count(sale, case);
    let look_at = match changes.is_empty() {
        true => None,
        // Rounds that are over give their memory back in steps, which the sweeper goes on with.
        false if sale.shed() => Some(case.now.clock_ms),
        false => sale.next_look(),
    };
    let settled = holds.saturating_sub(sale.holds_len());
    Made { version, entries, told, settled, look_at }
}

fn count(sale: &mut Sale, case: &Case<'_, '_>) {
    if case.is_attempt {
        sale.count(&case.decision.outcome);
        info::count(&case.decision.outcome);
    }
}

/// Appends the first entries of a sale that is to come to the key `KEY`, where nothing is. Foreign
/// code may run in it, but not once it has appended.
pub fn append_first<'c>(
    call: &mut Call<'c>,
    stream: &[u8],
    entries: &[Entry],
) -> Result<Option<Appended<'c>>, &'static str> {
    let stream = call.outbox().stream(stream, true);
    outbox::ready(&[(&stream, entries.len())]).map_err(|(_, why)| not_taken(why))?;
    if !matches!(call.open(KEY).slot(), Slot::Missing) {
        return Err(errors::BEING_CHANGED);
    }
    let mut open = stream.open().ok_or(errors::BEING_CHANGED)?;
    open.append(entries).map_err(not_taken)?;
    Ok(open.close())
}

/// Replicates what was made to the sale at the argument `key`, entries before the change, and
/// tells who watches the key.
pub fn publish(call: &mut Call<'_>, key: usize, made: &Made<'_>, changes: &[Change<'_>]) {
    if let Some(entries) = &made.entries {
        call.replicate_outbox(entries);
    }
    hand_on(call, key, made.version, changes, made.look_at);
}

/// Replicates the INIT that made `sale`, puts it at its key and tells who watches that. The server
/// tells of the new key, in which foreign code may change the sale: so the INIT goes out before.
pub fn publish_first(call: &mut Call<'_>, made: &Made<'_>, init: &Change<'_>, sale: Sale) {
    if let Some(entries) = &made.entries {
        call.replicate_outbox(entries);
    }
    call.replicate(KEY, made.version, std::slice::from_ref(init));
    call.open(KEY).fill(sale);
    call.signal_modified(KEY);
    if let Some(deadline) = made.look_at {
        call.watch(KEY, deadline);
    }
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
pub fn announce(call: &mut Call<'_>, key: usize, made: &Made<'_>) {
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
