//! When to look at which key: the deadlines of the data set that is served and of one that arrives,
//! and the one timer that they arm.
//!
//! Truth lies in the sales. A sale has one deadline here at the most, which goes where its key goes
//! and ends when the sale ends. Only a primary has the timer; a replica keeps deadlines for the day
//! when it is promoted.

use std::mem;
use std::os::raw::{c_int, c_void};
use std::ptr;
use std::time::{Duration, Instant};

use redis_module::raw::{self, RedisModuleCtx, RedisModuleTimerID};

use super::counts::{self, Counts};
use super::deadlines::{Deadlines, Name};
use crate::server::ffi::api::clock_ms;
use crate::server::ffi::ctx::{server_has_flag, Locked, ServerLock};
use crate::server::ffi::log;
use crate::server::settings;
use seckill_domain::Sale;

/// What the server calls when the timer fires.
type OnTick = unsafe extern "C" fn(*mut RedisModuleCtx, *mut c_void);

/// Longest time the turns of one round take before other clients are served.
pub(crate) const ROUND_BUDGET: Duration = Duration::from_millis(1);
/// Time between rounds while there is a backlog.
pub(crate) const BACKLOG_MS: u64 = 1;
/// A deadline of what a replica does, too: it is before all others.
pub(crate) const AT_ONCE: u64 = 0;
/// Turns of one round.
const TURNS_MAX: usize = 100;
/// Sales that are due are counted up to this number.
const BACKLOG_COUNTED_MAX: usize = 1000;
/// Deadlines freed before the clock is asked again.
const FREED_AT_ONCE: usize = 100;

/// The timer fires at least so often while there are deadlines: the server's timers don't follow
/// the clock when it is set, or when the machine slept.
const CLOCK_CHECK_MS: u64 = 1000;

/// A data set that is being loaded from a primary, perhaps beside the one that is served.
struct Arriving {
    deadlines: Deadlines,
    counts: &'static Counts,
}

struct Timer {
    on_tick: Option<OnTick>,
    /// Those of the data set that is served.
    deadlines: Deadlines,
    arriving: Option<Arriving>,
    /// Deadlines that nobody needs any more. So many of them may go at once that freeing them is
    /// done in steps.
    discarded: Vec<Deadlines>,
    /// The server's timer that begins a round, and when it fires.
    armed: Option<(RedisModuleTimerID, u64)>,
    /// Turns that are to come in this round, or in the next one where it has not begun.
    turns: usize,
    round: Option<Round>,
}

/// A round of the sweeper. Its turns are callbacks of the server's one behind the other, each of
/// which sweeps one sale: what one callback replicates is a transaction where it is more than one
/// command, and changes of different sales are none.
#[derive(Clone, Copy)]
pub(crate) struct Round {
    pub(crate) started: Instant,
    /// Holds that may still expire in it.
    pub(crate) left: usize,
}

/// The data of a turn that does not begin a round: any that is not null.
const TURN: *mut c_void = ptr::without_provenance_mut(1);

static TIMER: Locked<Timer> = Locked::new(Timer {
    on_tick: None,
    deadlines: Deadlines::new(),
    arriving: None,
    discarded: Vec::new(),
    armed: None,
    turns: 0,
    round: None,
});

/// Makes the timer ready: it calls `on_tick` when it fires.
pub(crate) fn start(lock: ServerLock<'_>, on_tick: OnTick) {
    TIMER.with(lock, |timer| timer.on_tick = Some(on_tick));
}

/// Looks at `key` of database `db` when `deadline` comes.
pub(crate) fn watch(lock: ServerLock<'_>, db: c_int, key: &[u8], deadline: u64) {
    TIMER.with(lock, |timer| {
        timer.deadlines.set(db, key, deadline);
        timer.arm(clock_ms(), settings::SWEEP_INTERVAL_MS.get());
    });
}

