//! Event callbacks: sales that come to a key (RENAME, MOVE, RESTORE, a primary's data), sales that
//! are removed, and the promotion of this node.
//!
//! A sale that leaves its key is keyless until it is freed or comes to another key. A sale from a
//! payload is also keyless at first. While no sale is keyless, renamed and moved keys can't be
//! sales and are not opened.

use std::ffi::CStr;
use std::mem;
use std::os::raw::{c_char, c_int, c_void};

use redis_module::raw::{
    self, RedisModuleCtx, RedisModuleEvent, RedisModuleFlushInfo, RedisModuleString,
    RedisModuleSwapDbInfo,
};

use super::advice;
use crate::server::data_set::timer;
use crate::server::ffi::api::{bytes_of, guarded};
use crate::server::ffi::ctx::{Ctx, Locked, ServerLock};
use crate::server::propagation::epoch;
use crate::server::value::datatype;
use crate::server::value::key::{self, Peek};
use crate::server::walk;

const NOT_SUBSCRIBED: &str = "the server refused a subscription to its events";

/// The database that the last MOVE took its key from.
static MOVED_FROM: Locked<c_int> = Locked::new(0);

/// Subscribes to all events that the module needs.
pub(super) fn subscribe(ctx: Ctx<'_>) -> Result<(), &'static str> {
    let generic = raw::REDISMODULE_NOTIFY_GENERIC as c_int;
    // SAFETY: the callback has the type that is asked for.
    let keys =
        unsafe { api!(RedisModule_SubscribeToKeyspaceEvents)(ctx.raw(), generic, Some(key_event)) };
    let is_subscribed = keys as isize == raw::REDISMODULE_OK
        && ctx.subscribe(raw::REDISMODULE_EVENT_SWAPDB, swapped)
        && ctx.subscribe(raw::REDISMODULE_EVENT_FLUSHDB, flushed)
        && ctx.subscribe(raw::REDISMODULE_EVENT_LOADING, loading)
        && ctx.subscribe(raw::REDISMODULE_EVENT_REPLICATION_ROLE_CHANGED, role_changed)
        && ctx.subscribe(raw::REDISMODULE_EVENT_CRON_LOOP, time_passed);
    is_subscribed.then_some(()).ok_or(NOT_SUBSCRIBED)
}

unsafe extern "C" fn key_event(
    ctx: *mut RedisModuleCtx,
    _class: c_int,
    event: *const c_char,
    key: *mut RedisModuleString,
) -> c_int {
    guarded((), || {
        // SAFETY: the server passes a text that ends in NUL.
        let event = unsafe { CStr::from_ptr(event) }.to_bytes();
        // SAFETY: the context is alive during the callback, and the server notifies under its lock.
        let ctx = unsafe { Ctx::new(ctx) };
        if matches!(event, b"rename_to" | b"move_to" | b"restore") {
            // SAFETY: the key's name is alive during the callback.
            unsafe { look_at(ctx, key, event == b"restore") };
        }
        stay(ctx, event);
    });
    raw::REDISMODULE_OK as c_int
}

/// Brings the client of a MOVE back to its database. Valkey 8.1 notifies modules with that client
/// itself and leaves it in the target database (valkey pull request 4024). Its next commands would
/// go there, and on a replica all later commands of the primary. Other servers notify with a client
/// of their own, which runs no command.
fn stay(ctx: Ctx<'_>, event: &[u8]) {
    if event == b"move_from" {
        MOVED_FROM.with(ctx.lock(), |from| *from = ctx.db());
    } else if event == b"move_to" {
        // The server reports the source database first, and runs nothing between the two events.
        ctx.select_db(MOVED_FROM.with(ctx.lock(), |from| *from));
    }
}

/// A value came to this key. If it is a sale, its deadline is kept from now on. A sale restored
/// while a replica loads beside the served data was counted to the loading data set until now.
///
/// # Safety
/// The key's name is alive.
unsafe fn look_at(ctx: Ctx<'_>, key: *mut RedisModuleString, is_restored: bool) {
    let lock = ctx.lock();
    let may_be_ours =
        key::keyless() > 0 || timer::arriving_counts(lock).is_some() || datatype::is_loading(ctx);
    if !may_be_ours {
        return;
    }
    // SAFETY: by the caller's word; the bytes are used before the callback returns.
    let name = unsafe { bytes_of(key) };
    // SAFETY: by the caller's word.
    let mut peek = unsafe { Peek::at(ctx, key) };
    if let Some(value) = peek.value() {
        value.come_to_key(lock);
        if is_restored {
            value.sale.arrive();
        }
        timer::watch_sale(lock, ctx.db(), name, &mut value.sale);
    }
}

/// Some milliseconds have passed, whatever the clock says.
unsafe extern "C" fn time_passed(
    _ctx: *mut RedisModuleCtx,
    _event: RedisModuleEvent,
    _subevent: u64,
    _data: *mut c_void,
) {
    guarded((), || {
        // SAFETY: the server calls event handlers under its lock.
        let lock = unsafe { ServerLock::held() };
        if timer::follow_clock(lock) {
            walk::rearm(lock);
        }
    });
}

/// Two databases were exchanged (SWAPDB): exchanges their deadlines and walks, too.
unsafe extern "C" fn swapped(
    _ctx: *mut RedisModuleCtx,
    _event: RedisModuleEvent,
    _subevent: u64,
    data: *mut c_void,
) {
    guarded((), || {
        // SAFETY: with this event the server passes this struct, or null on other ones.
        let Some(info) = (unsafe { data.cast::<RedisModuleSwapDbInfo>().as_ref() }) else { return };
        // SAFETY: the server calls event handlers under its lock.
        let lock = unsafe { ServerLock::held() };
        let (first, second) = (info.dbnum_first, info.dbnum_second);
        timer::change(lock, |deadlines| deadlines.swap(first, second));
        walk::swap(lock, first, second);
    });
}

/// One database, or all, are about to be emptied. The server sends no event for their keys.
unsafe extern "C" fn flushed(
    _ctx: *mut RedisModuleCtx,
    _event: RedisModuleEvent,
    subevent: u64,
    data: *mut c_void,
) {
    guarded((), || {
        // SAFETY: with this event the server passes this struct, or null on other ones.
        let info = unsafe { data.cast::<RedisModuleFlushInfo>().as_ref() };
        let Some(info) = info.filter(|_| subevent == raw::REDISMODULE_SUBEVENT_FLUSHDB_START)
        else {
            return;
        };
        // SAFETY: the server calls event handlers under its lock.
        let lock = unsafe { ServerLock::held() };
        match info.dbnum {
            ALL_DATABASES => timer::discard(lock, mem::take),
            db => timer::discard(lock, |deadlines| deadlines.take(db)),
        }
    });
}

/// The server's number for "every database".
const ALL_DATABASES: c_int = -1;

/// An AOF begins to load, whose transactions may be dropped; or a primary's data set begins to
/// load, is loaded, or was given up. Depending on its configuration the server empties its own data
/// before the load, or serves it until the load ends.
unsafe extern "C" fn loading(
    ctx: *mut RedisModuleCtx,
    _event: RedisModuleEvent,
    subevent: u64,
    _data: *mut c_void,
) {
    guarded((), || {
        // SAFETY: the server calls event handlers under its lock.
        let lock = unsafe { ServerLock::held() };
        epoch::load(lock, subevent == raw::REDISMODULE_SUBEVENT_LOADING_AOF_START);
        match subevent {
            raw::REDISMODULE_SUBEVENT_LOADING_AOF_START => {
                // SAFETY: the context is alive during the callback, and the lock is held.
                advice::look_at_rights(unsafe { Ctx::new(ctx) });
            }
            raw::REDISMODULE_SUBEVENT_LOADING_REPL_START => timer::begin_arrival(lock),
            raw::REDISMODULE_SUBEVENT_LOADING_ENDED => timer::complete_arrival(lock),
            raw::REDISMODULE_SUBEVENT_LOADING_FAILED => timer::abandon_arrival(lock),
            _ => {}
        }
    });
}

/// A promoted node begins a new epoch, and sweeps from now on. A demoted node begins one, too: once
/// it is promoted again, code of other modules may call before this module is told.
unsafe extern "C" fn role_changed(
    _ctx: *mut RedisModuleCtx,
    _event: RedisModuleEvent,
    subevent: u64,
    _data: *mut c_void,
) {
    guarded((), || {
        epoch::begin();
        if subevent == raw::REDISMODULE_EVENT_REPLROLECHANGED_NOW_MASTER {
            // SAFETY: the server calls event handlers under its lock.
            timer::wake(unsafe { ServerLock::held() });
        }
    });
}
