//! The way of every command that may change a sale.
//!
//! 1. The sale is opened and decides: an outcome and, when anything is to change, a plan. [`run`]
//! 2. Where entries are to be appended the sale is closed and their stream is made and opened, in
//!    which code of other modules may run and call any command. Then the sale is opened again. If
//!    it is another one by now, or has changed, nothing happens. [`commit_all`]
//! 3. The entries are appended, or nothing happens. Then the plan is committed, which can't fail.
//! 4. One command is handed over that makes the change and its entries everywhere. Nothing foreign
//!    runs from 3 until here. [`propagate`]
//! 5. Notifications are sent, in which foreign code may run again, and the reply. [`notify`]

use smallvec::SmallVec;

use super::access::{self, KEY};
use super::{errors, reply};
use crate::server::call::Call;
use crate::server::module::info;
use crate::server::propagation::outbox::{
    self, Appended, NotTaken, OpenStream, OpenStreams, Outbox, Stream, Wanted,
};
use crate::server::settings;
use crate::server::value::key::{Key, Slot};
use seckill_domain::decide::Decision;
use seckill_domain::outcome::Outcome;
use seckill_domain::plan::Plan;
use seckill_domain::position::EntriesAt;
use seckill_domain::request::{Now, Request};
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

/// Judges `request` by the sale at the key, makes it so and replies.
pub fn run(call: &mut Call<'_>, request: &Request<'_>) {
    let (out, now) = (call.reply(), call.now());
    loop {
        match take(call, request, &now) {
            // The stored round was over and has ended. Now the request itself is judged, at the
            // same moment: at a later one that round could be over, too, and so on.
            Ok(Outcome::NextRound) => {}
            Ok(outcome) => return reply::outcome(out, &outcome),
            Err(error) => return out.error(error),
        }
    }
}

/// Judges the request once and makes what was decided. Tells what the caller is shown.
fn take(call: &mut Call<'_>, request: &Request<'_>, now: &Now) -> Result<Outcome, &'static str> {
    let outbox = call.outbox();
    let mut key = call.open(KEY);
    let sale = access::sale(&mut key)?;
    let Decision { outcome, plan } = &sale.decide(request, now);
    let shown = sale.masked(outcome.clone());
    // Attempts are GRABs: an IMPORT is told GRANTED or REPLAY, too, but nobody tried to buy.
    let attempt = matches!(request, Request::Grab(_)).then_some(outcome);
    let Some(plan) = plan else {
        count(sale, attempt);
        return Ok(shown);
    };
    let named = match request {
        Request::Alter(change) => change.outbox.as_deref(),
        _ => None,
    };
    let made = match stream_of(sale, outbox, plan, named) {
        None => {
            let made = commit(sale, plan, attempt, now);
            drop(key);
            made
        }
        stream => {
            drop(key);
            commit_one(call, Task { arg: KEY, plan: Some(plan), attempt, stream }, now)?
        }
    };
    propagate(call, KEY, plan, &made);
    notify(call, KEY, plan, &made);
    Ok(shown)
}

/// What is to be made of one sale.
pub struct Task<'p, 'a, 'c> {
    /// Where its key is among the arguments.
    pub arg: usize,
    /// None when nothing changes and the attempt is only counted.
    pub plan: Option<&'p Plan<'a>>,
    /// What an attempt to buy came to, if it was one.
    pub attempt: Option<&'p Outcome>,
    /// Where entries go, if there are any.
    pub stream: Option<Stream<'c>>,
}

/// Tasks of one command. All but MGRAB have one.
pub type Tasks<'p, 'a, 'c> = SmallVec<[Task<'p, 'a, 'c>; 1]>;

/// What was made, beside the plan of it.
#[derive(Default)]
pub struct Made<'c> {
    /// Entries that were appended.
    pub entries: Option<Appended<'c>>,
    /// Holds that ended.
    pub settled: u64,
    /// When the sweeper must look at the sale.
    pub look_at: Option<u64>,
}