/// What may have changed when the timer must fire: a shorter interval takes force at once, not when
/// the longer one is over, and a promoted node begins to sweep.
pub(crate) fn wake(lock: ServerLock<'_>) {
    TIMER.with(lock, |timer| timer.arm(clock_ms(), settings::SWEEP_INTERVAL_MS.get()));
}

/// Has the timer fire as soon as while there is a backlog.
pub(crate) fn hurry(lock: ServerLock<'_>) {
    TIMER.with(lock, |timer| timer.arm(clock_ms(), BACKLOG_MS));
}

/// Watches a sale that has just come to this name.
pub(crate) fn watch_sale(lock: ServerLock<'_>, db: c_int, key: &[u8], sale: &mut Sale) {
    sale.forget_look();
    if let Some(deadline) = sale.next_look(clock_ms()) {
        watch(lock, db, key, deadline);
    }
}

/// Changes the deadlines of the data set that is served.
pub(crate) fn change(lock: ServerLock<'_>, change: impl FnOnce(&mut Deadlines)) {
    TIMER.with(lock, |timer| change(&mut timer.deadlines));
}

/// Discards what `taken` takes of the deadlines of the data set that is served.
pub(crate) fn discard(lock: ServerLock<'_>, taken: impl FnOnce(&mut Deadlines) -> Deadlines) {
    TIMER.with(lock, |timer| {
        let deadlines = Some(taken(&mut timer.deadlines));
        timer.discarded.extend(deadlines.filter(|deadlines| !deadlines.is_empty()));
    });
    wake(lock);
}

/// A data set begins to load. Until it is there, what is loaded is kept apart.
pub(crate) fn begin_arrival(lock: ServerLock<'_>) {
    abandon_arrival(lock);
    let arriving = Arriving { deadlines: Deadlines::new(), counts: counts::take() };
    TIMER.with(lock, |timer| timer.arriving = Some(arriving));
}

/// The data set that was loaded is the one that is served from now on.
pub(crate) fn complete_arrival(lock: ServerLock<'_>) {
    let arrived = TIMER.with(lock, |timer| timer.arriving.take());
    if let Some(Arriving { deadlines, counts }) = arrived {
        counts::serve(counts);
        discard(lock, |served| mem::replace(served, deadlines));
    }
}

/// The data set that was loading will never be served.
pub(crate) fn abandon_arrival(lock: ServerLock<'_>) {
    if let Some(arriving) = TIMER.with(lock, |timer| timer.arriving.take()) {
        counts::retire(arriving.counts);
        discard(lock, |_| arriving.deadlines);
    }
}

