//! Settling holds that run out on keys that nobody touches.
//!
//! Truth lies in the sales. What is kept here are hints: at this time, look at this key. A hint is
//! checked when it is used, so a key that was deleted, renamed or flushed costs one look. One timer
//! serves all sales; it runs batches that are bounded by count and by time, and lets other clients
//! in between.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::os::raw::{c_char, c_int, c_void};
use std::ptr;
use std::time::{Duration, Instant};

use redis_module::raw::{
    self, RedisModuleCtx, RedisModuleEvent, RedisModuleString, RedisModuleSwapDbInfo,
    RedisModuleTimerID,
};

use super::api::guarded;
use super::call::{bytes_of, Call};
use super::key::Slot;
use super::{config, info, log, run};
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
/// Time between ticks while there is a backlog.
const BACKLOG_MS: u64 = 1;

/// When, in which database, which key.
type Hint = (u64, c_int, Box<[u8]>);

struct Sweeper {
    sweep: Sweep,
    hints: BTreeSet<Hint>,
    /// The timer, and when it fires.
    armed: Option<(RedisModuleTimerID, u64)>,
    /// The database that the last MOVE took its key from.
    moved_from: c_int,
}

thread_local! {
    /// Commands, timers and loading run on the server's main thread alone.
    static SWEEPER: RefCell<Option<Sweeper>> = const { RefCell::new(None) };
}

fn with<T>(body: impl FnOnce(&mut Sweeper) -> T) -> Option<T> {
    SWEEPER.with_borrow_mut(|sweeper| sweeper.as_mut().map(body))
}

/// Hints that wait: INFO shows them as the sweeper's backlog when they are due.
pub(super) fn backlog(now_ms: u64) -> u64 {
    with(|sweeper| sweeper.hints.iter().take_while(|hint| hint.0 <= now_ms).count() as u64)
        .unwrap_or(0)
}

/// Makes the sweeper ready and follows keys to new names and databases.
pub(super) fn start(ctx: *mut RedisModuleCtx, sweep: Sweep) -> Result<(), &'static str> {
    let sweeper = Sweeper { sweep, hints: BTreeSet::new(), armed: None, moved_from: 0 };
    SWEEPER.set(Some(sweeper));
    let generic = raw::REDISMODULE_NOTIFY_GENERIC as c_int;
    // SAFETY: the context is alive while loading; the callback has the type that is asked for.
    let keys =
        unsafe { api!(RedisModule_SubscribeToKeyspaceEvents)(ctx, generic, Some(key_moved)) };
    let event = RedisModuleEvent { id: raw::REDISMODULE_EVENT_SWAPDB, dataver: 1 };
    // SAFETY: as above.
    let swaps = unsafe { api!(RedisModule_SubscribeToServerEvent)(ctx, event, Some(swapped)) };
    if keys as isize == raw::REDISMODULE_OK && swaps as isize == raw::REDISMODULE_OK {
        Ok(())
    } else {
        Err(NOT_SUBSCRIBED)
    }
}

const NOT_SUBSCRIBED: &str = "the server refused to tell of keys that are renamed or moved";

/// Looks at `key` of database `db` when `deadline` comes.
pub(super) fn watch(db: c_int, key: &[u8], deadline: u64) {
    with(|sweeper| {
        sweeper.hints.insert((deadline, db, key.into()));
        sweeper.arm(run::clock_ms(), config::SWEEP_INTERVAL_MS.get());
    });
}

/// A shorter interval takes force at once, not when the longer one is over.
pub(super) fn settings_changed() {
    with(|sweeper| sweeper.arm(run::clock_ms(), config::SWEEP_INTERVAL_MS.get()));
}

/// Watches a sale that has just been loaded.
pub(super) fn watch_sale(db: c_int, key: &[u8], sale: &mut Sale) {
    sale.forget_look();
    if let Some(deadline) = sale.next_look() {
        watch(db, key, deadline);
    }
}

