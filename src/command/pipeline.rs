//! How a command gets at the sale of its key: [`show`] for those that only read, and the way of
//! every command that may change it.
//!
//! 1. The sale is opened and decides: an outcome and, when anything is to change, a plan. [`run`]
//! 2. Where entries are to be appended the sale is closed and their stream is created, if it is
//!    missing, and opened, in which code of other modules may run and call any command. Then the
//!    sale is opened again. If it is another one by now, or has changed, nothing happens.
//!    [`commit_one`], and for MGRAB [`commit_all`]
//! 3. The entries are appended, or nothing happens. Then the plan is committed, which can't fail.
//! 4. One command is handed over that makes the change and its entries everywhere. Nothing foreign
//!    runs from 3 until here. [`propagate`]
//! 5. Notifications are sent, in which foreign code may run again, and the reply. [`notify`]

use std::slice;

use super::args::Parsed;
use super::{errors, reply};
use crate::server::call::Call;
use crate::server::call::Reply;
use crate::server::data_set::counts::{self, Load};
use crate::server::propagation::outbox::{
    self, Appended, NotTaken, OpenStream, OpenStreams, Outbox, Stream,
};
use crate::server::value::key::{Key, Slot};
use seckill_domain::decide::Decision;
use seckill_domain::outcome::Outcome;
use seckill_domain::plan::Plan;
use seckill_domain::request::{Amount, Now, Request};
use seckill_domain::Sale;

/// Where the key is among the arguments of every command that has one.
pub const KEY: usize = 0;

/// The sale that is at a key, or the error to reply.
pub fn sale<S>(slot: Slot<S>) -> Result<S, &'static str> {
    match slot {
        Slot::Sale(sale) => Ok(sale),
        Slot::Missing => Err(errors::NO_SALE),
        Slot::Foreign => Err(errors::WRONG_TYPE),
    }
}

/// Shows what is asked of the sale at the key, or replies why not. Leaves no trace.
pub fn show<T>(call: &mut Call<'_>, asked: Parsed<T>, show: impl FnOnce(&Sale, T, Reply<'_>)) {
    let reply = call.reply();
    let asked = match asked {
        Ok(asked) => asked,
        Err(error) => return reply.error(error),
    };
    match sale(call.view(KEY).slot()) {
        Ok(sale) => show(sale, asked, reply),
        Err(error) => reply.error(error),
    }
}

/// What every command that changes a sale can answer, beside its own errors: a round that is over
/// ends first, whatever is asked, and with it come its entries.
pub const ERRORS: &[&str] = &[
    errors::INCOMPLETE,
    errors::EXHAUSTED,
    errors::OUTBOX_NOT_HERE,
    errors::OUTBOX_REFUSED,
    errors::BEING_CHANGED,
];

/// Judges `request` by the sale at the key, commits what was decided and replies; or replies why
/// there is none.
pub fn run(call: &mut Call<'_>, request: Parsed<Request<'_>>) {
    let out = call.reply();
    let request = match request {
        Ok(request) => request,
        Err(error) => return out.error(error),
    };
    let now = call.now();
    loop {
        match take(call, &request, &now) {
            // The stored round was over and has ended. Now the request itself is judged, at the
            // same moment: at a later one that round could be over, too, and so on.
            Ok(Outcome::NextRound) => {}
            Ok(outcome) => return reply::outcome(out, &outcome),
            Err(error) => return out.error(error),
        }
    }
}

