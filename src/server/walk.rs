//! Long reads of one sale, in short steps between which the server serves other clients.
//!
//! The caller is blocked. One timer continues all walks by turns and unblocks each caller with its
//! reply. Between two steps the sale may change, move to another key or be deleted. Each step works
//! on the sale that is at the key at that time.

use std::collections::VecDeque;
use std::os::raw::{c_int, c_void};
use std::ptr;
use std::time::{Duration, Instant};

use redis_module::raw::{self, RedisModuleBlockedClient, RedisModuleCtx, RedisModuleString};

use super::ffi::api::{guarded, OwnString};
use super::ffi::ctx::{Ctx, Locked, ServerLock};
use super::ffi::log;
use super::reply::{Reply, FAILED};
use super::value::key::{NoSale, Peek};
use seckill_domain::Sale;

/// Longest time of a step, during which the server serves no other client.
const STEP: Duration = Duration::from_millis(2);

/// Pause before the next step, in which the server serves others.
const PAUSE_MS: i64 = 1;

/// A read in steps.
pub trait Walk: Send {
    /// Works for well below a millisecond on the sale at the key. Returns the answer at the end.
    fn step(&mut self, sale: Result<&mut Sale, NoSale>) -> Option<Answer>;
    /// Releases the walk's data in the sale, if the sale still exists: the client has gone.
    fn abandon(&mut self, sale: Option<&mut Sale>);
    /// Frees some of the walk's memory after its end. False when none is left.
    fn free_some(&mut self) -> bool;
}

