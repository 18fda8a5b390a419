//! `INFO seckill`: counters since this node started. Refused changes are counted and logged here.

use std::ffi::CStr;
use std::os::raw::c_int;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use redis_module::raw::RedisModuleInfoCtx;

use crate::server::data_set::counts::{self, Counts};
use crate::server::data_set::timer;
use crate::server::ffi::api::{clock_ms, guarded};
use crate::server::ffi::ctx::{Ctx, ServerLock};
use crate::server::ffi::log;
use crate::server::{settings, sweeper};
use seckill_domain::outcome::{Refused, OUTCOMES};

/// The module's version as text.
const VERSION: &CStr =
    match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(text) => text,
        Err(_) => c"",
    };

/// One line of the section.
pub struct Field {
    name: &'static CStr,
    /// The meaning, in a few words.
    pub about: &'static str,
    read: Read,
}

/// Source of a field's number.
enum Read {
    Counter(&'static AtomicU64),
    /// A counter of the data set that is being served.
    Served(fn(&'static Counts) -> &'static AtomicU64),
    Number(fn() -> u64),
    /// Left out while the server writes its crash report: the crash may have come while the lock
    /// was held.
    UnderLock(fn(ServerLock<'_>) -> u64),
}

impl Field {
    const fn new(name: &'static CStr, about: &'static str, read: Read) -> Field {
        Field { name, about, read }
    }

    const fn counter(
        name: &'static CStr,
        counter: &'static AtomicU64,
        about: &'static str,
    ) -> Field {
        Field::new(name, about, Read::Counter(counter))
    }

    /// The name in INFO's output.
    pub fn shown_name(&self) -> String {
        format!("seckill_{}", self.name.to_string_lossy())
    }
}

/// The lines of the section, in order; each is shown under the prefix `seckill_`.
pub fn fields() -> impl Iterator<Item = Field> {
    let rows = OUTCOMES.iter().zip(&counts::ANSWERS);
    let answers = rows.map(|(row, counter)| Field::counter(row.counter, counter, row.counts));
    BEFORE.into_iter().chain(answers).chain(BEHIND)
}

/// The fields before the refusals.
const BEFORE: [Field; 6] = [
    Field::new(c"sales", "sales on this node", Read::Served(|counts| &counts.sales)),
    Field::new(c"holds", "live holds on this node", Read::Served(|counts| &counts.holds)),
    Field::new(
        c"waiters",
        "users on waiting lists on this node",
        Read::Served(|counts| &counts.waiters),
    ),
    Field::new(
        c"expiry_lag_ms",
        "delay of the last hold that expired by timer, from its deadline on, in milliseconds",
        Read::Number(|| sweeper::lag_ms().0),
    ),
    Field::new(
        c"expiry_lag_max_ms",
        "the longest delay of a hold since the start",
        Read::Number(|| sweeper::lag_ms().1),
    ),
    Field::new(
        c"sweeper_backlog",
        "sales with due work that background expiry has not reached; 1000: so many or more",
        Read::UnderLock(|lock| timer::backlog(lock, clock_ms())),
    ),
];

/// The fields after the refusals.
const BEHIND: [Field; 5] = [
    Field::counter(c"expired", &counts::EXPIRED, "holds that this node itself has expired"),
    Field::counter(c"offers", &counts::OFFERS, "offers to users who waited, made by this node"),
    Field::counter(
        c"dropped",
        &counts::DROPPED,
        "users whom this node has dropped from waiting lists",
    ),
    Field::counter(
        c"apply_refused",
        &counts::APPLY_REFUSED,
        "changes from a primary or a log that were refused: must be 0, else resync this node",
    ),
    Field::counter(
        c"outbox_refused",
        &counts::OUTBOX_REFUSED,
        "outbox entries of a primary or a log that their stream did not take: must be 0",
    ),
];

/// Counts a refused APPLY and logs the reason. A replica that has diverged refuses every later
/// effect, so the log gets at most `seckill.apply-warnings-per-second` lines.
pub fn apply_refused(why: Refused) {
    counts::APPLY_REFUSED.fetch_add(1, Ordering::Relaxed);
    warn(refusal(why));
}

/// Counts entries of an APPLY that the stream refused, and logs their number.
pub fn outbox_refused(entries: u64) {
    if entries > 0 {
        counts::OUTBOX_REFUSED.fetch_add(entries, Ordering::Relaxed);
        warn(NOT_APPENDED);
    }
}

const NOT_APPENDED: &str =
    "SECKILL.APPLY left entries out: the outbox is no stream here, or is ahead of its primary's";

fn warn(why: &str) {
    let per_second = settings::APPLY_WARNINGS_PER_SECOND.get();
    log::warning_at_most(per_second, clock_ms() / 1000, why);
}

fn refusal(why: Refused) -> &'static str {
    match why {
        Refused::Unknown => "SECKILL.APPLY refused: an effect that this version does not know",
        Refused::Gap => "SECKILL.APPLY refused: it does not follow the sale's version",
        Refused::Law => "SECKILL.APPLY refused: it breaks the law of the sale or a bound",
        Refused::Key => "SECKILL.APPLY refused: no sale at the key, or already one",
    }
}

/// Registers the section with the server.
pub(crate) fn register(ctx: Ctx<'_>) {
    // SAFETY: the callback has the type that is asked for.
    unsafe { api!(RedisModule_RegisterInfoFunc)(ctx.raw(), Some(write)) };
}

extern "C" fn write(ctx: *mut RedisModuleInfoCtx, for_crash_report: c_int) {
    guarded((), || {
        // A section without a name gets the module's.
        // SAFETY: the context is alive during the callback; null stands for no name.
        unsafe { api!(RedisModule_InfoAddSection)(ctx, ptr::null()) };
        text(ctx, c"version", VERSION);
        for Field { name, read, .. } in fields() {
            let number = match read {
                Read::Counter(counter) => counter.load(Ordering::Relaxed),
                Read::Served(number) => number(counts::served()).load(Ordering::Relaxed),
                Read::Number(read) => read(),
                Read::UnderLock(_) if for_crash_report != 0 => continue,
                // SAFETY: the server answers INFO under its lock.
                Read::UnderLock(read) => read(unsafe { ServerLock::held() }),
            };
            field(ctx, name, number);
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