/// Judges the request once and commits what was decided. Answers with what the caller is shown.
fn take(call: &mut Call<'_>, request: &Request<'_>, now: &Now) -> Result<Outcome, &'static str> {
    let outbox = call.outbox();
    let mut key = call.open(KEY);
    let sale = sale(key.slot())?;
    let Decision { outcome, plan } = &sale.decide(request, now);
    let shown = sale.masked(request, *outcome);
    // Attempts are GRABs: an IMPORT comes to GRANTED or REPLAY, too, but nobody tried to buy.
    let attempt = match request {
        Request::Grab(grab) => Some(Attempt { outcome, amount: grab.amount }),
        Request::Wait(wait) => Some(Attempt { outcome, amount: wait.grab.amount }),
        _ => None,
    };
    let Some(plan) = plan else {
        count(sale, attempt);
        return Ok(shown);
    };
    let named = match request {
        Request::Alter(change) => change.outbox.as_deref(),
        _ => None,
    };
    let stream = stream_of(sale, outbox, plan, named);
    let task = Task { arg: KEY, plan: Some(plan), attempt, stream };
    let committed = if task.stream.is_none() {
        let committed = commit(sale, &task, None, now);
        drop(key);
        committed
    } else {
        drop(key);
        commit_one(call, task, now)?
    };
    propagate(call, KEY, plan, &committed);
    notify(call, KEY, plan, &committed);
    Ok(shown)
}

/// An attempt to buy, and what it came to.
#[derive(Clone, Copy)]
pub struct Attempt<'p> {
    /// What it came to.
    pub outcome: &'p Outcome,
    /// What was asked for.
    pub amount: Amount,
}

/// What is to be done to one sale.
pub struct Task<'p, 'a, 'c> {
    /// Where its key is among the arguments.
    pub arg: usize,
    /// None when nothing changes and the attempt is only counted.
    pub plan: Option<&'p Plan<'a>>,
    /// The attempt to buy, if it was one.
    pub attempt: Option<Attempt<'p>>,
    /// Where entries go, if there are any.
    pub stream: Option<Stream<'c>>,
}

/// Tasks of one MGRAB.
pub type Tasks<'p, 'a, 'c> = Vec<Task<'p, 'a, 'c>>;

/// What was committed, beside the plan of it.
#[derive(Default)]
pub struct Committed<'c> {
    /// Entries that were appended.
    pub entries: Option<Appended<'c>>,
    /// Holds that ended.
    pub settled: u64,
    /// When the sweeper must look at the sale.
    pub look_at: Option<u64>,
    /// Whether it must at once: somebody waits for what is there.
    pub is_urgent: bool,
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

/// Makes the task or nothing: first its stream is made ready and opened, in which foreign code may
/// run; then the sale, which is closed, is opened, the entries are appended and the plan committed.
pub fn commit_one<'c>(
    call: &mut Call<'c>,
    mut task: Task<'_, '_, 'c>,
    now: &Now,
) -> Result<Committed<'c>, &'static str> {
    let (outbox, entries) = (call.outbox(), task.plan.map_or(0, |plan| plan.events.len()));
    // A stream that is there takes a single entry or not: nothing is to be asked before.
    let mut stream = if entries == 1 { outbox::open_one(&mut task.stream) } else { None };
    if stream.is_none() {
        stream = open_streams(call, slice::from_mut(&mut task))?.pop().flatten();
    }
    let mut key = call.open(task.arg);
    let Some(sale) = same_sale(&mut key, task.plan) else {
        return Err(abandon(stream));
    };
    append(sale, &task, stream.as_mut(), outbox)?;
    Ok(commit(sale, &task, stream, now))
}

/// The same for all `tasks` or none.
pub fn commit_all<'c>(
    call: &mut Call<'c>,
    mut tasks: Tasks<'_, '_, 'c>,
    now: &Now,
) -> Result<Vec<Committed<'c>>, &'static str> {
    let (outbox, mut streams) = (call.outbox(), open_streams(call, &mut tasks)?);
    let mut keys = call.open_all(tasks.iter().map(|task| task.arg));
    let sales = keys.iter_mut().zip(&tasks).map(|(key, task)| same_sale(key, task.plan));
    let sales: Option<Vec<&mut Sale>> = sales.collect();
    let Some(mut sales) = sales else {
        return Err(abandon(streams.into_iter().flatten()));
    };
    for ((sale, task), stream) in sales.iter_mut().zip(&tasks).zip(&mut streams) {
        append(sale, task, stream.as_mut(), outbox)?;
    }
    let parts = sales.into_iter().zip(&tasks).zip(streams);
    Ok(parts.map(|((sale, task), stream)| commit(sale, task, stream, now)).collect())
}

