//! The path of every change, decided by a command, the sweeper ([`Source::Here`]) or another node
//! ([`Source::Elsewhere`]).
//!
//! 1. The sale was opened and a plan was decided. Without entries it is committed at once.
//! 2. With entries the sale is closed, and their stream is opened, and created if missing.
//!    Foreign code may run meanwhile and call any command. Then the sale is opened again; if it was
//!    replaced or changed, nothing happens. [`commit_one`], for MGRAB [`commit_all`], for a new
//!    sale [`begin`]
//! 3. The entries are appended, or nothing happens; a replica drops entries that its stream
//!    refuses. Then the plan is committed, which can't fail. [`Source::append`]
//! 4. One command is replicated that makes the change and its entries everywhere. No foreign code
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

/// Index of the key among the arguments of every command that has one.
pub const KEY: usize = 0;

/// An attempt to buy, and its outcome.
#[derive(Clone, Copy)]
pub struct Attempt<'p> {
    /// Its outcome.
    pub outcome: &'p Outcome,
    /// The amount asked for.
    pub amount: Amount,
}

/// The work on one sale.
pub struct Task<'p, 'a, 's> {
    /// Index of its key among the arguments.
    pub arg: usize,
    /// None if nothing changes and the attempt is only counted.
    pub plan: Option<&'p Plan<'a>>,
    /// The attempt to buy, if the call is one.
    pub attempt: Option<Attempt<'p>>,
    /// The stream for its entries, if there are any.
    pub stream: Option<&'s Stream<'s>>,
}

/// The node that decided a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// This node. The stream chooses the entries' ids; if it refuses one, nothing changes. Replicas
    /// get the effects.
    Here,
    /// The primary, or the writer of the AOF; it chose the first entry's id, if there are entries.
    /// The change is made even if the stream refuses entries: the sale must not be lost. Replicas
    /// and the AOF get the call unchanged.
    Elsewhere(Option<StreamId>),
}

impl Source {
    /// Appends the entries of `plan` for `sale`. If one is refused that must not be, none of them
    /// remains.
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

    /// Replicates the change.
    #[inline(always)]
    fn hand_over(self, call: &mut Call<'_>, plan: &Plan<'_>, committed: &Committed<'_>) {
        match self {
            Source::Here => call.replicate(KEY, plan, committed),
            Source::Elsewhere(_) => call.replicate_verbatim(),
        }
    }
}

/// Replication, signal and notification after the commit of a plan for the sale at the call's key.
/// The key is closed.
#[inline(always)]
pub fn finish(call: &mut Call<'_>, plan: &Plan<'_>, committed: &Committed<'_>, source: Source) {
    source.hand_over(call, plan, committed);
    call.signal(KEY, committed);
    call.notify(KEY, plan, committed);
}

/// Commits a plan with entries for `stream`, or nothing. First the stream is made ready and opened,
/// in which foreign code may run. Then the sale at the call's key, which is closed, is opened, the
/// entries are appended and the plan is committed.
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

/// Opens the stream for the entries of `plan`.
#[inline(always)]
fn open_one<'s>(
    call: &mut Call<'_>,
    plan: &Plan<'_>,
    stream: &'s Stream<'s>,
) -> Result<Option<OpenStream<'s>>, NotTaken> {
    // An existing stream takes a single entry or refuses it, so nothing need be asked first.
    if plan.events.len() == 1 {
        if let Ok(open) = stream.open() {
            return Ok(Some(open));
        }
    }
    let task = Task { arg: KEY, plan: Some(plan), attempt: None, stream: Some(stream) };
    Ok(open_streams(call, &[task])?.pop().flatten())
}

/// Puts a sale at the call's missing key, or nothing. The entries of `plan`, if given, go to
/// `stream`.
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

/// Commits all `tasks` or none; some of them may have no entries.
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

/// Leaks open streams after a sale's TTL has passed and foreign code ran. Their values may be gone,
/// so the server must not touch them.
fn abandon<'s>(streams: impl IntoIterator<Item = OpenStream<'s>>) -> NotTaken {
    streams.into_iter().for_each(OpenStream::abandon);
    NotTaken::Changed
}

/// Opens the streams of all tasks. The sales must be closed: foreign code may run.
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

/// The sale at the key, if it is still the plan's sale at the plan's version.
fn same_sale<'k>(key: &'k mut Key<'_>, plan: Option<&Plan<'_>>) -> Option<&'k mut Sale> {
    key.sale().ok().filter(|sale| plan.is_none_or(|plan| plan.is_for(sale)))
}

/// Counts an attempt in the open sale and on this node, and commits the plan after its entries are
/// appended to `stream`. Inlined into its callers, some of which never have entries.
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
            // A committed change counts itself in its sale.
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

/// Commits the plan of a sale that may have rounds and a waiting list. Returns the time at which
/// the sweeper must look at it, and whether it must at once.
#[cold]
fn commit_with_extras(sale: &mut Sale, plan: &Plan<'_>, now: &Now) -> (Option<u64>, bool) {
    let (before, (offers, dropped)) = (Load::of(sale), sale.list_totals());
    sale.commit(plan);
    counts::changed(before, Load::of(sale));
    counts::OFFERS.fetch_add(sale.list_totals().0 - offers, Relaxed);
    counts::DROPPED.fetch_add(sale.list_totals().1 - dropped, Relaxed);
    (look_at(sale, now.clock_ms), sale.serves_at(now))
}

/// Commits a plan of another node, which has counted it.
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

/// The time at which the sweeper must look at the sale. Memory of dropped rounds is freed in steps
/// by the sweeper, on replicas, too.
pub fn look_at(sale: &mut Sale, clock_ms: u64) -> Option<u64> {
    if sale.shed() {
        return Some(AT_ONCE);
    }
    sale.next_look(clock_ms)
}
