//! Settling holds that run out on keys that nobody touches.
//!
//! Truth lies in the sales. What is kept here are hints: at this time, look at this key. A sale has
//! one at the most, which goes where its key goes and ends when the sale ends; `events` hears
//! of that. One timer serves all sales; it runs batches that are bounded by count and by time, and
//! lets other clients in between. Only a primary has the timer, a replica keeps hints for the day
//! when it is promoted.

use std::mem;
use std::os::raw::{c_int, c_void};
use std::ptr;
use std::time::{Duration, Instant};

use redis_module::raw::{self, RedisModuleCtx, RedisModuleString, RedisModuleTimerID};

use super::call::{writes_are_paused, Call};
use crate::server::data_set::counts::{self, Tally};
use crate::server::data_set::deadlines::Hints;
use crate::server::ffi::api::guarded;
use crate::server::ffi::ctx::Ctx;
use crate::server::ffi::locked::{Locked, ServerLock};
use crate::server::ffi::log;
use crate::server::module::{config, info};
use crate::server::propagation::epoch;
use crate::server::propagation::replicate::create_string;
use crate::server::value::glance::Glance;
use seckill_domain::Sale;

/// What a sweep of one sale came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Holds that expired.
    pub settled: usize,
    /// When to look at this sale again, Unix ms.
    pub next_look: Option<u64>,
}