/// Leaves streams open whose sale is not as it was a moment ago: its time to live was over just now
/// and foreign code ran. Nothing is known of their values, and the server is not led to them.
fn abandon<'c>(streams: impl IntoIterator<Item = OpenStream<'c>>) -> &'static str {
    streams.into_iter().for_each(OpenStream::abandon);
    errors::BEING_CHANGED
}

/// Appends the entries of a task, all or none.
fn append(
    sale: &mut Sale,
    task: &Task<'_, '_, '_>,
    stream: Option<&mut OpenStream<'_>>,
    outbox: Outbox<'_>,
) -> Result<(), &'static str> {
    let Some((plan, stream)) = task.plan.zip(stream) else { return Ok(()) };
    let appended = stream.append(outbox, task.arg, sale, plan);
    sale.note_outbox(appended.is_err());
    appended.map_err(not_taken)
}

/// Opens the streams of all tasks. The sales are closed: foreign code may run in it.
fn open_streams<'c>(
    call: &mut Call<'c>,
    tasks: &mut [Task<'_, '_, 'c>],
) -> Result<OpenStreams<'c>, &'static str> {
    let wanted = tasks.iter_mut().map(|task| {
        let stream = task.stream.take();
        let entries = task.plan.filter(|_| stream.is_some()).map_or(0, |plan| plan.events.len());
        (stream, entries)
    });
    let wanted = wanted.collect();
    let is_as_judged =
        || tasks.iter().all(|task| same_sale(&mut call.open(task.arg), task.plan).is_some());
    let (index, why) = match outbox::open_all(wanted, is_as_judged) {
        Ok(streams) => return Ok(streams),
        Err(refused) => refused,
    };
    if let Some(task) = tasks.get(index).filter(|_| why != NotTaken::Changed) {
        if let Some(sale) = same_sale(&mut call.open(task.arg), task.plan) {
            sale.note_outbox(true);
        }
    }
    Err(not_taken(why))
}

/// The sale at the key, if it is still the one that was planned for.
pub fn same_sale<'k>(key: &'k mut Key<'_>, plan: Option<&Plan<'_>>) -> Option<&'k mut Sale> {
    let sale = sale(key.slot()).ok()?;
    plan.is_none_or(|plan| plan.is_for(sale)).then_some(sale)
}

fn not_taken(why: NotTaken) -> &'static str {
    match why {
        NotTaken::NotHere => errors::OUTBOX_NOT_HERE,
        NotTaken::Refused => errors::OUTBOX_REFUSED,
        NotTaken::Changed => errors::BEING_CHANGED,
    }
}

/// Commits the plan of a task to the open sale it is for, once its entries are appended to
/// `stream`. Compiled into its callers, one of which never has any.
#[inline(always)]
fn commit<'c>(
    sale: &mut Sale,
    task: &Task<'_, '_, 'c>,
    stream: Option<OpenStream<'c>>,
    now: &Now,
) -> Committed<'c> {
    let Some(plan) = task.plan else {
        count(sale, task.attempt);
        return Committed::default();
    };
    let entries = stream.and_then(OpenStream::close);
    let (holds, expired) = (sale.holds_len(), sale.tallies().expired);
    let (look_at, is_urgent) = match sale.is_plain() {
        true => {
            sale.commit(plan);
            counts::held(holds, sale.holds_len());
            (sale.next_look(), false)
        }
        false => commit_further(sale, plan, now),
    };
    let settled = holds.saturating_sub(sale.holds_len());
    counts::EXPIRED.add(sale.tallies().expired - expired);
    count(sale, task.attempt);
    Committed { entries, settled, look_at, is_urgent }
}