impl Made<'_> {
    /// Where its entries begin, and how they are written.
    fn entries_at(&self) -> Option<EntriesAt> {
        let id = self.entries.as_ref()?.first()?;
        Some(EntriesAt { form: settings::entry_form(), id })
    }

    /// When the sale must be looked at, for a caller that sees to it.
    pub fn take_look(&mut self) -> Option<u64> {
        self.look_at.take()
    }
}

/// The stream that the entries of `plan` go to, if it has any. `named` is the stream that the
/// command names as a key, if it does.
pub fn stream_of<'c>(
    sale: &Sale,
    outbox: Outbox<'c>,
    plan: &Plan<'_>,
    named: Option<&[u8]>,
) -> Option<Stream<'c>> {
    let stream = sale.outbox_after(plan)?;
    Some(outbox.stream(stream, named == Some(stream)))
}

/// As [`commit_all`] for one task.
pub fn commit_one<'c>(
    call: &mut Call<'c>,
    task: Task<'_, '_, 'c>,
    now: &Now,
) -> Result<Made<'c>, &'static str> {
    let made = commit_all(call, Tasks::from_buf([task]), now)?.pop();
    made.ok_or(errors::BEING_CHANGED)
}

/// Makes all `tasks` or none: first all streams are made ready and opened, in which foreign code
/// may run; then the sales, which are closed, are opened, all entries are appended and all plans
/// committed.
pub fn commit_all<'c>(
    call: &mut Call<'c>,
    mut tasks: Tasks<'_, '_, 'c>,
    now: &Now,
) -> Result<SmallVec<[Made<'c>; 1]>, &'static str> {
    let (outbox, mut streams) = (call.outbox(), open_streams(call, &mut tasks)?);
    let mut keys = call.open_all(tasks.iter().map(|task| task.arg));
    let sales = keys.iter_mut().zip(&tasks).map(|(key, task)| same_sale(key, task.plan));
    let sales: Option<SmallVec<[&mut Sale; 1]>> = sales.collect();
    let Some(mut sales) = sales else {
        // Perhaps a sale's time to live was over just now and foreign code ran: nothing is known
        // of the values of the open streams, so the server is not led to them.
        streams.into_iter().flatten().for_each(OpenStream::abandon);
        return Err(errors::BEING_CHANGED);
    };
    for ((sale, task), stream) in sales.iter_mut().zip(&tasks).zip(&mut streams) {
        let (Some(plan), Some(stream)) = (task.plan, stream) else { continue };
        let appended = stream.append(outbox, task.arg, sale, plan);
        note_outbox(sale, appended.is_err());
        appended.map_err(not_taken)?;
    }
    let entries = streams.into_iter().map(|stream| stream.and_then(OpenStream::close));
    let parts = sales.into_iter().zip(&tasks).zip(entries);
    let make = |((sale, task), entries): ((&mut Sale, &Task<'_, '_, 'c>), _)| match task.plan {
        Some(plan) => Made { entries, ..commit(sale, plan, task.attempt, now) },
        None => {
            count(sale, task.attempt);
            Made::default()
        }
    };
    Ok(parts.map(make).collect())
}

/// Opens the streams of all tasks. The sales are closed: foreign code may run in it.
fn open_streams<'c>(
    call: &mut Call<'c>,
    tasks: &mut Tasks<'_, '_, 'c>,
) -> Result<OpenStreams<'c>, &'static str> {
    let entries = |task: &Task<'_, '_, '_>| task.plan.map_or(0, |plan| plan.events.len());
    let wanted = tasks.iter_mut().map(|task| Some((task.stream.take()?, entries(task))));
    let (place, why) = match outbox::open_all(wanted.collect()) {
        Ok(streams) => return Ok(streams),
        Err(refused) => refused,
    };
    if let Some(task) = tasks.get(place).filter(|_| why != NotTaken::Changed) {
        if let Some(sale) = same_sale(&mut call.open(task.arg), task.plan) {
            note_outbox(sale, true);
        }
    }
    Err(not_taken(why))
}

/// The sale at the key, if it is still the one that was planned for.
pub fn same_sale<'k>(key: &'k mut Key<'_>, plan: Option<&Plan<'_>>) -> Option<&'k mut Sale> {
    let sale = access::sale(key).ok()?;
    plan.is_none_or(|plan| plan.is_for(sale)).then_some(sale)
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

