//! Background expiry's timer, and the deadlines of the data set that is served and of one that is
//! being loaded.
//!
//! A sale has at most one deadline here, computed from its state. The deadline moves with the
//! sale's key and ends with the sale. Only a primary arms the timer. A replica keeps deadlines in
//! case it is promoted.

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

/// The server's callback when the timer fires.
type OnTick = unsafe extern "C" fn(*mut RedisModuleCtx, *mut c_void);

/// Longest time for the turns of one round before other clients are served.
pub(crate) const ROUND_BUDGET: Duration = Duration::from_millis(1);
/// Time between rounds while there is a backlog.
pub(crate) const BACKLOG_MS: u64 = 1;
/// Deadline for work that a replica does, too; it sorts before all others.
pub(crate) const AT_ONCE: u64 = 0;
/// Most turns in one round.
const TURNS_MAX: usize = 100;
/// Due sales are counted up to this number.
const BACKLOG_COUNTED_MAX: usize = 1000;
/// Deadlines freed between two looks at the clock.
const FREED_AT_ONCE: usize = 100;

/// Longest time until the timer fires while there are deadlines: the server sleeps until then
/// whatever its clock does meanwhile, and when it wakes it calls only timers whose time the clock
/// has passed. See [`follow_clock`] for a clock that was set back.
const CLOCK_CHECK_MS: u64 = 1000;

/// A data set that is being loaded from a primary, perhaps beside the one that is still served.
struct Arriving {
    deadlines: Deadlines,
    counts: &'static Counts,
}

struct Timer {
    on_tick: Option<OnTick>,
    /// Deadlines of the data set that is served.
    deadlines: Deadlines,
    arriving: Option<Arriving>,
    /// Discarded deadlines. They are freed in steps, because FLUSHALL may discard very many at
    /// once.
    discarded: Vec<Deadlines>,
    /// The server's timer for the next round, and its time.
    armed: Option<(RedisModuleTimerID, u64)>,
    /// Turns left in this round, or in the next one if none has begun.
    turns: usize,
    round: Option<Round>,
    /// The clock as [`follow_clock`] last saw it, Unix ms.
    clock_ms: u64,
}

/// A round of the sweeper. Each turn sweeps one sale in a timer callback of its own. The server
/// replicates the commands of one callback as a transaction, and different sales need none.
#[derive(Clone, Copy)]
pub(crate) struct Round {
    pub(crate) started: Instant,
    /// Holds that may still expire in this round.
    pub(crate) left: usize,
}

/// Callback data of a turn that does not begin a round: any pointer that is not null.
const TURN: *mut c_void = ptr::without_provenance_mut(1);

static TIMER: Locked<Timer> = Locked::new(Timer {
    on_tick: None,
    deadlines: Deadlines::new(),
    arriving: None,
    discarded: Vec::new(),
    armed: None,
    turns: 0,
    round: None,
    clock_ms: 0,
});

/// Registers `on_tick` as the callback of the timer.
pub(crate) fn start(lock: ServerLock<'_>, on_tick: OnTick) {
    TIMER.with(lock, |timer| timer.on_tick = Some(on_tick));
}

/// Adds `deadline` for `key` of database `db`.
pub(crate) fn watch(lock: ServerLock<'_>, db: c_int, key: &[u8], deadline: u64) {
    TIMER.with(lock, |timer| {
        timer.deadlines.set(db, key, deadline);
        timer.arm(clock_ms(), settings::SWEEP_INTERVAL_MS.get());
    });
}

/// Rearms the timer after its time may have changed: a shorter interval takes effect at once, and a
/// promoted node begins to sweep.
pub(crate) fn wake(lock: ServerLock<'_>) {
    TIMER.with(lock, |timer| timer.arm(clock_ms(), settings::SWEEP_INTERVAL_MS.get()));
}

/// Arms the timer for the pause between rounds of a backlog.
pub(crate) fn arm_now(lock: ServerLock<'_>) {
    TIMER.with(lock, |timer| timer.arm(clock_ms(), BACKLOG_MS));
}

/// Notices that the clock was set back, and tells it. The server calls the armed timer, and turns
/// that are left, only when the clock is there again; so both are given up. A sale that is to be
/// tried again soon would wait as long: all that would have been due by then are looked at.
pub(crate) fn follow_clock(lock: ServerLock<'_>) -> bool {
    TIMER.with(lock, |timer| {
        let (now_ms, before_ms) = (clock_ms(), timer.clock_ms);
        timer.clock_ms = now_ms;
        if now_ms >= before_ms {
            return false;
        }
        timer.deadlines.bring_forward(before_ms + 2 * CLOCK_CHECK_MS, now_ms);
        (timer.turns, timer.round) = (0, None);
        timer.arm(now_ms, BACKLOG_MS);
        true
    })
}