/// Commits the plan of a sale that may have rounds and a waiting list. Answers when the sweeper
/// must look at it, and whether it must at once.
#[cold]
fn commit_further(sale: &mut Sale, plan: &Plan<'_>, now: &Now) -> (Option<u64>, bool) {
    let (before, (offers, dropped)) = (Load::of(sale), sale.list_totals());
    sale.commit(plan);
    counts::changed(before, Load::of(sale));
    counts::OFFERS.add(sale.list_totals().0 - offers);
    counts::DROPPED.add(sale.list_totals().1 - dropped);
    // Rounds that are over give their memory back in steps, which the sweeper goes on with.
    let look_at = if sale.shed() { Some(now.clock_ms) } else { sale.next_look() };
    (look_at, sale.serves_at(now))
}

fn count(sale: &mut Sale, attempt: Option<Attempt<'_>>) {
    if let Some(Attempt { outcome, amount }) = attempt {
        counts::count(outcome, sale.count(outcome, amount));
    }
}

/// Appends the first entries of `sale`, which is to come to the key `KEY`, where nothing is.
/// Foreign code may run in it, but not once it has appended.
pub fn append_first<'c>(
    call: &mut Call<'c>,
    sale: &Sale,
    plan: &Plan<'_>,
) -> Result<Committed<'c>, &'static str> {
    let (outbox, look_at) = (call.outbox(), sale.next_due());
    let Some(name) = sale.terms().outbox.as_deref() else {
        return Ok(Committed { look_at, ..Committed::default() });
    };
    if call.args().get(KEY) == Some(&name) {
        return Err(errors::OUTBOX_REFUSED);
    }
    let wanted = vec![(Some(outbox.stream(name, true)), plan.events.len())];
    let mut is_free = || matches!(call.open(KEY).slot(), Slot::Missing);
    let streams = outbox::open_all(wanted, &mut is_free).map_err(|(_, why)| not_taken(why))?;
    let is_free = is_free();
    let mut entries = None;
    for mut stream in streams.into_iter().flatten() {
        if !is_free {
            stream.abandon();
            return Err(errors::BEING_CHANGED);
        }
        stream.append(outbox, KEY, sale, plan).map_err(not_taken)?;
        entries = stream.close();
    }
    Ok(Committed { entries, look_at, ..Committed::default() })
}

/// Replicates what was committed to the sale at the argument `key`, signals to who watches the key,
/// and has the sweeper look at it when it must.
#[inline]
pub fn propagate(call: &mut Call<'_>, key: usize, plan: &Plan<'_>, committed: &Committed<'_>) {
    call.replicate(key, plan, committed.entries.as_ref());
    signal(call, key, committed);
}

/// The same for the INIT that created `sale`, which it puts at its key. The server notifies of the
/// new key, in which foreign code may change the sale, or have it go elsewhere, and its deadline
/// with it: so the INIT goes out before, and the sweeper knows of the sale.
pub fn propagate_first(
    call: &mut Call<'_>,
    plan: &Plan<'_>,
    committed: &mut Committed<'_>,
    sale: Sale,
) {
    call.replicate(KEY, plan, committed.entries.as_ref());
    call.watch(KEY, committed.look_at.take());
    call.open(KEY).fill(sale);
    signal(call, KEY, committed);
}

/// Signals to who watches the key or its stream, and to the sweeper.
pub fn signal(call: &mut Call<'_>, key: usize, committed: &Committed<'_>) {
    if let Some(entries) = &committed.entries {
        entries.signal();
    }
    call.signal_modified(key);
    call.watch(key, committed.look_at);
    if committed.is_urgent {
        call.hurry();
    }
}

/// Notifies of what was committed, in order.
#[inline]
pub fn notify(call: &mut Call<'_>, key: usize, plan: &Plan<'_>, committed: &Committed<'_>) {
    for event in plan.kinds().filter_map(|kind| kind.notification()) {
        call.notify(event, key);
    }
    if let Some(entries) = &committed.entries {
        entries.notify();
    }
}
