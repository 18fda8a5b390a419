//! How a command gets at the sale of its key: [`show`] for those that only read, and the way of
//! every command that may change one that is there, and of the sweeper ([`expire`]). INIT of a new
//! sale and APPLY take the same steps in files of their own.
//!
//! 1. The sale is opened and decides: an outcome and, when anything is to change, a plan. [`run`],
//!    [`take`]
//! 2. Where entries are to be appended the sale is closed and their stream is created, if it is
//!    missing, and opened, in which code of other modules may run and call any command. Then the
//!    sale is opened again. If it is another one by now, or has changed, nothing happens.
//!    [`commit_one`], and for MGRAB [`commit_all`]
//! 3. The entries are appended, or nothing happens. Then the plan is committed, which can't fail.
//! 4. One command is handed over that makes the change and its entries everywhere. Nothing foreign
//!    runs from 3 until here. [`Call::replicate`], [`Call::signal`]
//! 5. Notifications are sent, in which foreign code may run again, and the reply. [`Call::notify`]

use std::sync::atomic::Ordering::Relaxed;

use super::args::Parsed;
use super::{errors, reply};
use crate::server::call::{Call, Committed, Reply};
use crate::server::data_set::counts::{self, Load};
use crate::server::data_set::timer::AT_ONCE;
use crate::server::propagation::outbox::{OpenStream, Stream};
use crate::server::propagation::stream::{self, NotTaken, OpenStreams};
use crate::server::sweeper::Swept;
use crate::server::value::key::Key;
use seckill_domain::decide::Decision;
use seckill_domain::outcome::Outcome;
use seckill_domain::plan::Plan;
use seckill_domain::request::{Amount, Now, Request};
use seckill_domain::Sale;

/// Where the key is among the arguments of every command that has one.
pub const KEY: usize = 0;

/// Shows what is asked of the sale at the key, or replies why not. Leaves no trace.
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
        Err(error) => return error.reply(out),
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
    let sale = key.sale()?;
    let Decision { outcome, plan } = &sale.decide(request, now);
    let shown = sale.masked(request, *outcome);
    // Who grabs attempts to buy. An IMPORT comes to GRANTED or REPLAY, too, but nobody tried.
    let attempt = match request {
        Request::Grab(grab) => Some(Attempt { outcome, amount: grab.amount }),
        Request::Wait(wait) => Some(Attempt { outcome, amount: wait.grab.amount }),
        _ => None,
    };
    let Some(plan) = plan else {
        commit(sale, None, attempt, None, now);
        return Ok(shown);
    };
    let named = match request {
        Request::Alter(change) => change.outbox.as_deref(),
        _ => None,
    };
    let stream = sale.outbox_after(plan).map(|name| outbox.stream(name, named == Some(name)));
    let committed = match &stream {
        None => {
            let committed = commit(sale, Some(plan), attempt, None, now);
            drop(key);
            committed
        }
        Some(stream) => {
            drop(key);
            commit_one(call, plan, attempt, stream, now)?
        }
    };
    call.replicate(KEY, plan, &committed);
    call.signal(KEY, &committed);
    call.notify(KEY, plan, &committed);
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

/// Commits a plan whose entries go to `stream`, or nothing. First the stream is made ready and
/// opened, in which foreign code may run; then the sale at the call's key, which is closed, is
/// opened, the entries are appended and the plan is made.
fn commit_one<'s>(
    call: &mut Call<'_>,
    plan: &Plan<'_>,
    attempt: Option<Attempt<'_>>,
    stream: &'s Stream<'s>,
    now: &Now,
) -> Result<Committed<'s>, &'static str> {
    let outbox = call.outbox();
    // A stream that is there takes a single entry or not: nothing is to be asked before.
    let mut open = match plan.events.len() {
        1 => stream.open().ok(),
        _ => None,
    };
    if open.is_none() {
        let task = Task { arg: KEY, plan: Some(plan), attempt, stream: Some(stream) };
        open = open_streams(call, &[task])?.pop().flatten();
    }
    let mut key = call.open(KEY);
    let Some(sale) = same_sale(&mut key, Some(plan)) else {
        return Err(abandon(open));
    };
    if open.as_mut().is_some_and(|open| open.append(outbox, KEY, sale, plan, None) > 0) {
        return Err(errors::OUTBOX_REFUSED);
    }
    Ok(commit(sale, Some(plan), attempt, open, now))
}

