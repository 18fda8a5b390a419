//! `INFO seckill`: what this node did since it started.

use std::ffi::CStr;
use std::os::raw::c_int;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use redis_module::raw::RedisModuleInfoCtx;

use crate::server::data_set::{counts, timer};
use crate::server::ffi::api::{clock_ms, guarded};
use crate::server::ffi::ctx::{Ctx, ServerLock};
use crate::server::ffi::log;
use crate::server::{settings, sweeper};
use seckill_domain::outcome::{Outcome, Refused};

/// The module's version as text.
const VERSION: &CStr =
    match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(text) => text,
        Err(_) => c"",
    };

/// A number that only grows.
struct Counter(AtomicU64);

impl Counter {
    const fn new() -> Counter {
        Counter(AtomicU64::new(0))
    }

    /// Only the main thread counts, so no locked instruction is needed.
    fn increment(&self) {
        self.add(1);
    }

    fn add(&self, count: u64) {
        self.0.store(self.get() + count, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

static GRANTED: Counter = Counter::new();
static ALREADY: Counter = Counter::new();
static REPLAYED: Counter = Counter::new();
static OVERLIMIT: Counter = Counter::new();
static SOLDOUT: Counter = Counter::new();
static SHORT: Counter = Counter::new();
static NOTOPEN: Counter = Counter::new();
static CLOSED: Counter = Counter::new();
static PAUSED: Counter = Counter::new();
static DENIED: Counter = Counter::new();
static BUSY: Counter = Counter::new();
static EXPIRED: Counter = Counter::new();
static APPLY_REFUSED: Counter = Counter::new();

/// Follows the held grants of a sale of the served data from `before` to `after`.
pub fn holds_changed(before: u64, after: u64) {
    counts::holds_changed(before, after);
}

/// Counts holds that expired on this node by its own judgement.
pub fn expired(holds: u64) {
    EXPIRED.add(holds);
}

/// The lines of the section, in order; each is shown under the prefix `seckill_`.
static LINES: [(&CStr, &Counter); 13] = [
    (c"granted", &GRANTED),
    (c"already", &ALREADY),
    (c"replayed", &REPLAYED),
    (c"overlimit", &OVERLIMIT),
    (c"soldout", &SOLDOUT),
    (c"short", &SHORT),
    (c"notopen", &NOTOPEN),
    (c"closed", &CLOSED),
    (c"paused", &PAUSED),
    (c"denied", &DENIED),
    (c"busy", &BUSY),
    (c"expired", &EXPIRED),
    (c"apply_refused", &APPLY_REFUSED),
];

/// Counts the outcome of a call decided on this node.
pub fn count(outcome: &Outcome) {
    let counter = match outcome {
        Outcome::Granted { .. } => &GRANTED,
        Outcome::Already(_) => &ALREADY,
        Outcome::Replay(_) => &REPLAYED,
        Outcome::OverLimit { .. } => &OVERLIMIT,
        Outcome::SoldOut { .. } => &SOLDOUT,
        Outcome::Short { .. } => &SHORT,
        Outcome::NotOpen { .. } => &NOTOPEN,
        Outcome::Closed => &CLOSED,
        Outcome::Paused => &PAUSED,
        Outcome::Denied => &DENIED,
        Outcome::Busy => &BUSY,
        Outcome::Done
        | Outcome::Restocked { .. }
        | Outcome::Stands(_)
        | Outcome::NoGrant
        | Outcome::Fenced
        | Outcome::Changed { .. }
        | Outcome::NextRound
        | Outcome::ManyOwnEnding
        | Outcome::ManyEnding
        | Outcome::Misuse(_) => return,
    };
    counter.increment();
}

/// Counts an APPLY that was refused, and logs why. A replica that has lost its way refuses every
/// effect that follows, so the log gets `seckill.apply-warnings-per-second` lines at most.
pub fn apply_refused(why: Refused) {
    APPLY_REFUSED.increment();
    let per_second = settings::APPLY_WARNINGS_PER_SECOND.get();
    log::warning_at_most(per_second, clock_ms() / 1000, refusal(why));
}

fn refusal(why: Refused) -> &'static str {
    match why {
        Refused::Unknown => "SECKILL.APPLY refused: an effect that this version does not know",
        Refused::Gap => "SECKILL.APPLY refused: it does not follow the sale's version",
        Refused::Law => "SECKILL.APPLY refused: it breaks the law of the sale or a bound",
        Refused::Place => "SECKILL.APPLY refused: no sale at the key, or already one",
    }
}

/// Registers the section with the server.
pub(crate) fn register(ctx: Ctx<'_>) {
    // SAFETY: the callback has the type that is asked for.
    unsafe { api!(RedisModule_RegisterInfoFunc)(ctx.raw(), Some(write)) };
}

extern "C" fn write(ctx: *mut RedisModuleInfoCtx, for_crash_report: c_int) {
    guarded((), || {
        // The section without a name of its own has the module's.
        // SAFETY: the context is alive during the callback; null stands for no name.
        unsafe { api!(RedisModule_InfoAddSection)(ctx, ptr::null()) };
        text(ctx, c"version", VERSION);
        let counts = counts::served();
        field(ctx, c"sales", counts.sales());
        field(ctx, c"holds", counts.holds());
        let (lag_ms, lag_max_ms) = sweeper::lag_ms();
        field(ctx, c"expiry_lag_ms", lag_ms);
        field(ctx, c"expiry_lag_max_ms", lag_max_ms);
        // A crash may have come in the midst of the sweeper's work.
        if for_crash_report == 0 {
            // SAFETY: the server answers INFO under its lock.
            let lock = unsafe { ServerLock::held() };
            field(ctx, c"sweeper_backlog", timer::backlog(lock, clock_ms()));
        }
        for (name, counter) in &LINES {
            field(ctx, name, counter.get());
        }
    });
}

fn field(ctx: *mut RedisModuleInfoCtx, name: &CStr, number: u64) {
    // SAFETY: the context is alive during the callback and the name ends in NUL.
    unsafe { api!(RedisModule_InfoAddFieldULongLong)(ctx, name.as_ptr(), number) };
}

fn text(ctx: *mut RedisModuleInfoCtx, name: &CStr, value: &CStr) {
    // SAFETY: the context is alive during the callback and both texts end in NUL.
    unsafe { api!(RedisModule_InfoAddFieldCString)(ctx, name.as_ptr(), value.as_ptr()) };
}
