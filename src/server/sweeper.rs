//! Background expiry: expires holds, starts rounds and serves waiters on keys that get no commands.
//!
//! The timer starts a round, which sweeps sale by sale, a turn each. A round is limited by count
//! and by time, and other clients are served after it. A replica only frees the memory of rounds
//! that are over, and of emptied lists.

use std::os::raw::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::OnceLock;

use redis_module::raw::{self, RedisModuleCtx};

use super::call::Call;
use super::data_set::timer::{self, Round, AT_ONCE, BACKLOG_MS, ROUND_BUDGET};
use super::ffi::api::{clock_ms, guarded, CallReply, OwnString};
use super::ffi::ctx::{Ctx, ServerLock};
use super::value::key::Peek;

/// The result of a sweep of one sale.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Holds that expired.
    pub expired: usize,
    /// Next time to look at this sale, Unix ms.
    pub next_look: Option<u64>,
}

/// Makes the due changes of the sale at the call's first argument; expires at most the given number
/// of holds. With None it changes nothing and only frees memory.
pub type Sweep = fn(&mut Call<'_>, Option<usize>) -> Swept;

/// Holds that expire in one sale before the next sale is swept.
const SALE_HOLDS_MAX: usize = 200;

/// Pause for a sale in a slot that another node owns.
const FOREIGN_SLOT_MS: u64 = 1000;

/// Pause for a sale whose sweep panicked.
const FAILED_MS: u64 = 1000;

static SWEEP: OnceLock<Sweep> = OnceLock::new();

/// Delay between a sale's deadline and its sweep, the last and the longest so far, in ms.
static LAG: AtomicU64 = AtomicU64::new(0);
static LAG_MAX: AtomicU64 = AtomicU64::new(0);

/// Registers `sweep` and starts the timer.
pub(crate) fn start(lock: ServerLock<'_>, sweep: Sweep) {
    // A second load of the module passes an equal function.
    SWEEP.get_or_init(|| sweep);
    timer::start(lock, tick);
}

/// Delay between a sale's deadline and its sweep, the last and the longest so far, in ms.
pub(crate) fn lag_ms() -> (u64, u64) {
    (LAG.load(Ordering::Relaxed), LAG_MAX.load(Ordering::Relaxed))
}

unsafe extern "C" fn tick(ctx: *mut RedisModuleCtx, data: *mut c_void) {
    // SAFETY: the context is alive during the callback; the server runs timers under its lock.
    let ctx = unsafe { Ctx::new(ctx) };
    let lock = ctx.lock();
    let mut round = timer::begin_turn(lock, data);
    let until = guarded(None, || Some(take_turn(ctx, &mut round)));
    // There is a next turn even after a panic: without one nothing would expire any more.
    if until.is_none() {
        timer::put_back(lock, Some(clock_ms() + FAILED_MS));
    }
    timer::end_turn(lock, round, until.unwrap_or(AT_ONCE));
}

/// Whether this node may write now: it is a primary, its data is loaded, and neither CLIENT PAUSE
/// nor a failover pauses writes. Replicating in a timer during a pause aborts the server.
fn may_write(ctx: Ctx<'_>) -> bool {
    ctx.has_flag(raw::REDISMODULE_CTX_FLAGS_MASTER)
        && !ctx.has_flag(raw::REDISMODULE_CTX_FLAGS_LOADING)
        && !ctx.writes_are_paused()
}

/// Sweeps the next sale within the limits of its round. Returns the time up to which other sales
/// are due.
fn take_turn(ctx: Ctx<'_>, round: &mut Round) -> u64 {
    let (lock, now_ms, may_write) = (ctx.lock(), clock_ms(), may_write(ctx));
    // A replica, and a node with paused writes, only free memory.
    let (until, backlog) = match may_write {
        true => (now_ms, now_ms + BACKLOG_MS),
        false => (AT_ONCE, AT_ONCE),
    };
    if round.left == 0 || round.started.elapsed() > ROUND_BUDGET {
        return backlog;
    }
    let Some((sweep, (due, db, key))) = SWEEP.get().zip(timer::take_due(lock, until)) else {
        return backlog;
    };
    if due != AT_ONCE {
        let lag = now_ms.saturating_sub(due);
        LAG.store(lag, Ordering::Relaxed);
        LAG_MAX.fetch_max(lag, Ordering::Relaxed);
    }
    let most = may_write.then_some(round.left.min(SALE_HOLDS_MAX));
    let swept = match ctx.select_db(db) {
        true => sweep_one(ctx, *sweep, &key, most),
        false => Swept::default(),
    };
    round.left -= swept.expired.min(round.left);
    // A sale that is due again waits until the other sales were swept.
    let soonest = if may_write { now_ms + 1 } else { AT_ONCE };
    timer::put_back(lock, swept.next_look.map(|next| next.max(soonest)));
    backlog
}

fn sweep_one(ctx: Ctx<'_>, sweep: Sweep, key: &[u8], most: Option<usize>) -> Swept {
    let name = OwnString::new(key);
    if most.is_none() || owns(ctx, &name) {
        return sweep(&mut Call::new(ctx, &[name.raw()], &[key]), most);
    }
    let next_look = clock_ms() + FOREIGN_SLOT_MS;
    // SAFETY: the name lives until the end, and nobody else borrows the value.
    let mut peek = unsafe { Peek::at(ctx, name.raw()) };
    Swept { expired: 0, next_look: peek.value().map(|_| next_look) }
}

/// Whether this node owns the key's slot. A migrating slot belongs to its source node.
fn owns(ctx: Ctx<'_>, name: &OwnString) -> bool {
    if !ctx.has_flag(raw::REDISMODULE_CTX_FLAGS_CLUSTER) {
        return true;
    }
    // The server refuses a call for a key of another node. ROUNDS is called because it is cheap,
    // because no sale replies an error to it, which the server would count, and because
    // `rename-command` can't take away a module's command.
    // SAFETY: the format names one string and two texts.
    let reply = CallReply(unsafe {
        let (rounds, count, one) = (c"SECKILL.ROUNDS".as_ptr(), c"COUNT".as_ptr(), c"1".as_ptr());
        api!(RedisModule_Call)(ctx.raw(), rounds, c"!ARscc".as_ptr(), name.raw(), count, one)
    });
    !reply.is_missing()
}

#[cfg(test)]
mod tests {
    use std::os::raw::{c_char, c_int, c_longlong};
    use std::ptr;
    use std::sync::atomic::{AtomicI64, AtomicUsize};

    use redis_module::raw::{RedisModuleString, RedisModuleTimerID, RedisModuleTimerProc};

    use super::*;

    /// The fake server's clock, its number of created timers, and its number of sweeps.
    static CLOCK: AtomicI64 = AtomicI64::new(10_000_000);
    static TIMERS: AtomicUsize = AtomicUsize::new(0);
    static SWEEPS: AtomicUsize = AtomicUsize::new(0);

    unsafe extern "C" fn create_timer(
        _ctx: *mut RedisModuleCtx,
        _period: c_longlong,
        _callback: RedisModuleTimerProc,
        _data: *mut c_void,
    ) -> RedisModuleTimerID {
        TIMERS.fetch_add(1, Ordering::SeqCst) as RedisModuleTimerID
    }

    unsafe extern "C" fn stop_timer(
        _ctx: *mut RedisModuleCtx,
        _timer: RedisModuleTimerID,
        _data: *mut *mut c_void,
    ) -> c_int {
        raw::REDISMODULE_OK as c_int
    }

    unsafe extern "C" fn milliseconds() -> c_longlong {
        CLOCK.load(Ordering::SeqCst)
    }

    unsafe extern "C" fn context_flags(_ctx: *mut RedisModuleCtx) -> c_int {
        raw::REDISMODULE_CTX_FLAGS_MASTER as c_int
    }

    unsafe extern "C" fn select_db(_ctx: *mut RedisModuleCtx, _db: c_int) -> c_int {
        raw::REDISMODULE_OK as c_int
    }

    unsafe extern "C" fn create_string(
        _ctx: *mut RedisModuleCtx,
        _start: *const c_char,
        _len: usize,
    ) -> *mut RedisModuleString {
        ptr::null_mut()
    }

    /// A sweep that panics ends only its turn: the timer is armed again, and the sale is swept
    /// again later.
    #[test]
    fn a_panic_leaves_a_timer_and_the_deadline() {
        // SAFETY: no other test calls these functions, and none runs a server.
        unsafe {
            raw::RedisModule_CreateTimer = Some(create_timer);
            raw::RedisModule_StopTimer = Some(stop_timer);
            raw::RedisModule_Milliseconds = Some(milliseconds);
            raw::RedisModule_GetContextFlags = Some(context_flags);
            raw::RedisModule_SelectDb = Some(select_db);
            raw::RedisModule_CreateString = Some(create_string);
        }
        // SAFETY: there is no server, so nobody else has its lock.
        let lock = unsafe { ServerLock::held() };
        start(lock, |_, _| {
            SWEEPS.fetch_add(1, Ordering::SeqCst);
            panic!("seen by a test");
        });
        timer::watch(lock, 0, b"k", 9_999_999);
        for turn in 1..=3 {
            assert_eq!(TIMERS.load(Ordering::SeqCst), turn, "a timer before turn {turn}");
            // SAFETY: the context goes to the functions above alone.
            unsafe { tick(ptr::null_mut(), ptr::null_mut()) };
            assert_eq!(SWEEPS.load(Ordering::SeqCst), turn, "a sweep in turn {turn}");
            CLOCK.fetch_add(2 * FAILED_MS as i64, Ordering::SeqCst);
        }
        assert_eq!(TIMERS.load(Ordering::SeqCst), 4);
        // The sale is swept at once, too, when the clock was set back by an hour.
        assert!(!timer::follow_clock(lock));
        CLOCK.fetch_sub(3_600_000, Ordering::SeqCst);
        assert!(timer::follow_clock(lock));
        // SAFETY: as above.
        unsafe { tick(ptr::null_mut(), ptr::null_mut()) };
        assert_eq!(SWEEPS.load(Ordering::SeqCst), 4);
    }
}
