//! Settling what is due on keys that nobody touches: holds that run out, rounds that begin.
//!
//! The timer tells when. A tick sweeps sale by sale in a batch that is bounded by count and by
//! time, and lets other clients in between.

use std::os::raw::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::OnceLock;
use std::time::Instant;

use redis_module::raw::{self, RedisModuleCtx};

use super::call::Call;
use super::data_set::timer::{self, BACKLOG_MS, TICK_BUDGET};
use super::ffi::api::{clock_ms, guarded, CallReply, OwnString};
use super::ffi::ctx::{Ctx, ServerLock};
use super::settings;
use super::value::key::Peek;

/// What a sweep of one sale came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Holds that expired.
    pub expired: usize,
    /// When to look at this sale again, Unix ms.
    pub next_look: Option<u64>,
}

/// Does what is due of the sale at the first argument of the call; of its holds, at most so many
/// expire by the clock alone.
pub type Sweep = fn(&mut Call<'_>, usize) -> Swept;

/// Holds settled of one sale before the next one is swept.
const SALE_HOLDS_MAX: usize = 200;

/// How long a sale in a slot that another node owns is left alone.
const FOREIGN_SLOT_MS: u64 = 1000;

static SWEEP: OnceLock<Sweep> = OnceLock::new();

/// How long after its time the sweeper came to the last sale, and the longest so far, in ms.
static LAG: AtomicU64 = AtomicU64::new(0);
static LAG_MAX: AtomicU64 = AtomicU64::new(0);

/// Makes the sweeper ready.
pub(crate) fn start(lock: ServerLock<'_>, sweep: Sweep) {
    // A second load of the same file brings the same function.
    SWEEP.get_or_init(|| sweep);
    timer::start(lock, tick);
}

/// How long after its time the sweeper came to the last sale, and the longest so far, in ms.
pub(crate) fn lag_ms() -> (u64, u64) {
    (LAG.load(Ordering::Relaxed), LAG_MAX.load(Ordering::Relaxed))
}

unsafe extern "C" fn tick(ctx: *mut RedisModuleCtx, _data: *mut c_void) {
    guarded((), || {
        // SAFETY: the context is alive during the callback; the server runs timers under its lock.
        let ctx = unsafe { Ctx::new(ctx) };
        timer::begin_tick(ctx.lock());
        let started = Instant::now();
        let is_left = may_write(ctx) && sweep_due(ctx, started);
        timer::end_tick(ctx.lock(), started, is_left);
    });
}

/// Whether this node may change data now: it is the primary, has all its data, and neither a pause
/// nor a failover holds writes back. A timer that replicated then would stop the server.
fn may_write(ctx: Ctx<'_>) -> bool {
    ctx.has_flag(raw::REDISMODULE_CTX_FLAGS_MASTER)
        && !ctx.has_flag(raw::REDISMODULE_CTX_FLAGS_LOADING)
        && !ctx.writes_are_paused()
}

/// Settles what is due, within the bounds of one tick. True when some is left.
fn sweep_due(ctx: Ctx<'_>, started: Instant) -> bool {
    let lock = ctx.lock();
    let Some(sweep) = SWEEP.get() else { return false };
    let now_ms = clock_ms();
    let mut left = usize::try_from(settings::SWEEP_BATCH.get()).unwrap_or(usize::MAX);
    while let Some((due, db, key)) = timer::take_due(lock, now_ms) {
        let lag = now_ms.saturating_sub(due);
        LAG.store(lag, Ordering::Relaxed);
        LAG_MAX.fetch_max(lag, Ordering::Relaxed);
        let most = left.min(SALE_HOLDS_MAX);
        let swept = match ctx.select_db(db) {
            true => sweep_one(ctx, *sweep, &key, most),
            false => Swept::default(),
        };
        left -= swept.expired.min(left);
        // One that is due again waits until the others were swept.
        timer::put_back(lock, swept.next_look.map(|next| next.max(now_ms + 1)));
        if left == 0 || started.elapsed() > TICK_BUDGET {
            break;
        }
    }
    timer::first(lock).is_some_and(|at| at <= now_ms + BACKLOG_MS)
}

fn sweep_one(ctx: Ctx<'_>, sweep: Sweep, key: &[u8], most: usize) -> Swept {
    let name = OwnString::new(key);
    if owns(ctx, &name) {
        return sweep(&mut Call::new(ctx, &[name.raw()], &[key]), most);
    }
    let next_look = clock_ms() + FOREIGN_SLOT_MS;
    // SAFETY: the name lives until the end, and nobody else borrows the value.
    let mut peek = unsafe { Peek::at(ctx, name.raw()) };
    Swept { expired: 0, next_look: peek.value().map(|_| next_look) }
}

/// Whether this node owns the key's slot. A slot that is moving belongs to the node it comes from.
fn owns(ctx: Ctx<'_>, name: &OwnString) -> bool {
    if !ctx.has_flag(raw::REDISMODULE_CTX_FLAGS_CLUSTER) {
        return true;
    }
    // The server does not make a call about a key that is not its own. A command of this module is
    // there whatever `rename-command` did; this one reads little.
    // SAFETY: the format names one string and one text.
    let reply = CallReply(unsafe {
        let (place, nobody) = (c"SECKILL.PLACE".as_ptr(), c"-".as_ptr());
        api!(RedisModule_Call)(ctx.raw(), place, c"sc".as_ptr(), name.raw(), nobody)
    });
    !reply.is_missing()
}
