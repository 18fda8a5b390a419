//! The way of every change, whoever decided it: a command ([`Source::Here`]), the sweeper, or
//! another node ([`Source::Elsewhere`]).
//!
//! 1. The sale was opened and a plan was decided for it. Without entries it is committed at once.
//! 2. With entries the sale is closed, and their stream is created, if it is missing, and opened.
//!    Code of other modules may run in that and call any command. Then the sale is opened again. If
//!    it is another one by now, or has changed, nothing happens. [`commit_one`], for MGRAB
//!    [`commit_all`], for a new sale [`begin`]
//! 3. The entries are appended, or nothing happens; but a node that follows leaves out what its
//!    stream does not take. Then the plan is committed, which can't fail. [`Source::append`]
//! 4. One command is handed over that makes the change and its entries everywhere. Nothing foreign
//!    runs from 3 until here. [`finish`]
//! 5. Notifications are sent, in which foreign code may run again. The reply comes last.

use std::sync::atomic::Ordering::Relaxed;

use crate::server::call::{Call, Committed};
use crate::server::data_set::counts::{self, Load};
use crate::server::data_set::timer::AT_ONCE;
use crate::server::module::info;
use crate::server::propagation::outbox::{OpenStream, Outbox, Stream};
use crate::server::propagation::stream::{self, NotTaken, OpenStreams};
use crate::server::value::key::{Key, NoSale};
use seckill_domain::outcome::Outcome;
use seckill_domain::plan::{Plan, StreamId};
use seckill_domain::request::{Amount, Now};
use seckill_domain::Sale;

/// Where the key is among the arguments of every command that has one.
pub const KEY: usize = 0;

/// An attempt to buy, and what it came to.
#[derive(Clone, Copy)]
pub struct Attempt<'p> {
    /// What it came to.
    pub outcome: &'p Outcome,
    /// What was asked for.
    pub amount: Amount,
}

/// What is to be done to one sale.
pub struct Task<'p, 'a, 's> {
    /// Where its key is among the arguments.
    pub arg: usize,
    /// None when nothing changes and the attempt is only counted.
    pub plan: Option<&'p Plan<'a>>,
    /// The attempt to buy, if it was one.
    pub attempt: Option<Attempt<'p>>,
    /// Where entries go, if there are any.
    pub stream: Option<&'s Stream<'s>>,
}

/// Who decided a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// This node. The stream gives the entries their ids, and where it does not take one nothing
    /// happens. Replicas are sent the effects.
    Here,
    /// A primary, or the one that wrote the log; it gave the first entry this id, if there are any.
    /// The change is made whatever the stream takes: it is the sale that must not be lost. Replicas
    /// and the log are sent the very call.
    Elsewhere(Option<StreamId>),
}

impl Source {
    /// Appends the entries of `plan`, which is for `sale`. Where they are not taken that should
    /// have been, nothing is left of them.
    #[inline(always)]
    fn append(
        self,
        outbox: Outbox<'_>,
        open: &mut Option<OpenStream<'_>>,
        sale: &mut Sale,
        plan: &Plan<'_>,
    ) -> Result<(), NotTaken> {
        let given = match self {
            Source::Here => None,
            Source::Elsewhere(first) => first,
        };
        let missed = match open {
            Some(open) => open.append(outbox, KEY, sale, plan, given),
            None => plan.events.len() as u64,
        };
        match self {
            Source::Here if missed > 0 => return Err(NotTaken::Refused),
            Source::Here => {}
            Source::Elsewhere(_) => info::outbox_refused(missed),
        }
        Ok(())
    }

    /// Hands over what makes the change elsewhere.
    #[inline(always)]
    fn hand_over(self, call: &mut Call<'_>, plan: &Plan<'_>, committed: &Committed<'_>) {
        match self {
            Source::Here => call.replicate(KEY, plan, committed),
            Source::Elsewhere(_) => call.replicate_verbatim(),
        }
    }
}

/// What follows once the plan for the sale at the call's key is committed. The key is closed.
#[inline(always)]
pub fn finish(call: &mut Call<'_>, plan: &Plan<'_>, committed: &Committed<'_>, source: Source) {
    source.hand_over(call, plan, committed);
    call.signal(KEY, committed);
    call.notify(KEY, plan, committed);
}