/// The same for all `tasks` or none, some of which may have no entries.
pub fn commit_all<'s>(
    call: &mut Call<'_>,
    tasks: &[Task<'_, '_, 's>],
    now: &Now,
) -> Result<Vec<Committed<'s>>, &'static str> {
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
            return Err(errors::OUTBOX_REFUSED);
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
fn abandon<'s>(streams: impl IntoIterator<Item = OpenStream<'s>>) -> &'static str {
    streams.into_iter().for_each(OpenStream::abandon);
    errors::BEING_CHANGED
}

/// Opens the streams of all tasks. The sales are closed: foreign code may run in it.
fn open_streams<'s>(
    call: &mut Call<'_>,
    tasks: &[Task<'_, '_, 's>],
) -> Result<OpenStreams<'s>, &'static str> {
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
    Err(why.into())
}

/// The sale at the key, if it is still the one that was planned for.
pub fn same_sale<'k>(key: &'k mut Key<'_>, plan: Option<&Plan<'_>>) -> Option<&'k mut Sale> {
    key.sale().ok().filter(|sale| plan.is_none_or(|plan| plan.is_for(sale)))
}

/// Counts an attempt, in the open sale that it was made of and on this node, and commits the plan,
/// once its entries are appended to `stream`. Compiled into its callers, some of which never have
/// any.
#[inline(always)]
fn commit<'s>(
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

/// When the sweeper must look at the sale. Rounds that are over give their memory back in steps,
/// which the sweeper goes on with, on replicas, too.
pub fn look_at(sale: &mut Sale, clock_ms: u64) -> Option<u64> {
    if sale.shed() {
        return Some(AT_ONCE);
    }
    sale.next_look(clock_ms)
}

/// How long a sale is left alone that can't change: its outbox takes no entry, or it is at a bound.
const RETRY_MS: u64 = 1000;

/// What happens by itself, for the sweeper: the next round of the sale at the call's key begins, or
/// at most `most` of its due holds expire, and those who wait are served. Without `most` it only
/// gives memory back.
pub fn expire(call: &mut Call<'_>, most: Option<usize>) -> Swept {
    let (now, outbox) = (call.now(), call.outbox());
    let mut key = call.open(KEY);
    // A key that is gone, or that holds something else by now, costs this look and no more.
    let Ok(sale) = key.sale() else {
        return Swept::default();
    };
    sale.forget_look();
    let Some(most) = most else {
        return Swept { expired: 0, next_look: look_at(sale, now.clock_ms) };
    };
    let decision = sale.decide_round(&now).unwrap_or_else(|| sale.decide_expiry(most, &now));
    if matches!(decision.outcome, Outcome::Misuse(_)) {
        return Swept { expired: 0, next_look: Some(now.clock_ms + RETRY_MS) };
    }
    let Some(plan) = &decision.plan else {
        return Swept { expired: 0, next_look: look_at(sale, now.clock_ms) };
    };
    let stream = sale.outbox_after(plan).map(|name| outbox.stream(name, false));
    let committed = match &stream {
        None => {
            let committed = commit(sale, Some(plan), None, None, &now);
            drop(key);
            Ok(committed)
        }
        Some(stream) => {
            drop(key);
            commit_one(call, plan, None, stream, &now)
        }
    };
    let Ok(mut committed) = committed else {
        return Swept { expired: 0, next_look: Some(now.clock_ms + RETRY_MS) };
    };
    // The sweeper keeps the deadline itself.
    let swept = Swept { expired: committed.expired as usize, next_look: committed.look_at.take() };
    call.replicate(KEY, plan, &committed);
    call.signal(KEY, &committed);
    call.notify(KEY, plan, &committed);
    swept
}