/// The counts of the data set that is being loaded, if one is.
pub(crate) fn arriving_counts(lock: ServerLock<'_>) -> Option<&'static Counts> {
    TIMER.with(lock, |timer| timer.arriving.as_ref().map(|arriving| arriving.counts))
}

/// Watches a sale of the data set that is being loaded from the moment when that is served.
pub(crate) fn watch_arriving(lock: ServerLock<'_>, db: c_int, key: &[u8], sale: &mut Sale) {
    let Some(deadline) = sale.next_look(clock_ms()) else { return };
    TIMER.with(lock, |timer| {
        if let Some(arriving) = &mut timer.arriving {
            arriving.deadlines.set(db, key, deadline);
        }
    });
}

/// Sales that are due and that this node is to sweep, at most [`BACKLOG_COUNTED_MAX`]: INFO shows
/// them as the sweeper's backlog.
pub(crate) fn backlog(lock: ServerLock<'_>, now_ms: u64) -> u64 {
    match is_primary() {
        true => TIMER.with(lock, |timer| timer.deadlines.due(now_ms, BACKLOG_COUNTED_MAX)) as u64,
        false => 0,
    }
}

/// A timer has fired that the server calls with `data`: a turn begins, perhaps of a new round.
pub(crate) fn begin_turn(lock: ServerLock<'_>, data: *mut c_void) -> Round {
    TIMER.with(lock, |timer| {
        if data == TURN {
            timer.turns = timer.turns.saturating_sub(1);
        } else {
            timer.armed = None;
        }
        *timer.round.get_or_insert_with(|| Round {
            started: Instant::now(),
            left: usize::try_from(settings::SWEEP_BATCH.get()).unwrap_or(usize::MAX),
        })
    })
}

/// Takes the earliest deadline that is due: when it was, the database, the key.
pub(crate) fn take_due(lock: ServerLock<'_>, now_ms: u64) -> Option<(u64, c_int, Name)> {
    TIMER.with(lock, |timer| timer.deadlines.take_due(now_ms))
}

/// Sets the next deadline, if there is one, of the key whose deadline was taken, wherever that is
/// by now. The tick arms the timer when it ends.
pub(crate) fn put_back(lock: ServerLock<'_>, next: Option<u64>) {
    TIMER.with(lock, |timer| timer.deadlines.put_back(next));
}

/// A turn ends that leaves `round`. With the last turn the round ends, too: the timer frees what it
/// has time for, and is armed, soon where deadlines up to `until` are left.
pub(crate) fn end_turn(lock: ServerLock<'_>, round: Round, until: u64) {
    TIMER.with(lock, |timer| {
        timer.round = Some(round);
        if timer.turns > 0 {
            return;
        }
        timer.round = None;
        timer.free_discarded(round.started);
        let due = timer.deadlines.due(until, TURNS_MAX);
        let pause = match due > 0 || !timer.discarded.is_empty() {
            true => BACKLOG_MS,
            false => settings::SWEEP_INTERVAL_MS.get(),
        };
        timer.arm(clock_ms(), pause);
        timer.add_turns(due.saturating_sub(1));
    });
}

impl Timer {
    /// Arms the timer for the earliest deadline, not sooner than `pause_ms` from now.
    fn arm(&mut self, now_ms: u64, pause_ms: u64) {
        let first = match self.discarded.is_empty() {
            true => self.deadlines.first().filter(|at| *at == AT_ONCE || is_primary()),
            false => Some(now_ms),
        };
        let Some(first) = first else { return };
        let latest = now_ms + pause_ms.max(CLOCK_CHECK_MS);
        let at = first.clamp(now_ms + pause_ms, latest);
        if let Some((timer, earlier)) = self.armed {
            if earlier <= at {
                return;
            }
            // SAFETY: the timer was created by this module; a null data pointer takes nothing back.
            unsafe { api!(RedisModule_StopTimer)(log::context(), timer, ptr::null_mut()) };
        }
        let delay = i64::try_from(at - now_ms).unwrap_or(i64::MAX);
        // SAFETY: the context is kept for good and the callback reads nothing behind its data.
        let timer = unsafe {
            api!(RedisModule_CreateTimer)(log::context(), delay, self.on_tick, ptr::null_mut())
        };
        self.armed = Some((timer, at));
    }

    /// Has so many turns come as soon as a round does while there is a backlog.
    fn add_turns(&mut self, turns: usize) {
        for _ in 0..turns {
            let delay = BACKLOG_MS as i64;
            // SAFETY: as above.
            unsafe { api!(RedisModule_CreateTimer)(log::context(), delay, self.on_tick, TURN) };
        }
        self.turns += turns;
    }

    /// Frees some deadlines, and more until the tick has had its time.
    fn free_discarded(&mut self, started: Instant) {
        while let Some(deadlines) = self.discarded.last_mut() {
            deadlines.free_some(FREED_AT_ONCE);
            if deadlines.is_empty() {
                self.discarded.pop();
            }
            if started.elapsed() > ROUND_BUDGET {
                return;
            }
        }
    }
}

fn is_primary() -> bool {
    server_has_flag(raw::REDISMODULE_CTX_FLAGS_MASTER)
}