/// Commits a plan to the open sale it is for, once its entries are appended.
fn commit<'c>(sale: &mut Sale, plan: &Plan<'_>, attempt: Option<&Outcome>, now: &Now) -> Made<'c> {
    let (holds, expired) = (sale.holds_len(), sale.tallies().expired);
    sale.commit(plan);
    info::holds_changed(holds, sale.holds_len());
    info::expired(sale.tallies().expired - expired);
    count(sale, attempt);
    // Rounds that are over give their memory back in steps, which the sweeper goes on with.
    let look_at = if sale.shed() { Some(now.clock_ms) } else { sale.next_look() };
    Made { entries: None, settled: holds.saturating_sub(sale.holds_len()), look_at }
}

fn count(sale: &mut Sale, attempt: Option<&Outcome>) {
    if let Some(outcome) = attempt {
        sale.count(outcome);
        info::count(outcome);
    }
}

/// Appends the first entries of `sale`, which is to come to the key `KEY`, where nothing is.
/// Foreign code may run in it, but not once it has appended.
pub fn append_first<'c>(
    call: &mut Call<'c>,
    sale: &Sale,
    plan: &Plan<'_>,
) -> Result<Made<'c>, &'static str> {
    let (outbox, look_at) = (call.outbox(), sale.next_due());
    let Some(name) = sale.terms().outbox.as_deref() else {
        return Ok(Made { look_at, ..Made::default() });
    };
    if call.args().get(KEY) == Some(&name) {
        return Err(errors::OUTBOX_REFUSED);
    }
    let wanted = Wanted::from_buf([Some((outbox.stream(name, true), plan.events.len()))]);
    let streams = outbox::open_all(wanted).map_err(|(_, why)| not_taken(why))?;
    let is_free = matches!(call.open(KEY).slot(), Slot::Missing);
    let mut entries = None;
    for mut stream in streams.into_iter().flatten() {
        if !is_free {
            stream.abandon();
            return Err(errors::BEING_CHANGED);
        }
        stream.append(outbox, KEY, sale, plan).map_err(not_taken)?;
        entries = stream.close();
    }
    Ok(Made { entries, look_at, ..Made::default() })
}

/// Replicates what was made to the sale at the argument `key`, tells who watches the key, and has
/// the sweeper look at it when it must.
#[inline]
pub fn propagate(call: &mut Call<'_>, key: usize, plan: &Plan<'_>, made: &Made<'_>) {
    call.replicate(key, plan, made.entries_at());
    signal(call, key, made);
}

/// The same for the INIT that made `sale`, which it puts at its key. The server tells of the new
/// key, in which foreign code may change the sale: so the INIT goes out before.
pub fn propagate_first(call: &mut Call<'_>, plan: &Plan<'_>, made: &Made<'_>, sale: Sale) {
    call.replicate(KEY, plan, made.entries_at());
    call.open(KEY).fill(sale);
    signal(call, KEY, made);
}

/// Tells who watches the key or its stream, and the sweeper.
pub fn signal(call: &mut Call<'_>, key: usize, made: &Made<'_>) {
    if let Some(entries) = &made.entries {
        call.signal_outbox(entries);
    }
    call.signal_modified(key);
    if let Some(deadline) = made.look_at {
        call.watch(key, deadline);
    }
}

/// Notifies of what was made, in order.
#[inline]
pub fn notify(call: &mut Call<'_>, key: usize, plan: &Plan<'_>, made: &Made<'_>) {
    for event in plan.kinds().filter_map(|kind| kind.notification()) {
        call.notify(event, key);
    }
    if let Some(entries) = &made.entries {
        call.notify_outbox(entries);
    }
}