/// Commits a plan whose entries go to `stream`, or nothing. First the stream is made ready and
/// opened, in which foreign code may run; then the sale at the call's key, which is closed, is
/// opened, the entries are appended and the plan is made.
#[inline(always)]
pub fn commit_one<'s>(
    call: &mut Call<'_>,
    plan: &Plan<'_>,
    attempt: Option<Attempt<'_>>,
    stream: &'s Stream<'s>,
    now: &Now,
    source: Source,
) -> Result<Committed<'s>, NotTaken> {
    let outbox = call.outbox();
    let mut open = match source {
        Source::Here => open_one(call, plan, stream)?,
        Source::Elsewhere(_) => {
            stream.open_to_follow(|| same_sale(&mut call.open(KEY), Some(plan)).is_some())
        }
    };
    let mut key = call.open(KEY);
    let Some(sale) = same_sale(&mut key, Some(plan)) else {
        return Err(abandon(open));
    };
    source.append(outbox, &mut open, sale, plan)?;
    Ok(match source {
        Source::Here => commit(sale, Some(plan), attempt, open, now),
        Source::Elsewhere(_) => follow(sale, plan, open, now.clock_ms),
    })
}

/// Opens the stream that takes the entries of `plan`.
#[inline(always)]
fn open_one<'s>(
    call: &mut Call<'_>,
    plan: &Plan<'_>,
    stream: &'s Stream<'s>,
) -> Result<Option<OpenStream<'s>>, NotTaken> {
    // A stream that is there takes a single entry or not: nothing is to be asked before.
    if plan.events.len() == 1 {
        if let Ok(open) = stream.open() {
            return Ok(Some(open));
        }
    }
    let task = Task { arg: KEY, plan: Some(plan), attempt: None, stream: Some(stream) };
    Ok(open_streams(call, &[task])?.pop().flatten())
}

/// Puts a sale at the call's key, where none is, or nothing. With `plan` it comes with the entries
/// of that, which go to `stream`, if there is one.
pub fn begin(
    call: &mut Call<'_>,
    mut sale: Sale,
    plan: Option<&Plan<'_>>,
    stream: Option<&Stream<'_>>,
    source: Source,
) -> Result<(), NotTaken> {
    let (outbox, mut committed) = (call.outbox(), Committed::default());
    if let Some((plan, stream)) = plan.zip(stream) {
        let mut is_free = || call.open(KEY).sale().err() == Some(NoSale::Missing);
        let mut open = match source {
            Source::Here => {
                let streams = stream::open_all(&[(Some(stream), plan.events.len())], &mut is_free);
                streams.map_err(|(_, why)| why)?.pop().flatten()
            }
            Source::Elsewhere(_) => stream.open_to_follow(&mut is_free),
        };
        if !is_free() {
            return Err(abandon(open));
        }
        source.append(outbox, &mut open, &mut sale, plan)?;
        committed.entries = open.map(OpenStream::close).unwrap_or_default();
    }
    match plan {
        Some(plan) => source.hand_over(call, plan, &committed),
        None => call.replicate_verbatim(),
    }
    call.put(KEY, sale);
    call.signal(KEY, &committed);
    if let Some(plan) = plan {
        call.notify(KEY, plan, &committed);
    }
    Ok(())
}

/// The same for all `tasks` or none, some of which may have no entries.
pub fn commit_all<'s>(
    call: &mut Call<'_>,
    tasks: &[Task<'_, '_, 's>],
    now: &Now,
) -> Result<Vec<Committed<'s>>, NotTaken> {
    let (outbox, mut streams) = (call.outbox(), open_streams(call, tasks)?);
    let mut keys = call.open_all(tasks.iter().map(|task| task.arg));
    let sales = keys.iter_mut().zip(tasks).map(|(key, task)| same_sale(key, task.plan));
    let sales: Option<Vec<&mut Sale>> = sales.collect();
    let Some(mut sales) = sales else {
        return Err(abandon(streams.into_iter().flatten()));
    };
    for ((sale, task), stream) in sales.iter_mut().zip(tasks).zip(&mut streams) {
        let Some((plan, stream)) = task.plan.zip(stream.as_mut()) else { continue };
        if stream.append(outbox, task.arg, sale, plan, None) > 0 {
            return Err(NotTaken::Refused);
        }
    }
    let parts = sales.into_iter().zip(tasks).zip(streams);
    let commit_task = |((sale, task), stream): ((_, &Task<'_, '_, 's>), _)| {
        commit(sale, task.plan, task.attempt, stream, now)
    };
    Ok(parts.map(commit_task).collect())
}

/// Leaves streams open whose sale is not as it was a moment ago: its time to live was over just now
/// and foreign code ran. Nothing is known of their values, and the server is not led to them.
fn abandon<'s>(streams: impl IntoIterator<Item = OpenStream<'s>>) -> NotTaken {
    streams.into_iter().for_each(OpenStream::abandon);
    NotTaken::Changed
}