/// Adds the deadline of a sale that has just come to this key.
pub(crate) fn watch_sale(lock: ServerLock<'_>, db: c_int, key: &[u8], sale: &mut Sale) {
    sale.forget_look();
    if let Some(deadline) = sale.next_look(clock_ms()) {
        watch(lock, db, key, deadline);
    }
}

/// Changes the deadlines of the data set that is being served.
pub(crate) fn change(lock: ServerLock<'_>, change: impl FnOnce(&mut Deadlines)) {
    TIMER.with(lock, |timer| change(&mut timer.deadlines));
}

/// Discards the deadlines that `taken` takes out of the data set that is being served.
pub(crate) fn discard(lock: ServerLock<'_>, taken: impl FnOnce(&mut Deadlines) -> Deadlines) {
    TIMER.with(lock, |timer| {
        let deadlines = Some(taken(&mut timer.deadlines));
        timer.discarded.extend(deadlines.filter(|deadlines| !deadlines.is_empty()));
    });
    wake(lock);
}

/// Begins to load a data set. Until it is complete its deadlines are kept apart.
pub(crate) fn begin_arrival(lock: ServerLock<'_>) {
    abandon_arrival(lock);
    let arriving = Arriving { deadlines: Deadlines::new(), counts: counts::take() };
    TIMER.with(lock, |timer| timer.arriving = Some(arriving));
}

/// Makes the loaded data set the one that is served from now on.
pub(crate) fn complete_arrival(lock: ServerLock<'_>) {
    let arrived = TIMER.with(lock, |timer| timer.arriving.take());
    if let Some(Arriving { deadlines, counts }) = arrived {
        counts::serve(counts);
        discard(lock, |served| mem::replace(served, deadlines));
    }
}

/// Gives up the data set that was loading.
pub(crate) fn abandon_arrival(lock: ServerLock<'_>) {
    if let Some(arriving) = TIMER.with(lock, |timer| timer.arriving.take()) {
        counts::retire(arriving.counts);
        discard(lock, |_| arriving.deadlines);
    }
}

/// The counts of the data set that is being loaded, if any.
pub(crate) fn arriving_counts(lock: ServerLock<'_>) -> Option<&'static Counts> {
    TIMER.with(lock, |timer| timer.arriving.as_ref().map(|arriving| arriving.counts))
}

/// Adds the deadline of a sale in the data set that is being loaded. It takes effect when that data
/// set is served.
pub(crate) fn watch_arriving(lock: ServerLock<'_>, db: c_int, key: &[u8], sale: &mut Sale) {
    let Some(deadline) = sale.next_look(clock_ms()) else { return };
    TIMER.with(lock, |timer| {
        if let Some(arriving) = &mut timer.arriving {
            arriving.deadlines.set(db, key, deadline);
        }
    });
}

/// Due sales that this node is to sweep, at most [`BACKLOG_COUNTED_MAX`]: INFO's sweeper backlog.
pub(crate) fn backlog(lock: ServerLock<'_>, now_ms: u64) -> u64 {
    match is_primary() {
        true => TIMER.with(lock, |timer| timer.deadlines.due(now_ms, BACKLOG_COUNTED_MAX)) as u64,
        false => 0,
    }
}

/// Begins the turn, perhaps of a new round, of a timer that the server calls with `data`.
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

/// Takes the earliest deadline that is due: its time, its database, its key.
pub(crate) fn take_due(lock: ServerLock<'_>, now_ms: u64) -> Option<(u64, c_int, Name)> {
    TIMER.with(lock, |timer| timer.deadlines.take_due(now_ms))
}

/// Sets the next deadline, if any, of the key whose deadline was taken, wherever the key is by now.
/// The tick arms the timer when it ends.
pub(crate) fn put_back(lock: ServerLock<'_>, next: Option<u64>) {
    TIMER.with(lock, |timer| timer.deadlines.put_back(next));
}

/// Ends a turn, which leaves `round`. The last turn ends the round. The timer frees discarded
/// deadlines while it has time. Then it is armed again, soon if deadlines up to `until` are left.
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

    /// Adds `turns` timers, which fire after the pause between rounds of a backlog.
    fn add_turns(&mut self, turns: usize) {
        for _ in 0..turns {
            let delay = BACKLOG_MS as i64;
            // SAFETY: as above.
            unsafe { api!(RedisModule_CreateTimer)(log::context(), delay, self.on_tick, TURN) };
        }
        self.turns += turns;
    }

    /// Frees some discarded deadlines, and more until the tick's time is used up.
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
