//! The steps of every change, decided by this node or by another: see [`Source`].
//!
//! 1. *Closed.* The sale is opened and a plan is decided for it. Without entries the plan is
//!    committed at once. With entries the sale is closed first: creating a stream, or opening one
//!    whose TTL has passed, can run code of other modules. That code may call any command, which
//!    would borrow an open sale a second time.
//! 2. *Ready.* The stream exists and is open, and no foreign code runs from here on. The sale may
//!    have changed meanwhile, so its key is opened again. If the key holds no sale, another sale or
//!    another version, nothing is changed. [`Ready`]
//! 3. *Open.* The entries are appended, or nothing is changed. A replica instead drops entries that
//!    its stream refuses. Then the plan is committed, which can't fail. [`Open`], [`Written`]
//! 4. One command is replicated that makes the change and its entries on other nodes.
//! 5. Keys are signalled and notifications are sent, in which foreign code may run again. The reply
//!    comes last.
//!
//! Each state is a type that only the state before it makes, so the compiler checks the order.
//! Entries are appended to an [`Open`], which is made of a [`Ready`] and the sale [`AsPlanned`]. A
//! plan is committed to a [`Written`].

use std::sync::atomic::Ordering::Relaxed;

use crate::server::call::{Call, Committed};
use crate::server::data_set::counts::{self, Load};
use crate::server::data_set::timer::AT_ONCE;
use crate::server::module::info;
use crate::server::propagation::outbox::{AsPlanned, Open, Outbox, Ready, Stream, Written};
use crate::server::propagation::stream::{self, NotTaken};
use crate::server::value::key::{Key, NoSale};
use seckill_domain::decide::{Decided, Decision, NextRound};
use seckill_domain::numbers::UnitList;
use seckill_domain::outcome::Outcome;
use seckill_domain::plan::{Plan, StreamId};
use seckill_domain::request::{Amount, Now, Request};
use seckill_domain::Sale;

/// Index of the key among the arguments of every command that has one.
pub const KEY: usize = 0;

/// An attempt to buy, and its outcome.
#[derive(Clone, Copy)]
pub struct Attempt<'p> {
    /// The outcome.
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
    /// This node, for a caller. The stream chooses the entries' ids; if it refuses one, nothing
    /// changes. Replicas get the effects.
    Caller,
    /// This node, for the sweeper, which keeps the sale's deadline itself.
    Sweeper,
    /// The primary, or the writer of the AOF, which chose the first entry's id, if there are
    /// entries. The change is made even if the stream refuses entries: the sale must not be lost.
    /// Replicas and the AOF get the call unchanged.
    Elsewhere(Option<StreamId>),
}

impl Source {
    /// The first entry's id, if another node chose it.
    fn given(self) -> Option<StreamId> {
        match self {
            Source::Caller | Source::Sweeper => None,
            Source::Elsewhere(first) => first,
        }
    }

    /// Appends the entries of `task`, or leaves none.
    #[inline(always)]
    fn append<'s, 'k>(
        self,
        outbox: Outbox<'_>,
        open: Open<'s, 'k>,
        task: &Task<'_, '_, '_>,
    ) -> Result<Written<'s, 'k>, NotTaken> {
        let Some(plan) = task.plan else { return Ok(open.nothing()) };
        let written = open.append(outbox, task.arg, plan, self.given());
        match self {
            Source::Elsewhere(_) => info::outbox_refused(written.missed),
            _ if written.missed > 0 => return Err(NotTaken::Refused),
            _ => {}
        }
        Ok(written)
    }

    /// Makes the stream of `task` ready. The sale must be closed: foreign code may run.
    /// `is_as_judged` checks it afterwards.
    #[inline(always)]
    fn ready<'s>(
        self,
        call: &mut Call<'_>,
        task: &Task<'_, '_, 's>,
        is_as_judged: impl Fn(&mut Call<'_>) -> bool,
    ) -> Result<Ready<'s>, NotTaken> {
        let (Some(stream), Some(plan)) = (task.stream, task.plan) else {
            return Ok(Ready::default());
        };
        if matches!(self, Source::Elsewhere(_)) {
            return Ok(stream.ready_to_follow(|| is_as_judged(call)).unwrap_or_default());
        }
        // An existing stream takes a single entry or refuses it, so nothing need be asked first.
        if plan.events.len() == 1 {
            if let Ok(ready) = stream.ready() {
                return Ok(ready);
            }
        }
        let ready = ready_all(call, std::slice::from_ref(task), is_as_judged)?;
        Ok(ready.into_iter().next().unwrap_or_default())
    }

    /// Replicates the change.
    #[inline(always)]
    fn hand_over(self, call: &mut Call<'_>, plan: &Plan<'_>, committed: &Committed<'_>) {
        match self {
            Source::Caller | Source::Sweeper => call.replicate(KEY, plan, committed),
            Source::Elsewhere(_) => call.replicate_verbatim(),
        }
    }
}

/// The result for a caller.
pub struct Done {
    /// The answer. `None` if the next round has begun: then the request must be decided again.
    pub outcome: Option<Outcome>,
    /// The unit numbers of the answer's grant, if units have numbers.
    pub units: Option<UnitList>,
    /// The change, if there was one.
    pub made: Option<Made>,
}