/// Opens the streams of all tasks. The sales are closed: foreign code may run in it.
fn open_streams<'s>(
    call: &mut Call<'_>,
    tasks: &[Task<'_, '_, 's>],
) -> Result<OpenStreams<'s>, NotTaken> {
    let entries = |task: &Task<'_, '_, '_>| task.plan.map_or(0, |plan| plan.events.len());
    let wanted = tasks.iter().map(|task| (task.stream, task.stream.map_or(0, |_| entries(task))));
    let wanted: Vec<_> = wanted.collect();
    let is_as_judged =
        || tasks.iter().all(|task| same_sale(&mut call.open(task.arg), task.plan).is_some());
    let (index, why) = match stream::open_all(&wanted, is_as_judged) {
        Ok(streams) => return Ok(streams),
        Err(refused) => refused,
    };
    if let Some(task) = tasks.get(index).filter(|_| why != NotTaken::Changed) {
        if let Some(sale) = same_sale(&mut call.open(task.arg), task.plan) {
            sale.note_outbox_failed();
        }
    }
    Err(why)
}

/// The sale at the key, if it is still the one that was planned for.
fn same_sale<'k>(key: &'k mut Key<'_>, plan: Option<&Plan<'_>>) -> Option<&'k mut Sale> {
    key.sale().ok().filter(|sale| plan.is_none_or(|plan| plan.is_for(sale)))
}

/// Counts an attempt, in the open sale that it was made of and on this node, and commits the plan,
/// once its entries are appended to `stream`. Compiled into its callers, some of which never have
/// any.
#[inline(always)]
pub fn commit<'s>(
    sale: &mut Sale,
    plan: Option<&Plan<'_>>,
    attempt: Option<Attempt<'_>>,
    stream: Option<OpenStream<'s>>,
    now: &Now,
) -> Committed<'s> {
    if let Some(Attempt { outcome, amount }) = attempt {
        let counter = match outcome {
            // A change counts itself in its sale.
            Outcome::Granted { .. } => Some(&counts::GRANTED),
            refusal => sale.count(refusal, amount).and_then(|place| counts::REFUSED.get(place)),
        };
        if let Some(counter) = counter {
            counter.fetch_add(1, Relaxed);
        }
    }
    let Some(plan) = plan else { return Committed::default() };
    let entries = stream.map(OpenStream::close).unwrap_or_default();
    let expired = sale.tallies().expired;
    let (look_at, is_urgent) = match sale.is_plain() {
        true => {
            let before = sale.ledger().holds().len();
            sale.commit(plan);
            let change = sale.ledger().holds().len().wrapping_sub(before);
            if change != 0 {
                counts::served().holds.fetch_add(change as u64, Relaxed);
            }
            (sale.next_look(now.clock_ms), false)
        }
        false => commit_with_extras(sale, plan, now),
    };
    let expired = sale.tallies().expired - expired;
    if expired > 0 {
        counts::EXPIRED.fetch_add(expired, Relaxed);
    }
    Committed { entries, expired, look_at, is_urgent }
}

/// Commits the plan of a sale that may have rounds and a waiting list. Answers when the sweeper
/// must look at it, and whether it must at once.
#[cold]
fn commit_with_extras(sale: &mut Sale, plan: &Plan<'_>, now: &Now) -> (Option<u64>, bool) {
    let (before, (offers, dropped)) = (Load::of(sale), sale.list_totals());
    sale.commit(plan);
    counts::changed(before, Load::of(sale));
    counts::OFFERS.fetch_add(sale.list_totals().0 - offers, Relaxed);
    counts::DROPPED.fetch_add(sale.list_totals().1 - dropped, Relaxed);
    (look_at(sale, now.clock_ms), sale.serves_at(now))
}

/// Commits what another node has decided, which counts it.
pub fn follow<'s>(
    sale: &mut Sale,
    plan: &Plan<'_>,
    stream: Option<OpenStream<'s>>,
    clock_ms: u64,
) -> Committed<'s> {
    let entries = stream.map(OpenStream::close).unwrap_or_default();
    let before = Load::of(sale);
    sale.commit(plan);
    counts::changed(before, Load::of(sale));
    Committed { entries, look_at: look_at(sale, clock_ms), ..Committed::default() }
}

/// When the sweeper must look at the sale. Rounds that are over give their memory back in steps,
/// which the sweeper goes on with, on replicas, too.
pub fn look_at(sale: &mut Sale, clock_ms: u64) -> Option<u64> {
    if sale.shed() {
        return Some(AT_ONCE);
    }
    sale.next_look(clock_ms)
}