/// Lets at most so many due holds expire of the sale at the first argument of the call.
pub type Sweep = fn(&mut Call<'_>, usize) -> Swept;

/// Longest time one tick works before other clients are served.
const TICK_BUDGET: Duration = Duration::from_millis(1);
/// Holds settled of one sale before the next one has its turn.
const TURN_HOLDS: usize = 200;
/// Hints freed before the clock is asked again.
const FREED_AT_ONCE: usize = 100;
/// Time between ticks while there is a backlog.
const BACKLOG_MS: u64 = 1;

/// The timer fires at least so often while there are hints: the server's timers don't follow the
/// clock when it is set, or when the machine slept.
const CLOCK_CHECK_MS: u64 = 1000;

/// A data set that is being loaded from a primary, perhaps beside the one that is served.
struct Arriving {
    hints: Hints,
    tally: &'static Tally,
}

struct Sweeper {
    sweep: Option<Sweep>,
    hints: Hints,
    arriving: Option<Arriving>,
    /// Hints that nobody needs any more. So many of them may go at once that freeing them is done
    /// in steps.
    forgotten: Vec<Hints>,
    /// The timer, and when it fires.
    armed: Option<(RedisModuleTimerID, u64)>,
}

static SWEEPER: Locked<Sweeper> = Locked::new(Sweeper {
    sweep: None,
    hints: Hints::new(),
    arriving: None,
    forgotten: Vec::new(),
    armed: None,
});

/// Sales that are due and that this node is to sweep: INFO shows them as the sweeper's backlog.
pub(crate) fn backlog(lock: ServerLock<'_>, now_ms: u64) -> u64 {
    match is_primary() {
        true => SWEEPER.with(lock, |sweeper| sweeper.hints.due(now_ms)),
        false => 0,
    }
}

/// Makes the sweeper ready.
pub(crate) fn start(lock: ServerLock<'_>, sweep: Sweep) {
    SWEEPER.with(lock, |sweeper| sweeper.sweep = Some(sweep));
}

/// Looks at `key` of database `db` when `deadline` comes.
pub(crate) fn watch(lock: ServerLock<'_>, db: c_int, key: &[u8], deadline: u64) {
    SWEEPER.with(lock, |sweeper| {
        sweeper.hints.set(db, key, deadline);
        sweeper.arm(epoch::clock_ms(), config::SWEEP_INTERVAL_MS.get());
    });
}

/// What may have changed when the timer must fire: a shorter interval takes force at once, not when
/// the longer one is over, and a promoted node begins to sweep.
pub(crate) fn wake(lock: ServerLock<'_>) {
    SWEEPER.with(lock, |sweeper| sweeper.arm(epoch::clock_ms(), config::SWEEP_INTERVAL_MS.get()));
}

/// Watches a sale that has just come to this name.
pub(crate) fn watch_sale(lock: ServerLock<'_>, db: c_int, key: &[u8], sale: &mut Sale) {
    sale.forget_look();
    if let Some(deadline) = sale.next_look() {
        watch(lock, db, key, deadline);
    }
}

/// Changes what is watched of the data set that is served.
pub(crate) fn change(lock: ServerLock<'_>, change: impl FnOnce(&mut Hints)) {
    SWEEPER.with(lock, |sweeper| change(&mut sweeper.hints));
}

/// Forgets what `taken` takes of the hints of the data set that is served.
pub(crate) fn forget(lock: ServerLock<'_>, taken: impl FnOnce(&mut Hints) -> Hints) {
    SWEEPER.with(lock, |sweeper| {
        let hints = Some(taken(&mut sweeper.hints));
        sweeper.forgotten.extend(hints.filter(|hints| !hints.is_empty()));
    });
    wake(lock);
}

/// A data set begins to load. Until it is there, what is loaded is kept apart.
pub(crate) fn begin_arrival(lock: ServerLock<'_>) {
    give_arrival_up(lock);
    let arriving = Arriving { hints: Hints::new(), tally: counts::take() };
    SWEEPER.with(lock, |sweeper| sweeper.arriving = Some(arriving));
}

/// The data set that was loaded is the one that is served from now on.
pub(crate) fn complete_arrival(lock: ServerLock<'_>) {
    let arrived = SWEEPER.with(lock, |sweeper| sweeper.arriving.take());
    if let Some(Arriving { hints, tally }) = arrived {
        counts::serve(tally);
        forget(lock, |served| mem::replace(served, hints));
    }
}

/// The data set that was loading is forgotten.
pub(crate) fn give_arrival_up(lock: ServerLock<'_>) {
    if let Some(arriving) = SWEEPER.with(lock, |sweeper| sweeper.arriving.take()) {
        counts::retire(arriving.tally);
        forget(lock, |_| arriving.hints);
    }
}

/// The tally of the data set that is being loaded, if one is.
pub(crate) fn arriving_tally(lock: ServerLock<'_>) -> Option<&'static Tally> {
    SWEEPER.with(lock, |sweeper| sweeper.arriving.as_ref().map(|arriving| arriving.tally))
}

/// Watches a sale of the data set that is being loaded from the moment when that is served.
pub(crate) fn watch_arriving(lock: ServerLock<'_>, db: c_int, key: &[u8], sale: &mut Sale) {
    let Some(deadline) = sale.next_look() else { return };
    SWEEPER.with(lock, |sweeper| {
        if let Some(arriving) = &mut sweeper.arriving {
            arriving.hints.set(db, key, deadline);
        }
    });
}

impl Sweeper {
    /// Arms the timer for the earliest hint, not sooner than `pause_ms` from now.
    fn arm(&mut self, now_ms: u64, pause_ms: u64) {
        let first = match self.forgotten.is_empty() {
            true => self.hints.first().filter(|_| is_primary()),
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
        // SAFETY: the context is kept for good and the callback needs no data.
        let timer = unsafe {
            api!(RedisModule_CreateTimer)(log::context(), delay, Some(tick), ptr::null_mut())
        };
        self.armed = Some((timer, at));
    }

    /// Frees some hints, and more until the tick has had its time.
    fn free_forgotten(&mut self, started: Instant) {
        while let Some(hints) = self.forgotten.last_mut() {
            hints.free_some(FREED_AT_ONCE);
            if hints.is_empty() {
                self.forgotten.pop();
            }
            if started.elapsed() > TICK_BUDGET {
                return;
            }
        }
    }
}

fn is_primary() -> bool {
    // SAFETY: the flags may be asked for without a context.
    let flags = unsafe { api!(RedisModule_GetContextFlags)(ptr::null_mut()) };
    flags & raw::REDISMODULE_CTX_FLAGS_MASTER as c_int != 0
}

unsafe extern "C" fn tick(ctx: *mut RedisModuleCtx, _data: *mut c_void) {
    guarded((), || {
        // SAFETY: the context is alive during the callback; the server runs timers under its lock.
        let ctx = unsafe { Ctx::new(ctx) };
        let lock = ctx.lock();
        SWEEPER.with(lock, |sweeper| sweeper.armed = None);
        let started = Instant::now();
        let is_left = may_write(ctx) && sweep_due(ctx, started);
        SWEEPER.with(lock, |sweeper| {
            sweeper.free_forgotten(started);
            let pause = match is_left || !sweeper.forgotten.is_empty() {
                true => BACKLOG_MS,
                false => config::SWEEP_INTERVAL_MS.get(),
            };
            sweeper.arm(epoch::clock_ms(), pause);
        });
    });
}

/// Whether this node may change data now: it is the primary, has all its data, and neither a pause
/// nor a failover holds writes back. A timer that replicated then would stop the server.
fn may_write(ctx: Ctx<'_>) -> bool {
    ctx.has_flag(raw::REDISMODULE_CTX_FLAGS_MASTER)
        && !ctx.has_flag(raw::REDISMODULE_CTX_FLAGS_LOADING)
        && !writes_are_paused()
}

/// Settles what is due, within the bounds of one tick. True when some is left.
fn sweep_due(ctx: Ctx<'_>, started: Instant) -> bool {
    let lock = ctx.lock();
    let Some(sweep) = SWEEPER.with(lock, |sweeper| sweeper.sweep) else { return false };
    let now_ms = epoch::clock_ms();
    let mut left = usize::try_from(config::SWEEP_BATCH.get()).unwrap_or(usize::MAX);
    let take = || SWEEPER.with(lock, |sweeper| sweeper.hints.take_due(now_ms));
    while let Some((due, db, key)) = take() {
        info::expiry_lag(now_ms.saturating_sub(due));
        let swept = sweep_one(ctx, sweep, db, &key, left.min(TURN_HOLDS));
        left -= swept.settled.min(left);
        if let Some(next) = swept.next_look {
            // One that is due again waits until the others had their turn.
            SWEEPER.with(lock, |sweeper| sweeper.hints.set(db, &key, next.max(now_ms + 1)));
        }
        if left == 0 || started.elapsed() > TICK_BUDGET {
            break;
        }
    }
    SWEEPER.with(lock, |sweeper| sweeper.hints.first()).is_some_and(|at| at <= now_ms + BACKLOG_MS)
}

fn sweep_one(ctx: Ctx<'_>, sweep: Sweep, db: c_int, key: &[u8], most: usize) -> Swept {
    if !ctx.select_db(db) {
        return Swept::default();
    }
    let name = create_string(key);
    // SAFETY: the string is freed once, after the call that uses it.
    unsafe {
        let swept = if owns(ctx, name) {
            sweep(&mut Call::of_timer(ctx, &[name], &[key]), most)
        } else {
            let next_look = epoch::clock_ms() + FOREIGN_SLOT_MS;
            Swept { settled: 0, next_look: Glance::at(ctx, name).value().map(|_| next_look) }
        };
        api!(RedisModule_FreeString)(ptr::null_mut(), name);
        swept
    }
}

/// How long a sale in a slot that another node owns is left alone.
const FOREIGN_SLOT_MS: u64 = 1000;

/// Whether this node owns the key's slot. A slot that is moving belongs to the node it comes from.
///
/// # Safety
/// The string is alive.
unsafe fn owns(ctx: Ctx<'_>, name: *mut RedisModuleString) -> bool {
    if !ctx.has_flag(raw::REDISMODULE_CTX_FLAGS_CLUSTER) {
        return true;
    }
    // The server answers a call about a key that is not its own with nothing.
    // SAFETY: by the caller's word; the format names one string, and the reply is freed once.
    unsafe {
        let reply = api!(RedisModule_Call)(ctx.raw(), c"EXISTS".as_ptr(), c"s".as_ptr(), name);
        if reply.is_null() {
            return false;
        }
        let is_error =
            api!(RedisModule_CallReplyType)(reply) as isize == raw::REDISMODULE_REPLY_ERROR;
        api!(RedisModule_FreeCallReply)(reply);
        !is_error
    }
}