impl Sweeper {
    /// Arms the timer for the earliest hint, not sooner than `pause_ms` from now.
    fn arm(&mut self, now_ms: u64, pause_ms: u64) {
        let Some(first) = self.hints.first() else { return };
        let at = first.0.max(now_ms + pause_ms);
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

    fn take_due(&mut self, now_ms: u64) -> Option<Hint> {
        let is_due = self.hints.first().is_some_and(|hint| hint.0 <= now_ms);
        is_due.then(|| self.hints.pop_first()).flatten()
    }
}

unsafe extern "C" fn tick(ctx: *mut RedisModuleCtx, _data: *mut c_void) {
    guarded((), || {
        with(|sweeper| sweeper.armed = None);
        let pause = if may_write(ctx) && sweep_due(ctx) {
            BACKLOG_MS
        } else {
            config::SWEEP_INTERVAL_MS.get()
        };
        with(|sweeper| sweeper.arm(run::clock_ms(), pause));
    });
}

/// Whether this node may change data now: it is the primary, has all its data, and neither a pause
/// nor a failover holds writes back. A timer that replicated then would stop the server.
fn may_write(ctx: *mut RedisModuleCtx) -> bool {
    // SAFETY: the context is alive during the callback.
    let flags = unsafe { api!(RedisModule_GetContextFlags)(ctx) };
    let has = |flag: u32| flags & flag as c_int != 0;
    // SAFETY: reading a function pointer that is written once, while the module is loaded.
    let avoid = unsafe { offered!(RedisModule_AvoidReplicaTraffic) };
    has(raw::REDISMODULE_CTX_FLAGS_MASTER)
        && !has(raw::REDISMODULE_CTX_FLAGS_LOADING)
        // SAFETY: the function takes nothing and only looks.
        && avoid.is_none_or(|avoid| unsafe { avoid() } == 0)
}

/// Settles what is due, within the bounds of one tick. True when some is left.
fn sweep_due(ctx: *mut RedisModuleCtx) -> bool {
    let (started, now_ms) = (Instant::now(), run::clock_ms());
    let mut left = usize::try_from(config::SWEEP_BATCH.get()).unwrap_or(usize::MAX);
    let mut again = Vec::new();
    while let Some((due, db, key)) = with(|sweeper| sweeper.take_due(now_ms)).flatten() {
        info::expiry_lag(now_ms.saturating_sub(due));
        let swept = sweep_one(ctx, db, &key, left.min(TURN_HOLDS));
        left -= swept.settled.min(left);
        if let Some(next) = swept.next_look {
            // One that is due again waits until the others had their turn.
            again.push((next.max(now_ms + 1), db, key));
        }
        if left == 0 || started.elapsed() > TICK_BUDGET {
            break;
        }
    }
    with(|sweeper| {
        sweeper.hints.extend(again);
        sweeper.hints.first().is_some_and(|hint| hint.0 <= now_ms + BACKLOG_MS)
    })
    .unwrap_or(false)
}

fn sweep_one(ctx: *mut RedisModuleCtx, db: c_int, key: &[u8], most: usize) -> Swept {
    let Some(sweep) = with(|sweeper| sweeper.sweep) else { return Swept::default() };
    // SAFETY: the context is alive during the callback, the bytes are copied, and the string is
    // freed once, after the call that uses it.
    unsafe {
        if api!(RedisModule_SelectDb)(ctx, db) as isize != raw::REDISMODULE_OK {
            return Swept::default();
        }
        let name = api!(RedisModule_CreateString)(ctx, key.as_ptr().cast(), key.len());
        let swept = if owns(ctx, name) {
            sweep(&mut Call::of_timer(ctx, &[name], &[key]), most)
        } else {
            Swept { settled: 0, next_look: Some(run::clock_ms() + FOREIGN_SLOT_MS) }
        };
        api!(RedisModule_FreeString)(ctx, name);
        swept
    }
}

/// How long a sale in a slot that another node owns is left alone.
const FOREIGN_SLOT_MS: u64 = 1000;

/// Whether this node owns the key's slot. A slot that is moving belongs to the node it comes from.
///
/// # Safety
/// The context and the string are alive.
unsafe fn owns(ctx: *mut RedisModuleCtx, name: *mut RedisModuleString) -> bool {
    // SAFETY: by the caller's word.
    let flags = unsafe { api!(RedisModule_GetContextFlags)(ctx) };
    if flags & raw::REDISMODULE_CTX_FLAGS_CLUSTER as c_int == 0 {
        return true;
    }
    // The server answers a call about a key that is not its own with nothing.
    // SAFETY: as above; the format names one string, and the reply is freed once.
    unsafe {
        let reply = api!(RedisModule_Call)(ctx, c"EXISTS".as_ptr(), c"s".as_ptr(), name);
        if reply.is_null() {
            return false;
        }
        let is_error =
            api!(RedisModule_CallReplyType)(reply) as isize == raw::REDISMODULE_REPLY_ERROR;
        api!(RedisModule_FreeCallReply)(reply);
        !is_error
    }
}

/// A key came to a new name or database: if it is a sale, its hint is set anew.
unsafe extern "C" fn key_moved(
    ctx: *mut RedisModuleCtx,
    _class: c_int,
    event: *const c_char,
    key: *mut RedisModuleString,
) -> c_int {
    guarded((), || {
        // SAFETY: the server passes a text that ends in NUL.
        let event = unsafe { std::ffi::CStr::from_ptr(event) }.to_bytes();
        if matches!(event, b"rename_to" | b"move_to" | b"restore") {
            // SAFETY: the context and the key's name are alive during the callback.
            unsafe { look_at(ctx, key) };
        }
        // SAFETY: the context is alive during the callback.
        unsafe { stay(ctx, event) };
    });
    raw::REDISMODULE_OK as c_int
}

/// Brings the client whose MOVE is told of back to its database. Valkey 8.1 tells modules by means
/// of that client itself and leaves it in the database where the key went (valkey pull request
/// 4024): its next commands would go there, and on a replica all that the primary sends after it.
/// Other servers tell by means of a client of their own, which no command uses.
///
/// # Safety
/// The context is alive.
unsafe fn stay(ctx: *mut RedisModuleCtx, event: &[u8]) {
    if event == b"move_from" {
        // SAFETY: by the caller's word.
        let db = unsafe { api!(RedisModule_GetSelectedDb)(ctx) };
        with(|sweeper| sweeper.moved_from = db);
    } else if event == b"move_to" {
        // The server says where it comes from first, and lets nothing run between the two.
        let db = with(|sweeper| sweeper.moved_from).unwrap_or_default();
        // SAFETY: by the caller's word.
        unsafe { api!(RedisModule_SelectDb)(ctx, db) };
    }
}

/// # Safety
/// The context and the key's name are alive.
unsafe fn look_at(ctx: *mut RedisModuleCtx, key: *mut RedisModuleString) {
    // SAFETY: by the caller's word; the bytes are used before the callback returns.
    let (name, db) = unsafe { (bytes_of(key), api!(RedisModule_GetSelectedDb)(ctx)) };
    let mut call = Call::of_timer(ctx, std::slice::from_ref(&key), std::slice::from_ref(&name));
    let deadline = match call.view(0).slot() {
        Slot::Sale(sale) => sale.asked_look(),
        _ => None,
    };
    if let Some(deadline) = deadline {
        watch(db, name, deadline);
    }
}

/// Two databases changed places: so do the hints.
unsafe extern "C" fn swapped(
    _ctx: *mut RedisModuleCtx,
    _event: RedisModuleEvent,
    _subevent: u64,
    data: *mut c_void,
) {
    guarded((), || {
        // SAFETY: with this event the server passes this struct, or null on other ones.
        let Some(info) = (unsafe { data.cast::<RedisModuleSwapDbInfo>().as_ref() }) else { return };
        let (first, second) = (info.dbnum_first, info.dbnum_second);
        with(|sweeper| {
            let swap = |db: c_int| match db {
                db if db == first => second,
                db if db == second => first,
                db => db,
            };
            let hints = std::mem::take(&mut sweeper.hints);
            sweeper.hints = hints.into_iter().map(|(due, db, key)| (due, swap(db), key)).collect();
        });
    });
}