/// Writes the reply.
pub type Answer = Box<dyn Fn(Reply<'_>) + Send>;

/// A client that waits for a reply. Dropped without one, the client gets an error.
struct Blocked(*mut RedisModuleBlockedClient);

// SAFETY: the handle may be used on any thread; this module uses it with the server's lock.
unsafe impl Send for Blocked {}

impl Blocked {
    /// Unblocks the client with this reply.
    fn answer(self, answer: Answer) {
        let answer = Box::into_raw(Box::new(answer));
        // SAFETY: the client is blocked by this module and is unblocked once: `self` ends here.
        // `free_answer` frees the answer, which the server hands to it after the reply.
        unsafe { api!(RedisModule_UnblockClient)(self.0, answer.cast()) };
        std::mem::forget(self);
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        // SAFETY: as above; there is no answer.
        unsafe { api!(RedisModule_UnblockClient)(self.0, ptr::null_mut()) };
    }
}

struct Job {
    db: c_int,
    key: Box<[u8]>,
    walk: Box<dyn Walk>,
    /// None once the client has its reply.
    client: Option<Blocked>,
    /// Whether the walk has looked at its sale.
    is_begun: bool,
    /// Whether the client has disconnected.
    is_gone: bool,
}

/// The walks under way.
#[derive(Default)]
struct Walks {
    jobs: VecDeque<Job>,
    is_armed: bool,
}

static WALKS: Locked<Walks> = Locked::new(Walks { jobs: VecDeque::new(), is_armed: false });

impl Walks {
    /// Whether a walk is under way over the sale at this key: a second one would replace its state.
    fn is_over(&self, db: c_int, key: &[u8]) -> bool {
        let is_there = |job: &Job| job.db == db && *job.key == *key;
        self.jobs.iter().any(|job| job.is_begun && job.client.is_some() && is_there(job))
    }

    /// Takes out the next walk.
    fn take(&mut self) -> Option<Job> {
        let may_go_on = |job: &Job| job.is_begun || !self.is_over(job.db, &job.key);
        let index = self.jobs.iter().position(may_go_on)?;
        self.jobs.remove(index)
    }

    /// Starts the timer while there is work.
    fn arm(&mut self) {
        if self.is_armed || self.jobs.is_empty() {
            return;
        }
        self.is_armed = true;
        // SAFETY: the context is kept for good and the callback needs no data.
        unsafe {
            api!(RedisModule_CreateTimer)(log::context(), PAUSE_MS, Some(tick), ptr::null_mut())
        };
    }
}

/// Starts the timer anew, because the clock was set back: the server calls the old one only when
/// the clock is there again.
pub(super) fn rearm(lock: ServerLock<'_>) {
    WALKS.with(lock, |walks| {
        walks.is_armed = false;
        walks.arm();
    });
}

/// Two databases were exchanged (SWAPDB): walks under way go on over their sales.
pub(super) fn swap(lock: ServerLock<'_>, first: c_int, second: c_int) {
    WALKS.with(lock, |walks| {
        for job in walks.jobs.iter_mut().filter(|job| job.is_begun) {
            job.db = match job.db {
                db if db == first => second,
                db if db == second => first,
                other => other,
            };
        }
    });
}

/// Runs `walk` over the sale at `key`, a key of this call on which `step` takes one step, and
/// replies. Blocks the client if that is possible and the walk is not done at once.
pub(super) fn start(
    ctx: Ctx<'_>,
    key: &[u8],
    mut walk: Box<dyn Walk>,
    mut step: impl FnMut(&mut dyn Walk) -> Option<Answer>,
) {
    let (lock, db) = (ctx.lock(), ctx.db());
    let may_wait = may_block(ctx);
    let begins = !may_wait || !WALKS.with(lock, |walks| walks.is_over(db, key));
    let started = Instant::now();
    let is_time_left = || begins && (!may_wait || started.elapsed() < STEP);
    while is_time_left() {
        if let Some(answer) = step(&mut *walk) {
            return answer(Reply::new(ctx));
        }
    }
    // SAFETY: the client may be blocked, and the callbacks are static functions.
    let client = unsafe {
        let block = api!(RedisModule_BlockClient);
        let client = block(ctx.raw(), Some(reply), None, Some(free_answer), 0);
        api!(RedisModule_SetDisconnectCallback)(client, Some(disconnected));
        Blocked(client)
    };
    let job =
        Job { db, key: key.into(), walk, client: Some(client), is_begun: begins, is_gone: false };
    WALKS.with(lock, |walks| {
        walks.jobs.push_back(job);
        walks.arm();
    });
}

/// Whether the caller is a client that can be blocked: not a transaction, a script, another module,
/// the link to the primary or an AOF. No timer fires while a replica loads a data set beside the
/// served one, so nobody is blocked then either.
fn may_block(ctx: Ctx<'_>) -> bool {
    let never = raw::REDISMODULE_CTX_FLAGS_MULTI
        | raw::REDISMODULE_CTX_FLAGS_LUA
        | raw::REDISMODULE_CTX_FLAGS_DENY_BLOCKING
        | raw::REDISMODULE_CTX_FLAGS_REPLICATED
        | raw::REDISMODULE_CTX_FLAGS_LOADING
        | raw::REDISMODULE_CTX_FLAGS_ASYNC_LOADING;
    ctx.flags() & never == 0
}

unsafe extern "C" fn tick(ctx: *mut RedisModuleCtx, _data: *mut c_void) {
    // SAFETY: the context is alive during the callback; the server runs timers under its lock.
    let ctx = unsafe { Ctx::new(ctx) };
    WALKS.with(ctx.lock(), |walks| walks.is_armed = false);
    // A walk that panics is dropped and its client gets an error. The others go on.
    guarded((), || go_on(ctx));
    WALKS.with(ctx.lock(), Walks::arm);
}

/// Continues the walks by turns until a step's time is over.
fn go_on(ctx: Ctx<'_>) {
    let started = Instant::now();
    while started.elapsed() < STEP {
        let Some(mut job) = WALKS.with(ctx.lock(), Walks::take) else { return };
        if job.go_on(ctx) {
            WALKS.with(ctx.lock(), |walks| walks.jobs.push_back(job));
        }
    }
}

impl Job {
    /// Takes one step. False when no walk is left.
    fn go_on(&mut self, ctx: Ctx<'_>) -> bool {
        if self.client.is_none() {
            return self.walk.free_some();
        }
        self.is_begun = true;
        let name = OwnString::new(&self.key);
        if !ctx.select_db(self.db) {
            return false;
        }
        // SAFETY: the name lives until the end, and nobody else borrows the value.
        let mut peek = unsafe { Peek::at(ctx, name.raw()) };
        if self.is_gone {
            self.walk.abandon(peek.sale().ok());
            self.client = None;
        } else if let Some(answer) = self.walk.step(peek.sale()) {
            if let Some(client) = self.client.take() {
                client.answer(answer);
            }
        }
        true
    }
}

/// Replies to a client that was unblocked.
unsafe extern "C" fn reply(
    ctx: *mut RedisModuleCtx,
    _argv: *mut *mut RedisModuleString,
    _argc: c_int,
) -> c_int {
    guarded((), || {
        // SAFETY: the context is alive during the callback, which the server makes under its lock.
        let reply = unsafe { Reply::new(Ctx::new(ctx)) };
        // SAFETY: the private data is the answer that `Blocked::answer` passed; the server frees it
        // afterwards.
        let answer =
            unsafe { api!(RedisModule_GetBlockedClientPrivateData)(ctx).cast::<Answer>().as_ref() };
        match answer {
            Some(answer) => answer(reply),
            None => reply.error(FAILED),
        }
    });
    raw::REDISMODULE_OK as c_int
}

unsafe extern "C" fn free_answer(_ctx: *mut RedisModuleCtx, answer: *mut c_void) {
    // SAFETY: as above; the server hands each answer here once and never a null one.
    guarded((), || drop(unsafe { Box::from_raw(answer.cast::<Answer>()) }));
}

/// A blocked client has disconnected: its walk ends with the next step.
unsafe extern "C" fn disconnected(
    _ctx: *mut RedisModuleCtx,
    client: *mut RedisModuleBlockedClient,
) {
    guarded((), || {
        // SAFETY: the server makes this call under its lock.
        let lock = unsafe { ServerLock::held() };
        WALKS.with(lock, |walks| {
            let is_theirs = |job: &&mut Job| job.client.as_ref().is_some_and(|it| it.0 == client);
            if let Some(job) = walks.jobs.iter_mut().find(is_theirs) {
                job.is_gone = true;
            }
        });
    });
}