/// The numbers of a change, for the sweeper.
pub struct Made {
    /// Holds that expired.
    pub expired: u64,
    /// The time at which the sweeper must look at the sale again, Unix ms.
    pub next_look: Option<u64>,
}

/// The reason why nothing was decided or changed.
pub enum Stop {
    /// The key holds no sale.
    NoSale(NoSale),
    /// The entries can't be appended.
    NotTaken(NotTaken),
}

impl From<Stop> for &'static str {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::NoSale(why) => why.into(),
            Stop::NotTaken(why) => why.into(),
        }
    }
}

impl From<NotTaken> for Stop {
    fn from(why: NotTaken) -> Self {
        Stop::NotTaken(why)
    }
}

/// Changes the sale at the call's key as `judge` decides. Without a change it only counts the
/// attempt. `request` is the caller's request, None for the sweeper.
#[inline(always)]
pub fn one<'a>(
    call: &mut Call<'_>,
    now: &Now,
    source: Source,
    request: Option<&Request<'_>>,
    judge: impl FnOnce(&mut Sale) -> Decided<'a>,
) -> Result<Done, Stop> {
    let outbox = call.outbox();
    let mut key = call.open(KEY);
    let sale = key.sale().map_err(Stop::NoSale)?;
    let decided = &judge(sale);
    let (outcome, plan) = match decided {
        Ok(Decision { outcome, plan }) => (Some(outcome), plan.as_ref()),
        Err(NextRound(plan)) => (None, Some(&**plan)),
    };
    let attempt = outcome.zip(request).and_then(|(outcome, request)| attempt(outcome, request));
    let units = match decided {
        // The units of a plain sale have no numbers, and only a caller gets a reply.
        Ok(decision) if request.is_some() && !sale.is_plain() => {
            sale.units_replied(&decision.outcome, decision.plan.as_ref())
        }
        _ => None,
    };
    let Some(plan) = plan else {
        count(sale, attempt);
        return Ok(Done { outcome: outcome.copied(), units, made: None });
    };
    let named = match request {
        Some(Request::Alter(change)) => change.outbox.as_deref(),
        _ => None,
    };
    let name = sale.outbox_after(plan);
    let stream = name.map(|name| outbox.stream(name, named == Some(name)));
    let task = |stream| Task { arg: KEY, plan: Some(plan), attempt, stream };
    let mut committed = if let Some(stream) = &stream {
        drop(key);
        let task = task(Some(stream));
        let ready = source.ready(call, &task, |call| is_as_judged(call, &task))?;
        let mut key = call.open(KEY);
        let sale = as_planned(&mut key, &task).ok_or(NotTaken::Changed)?;
        let written = source.append(outbox, ready.with(sale), &task)?;
        commit(written, &task, now, source)
    } else {
        let open = Ready::default().with(AsPlanned::still(sale));
        let committed = commit(open.nothing(), &task(None), now, source);
        drop(key);
        committed
    };
    let next_look = match source {
        Source::Sweeper => committed.look_at.take(),
        _ => None,
    };
    source.hand_over(call, plan, &committed);
    call.signal(KEY, &committed);
    call.notify(KEY, plan, &committed);
    let made = Some(Made { expired: committed.expired, next_look });
    Ok(Done { outcome: outcome.copied(), units, made })
}

/// The attempt to buy, if `request` is one. IMPORT also leads to GRANTED or REPLAY but is no
/// attempt.
#[inline]
fn attempt<'p>(outcome: &'p Outcome, request: &Request<'_>) -> Option<Attempt<'p>> {
    let amount = match request {
        Request::Grab(grab) => grab.amount,
        Request::Pick(pick) => pick.grab.amount,
        Request::Wait(wait) => wait.grab.amount,
        _ => return None,
    };
    Some(Attempt { outcome, amount })
}

/// Creates a sale at the call's missing key and appends the entries of `plan`, or does neither.
/// `is_named` says that the call names their stream as a key.
pub fn begin(
    call: &mut Call<'_>,
    mut sale: Sale,
    plan: Option<&Plan<'_>>,
    is_named: bool,
    source: Source,
) -> Result<(), NotTaken> {
    let mut committed = Committed::default();
    let name = plan.and_then(|plan| sale.outbox_after(plan));
    let stream = name.map(|name| call.outbox().stream(name, is_named));
    if let (Some(plan), Some(_)) = (plan, &stream) {
        let is_free = |call: &mut Call<'_>| call.open(KEY).sale().err() == Some(NoSale::Missing);
        let task = Task { arg: KEY, plan: Some(plan), attempt: None, stream: stream.as_ref() };
        let ready = source.ready(call, &task, is_free)?;
        if !is_free(call) {
            return Err(NotTaken::Changed);
        }
        let open = ready.with(AsPlanned::still(&mut sale));
        committed.entries = source.append(call.outbox(), open, &task)?.close().1;
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

/// Makes the changes of all `tasks` or none. Tasks may have no entries, or no change.
pub fn all(call: &mut Call<'_>, tasks: &[Task<'_, '_, '_>], now: &Now) -> Result<(), NotTaken> {
    let (outbox, source) = (call.outbox(), Source::Caller);
    let ready = ready_all(call, tasks, |call| tasks.iter().all(|task| is_as_judged(call, task)))?;
    let mut keys = call.open_all(tasks.iter().map(|task| task.arg));
    let sales = keys.iter_mut().zip(tasks).map(|(key, task)| as_planned(key, task));
    let sales: Option<Vec<AsPlanned<'_>>> = sales.collect();
    let open = ready.into_iter().zip(sales.ok_or(NotTaken::Changed)?);
    let mut written = Vec::with_capacity(tasks.len());
    for ((ready, sale), task) in open.zip(tasks) {
        written.push(source.append(outbox, ready.with(sale), task)?);
    }
    let commit_task = |(written, task)| commit(written, task, now, source);
    let committed: Vec<_> = written.into_iter().zip(tasks).map(commit_task).collect();
    drop(keys);
    let all = tasks.iter().zip(&committed);
    let changed = all.filter_map(|(task, committed)| Some((task.arg, task.plan?, committed)));
    for (arg, plan, committed) in changed.clone() {
        call.replicate(arg, plan, committed);
        call.signal(arg, committed);
    }
    for (arg, plan, committed) in changed {
        call.notify(arg, plan, committed);
    }
    Ok(())
}

/// Makes the streams of all tasks ready. The sales must be closed: foreign code may run.
fn ready_all<'s>(
    call: &mut Call<'_>,
    tasks: &[Task<'_, '_, 's>],
    is_as_judged: impl Fn(&mut Call<'_>) -> bool,
) -> Result<Vec<Ready<'s>>, NotTaken> {
    let entries = |task: &Task<'_, '_, '_>| task.plan.map_or(0, |plan| plan.events.len());
    let wanted = tasks.iter().map(|task| (task.stream, task.stream.map_or(0, |_| entries(task))));
    let wanted: Vec<_> = wanted.collect();
    let (index, why) = match stream::ready_all(&wanted, || is_as_judged(call)) {
        Ok(ready) => return Ok(ready),
        Err(refused) => refused,
    };
    let task = tasks.get(index).filter(|_| why != NotTaken::Changed && is_as_judged(call));
    if let Some(task) = task {
        if let Ok(sale) = call.open(task.arg).sale() {
            sale.note_outbox_failed();
        }
    }
    Err(why)
}

/// The sale at the task's key, if it is still the plan's sale at the plan's version.
fn as_planned<'k>(key: &'k mut Key<'_>, task: &Task<'_, '_, '_>) -> Option<AsPlanned<'k>> {
    AsPlanned::of(key.sale().ok()?, task.plan)
}

fn is_as_judged(call: &mut Call<'_>, task: &Task<'_, '_, '_>) -> bool {
    as_planned(&mut call.open(task.arg), task).is_some()
}

/// Counts an attempt in the sale and on this node.
#[inline(always)]
fn count(sale: &mut Sale, attempt: Option<Attempt<'_>>) {
    let Some(Attempt { outcome, amount }) = attempt else { return };
    if let Some(counter) = sale.count(outcome, amount).and_then(|at| counts::ANSWERS.get(at)) {
        counter.fetch_add(1, Relaxed);
    }
}

/// Counts the attempt of a task and commits its plan. Inlined, because some callers never have
/// entries.
#[inline(always)]
fn commit<'s>(
    written: Written<'s, '_>,
    task: &Task<'_, '_, '_>,
    now: &Now,
    source: Source,
) -> Committed<'s> {
    let (sale, entries) = written.close();
    count(sale, task.attempt);
    let Some(plan) = task.plan else { return Committed::default() };
    // The deciding node has counted this change already.
    if matches!(source, Source::Elsewhere(_)) {
        let before = Load::of(sale);
        sale.commit(plan);
        counts::changed(before, Load::of(sale));
        return Committed { entries, look_at: look_at(sale, now.clock_ms), ..Committed::default() };
    }
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
/// the sweeper must look at the sale, and whether the sweeper must run at once.
#[cold]
fn commit_with_extras(sale: &mut Sale, plan: &Plan<'_>, now: &Now) -> (Option<u64>, bool) {
    let (before, (offers, dropped)) = (Load::of(sale), sale.list_totals());
    sale.commit(plan);
    counts::changed(before, Load::of(sale));
    counts::OFFERS.fetch_add(sale.list_totals().0 - offers, Relaxed);
    counts::DROPPED.fetch_add(sale.list_totals().1 - dropped, Relaxed);
    (look_at(sale, now.clock_ms), sale.has_due_waiter(now))
}

/// The time at which the sweeper must look at the sale. Memory of dropped rounds and emptied lists
/// is freed in steps by the sweeper, on replicas, too.
pub fn look_at(sale: &mut Sale, clock_ms: u64) -> Option<u64> {
    if sale.free_some() {
        return Some(AT_ONCE);
    }
    sale.next_look(clock_ms)
}
